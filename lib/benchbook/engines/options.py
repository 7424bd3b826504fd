"""How an engine keeps its records, and how long it waits for servers."""

from dataclasses import dataclass
from typing import Final, Literal

Durability = Literal["default", "relaxed", "strict"]

PATIENCE_S: Final = 5
"""How long a server may take to answer a newcomer, in seconds."""

CATCH_UP_S: Final = 60.0
"""How long a replica may take to follow `create`, in seconds."""


@dataclass(frozen=True)
class Options:
    """How an engine keeps its records.

    Parameters
    ----------
    durability
        When a write counts as done; each adapter says what it makes of it.
    constraints
        False: foreign key and NOT NULL are left out (the key stays, or an update by key would scan).
    index
        Fields with an index, where the schema has them.
    """

    durability: Durability = "default"
    constraints: bool = True
    index: tuple[str, ...] = ()
