"""What claims that are not decided wait for: the command that runs it, or why it cannot run here."""

from collections.abc import Sequence
from typing import Final

import pandas as pd

from benchbook import evidence, grid, studies
from benchbook.evidence.claims import Tested
from benchbook.evidence.judge import DECIDED
from benchbook.evidence.measured import parameters
from benchbook.evidence.published import text
from benchbook.runner.standing import Reading, readings, standings

FULL: Final = "paper"
"""The profile that has every cell of the grids."""


def waits(profile: str, cells: Sequence[grid.Cell], measured: evidence.Evidence) -> dict[str, str]:
    """Return for each claim that is not decided what it waits for, by its id; claims that nothing can test have none.

    Parameters
    ----------
    profile
        Whose results were judged.
    cells
        Those that `benchbook.grid.plan` lists for it.
    measured
        What the finished ones say.
    """
    full = grid.plan(studies.SLUGS, FULL).cells
    states = "\n".join(f"{cell.key} {cell.state} {cell.missing}" for cell in (*cells, *full))

    def made() -> pd.DataFrame:
        return pd.DataFrame(_waits(profile, cells, full, measured).items(), columns=["id", "waits for"])

    return dict(measured.part("waits", made, f"{profile}\n{states}").itertuples(index=False, name=None))


def _waits(
    profile: str, cells: Sequence[grid.Cell], full: Sequence[grid.Cell], measured: evidence.Evidence
) -> dict[str, str]:
    outcomes = measured.outcomes
    undecided = set(outcomes.loc[~outcomes["verdict"].isin(DECIDED), "id"])
    tested = [claim for claim in evidence.claims() if isinstance(claim, Tested)]
    claims = [claim for claim in tested if claim.id in undecided]
    contrasts = measured.contrasts[measured.contrasts["id"].isin(undecided)]
    waiting: dict[str, str] = {}
    for standing in standings(readings(cells, claims), contrasts, claims):
        if standing.state == "open":
            wanted = "more blocks" if standing.open else "another day"
            run = f"{wanted}: benchbook run {standing.claim.study} --profile {profile} --until-decided"
            waiting.setdefault(standing.claim.id, run)
        elif standing.state == "parked":
            waiting.setdefault(standing.claim.id, f"parked: {standing.why}")
    # Of the others no cell of the profile tells.
    rest = [claim for claim in claims if claim.id not in waiting]
    named = {claim.study for claim in rest}
    by_claim: dict[str, list[Reading]] = {}
    for reading in readings([cell for cell in full if cell.study in named], rest):
        by_claim.setdefault(reading.claim.id, []).append(reading)
    return waiting | {name: _command(of_claim) for name, of_claim in by_claim.items()}


def _command(of_claim: Sequence[Reading]) -> str:
    """Return the command that runs the cells of a claim's contrasts on its first lane, or why none can run."""
    lane = next((reading.lane for reading in of_claim if reading.cells), None)
    if lane is None:
        return f"what cannot run here: {'; '.join(dict.fromkeys(reading.why for reading in of_claim))}"
    claim = of_claim[0].claim
    kinds = sorted({kind for reading in of_claim if reading.lane == lane for kind in reading.cells})
    cells = [parameters(as_json) for _, as_json in kinds]
    sides = [name for side in claim.sides().values() for name in side]
    names = dict.fromkeys(["lane", *claim.at, *claim.each, *sides])
    levels = {name: dict.fromkeys(text(cell[name]) for cell in cells if name in cell) for name in names}
    wanted = [f"--where {name}={','.join(of_name)}" for name, of_name in levels.items() if of_name]
    return f"cells that this profile has not: benchbook run {claim.study} --profile {FULL} {' '.join(wanted)}"
