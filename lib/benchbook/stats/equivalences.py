"""Equivalence: the only ground on which two sides are said not to differ."""

import numpy as np
from numpy.typing import ArrayLike

from benchbook.stats.intervals import NAN
from benchbook.stats.samples import no_pairs, no_ratio, no_spread, no_two_samples, sample
from benchbook.stats.tests import Test


def equivalence(a: ArrayLike, b: ArrayLike, margin: float, *, pairs: bool = False) -> Test:
    """Two one-sided tests that the ratio of the geometric means lies between 1 / margin and margin.

    Equivalent at the level alpha when p is below alpha; just then the interval of confidence 1 - 2 alpha lies inside
    the margin. That a test finds no difference is no equivalence.

    Parameters
    ----------
    a, b
        Shapes (n_a,) and (n_b,), one unit, all positive.
    margin
        The ratio up to which a difference does not matter, above 1, fixed beforehand.
    pairs
        True when the i-th values belong together; else the variances are not taken for equal.

    Returns
    -------
    Test
        Of the two tests the one with the larger p, which is that of the equivalence.

    References
    ----------
    Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987) 657-680;
    `statsmodels.stats.weightstats.ttost_paired` and ``ttost_ind``, on logarithms.
    """
    if not margin > 1:
        raise ValueError(f"a margin is a ratio above 1, not {margin}")
    first, second = sample(a), sample(b)
    if reason := no_ratio(first, second):
        return Test(NAN, NAN, NAN, reason)
    logs = np.log(first), np.log(second)
    reason = no_pairs(*logs) if pairs else no_two_samples(*logs)
    if reason := reason or no_spread(*((logs[0] - logs[1],) if pairs else logs)):
        return Test(NAN, NAN, NAN, reason)
    from statsmodels.stats.weightstats import ttost_ind, ttost_paired

    limits = (-np.log(margin), np.log(margin))
    _, *both = ttost_paired(*logs, *limits) if pairs else ttost_ind(*logs, *limits, usevar="unequal")
    statistic, p, df = max(both, key=lambda one: float(one[1]))
    return Test(float(statistic), float(df), float(p))
