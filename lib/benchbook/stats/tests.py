"""Tests of two means. What cannot be tested says why; no number is made up."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchbook.stats.intervals import NAN, standard_error
from benchbook.stats.samples import no_pairs, no_spread, no_two_samples, sample


@dataclass(frozen=True)
class Test:
    """What a test found.

    Parameters
    ----------
    statistic
        Student's t.
    df
        Its degrees of freedom.
    p
        Two-sided.
    reason
        Why the others are NaN; empty when they are not.
    """

    __test__ = False  # no test case for pytest

    statistic: float
    df: float
    p: float
    reason: str = ""


def student(a: ArrayLike, b: ArrayLike) -> Test:
    """Student's two-sided test of unpaired samples, with pooled variance.

    Parameters
    ----------
    a, b
        Shapes (n_a,) and (n_b,), one unit.

    Returns
    -------
    Test
        Positive statistic when a's mean is larger.

    References
    ----------
    `scipy.stats.ttest_ind_from_stats`.
    """
    return _unpaired(sample(a), sample(b), pooled=True)


def welch(a: ArrayLike, b: ArrayLike) -> Test:
    """Welch's two-sided test of unpaired samples, which does not take the variances for equal; else as `student`."""
    return _unpaired(sample(a), sample(b), pooled=False)


def paired(a: ArrayLike, b: ArrayLike) -> Test:
    """Student's two-sided test of the differences a - b.

    Parameters
    ----------
    a, b
        Shape (n,) each: the i-th values belong together (one block). Pairs take out what both sides share, such as a
        machine's drift.

    Raises
    ------
    ValueError
        When the samples are not of one length.

    References
    ----------
    `scipy.stats.ttest_rel`.
    """
    from scipy.stats import ttest_rel

    first, second = sample(a), sample(b)
    if reason := no_pairs(first, second) or no_spread(first - second):
        return Test(NAN, NAN, NAN, reason)
    result = ttest_rel(first, second)
    return Test(float(result.statistic), float(result.df), float(result.pvalue))


def _unpaired(a: NDArray[np.float64], b: NDArray[np.float64], *, pooled: bool) -> Test:
    from scipy.stats import ttest_ind_from_stats

    if reason := no_two_samples(a, b) or no_spread(a, b):
        return Test(NAN, NAN, NAN, reason)
    spreads = float(a.std(ddof=1)), float(b.std(ddof=1))
    result = ttest_ind_from_stats(
        float(a.mean()), spreads[0], a.size, float(b.mean()), spreads[1], b.size, equal_var=pooled
    )
    df = a.size + b.size - 2 if pooled else standard_error(a, b)[1]
    return Test(float(result.statistic), float(df), float(result.pvalue))
