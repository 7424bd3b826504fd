"""Estimates with intervals from Student's t, of means and of ratios."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchbook.stats.samples import no_pairs, no_ratio, no_spread, no_two_samples, sample

NAN: Final = float("nan")


@dataclass(frozen=True)
class Interval:
    """An estimate and where it may lie.

    Parameters
    ----------
    estimate
        NaN when there is none.
    low, high
        The interval's ends; NaN when it cannot be had.
    reason
        Why something is NaN; empty when nothing is.
    """

    estimate: float
    low: float = NAN
    high: float = NAN
    reason: str = ""


def mean_interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return the mean and its interval from Student's t.

    Parameters
    ----------
    values
        Shape (n,), any unit; independent, such as blocks' means.
    confidence
        Between 0 and 1.

    Returns
    -------
    Interval
        In the values' unit. One value has a mean but no interval; values that do not vary have an interval of no width.
    """
    array = sample(values)
    if array.size == 0:
        return Interval(NAN, reason="no values")
    mean = float(array.mean())
    if array.size == 1:
        return Interval(mean, reason="no interval: one value")
    error = float(array.std(ddof=1)) / np.sqrt(array.size)
    return _around(mean, error, array.size - 1, confidence)


def difference_interval(a: ArrayLike, b: ArrayLike, *, pairs: bool, confidence: float = 0.95) -> Interval:
    """Return the mean of a minus that of b and its interval, Welch's or (`pairs`) of the differences.

    Parameters
    ----------
    a, b
        Shapes (n_a,) and (n_b,), one unit.
    pairs
        True when the i-th values belong together.

    Returns
    -------
    Interval
        In the values' unit.
    """
    first, second = sample(a), sample(b)
    if not first.size or not second.size:
        return Interval(NAN, reason="no values")
    estimate = float(first.mean() - second.mean())
    reason = no_pairs(first, second) if pairs else no_two_samples(first, second)
    samples = (first - second,) if pairs else (first, second)
    if reason := reason or no_spread(*samples):
        return Interval(estimate, reason=reason)
    error, df = standard_error(*samples)
    return _around(estimate, error, df, confidence)


def ratio_interval(a: ArrayLike, b: ArrayLike, *, pairs: bool = False, confidence: float = 0.95) -> Interval:
    """Return how many times b a is: the ratio of the geometric means, with its interval.

    The interval is that of the difference of the logarithms, by Welch or (`pairs`) of the pairs' log ratios: what slows
    a machine slows it by a factor, and the ratio's interval is then the same whichever side is the divisor.

    Parameters
    ----------
    a, b
        Shapes (n_a,) and (n_b,), one unit, all positive.
    pairs
        True when the i-th values belong together.

    Returns
    -------
    Interval
        Without unit. Values that do not vary have an exact ratio and, for lack of spread, no interval.
    """
    first, second = sample(a), sample(b)
    if reason := no_ratio(first, second):
        return Interval(NAN, reason=reason)
    logs = difference_interval(np.log(first), np.log(second), pairs=pairs, confidence=confidence)
    estimate, low, high = (float(np.exp(value)) for value in (logs.estimate, logs.low, logs.high))
    return Interval(estimate, low, high, logs.reason)


def sum_interval(*samples: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return the sum of the samples' means and its interval, with the degrees of freedom of Welch and Satterthwaite.

    Parameters
    ----------
    *samples
        Shapes (n_1,), (n_2,), …, one unit, independent of each other; negated where a difference is wanted.

    Returns
    -------
    Interval
        In the samples' unit; without ends when one has fewer than two values or none varies.
    """
    arrays = [sample(one) for one in samples]
    estimate = float(sum(one.mean() for one in arrays))
    counts = [one.size for one in arrays]
    too_few = min(counts) < 2
    reason = f"cannot test: {' and '.join(map(str, counts))} values, at least 2 a side are needed" if too_few else ""
    if reason := reason or no_spread(*arrays):
        return Interval(estimate, reason=reason)
    return _around(estimate, *standard_error(*arrays), confidence)


def standard_error(*samples: NDArray[np.float64]) -> tuple[float, float]:
    """Return the standard error of a mean, or of the difference of two, and its (Welch-Satterthwaite) df."""
    parts = [float(one.var(ddof=1)) / one.size for one in samples]
    df = sum(parts) ** 2 / sum(part**2 / (one.size - 1) for part, one in zip(parts, samples, strict=True))
    return float(np.sqrt(sum(parts))), df


def _around(estimate: float, error: float, df: float, confidence: float) -> Interval:
    reach = quantile(df, 0.5 + confidence / 2) * error
    return Interval(estimate, estimate - reach, estimate + reach)


@lru_cache(1024)
def quantile(df: float, probability: float) -> float:
    """Return Student's t below which that share lies; of paired samples few degrees of freedom are ever asked for."""
    from scipy.special import stdtrit  # importing `scipy.stats` takes three times as long

    return float(stdtrit(df, probability))
