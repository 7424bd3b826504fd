"""Corrections of p-values for the number of tests."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Return Holm's adjusted p-values: below alpha in at most a share alpha of families without any effect.

    Parameters
    ----------
    p
        Shape (n,); NaN for what could not be tested, which stays NaN and does not count as a test.

    Returns
    -------
    numpy.ndarray
        Shape (n,).

    References
    ----------
    Holm, Scandinavian Journal of Statistics 6 (1979) 65-70; `statsmodels.stats.multitest.multipletests`.
    """
    values = np.asarray(p, dtype=np.float64)
    tested = ~np.isnan(values)
    adjusted = np.full(values.shape, np.nan)
    if tested.any():
        from statsmodels.stats.multitest import multipletests

        with _nothing_to_collect():  # for it collects the garbage of the whole process, at each call
            adjusted[tested] = multipletests(values[tested], method="holm")[1]
    return adjusted


@contextmanager
def _nothing_to_collect() -> Iterator[None]:
    """Let a full collection of garbage find nothing: it takes 60 ms of a process with pandas and a report's rows."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
