"""The cells of a profile in the order in which they are to be run, and what is known of each."""

import json
import random
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel

from benchbook import lanes, results, servers, studies
from benchbook.deployment import Topology
from benchbook.grid.errors import GridError
from benchbook.grid.expand import blocks, excluded
from benchbook.grid.identities import identity, records, server_version
from benchbook.grid.selection import Choice, choose
from benchbook.inputs import InputError

CellState = Literal["todo", "done", "failed", "skipped"]

CELLS: Final = 50_000
"""Cells of the longest plan, over all blocks; the papers' have some thousands."""


@dataclass(frozen=True)
class Cell:
    """One cell in one block.

    Parameters
    ----------
    study, parameters, identity
        What it is.
    block, position
        In which pass, and its rank in the pass's random order, from 0.
    product, topology
        The deployment that it needs; ``none`` is one too.
    missing
        Why it does not run here, for want of a server or because the grid excludes it; None when it does.
    state
        ``todo`` when nothing is written of it.
    stand_in
        Whether its server only stands in for the product.
    records
        The digest of the file of records that it was given, which is part of the identity.
    """

    study: str
    parameters: BaseModel
    identity: str
    block: int
    position: int
    product: str
    topology: Topology
    missing: str | None
    state: CellState
    stand_in: bool = False
    records: str | None = None

    @property
    def arm(self) -> str:
        """``a``, or ``b`` for the second of two identical arms."""
        return str(getattr(self.parameters, "arm", "a"))

    @property
    def kind(self) -> tuple[str, str]:
        """Study and parameters, as the results state them: what blocks, and other versions of the code, share."""
        return self.study, json.dumps(self.parameters.model_dump(mode="json"), sort_keys=True)

    @property
    def key(self) -> str:
        """The name of its result: identity and block."""
        return f"{self.identity}.{self.block}"

    @property
    def path(self) -> Path:
        """Where its values lie when it is done."""
        return results.path(self.study, self.identity, self.block)


@dataclass(frozen=True)
class LeftOut:
    """A product, or a lane, whose cells are not in the plan: the profile has them only where it is found.

    Parameters
    ----------
    product
        Its name; ``lane java`` is one too.
    studies
        Which have cells of it.
    why
        In one line, why it is not here and how to get it.
    """

    product: str
    studies: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class _Stack:
    """What cells would run on: the versions, with the code of a stand-in or a harness, or why it is not there."""

    version: str
    missing: str | None = None
    stand_in: bool = False


def plan(
    slugs: Iterable[str] = (), profile: str = "quick", where: Sequence[str] = (), changes: Sequence[str] = ()
) -> list[Cell]:
    """Return the cells of a profile: block after block, in a block deployment after deployment, shuffled within.

    Parameters
    ----------
    slugs
        The studies; none: all five.
    profile
        The selection from their grids.
    where
        ``name=value,...``: only cells with one of the values.
    changes
        ``name=value,...``: the values of a parameter in place of the grid's, or the number of ``blocks``.

    Raises
    ------
    GridError
        When a grid, a name or a value is wrong, or the cells are more than `CELLS`.
    """
    chosen = [one for one in choose(slugs, profile, where, changes) if not _absent(one)]
    if (count := sum(blocks(one.grid, one.point) for one in chosen)) > CELLS:
        place = f"the grid of {', '.join(dict.fromkeys(one.grid.study for one in chosen))}"
        raise GridError(place, f"{count:,} cells in all blocks: at most {CELLS:,} are planned, so take fewer blocks")
    return _ordered(chosen)


def left_out(
    slugs: Iterable[str] = (), profile: str = "quick", where: Sequence[str] = (), changes: Sequence[str] = ()
) -> list[LeftOut]:
    """Return the products that `plan`, asked the same, leaves out because no server of theirs is here."""
    found: dict[str, list[Choice]] = {}
    for one in choose(slugs, profile, where, changes):
        if _absent(one):
            found.setdefault(_lacking(one), []).append(one)
    return [
        LeftOut(
            product,
            tuple(dict.fromkeys(one.grid.study for one in some)),
            (_stack(some[0].parameters, _place(some[0])).missing or "").partition("\n")[0],
        )
        for product, some in found.items()
    ]


def current(rows: Iterable[tuple[str, str, str]]) -> set[str]:
    """Return the identities that a run would give today, of (identity, study, parameters in JSON)."""
    found = set()
    for old, study, text in rows:
        try:
            parameters = studies.load(study).Parameters.model_validate(json.loads(text))
        except (ValueError, KeyError):
            continue  # the study has other parameters by now, or is gone: not a current result
        place = studies.load(study).deployment(parameters)
        with suppress(InputError):  # the records that it was given are gone: nothing would give that result today
            if identity(study, parameters, _stack(parameters, place).version) == old:
                found.add(old)
    return found


def _place(one: Choice) -> tuple[str, Topology]:
    """Return the deployment that a point needs."""
    found: tuple[str, Topology] = studies.load(one.grid.study).deployment(one.parameters)
    return found


def _lacking(one: Choice) -> str:
    """Return the product, or the lane, for lack of which a point is left out."""
    place = _place(one)
    return place[0] if _server(*place).missing else f"lane {getattr(one.parameters, 'lane', 'python')}"


def _absent(one: Choice) -> bool:
    return one.optional and _stack(one.parameters, _place(one)).missing is not None


def _ordered(chosen: list[Choice]) -> list[Cell]:
    written = {one.grid.study: results.states(one.grid.study) for one in chosen}
    cells: list[Cell] = []
    for block in range(max((blocks(one.grid, one.point) for one in chosen), default=0)):
        first = len(cells)
        visits: dict[tuple[str, Topology], list[Choice]] = {}
        for one in chosen:
            if block < blocks(one.grid, one.point):
                visits.setdefault(_place(one), []).append(one)
        order = random.Random(f"block {block}")
        for place in order.sample(sorted(visits), len(visits)):
            for one in order.sample(visits[place], len(visits[place])):
                cells.append(_cell(one, block, len(cells) - first, place, written[one.grid.study]))
    return cells


def _cell(
    one: Choice, block: int, position: int, place: tuple[str, Topology], written: dict[str, results.State]
) -> Cell:
    stack, study = _stack(one.parameters, place), one.grid.study
    key = identity(study, one.parameters, stack.version)
    missing = stack.missing or excluded(one.grid, one.point, stand_in=stack.stand_in)
    state: CellState = written.get(f"{key}.{block}", "todo")
    given = records(one.parameters)
    return Cell(study, one.parameters, key, block, position, *place, missing, state, stack.stand_in, given)


def _stack(parameters: BaseModel, place: tuple[str, Topology]) -> _Stack:
    """Return what a cell runs on beside Python: its server, and its lane's harness."""
    server = _server(*place)
    lane = getattr(parameters, "lane", "python")
    if lane == "python":
        return server
    found = lanes.find(lane)
    if isinstance(found, lanes.Missing):
        return replace(server, missing=server.missing or found.why)
    return replace(server, version=f"{server.version}, {found.version}")


@cache
def _server(product: str, topology: Topology) -> _Stack:
    """Return the server that would be used."""
    if product == "none":
        return _Stack("none")
    found = servers.find(product, topology)
    if isinstance(found, servers.Missing):
        return _Stack("missing", missing=found.why)
    return _Stack(server_version(found), stand_in=found.stand_in)
