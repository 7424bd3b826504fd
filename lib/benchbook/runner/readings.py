"""Which cells each contrast of a claim is read from: those that its verdict would stand on if all of them had run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

from benchbook import evidence, results, studies
from benchbook.evidence.claims import Claim, Level, Statistic, Tested, label
from benchbook.evidence.contrasts import asked, eligible, places
from benchbook.evidence.means import block_means
from benchbook.evidence.sides import OF_ROWS, SPREAD_FROM, Measured, Place, Side
from benchbook.grid import Cell

Kind: TypeAlias = tuple[str, str]
"""A cell whatever its block: its study and parameters, as `benchbook.grid.Cell.kind`."""

NO_CELL: Final = "no cell of this profile"
NO_SPREAD: Final = f"fewer than {SPREAD_FROM} repetitions a block, of which no spread is judged"


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

    The cells' sides are found as those of measured rows are (`benchbook.evidence.sides`): what a claim does not name is
    at its default, or as near to it as there are cells. Cells that do not run here and stand-ins are read by none.

    Parameters
    ----------
    cells
        As `benchbook.grid.plan` returns them; of the blocks of a cell one suffices.
    claims
        None for all of `data/claims`.
    """
    first_arms = list({cell.kind: cell for cell in reversed([*cells]) if cell.arm == "a"}.values())
    read = list(evidence.claims() if claims is None else claims)
    means = _as_if_measured(first_arms)
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
            arrays: dict[str, Any] = {
                array: np.concatenate([getattr(part, array) for part in parts])
                for array in ("blocks", "campaigns", "values", "censored", "disturbed")
            }
            if len(arrays["blocks"]):
                united[name] = replace(parts[0], **arrays, stand_in=any(part.stand_in for part in parts))
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


def _as_if_measured(cells: Sequence[Cell]) -> pd.DataFrame:
    """Return the block means that these cells would have if each had run, with its number in the place of the block."""
    rows = [row for number, cell in enumerate(cells) for row in _rows(number, cell)]
    empty = block_means(results.OBSERVATIONS.empty_table().to_pandas())
    return evidence.measures(pd.DataFrame(rows).reindex(columns=empty.columns)) if rows else empty


def _rows(number: int, cell: Cell) -> Iterable[dict[str, Any]]:
    parameters: Any = cell.parameters
    given = parameters.model_dump(mode="json")
    about = {
        **{name: given[name] for name in (*OF_ROWS, "arm", "lane") if isinstance(given.get(name), str)},
        **{"study": cell.study, "host": "", "topology": cell.topology, "stand_in": cell.stand_in},
        **{"parameters": cell.kind[1], "cell_id": str(number), "block": number, "rows": 1, "disturbed": False},
        **{"value": 1.0, "at_least": 1.0, "value_without": 1.0, "count": 1.0, "censored": False, "unit": ""},
    }
    about |= {"measured": parameters.repetitions, "deviation": 1.0 if parameters.repetitions > 1 else np.nan}
    study = studies.load(cell.study)
    owed = set(study.expected(parameters))
    if cell.missing:
        # What a server owes is known only where it is.
        owed |= getattr(study, "EVERY", set())
    owed |= {(operation, role, "memory_pss") for operation, role, metric in owed if metric == "memory_rss"}
    for arm in parameters.arms():
        for operation, role, metric in owed:
            yield {**about, **arm, "operation": operation, "role": role, "metric": metric}
