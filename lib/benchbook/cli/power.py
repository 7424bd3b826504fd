"""`benchbook power`: how a study's measurements vary, the best number of repetitions, what an hour would decide."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import isnan, nan, sqrt
from statistics import median
from typing import Final

import numpy as np
import pandas as pd

from benchbook import cli, evidence, grid, results
from benchbook.cli import output, selection
from benchbook.cli.until import asked_for
from benchbook.evidence.claims import Level, Tested, label
from benchbook.evidence.contrasts import asked as asked_of
from benchbook.evidence.contrasts import places
from benchbook.evidence.effects import paired
from benchbook.evidence.measured import Measured, Place
from benchbook.runner.progress import Durations
from benchbook.runner.rounds import Costs, Rounds, sitting, spans
from benchbook.runner.standing import Reading, Standing, standings
from benchbook.stats.variances import Components, best_repetitions, components

HOUR_S: Final = 3600.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command can be asked."""
    selection.add_cells_options(parser)
    output.add_json(parser)


def main(asked: argparse.Namespace) -> int:
    """Print it, a row a study and lane."""
    cells, read = asked_for(asked)
    means = evidence.stored_means(grid.keys(cells))
    known = results.seconds()
    by_lane = powers(read, means, known)
    current = standings(read, evidence.Evidence.of(means).contrasts)
    hour = decided_within(HOUR_S, current, Rounds(cells, Costs(known), means, sitting(means)))
    decided: dict[tuple[str, str], list[str]] = {}
    for standing in hour:
        decided.setdefault((standing.claim.study, standing.lane), []).append(standing.claim.id)
    rows = []
    for power in by_lane:
        numbers = {name: output.plain(value, digits=3) for name, value in asdict(power).items()}
        claims = decided.get((power.study, power.lane), [])
        rows.append(numbers | {"decided_in_an_hour": claims if asked.json else len(claims)})
    if asked.json:
        print(output.as_json(rows))
        return cli.DONE
    if not rows:
        print("nothing of this profile has run in two blocks: benchbook run first")
        return cli.DONE
    print(output.as_text(rows))
    names = ", ".join(f"{standing.claim.id} ({standing.lane})" for standing in hour)
    print(f"the next hour would decide {len(hour)} claims if estimates stay{': ' if hour else ''}{names}")
    return cli.DONE


@dataclass(frozen=True)
class Variation:
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


def powers(readings: Sequence[Reading], means: pd.DataFrame, known: Durations) -> list[Power]:
    """Return how the contrasts of each study vary, by lane.

    Parameters
    ----------
    readings
        The contrasts and their cells.
    means
        Block means of the plan's finished cells.
    known
        Seconds of cells.
    """
    cells = {reading.key: reading.cells for reading in readings}
    timed_s = spans(means)
    by_study: dict[tuple[str, str], list[Variation]] = {}
    for claim, measured, place in places(evidence.measures(means), evidence.claims()):
        for levels in claim.contrasts(place[1]):
            read = cells.get((claim.id, place[1], label(levels)), frozenset())
            beside = timed = 0.0
            for kind in read & timed_s.keys():
                timed += timed_s[kind]
                beside += max(0.0, known.get(kind, 0.0) - timed_s[kind])
            variations = by_study.setdefault((claim.study, place[1]), [])
            for variation in _variations(claim, levels, measured, place):
                variations.append(replace(variation, block_s=beside, repetition_s=timed / variation.repetitions))
    return [_power(study, lane, variations) for (study, lane), variations in by_study.items() if variations]


def _variations(claim: Tested, levels: dict[str, Level], measured: Measured, place: Place) -> Iterator[Variation]:
    """Yield a contrast's ratios that have variances: of positive means, in two blocks or more."""
    wanted = asked_of(claim, levels)
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
        yield Variation(components(ratio, [inside], repetitions), repetitions)


def _power(study: str, lane: str, variations: Sequence[Variation]) -> Power:
    best = [best_repetitions(each.variances, each.block_s, each.repetition_s) for each in variations]
    return Power(
        study,
        lane,
        len(variations),
        sqrt(_median(each.variances.within for each in variations)),
        sqrt(_median(each.variances.between for each in variations)),
        _median(each.repetitions for each in variations),
        _median(best),
        _median(each.block_s for each in variations),
        _median(each.repetition_s for each in variations),
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
