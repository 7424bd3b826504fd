"""How long a cell takes, by the clock that nobody sets; and how far the machine's time was set meanwhile."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

STEP_S: Final = 0.1
"""Seconds by which the two clocks may part before it is a jump: more than passes between two readings of them."""


@dataclass(frozen=True)
class Took:
    """What a stopwatch showed.

    Parameters
    ----------
    started_at
        By the machine's time.
    seconds
        How long it ran, by the monotonic clock.
    step_s
        By how much more the machine's time went on: it was set, or the machine slept.
    """

    started_at: datetime
    seconds: float
    step_s: float


class Stopwatch:
    """Runs from when it is made."""

    def __init__(self) -> None:
        self._started_at, self._begun = datetime.now(UTC), time.monotonic()

    def stopped(self) -> Took:
        """Return what it shows now."""
        seconds = time.monotonic() - self._begun
        return Took(self._started_at, seconds, (datetime.now(UTC) - self._started_at).total_seconds() - seconds)
