"""Where each claim stands after what has been measured, and which of its contrasts more blocks may still decide."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, Literal, TypeAlias

import pandas as pd

from benchbook import evidence
from benchbook.evidence.claims import Claim, Tested
from benchbook.evidence.forecast import all_at_best, at_best, look_that_decides
from benchbook.evidence.judge import DECIDED, NOT_TESTABLE
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
    rows = {(row["id"], row["lane"], row["contrast"]): row for row in contrasts.to_dict("records")}
    now, best = (_by_lane(evidence.verdicts(one, wanted)) for one in (contrasts, all_at_best(contrasts, wanted)))
    return [
        _standing(list(some), rows, now.get(place, {}), best.get(place, {}))
        for place, some in groupby(readings, lambda one: (one.claim.id, one.lane))
    ]


def _by_lane(verdicts: pd.DataFrame) -> dict[tuple[str, str], Mapping[Any, Any]]:
    return {(row["id"], row["lane"]): row for row in verdicts.to_dict("records")}


def _standing(
    readings: Sequence[Reading],
    rows: Mapping[tuple[str, str, str], Mapping[Any, Any]],
    now: Mapping[Any, Any],
    best: Mapping[Any, Any],
) -> Standing:
    claim, lane = readings[0].claim, readings[0].lane
    verdict = str(now.get("verdict", NOT_TESTABLE))
    readable = [one for one in readings if one.cells]
    if not readable:
        why = "; ".join(dict.fromkeys(one.why for one in readings))
        return Standing(claim, lane, "not here", verdict, 0, why=why)
    blocks, decided = int(now.get("blocks", 0)), verdict in DECIDED
    open_ = [] if verdict == "contradicted" else [one for one in readable if not _decided(rows.get(one.key))]
    foretold = [_at_best(rows.get(one.key), claim) for one in open_]
    hopeful = [one for one, best_of in zip(open_, foretold, strict=True) if best_of is None or best_of in DECIDED]
    if not decided and None not in foretold and best.get("verdict") not in DECIDED:
        hopeful = []
    if not hopeful:
        return Standing(claim, lane, "decided" if decided else "parked", verdict, blocks, why="" if decided else PARKED)
    looks = [_expected(rows.get(one.key), claim) for one in hopeful]
    expected = None if None in looks else max(look for look in looks if look)
    return Standing(claim, lane, "decided" if decided else "open", verdict, blocks, tuple(hopeful), expected)


def _decided(row: Mapping[Any, Any] | None) -> bool:
    return row is not None and bool(row["decided"])


def _at_best(row: Mapping[Any, Any] | None, claim: Tested) -> str | None:
    return None if row is None else at_best(row, claim)


def _expected(row: Mapping[Any, Any] | None, claim: Tested) -> int | None:
    return None if row is None else look_that_decides(row, claim)
