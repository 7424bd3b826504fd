"""From the block means of two or more sides to an effect: a ratio, or a difference, and where it may lie."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, isnan, log, nan, sqrt
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchbook import stats
from benchbook.digits import number
from benchbook.evidence.published import Terms
from benchbook.evidence.sides import Side, undisturbed_blocks
from benchbook.stats.campaigns import FEWEST

Values: TypeAlias = NDArray[np.float64]

PAIRED: Final = "paired by block"
BY_CAMPAIGN: Final = "paired by block, a mean a campaign"
OVER_HOSTS: Final = "a mean of hosts"

APART: Final = "no block has all sides"


@dataclass(frozen=True)
class Effect:
    """A ratio and where it may lie; NaN when there is none."""

    ratio: float = nan
    low: float = nan  # an end of 0 or infinity is that of a bound
    high: float = nan
    blocks: int = 0  # those that all sides share
    campaigns: int = 0  # that these blocks are of
    test: str = "none"  # or `PAIRED`, `BY_CAMPAIGN`, `OVER_HOSTS`
    reason: str = ""  # why something is NaN, or what is only a bound
    error: float = nan  # standard error of the ratio's logarithm
    difference: tuple[float, float, float] = (nan, nan, nan)  # where a ratio has no meaning: a minus b, low, high
    unit: str = ""  # of the difference


@dataclass(frozen=True)
class Paired:
    """Block means of sides that belong together, or, from `FEWEST` campaigns on, their means over each campaign."""

    values: tuple[Values, ...]  # one array a side, all of one shape; geometric means when `positive`
    blocks: int
    campaigns: int  # that these are of
    positive: bool

    @property
    def by_campaign(self) -> bool:
        """Whether the values are of campaigns, not of blocks."""
        return self.campaigns >= FEWEST


def paired(terms: Terms, sides: Mapping[str, Side], first: int | None = None) -> Paired:
    """Return the sides of a ratio in their `undisturbed_blocks`, or in the `first` so many units of these.

    A block's cells share the machine's drift: unpaired, two identical arms measured one after the other gave 39 % false
    alarms, paired 4.9 %. What days differ in, their blocks share: where there are enough campaigns they are the units.
    """
    in_order = [sides[name] for _, name in terms]
    blocks = undisturbed_blocks(in_order)
    campaigns = in_order[0].campaigns_of(blocks)
    by_campaign = len(set(campaigns)) >= FEWEST
    if first is not None:
        chosen = stats.campaigns.first(campaigns, first) if by_campaign else slice(first)
        blocks, campaigns = blocks[chosen], campaigns[chosen]
    values = tuple(side.of(blocks) for side in in_order)
    positive = all((of_side > 0).all() for of_side in values)
    if by_campaign:
        scaled = tuple(map(np.log, values)) if positive else values
        means = tuple(stats.campaigns.means(of_side, campaigns) for of_side in scaled)
        values = tuple(map(np.exp, means)) if positive else means
    return Paired(values, len(blocks), len(set(campaigns)), positive)


def effect(
    terms: Terms,
    sides: Mapping[str, Side],
    divisor: float = 1.0,
    confidence: float = 0.95,
    first: int | None = None,
) -> Effect:
    """Return the product of the sides' geometric means to their signs, over `divisor`.

    Parameters
    ----------
    terms
        Which sides multiply and which divide.
    sides
        By name; compared in the blocks that all of them have from one campaign, and not at all where there is none.
    divisor
        What the ratio is divided by: of one side alone, the bound that it is held against.
    confidence
        Of the interval, from Student's t on the logarithms. It reaches at least as far as the counters' resolution.
    first
        How many units count, the first ones: blocks, or campaigns where there are enough; None for all.

    Returns
    -------
    Effect
        A wait that ran out in the numerator makes the ratio's low end all that is known, one in the denominator its
        high end. Means that are not all positive have no ratio: of two sides the difference stands instead.
    """
    means = paired(terms, sides, first)
    signed = [(sign, sides[name]) for sign, name in terms]
    if not means.blocks:
        return Effect(reason=APART)
    nothing = Effect(blocks=means.blocks, campaigns=means.campaigns)
    if any(np.isnan(side).any() for side in means.values):
        return replace(nothing, reason="a wait for the replica ran out, and nothing is known of its rate")
    if not means.positive and (len(signed) > 2 or any(side.censored.any() for _, side in signed)):
        return replace(nothing, reason="no ratio: a mean is zero or negative")
    scaled = tuple(map(np.log, means.values)) if means.positive else means.values
    units = _signed(terms, scaled)
    interval = stats.mean_interval(units, confidence)
    both = zip(signed, means.values, strict=True)
    step = sum(side.resolution / (value.mean() if means.positive else 1) for (_, side), value in both)
    low, high, test = nan, nan, "none"
    if not interval.reason:
        low, high = min(interval.low, interval.estimate - step), max(interval.high, interval.estimate + step)
        test = BY_CAMPAIGN if means.by_campaign else PAIRED
    if not means.positive:
        reason = interval.reason or "no ratio: a mean is zero or negative"
        bound = divisor if len(signed) == 1 else 0.0  # of one side alone: how far it is from what it is held against
        ends = (interval.estimate - bound, low - bound, high - bound)
        return replace(nothing, test=test, reason=reason, difference=ends, unit=signed[0][1].unit)
    ratio, low, high = (_exp(value - log(divisor)) for value in (interval.estimate, low, high))
    error = float(units.std(ddof=1)) / sqrt(len(units)) if not interval.reason else nan
    ratios = replace(nothing, ratio=ratio, low=low, high=high, test=test, reason=interval.reason, error=error)
    return _bounded(ratios, signed)


def of_a_mean(host: str) -> bool:
    """Return whether a row of contrasts or verdicts is of no one host but of those like several, ``4 hosts``."""
    return host.endswith(" hosts")


def over_hosts(effects: Sequence[Effect], confidence: float = 0.95) -> Effect:
    """Return the effect on hosts like those on which it was found so; no more than the first reason where one has none.

    Its blocks are the fewest of a host.
    """
    lacking = [host for host in effects if isnan(host.error) or not (host.low > 0 and host.high < inf)]
    if lacking:
        return Effect(reason=lacking[0].reason)
    logs, errors = [log(host.ratio) for host in effects], [host.error for host in effects]
    mean = stats.over_hosts(logs, errors, confidence)
    ratio, low, high = (_exp(value) for value in (mean.estimate, mean.low, mean.high))
    reason = (
        mean.reason or f"hosts differ by a factor of {number(exp(stats.spread(logs, errors)))} (standard deviation)"
    )
    blocks, campaigns = min(host.blocks for host in effects), min(host.campaigns for host in effects)
    return Effect(ratio, low, high, blocks, campaigns, OVER_HOSTS, reason)


def weakest(effects: Sequence[Effect]) -> Effect:
    """Return a ranking's smallest lead, from the smallest low end to the smallest high end of all leads' intervals.

    The smallest lead is above 1 exactly when every lead is, and below when any is. Where some leads are differences
    only, the smallest of them stands when all the ratios are above 1. A lead of which nothing is known may be as small
    as any: then the smallest is known from one that lies below 1, and has no low end.
    """
    ratios = [lead for lead in effects if lead.low <= lead.high]
    others = [lead for lead in effects if lead not in ratios]
    if unknown := [lead for lead in others if isnan(lead.difference[1])]:
        below = [lead for lead in ratios if lead.high < 1]
        if not below:
            return unknown[0]
        reason = f"of another lead nothing is known: {unknown[0].reason}"
        return replace(min(below, key=lambda lead: lead.high), low=0.0, reason=reason)
    if others and all(lead.low > 1 for lead in ratios):
        return min(others, key=lambda lead: lead.difference[1])
    least = min(ratios, key=lambda lead: lead.ratio)
    low, high = min(lead.low for lead in ratios), min(lead.high for lead in ratios)
    blocks, campaigns = min(lead.blocks for lead in effects), min(lead.campaigns for lead in effects)
    return replace(least, low=low, high=high, blocks=blocks, campaigns=campaigns)


def _signed(terms: Terms, values: Sequence[Values]) -> Values:
    """Return the sum of the sides' values, of shape (n,), each with its sign."""
    total: Values = np.sum([sign * of_side for (sign, _), of_side in zip(terms, values, strict=True)], axis=0)
    return total


def _exp(value: float) -> float:
    """Return e to that power, infinity where no float is as large: two blocks that differ a lot have such ends."""
    return inf if value >= 709 else exp(value)


def _bounded(ratio: Effect, signed: Sequence[tuple[int, Side]]) -> Effect:
    """Return the effect with the end open that censored means leave open."""
    above = any(side.censored.any() for sign, side in signed if sign > 0)
    below = any(side.censored.any() for sign, side in signed if sign < 0)
    if above and below:
        blank = Effect(blocks=ratio.blocks, campaigns=ratio.campaigns)
        return replace(blank, reason="waits for the replica ran out on both sides")
    if above:
        return replace(ratio, high=inf, reason=ratio.reason or "a wait for the replica ran out: the ratio is larger")
    if below:
        return replace(ratio, low=0.0, reason=ratio.reason or "a wait for the replica ran out: the ratio is smaller")
    return ratio
