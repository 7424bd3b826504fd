"""``python -m tools.capabilities docs/engines.md`` says there what each engine can do, as adapters declare it.

A capability is what an engine may be able to do beyond its verbs. An adapter names its gaps in ``lacks``,
``server_lacks`` and ``stand_in_lacks``, each with a reason. The compliance suite asks every engine for every
capability: what is not declared must work, and what is declared must fail as is said here. On which servers that was
held, the record of compliance says.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Final

from benchbook import compliance, databases, plugins, servers
from benchbook.databases import Engine, EngineError, GapError, RefusedError
from benchbook.deployment import Topology
from benchbook.registry import product
from tools.pages import table

BEGIN: Final = "<!-- capabilities: python -m tools.capabilities docs/engines.md -->"
END: Final = "<!-- /capabilities -->"

_SERVER, _STAND_IN, _UNTESTED, _GAP = "✓", "◐", "○", "–"
_DIGITS: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_OF_REPLICAS: Final = ("wait_for", "bytes_received", "read_only_replica")
_BOTH_WAYS: Final = "both ways"
_ONE_WAY: Final = "the suite sets two-way replication up for CouchDB alone"

_LEGEND: Final = (
    f"{_SERVER} the suite held it on the product itself, in the versions named; {_STAND_IN} on a stand-in only; "
    f"{_UNTESTED} written by the documentation, and never run against what can do it; {_GAP} a gap: asked for all the "
    "same, it fails, which the suite holds too."
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

    shown = [name for name in engines if name != "noop"]
    asked = [name for name in CAPABILITIES if name != "contents"]
    rows = [[f"`{name}`", _held(name), *_row(databases.load(name), asked, note)] for name in shown]
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


def _held(engine: str) -> str:
    """Return the versions that an engine was held on, with the topologies of those not held in all."""
    held: dict[str, list[str]] = {}
    ways = servers.topologies(servers.product_of(engine))
    for topology in ways:
        for version in compliance.versions(engine, topology):
            held.setdefault(version, []).append(topology)
    versions = [
        version if len(topologies) == len(ways) else f"{version} ({', '.join(topologies)})"
        for version, topologies in held.items()
    ]
    if versions:
        return ", ".join(versions)
    stand_in = compliance.stand_in(servers.product_of(engine))
    return f"stand-in: {stand_in}" if stand_in else "no server"


def _row(engine: type[Engine], asked: list[str], note: Note) -> Iterator[str]:
    for name in asked:
        if name == "reference_without_index" and "constraints" in engine.lacks:
            yield ""  # where there is no foreign key, nothing could be indexed with it
        else:
            yield _cell(engine, name, note)
        if name == "wait_for":
            both = product(engine.product).bidirectional
            yield _met(engine, "bidirectional") if both else _GAP + note(_ONE_WAY)


def _cell(engine: type[Engine], capability: str, note: Note) -> str:
    if why := engine.lacks.get(capability) or engine.server_lacks.get(capability):
        return _GAP + note(why)
    met = _met(engine, "replicated" if capability in _OF_REPLICAS else "single")
    if met != _SERVER and (why := engine.stand_in_lacks.get(capability)):
        return _UNTESTED + note(why)
    if capability in engine.since:
        version, why = engine.since[capability]
        return met + note(f"before {version}: {why}")
    return met


def _met(engine: type[Engine], topology: Topology) -> str:
    """Return the mark of what the compliance suite met in a topology: the product, its stand-in or neither."""
    if compliance.versions(engine.name, topology):
        return _SERVER
    stand_in = product(engine.product).stand_in
    return _STAND_IN if stand_in and (stand_in.pairs or topology == "single") else _UNTESTED


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:] or ["docs/engines.md"]):
        file.write_text(rewritten(file.read_text(encoding="utf-8")), encoding="utf-8")
