"""Long tables: a page of rows at a time, sorted and filtered by DataTables, which the package `itables` brings."""

import html
import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from IPython.display import HTML, Javascript, display
from markupsafe import Markup

PAGED_FROM: Final = 25
"""Rows from which a table is paged."""

FIRST: Final = 10
"""Rows of a paged table that stand in the page itself: they are seen where no script runs, and on paper."""

TEMPLATE: Final = Path(__file__).parent / "template"
_DEFAULT_EXPORT: Final = re.compile(r"export\s*\{[^}]*?(\w+) as default[^}]*\};?")


class PagedTable(HTML):
    """A long table. JupyterLab is given the script that pages it, too; the report's page has that once."""

    def _ipython_display_(self) -> None:
        display(HTML(self.data))  # type: ignore[no-untyped-call]
        # A notebook can be opened at any cell, so each table brings the library.
        if 'class="rows"' in self.data:
            display(Javascript(notebook_script()))  # type: ignore[no-untyped-call]


def encode_rows(rows: Iterable[Sequence[str]]) -> Markup:
    """Return rows as JSON for an element of the page: texts are escaped, what is `Markup` stays as it is."""
    cells = [[html.escape(cell) if not isinstance(cell, Markup) else str(cell) for cell in row] for row in rows]
    text = json.dumps(cells, ensure_ascii=False, separators=(",", ":"))
    # Inside <script> nothing but "<" can end the element.
    return Markup(text.replace("<", "\\u003c"))


@cache
def library_script() -> str:
    """Return DataTables with what it needs, as a script that defines ``DataTable``."""
    bundle = files("itables").joinpath("html/dt_bundle.js").read_text(encoding="utf-8")
    script, count = _DEFAULT_EXPORT.subn(r"window.DataTable = \1;", bundle)
    if count != 1:
        raise RuntimeError("itables brings no DataTables that a page can run: install another version of itables")
    # The bundle is a module: as a script it keeps its names to itself.
    return f"(() => {{{_inside_page(script)}\n}})();\n"


def _inside_page(script: str) -> str:
    """Return a script without the signs that begin a comment of HTML: they stand in texts of it only."""
    return script.replace("<!--", "\\x3c!--").replace("</script", "\\x3c/script")


@cache
def notebook_script() -> str:
    """Return what pages the tables of an open notebook."""
    style = json.dumps((TEMPLATE / "tables.css").read_text(encoding="utf-8"))
    start = (TEMPLATE / "tables.js").read_text(encoding="utf-8")
    return (
        f"if (!window.DataTable) {{\n{library_script()}"
        f"const style = document.createElement('style'); style.textContent = {style}; document.head.append(style);\n"
        f"}}\n{start}"
    )
