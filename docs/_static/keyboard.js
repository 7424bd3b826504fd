// What Sphinx leaves out for who reads by ear or keyboard: captions' level, the sidebar's name, and a way to scroll what is wider than the page.
for (const caption of document.querySelectorAll("[role=heading]:not([aria-level])")) caption.setAttribute("aria-level", "2");
document.querySelector("aside.sidebar-drawer")?.setAttribute("aria-label", "Pages of the site");
for (const wide of document.querySelectorAll("pre, .table-wrapper, .math-wrapper, article table")) {
  if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
}
