// The page of verdicts: filters and sorts its claims, and opens the fold around what an address names.
// Without a script all claims are there.
const make = (name, attributes = {}, ...children) => {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
};
const bodies = [...document.querySelectorAll("article tbody")].filter(body => body.querySelector("a[id]"));
const rows = bodies.flatMap(body => [...body.rows]);
const claims = [...rows, ...document.querySelectorAll("article details li:has(a[id])")];
const folds = new Set(claims.map(claim => claim.closest("details")).filter(Boolean));
const verdictOf = claim => claim.querySelector(".verdict")?.textContent ?? claim.closest("details").dataset.verdict;
for (const fold of folds) fold.dataset.verdict = fold.querySelector("summary").textContent.split(":")[0].toLowerCase();
// A phone writes a cell's heading before it.
for (const body of bodies) {
  const heads = [...body.parentElement.tHead.rows[0].cells].map(head => head.textContent);
  for (const row of body.rows) [...row.cells].forEach((cell, at) => { cell.dataset.head = heads[at]; });
}

const words = make("input", {type: "search", placeholder: "words of a claim or its id"});
const verdict = make("select", {}, new Option("all verdicts", ""), ...new Set(claims.map(verdictOf)));
for (const option of [...verdict.childNodes].slice(1)) option.replaceWith(new Option(option.textContent));
const order = make("select", {}, ...["verdict", "claim", "here", "paper", "blocks / days"].map(name => new Option(name)));
const count = make("span", {role: "status"});
// Without its own name a control would be called by its options, too.
const label = (name, control) => make("label", {}, `${name} `, Object.assign(control, {ariaLabel: name}));
document.getElementById("choose-claims").append(
  label("Filter", words), label("Verdict", verdict), label("Sort by", order), count);

function filter() {
  const sought = words.value.toLowerCase().split(/\s+/).filter(Boolean), chosen = Boolean(sought.length || verdict.value);
  for (const claim of claims) {
    const text = `${claim.textContent} ${claim.querySelector("a[id]").id}`.toLowerCase();
    claim.hidden = (verdict.value && verdictOf(claim) !== verdict.value) || !sought.every(word => text.includes(word));
  }
  const shown = claims.filter(claim => !claim.hidden);
  count.textContent = chosen ? `${shown.length} of ${claims.length} claims` : "";
  for (const body of bodies) body.closest(".table-wrapper").hidden = [...body.rows].every(row => row.hidden);
  for (const fold of folds) {
    fold.hidden = !shown.some(claim => fold.contains(claim));
    fold.open = chosen;
  }
}

// Rows keep their order where the column has no number; by verdict they stand as written.
const key = (row, name) => {
  const text = [...row.cells].find(cell => cell.dataset.head === name)?.textContent ?? "";
  if (name === "claim") return text;
  const number = Number.parseFloat(text.replaceAll(",", ""));
  return Number.isNaN(number) ? Infinity : number;
};
function sort() {
  const name = order.value, at = new Map(rows.map((row, place) => [row, place]));
  for (const body of bodies) {
    const compare = (one, other) => {
      if (name === "verdict") return at.get(one) - at.get(other);
      const [first, second] = [key(one, name), key(other, name)];
      return name === "claim" ? first.localeCompare(second) : first === second ? 0 : first - second;
    };
    body.append(...[...body.rows].sort(compare));
  }
}

function open() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const fold = target?.closest("details");
  if (fold) fold.open = true;
  target?.scrollIntoView();
}

words.addEventListener("input", filter);
verdict.addEventListener("input", filter);
order.addEventListener("input", sort);
addEventListener("hashchange", open);
open();
