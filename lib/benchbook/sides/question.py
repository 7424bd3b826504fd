"""A question: which sides are compared, and what tells it from others of its name."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from benchbook.measure.machine import name_host

VERSION: Final = 1
"""Of how sides are measured: blocks of another version are not pooled."""

LETTERS: Final = "ABCDEFGH"
"""The names of the sides in their order; the first is the one that the others are compared with."""

SMALLEST: Final = 0.05
"""The smallest difference that matters, as a share, unless another one is given."""

TIMEOUT_S: Final = 600.0
"""Seconds after which a run is given up, unless another time is given."""

MAX_TIMEOUT_S: Final = 86_400.0
"""The longest time that can be given: the system's timers do not take all numbers."""


class SidesError(RuntimeError):
    """A side failed, did not end, or gave another answer; the message names it."""


@dataclass(frozen=True)
class SideRun:
    """One timed run of a side."""

    side: int  # its place in the question
    began_at: int  # ns since 1970
    values: Mapping[str, float]  # by metric, in ns or B, of all its calls
    count: int = 1  # calls


class SideRunner(Protocol):
    """Runs the sides of a question in fresh processes."""

    operation: str  # what is done once: ``run`` of a command, ``call`` of a function

    def start_block(self) -> AbstractContextManager[Callable[[int], SideRun]]:
        """Return a function that runs a side by its number, in processes of this block.

        Before that each side has run once, at least in the first block. Both raise `SidesError`
        when a side fails.
        """


@dataclass(frozen=True)
class SidesQuestion:
    """Sides to compare.

    Parameters
    ----------
    name
        The user's name of it: blocks of other days are found by it.
    sides
        Each side in words: its command, or its function's name.
    digest
        Of all that is measured: the commands and the files that they name, or the functions' code.
    smallest
        The smallest difference that matters, as a share: 0.05 for 5 %.
    """

    name: str
    sides: Sequence[str]
    digest: str
    smallest: float = SMALLEST

    @property
    def cell_id(self) -> str:
        """The identity of its blocks on this host."""
        return digest_values(self.name, self.digest, name_host())


def digest_values(*values: object) -> str:
    """Return a digest of values that JSON can write, and of how sides are measured."""
    return hashlib.sha256(json.dumps([VERSION, *values]).encode()).hexdigest()[:16]
