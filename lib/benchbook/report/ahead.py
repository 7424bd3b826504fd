"""What claims that are not decided wait for: the command that runs it, or why it cannot run here."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from benchbook import evidence, grid, studies
from benchbook.evidence.claims import Tested
from benchbook.evidence.judge import DECIDED
from benchbook.evidence.published import text
from benchbook.evidence.sides import parameters
from benchbook.runner.readings import Reading, readings
from benchbook.runner.standing import standings

FULL: Final = "paper"
"""The profile that has every cell of the grids."""


def waits(profile: str, cells: Sequence[grid.Cell], found: evidence.Evidence) -> dict[str, str]:
    """Return for each claim that is not decided what it waits for, by its id; claims that nothing can test have none.

    Parameters
    ----------
    profile
        Whose results were judged.
    cells
        Those that `benchbook.grid.plan` lists for it.
    found
        What the finished ones say.
    """
    full = grid.plan(studies.SLUGS, FULL)
    able = "\n".join(f"{cell.key} {cell.state} {cell.missing}" for cell in (*cells, *full))

    def made() -> pd.DataFrame:
        return pd.DataFrame(_waits(profile, cells, full, found).items(), columns=["id", "waits for"])

    return dict(found.part("waits", made, f"{profile}\n{able}").itertuples(index=False, name=None))


def _waits(
    profile: str, cells: Sequence[grid.Cell], full: Sequence[grid.Cell], found: evidence.Evidence
) -> dict[str, str]:
    undecided = set(found.outcomes.loc[~found.outcomes["verdict"].isin(DECIDED), "id"])
    claims = [one for one in evidence.claims() if one.id in undecided and isinstance(one, Tested)]
    contrasts = found.contrasts[found.contrasts["id"].isin(undecided)]
    waiting: dict[str, str] = {}
    for one in standings(readings(cells, claims), contrasts, claims):
        if one.state in ("open", "parked"):
            run = f"more blocks: benchbook run {one.claim.study} --profile {profile} --until-decided"
            waiting.setdefault(one.claim.id, run if one.state == "open" else f"parked: {one.why}")
    rest = [claim for claim in claims if claim.id not in waiting]
    named = {claim.study for claim in rest}
    return waiting | _elsewhere(readings([cell for cell in full if cell.study in named], rest))


def _elsewhere(read: Iterable[Reading]) -> dict[str, str]:
    """Return what claims wait for of which no cell of the profile tells."""
    by_claim: dict[str, list[Reading]] = {}
    for one in read:
        by_claim.setdefault(one.claim.id, []).append(one)
    return {name: _command(some) for name, some in by_claim.items()}


def _command(some: Sequence[Reading]) -> str:
    """Return the command that runs the cells of a claim's contrasts on its first lane, or why none can run."""
    lane = next((one.lane for one in some if one.cells), None)
    if lane is None:
        return f"what cannot run here: {'; '.join(dict.fromkeys(one.why for one in some))}"
    claim = some[0].claim
    kinds = sorted({kind for one in some if one.lane == lane for kind in one.cells})
    levels = _levels(claim, [parameters(given) for _, given in kinds])
    wanted = [f"--where {name}={','.join(values)}" for name, values in levels.items()]
    return f"cells that this profile has not: benchbook run {claim.study} --profile {FULL} {' '.join(wanted)}"


def _levels(claim: Tested, cells: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the levels of what a claim names of its cells' parameters, as ``--where`` takes them."""
    sides = [name for side in claim.sides().values() for name in side]
    names = dict.fromkeys(["lane", *claim.at, *claim.each, *sides])
    every = {name: [text(one[name]) for one in cells if name in one] for name in names}
    return {name: list(dict.fromkeys(levels)) for name, levels in every.items() if levels}
