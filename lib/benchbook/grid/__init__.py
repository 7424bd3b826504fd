"""From a YAML grid to cells: checked against the studies' parameters, expanded, blocked, shuffled and planned."""

from benchbook.grid.errors import GridError
from benchbook.grid.identities import code, code_hash, identity, notebook
from benchbook.grid.parse import Grid
from benchbook.grid.parse import read as load
from benchbook.grid.planning import Cell, LeftOut, current, left_out, plan

__all__ = [
    "Cell",
    "Grid",
    "GridError",
    "LeftOut",
    "code",
    "code_hash",
    "current",
    "identity",
    "left_out",
    "load",
    "notebook",
    "plan",
]
