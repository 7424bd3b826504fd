"""What a study's measurements can tell: how its blocks and repetitions vary, and what the next hour would decide."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan, sqrt
from statistics import median
from typing import Final

import numpy as np
import pandas as pd

from benchbook import evidence
from benchbook.evidence.claims import Claim, Level, Tested, label
from benchbook.evidence.contrasts import asked, places
from benchbook.evidence.effects import paired
from benchbook.evidence.sides import Measured, Place
from benchbook.runner import costs
from benchbook.runner.rounds import Rounds
from benchbook.runner.standing import Reading, Standing
from benchbook.runner.summary import Durations
from benchbook.stats.variances import Components, best_repetitions, components

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
    best: float  # as `benchbook.stats.variances.best_repetitions`
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
    of_study: dict[tuple[str, str], list[Contrast]] = {}
    for claim, measured, place in places(evidence.measures(means), evidence.claims() if claims is None else claims):
        for levels in claim.contrasts(place[1]):
            read = cells.get((claim.id, place[1], label(levels)), frozenset())
            beside = timed = 0.0
            for kind in read & spans.keys():
                timed += spans[kind]
                beside += max(0.0, known.get(kind, 0.0) - spans[kind])
            contrasts = of_study.setdefault((claim.study, place[1]), [])
            for contrast in _contrasts(claim, levels, measured, place):
                contrasts.append(replace(contrast, block_s=beside, repetition_s=timed / contrast.repetitions))
    return [_power(study, lane, contrasts) for (study, lane), contrasts in of_study.items() if contrasts]


def _contrasts(claim: Tested, levels: dict[str, Level], measured: Measured, place: Place) -> Iterator[Contrast]:
    """Yield a contrast's ratios that have variances: of positive means, in two blocks or more."""
    wanted = asked(claim, levels)
    means, spreads = (measured.parts(place, wanted, of, claim.pooled) for of in ("mean", "variation"))
    sides = {}
    for name, parts in means.items():
        if len(parts) == 1 and (parts[0].values > 0).all():
            sides[name] = parts[0]
    for terms in claim.ratios(sides) if claim.needed() <= set(sides) else ():
        both, names = paired(terms, sides), [name for _, name in terms]
        if len(both.values[0]) < 2:
            continue
        ratio = sum(sign * np.log(values) for (sign, _), values in zip(terms, both.values, strict=True))
        # The variance of a repetition's logarithm is not known of one repetition a block.
        inside = 0.0
        for name in names:
            spread = spreads.get(name, [])
            inside += float(np.mean(spread[0].values ** 2)) if spread and len(spread[0].values) else nan
        repetitions = float(sides[names[0]].settings["repetitions"])
        yield Contrast(components(ratio, [inside], repetitions), repetitions)


def _power(study: str, lane: str, contrasts: Sequence[Contrast]) -> Power:
    best = [best_repetitions(contrast.variances, contrast.block_s, contrast.repetition_s) for contrast in contrasts]
    return Power(
        study,
        lane,
        len(contrasts),
        sqrt(_median(contrast.variances.within for contrast in contrasts)),
        sqrt(_median(contrast.variances.between for contrast in contrasts)),
        _median(contrast.repetitions for contrast in contrasts),
        _median(best),
        _median(contrast.block_s for contrast in contrasts),
        _median(contrast.repetition_s for contrast in contrasts),
    )


def _median(values: Iterable[float]) -> float:
    known = [value for value in values if not isnan(value)]
    return median(known) if known else nan


def decided_within(seconds: float, now: Sequence[Standing], rounds: Rounds) -> list[Standing]:
    """Return the open claims that would be decided in that time if their estimates stay, the cheapest first."""

    def expected(standing: Standing) -> int:
        return standing.expected or 0

    foretold = [standing for standing in now if standing.state == "open" and standing.expected]
    chosen: list[Standing] = []
    for standing in sorted(foretold, key=lambda standing: rounds.ahead([standing], expected).seconds):
        if rounds.ahead([*chosen, standing], expected).seconds > seconds:
            break
        chosen.append(standing)
    return chosen
