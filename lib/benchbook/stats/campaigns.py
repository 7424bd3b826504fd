"""The levels above blocks: campaigns, apart in time, whose means are units where there are enough; and hosts."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchbook.stats.inference import Interval, quantile
from benchbook.stats.sequential import LOOKS

FEWEST: Final = LOOKS[0]
"""From so many campaigns on their means are the units: what is found then holds for sittings like these.

Blocks of one day are alike in what that day did, so that more of them say ever more of that day and no more of others.
A mean a campaign is as independent as campaigns are, whatever the intraclass correlation. From fewer campaigns the
blocks speak, of these sittings alone.
"""

MOST: Final = LOOKS[2]
"""Campaigns at whose look a forecast ends: few will come back on more days."""


FEWEST_HOSTS: Final = 4
"""With fewer hosts there is no telling how much hosts differ: two or three give intervals that no host lies outside."""


def units(campaigns: ArrayLike) -> int:
    """Return how many units blocks of those campaigns are: campaigns where there are enough, else blocks."""
    names = np.asarray(campaigns, str)
    count = len(np.unique(names))
    return count if count >= FEWEST else len(names)


def sittings(campaigns: int) -> str:
    """Return of what is shown in so few campaigns that it is of these sittings alone; empty from `FEWEST` on."""
    if not 0 < campaigns < FEWEST:
        return ""
    return "in one sitting" if campaigns == 1 else f"in {campaigns} sittings"


def means(values: ArrayLike, campaigns: ArrayLike) -> NDArray[np.float64]:
    """Return the mean of each campaign's blocks, shape (campaigns,), in the order of the campaigns' names.

    Parameters
    ----------
    values
        One a block, shape (n,).
    campaigns
        Each block's campaign, shape (n,): its start, in UTC.
    """
    which = np.unique(np.asarray(campaigns, str), return_inverse=True)[1]
    return np.bincount(which, np.asarray(values, float)) / np.bincount(which)


def first(campaigns: ArrayLike, count: int) -> NDArray[np.bool_]:
    """Return which blocks are of the first so many campaigns, shape (n,)."""
    names = np.asarray(campaigns, str)
    return np.isin(names, np.unique(names)[:count])


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
    if len(values) < FEWEST_HOSTS:
        return Interval(float("nan"), reason=f"{len(values)} hosts: a mean of hosts asks for {FEWEST_HOSTS}")
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
