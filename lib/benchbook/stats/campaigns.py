"""The level above blocks: campaigns, runs that are apart in time, whose means are the units where there are enough."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchbook.stats.sequential import LOOKS

FEWEST: Final = LOOKS[0]
"""From so many campaigns on their means are the units: what is found then holds for days like these.

Blocks of one day are alike in what that day did, so that more of them say ever more of that day and no more of others.
A mean a campaign is as independent as campaigns are, whatever the intraclass correlation. From fewer campaigns the
blocks speak, of these sittings alone.
"""

MOST: Final = LOOKS[2]
"""Campaigns at whose look a forecast ends: few will come back on more days."""


def units(campaigns: ArrayLike) -> int:
    """Return how many units blocks of those campaigns are: campaigns where there are enough, else blocks."""
    every = np.asarray(campaigns, str)
    count = len(np.unique(every))
    return count if count >= FEWEST else len(every)


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
