"""From a YAML grid to cells: checked against the studies' parameters, expanded, blocked, shuffled and planned."""

from benchbook.grid.identities import code, code_hash, identity, notebook
from benchbook.grid.planning import Cell, LeftOut, current, keys, left_out, plan
from benchbook.grid.read import load

__all__ = [
    "Cell",
    "LeftOut",
    "code",
    "code_hash",
    "current",
    "identity",
    "keys",
    "left_out",
    "load",
    "notebook",
    "plan",
]
