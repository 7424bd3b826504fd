"""What a study's measurements can tell: how its blocks and repetitions vary, and what the next hour would decide."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import nan, sqrt
from statistics import median
from typing import Final

import numpy as np
import pandas as pd

from benchbook import evidence
from benchbook.evidence.claims import Claim, Level, Tested, label
from benchbook.evidence.contrasts import asked, places
from benchbook.evidence.effects import paired
from benchbook.evidence.sides import Measured, Place, Side
from benchbook.runner import costs
from benchbook.runner.readings import Reading
from benchbook.runner.rounds import Rounds
from benchbook.runner.standing import Standing
from benchbook.runner.summary import Durations
from benchbook.stats.repetitions import Components, best_repetitions, components

HOUR_S: Final = 3600.0


@dataclass(frozen=True)
class Contrast:
    """How one ratio of a claim varies, in logarithms, and what its cells take in a block."""

    variances: Components
    repetitions: float  # a block
    block_s: float = nan  # beside the repetitions
    repetition_s: float = nan


@dataclass(frozen=True)
class Power:
    """How the contrasts of a study's claims vary on one lane, medians over those that two blocks or more have."""

    study: str
    lane: str
    contrasts: int  # how many
    within: float  # standard deviation of a repetition's logarithm of the ratio, NaN of one repetition a block
    between: float  # standard deviation of the blocks' means of it, beside what repetitions give
    repetitions: float  # a block, now
    best: float  # as `benchbook.stats.repetitions.best_repetitions`
    block_s: float  # seconds that a contrast's cells take in a block, beside their repetitions
    repetition_s: float  # and a repetition


def powers(
    readings: Sequence[Reading], means: pd.DataFrame, known: Durations, claims: Iterable[Claim] | None = None
) -> list[Power]:
    """Return how the contrasts of each study vary, by lane.

    Parameters
    ----------
    readings
        The contrasts and their cells.
    means
        Block means of the plan's finished cells.
    known
        Seconds of cells.
    claims
        Those of the readings; None for all of `data/claims`.
    """
    cells = {reading.key: reading.cells for reading in readings}
    spans = costs.spans(means)
    found: dict[tuple[str, str], list[Contrast]] = {}
    for claim, measured, place in places(evidence.measures(means), evidence.claims() if claims is None else claims):
        for levels in claim.contrasts(place[1]):
            read = cells.get((claim.id, place[1], label(levels)), frozenset())
            beside = sum(max(0.0, known[kind] - spans[kind]) for kind in read if kind in known and kind in spans)
            timed = sum(spans.get(kind, 0.0) for kind in read)
            some = _contrasts(claim, levels, measured, place)
            every = [replace(one, block_s=beside, repetition_s=timed / one.repetitions) for one in some]
            found.setdefault((claim.study, place[1]), []).extend(every)
    return [_power(study, lane, some) for (study, lane), some in found.items() if some]


def _contrasts(claim: Tested, levels: dict[str, Level], measured: Measured, place: Place) -> Iterator[Contrast]:
    """Yield a contrast's ratios that have variances: of positive means, in two blocks or more."""
    wanted = asked(claim, levels)
    means, spreads = (measured.parts(place, wanted, of, claim.pooled) for of in ("mean", "variation"))
    sides = {name: parts[0] for name, parts in means.items() if len(parts) == 1 and (parts[0].values > 0).all()}
    for terms in claim.ratios(sides) if claim.needed() <= set(sides) else ():
        both, names = paired(terms, sides), [name for _, name in terms]
        if len(both.values[0]) < 2:
            continue
        ratio = sum(sign * np.log(one) for (sign, _), one in zip(terms, both.values, strict=True))
        inside = sum(_mean_square(spreads.get(name, [])) for name in names)
        repetitions = float(sides[names[0]].settings["repetitions"])
        yield Contrast(components(ratio, [inside], repetitions), repetitions)


def _mean_square(parts: Sequence[Side]) -> float:
    """Return the variance of a repetition's logarithm, of one repetition a block NaN."""
    return float(np.mean(parts[0].values ** 2)) if parts and len(parts[0].values) else nan


def _power(study: str, lane: str, some: Sequence[Contrast]) -> Power:
    best = [best_repetitions(one.variances, one.block_s, one.repetition_s) for one in some]
    return Power(
        study,
        lane,
        len(some),
        sqrt(_median(one.variances.within for one in some)),
        sqrt(_median(one.variances.between for one in some)),
        _median(one.repetitions for one in some),
        _median(best),
        _median(one.block_s for one in some),
        _median(one.repetition_s for one in some),
    )


def _median(values: Iterable[float]) -> float:
    known = [value for value in values if value == value]
    return median(known) if known else nan


def decided_within(seconds: float, now: Sequence[Standing], rounds: Rounds) -> list[Standing]:
    """Return the open claims that would be decided in that time if their estimates stay, the cheapest first."""
    foretold = [one for one in now if one.state == "open" and one.expected]
    cost = {id(one): rounds.ahead([one], _expected).seconds for one in foretold}
    chosen: list[Standing] = []
    for one in sorted(foretold, key=lambda one: cost[id(one)]):
        if rounds.ahead([*chosen, one], _expected).seconds > seconds:
            break
        chosen.append(one)
    return chosen


def _expected(one: Standing) -> int:
    return one.expected or 0
