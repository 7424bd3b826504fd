"""Where each claim stands after what has been measured, and which of its contrasts more blocks may still decide."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal, TypeAlias

import pandas as pd

from benchbook import evidence
from benchbook.evidence.claims import Claim, Tested
from benchbook.evidence.contrasts import Contrast
from benchbook.evidence.forecast import all_at_best, at_best, look_that_decides
from benchbook.evidence.judge import DECIDED, NOT_TESTABLE
from benchbook.evidence.verdicts import ClaimVerdict
from benchbook.runner.readings import Kind, Reading
from benchbook.stats.sequential import LOOKS

State: TypeAlias = Literal["decided", "open", "parked", "not here"]

PARKED: Final = f"would stay open after {LOOKS[-1]} blocks, were the interval a fifth narrower than is forecast"


@dataclass(frozen=True)
class Standing:
    """A claim on one lane.

    Parameters
    ----------
    claim, lane
        Which.
    state
        ``decided``, though some of its contrasts may be open; ``open``: more blocks may decide it; ``parked``: they
        would not; ``not here``: no cell tells.
    verdict
        As `benchbook.evidence.verdicts` gives it today.
    blocks
        After which its verdict was given; 0 before the first look.
    open
        The contrasts to go on with.
    expected
        After how many blocks the last of them would be decided if estimates stay; None when that is not known.
    why
        Why it is parked or not here.
    """

    claim: Tested
    lane: str
    state: State
    verdict: str
    blocks: int
    open: tuple[Reading, ...] = ()
    expected: int | None = None
    why: str = ""

    @property
    def cells(self) -> frozenset[Kind]:
        """The cells that its open contrasts read."""
        return frozenset[Kind]().union(*(reading.cells for reading in self.open))


def standings(
    readings: Sequence[Reading], contrasts: pd.DataFrame, claims: Iterable[Claim] | None = None
) -> list[Standing]:
    """Return where each claim stands on each lane.

    Parameters
    ----------
    readings
        As `benchbook.runner.readings.readings` returns them of a plan.
    contrasts
        As `benchbook.evidence.judged` returns them of the plan's finished cells and the same claims.
    claims
        Those of the readings; None for all of `data/claims`.
    """
    wanted = list(evidence.claims() if claims is None else claims)
    rows = {(row.id, row.lane, row.contrast): row for row in Contrast.of(contrasts)}
    now = _by_lane(evidence.verdicts(contrasts, wanted))
    best = _by_lane(evidence.verdicts(all_at_best(contrasts, wanted), wanted))
    return [
        _standing(list(of_claim), rows, now.get(place), best.get(place))
        for place, of_claim in groupby(readings, lambda reading: (reading.claim.id, reading.lane))
    ]


def _by_lane(verdicts: pd.DataFrame) -> dict[tuple[str, str], ClaimVerdict]:
    return {(row.id, row.lane): row for row in ClaimVerdict.of(verdicts)}


def _standing(
    readings: Sequence[Reading],
    rows: Mapping[tuple[str, str, str], Contrast],
    now: ClaimVerdict | None,
    best: ClaimVerdict | None,
) -> Standing:
    claim, lane = readings[0].claim, readings[0].lane
    verdict = now.verdict if now else NOT_TESTABLE
    readable = [reading for reading in readings if reading.cells]
    if not readable:
        why = "; ".join(dict.fromkeys(reading.why for reading in readings))
        return Standing(claim, lane, "not here", verdict, 0, why=why)
    blocks, decided = now.blocks if now else 0, verdict in DECIDED
    undecided: list[tuple[Reading, Contrast | None]] = []
    for reading in readable if verdict != "contradicted" else ():
        row = rows.get(reading.key)
        if row is None or not row.decided:
            undecided.append((reading, row))
    foretold = [None if row is None else at_best(row, claim) for _, row in undecided]
    hopeful = [
        reading_and_row
        for reading_and_row, verdict_at_best in zip(undecided, foretold, strict=True)
        if verdict_at_best in (None, *DECIDED)
    ]
    if not decided and None not in foretold and not (best and best.verdict in DECIDED):
        hopeful = []
    if not hopeful:
        return Standing(claim, lane, "decided" if decided else "parked", verdict, blocks, why="" if decided else PARKED)
    looks = [None if row is None else look_that_decides(row, claim) for _, row in hopeful]
    expected = None if None in looks else max(look for look in looks if look)
    open_ = tuple(reading for reading, _ in hopeful)
    return Standing(claim, lane, "decided" if decided else "open", verdict, blocks, open_, expected)
