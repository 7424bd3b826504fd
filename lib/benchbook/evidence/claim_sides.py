"""The sides of a claim's contrasts, the ratios that it is about, and what the paper prints of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import nan, prod
from typing import Any, Final, TypeAlias

from benchbook.evidence.claims import (
    Interaction,
    Key,
    Level,
    Rank,
    Ratio,
    Settings,
    Tested,
    Trend,
    label,
    one_factor,
    text,
)
from benchbook.evidence.published import found

Terms: TypeAlias = tuple[tuple[int, str], ...]
"""Sides' names with 1 for each that multiplies the ratio and -1 for each that divides it."""

_RATIO: Final[Terms] = ((1, "a"), (-1, "b"))
_TREND: Final[Terms] = ((1, "a last"), (-1, "a first"))
_INTERACTION: Final[Terms] = ((1, "a last"), (-1, "b last"), (-1, "a first"), (1, "b first"))


def sides_of(claim: Tested) -> dict[str, Settings]:
    """Return what tells the sides of one contrast apart: of ``a`` and ``b``, of their two ends, or of those ranked."""
    if isinstance(claim, Ratio):
        return {"a": claim.a, "b": claim.b}
    if isinstance(claim, Rank):
        factor = one_factor(claim.among, "among")
        return {str(level): {factor: level} for level in claim.among[factor]}
    assert isinstance(claim, Trend | Interaction)
    of_one = {"a": claim.a} if isinstance(claim, Trend) else {"a": claim.a, "b": claim.b}
    ends = _ends(claim)
    return {f"{name} {end}": {**of_one[name], **ends[end]} for name in of_one for end in ends}


def leads(claim: Tested, ran: Collection[str]) -> list[Terms]:
    """Return the ratios that the claim is about: one, or a ranking's, each above 1 where the order holds.

    Parameters
    ----------
    ran
        The names of the sides that ran; a ranking is that of those alone.
    """
    if isinstance(claim, Ratio):
        return [_RATIO]
    if isinstance(claim, Rank):
        return [((1, after), (-1, before)) for before, after in _successions(claim, ran)]
    return [_TREND if isinstance(claim, Trend) else _INTERACTION]


def needed(claim: Tested) -> set[str]:
    """Return the sides without which there is nothing to judge: all, but of a ranking those that the claim names."""
    if isinstance(claim, Rank):
        return set() if claim.claimed.order else {str(one) for one in claim.claimed.named}
    return set(sides_of(claim))


def divisor(claim: Tested) -> float:
    """Return what the ratio is divided by: the levels' own ratio when a trend is per item, else 1."""
    if not isinstance(claim, Trend) or not claim.per_item:
        return 1.0
    levels: Any = claim.over[one_factor(claim.over, "over")]
    return float(levels[-1] / levels[0])


def printed(claim: Tested, levels: Mapping[str, Level]) -> dict[str, Key]:
    """Return where the paper prints each side's number, by the sides' names; empty when it does not."""
    keys: dict[str, Key] = {}
    for name, side in sides_of(claim).items():
        if key := claim.published.get(name if isinstance(claim, Rank) else name.partition(" ")[0]):
            words = {name: _called(claim, name, value) for name, value in {**claim.at, **levels, **side}.items()}
            keys[name] = (_filled(key[0], words), _filled(key[1], words), _filled(key[2], words))
    return keys


@dataclass(frozen=True)
class Printed:
    """A ratio that a paper claims or prints: its value, the ends that rounding leaves it, and where; NaN for none."""

    ratio: float = nan
    low: float = nan
    high: float = nan
    source: str = ""


def printed_ratio(claim: Tested, levels: dict[str, Level]) -> Printed:
    """Return the ratio that the paper claims or prints; of a ranking the smallest lead."""
    size = claim.size if isinstance(claim.size, float) else claim.size.get(label(levels))
    if size is not None:
        return Printed(size, size, size, claim.where)
    keys = printed(claim, levels)
    every = [_ratio(claim, terms, keys) for terms in leads(claim, keys) if all(name in keys for _, name in terms)]
    return min(every, key=lambda one: one.ratio, default=Printed())


def _ratio(claim: Tested, terms: Terms, keys: Mapping[str, Key]) -> Printed:
    """Return the ratio of printed numbers, each as far off as its rounding allows."""
    numbers = [(sign, found(claim.study, *keys[name])) for sign, name in terms]
    values = [(sign, one.value, one.rounding) for sign, one in numbers if one]
    ratio, low, high = (
        prod((value + sign * end * half) ** sign for sign, value, half in values) / divisor(claim) for end in (0, -1, 1)
    )
    return Printed(ratio, low, high, " / ".join(dict.fromkeys(keys[name][0] for _, name in terms)))


def _ends(claim: Trend | Interaction) -> dict[str, Settings]:
    factor = one_factor(claim.over, "over")
    return {"first": {factor: claim.over[factor][0]}, "last": {factor: claim.over[factor][-1]}}


def _successions(claim: Rank, ran: Collection[str]) -> list[tuple[str, str]]:
    """Return the pairs of which the claim says that the first takes less than the second."""
    present = [name for name in sides_of(claim) if name in ran]
    if claim.claimed.order:
        order = [str(one) for one in claim.claimed.order if str(one) in ran]
        return list(pairwise(order))
    named = str(claim.claimed.named[0])
    others = [name for name in present if name != named]
    return [(named, one) if claim.claimed.first is not None else (one, named) for one in others]


def _called(claim: Tested, name: str, value: Any) -> Any:
    """Return the paper's word for a level, else the level."""
    return value if isinstance(value, tuple) else claim.called.get(name, {}).get(text(value), value)


def _filled(part: str, words: Mapping[str, Any]) -> str:
    """Return the text with each ``{name}`` replaced by its level."""
    for name, value in words.items():
        if not isinstance(value, tuple):
            part = part.replace("{" + name + "}", str(value))
    return part
