"use strict";
// The page is whole without this: it marks the page that is open, and opens the fold around what a link names.
const links = [...document.querySelectorAll("nav.pages a")];
function opened() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const view = target?.closest(".view")?.id ?? "overview";
  for (const link of links) link.hash === `#${view}` ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  links.find(link => link.hash === `#${view}`)?.scrollIntoView({block: "nearest", inline: "center"});
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

// The focus stays on a tab, which a browser would drop; the skip link leads from the tabs to the open page.
document.getElementById("pages").addEventListener("click", event => {
  const link = event.target.closest("a");
  setTimeout(() => link?.focus({preventScroll: true}));
});
document.querySelector(".skip").addEventListener("click", event => {
  event.preventDefault();
  const page = [...document.querySelectorAll(".view")].find(view => view.offsetParent);
  page.tabIndex = -1;
  page.focus();
});

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
