"""Tests, intervals and sizes of effects, all by Student's t; what cannot be had says why, and no number is made up."""

from dataclasses import dataclass
from functools import cache, lru_cache
from math import exp, inf, nan
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Scale: TypeAlias = Literal["linear", "log", "logit"]
"""On which an interval is symmetrical: of what may be negative, of what is positive, of a share."""

POWER: Final = 0.8
"""The chance with which an effect is found that is called detectable."""

_FARTHEST: Final = 300.0  # of an interval's end, as a logarithm: what a float can still hold


@dataclass(frozen=True)
class Interval:
    """An estimate and where it may lie; NaN what cannot be had, with the reason."""

    estimate: float
    low: float = nan
    high: float = nan
    reason: str = ""


def mean_interval(
    values: ArrayLike, confidence: float = 0.95, *, scale: Scale = "linear", whole: float = 1.0
) -> Interval:
    """Return the mean of values, shape (n,), and its interval, in their unit; they are independent, as blocks' means.

    One value has a mean but no interval; values that do not vary have an interval of no width.

    Parameters
    ----------
    scale
        ``log`` of a positive quantity, whose interval has no negative end; ``logit`` of a share of `whole`, whose
        interval lies between 0 and that. The mean is that of the values themselves on every scale, and Student's t has
        its standard error as the delta method carries it over: an interval from m exp(-t se / m) to m exp(t se / m),
        and as much around the logit. It holds the mean of skewed values more often than the linear one, and that of
        others as often; a value of 0, which has no logarithm, does no harm. A mean outside its scale has no interval.

    References
    ----------
    Oehlert, A Note on the Delta Method, The American Statistician 46 (1992) 27-29.
    """
    array = sample(values)
    if array.size == 0:
        return Interval(nan, reason="no values")
    mean = float(array.mean())
    if array.size == 1:
        return Interval(mean, reason="no interval: one value")
    error = float(array.std(ddof=1)) / np.sqrt(array.size)
    if scale == "linear":
        return around(mean, error, array.size - 1, confidence)
    if no_spread(array):
        return Interval(mean, mean, mean)
    return _between(mean, quantile(array.size - 1, 0.5 + confidence / 2) * error, whole if scale == "logit" else inf)


def _between(mean: float, reach: float, whole: float) -> Interval:
    """Return a mean with an interval between 0 and a whole, which may be infinite: symmetrical of log(m / (whole - m)).

    `reach` is what Student's t allows on either side of the mean itself.
    """
    if not 0 < mean < whole:
        return Interval(mean, reason=f"no interval: the mean is not between 0 and {whole:g}")
    factor = exp(min(reach / mean / (1 - mean / whole), _FARTHEST))
    odds = mean / (1 - mean / whole)  # in the mean's unit
    low, high = odds / factor, odds * factor
    return Interval(mean, low / (1 + low / whole), high / (1 + high / whole))


def ratio_interval(a: ArrayLike, b: ArrayLike, *, pairs: bool = False) -> Interval:
    """Return how many times b a is: the ratio of the geometric means, with its 95 % interval.

    The interval is that of the difference of the logarithms, by Welch or (`pairs`) of the pairs' log ratios: what slows
    a machine slows it by a factor, and the ratio's interval is then the same whichever side is the divisor.

    Parameters
    ----------
    a, b
        Shapes (n_a,) and (n_b,), one unit, all positive.
    pairs
        True when the i-th values belong together.
    """
    first, second = sample(a), sample(b)
    if reason := no_ratio(first, second):
        return Interval(nan, reason=reason)
    first, second = np.log(first), np.log(second)
    logs = mean_interval(first - second) if pairs else sum_interval(first, -second)
    estimate, low, high = (float(np.exp(value)) for value in (logs.estimate, logs.low, logs.high))
    return Interval(estimate, low, high, logs.reason)


def sum_interval(*samples: ArrayLike) -> Interval:
    """Return the sum of the samples' means and its 95 % interval, with Welch and Satterthwaite's degrees of freedom.

    The samples, of shapes (n_1,), (n_2,), …, are of one unit and independent of each other; negated where a difference
    is wanted. There are no ends when one has fewer than two values or none varies.
    """
    arrays = [sample(values) for values in samples]
    estimate = float(sum(array.mean() for array in arrays))
    if reason := too_few(*arrays) or no_spread(*arrays):
        return Interval(estimate, reason=reason)
    return around(estimate, *standard_error(*arrays))


def standard_error(*samples: NDArray[np.float64]) -> tuple[float, float]:
    """Return the standard error of a mean, or of the difference of two, and its (Welch-Satterthwaite) df."""
    parts = [float(values.var(ddof=1)) / values.size for values in samples]
    df = sum(parts) ** 2 / sum(part**2 / (values.size - 1) for part, values in zip(parts, samples, strict=True))
    return float(np.sqrt(sum(parts))), df


def around(estimate: float, error: float, df: float, confidence: float = 0.95) -> Interval:
    """Return an estimate with its interval, from its standard error and the error's degrees of freedom."""
    reach = quantile(df, 0.5 + confidence / 2) * error
    return Interval(estimate, estimate - reach, estimate + reach)


@lru_cache(1024)
def quantile(df: float, probability: float) -> float:
    """Return Student's t below which that share lies; of paired samples few degrees of freedom are ever asked for."""
    from scipy.special import stdtrit  # importing `scipy.stats` takes three times as long

    return float(stdtrit(df, probability))


@dataclass(frozen=True)
class Test:
    """What a two-sided test found: Student's t, its degrees of freedom and p; NaN when it cannot be had, and why."""

    __test__ = False  # no test case for pytest

    statistic: float
    df: float
    p: float
    reason: str = ""


def student(a: ArrayLike, b: ArrayLike) -> Test:
    """Test unpaired samples of one unit, shapes (n_a,) and (n_b,), with pooled variance: `scipy.stats.ttest_ind`.

    The statistic is positive when a's mean is larger.
    """
    first, second = sample(a), sample(b)
    if reason := too_few(first, second) or no_spread(first, second):
        return Test(nan, nan, nan, reason)
    df = first.size + second.size - 2
    error = _pooled(first, second) * float(np.sqrt(1 / first.size + 1 / second.size))
    return t_test(float(first.mean() - second.mean()), error, df)


def welch(a: ArrayLike, b: ArrayLike) -> Test:
    """Test as `student` by Welch's test, which does not take the variances for equal."""
    first, second = sample(a), sample(b)
    if reason := too_few(first, second) or no_spread(first, second):
        return Test(nan, nan, nan, reason)
    return t_test(float(first.mean() - second.mean()), *standard_error(first, second))


def paired(a: ArrayLike, b: ArrayLike) -> Test:
    """Test the differences a - b, shapes (n,): `scipy.stats.ttest_rel`.

    The i-th values belong together (one block): pairs take out what both sides share, such as a machine's drift.

    Raises
    ------
    ValueError
        When the samples are not of one length.
    """
    first, second = sample(a), sample(b)
    if reason := no_pairs(first, second) or no_spread(first - second):
        return Test(nan, nan, nan, reason)
    return t_test(float((first - second).mean()), *standard_error(first - second))


def t_test(estimate: float, error: float, df: float) -> Test:
    """Test whether an estimate differs from 0, from its standard error and the error's degrees of freedom."""
    from scipy.special import stdtr  # importing `scipy.stats` takes three times as long, a call of it a hundred times

    statistic = estimate / error
    return Test(statistic, df, 2 * float(stdtr(df, -abs(statistic))))


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Return Holm's adjusted p-values: below alpha in at most a share alpha of families without any effect.

    Of shape (n,), as `p`; NaN for what could not be tested, which stays NaN and does not count as a test.

    References
    ----------
    Holm, Scandinavian Journal of Statistics 6 (1979) 65-70; `statsmodels.stats.multitest.multipletests`.
    """
    adjusted = np.asarray(p, dtype=np.float64).copy()
    ascending = np.argsort(adjusted)[: np.count_nonzero(~np.isnan(adjusted))]  # NaN sorts last
    left = np.arange(len(ascending), 0, -1)
    adjusted[ascending] = np.minimum(np.maximum.accumulate(left * adjusted[ascending]), 1)
    return adjusted


def hedges_g(a: ArrayLike, b: ArrayLike) -> float:
    """Return the difference of the means in pooled standard deviations, corrected for small samples.

    Of shapes (n_a,) and (n_b,), one unit; NaN when there are too few values or they do not vary.

    References
    ----------
    Hedges, Journal of Educational Statistics 6 (1981) 107-128, with the exact correction by gamma functions.
    """
    from scipy.special import gammaln

    first, second = sample(a), sample(b)
    if too_few(first, second) or no_spread(first, second):
        return nan
    df = first.size + second.size - 2
    correction = float(np.exp(gammaln(df / 2) - np.log(np.sqrt(df / 2)) - gammaln((df - 1) / 2)))
    return correction * float(first.mean() - second.mean()) / _pooled(first, second)


def _pooled(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return the pooled standard deviation."""
    squares = (a.size - 1) * a.var(ddof=1) + (b.size - 1) * b.var(ddof=1)
    return float(np.sqrt(squares / (a.size + b.size - 2)))


def detectable_ratio(a: ArrayLike, b: ArrayLike, *, alpha: float = 0.05) -> float:
    """Return the smallest ratio that so many pairs with this spread would have shown in 80 % of cases.

    Parameters
    ----------
    a, b
        Shapes (n,), one unit, all positive; the i-th values belong together.
    alpha
        The two-sided test's level.

    Returns
    -------
    float
        At least 1 (as large downwards: its inverse): for the test behind `ratio_interval`, from the noncentral t at the
        observed standard error of the logarithms. NaN where that test cannot be made.
    """
    first, second = sample(a), sample(b)
    if no_ratio(first, second) or no_pairs(first, second):
        return nan
    logs = np.log(first) - np.log(second)
    if no_spread(logs):
        return nan
    error, df = standard_error(logs)
    return float(np.exp(_noncentrality(round(df, 3), alpha) * error))


@cache
def _noncentrality(df: float, alpha: float) -> float:
    """Return the noncentrality at which a two-sided t-test of that level has a power of `POWER`."""
    from scipy.optimize import brentq
    from scipy.special import nctdtr, stdtrit

    critical = float(stdtrit(df, 1 - alpha / 2))
    # The other tail adds less than 1e-3 to the power and is left out: the ratio is never stated too small.
    return float(brentq(lambda shift: 1 - float(nctdtr(df, shift, critical)) - POWER, 0, 3 * critical + 10))


def sample(values: ArrayLike) -> NDArray[np.float64]:
    """Return the values as floats, shape (n,).

    Raises
    ------
    ValueError
        When they are not one-dimensional, or one is not finite: a missing value is the caller's to explain.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError("a sample is one-dimensional and finite: leave missing values out, and say so")
    return array


def too_few(*samples: NDArray[np.float64]) -> str:
    """Return that a sample has too few values to be compared; empty when none has."""
    counts = [values.size for values in samples]
    if min(counts) < 2:
        return f"cannot test: {' and '.join(map(str, counts))} values, at least 2 a side are needed"
    return ""


def no_pairs(a: NDArray[np.float64], b: NDArray[np.float64]) -> str:
    """Return why pairs are too few to be compared; empty when they are not.

    Raises
    ------
    ValueError
        When the samples are not of one length.
    """
    if a.size != b.size:
        raise ValueError(f"{a.size} values cannot be paired with {b.size}")
    return f"cannot test: {a.size} pairs, at least 2 are needed" if a.size < 2 else ""


def no_spread(*samples: NDArray[np.float64]) -> str:
    """Return that the samples do not vary; empty when one does.

    Values that differ by rounding alone (1e-12 of their size) count as equal.
    """
    if all(np.ptp(values) <= 1e-12 * np.abs(values).max() for values in samples):
        return "cannot test: the values do not vary"
    return ""


def no_ratio(*samples: NDArray[np.float64]) -> str:
    """Return why the samples have no ratio; empty when they have."""
    if any((values <= 0).any() for values in samples):
        return "no ratio: a value is zero or negative"
    return ""
