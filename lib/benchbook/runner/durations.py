"""How long cells take, by the clock that nobody sets; how far the machine's time was set meanwhile; and time left."""

import time
from collections.abc import Mapping, Sequence
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


Durations = Mapping[tuple[str, str], float]
"""Seconds of a finished cell, by its kind: study and parameters."""


def time_left(cells: Sequence[tuple[str, str]], known: Durations) -> list[str]:
    """Return how long cells will take, as far as cells of the same study and parameters tell; nothing for none."""
    if not cells:
        return []
    told = [known[cell] for cell in cells if cell in known]
    if not told:
        return ["time left unknown"]
    return [f"{'about' if len(told) == len(cells) else 'more than'} {span(sum(told))}"]


def span(seconds: float) -> str:
    """Return a duration in words."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
