"use strict";
// The page is whole without this: it marks the page that is open, and opens the fold around what a link names.
const links = [...document.querySelectorAll("nav.pages a")];
function opened() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const view = target?.closest(".view")?.id ?? "overview";
  for (const link of links) link.hash === `#${view}` ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  if (target?.matches(".view")) return scrollTo(0, 0);
  let folded = false;
  for (let fold = target?.closest("details"); fold; fold = fold.parentElement.closest("details")) {
    folded ||= !fold.open;
    fold.open = true;
  }
  if (folded) target.scrollIntoView();
}
addEventListener("hashchange", opened);
opened();

// A claim's counts lead to its comparisons.
addEventListener("click", event => {
  const claim = event.target.closest?.("[data-filter]")?.dataset.filter;
  const tests = document.querySelector("table.tests.paged");
  if (!claim || !tests) return;
  for (const select of tests.closest(".dt-container").querySelectorAll("select")) select.value = "";
  const api = new DataTable.Api(tests);
  api.columns().search("");
  api.search(claim.replace(".", " ")).draw();
});
