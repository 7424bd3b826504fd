"""What runs write, and how it is read back."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from benchbook.results.files import typed, write_table
from benchbook.results.inventory import lost, whole
from benchbook.results.schema import CELLS, OBSERVATIONS, UNITS, VALUES, Metric
from benchbook.results.seal import DamagedError, delivered
from benchbook.results.store import STATES, State, joined, path, states, write

if TYPE_CHECKING:
    from benchbook.results.merge import connect, finished, frame, observations, seconds

__all__ = [
    "CELLS",
    "OBSERVATIONS",
    "STATES",
    "UNITS",
    "VALUES",
    "DamagedError",
    "Metric",
    "State",
    "connect",
    "delivered",
    "finished",
    "frame",
    "joined",
    "lost",
    "observations",
    "path",
    "seconds",
    "states",
    "typed",
    "whole",
    "write",
    "write_table",
]


def __getattr__(name: str) -> Any:
    """Import what reads back only when asked: a cell's kernel writes and never reads."""
    if name in ("connect", "finished", "frame", "observations", "seconds"):
        return getattr(import_module("benchbook.results.merge"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
