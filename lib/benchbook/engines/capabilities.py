"""What an engine may be able to do beyond its verbs, and what asking for it raises where it is a declared gap.

An adapter names its gaps in ``lacks`` and ``stand_in_lacks``, each with a reason. The compliance suite asks every
engine for every capability: what is not declared must work, and what is declared must fail as is said here.
"""

from dataclasses import dataclass
from typing import Final

from benchbook.engines.errors import EngineError, GapError, RefusedError


@dataclass(frozen=True)
class Capability:
    """One thing that engines differ in.

    Parameters
    ----------
    title
        Its column in a table.
    means
        What can be done where it is there.
    error
        What asking for it raises where it is not; None when that is not told, and the outcome differs.
    """

    title: str
    means: str
    error: type[EngineError] | None


CAPABILITIES: Final = {
    "wait_for": Capability("replica", "a second node follows, and a wait ends when it has caught up", GapError),
    "bytes_received": Capability("bytes", "the replica counts the bytes that replication brought it", None),
    "read_only_replica": Capability("read-only", "a replica refuses writes", None),
    "durability": Capability("durability", "`relaxed` and `strict` can be chosen", GapError),
    "constraints": Capability("constraints", "foreign key and NOT NULL hold, and can be left out", GapError),
    "reference_without_index": Capability("bare key", "a foreign key can be had without an index", None),
    "find": Capability("find", "a field that is no key is searched", GapError),
    "trailing_blanks": Capability("blanks", "texts that differ in blanks at their end are told apart", None),
    "nul_characters": Capability("NUL", "a text may hold U+0000", RefusedError),
    "large_integers": Capability("2^53", "integers beyond 2^53 come back equal", RefusedError),
    "large_records": Capability("16 MB", "a record may be larger than 16 MB", EngineError),
    "passwords": Capability("password", "a wrong password is refused", None),
    "contents": Capability("contents", "what was stored is there", None),
}
"""Each capability by the name that adapters declare its absence by."""
