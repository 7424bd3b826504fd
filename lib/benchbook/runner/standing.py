"""Where each claim stands: which cells its contrasts are read from, and which of them more blocks may still decide.

A contrast's cells are those that its verdict would stand on if all of them had run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pandas as pd

from benchbook import evidence, results, studies
from benchbook.evidence.claims import Claim, Level, Statistic, Tested, label
from benchbook.evidence.contrasts import Contrast, asked, eligible, places
from benchbook.evidence.forecast import all_at_best, at_best, look_that_decides
from benchbook.evidence.judge import DECIDED, NOT_TESTABLE
from benchbook.evidence.means import block_means
from benchbook.evidence.measured import OF_ROWS, Measured, Place
from benchbook.evidence.sides import Side
from benchbook.evidence.verdicts import ClaimVerdict
from benchbook.grid import Cell, Kind
from benchbook.stats.campaigns import MOST
from benchbook.stats.sequential import LOOKS

NO_CELL: Final = "no cell of this profile"
NO_SPREAD: Final = "one repetition a block, which has no spread"


@dataclass(frozen=True)
class Reading:
    """A contrast of a claim on one lane: the cells of its sides, or why it cannot be judged from these."""

    claim: Tested
    contrast: str  # its levels, as ``n=1000``
    lane: str
    cells: frozenset[Kind]  # empty when it cannot be judged
    why: str  # empty when it can

    @property
    def key(self) -> tuple[str, str, str]:
        """What names it among the rows of `benchbook.evidence.judged` of one host."""
        return self.claim.id, self.lane, self.contrast


def readings(cells: Iterable[Cell], claims: Iterable[Claim] | None = None) -> list[Reading]:
    """Return every contrast of every claim about a study of which there are cells, a reading for each of its lanes.

    The cells' sides are found as those of measured rows are (`benchbook.evidence.measured`): what a claim does not
    name is at its default, or as near to it as there are cells. Nobody reads cells that do not run here.

    Parameters
    ----------
    cells
        As `benchbook.grid.plan` returns them; of the blocks of a cell one suffices.
    claims
        None for all of `data/claims`.
    """
    first_arms = list({cell.kind: cell for cell in reversed([*cells]) if cell.arm == "a"}.values())
    read = list(evidence.claims() if claims is None else claims)
    # The block means that these cells would have if each had run, with its number in the place of the block.
    rows = [row for number, cell in enumerate(first_arms) for row in _rows(number, cell)]
    means = block_means(results.OBSERVATIONS.empty_table().to_pandas())
    if rows:
        means = evidence.measures(pd.DataFrame(rows).reindex(columns=means.columns))
    here = [number for number, cell in enumerate(first_arms) if not cell.missing]
    runnable = {(claim.id, place): rows for claim, rows, place in places(means[means["block"].isin(here)], read)}
    return [
        _reading(claim, levels, place, first_arms, rows, runnable.get((claim.id, place)))
        for claim, rows, place in places(means, read)
        for levels in claim.contrasts(place[1])
    ]


def _reading(
    claim: Tested,
    levels: dict[str, Level],
    place: Place,
    cells: Sequence[Cell],
    planned: Measured,
    runnable: Measured | None,
) -> Reading:
    def sides(rows: Measured | None, statistic: Statistic = claim.statistic) -> dict[str, Side]:
        """Return each side as one of all the cells whose mean it is."""
        united = {}
        for name, parts in (rows.parts(place, asked(claim, levels), statistic, claim.pooled) if rows else {}).items():
            arrays: dict[str, Any] = {}
            for array in ("blocks", "campaigns", "values", "typical", "censored", "disturbed"):
                arrays[array] = np.concatenate([getattr(part, array) for part in parts])
            if len(arrays["blocks"]):
                united[name] = replace(parts[0], **arrays)
        return united

    present = sides(runnable)
    contrast = eligible(claim, levels, present, blocks=1)
    name, lane = label(levels), place[1]
    if not contrast.missing:
        read = {cells[number].kind for side in contrast.sides.values() for number in side.blocks}
        return Reading(claim, name, lane, frozenset(read), "")
    absent = sides(planned, "mean")
    reasons = [_reason(side, absent.get(side), cells) for side in claim.sides() if side not in present]
    return Reading(claim, name, lane, frozenset(), "; ".join(dict.fromkeys(reasons)) or contrast.missing)


def _reason(name: str, side: Side | None, cells: Sequence[Cell]) -> str:
    """Return why a side is not there."""
    if side is None:
        return f"{name}: {NO_CELL}"
    missing = [why for number in side.blocks if (why := cells[number].missing)]
    return missing[0].partition("\n")[0] if missing else f"{name}: {NO_SPREAD}"


def _rows(number: int, cell: Cell) -> Iterable[dict[str, object]]:
    parameters = cell.parameters
    given = parameters.model_dump(mode="json")
    about = {name: given[name] for name in (*OF_ROWS, "arm", "lane") if isinstance(given.get(name), str)}
    about |= {"study": cell.study, "host": "", "topology": cell.topology, "unit": ""}
    about |= {"parameters": cell.kind[1], "cell_id": str(number), "block": number, "rows": 1}
    about |= {"disturbed": False, "censored": False, "measured": parameters.repetitions}
    about |= dict.fromkeys(("value", "at_least", "value_without", "median", "count"), 1.0)
    about["deviation"] = 1.0 if parameters.repetitions > 1 else np.nan
    study = studies.load(cell.study)
    owed = set(study.expected(parameters))
    if cell.missing:
        # What a server owes is known only where it is.
        owed |= getattr(study, "EVERY", set())
    owed |= {(operation, role, "memory_pss") for operation, role, metric in owed if metric == "memory_rss"}
    for arm in parameters.arms():
        for operation, role, metric in owed:
            yield {**about, **arm, "operation": operation, "role": role, "metric": metric}


State: TypeAlias = Literal["decided", "open", "another day", "parked", "not here"]
"""``decided``, though some of its contrasts may be open, or in these sittings alone; ``open``: more blocks may decide
it; ``another day``: only those of later campaigns may; ``parked``: they would not; ``not here``: no cell tells."""

PARKED: Final = (
    f"would stay open after {LOOKS[-1]} blocks, or {MOST} campaigns, were the interval a fifth narrower than forecast"
)


@dataclass(frozen=True)
class Standing:
    """A claim on one lane."""

    claim: Tested
    lane: str
    state: State
    verdict: str  # as `benchbook.evidence.verdicts` gives it today
    blocks: int  # after which its verdict was given; 0 before the first look
    campaigns: int = 0  # the fewest that those of its contrasts ran in that do not speak of days yet; 0 when all do
    open: tuple[Reading, ...] = ()  # the contrasts to go on with, block by block
    day: tuple[Reading, ...] = ()  # of which one block of this sitting is wanted: of earlier ones, or judged by days
    expected: int | None = None  # after how many blocks the last would be decided if estimates stay; None: not known
    why: str = ""  # it is parked or not here

    @property
    def going_on(self) -> tuple[Reading, ...]:
        """Its contrasts of which blocks are wanted."""
        return (*self.open, *self.day)

    @property
    def cells(self) -> frozenset[Kind]:
        """The cells that its contrasts read which are to go on."""
        return frozenset[Kind]().union(*(reading.cells for reading in self.going_on))


def standings(
    readings: Sequence[Reading],
    contrasts: pd.DataFrame,
    claims: Iterable[Claim] | None = None,
    sitting: str = "",
) -> list[Standing]:
    """Return where each claim stands on each lane.

    Parameters
    ----------
    readings
        As `readings` returns them of a plan.
    contrasts
        As `benchbook.evidence.judged` returns them of the plan's finished cells and the same claims.
    claims
        Those of the readings; None for all of `data/claims`.
    sitting
        The campaign to which a cell would belong that ran now; empty when it would begin one.
    """
    wanted = list(evidence.claims() if claims is None else claims)
    rows = {(row.id, row.lane, row.contrast): row for row in Contrast.of(contrasts)}
    now = _by_lane(evidence.verdicts(contrasts, wanted))
    best = _by_lane(evidence.verdicts(all_at_best(contrasts, wanted), wanted))
    return [
        _standing(list(of_claim), rows, now.get(place), best.get(place), sitting)
        for place, of_claim in groupby(readings, lambda reading: (reading.claim.id, reading.lane))
    ]


def _by_lane(verdicts: pd.DataFrame) -> dict[tuple[str, str], ClaimVerdict]:
    return {(row.id, row.lane): row for row in ClaimVerdict.of(verdicts)}


def _standing(
    readings: Sequence[Reading],
    rows: Mapping[tuple[str, str, str], Contrast],
    now: ClaimVerdict | None,
    best: ClaimVerdict | None,
    sitting: str,
) -> Standing:
    """Return where one claim stands on one lane; `now` is its verdict, and `best` that of `all_at_best`."""
    claim, lane = readings[0].claim, readings[0].lane
    verdict = now.verdict if now else NOT_TESTABLE
    judged = [(reading, rows.get(reading.key)) for reading in readings if reading.cells]
    if not judged:
        why = "; ".join(dict.fromkeys(reading.why for reading in readings))
        return Standing(claim, lane, "not here", verdict, 0, why=why)
    undecided = [(reading, row) for reading, row in judged if row is None or not row.decided]
    of_sittings = [(reading, row) for reading, row in judged if row and row.decided and not row.by_campaign]
    if verdict == "contradicted":
        # By one contrast: whatever the open ones come to, it stays.
        undecided = []
    foretold = [row and at_best(row, claim) for _, row in undecided]
    hopeful = [pair for pair, at_last in zip(undecided, foretold, strict=True) if at_last in (None, *DECIDED)]
    if verdict not in DECIDED and None not in foretold and not (best and best.verdict in DECIDED):
        # Whichever contrasts may still be decided, the claim would not be.
        hopeful, of_sittings = [], []
    by_block = [(reading, row) for reading, row in hopeful if row is None or not row.by_campaign]
    by_day = [*((reading, row) for reading, row in hopeful if row and row.by_campaign), *of_sittings]
    open_ = tuple(reading for reading, _ in by_block)
    day = tuple(reading for reading, row in by_day if not sitting or row.newest != sitting)
    looks = [row and look_that_decides(row, claim) for _, row in by_block]
    expected = None if None in looks else max((look for look in looks if look), default=None)
    campaigns = min((row.overall_campaigns for _, row in (*undecided, *of_sittings) if row), default=0)
    state: State = "another day" if hopeful else "parked"
    if verdict in DECIDED:
        state = "decided"
    elif open_ or day:
        state = "open"
    why = PARKED if state == "parked" else ""
    blocks = now.blocks if now else 0
    return Standing(claim, lane, state, verdict, blocks, campaigns, open_, day, expected, why)
