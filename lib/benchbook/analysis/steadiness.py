"""Steadiness: where repetitions reach their steady state, found by changepoints.

Begin with `find_steady_state`.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

MIN_REPETITIONS: Final = 20
"""Fewer repetitions than this show no steady state."""

CHANGE_PENALTY: Final = 4
"""Penalty of a change of level, in variances times log(n): 2 % of constant rows of 30 show one."""

SAME_LEVEL: Final = 1.05
"""Levels within this ratio are one state."""

Shape = Literal["flat", "cold start", "slows down", "no steady state", "unknown"]


@dataclass(frozen=True)
class Steadiness:
    """The course of a row of repetitions."""

    # ``flat``: steady from the first; ``cold start``: slower before; ``slows down``: faster before;
    # ``no steady state``: the last level begins after the first half.
    shape: Shape
    start: int | None  # the first repetition of the steady state; None if there is none
    reason: str = ""  # why the shape is unknown


def find_steady_state(values: ArrayLike) -> Steadiness:
    """Return where the values reach their steady state.

    The logarithms are cut into levels: an exact search finds the least sum of squares around the
    means of the levels, plus a penalty of `CHANGE_PENALTY` log(n) variances per change. The noise
    is estimated from differences of neighbours, which hardly depend on the levels. A single value
    at a level of its own is an outlier and is left out, unless it is the first, as after a cold
    start. Levels within `SAME_LEVEL` are one.

    Parameters
    ----------
    values
        Shape (n,), positive, in the order of measurement. The search takes n squared steps.

    References
    ----------
    Barrett, Bolz-Tereick, Killick, Mount and Tratt, Virtual machine warmup blows hot and cold,
    Proceedings of the ACM on Programming Languages 1 (2017) OOPSLA 52, for the shapes. Jackson et
    al., An algorithm for optimal partitioning of data on an interval, IEEE Signal Processing
    Letters 12 (2005) 105-108, for the search.
    """
    array = np.asarray(values, float)
    if array.size < MIN_REPETITIONS:
        reason = f"{array.size} repetitions, at least {MIN_REPETITIONS} are needed"
        return Steadiness("unknown", None, reason=reason)
    if (array <= 0).any():
        return Steadiness("unknown", None, reason="a value is zero or negative")
    logs = np.log(array / np.median(array))
    starts = _find_levels(logs)

    # The steady state begins with the first of the last levels that are the same.
    levels = [float(np.median(part)) for part in np.split(logs, starts[1:])]
    last = len(levels) - 1
    while last and abs(levels[last - 1] - levels[-1]) <= np.log(SAME_LEVEL):
        last -= 1

    # Its shape: by where it begins, and by the level before it.
    if starts[last] > array.size / 2:
        return Steadiness("no steady state", None)
    if not last:
        return Steadiness("flat", 0)
    shape: Shape = "cold start" if levels[last - 1] > levels[-1] else "slows down"
    return Steadiness(shape, starts[last])


def _find_levels(logs: NDArray[np.float64]) -> list[int]:
    """Return where each level begins, without single values after the first."""
    kept = np.arange(logs.size)
    while True:
        starts = _partition(logs[kept])
        lengths = np.diff([*starts, kept.size])
        alone = [
            start for start, length in zip(starts[1:], lengths[1:], strict=True) if length == 1
        ]
        if not alone:
            return [int(kept[start]) for start in starts]
        kept = np.delete(kept, alone)


def _partition(logs: NDArray[np.float64]) -> list[int]:
    """Return where each level of the best partition begins, the first at 0."""
    # The median absolute deviation of a normal distribution with variance 1 is 0.6745.
    noise = float(np.median(np.abs(np.diff(logs)))) / (0.6745 * np.sqrt(2))
    penalty = CHANGE_PENALTY * np.log(logs.size) * max(noise, 1e-9) ** 2

    # For each end the least cost up to it, and where its last level begins. A level's sum of
    # squares around its mean follows from running sums.
    count = np.arange(logs.size + 1)
    total, squares = (np.concatenate([[0.0], np.cumsum(terms)]) for terms in (logs, logs**2))
    best, before = np.zeros(logs.size + 1), np.zeros(logs.size + 1, dtype=int)
    for end in range(1, logs.size + 1):
        inside = total[end] - total[:end]
        costs = (
            best[:end] + squares[end] - squares[:end] - inside**2 / (end - count[:end]) + penalty
        )
        before[end] = int(np.argmin(costs))
        best[end] = costs[before[end]]

    # Back from the last level to the first.
    starts = [int(before[-1])]
    while starts[-1]:
        starts.append(int(before[starts[-1]]))
    return starts[::-1]
