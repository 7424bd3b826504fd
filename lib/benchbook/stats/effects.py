"""How large a difference is, and how large it would have had to be to be seen."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from benchbook.stats.intervals import NAN, standard_error
from benchbook.stats.samples import no_pairs, no_ratio, no_spread, no_two_samples, sample


@dataclass(frozen=True)
class Effect:
    """A size, or why there is none.

    Parameters
    ----------
    size
        NaN when it cannot be had.
    reason
        Why it is NaN; empty when it is not.
    """

    size: float
    reason: str = ""


def hedges_g(a: ArrayLike, b: ArrayLike) -> Effect:
    """Return the difference of the means in pooled standard deviations, corrected for small samples.

    Parameters
    ----------
    a, b
        Shapes (n_a,) and (n_b,), one unit.

    Returns
    -------
    Effect
        Without unit; positive when a's mean is larger.

    References
    ----------
    Hedges, Journal of Educational Statistics 6 (1981) 107-128, with the exact correction by gamma functions.
    """
    first, second = sample(a), sample(b)
    if reason := no_two_samples(first, second) or no_spread(first, second):
        return Effect(NAN, reason)
    df = first.size + second.size - 2
    pooled = np.sqrt(((first.size - 1) * first.var(ddof=1) + (second.size - 1) * second.var(ddof=1)) / df)
    d = float((first.mean() - second.mean()) / pooled)
    return Effect(correction(df) * d)


def detectable_ratio(
    a: ArrayLike, b: ArrayLike, *, pairs: bool = False, power: float = 0.8, alpha: float = 0.05
) -> Effect:
    """Return the smallest ratio that so many values with this spread could have shown.

    Parameters
    ----------
    a, b
        Shapes (n_a,) and (n_b,), one unit, all positive.
    pairs
        True when the i-th values belong together.
    power
        The chance with which a true ratio of this size is found.
    alpha
        The two-sided test's level.

    Returns
    -------
    Effect
        At least 1 (as large downwards: its inverse): for the test behind `benchbook.stats.ratio_interval`, from the
        noncentral t at the observed standard error of the logarithms.
    """
    first, second = sample(a), sample(b)
    if reason := no_ratio(first, second):
        return Effect(NAN, reason)
    logs = (np.log(first), np.log(second))
    reason = no_pairs(*logs) if pairs else no_two_samples(*logs)
    samples = (logs[0] - logs[1],) if pairs and not reason else logs
    if reason := reason or no_spread(*samples):
        return Effect(NAN, reason)
    error, df = standard_error(*samples)
    return Effect(float(np.exp(noncentrality(round(df, 3), power, alpha) * error)))


@cache
def noncentrality(df: float, power: float = 0.8, alpha: float = 0.05) -> float:
    """Return the noncentrality at which a two-sided t-test has that power."""
    from scipy.optimize import brentq
    from scipy.special import nctdtr, stdtrit

    critical = float(stdtrit(df, 1 - alpha / 2))
    # The other tail adds less than 1e-3 to the power and is left out: the ratio is never stated too small.
    return float(brentq(lambda shift: 1 - float(nctdtr(df, shift, critical)) - power, 0, 3 * critical + 10))


@cache
def correction(df: int) -> float:
    """Return Hedges' factor J(df), which takes the bias of small samples out."""
    from scipy.special import gammaln

    return float(np.exp(gammaln(df / 2) - np.log(np.sqrt(df / 2)) - gammaln((df - 1) / 2)))
