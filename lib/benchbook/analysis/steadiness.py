"""Where a row of repetitions has settled: the cold start split from the steady state, by changepoints."""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

ENOUGH: Final = 20
"""Fewer repetitions than this do not show where they settle."""

PENALTY: Final = 4
"""For a change of level, in variances and logarithms of n: some 2 % of rows of 30 that do not change seem to."""

GAUSS: Final = 0.6745
"""The median absolute deviation of a normal distribution of variance 1."""

SAME: Final = 1.05
"""Levels within this ratio are one: a change so small is no other state."""

Shape = Literal["flat", "cold start", "slows down", "no steady state", "unknown"]


@dataclass(frozen=True)
class Steadiness:
    """How a row of repetitions settled."""

    # ``flat`` from the first on; ``cold start``: slower before; ``slows down``: faster before; ``no steady state`` when
    # the last level does not hold for the second half; ``unknown`` with a reason
    shape: Shape
    start: int | None  # the first repetition of the steady state; None when there is none
    changes: tuple[int, ...] = ()  # the first repetition after each change of level
    reason: str = ""  # why the shape is unknown; else empty


def steadiness(values: ArrayLike) -> Steadiness:
    """Return where the values settle.

    The logarithms are cut into levels by an exact search for the least sum of squares around the levels' means, plus a
    penalty of `PENALTY` log(n) variances for each change. The noise is estimated from the differences of neighbours,
    which changes of level hardly touch. A lone value that would be a level of its own is an outlier and left out,
    unless it is the first: that is how a cold start looks. Levels within `SAME` are one.

    Parameters
    ----------
    values
        Shape (n,), positive, in the order of measurement; takes n squared steps.

    References
    ----------
    Barrett, Bolz-Tereick, Killick, Mount and Tratt, Virtual machine warmup blows hot and cold, Proceedings of the ACM
    on Programming Languages 1 (2017) OOPSLA 52, for the shapes; Jackson et al., An algorithm for optimal partitioning
    of data on an interval, IEEE Signal Processing Letters 12 (2005) 105-108, for the search.
    """
    array = np.asarray(values, float)
    if array.size < ENOUGH:
        return Steadiness("unknown", None, reason=f"{array.size} repetitions, at least {ENOUGH} are needed")
    if (array <= 0).any():
        return Steadiness("unknown", None, reason="a value is zero or negative")
    logs = np.log(array / np.median(array))
    starts = _levels(logs)
    levels = [float(np.median(part)) for part in np.split(logs, starts[1:])]
    last = len(levels) - 1
    while last and abs(levels[last - 1] - levels[-1]) <= np.log(SAME):
        last -= 1
    if starts[last] > array.size / 2:
        return Steadiness("no steady state", None, tuple(starts[1:]))
    if not last:
        return Steadiness("flat", 0, tuple(starts[1:]))
    shape: Shape = "cold start" if levels[last - 1] > levels[-1] else "slows down"
    return Steadiness(shape, starts[last], tuple(starts[1:]))


def _levels(logs: NDArray[np.float64]) -> list[int]:
    """Return where each level begins, the first at 0; lone values after the first are no levels."""
    kept = np.arange(logs.size)
    while True:
        starts = _partition(logs[kept])
        lengths = np.diff([*starts, kept.size])
        alone = [start for start, length in zip(starts[1:], lengths[1:], strict=True) if length == 1]
        if not alone:
            return [int(kept[start]) for start in starts]
        kept = np.delete(kept, alone)


def _partition(logs: NDArray[np.float64]) -> list[int]:
    """Return where each level of the best partition begins."""
    noise = float(np.median(np.abs(np.diff(logs)))) / (GAUSS * np.sqrt(2))
    penalty = PENALTY * np.log(logs.size) * max(noise, 1e-9) ** 2
    count = np.arange(logs.size + 1)
    total, squares = (np.concatenate([[0.0], np.cumsum(terms)]) for terms in (logs, logs**2))
    best, before = np.zeros(logs.size + 1), np.zeros(logs.size + 1, dtype=int)
    for end in range(1, logs.size + 1):
        inside = total[end] - total[:end]
        costs = best[:end] + squares[end] - squares[:end] - inside**2 / (end - count[:end]) + penalty
        before[end] = int(np.argmin(costs))
        best[end] = costs[before[end]]
    starts = [int(before[-1])]
    while starts[-1]:
        starts.append(int(before[starts[-1]]))
    return starts[::-1]
