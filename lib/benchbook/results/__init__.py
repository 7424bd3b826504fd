"""What runs write, and how it is read back."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from benchbook.results.files import DamagedError, delivered, typed
from benchbook.results.schema import CELLS, OBSERVATIONS, OF_AN_ARM, TIMES, UNITS, VALUES

if TYPE_CHECKING:
    from benchbook.results.folder import lost, whole
    from benchbook.results.merge import connect, finished, frame, observations, seconds
    from benchbook.results.store import State, path, states, write

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
    "path",
    "seconds",
    "states",
    "typed",
    "whole",
    "write",
]

_LATER: Final = {
    "folder": ("lost", "whole"),
    "merge": ("connect", "finished", "frame", "observations", "seconds"),
    "store": ("State", "path", "states", "write"),
}


def __getattr__(name: str) -> Any:
    """Import what keeps and reads back results only when asked: no cell runs it, and none is new when it changes."""
    for module, names in _LATER.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
