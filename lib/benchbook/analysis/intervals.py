"""Intervals of block means, with Student's t, Holm's correction and Hedges' g.

Begin with `compute_interval`, the interval of every figure, table and verdict.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import copysign, exp, inf, nan, sqrt
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

ICC: Final = 0.35
"""Correlation of blocks of one machine-day: measured over days, the same for all comparisons."""

CONFIDENCE: Final = 0.99
"""Of every interval. It is 99 and not 95 % because results may be judged after each day."""

MIN_BLOCKS: Final = 5
"""Fewer blocks than this have no interval and no test."""

_Blocks = TypeVar("_Blocks", float, NDArray[Any])


@dataclass(frozen=True)
class Interval:
    """The mean of some blocks with its interval, in their unit; NaN and a reason without one."""

    estimate: float = nan
    low: float = nan
    high: float = nan
    error: float = nan  # standard error of the estimate
    blocks: int = 0
    machine_days: int = 0
    reason: str = ""

    @property
    def df(self) -> int:
        """Degrees of freedom of Student's t."""
        return max(self.blocks - 1, 0)

    def t(self, null: float = 0.0) -> float:
        """Return Student's t against a value; infinite where the blocks do not vary."""
        difference = self.estimate - null
        if self.error != 0:
            return difference / self.error
        return copysign(inf, difference) if difference else nan

    def p(self, null: float = 0.0) -> float:
        """Return the two-sided p against a value; NaN where the blocks do not vary."""
        if not self.error > 0:
            return nan
        from scipy.special import stdtr  # here: scipy takes half a second to import

        return 2 * float(stdtr(self.df, -abs(self.t(null))))


def compute_interval(
    values: ArrayLike,
    machine_days: Sequence[object] | NDArray[np.generic],
    confidence: float = CONFIDENCE,
) -> Interval:
    """Return the mean of blocks and its interval, with a fixed correlation within a machine-day.

    Parameters
    ----------
    values
        One per block, shape (n,), in any unit.
    machine_days
        The machine-day of each block, shape (n,).
    confidence
        Share of intervals that contain the true mean.

    Returns
    -------
    Interval
        In the unit of the values; without bounds below `MIN_BLOCKS` blocks.
    """
    y = np.asarray(values, float)
    if not len(y):
        return Interval(reason="no block has all sides")
    # Each machine-day's blocks and their mean.
    _, day = np.unique(np.asarray(machine_days), return_inverse=True)
    n = np.bincount(day)
    means = np.bincount(day, y) / n
    # The weight of a day grows with its blocks, but not beyond that of a day known exactly.
    c = ICC / (1 - ICC)
    weights = weigh_day(n)
    estimate = float(weights @ means / weights.sum())
    if len(y) < MIN_BLOCKS:
        reason = f"{len(y)} of the {MIN_BLOCKS} blocks that an interval needs"
        return Interval(estimate, blocks=len(y), machine_days=len(n), reason=reason)
    # Generalised least squares: the variance of the blocks without what the days share.
    squares = ((y - estimate) ** 2).sum() - (c / (1 + c * n) * (n * (means - estimate)) ** 2).sum()
    # Values that differ by rounding only do not vary.
    if np.ptp(y) <= 1e-12 * np.abs(y).max():
        squares = 0.0
    error = sqrt(max(float(squares), 0.0) / (len(y) - 1) / float(weights.sum()))
    reach = compute_t_quantile(len(y) - 1, 0.5 + confidence / 2) * error
    return Interval(estimate, estimate - reach, estimate + reach, error, len(y), len(n))


def weigh_day(blocks: _Blocks) -> _Blocks:
    """Return the weight of a machine-day's mean by the number of its blocks."""
    return blocks / (1 + ICC / (1 - ICC) * blocks)


def compute_geometric_interval(
    values: ArrayLike, machine_days: Sequence[object] | NDArray[np.generic]
) -> Interval:
    """Return the geometric mean and its interval; of values that are not positive, the mean.

    Parameters
    ----------
    values, machine_days
        As in `compute_interval`.
    """
    y = np.asarray(values, float)
    if not len(y) or (y <= 0).any():
        return compute_interval(y, machine_days)
    logs = compute_interval(np.log(y), machine_days)
    return replace(
        logs,
        estimate=exponentiate(logs.estimate),
        low=exponentiate(logs.low),
        high=exponentiate(logs.high),
    )


def compute_share_interval(
    values: ArrayLike, machine_days: Sequence[object] | NDArray[np.generic]
) -> Interval:
    """Return the mean of shares in percent and its interval: those of their logits.

    No interval leaves 0 to 100 %. A share of 0 or 100 % has no logit: such shares have their
    arithmetic mean, without an interval.

    Parameters
    ----------
    values, machine_days
        As in `compute_interval`; values are in percent.
    """
    y = np.asarray(values, float) / 100
    if not len(y) or y.min() <= 0 or y.max() >= 1:
        mean = compute_interval(values, machine_days)
        return Interval(mean.estimate, blocks=mean.blocks, machine_days=mean.machine_days)
    logits = compute_interval(np.log(y / (1 - y)), machine_days)
    return replace(
        logits,
        estimate=_compute_percent(logits.estimate),
        low=_compute_percent(logits.low),
        high=_compute_percent(logits.high),
    )


def _compute_percent(logit: float) -> float:
    """Return the share in percent of a logit."""
    return 100 / (1 + exponentiate(-logit))


def exponentiate(value: float) -> float:
    """Return e to a power; infinity where no float is as large."""
    # The largest integer power that a float can hold is 709.
    return inf if value >= 709 else exp(value)


@lru_cache(1024)
def compute_t_quantile(df: float, probability: float) -> float:
    """Return the quantile of Student's t at a probability."""
    from scipy.special import stdtrit  # here: it is slow to import

    return float(stdtrit(df, probability))


def adjust_holm(p: ArrayLike) -> NDArray[np.float64]:
    """Return Holm's adjusted p-values, shape (n,).

    In families without effects, a share of at most alpha has one below alpha. A test that could not
    run (NaN) stays NaN and is counted, so that a family does not depend on what ran.

    References
    ----------
    Holm, Scandinavian Journal of Statistics 6 (1979) 65-70.
    """
    adjusted = np.asarray(p, dtype=np.float64).copy()
    # NaN sorts last.
    ascending = np.argsort(adjusted)[: np.count_nonzero(~np.isnan(adjusted))]
    left = len(adjusted) - np.arange(len(ascending))
    adjusted[ascending] = np.minimum(np.maximum.accumulate(left * adjusted[ascending]), 1)
    return adjusted


def compute_hedges_g(a: ArrayLike, b: ArrayLike) -> float:
    """Return Hedges' g: the difference of two means in pooled standard deviations.

    Parameters
    ----------
    a, b
        Shapes (n_a,) and (n_b,), in one unit.

    Returns
    -------
    float
        Corrected for small samples; NaN where values do not vary or one of the samples has fewer
        than two.

    References
    ----------
    Hedges, Journal of Educational Statistics 6 (1981) 107-128, with the exact correction by gamma
    functions.
    """
    from scipy.special import gammaln  # here: it is slow to import

    first, second = np.asarray(a, float), np.asarray(b, float)
    df = first.size + second.size - 2
    if min(first.size, second.size) < 2:
        return nan
    squares = (first.size - 1) * first.var(ddof=1) + (second.size - 1) * second.var(ddof=1)
    if squares <= 0:
        return nan
    correction = float(np.exp(gammaln(df / 2) - np.log(np.sqrt(df / 2)) - gammaln((df - 1) / 2)))
    return correction * float(first.mean() - second.mean()) / sqrt(squares / df)
