"use strict";
// The page is whole without this: it marks the page that is open, and lets tables be sorted and filtered.
const links = [...document.querySelectorAll("nav.pages a")];
function opened() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const view = target?.closest(".view")?.id ?? "overview";
  for (const link of links) link.hash === `#${view}` ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  if (target?.matches(".view")) scrollTo(0, 0);
}
addEventListener("hashchange", opened);
opened();

const value = text => { const found = text.replace(/[,\u202f]/g, "").match(/^[^\d-]*(-?\d+(\.\d+)?)/); return found ? Number(found[1]) : NaN; };
for (const table of document.querySelectorAll("table.listed")) {
  const rows = [...(table.tBodies[0]?.rows ?? [])];
  if (rows.length < 4) continue;
  const cell = (row, at) => row.cells[at]?.textContent.trim() ?? "", start = (row, at) => row.cells[at].firstChild.textContent.trim();
  const heads = table.tHead?.rows.length === 1 ? [...table.tHead.rows[0].cells] : [];
  heads.forEach((head, at) => {
    if (!head.textContent.trim()) return;
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const numeric = rows.filter(row => !isNaN(value(cell(row, at)))).length > rows.length / 2;
      const key = row => numeric ? (isNaN(value(cell(row, at))) ? Infinity : value(cell(row, at))) : cell(row, at);
      const sorted = [...rows].sort((a, b) => { const [x, y] = [key(a), key(b)]; return x < y ? -1 : x > y ? 1 : 0; });
      table.tBodies[0].append(...(down ? sorted.reverse() : sorted));
    });
  });
  if (rows.length < 8) continue;
  // One of the values of some columns, and words that a row has.
  const bar = document.createElement("div"), input = document.createElement("input"), count = document.createElement("span");
  const selects = heads.flatMap((head, at) => head.matches(".select") ? [[at, document.createElement("select")]] : []);
  for (const [at, select] of selects) {
    const name = heads[at].textContent.trim(), values = new Set(rows.map(row => start(row, at)));
    select.setAttribute("aria-label", name);
    select.append(new Option(`${name}: all`, ""), ...[...values].map(one => new Option(one)));
  }
  bar.className = "filter";
  input.type = "search";
  input.placeholder = "words that a row has";
  input.setAttribute("aria-label", "Filter");
  count.setAttribute("role", "status");
  bar.append("Filter", ...selects.map(([, select]) => select), input, count);
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean), chosen = selects.filter(([, select]) => select.value);
    for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word))
      || !chosen.every(([at, select]) => start(row, at) === select.value);
    count.textContent = words.length || chosen.length ? `${rows.filter(row => !row.hidden).length} of ${rows.length}` : "";
  };
  bar.addEventListener("input", filter);
  table.parentElement.before(bar);
  if (table.matches(".tests")) addEventListener("click", event => {
    // A verdict's counts lead to its comparisons.
    const claim = event.target.closest?.("[data-filter]")?.dataset.filter;
    if (!claim) return;
    for (const [, select] of selects) select.value = "";
    input.value = claim.replace(".", " ");
    filter();
  });
}
