"""From a YAML grid to cells: checked against the studies' parameters, expanded, blocked, shuffled and planned."""

from benchbook.grid.identities import code, code_hash, identity, notebook
from benchbook.grid.planning import (
    Cell,
    Elsewhere,
    LeftOut,
    current,
    elsewhere,
    hidden,
    keys,
    kind,
    left_out,
    own,
    plan,
)
from benchbook.grid.read import load

__all__ = [
    "Cell",
    "Elsewhere",
    "LeftOut",
    "code",
    "code_hash",
    "current",
    "elsewhere",
    "hidden",
    "identity",
    "keys",
    "kind",
    "left_out",
    "load",
    "notebook",
    "own",
    "plan",
]
