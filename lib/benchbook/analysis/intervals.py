"""The interval of a comparison, its t-test, Holm's correction and Hedges' g: arrays in, numbers out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, inf, nan, sqrt
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

ICC: Final = 0.35
"""Correlation of two blocks of one machine-day, measured over days; it is not estimated from each comparison."""

CONFIDENCE: Final = 0.99
"""Of every interval: so high that one may look after each day."""

MIN_BLOCKS: Final = 5
"""Fewer blocks than this have no interval and no test."""


@dataclass(frozen=True)
class Interval:
    """Where the mean of some blocks lies, in their unit; NaN and a reason where there is no interval."""

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
        if self.error == 0:
            return inf if self.estimate > null else -inf if self.estimate < null else nan
        return (self.estimate - null) / self.error

    def p(self, null: float = 0.0) -> float:
        """Return the two-sided p against a value; NaN where there is no error or it is nil."""
        from scipy.special import stdtr  # importing `scipy.stats` takes three times as long

        return 2 * float(stdtr(self.df, -abs(self.t(null)))) if self.error > 0 else nan


def mean_interval(
    values: ArrayLike, machine_days: Sequence[object] | NDArray[np.generic], confidence: float = CONFIDENCE
) -> Interval:
    """Return the mean of blocks and its interval, by a fixed correlation of the blocks of a machine-day.

    Parameters
    ----------
    values
        One a block, shape (n,), in any unit.
    machine_days
        Each block's, shape (n,).

    Returns
    -------
    Interval
        In the values' unit; without ends where there are fewer blocks than `MIN_BLOCKS`.
    """
    y = np.asarray(values, float)
    if not len(y):
        return Interval(reason="no block has all sides")
    # Each machine-day's blocks and their mean.
    _, day = np.unique(np.asarray(machine_days), return_inverse=True)
    n = np.bincount(day)
    means = np.bincount(day, y) / n
    # A day's weight grows with its blocks, but never beyond that of a day known exactly.
    c = ICC / (1 - ICC)
    weights = n / (1 + c * n)
    estimate = float(weights @ means / weights.sum())
    if len(y) < MIN_BLOCKS:
        reason = f"{len(y)} of the {MIN_BLOCKS} blocks that an interval needs"
        return Interval(estimate, blocks=len(y), machine_days=len(n), reason=reason)
    # Generalised least squares: the blocks' variance, without what the days share.
    squares = ((y - estimate) ** 2).sum() - (c / (1 + c * n) * (n * (means - estimate)) ** 2).sum()
    if np.ptp(y) <= 1e-12 * np.abs(y).max():  # rounding alone
        squares = 0.0
    error = sqrt(max(float(squares), 0.0) / (len(y) - 1) / float(weights.sum()))
    reach = quantile(len(y) - 1, 0.5 + confidence / 2) * error
    return Interval(estimate, estimate - reach, estimate + reach, error, len(y), len(n))


def positive_interval(values: ArrayLike, machine_days: Sequence[object] | NDArray[np.generic]) -> Interval:
    """Return the geometric mean of positive values and its interval; the mean and its interval of others."""
    y = np.asarray(values, float)
    if not len(y) or (y <= 0).any():
        return mean_interval(y, machine_days)
    logs = mean_interval(np.log(y), machine_days)
    return replace(logs, estimate=exponential(logs.estimate), low=exponential(logs.low), high=exponential(logs.high))


def exponential(value: float) -> float:
    """Return e to that power, infinity where no float is as large."""
    return inf if value >= 709 else exp(value)


@lru_cache(1024)
def quantile(df: float, probability: float) -> float:
    """Return Student's t below which that share lies."""
    from scipy.special import stdtrit  # importing `scipy.stats` takes three times as long

    return float(stdtrit(df, probability))


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Return Holm's adjusted p-values, shape (n,): below alpha in at most a share alpha of families without effects.

    What could not be tested (NaN) stays NaN and counts as a test, so that a family does not change with what ran.

    References
    ----------
    Holm, Scandinavian Journal of Statistics 6 (1979) 65-70.
    """
    adjusted = np.asarray(p, dtype=np.float64).copy()
    ascending = np.argsort(adjusted)[: np.count_nonzero(~np.isnan(adjusted))]  # NaN sorts last
    left = len(adjusted) - np.arange(len(ascending))
    adjusted[ascending] = np.minimum(np.maximum.accumulate(left * adjusted[ascending]), 1)
    return adjusted


def hedges_g(a: ArrayLike, b: ArrayLike) -> float:
    """Return the difference of two means in pooled standard deviations, corrected for small samples.

    Of shapes (n_a,) and (n_b,), one unit; NaN when there are fewer than two values or they do not vary.

    References
    ----------
    Hedges, Journal of Educational Statistics 6 (1981) 107-128, with the exact correction by gamma functions.
    """
    from scipy.special import gammaln

    first, second = np.asarray(a, float), np.asarray(b, float)
    df = first.size + second.size - 2
    if min(first.size, second.size) < 2:
        return nan
    squares = (first.size - 1) * first.var(ddof=1) + (second.size - 1) * second.var(ddof=1)
    if squares <= 0:
        return nan
    correction = float(np.exp(gammaln(df / 2) - np.log(np.sqrt(df / 2)) - gammaln((df - 1) / 2)))
    return correction * float(first.mean() - second.mean()) / sqrt(squares / df)
