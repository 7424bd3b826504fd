"""The effect that a claim is about: a ratio of block means, of two ends, or of ratios, with its interval."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from math import exp, inf, log, nan
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchbook import stats
from benchbook.evidence.claim_sides import Terms
from benchbook.evidence.sides import Side

PAIRED: Final = "paired by block"
UNPAIRED: Final = "unpaired"

RESAMPLES: Final = 9_999
"""Of the bootstrap over blocks; its seed is fixed."""


@dataclass(frozen=True)
class Effect:
    """A ratio and where it may lie.

    Parameters
    ----------
    ratio, low, high
        Without unit; NaN when there is none. An end of 0 or infinity is that of a bound.
    blocks
        The fewest of a side, or those that all sides share.
    test
        ``paired by block``, ``unpaired`` or ``none``.
    reason
        Why something is NaN, or what is only a bound.
    difference
        Low and high end of a minus b, in ``unit``, where a ratio has no meaning.
    """

    ratio: float = nan
    low: float = nan
    high: float = nan
    blocks: int = 0
    test: str = "none"
    reason: str = ""
    difference: tuple[float, float] = (nan, nan)
    unit: str = ""


def effect(terms: Terms, sides: Mapping[str, Side], divisor: float = 1.0, confidence: float = 0.95) -> Effect:
    """Return the product of the sides' geometric means to their signs, over `divisor`.

    Parameters
    ----------
    terms
        Which sides multiply and which divide.
    sides
        By name; sides that share at least two blocks are paired by block, else they are independent samples.
    divisor
        What the ratio is divided by.
    confidence
        Of the interval, from Student's t on the logarithms.

    Returns
    -------
    Effect
        A wait that ran out in the numerator makes the ratio's low end all that is known, one in the denominator its
        high end. Means that are not all positive have no ratio: of two sides the difference stands instead.
    """
    signed = [(sign, sides[name]) for sign, name in terms]
    shared = _shared(side for _, side in signed)
    paired = len(shared) >= 2
    values = [side.of(shared) if paired else side.values for _, side in signed]
    blocks = min(map(len, values))
    if any(np.isnan(one).any() for one in values):
        return Effect(blocks=blocks, reason="a wait for the replica ran out, and nothing is known of its rate")
    if any((one <= 0).any() for one in values):
        return _difference(signed, values, paired, confidence)
    logs = [sign * np.log(one) for (sign, _), one in zip(signed, values, strict=True)]
    found = _interval(logs, paired, confidence)
    estimate, low, high = (exp(value - log(divisor)) for value in (found.estimate, found.low, found.high))
    test = "none" if found.reason else PAIRED if paired else UNPAIRED
    return _bounded(Effect(estimate, low, high, blocks, test, found.reason), signed)


def weakest(effects: Sequence[Effect]) -> Effect:
    """Return a ranking's smallest lead, from the smallest low end to the smallest high end of all leads' intervals.

    The smallest lead is above 1 exactly when every lead is, and below when any is. Where some leads are differences
    only, the smallest of them stands when all the ratios are above 1.
    """
    ratios = [one for one in effects if one.low <= one.high]
    others = [one for one in effects if one not in ratios]
    if unknown := [one for one in others if one.difference[0] != one.difference[0]]:
        return unknown[0]
    if others and all(one.low > 1 for one in ratios):
        return min(others, key=lambda one: one.difference[0])
    least = min(ratios, key=lambda one: one.ratio)
    low, high = min(one.low for one in ratios), min(one.high for one in ratios)
    return replace(least, low=low, high=high, blocks=min(one.blocks for one in effects))


def share(leads: Sequence[Terms], sides: Mapping[str, Side]) -> float:
    """Return the share of bootstrap resamples of the blocks in which the claimed order holds, of geometric means.

    Of arithmetic means where one is not positive. NaN when the sides share fewer than two blocks, or a wait ran out.
    """
    names = list(dict.fromkeys(name for terms in leads for _, name in terms))
    shared = _shared(sides[name] for name in names)
    if len(shared) < 2 or any(sides[name].censored for name in names):
        return nan
    table = np.stack([sides[name].of(shared) for name in names], axis=1)
    values = np.log(table) if (table > 0).all() else table
    signs = np.zeros((len(names), len(leads)))
    for column, terms in enumerate(leads):
        for sign, name in terms:
            signs[names.index(name), column] = sign
    return float((_weights(len(shared)) @ (values @ signs) > 0).all(axis=1).mean())


def _shared(sides: Iterable[Side]) -> NDArray[np.int64]:
    """Return the blocks that all sides have."""
    return reduce(partial(np.intersect1d, assume_unique=True), (side.blocks for side in sides))


@cache
def _weights(blocks: int) -> NDArray[np.float64]:
    """Return how often each resample draws each block; shape (`RESAMPLES`, blocks)."""
    generator = np.random.Generator(np.random.PCG64(20150501))
    return generator.multinomial(blocks, np.full(blocks, 1 / blocks), RESAMPLES).astype(np.float64)


def _interval(logs: Sequence[NDArray[np.float64]], paired: bool, confidence: float) -> stats.Interval:
    if paired:
        return stats.mean_interval(sum(logs[1:], logs[0]), confidence)
    return stats.sum_interval(*logs, confidence=confidence)


def _bounded(found: Effect, signed: Sequence[tuple[int, Side]]) -> Effect:
    """Return the effect with the end open that censored means leave open."""
    above = any(side.censored for sign, side in signed if sign > 0)
    below = any(side.censored for sign, side in signed if sign < 0)
    if above and below:
        return Effect(blocks=found.blocks, reason="waits for the replica ran out on both sides")
    if above:
        return replace(found, high=inf, reason=found.reason or "a wait for the replica ran out: the ratio is larger")
    if below:
        return replace(found, low=0.0, reason=found.reason or "a wait for the replica ran out: the ratio is smaller")
    return found


def _difference(
    signed: Sequence[tuple[int, Side]], values: Sequence[NDArray[Any]], paired: bool, confidence: float
) -> Effect:
    """Return the difference of two sides, where a mean is zero or negative."""
    blocks = min(map(len, values))
    reason = "no ratio: a mean is zero or negative"
    if len(signed) != 2 or any(side.censored for _, side in signed):
        return Effect(blocks=blocks, reason=reason)
    found = _interval([values[0], -values[1]], paired, confidence)
    test = "none" if found.reason else PAIRED if paired else UNPAIRED
    ends = (found.low, found.high)
    return Effect(blocks=blocks, test=test, reason=found.reason or reason, difference=ends, unit=signed[0][1].unit)
