"""Tables of the final notebook as HTML.

Each table has all of its rows. Where a script may run, a long table shows a page of them at a time,
sorted and filtered by DataTables, which the package `itables` brings. `render_table` shows a frame,
`render_t_tests` all t-tests.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pandas as pd
from IPython.display import HTML, Javascript, Markdown, display
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from benchbook.analysis.comparisons import Comparison
from benchbook.papers.findings import load_t_tests
from benchbook.plots.exhibit import NOT_RUN, SOURCES
from benchbook.plots.points import FrameRow, iterate_rows
from benchbook.report.build import TEMPLATE
from benchbook.report.merged_run import T_TESTS
from benchbook.text.names import FORMATS, LANGUAGES, write_settings, write_terms
from benchbook.text.number_format import (
    NOT_PRINTED,
    format_comparison,
    format_count,
    format_number,
    format_p_value,
    format_value,
    split_interval,
)
from benchbook.text.sentences import phrase_verdict, write_ratio

NotebookOutput: TypeAlias = HTML | Markdown
"""What a notebook shows."""

MAX_WHOLE_ROWS: Final = 25
"""Rows of the longest table that is shown whole; a longer one is paged."""

_NUMBERS: Final = re.compile(
    r"[-+<> ]*[\d.,]+( \([-+<> \d.,]+(to [-+<> \d.,]+|or \w+)\))?|nan|" + f"{NOT_PRINTED}|{NOT_RUN}"
)
"""A cell of a column of numbers."""

_T_TEST_COLUMNS: Final = (
    ("Study", "text select"),
    ("Claim", "text"),
    ("Comparison", "text"),
    ("Here (99 %)", "here"),
    ("The paper's", "published"),
    ("SE", ""),
    ("t", ""),
    ("df", ""),
    ("p", ""),
    ("p (Holm)", ""),
    ("g", ""),
    ("Stands", "text select"),
    ("Verdict", "text select"),
)
"""Columns of the t-tests and their classes; the table can be filtered by a ``select`` column."""


def load_templates(*folders: Path) -> Environment:
    """Return the templates of some folders; each escapes what it is given."""
    environment = Environment(
        loader=FileSystemLoader(folders),
        autoescape=select_autoescape(["html.j2"]),
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "number": format_number,
        "to_be": phrase_verdict,
        "apart": split_interval,
        "plural": format_count,
        "terms": write_terms,
    }
    # From 32 characters on a number's cell may break into lines.
    environment.globals |= {"nothing": (NOT_PRINTED, NOT_RUN), "wide": 32}
    return environment


_TEMPLATES: Final = load_templates(TEMPLATE)


def fill_template(template: str, **parts: Any) -> str:
    """Return a template of the report filled in; it escapes what it is given."""
    return _TEMPLATES.get_template(f"{template}.html.j2").render(parts)


class PagedTable(HTML):
    """A long table, of which a script shows a page of rows at a time.

    JupyterLab is given the script for that with each table, the report's page has it once.
    """

    def _ipython_display_(self) -> None:
        display(HTML(self.data))  # type: ignore[no-untyped-call]
        # A notebook can be opened at any cell, so each table brings the library.
        display(Javascript(load_notebook_script()))  # type: ignore[no-untyped-call]


def render_table(
    table: pd.DataFrame,
    *,
    notes: Sequence[str] = (),
    fold: str = "",
    otherwise: str = "",
    name: str = "",
) -> NotebookOutput:
    """Render a frame; columns that end in ``, published`` and ``, here`` share a heading.

    Parameters
    ----------
    table
        Texts and numbers.
    notes
        What is below the table.
    fold
        The line that opens the table; on paper only this line is seen. Empty: it is always open.
    otherwise
        What is said of an empty frame.
    name
        The name of the files beside the page that have the table, linked below it; empty: none.
    """
    if otherwise and table.empty:
        return Markdown(otherwise)  # type: ignore[no-untyped-call]
    # The class of each column, and the texts of its cells.
    kinds = {str(column): _classify_column(str(column), table[column]) for column in table.columns}
    rows = []
    for row in table.itertuples(index=False, name=None):
        rows.append([format_value(value) for value in row])
    return _fill_table(
        "table",
        rows,
        heads=_list_headings(kinds),
        kinds=list(kinds.values()),
        notes=notes,
        fold=fold,
        name=name,
    )


def _fill_table(template: str, rows: Sequence[Sequence[str]], **parts: Any) -> NotebookOutput:
    """Return a template filled in with all rows; a script pages them where they are many."""
    is_paged = len(rows) > MAX_WHOLE_ROWS
    page = fill_template(template, rows=rows, paged=is_paged, **parts)
    shown = PagedTable if is_paged else HTML
    return shown(page)  # type: ignore[no-untyped-call]


def _classify_column(name: str, values: "pd.Series[Any]") -> str:
    """Return a column's class: the source of its numbers, else long, text, or empty for numbers."""
    source = name.rpartition(", ")[2]
    if source in SOURCES:
        return source
    texts = values.astype(str)
    if texts.str.fullmatch(_NUMBERS).all():
        return ""
    # Long texts get a wide column.
    return "long" if texts.str.len().max() > 60 else "text"


class _Heading(NamedTuple):
    """The heading of a column with its class, or of several, whose ``sources`` are beneath."""

    name: str
    kind: str
    sources: list[str]


def _list_headings(kinds: Mapping[str, str]) -> list[_Heading]:
    """Return the headings; columns of one quantity, published and here, share theirs."""

    def name_heading(column: str) -> str:
        return column.rpartition(", ")[0] if kinds[column] in SOURCES else column

    headings = []
    for name, columns in groupby(kinds, key=name_heading):
        classes = [kinds[column] for column in columns]
        headings.append(_Heading(name, classes[0], classes if classes[0] in SOURCES else []))
    return headings


def render_t_tests(table: pd.DataFrame) -> NotebookOutput:
    """Render `benchbook.analysis.verdicts.list_t_tests` as one table."""
    if table.empty:
        return Markdown("")  # type: ignore[no-untyped-call]
    rows = [_write_t_test(row) for row in iterate_rows(table)]
    return _fill_table("t_tests", rows, columns=_T_TEST_COLUMNS, file=T_TESTS)


def _write_t_test(row: FrameRow) -> list[str]:
    """Return the texts of one t-test, by `_T_TEST_COLUMNS`."""
    claim = row.claim.removeprefix(f"{row.study}.")
    ratio = write_ratio(row.a, row.b, row.kind)
    place = ", ".join(filter(None, (row.label, LANGUAGES[row.language])))
    return [
        row.study,
        Markup('<a href="#{}">{}</a>').format(row.claim, claim),
        Markup('{} <span class="interval">{}</span>').format(ratio, write_settings(place)),
        format_comparison(row.kind, row.estimate, row.low, row.high, row.unit),
        format_number(row.published),
        format_number(row.error, 2),
        format_number(row.t),
        str(row.df),
        format_p_value(row.p),
        format_p_value(row.p_holm),
        format_number(row.hedges_g),
        row.stands,
        row.verdict,
    ]


def render_aa_checks(checks: Iterable[Comparison]) -> NotebookOutput:
    """Render the A/A checks: how many times as much arm b took as arm a."""
    rows = [
        {
            "Study": row.study,
            "Language": LANGUAGES[row.language],
            "Kind": row.metric,
            "Quantities": row.label.split(" ")[0],
            "Blocks": row.blocks,
            "Arm b over arm a": row.words,
        }
        for row in checks
    ]
    fold = "by study, language and kind"
    return render_table(pd.DataFrame(rows), fold=fold, otherwise="No A/A check ran.")


def render_printed_tests() -> NotebookOutput:
    """Render the t-tests that the papers print, recomputed from their own numbers."""
    tests = load_t_tests()
    columns = {
        "Measure": tests["measure"],
        "Commas": tests["reading"],
        "Values, JSON": tests["n_json"],
        "Values, XML": tests["n_xml"],
        "t": tests["t"],
        "p (Student)": tests["p"].map(format_p_value),
        "p (Welch)": tests["p_welch"].map(format_p_value),
        "p printed": tests["printed"],
        "Result": tests["agrees"].map({True: "agrees", False: "differs"}),
    }
    return render_table(pd.DataFrame(columns))


def render_cold_starts(cold_starts: pd.DataFrame) -> NotebookOutput:
    """Render the cells of `benchbook.papers.bookstore.find_cold_starts`, times in ms."""
    columns = {
        "Case": cold_starts["case"].astype(int),
        "n": cold_starts["n"].map("{:,}".format),
        "Format": cold_starts["format"].map(FORMATS),
        "Operation": cold_starts["operation"].str.replace("_", " "),
        "Blocks": cold_starts["shapes"],
        "Steady from": cold_starts["start"],
        "Mean, ms": cold_starts["mean"] / 1e6,
        "Steady, ms": cold_starts["steady"] / 1e6,
        "Cold / steady": cold_starts["cold_over_steady"],
    }
    return render_table(
        pd.DataFrame(columns),
        fold=f"cold start and steady state of {len(cold_starts)} cells",
        otherwise="Too few repetitions per cell to tell a cold start from a steady state.",
    )


@cache
def load_table_script() -> str:
    """Return DataTables with what it needs, as a script that defines ``DataTable``."""
    bundle = files("itables").joinpath("html/dt_bundle.js").read_text(encoding="utf-8")
    default_export = r"export\s*\{[^}]*?(\w+) as default[^}]*\};?"
    script, count = re.subn(default_export, r"window.DataTable = \1;", bundle)
    if count != 1:
        raise RuntimeError(
            "itables brings no DataTables that a page can run: install another version of itables"
        )
    # A page would take these for HTML; in the script they are only in texts.
    script = script.replace("<!--", "\\x3c!--").replace("</script", "\\x3c/script")
    # The bundle is a module: as a script it keeps its names to itself.
    return f"(() => {{{script}\n}})();\n"


@cache
def load_notebook_script() -> str:
    """Return the script that pages the tables of an open notebook."""
    style = json.dumps((TEMPLATE / "tables.css").read_text(encoding="utf-8"))
    start = (TEMPLATE / "tables.js").read_text(encoding="utf-8")
    return (
        f"if (!window.DataTable) {{\n{load_table_script()}"
        f"const style = document.createElement('style'); style.textContent = {style}; "
        f"document.head.append(style);\n}}\n{start}"
    )
