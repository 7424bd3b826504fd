"""The table of databases' capabilities: ``python -m tools.capabilities docs/databases.md``.

A capability is an ability beyond an adapter's verbs. An adapter names its gaps in ``limitations``,
each with a reason. Tests ask every database for every capability: it must work, or fail as declared
here. A product's ``tested_on`` names the servers of these tests. Plug-ins' databases are not in the
table, because no test of ours runs them against their products.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Final

from benchbook.databases import catalogue
from benchbook.databases.adapter import Adapter, AdapterError, RefusedError, UnsupportedError
from benchbook.registry.products import PLUGIN_DATABASES, load_database_product
from tools.pages import render_table

BEGIN: Final = "<!-- capabilities: python -m tools.capabilities docs/databases.md -->"
END: Final = "<!-- /capabilities -->"

_HELD, _GAP = "✓", "–"
_DIGITS: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_BOTH_WAYS: Final = "both ways"
_ONE_WAY: Final = "the suite sets two-way replication up for CouchDB alone"

_LEGEND: Final = (
    f"{_HELD}: tests used it on the product, in these versions. {_GAP}: the database cannot do it;"
    " tests ask for it and see it fail. A number leads to the reason."
)
_DETAILS: Final = "<details><summary>The columns, and the reason of each gap</summary>"
_WIDTH: Final = 160


@dataclass(frozen=True)
class Capability:
    """One thing that databases differ in."""

    title: str  # of its column in a table
    means: str  # what can be done where it is there
    # What asking for a missing one raises; None where the outcome differs.
    error: type[AdapterError] | None


CAPABILITIES: Final = {
    "wait_for": Capability(
        "replica", "a second node follows, and a wait ends when it has caught up", UnsupportedError
    ),
    "bytes_received": Capability("bytes", "the bytes that a replica receives are counted", None),
    "read_only_replica": Capability("read-only", "a replica refuses writes", None),
    "durability": Capability(
        "durability", "`relaxed` and `strict` can be chosen", UnsupportedError
    ),
    "constraints": Capability(
        "constraints", "foreign key and NOT NULL are checked, and can be left out", UnsupportedError
    ),
    "reference_without_index": Capability(
        "bare key", "a foreign key can exist without an index", None
    ),
    "find": Capability("find", "a field other than the key can be searched", UnsupportedError),
    "trailing_blanks": Capability(
        "blanks", "texts that differ only in blanks at their end are different", None
    ),
    "nul_characters": Capability("NUL", "a text may hold U+0000", RefusedError),
    "large_integers": Capability("2^53", "integers beyond 2^53 come back equal", RefusedError),
    "doubles": Capability(
        "doubles", "floating-point numbers come back equal, to the last bit", None
    ),
    "large_records": Capability("16 MB", "a record may be larger than 16 MB", AdapterError),
    "passwords": Capability("password", "a wrong password is refused", None),
    "contents": Capability("contents", "stored records are present", None),
}
"""Capabilities by the names with which adapters declare their absence."""

Note = Callable[[str], str]
"""Returns the mark of a reason's footnote."""


def render_matrix() -> str:
    """Return the table in Markdown: databases by capabilities, with the reasons of all gaps."""
    notes: dict[str, int] = {}

    def note(why: str) -> str:
        return str(notes.setdefault(why, len(notes) + 1)).translate(_DIGITS)

    untested = (*PLUGIN_DATABASES, "noop")
    shown = [name for name in catalogue.DATABASE_NAMES if name not in untested]
    asked = [name for name in CAPABILITIES if name != "contents"]
    rows = [
        [
            f"`{name}`",
            load_database_product(name).tested_on,
            *_render_row(catalogue.load_adapter(name), asked, note),
        ]
        for name in shown
    ]
    first, *rest = (CAPABILITIES[name].title for name in asked)
    head = ["database", "tested on", first, _BOTH_WAYS, *rest]
    means = [f"- **{CAPABILITIES[name].title}**: {CAPABILITIES[name].means}" for name in asked]
    lines = [
        *render_table(head, rows, ["---", "---", *[":-:"] * (len(head) - 2)]),
        "",
        *wrap(_LEGEND, _WIDTH),
        "",
    ]
    reasons = [f"{number}. {why}" for why, number in notes.items()]
    return "\n".join([*lines, _DETAILS, "", *means, "", *reasons, "", "</details>"])


def rewrite_page(text: str) -> str:
    """Return a page with today's table of the suite's own databases between its two marks.

    Raises `ValueError` when a mark is missing.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(
            f"the page needs {BEGIN!r} and {END!r}, a line each: the matrix goes between them"
        )
    return f"{before}{begin}\n{render_matrix()}\n{end}{after}"


def _render_row(adapter: type[Adapter], asked: list[str], note: Note) -> Iterator[str]:
    for name in asked:
        if name == "reference_without_index" and "constraints" in adapter.limitations:
            yield ""  # where there is no foreign key, nothing could be indexed with it
        else:
            yield _render_cell(adapter, name, note)
        if name == "wait_for":
            yield (
                _HELD
                if load_database_product(adapter.product).bidirectional
                else _GAP + note(_ONE_WAY)
            )


def _render_cell(adapter: type[Adapter], capability: str, note: Note) -> str:
    why = adapter.limitations.get(capability)
    if why:
        return _GAP + note(why)
    if capability in adapter.first_versions:
        version, why = adapter.first_versions[capability]
        return _HELD + note(f"before {version}: {why}")
    return _HELD


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:] or ["docs/databases.md"]):
        file.write_text(rewrite_page(file.read_text(encoding="utf-8")), encoding="utf-8")
