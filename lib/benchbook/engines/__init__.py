"""Adapters: one a database, and one a mode or a mapper of it. They use a `Deployment`; they time nothing."""

from benchbook.engines.base import Engine
from benchbook.engines.counter import Counter
from benchbook.engines.errors import (
    DuplicateKeyError,
    EngineError,
    GapError,
    MissingRecordError,
    RefusedError,
    UnreachableError,
)
from benchbook.engines.options import Durability, Options
from benchbook.engines.registry import NAMES, load, open

__all__ = [
    "NAMES",
    "Counter",
    "DuplicateKeyError",
    "Durability",
    "Engine",
    "EngineError",
    "GapError",
    "MissingRecordError",
    "Options",
    "RefusedError",
    "UnreachableError",
    "load",
    "open",
]
