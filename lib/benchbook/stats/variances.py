"""How many repetitions a block is worth: the variance between blocks and within them, and what each costs."""

from dataclasses import dataclass
from math import ceil, isnan, nan, sqrt
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

MOST: Final = 1_000
"""Repetitions a block, where blocks do not differ and repetitions alone would be asked for."""


@dataclass(frozen=True)
class Components:
    """Variances of one quantity, NaN where they are not known: fewer than two blocks, or than two repetitions."""

    within: float  # of a repetition, around its block's mean
    between: float  # of the blocks' true means


def components(means: ArrayLike, within: ArrayLike, repetitions: float) -> Components:
    """Return the variance within blocks and between them, by the moments of a balanced design with random blocks.

    Parameters
    ----------
    means
        Of each block, shape (n,).
    within
        Variance of the repetitions of each block, shape (n,); NaN where it is not known.
    repetitions
        Of which a block's mean is one.
    """
    variances = np.asarray(within, float)
    known = variances[np.isfinite(variances)]
    inside = float(np.mean(known)) if len(known) else nan
    values = np.asarray(means, float)
    if len(values) < 2 or isnan(inside):
        return Components(inside, nan)
    return Components(inside, max(0.0, float(np.var(values, ddof=1)) - inside / repetitions))


def best_repetitions(variances: Components, block_s: float, repetition_s: float) -> float:
    """Return with how many repetitions a block tells most for its time; NaN when the variances are not known.

    Parameters
    ----------
    variances
        Within and between blocks.
    block_s
        Seconds that a block takes beside its repetitions.
    repetition_s
        Seconds of a repetition.

    References
    ----------
    Kalibera & Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013, section 6.
    """
    if isnan(variances.within) or isnan(variances.between) or repetition_s <= 0:
        return nan
    if not variances.between:
        return MOST if variances.within else 1
    share = variances.within / variances.between
    return ceil(min(MOST, max(1.0, sqrt(block_s / repetition_s * share))))
