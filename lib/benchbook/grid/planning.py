"""The cells of a profile in the order in which they are to be run, and what is known of each."""

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from benchbook import lanes, results, servers, studies
from benchbook.deployment import Topology
from benchbook.grid.errors import GridError, nearest
from benchbook.grid.expand import blocks, matches, points, twins, validated
from benchbook.grid.identities import identity
from benchbook.grid.parse import Grid, Point, read
from benchbook.grid.strict import Place, scalar

CellState = Literal["todo", "done", "failed", "skipped"]


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
        Why it cannot run here; None when it can.
    state
        ``todo`` when nothing is written of it.
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
        When a grid, a name or a value is wrong.
    """
    grids = [read(slug).profile(profile) for slug in dict.fromkeys(slugs) or studies.SLUGS]
    settings = [_setting(text, "--set", grids) for text in changes]
    conditions = [dict([_setting(text, "--where", grids)]) for text in where]
    grids = [_changed(grid, settings) for grid in grids]
    chosen = [(grid, point) for grid in grids for point in twins(grid, points(grid), strict=not changes)]
    for condition in conditions:
        chosen = _filtered(chosen, condition)
    return _ordered([(grid, validated(grid, point)) for grid, point in chosen])


def current(rows: Iterable[tuple[str, str, str]]) -> set[str]:
    """Return the identities that a run would give today, of (identity, study, parameters in JSON)."""
    found = set()
    for old, study, text in rows:
        try:
            parameters = studies.load(study).Parameters.model_validate(json.loads(text))
        except (ValueError, KeyError):
            continue  # the study has other parameters by now, or is gone: not a current result
        if identity(study, parameters, _stack(parameters, studies.load(study).deployment(parameters))[0]) == old:
            found.add(old)
    return found


def _ordered(chosen: list[tuple[Grid, BaseModel]]) -> list[Cell]:
    written = {grid.study: results.states(grid.study) for grid, _ in chosen}
    cells: list[Cell] = []
    for block in range(max(blocks(grid) for grid, _ in chosen)):
        first = len(cells)
        visits: dict[tuple[str, Topology], list[tuple[str, BaseModel]]] = {}
        for grid, parameters in chosen:
            if block < blocks(grid):
                place = studies.load(grid.study).deployment(parameters)
                visits.setdefault(place, []).append((grid.study, parameters))
        order = random.Random(f"block {block}")
        for place in order.sample(sorted(visits), len(visits)):
            for study, parameters in order.sample(visits[place], len(visits[place])):
                position = len(cells) - first
                cells.append(_cell(study, parameters, block, position, place, written[study]))
    return cells


def _cell(
    study: str,
    parameters: BaseModel,
    block: int,
    position: int,
    place: tuple[str, Topology],
    written: dict[str, results.State],
) -> Cell:
    version, missing = _stack(parameters, place)
    key = identity(study, parameters, version)
    state: CellState = written.get(f"{key}.{block}", "todo")
    return Cell(study, parameters, key, block, position, *place, missing, state)


def _stack(parameters: BaseModel, place: tuple[str, Topology]) -> tuple[str, str | None]:
    """Return the versions of what the cell runs on beside Python, its server and its lane, and why it cannot run."""
    server, absent = _server(*place)
    lane = getattr(parameters, "lane", "python")
    if lane == "python":
        return server, absent
    found = lanes.find(lane)
    if isinstance(found, lanes.Missing):
        return f"{server}, {lane} missing", absent or found.why
    return f"{server}, {found.version}", absent


@cache
def _server(product: str, topology: Topology) -> tuple[str, str | None]:
    """Return the version of the server that would be used, and why there is none."""
    if product == "none":
        return "none", None
    found = servers.find(product, topology)
    return ("missing", found.why) if isinstance(found, servers.Missing) else (found.version, None)


def _setting(text: str, option: str, grids: Sequence[Grid]) -> tuple[str, Place]:
    """Return the parameter and the values that an option names."""
    where = f"{option} {text}"
    name, equals, given = text.partition("=")
    names = {name for grid in grids for name in grid.model.model_fields} | ({"blocks"} if option == "--set" else set())
    if not equals or not given:
        raise GridError(where, f"write {option} NAME=VALUE or {option} NAME=VALUE,VALUE")
    if name not in names:
        raise GridError(where, f"no parameter {name!r}: {nearest(name, names)}")
    values: list[Place] = [scalar(value, where) for value in given.split(",")]
    return name, Place(values, where) if len(values) > 1 else values[0]


def _filtered(chosen: list[tuple[Grid, Point]], condition: Point) -> list[tuple[Grid, Point]]:
    """Return the points that are like that."""
    if found := [(grid, point) for grid, point in chosen if matches(point, condition)]:
        return found
    (name, place), *_ = condition.items()
    there = {str(point[name].plain()) for _, point in chosen if name in point}
    raise GridError(place.where, f"no cell is like that: of {name}, {nearest(str(place.plain()), there)}")


def _changed(grid: Grid, settings: Iterable[tuple[str, Place]]) -> Grid:
    for name, place in settings:
        if name == "blocks" or name in grid.model.model_fields:
            grid = grid.put(name, place)
    return grid
