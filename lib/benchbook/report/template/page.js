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
  // A row, or a group of rows that belong together.
  const groups = table.tBodies.length > 1, rows = groups ? [...table.tBodies] : [...(table.tBodies[0]?.rows ?? [])];
  if (rows.length < 4) continue;
  const first = row => groups ? row.rows[0] : row, cell = (row, at) => first(row).cells[at]?.textContent.trim() ?? "";
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
      (groups ? table : table.tBodies[0]).append(...(down ? sorted.reverse() : sorted));
    });
  });
  if (rows.length < 8) continue;
  const label = document.createElement("label"), input = document.createElement("input"), count = document.createElement("span");
  label.className = "filter";
  input.type = "search";
  input.placeholder = "words that a row has";
  count.setAttribute("role", "status");
  label.append("Filter", input, count);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
    count.textContent = words.length ? `${rows.filter(row => !row.hidden).length} of ${rows.length}` : "";
  });
  table.parentElement.before(label);
}
