"""Tests that ask nothing of the values' distribution, and the bootstrap."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchbook.stats.intervals import NAN, Interval
from benchbook.stats.samples import no_pairs, no_ratio, no_spread, no_two_samples, sample
from benchbook.stats.tests import Test

RESAMPLES: Final = 9_999
"""Of a permutation test that cannot be exact, and of the bootstrap; both have a fixed seed."""

BOOTSTRAP_FROM: Final = 10
"""Values a side below which the bootstrap's 95 % interval covers the truth in less than 90 % of cases (normal values,
simulated: 80 % with 4, 86 % with 6, 88 % with 8, 90 % with 10): it is then not given, Student's interval stands."""


def permutation(a: ArrayLike, b: ArrayLike, *, pairs: bool) -> Test:
    """Test the difference of two means by permutation: of the signs of `pairs`, else of who belongs to which side.

    Exact when there are no more than `RESAMPLES` permutations, so with 13 pairs or fewer. With n pairs p is never below
    2 ** (1 - n): five pairs or fewer never reach 5 %.

    Parameters
    ----------
    a, b
        Shapes (n_a,) and (n_b,), one unit; logarithms to compare ratios.
    pairs
        True when the i-th values belong together.

    Returns
    -------
    Test
        ``statistic`` is the difference of the means; there are no degrees of freedom.

    References
    ----------
    Fisher, The Design of Experiments (1935), section 21; `scipy.stats.permutation_test`.
    """
    from scipy.stats import permutation_test

    first, second = sample(a), sample(b)
    reason = no_pairs(first, second) if pairs else no_two_samples(first, second)
    samples = (first - second,) if pairs and not reason else (first, second)
    if reason := reason or no_spread(*samples):
        return Test(NAN, NAN, NAN, reason)
    result = permutation_test(
        samples,
        _mean if pairs else _difference,
        permutation_type="samples" if pairs else "independent",
        n_resamples=RESAMPLES,
        vectorized=True,
        axis=-1,
        rng=np.random.Generator(np.random.PCG64(0)),
    )
    return Test(float(result.statistic), NAN, float(result.pvalue))


def mann_whitney(a: ArrayLike, b: ArrayLike) -> Test:
    """Mann and Whitney's two-sided test that values of neither side tend to be larger.

    Parameters
    ----------
    a, b
        Shapes (n_a,) and (n_b,), one unit, unpaired.

    Returns
    -------
    Test
        ``statistic`` is U of `a`: in how many of the n_a * n_b pairs a is larger, ties half. Exact for small samples
        without ties, else from the normal approximation.

    References
    ----------
    Mann and Whitney, Annals of Mathematical Statistics 18 (1947) 50-60; `scipy.stats.mannwhitneyu`.
    """
    from scipy.stats import mannwhitneyu

    first, second = sample(a), sample(b)
    if reason := no_two_samples(first, second) or no_spread(np.concatenate([first, second])):
        return Test(NAN, NAN, NAN, reason)
    result = mannwhitneyu(first, second)
    return Test(float(result.statistic), NAN, float(result.pvalue))


def bootstrap_ratio(a: ArrayLike, b: ArrayLike, *, pairs: bool = False, confidence: float = 0.95) -> Interval:
    """Return the ratio of the geometric means with the bias-corrected and accelerated bootstrap's interval.

    Parameters
    ----------
    a, b
        Shapes (n_a,) and (n_b,), one unit, all positive: blocks' means.
    pairs
        True when the i-th values belong together.

    Returns
    -------
    Interval
        Without unit; without ends below `BOOTSTRAP_FROM` values a side.

    References
    ----------
    Efron, Journal of the American Statistical Association 82 (1987) 171-185; `scipy.stats.bootstrap`.
    """
    from scipy.stats import bootstrap

    first, second = sample(a), sample(b)
    if not first.size or not second.size:
        return Interval(NAN, reason="no values")
    if reason := no_ratio(first, second):
        return Interval(NAN, reason=reason)
    x, y = np.log(first), np.log(second)
    reason = no_pairs(x, y) if pairs else no_two_samples(x, y)
    samples = (x - y,) if pairs and not reason else (x, y)
    estimate = float(np.exp(x.mean() - y.mean()))
    if reason := reason or no_spread(*samples) or _too_few(*samples):
        return Interval(estimate, reason=reason)
    found = bootstrap(
        samples,
        _mean if pairs else _difference,
        confidence_level=confidence,
        n_resamples=RESAMPLES,
        method="BCa",
        vectorized=True,
        axis=-1,
        rng=np.random.Generator(np.random.PCG64(0)),
    ).confidence_interval
    return Interval(estimate, float(np.exp(found.low)), float(np.exp(found.high)))


def _too_few(*samples: NDArray[np.float64]) -> str:
    fewest = min(one.size for one in samples)
    if fewest >= BOOTSTRAP_FROM:
        return ""
    return f"no bootstrap: {fewest} values, below {BOOTSTRAP_FROM} its interval is too narrow"


def _mean(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = np.mean(values, axis=axis)
    return mean


def _difference(a: NDArray[np.float64], b: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    return _mean(a, axis) - _mean(b, axis)
