// Pages, sorts and filters long tables: in the report's page and in JupyterLab.
(() => {
  "use strict";
  // The first number of a text; texts without one come last.
  const number = text => {
    const found = String(text).replace(/<[^>]*>|[,\u202f]/g, "").match(/-?\d+(\.\d+)?(e-?\d+)?/);
    return found ? Number(found[0]) : Infinity;
  };
  const start = table => {
    const heads = [...table.tHead.querySelectorAll("th[data-at]")].sort((a, b) => a.dataset.at - b.dataset.at);
    const select = at => {
      const box = document.createElement("select"), name = heads[at].textContent.trim();
      const api = new DataTable.Api(table);
      box.setAttribute("aria-label", name);
      box.append(new Option(`${name}: all`, ""), ...api.column(at).data().unique().toArray().map(one => new Option(one)));
      box.addEventListener("input", () => api.column(at).search(box.value, {exact: Boolean(box.value)}).draw());
      return box;
    };
    const bar = document.createElement("div");
    const csv = {buttons: [{extend: "csv", text: "these rows as CSV", title: "rows", footer: false}]};
    const shown = new DataTable(table, {
      columns: heads.map(head => ({
        className: head.className,
        ...(/\b(text|long)\b/.test(head.className) ? {} : {render: (cell, use) => ["sort", "type"].includes(use) ? number(cell) : cell}),
      })),
      autoWidth: false,
      order: [],
      pageLength: 15,
      layout: {topStart: () => bar, topEnd: "search", bottomStart: "info", bottomEnd: "paging", bottom2Start: csv},
      language: {
        search: "", searchPlaceholder: "words that a row has", info: "_START_ to _END_ of _TOTAL_ rows",
        infoFiltered: "(of _MAX_)", infoEmpty: "no row", emptyTable: "no row", zeroRecords: "no row has these words",
      },
    });
    const field = table.closest(".dt-container").querySelector("input[type=search]");
    field.setAttribute("aria-label", "Filter");
    bar.className = "choices";
    heads.forEach((head, at) => head.classList.contains("select") && bar.append(select(at)));
  };
  const startAll = () => document.querySelectorAll("table.paged:not(.dataTable)").forEach(start);
  startAll();
  // In a notebook outputs come and go.
  if (document.querySelector("#jp-main-content-panel, .jp-Notebook, body[data-notebook]"))
    new MutationObserver(startAll).observe(document.body, {childList: true, subtree: true});
})();
