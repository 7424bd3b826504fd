"""Flags for values that lie far out. Nothing is thrown away: whoever reads decides."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

REACH_IQR: Final = 1.5
"""How far beyond the quartiles the limits lie, in interquartile ranges."""

ENOUGH: Final = 5
"""Fewer values than this have no quartiles worth a limit: none is flagged."""


def outliers(values: ArrayLike) -> NDArray[np.bool_]:
    """Return True for each value beyond Tukey's limits (his fences).

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
    reach = REACH_IQR * (high - low)
    flagged: NDArray[np.bool_] = (array < low - reach) | (array > high + reach)
    return flagged
