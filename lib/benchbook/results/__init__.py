"""What runs write, and how it is read back.

In come a cell's columns and the rows that it delivered (`schema`); out go a file in the results' `folder`, and views of
all files for SQL. Begin with `folder`; `files` has one Parquet file, which it verifies, and `views` all of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from benchbook.results.files import DamagedError, delivered, typed
from benchbook.results.schema import CELLS, OBSERVATIONS, OF_AN_ARM, TIMES, UNITS, VALUES, parameter_column

if TYPE_CHECKING:
    from benchbook.results.folder import State, lost, path, states, whole, write
    from benchbook.results.views import connect, finished, frame, observations, seconds

__all__ = [
    "CELLS",
    "OBSERVATIONS",
    "OF_AN_ARM",
    "TIMES",
    "UNITS",
    "VALUES",
    "DamagedError",
    "State",
    "connect",
    "delivered",
    "finished",
    "frame",
    "lost",
    "observations",
    "parameter_column",
    "path",
    "seconds",
    "states",
    "typed",
    "whole",
    "write",
]


def __getattr__(name: str) -> object:
    """Import what keeps and reads back results only when asked: no cell runs it, and none is new when it changes."""
    for part in ("folder", "views") if name in __all__ else ():
        if hasattr(module := import_module(f"{__name__}.{part}"), name):
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
