"""The cells of a profile in the order in which they are to be run, and what is known of each."""

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel

from benchbook import lanes, results, servers, studies
from benchbook.datasets import Dataset, own_records
from benchbook.deployment import Topology
from benchbook.grid.expand import Choice, choose
from benchbook.grid.identities import code_hash, identity, records, server_version
from benchbook.grid.read import load
from benchbook.inputs import InputError
from benchbook.measure.environment import host
from benchbook.results.merge import origins
from benchbook.schemas import UnfitError

if TYPE_CHECKING:
    from benchbook.studies.store import Check  # which imports what not all commands need

CELLS: Final = 50_000
"""Cells of the longest plan, over all blocks; the papers' have some thousands."""


@dataclass(frozen=True)
class Cell:
    """One cell in one block."""

    study: str
    parameters: BaseModel
    identity: str
    block: int
    position: int  # rank in the block's random order, from 0
    product: str  # of the server that it needs; ``none`` is one too
    topology: Topology
    missing: str | None  # why it does not run here: for want of a server, or because the grid excludes it
    state: Literal["todo", "done", "failed", "skipped"]  # todo: nothing is written of it
    stand_in: bool = False  # its server only stands in for the product
    records: str | None = None  # digest of the file of records that it was given, which is part of the identity

    @property
    def arm(self) -> str:
        """``a``, or ``b`` for the second of two identical arms."""
        return str(getattr(self.parameters, "arm", "a"))

    @property
    def kind(self) -> tuple[str, str]:
        """Study and parameters, as the results state them: what blocks, and other versions of the code, share."""
        return kind(self.study, self.parameters)

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
    """What a plan leaves out, and why.

    A product, or a lane as ``lane java``, that the profile has only where it is found; or cells that records of one's
    own make no sense with.
    """

    product: str
    studies: tuple[str, ...]
    why: str
    refused: tuple[BaseModel, ...] = field(default=(), compare=False)  # those cells' parameters


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
    InputError
        When a grid, a name or a value is wrong, no cell takes the records that it was given, or the cells are more
        than `CELLS`.
    """
    every = _chosen(slugs, profile, where, changes)
    if every and all(one.refused for one in every):
        reasons = dict.fromkeys(one.refused for one in every if one.refused)
        raise InputError(every[0].point["dataset_file"].where, "; ".join(reasons))
    chosen = [one for one in every if not _left_out(one)]
    if (count := sum(one.blocks for one in chosen)) > CELLS:
        studied = f"the grid of {', '.join(dict.fromkeys(one.grid.study for one in chosen))}"
        raise InputError(studied, f"{count:,} cells in all blocks: at most {CELLS:,} are planned, so take fewer blocks")
    return _ordered(chosen)


def keys(cells: Iterable[Cell]) -> list[str]:
    """Return which results a plan reads: not those of cells that it excludes by now, though they may have run.

    Beside this host's own those that other hosts measured of its cells, with this very code.
    """
    own = [cell for cell in cells if not cell.missing]
    return [*(cell.key for cell in own), *(one.key for one in elsewhere(own))]


@dataclass(frozen=True)
class Elsewhere:
    """What another host measured of a plan's cell."""

    host: str
    cell: Cell  # this host's
    key: str  # of that host's result


def elsewhere(cells: Iterable[Cell], own: str | None = None) -> list[Elsewhere]:
    """Return what other hosts than the cells' own (None: this one) have measured of them, with this very code."""
    asked = {(cell.kind, cell.block): cell for cell in cells}
    found: dict[str, Cell] = {}
    for one in results.finished():
        cell = asked.get(((one.facts.study, str(one.facts.parameters)), one.facts.block))
        if cell is not None and cell.key != one.key:
            found[one.key] = cell
    return [
        Elsewhere(measured_on, found[key], key)
        for key, measured_on, code_ in origins(found)
        if measured_on != (own or host()) and code_ == code_hash(found[key].study, found[key].parameters)
    ]


def left_out(
    slugs: Iterable[str] = (), profile: str = "quick", where: Sequence[str] = (), changes: Sequence[str] = ()
) -> list[LeftOut]:
    """Return what `plan`, asked the same, leaves out: products not found here, cells that refuse a set file or lane."""
    found: dict[str, list[Choice]] = {}
    refused: dict[str, list[Choice]] = {}
    for one in _chosen(slugs, profile, where, changes):
        if one.refused:
            refused.setdefault(one.refused, []).append(one)
        elif _left_out(one):
            product, topology = _deployment(one.grid.study, one.parameters)
            lacking = product if _server(product, topology).missing else f"lane {_lane(one.parameters)}"
            found.setdefault(lacking, []).append(one)
    return [
        LeftOut(
            lacking,
            tuple(dict.fromkeys(one.grid.study for one in some)),
            (_stack(some[0].grid.study, some[0].parameters).missing or "").partition("\n")[0],
        )
        for lacking, some in found.items()
    ] + [
        LeftOut(
            f"{len(some)} cell{'' if len(some) == 1 else 's'} a block",
            tuple(dict.fromkeys(one.grid.study for one in some)),
            why,
            tuple(one.parameters for one in some),
        )
        for why, some in refused.items()
    ]


def current(rows: Iterable[tuple[str, str, str]]) -> set[str]:
    """Return the identities that a run would give today, of (identity, study, parameters in JSON)."""
    found = set()
    for old, study, text in rows:
        try:
            parameters = studies.load(study).Parameters.model_validate(json.loads(text))
            records(parameters)
        except (ValueError, KeyError):
            continue  # the study has other parameters by now or is gone, or the records that it was given are
        if identity(study, parameters, _stack(study, parameters).version) == old:
            found.add(old)
    return found


def hidden(slugs: Iterable[str], profile: str) -> dict[str, dict[str, list[str]]]:
    """Return by study and parameter the levels of its grid that a profile does not have, because it has its own."""
    return {slug: found for slug in slugs if (found := _hidden(slug, profile))}


def _hidden(slug: str, profile: str) -> dict[str, list[str]]:
    whole, mine = (_levels(choose([slug], name, [], [])) for name in ("paper", profile))
    lacking = {name: [level for level in levels if level not in mine.get(name, ())] for name, levels in whole.items()}
    return {name: levels for name, levels in lacking.items() if levels}


def _levels(chosen: Iterable[Choice]) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for one in chosen:
        for name, level in one.parameters.model_dump(mode="json").items():
            if name not in ("repetitions", "seed", "arm"):
                found.setdefault(name, {})[str(level)] = None
    return {name: list(levels) for name, levels in found.items()}


def own() -> set[str]:
    """Return the identities of what ran here with the code as it is and is in no profile: own levels, own records."""
    done = [one.facts for one in results.folder.whole() if one.facts.state == "done"]
    if not done:
        return set()
    profiles = [(slug, name) for slug in studies.SLUGS for name in load(slug).profiles]
    planned = {(slug, _stated(one.parameters)) for slug, name in profiles for one in choose([slug], name, [], [])}
    rows = [(one.cell_id, one.study, str(one.parameters)) for one in done]
    return current(row for row in rows if row[1] in studies.SLUGS and row[1:] not in planned)


def _chosen(slugs: Iterable[str], profile: str, where: Sequence[str], changes: Sequence[str]) -> list[Choice]:
    """Return the points that were asked for, those refused that could not take the records that they were given."""
    found = [
        one if one.refused else replace(one, refused=_unfit(one)) for one in choose(slugs, profile, where, changes)
    ]
    _whole.cache_clear()  # a plan keeps what was found, not a file's records
    return found


def _unfit(one: Choice) -> str | None:
    """Return why a cell would not take its own records: of the first codec or store that refuses them."""
    study, parameters = studies.load(one.grid.study), one.parameters
    if (sha256 := records(parameters)) is None or not hasattr(study, "checks"):
        return None
    file, n = str(getattr(parameters, "dataset_file", "")), getattr(parameters, "n", None)
    server = _server(*_deployment(one.grid.study, parameters))
    return next((why for check in study.checks(parameters) if (why := _held(file, sha256, n, check, server))), None)


@lru_cache(maxsize=4096)
def _held(file: str, sha256: str, n: int | None, check: "Check", server: _Stack) -> str | None:
    """Return why a check does not pass, with the file and, where it is about a record, its line."""
    data = own_records.sample(_whole(file, sha256), n)
    try:
        check.hold(data.schema, data.records)
    except UnfitError as error:
        where = file if error.record is None else f"{file}:{own_records.line(file, error.record)}"
        return f"{where}: {error}"
    return None


@lru_cache(maxsize=1)
def _whole(file: str, sha256: str) -> Dataset:
    return own_records.read(file, sha256=sha256)


def _left_out(one: Choice) -> bool:
    return one.refused is not None or (one.optional and _stack(one.grid.study, one.parameters).missing is not None)


def kind(study: str, parameters: BaseModel) -> tuple[str, str]:
    """Return study and parameters as the results state them."""
    return study, _stated(parameters)


@cache
def _stated(parameters: BaseModel) -> str:
    return json.dumps(parameters.model_dump(mode="json"), sort_keys=True)


def _ordered(chosen: list[Choice]) -> list[Cell]:
    written = {study: results.states(study) for study in {one.grid.study for one in chosen}}
    each = [(one.blocks, _cell(one)) for one in chosen]
    cells: list[Cell] = []
    for block in range(max((blocks for blocks, _ in each), default=0)):
        first = len(cells)
        visits: dict[tuple[str, Topology], list[Cell]] = {}
        for blocks, cell in each:
            if block < blocks:
                visits.setdefault((cell.product, cell.topology), []).append(cell)
        order = random.Random(f"block {block}")
        for deployment in order.sample(sorted(visits), len(visits)):
            for cell in order.sample(visits[deployment], len(visits[deployment])):
                known: results.State | None = written[cell.study].get(f"{cell.identity}.{block}")
                cells.append(replace(cell, block=block, position=len(cells) - first, state=known or "todo"))
    return cells


def _cell(one: Choice) -> Cell:
    """Return a cell, before it has a place in a block."""
    study, parameters = one.grid.study, one.parameters
    stack = _stack(study, parameters)
    product, topology = _deployment(study, parameters)
    return Cell(
        study,
        parameters,
        identity(study, parameters, stack.version),
        0,
        0,
        product,
        topology,
        missing=stack.missing or one.excluded(stand_in=stack.stand_in),
        state="todo",
        stand_in=stack.stand_in,
        records=records(parameters),
    )


def _deployment(study: str, parameters: BaseModel) -> tuple[str, Topology]:
    """Return the product and the topology that a cell needs."""
    found: tuple[str, Topology] = studies.load(study).deployment(parameters)
    return found


def _lane(parameters: BaseModel) -> str:
    return str(getattr(parameters, "lane", "python"))


def _stack(study: str, parameters: BaseModel) -> _Stack:
    """Return what a cell runs on beside Python: its server, and its lane's harness."""
    server = _server(*_deployment(study, parameters))
    if (lane := _lane(parameters)) == "python":
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
