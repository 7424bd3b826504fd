"""Flags for values that lie far out. Nothing is thrown away: whoever reads decides."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

FENCE: Final = 1.5
"""Tukey's fence, in interquartile ranges beyond the quartiles."""

ENOUGH: Final = 5
"""Fewer values than this have no quartiles worth a fence: none is flagged."""


def outliers(values: ArrayLike) -> NDArray[np.bool_]:
    """Return True for each value beyond Tukey's fences.

    Parameters
    ----------
    values
        Shape (n,), any unit.

    Returns
    -------
    numpy.ndarray
        Shape (n,), boolean; all False below `ENOUGH` values.

    References
    ----------
    Tukey, Exploratory Data Analysis (1977), section 2D.
    """
    array = np.asarray(values, dtype=float)
    if array.size < ENOUGH:
        return np.zeros(array.shape, dtype=bool)
    low, high = np.quantile(array, (0.25, 0.75))
    reach = FENCE * (high - low)
    flagged: NDArray[np.bool_] = (array < low - reach) | (array > high + reach)
    return flagged


def outlier_share(values: ArrayLike) -> float:
    """Return the share of the values that `outliers` flags, 0 to 1; NaN for no values."""
    flagged = outliers(values)
    return float(flagged.mean()) if flagged.size else float("nan")
