"""What a sample must be before anything is computed from it."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def sample(values: ArrayLike) -> NDArray[np.float64]:
    """Return the values as floats, shape (n,).

    Raises
    ------
    ValueError
        When they are not one-dimensional, or one is not finite: a missing value is the caller's to explain.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError("a sample is one-dimensional and finite: leave missing values out, and say so")
    return array


def no_two_samples(a: NDArray[np.float64], b: NDArray[np.float64]) -> str:
    """Return why two samples are too few to be compared; empty when they are not."""
    if min(a.size, b.size) < 2:
        return f"cannot test: {a.size} and {b.size} values, at least 2 a side are needed"
    return ""


def no_pairs(a: NDArray[np.float64], b: NDArray[np.float64]) -> str:
    """Return why pairs are too few to be compared; empty when they are not.

    Raises
    ------
    ValueError
        When the samples are not of one length.
    """
    if a.size != b.size:
        raise ValueError(f"{a.size} values cannot be paired with {b.size}")
    return f"cannot test: {a.size} pairs, at least 2 are needed" if a.size < 2 else ""


def no_spread(*samples: NDArray[np.float64]) -> str:
    """Return that the samples do not vary; empty when one does.

    Values that differ by rounding alone (1e-12 of their size) count as equal.
    """
    if all(np.ptp(one) <= 1e-12 * np.abs(one).max() for one in samples):
        return "cannot test: the values do not vary"
    return ""


def no_ratio(*samples: NDArray[np.float64]) -> str:
    """Return why the samples have no ratio; empty when they have."""
    if any((one <= 0).any() for one in samples):
        return "no ratio: a value is zero or negative"
    return ""


def alike(
    pairs: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]], wanted: Sequence[bool]
) -> Iterable[list[int]]:
    """Return the places of the wanted pairs, those of one length together: numpy computes them in one go."""
    places: dict[int, list[int]] = {}
    for place, (one, _) in enumerate(pairs):
        if wanted[place]:
            places.setdefault(one.size, []).append(place)
    return places.values()
