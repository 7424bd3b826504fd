"""Adapters: one a database, and one a mode or a mapper of it. They use a `Deployment`; they time nothing."""

from benchbook.engines.base import Engine
from benchbook.engines.counter import Counter
from benchbook.engines.errors import (
    DuplicateKeyError,
    EngineError,
    GapError,
    MissingRecordError,
    OccupiedError,
    RefusedError,
    UnreachableError,
)
from benchbook.engines.options import Durability, Options
from benchbook.engines.registry import NAMES, Name, StoreName, load, open, release, reserve

__all__ = [
    "NAMES",
    "Counter",
    "DuplicateKeyError",
    "Durability",
    "Engine",
    "EngineError",
    "GapError",
    "MissingRecordError",
    "Name",
    "OccupiedError",
    "Options",
    "RefusedError",
    "StoreName",
    "UnreachableError",
    "load",
    "open",
    "release",
    "reserve",
]
