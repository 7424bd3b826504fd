"""One estimate from those of several hosts, which differ by more than each one's own error."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchbook.stats.inference import Interval, quantile

FEWEST = 4
"""With fewer hosts there is no telling how much hosts differ: two or three give intervals that no host lies outside."""


def over_hosts(estimates: ArrayLike, errors: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return the mean of a population of hosts from some of them, with its interval, in the estimates' unit.

    Parameters
    ----------
    estimates
        One a host, shape (n,), such as logarithms of a ratio.
    errors
        Their standard errors, shape (n,).
    confidence
        Of the interval, from Student's t with n - 1 degrees of freedom.

    References
    ----------
    Hartung & Knapp, Statistics in Medicine 20 (2001) 1771-1782, their factor at least 1 as Röver, Knapp & Friede
    advise, BMC Medical Research Methodology 15:99 (2015); the variance between hosts by Paule & Mandel, Journal of
    Research of the National Bureau of Standards 87 (1982) 377-385.
    """
    values, within = np.asarray(estimates, float), np.asarray(errors, float) ** 2
    if len(values) < FEWEST:
        return Interval(float("nan"), reason=f"{len(values)} hosts: a mean of hosts asks for {FEWEST}")
    variances = within + _between(values, within)
    if not variances.all():  # no host errs and none differs from another
        same = float(values.mean())
        return Interval(same, same, same)
    weights = 1 / variances
    mean = float(weights @ values / weights.sum())
    factor = max(float(weights @ (values - mean) ** 2) / (len(values) - 1), 1.0)
    reach = quantile(len(values) - 1, 0.5 + confidence / 2) * np.sqrt(factor / weights.sum())
    return Interval(mean, mean - float(reach), mean + float(reach))


def spread(estimates: ArrayLike, errors: ArrayLike) -> float:
    """Return the standard deviation between hosts, beside what each one's error gives; as `over_hosts` takes them."""
    return float(np.sqrt(_between(np.asarray(estimates, float), np.asarray(errors, float) ** 2)))


def _between(values: NDArray[np.float64], within: NDArray[np.float64]) -> float:
    """Return the variance between hosts at which their weighted squares are as many as expected; 0 where fewer are."""
    from scipy.optimize import brentq

    def surplus(between: float) -> float:
        weights = 1 / (within + between)
        return float(weights @ (values - weights @ values / weights.sum()) ** 2) - (len(values) - 1)

    if not (within > 0).all():
        return float(values.var(ddof=1))
    return float(brentq(surplus, 0, 2 * float(values.var(ddof=1)) * len(values))) if surplus(0) > 0 else 0.0
