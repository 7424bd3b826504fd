"""The ratios of thousands of paired samples: each as if it were alone, in a tenth of the time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchbook.stats.effects import correction, detectable_ratio, hedges_g, noncentrality
from benchbook.stats.intervals import Interval, quantile, ratio_interval
from benchbook.stats.samples import alike, no_spread, sample

Values: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Ratio:
    """What is said of the ratio of two paired samples.

    Parameters
    ----------
    interval
        As `benchbook.stats.ratio_interval` of pairs.
    hedges_g
        As `benchbook.stats.hedges_g` of the logarithms; NaN when it cannot be had.
    detectable
        As `benchbook.stats.detectable_ratio` of pairs; NaN when it cannot be had.
    """

    interval: Interval
    hedges_g: float
    detectable: float


def ratios_each(pairs: Iterable[tuple[ArrayLike, ArrayLike]]) -> list[Ratio]:
    """Return what is said of each two paired samples, of shape (n,) both and all positive.

    numpy takes as long for six values as for six thousand: pairs of one length are computed together.
    """
    samples = [(sample(a), sample(b)) for a, b in pairs]
    found: dict[int, Ratio] = {}
    for places in alike(samples, [a.size > 1 and not no_spread(np.log(a / b)) for a, b in samples]):
        a, b = (np.log(np.stack([samples[place][side] for place in places])) for side in (0, 1))
        found |= zip(places, _together(a, b), strict=True)
    return [found.get(place) or _alone(*one) for place, one in enumerate(samples)]


def _together(a: Values, b: Values) -> Iterator[Ratio]:
    """Yield what is said of each row of logarithms, shape (pairs, n) both."""
    n, between = a.shape[1], (a - b).mean(axis=1)
    error = (a - b).std(axis=1, ddof=1) / np.sqrt(n)
    reach = quantile(n - 1, 0.975) * error
    ends = (np.exp(value).tolist() for value in (between, between - reach, between + reach))
    g = correction(2 * n - 2) * between / np.sqrt((a.var(axis=1, ddof=1) + b.var(axis=1, ddof=1)) / 2)
    detectable = np.exp(noncentrality(n - 1) * error)
    yield from map(Ratio, map(Interval, *ends), g.tolist(), detectable.tolist())


def _alone(a: Values, b: Values) -> Ratio:
    size, detectable = hedges_g(np.log(a), np.log(b)).size, detectable_ratio(a, b, pairs=True).size
    return Ratio(ratio_interval(a, b, pairs=True), size, detectable)
