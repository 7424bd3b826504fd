"""``python -m tools.capabilities docs/engines.md`` says there what each engine can do, as adapters declare it.

A capability is what an engine may be able to do beyond its verbs. An adapter names its gaps in ``lacks``,
each with a reason. The compliance suite asks every engine for every capability: what is not declared must work, and
what is declared must fail as is said here. On which servers that was held, the products' ``tested_on`` says.
Experimental engines have no row: nothing was held of them.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Final

from benchbook import databases, plugins
from benchbook.databases import Engine, EngineError, GapError, RefusedError
from benchbook.registry import is_experimental, known
from tools.pages import table

BEGIN: Final = "<!-- capabilities: python -m tools.capabilities docs/engines.md -->"
END: Final = "<!-- /capabilities -->"

_HELD, _GAP = "✓", "–"
_DIGITS: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_BOTH_WAYS: Final = "both ways"
_ONE_WAY: Final = "the suite sets two-way replication up for CouchDB alone"

_LEGEND: Final = (
    f"{_HELD} the suite held it on the product itself, in the versions named; {_GAP} a gap: asked for all the same, it "
    "fails, which the suite holds too."
)
_DETAILS: Final = "<details><summary>Each gap's reason</summary>"
_WIDTH: Final = 160


@dataclass(frozen=True)
class Capability:
    """One thing that engines differ in."""

    title: str  # of its column in a table
    means: str  # what can be done where it is there
    error: type[EngineError] | None  # what asking for it raises where it is not; None: not told, the outcome differs


CAPABILITIES: Final = {
    "wait_for": Capability("replica", "a second node follows, and a wait ends when it has caught up", GapError),
    "bytes_received": Capability("bytes", "the bytes that replication brings a replica are counted", None),
    "read_only_replica": Capability("read-only", "a replica refuses writes", None),
    "durability": Capability("durability", "`relaxed` and `strict` can be chosen", GapError),
    "constraints": Capability("constraints", "foreign key and NOT NULL hold, and can be left out", GapError),
    "reference_without_index": Capability("bare key", "a foreign key can be had without an index", None),
    "find": Capability("find", "a field that is no key is searched", GapError),
    "trailing_blanks": Capability("blanks", "texts that differ in blanks at their end are told apart", None),
    "nul_characters": Capability("NUL", "a text may hold U+0000", RefusedError),
    "large_integers": Capability("2^53", "integers beyond 2^53 come back equal", RefusedError),
    "doubles": Capability("doubles", "floating-point numbers come back equal, to the last bit", None),
    "large_records": Capability("16 MB", "a record may be larger than 16 MB", EngineError),
    "passwords": Capability("password", "a wrong password is refused", None),
    "contents": Capability("contents", "what was stored is there", None),
}
"""Each capability by the name that adapters declare its absence by."""

Note = Callable[[str], str]
"""Returns the mark of a reason's footnote."""


def matrix(engines: Iterable[str] = databases.NAMES) -> str:
    """Return the matrix as Markdown: a row an engine, a column a capability, and the reasons of all gaps."""
    notes: dict[str, int] = {}

    def note(why: str) -> str:
        return str(notes.setdefault(why, len(notes) + 1)).translate(_DIGITS)

    shown = [name for name in engines if name != "noop" and not is_experimental(name)]
    asked = [name for name in CAPABILITIES if name != "contents"]
    rows = [[f"`{name}`", str(known(name).tested_on), *_row(databases.load(name), asked, note)] for name in shown]
    first, *rest = (CAPABILITIES[name].title for name in asked)
    head = ["engine", "held on", first, _BOTH_WAYS, *rest]
    means = "; ".join(f"**{CAPABILITIES[name].title}**: {CAPABILITIES[name].means}" for name in asked)
    lines = [*table(head, rows, ["---", "---", *[":-:"] * (len(head) - 2)]), "", *wrap(_LEGEND, _WIDTH), ""]
    reasons = [f"{number}. {why}" for why, number in notes.items()]
    return "\n".join([*lines, *wrap(f"{means}.", _WIDTH), "", _DETAILS, "", *reasons, "", "</details>"])


def rewritten(text: str) -> str:
    """Return a page with today's matrix of the suite's own engines between its two marks.

    Raises `ValueError` when a mark is missing.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page needs {BEGIN!r} and {END!r}, a line each: the matrix goes between them")
    own = [name for name in databases.NAMES if name not in plugins.announced("engines")]
    return f"{before}{begin}\n{matrix(own)}\n{end}{after}"


def _row(engine: type[Engine], asked: list[str], note: Note) -> Iterator[str]:
    for name in asked:
        if name == "reference_without_index" and "constraints" in engine.lacks:
            yield ""  # where there is no foreign key, nothing could be indexed with it
        else:
            yield _cell(engine, name, note)
        if name == "wait_for":
            yield _HELD if known(engine.product).bidirectional else _GAP + note(_ONE_WAY)


def _cell(engine: type[Engine], capability: str, note: Note) -> str:
    if why := engine.lacks.get(capability):
        return _GAP + note(why)
    if capability in engine.since:
        version, why = engine.since[capability]
        return _HELD + note(f"before {version}: {why}")
    return _HELD


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:] or ["docs/engines.md"]):
        file.write_text(rewritten(file.read_text(encoding="utf-8")), encoding="utf-8")
