"""Tests of two means. What cannot be tested says why; no number is made up."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchbook.stats.intervals import NAN, standard_error
from benchbook.stats.samples import alike, no_pairs, no_spread, no_two_samples, sample


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
    return paired_each([(a, b)])[0]


def paired_each(pairs: Iterable[tuple[ArrayLike, ArrayLike]]) -> list[Test]:
    """Return `paired` of each two samples: of thousands it takes a tenth of the time that as many calls take.

    A call of scipy's takes half a millisecond however many rows it is given: those of one length are given together.
    """
    from scipy.stats import ttest_rel

    samples = [(sample(a), sample(b)) for a, b in pairs]
    found = [Test(NAN, NAN, NAN, no_pairs(a, b) or no_spread(a - b)) for a, b in samples]
    for places in alike(samples, [not one.reason for one in found]):
        first, second = (np.stack([samples[place][side] for place in places]) for side in (0, 1))
        result: Any = ttest_rel(first, second, axis=1)
        for place, statistic, df, p in zip(places, result.statistic, result.df, result.pvalue, strict=True):
            found[place] = Test(float(statistic), float(df), float(p))
    return found


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
