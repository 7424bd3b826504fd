"""From block means to an effect with its interval, from that and a margin to a verdict, from several to one."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from math import exp, inf, log, nan
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from benchbook import stats
from benchbook.evidence.claims import Direction
from benchbook.evidence.published import Terms
from benchbook.evidence.sides import Side

Values: TypeAlias = NDArray[np.float64]
Verdict: TypeAlias = Literal[
    "reproduced",
    "reproduced in part",  # of several products those that ran bear it out, and others are missing
    "direction only",
    "equivalent",
    "contradicted",
    "inconclusive",
    "not testable here",
]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
IN_PART: Final = VERDICTS[1]
NOT_TESTABLE: Final = VERDICTS[-1]

ALPHA: Final = 0.05
SIZE_TOLERANCE: Final = 1.25
"""A published ratio is met when it lies within this factor of the interval: versions and machines move ratios, too."""

PAIRED: Final = "paired by block"
UNPAIRED: Final = "unpaired"

RESAMPLES: Final = 9_999
"""Of the bootstrap over blocks; its seed is fixed."""


@dataclass(frozen=True)
class Effect:
    """A ratio and where it may lie; NaN when there is none."""

    ratio: float = nan
    low: float = nan  # an end of 0 or infinity is that of a bound
    high: float = nan
    blocks: int = 0  # the fewest of a side, or those that all sides share
    test: str = "none"  # or `PAIRED`, `UNPAIRED`
    reason: str = ""  # why something is NaN, or what is only a bound
    difference: tuple[float, float, float] = (nan, nan, nan)  # where a ratio has no meaning: a minus b, low, high
    unit: str = ""  # of the difference


def samples(sides: Iterable[Side]) -> tuple[list[Values], bool]:
    """Return each side's block means, and whether they are paired: of the blocks that all share, where these are two.

    A block's cells share the machine's drift: unpaired, two identical arms measured one after the other gave 39 % false
    alarms, paired 4.9 %.
    """
    every = list(sides)
    shared = _shared(every)
    paired = len(shared) >= 2
    return [side.of(shared) if paired else side.values for side in every], paired


def effect(terms: Terms, sides: Mapping[str, Side], divisor: float = 1.0, confidence: float = 0.95) -> Effect:
    """Return the product of the sides' geometric means to their signs, over `divisor`.

    Parameters
    ----------
    terms
        Which sides multiply and which divide.
    sides
        By name; sides that share at least two blocks are paired by block, else they are independent samples.
    divisor
        What the ratio is divided by: of one side alone, the bound that it is held against.
    confidence
        Of the interval, from Student's t on the logarithms.

    Returns
    -------
    Effect
        A wait that ran out in the numerator makes the ratio's low end all that is known, one in the denominator its
        high end. Means that are not all positive have no ratio: of two sides the difference stands instead.
    """
    signed = [(sign, sides[name]) for sign, name in terms]
    values, paired = samples(side for _, side in signed)
    blocks = min(map(len, values))
    if any(np.isnan(one).any() for one in values):
        return Effect(blocks=blocks, reason="a wait for the replica ran out, and nothing is known of its rate")
    positive = all((one > 0).all() for one in values)
    censored = any(side.censored.any() for _, side in signed)
    if not positive and (len(signed) > 2 or censored):
        return Effect(blocks=blocks, reason="no ratio: a mean is zero or negative")
    scaled = [sign * (np.log(one) if positive else one) for (sign, _), one in zip(signed, values, strict=True)]
    found = (
        stats.mean_interval(sum(scaled[1:], scaled[0]), confidence)
        if paired
        else stats.sum_interval(*scaled, confidence=confidence)
    )
    test = "none" if found.reason else PAIRED if paired else UNPAIRED
    if not positive:
        reason = found.reason or "no ratio: a mean is zero or negative"
        bound = divisor if len(signed) == 1 else 0.0  # of one side alone: how far it is from what it is held against
        ends = (found.estimate - bound, found.low - bound, found.high - bound)
        return Effect(blocks=blocks, test=test, reason=reason, difference=ends, unit=signed[0][1].unit)
    estimate, low, high = (exp(value - log(divisor)) for value in (found.estimate, found.low, found.high))
    return _bounded(Effect(estimate, low, high, blocks, test, found.reason), signed)


def weakest(effects: Sequence[Effect]) -> Effect:
    """Return a ranking's smallest lead, from the smallest low end to the smallest high end of all leads' intervals.

    The smallest lead is above 1 exactly when every lead is, and below when any is. Where some leads are differences
    only, the smallest of them stands when all the ratios are above 1. A lead of which nothing is known may be as small
    as any: then the smallest is known from one that lies below 1, and has no low end.
    """
    ratios = [one for one in effects if one.low <= one.high]
    others = [one for one in effects if one not in ratios]
    if unknown := [one for one in others if one.difference[1] != one.difference[1]]:
        below = [one for one in ratios if one.high < 1]
        if not below:
            return unknown[0]
        reason = f"of another lead nothing is known: {unknown[0].reason}"
        return replace(min(below, key=lambda one: one.high), low=0.0, reason=reason)
    if others and all(one.low > 1 for one in ratios):
        return min(others, key=lambda one: one.difference[1])
    least = min(ratios, key=lambda one: one.ratio)
    low, high = min(one.low for one in ratios), min(one.high for one in ratios)
    return replace(least, low=low, high=high, blocks=min(one.blocks for one in effects))


def share(leads: Sequence[Terms], sides: Mapping[str, Side]) -> float:
    """Return the share of bootstrap resamples of the blocks in which the claimed order holds, of geometric means.

    Of arithmetic means where one is not positive. NaN when the sides share fewer than two blocks, or a wait ran out.
    """
    names = list(dict.fromkeys(name for terms in leads for _, name in terms))
    values, paired = samples(sides[name] for name in names)
    if not paired or any(sides[name].censored.any() for name in names):
        return nan
    table = np.stack(values, axis=1)
    scaled = np.log(table) if (table > 0).all() else table
    signs = np.zeros((len(names), len(leads)))
    for column, terms in enumerate(leads):
        for sign, name in terms:
            signs[names.index(name), column] = sign
    return float((_weights(len(table)) @ (scaled @ signs) > 0).all(axis=1).mean())


def _shared(sides: Iterable[Side]) -> NDArray[np.int64]:
    """Return the blocks that all sides have."""
    return reduce(partial(np.intersect1d, assume_unique=True), (side.blocks for side in sides))


@cache
def _weights(blocks: int) -> Values:
    """Return how often each resample draws each block; shape (`RESAMPLES`, blocks)."""
    generator = np.random.Generator(np.random.PCG64(20150501))
    return generator.multinomial(blocks, np.full(blocks, 1 / blocks), RESAMPLES).astype(np.float64)


def _bounded(found: Effect, signed: Sequence[tuple[int, Side]]) -> Effect:
    """Return the effect with the end open that censored means leave open."""
    above = any(side.censored.any() for sign, side in signed if sign > 0)
    below = any(side.censored.any() for sign, side in signed if sign < 0)
    if above and below:
        return Effect(blocks=found.blocks, reason="waits for the replica ran out on both sides")
    if above:
        return replace(found, high=inf, reason=found.reason or "a wait for the replica ran out: the ratio is larger")
    if below:
        return replace(found, low=0.0, reason=found.reason or "a wait for the replica ran out: the ratio is smaller")
    return found


def judge(effect: Effect, claimed: Direction, margin: float, size: tuple[float, float] | None = None) -> Verdict:
    """Return what an effect says of a claim, from its interval [L, U] and the margin m alone.

    Of ``more`` (``less`` is its mirror image): *reproduced* when L > m, and the claimed size lies in the interval
    widened by `SIZE_TOLERANCE` or none is claimed; *direction only* when L > 1, but m or the size is missed;
    *equivalent* when [L, U] lies in [1/m, m]; *contradicted* when U < 1/m, or U < 1 and the estimate is below 1/m; else
    *inconclusive*. Of ``equal``: *reproduced* when [L, U] lies in [1/m, m], *contradicted* when outside, else
    *inconclusive*. Of ``different``: as of ``more`` or of ``less``, whichever it is. Where only a difference can be
    had, no margin applies: *direction only* when its interval lies on the claimed side of zero, *contradicted* when on
    the other; values that are the same in every block are *equal*.

    Parameters
    ----------
    effect
        With its interval, as wide as the claim's number of contrasts asks.
    claimed
        ``more``, ``less``, ``equal`` or ``different``.
    margin
        Above 1.
    size
        The claimed or published ratio, from and to what its rounding allows; None when there is none to meet.
    """
    if effect.low != effect.low:
        return _by_difference(effect, claimed)
    if claimed == "different":
        claimed = "more" if effect.ratio >= 1 else "less"
    inside = 1 / margin <= effect.low and effect.high <= margin
    if claimed == "equal":
        outside = effect.low > margin or effect.high < 1 / margin
        return "reproduced" if inside else "contradicted" if outside else "inconclusive"
    ratio, low, high = effect.ratio, effect.low, effect.high
    if claimed == "less":
        ratio, low, high = 1 / ratio, _inverse(high), _inverse(low)
        size = size and (1 / size[1], 1 / size[0])
    if low > margin:
        met = size is None or (low <= size[1] * SIZE_TOLERANCE and size[0] <= high * SIZE_TOLERANCE)
        return "reproduced" if met else "direction only"
    if inside:
        return "equivalent"
    if low > 1:
        return "direction only"
    return "contradicted" if high < 1 and ratio < 1 / margin else "inconclusive"


def together(verdicts: Iterable[Verdict], *, most: bool = False) -> Verdict:
    """Return the verdict on a claim from those on its contrasts; those not testable here are left out.

    All alike: that. Reproduced in part and in direction elsewhere: *direction only*. Contradicted somewhere and
    reproduced nowhere: *contradicted*. Anything else is mixed: *inconclusive*.

    Parameters
    ----------
    verdicts
        One a contrast.
    most
        True when the claim is of most contrasts only: then more than half of them suffice.
    """
    counts = Counter(verdict for verdict in verdicts if verdict != NOT_TESTABLE)
    if not counts:
        return NOT_TESTABLE
    if len(counts) == 1:
        return next(iter(counts))
    half = counts.total() / 2
    if most and counts["reproduced"] > half:
        return "reproduced"
    holds = counts["reproduced"] + counts["direction only"]
    if holds == counts.total() or (most and holds > half):
        return "direction only"
    return "contradicted" if counts["contradicted"] and not counts["reproduced"] else "inconclusive"


def across(products: Iterable[Verdict]) -> Verdict:
    """Return the verdict on what is claimed of every one of several products: one that contradicts it is enough.

    Parameters
    ----------
    products
        Those on each product, as `together` returns them; those not testable here are left out.
    """
    verdicts = list(products)
    return "contradicted" if "contradicted" in verdicts else together(verdicts)


def _by_difference(effect: Effect, claimed: Direction) -> Verdict:
    estimate, low, high = effect.difference
    if claimed == "less" or (claimed == "different" and estimate < 0):
        low, high = -high, -low
    if claimed == "equal":
        return "reproduced" if low == high == 0 else "inconclusive"
    if not (low > 0 or high < 0):
        return "inconclusive"
    return "direction only" if low > 0 else "contradicted"


def _inverse(value: float) -> float:
    return 1 / value if value else inf
