"""Blocks of several campaigns: pooled where the campaigns agree, else one value a campaign."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

AGREE_P = 0.25
"""Below this p of the F-test campaigns are taken to differ: far above 5 %, for it is pooling that needs the proof.

Bancroft, Biometrics 20 (1964) 427-442: a preliminary test at 25 % keeps the final one near its level.
"""


def differ(values: ArrayLike, campaigns: ArrayLike) -> bool:
    """Return whether campaigns differ by more than their blocks do, by one-way analysis of variance.

    Parameters
    ----------
    values
        One a block, shape (n,), finite.
    campaigns
        Each block's campaign, shape (n,). Blocks of one campaign, or one of each, do not differ.
    """
    array, which = np.asarray(values, float), np.unique(campaigns, return_inverse=True)[1]
    counts = np.bincount(which)
    between_df, within_df = len(counts) - 1, len(array) - len(counts)
    if between_df < 1 or within_df < 1:
        return False
    means = np.bincount(which, array) / counts
    between = float((counts * (means - array.mean()) ** 2).sum()) / between_df
    within = float(((array - means[which]) ** 2).sum()) / within_df
    if within == 0:
        return between > 0
    from scipy.special import fdtrc  # importing `scipy.stats` takes three times as long

    return float(fdtrc(between_df, within_df, between / within)) < AGREE_P


def means(values: ArrayLike, campaigns: ArrayLike) -> NDArray[np.float64]:
    """Return the mean of each campaign's blocks, shape (campaigns,)."""
    which = np.unique(campaigns, return_inverse=True)[1]
    return np.bincount(which, np.asarray(values, float)) / np.bincount(which)
