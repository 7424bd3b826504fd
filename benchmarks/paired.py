"""Compare two ways to do the same in short blocks that take turns, on the same machine."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Items = Sequence[Any]
Arm = Callable[[Items], int]
"""Does a block's work and returns how long that took, in ns."""

Times = list[tuple[int, int]]
"""A pair's times, in ns: the first arm's and the second's."""


ENOUGH = 6
"""Pairs whose extremes hold the median in 95 of 100 cases: with fewer there is no such interval."""


def take_pairs(
    first: Arm, second: Arm, blocks: Iterator[Items], pairs: int, *, swapped: bool = False
) -> Times:
    """Give each arm a block, as often as asked; who begins changes from pair to pair.

    Parameters
    ----------
    first, second
        What is compared.
    blocks
        What there is to do: two blocks per pair.
    pairs
        How many.
    swapped
        Whether the second begins the first pair.
    """
    times: Times = []
    for number in range(pairs):
        if (number % 2 == 1) != swapped:
            later, earlier = second(next(blocks)), first(next(blocks))
            times.append((earlier, later))
        else:
            times.append((first(next(blocks)), second(next(blocks))))
    return times


@dataclass(frozen=True)
class Ratio:
    """The median of the pairs' ratios, first over second, with its 95 % bootstrap interval."""

    median: float
    low: float
    high: float
    pairs: int

    def verdict(self, goal: float) -> Literal["met", "missed", "open"]:
        """Judge whether the ratio is at most `goal`: open inside the interval or with few pairs."""
        if self.pairs < ENOUGH:
            return "open"
        if self.high <= goal:
            return "met"
        return "missed" if self.low > goal else "open"

    def __str__(self) -> str:
        """Return it as one reads it."""
        return (
            f"ratio {self.median:.4f}, 95 % {self.low:.4f} to {self.high:.4f} ({self.pairs} pairs)"
        )


def ratio(times: Times, samples: int = 10_000) -> Ratio:
    """Return the ratio of the pairs' times."""
    ratios = np.divide(*np.array(times, float).T)
    draws = np.random.default_rng(1).integers(
        0, len(ratios), (samples, len(ratios)), dtype=np.int32
    )
    low, high = np.percentile(np.median(ratios[draws], axis=1), [2.5, 97.5])
    return Ratio(float(np.median(ratios)), float(low), float(high), len(ratios))


def medians_ns(times: Times) -> tuple[float, float]:
    """Return each arm's median time of a block."""
    first, second = np.median(np.array(times, float), axis=0)
    return float(first), float(second)
