"""The cells of a profile in the order in which they are to be run, and what is known of each."""

import json
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from benchbook import languages, networks, results, servers, studies
from benchbook.datasets import own_records
from benchbook.deployment import Topology
from benchbook.digits import plural
from benchbook.grid.expansion import Choice, choose, select
from benchbook.grid.grid_file import load
from benchbook.grid.identities import code_hash, identity, records, server_version
from benchbook.inputs import InputError
from benchbook.measure.machine import host
from benchbook.results.views import origins
from benchbook.schemas import UnfitError
from benchbook.studies.cell import CellParameters

if TYPE_CHECKING:
    # It imports what not all commands need.
    from benchbook.studies.cell_store import Check

Kind: TypeAlias = tuple[str, str]
"""A cell whatever its block and its code: its study, and its parameters as the results state them."""

Place: TypeAlias = tuple[str, Topology, str]
"""What cells share in a visit: a product (``none`` is one, too), a topology and a network."""

CELLS: Final = 50_000
"""Cells of the longest plan, over all blocks; the papers' have some thousands."""


@dataclass(frozen=True)
class Cell:
    """One cell in one block."""

    study: str
    parameters: CellParameters
    identity: str
    block: int
    position: int  # rank in the block's random order, from 0
    product: str  # of the server that it needs; ``none`` is one too
    topology: Topology
    missing: str | None  # why it does not run here: for want of a server, or because the grid excludes it
    state: Literal["todo", "done", "failed", "skipped"]  # todo: nothing is written of it
    records: str | None = None  # digest of the file of records that it was given, which is part of the identity

    @property
    def arm(self) -> str:
        """``a``, or ``b`` for the second of two identical arms."""
        return self.parameters.arm

    @property
    def place(self) -> Place:
        """Where it runs: a cell without servers makes its network by itself."""
        return self.product, self.topology, networks.NONE if self.product == "none" else self.network

    @property
    def network(self) -> str:
        """The network that it needs, as `benchbook.networks` reads it, or ``none``."""
        return _network(self.parameters)

    @property
    def kind(self) -> Kind:
        """What blocks, and other versions of the code, share."""
        return kind(self.study, self.parameters)

    @property
    def key(self) -> str:
        """The name of its result: identity and block."""
        return f"{self.identity}.{self.block}"

    @property
    def path(self) -> Path:
        """Where its values lie when it is done."""
        return results.path(self.study, self.identity, self.block)

    @property
    def notebook(self) -> Path:
        """Where its executed notebook is kept, and what it printed past that, with another suffix."""
        return self.path.parent / "notebooks" / f"{self.key}.ipynb"


@dataclass(frozen=True)
class LeftOut:
    """What a plan leaves out, and why.

    A product, a network (as ``network lan-100m``) or a language (as ``language java``) that the profile has only
    where it is found; or cells that records of one's own make no sense with.
    """

    product: str
    studies: tuple[str, ...]
    why: str
    refused: tuple[CellParameters, ...] = field(default=(), compare=False)  # those cells' parameters


@dataclass(frozen=True)
class Plan:
    """What a command was asked for: its cells in their order, and what is left out of them."""

    cells: list[Cell]
    skipped: list[LeftOut]


class NoneFitsError(InputError):
    """All cells refuse what was set for them."""

    def __init__(self, where: str, message: str, skipped: list[LeftOut]) -> None:
        super().__init__(where, message)
        self.skipped = skipped


@dataclass(frozen=True)
class _Stack:
    """What cells would run on: the versions, with the code of a harness, or why it is not there."""

    version: str
    missing: str | None = None


def plan(
    slugs: Iterable[str] = (), profile: str = "quick", where: Sequence[str] = (), changes: Sequence[str] = ()
) -> Plan:
    """Return the cells of a profile: block after block, in a block deployment after deployment, shuffled within.

    And what is left out: products that are not found here, cells that refuse a set file or language.

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
    choices = _chosen(slugs, profile, where, changes)
    absent: dict[str, list[Choice]] = {}
    refused: dict[str, list[Choice]] = {}
    wanted = []
    for choice in choices:
        if choice.refused:
            refused.setdefault(choice.refused, []).append(choice)
        elif _not_needed(choice):
            continue
        elif choice.product.if_available and _why_not(choice):
            absent.setdefault(_lacking(choice), []).append(choice)
        else:
            wanted.append(choice)
    skipped = []
    for lacking, of_product in absent.items():
        skipped.append(LeftOut(lacking, _studies(of_product), _why_not(of_product[0]).partition("\n")[0]))
    for why, of_reason in refused.items():
        what = f"{plural(len(of_reason), 'cell')} a block"
        skipped.append(LeftOut(what, _studies(of_reason), why, tuple(choice.parameters for choice in of_reason)))
    if refused and not (absent or wanted):
        raise NoneFitsError(choices[0].where, "; ".join(refused), skipped)
    if (count := sum(choice.blocks for choice in wanted)) > CELLS:
        studied = f"the grid of {', '.join(_studies(wanted))}"
        raise InputError(studied, f"{count:,} cells in all blocks: at most {CELLS:,} are planned, so take fewer blocks")
    return Plan(_ordered(wanted), skipped)


def in_their_states(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells, each in the state in which the results' folder has it now."""
    cells = list(cells)
    states = {study: results.states(study) for study in {cell.study for cell in cells}}
    return [replace(cell, state=states[cell.study].get(cell.key, "todo")) for cell in cells]


def keys(cells: Iterable[Cell]) -> list[str]:
    """Return which results a plan reads: not those of cells that it excludes by now, though they may have run.

    Beside this host's own those that other hosts measured of its cells, with this very code.
    """
    own = [cell for cell in cells if not cell.missing]
    return [*(cell.key for cell in own), *(result.key for result in elsewhere(own))]


@dataclass(frozen=True)
class Elsewhere:
    """What another host measured of a plan's cell."""

    host: str
    cell: Cell  # this host's
    key: str  # of that host's result


def elsewhere(cells: Iterable[Cell], own: str | None = None) -> list[Elsewhere]:
    """Return what other hosts than the cells' own (None: this one) have measured of them, with this very code."""
    asked = {(cell.kind, cell.block): cell for cell in cells}
    cell_of: dict[str, Cell] = {}
    for result in results.finished():
        cell = asked.get(((result.facts.study, str(result.facts.parameters)), result.facts.block))
        if cell is not None and cell.key != result.key:
            cell_of[result.key] = cell
    measured = []
    for key, measured_on, code in origins(cell_of):
        cell = cell_of[key]
        if measured_on != (own or host()) and code == code_hash(cell.study, cell.parameters):
            measured.append(Elsewhere(measured_on, cell, key))
    return measured


def _studies(choices: Iterable[Choice]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(choice.study for choice in choices))


def current(rows: Iterable[tuple[str, str, str]]) -> set[str]:
    """Return the identities that a run would give today, of (identity, study, parameters in JSON)."""
    identities = set()
    for old, study, text in rows:
        try:
            parameters = studies.load(study).Parameters.model_validate(json.loads(text))
            records(parameters)
        except (ValueError, KeyError):
            # The study has other parameters by now or is gone, or the records that it was given are.
            continue
        if identity(study, parameters, _stack(study, parameters).version) == old:
            identities.add(old)
    return identities


def finished(study: str | None = None) -> set[str]:
    """Return the identities of what finished here, of one study or of all, that a run would give today."""
    return current(_finished(study))


def _finished(study: str | None = None) -> list[tuple[str, str, str]]:
    """Return what finished here, whatever the blocks, as `current` takes it."""
    done = (result.facts for result in results.whole(study) if result.facts.state == "done")
    return list(dict.fromkeys((facts.cell_id, facts.study, str(facts.parameters)) for facts in done))


def levels(study: str, profile: str) -> dict[str, list[Any]]:
    """Return the levels of each parameter in a profile of a study, and of the number of blocks."""
    return select(load(study), profile).levels()


def own() -> set[str]:
    """Return the identities of what ran here with the code as it is and is in no profile: own levels, own records."""
    if not (rows := _finished()):
        return set()
    planned = set()
    for slug in studies.SLUGS:
        for profile in load(slug).profiles:
            planned |= {kind(slug, choice.parameters) for choice in choose([slug], profile, [], [])}
    of_papers = [row for row in rows if row[1] in studies.SLUGS]
    return current(row for row in of_papers if row[1:] not in planned)


def _chosen(slugs: Iterable[str], profile: str, where: Sequence[str], changes: Sequence[str]) -> list[Choice]:
    """Return the points that were asked for, those refused that could not take the records that they were given."""
    choices = [
        choice if choice.refused else replace(choice, refused=_unfit(choice))
        for choice in choose(slugs, profile, where, changes)
    ]
    # A plan keeps the refusals, not a file's records.
    own_records.forget_records()
    return choices


def _unfit(choice: Choice) -> str | None:
    """Return why a cell would not take its own records: of the first codec or store that refuses them."""
    study, parameters = studies.load(choice.study), choice.parameters
    if (sha256 := records(parameters)) is None or not hasattr(study, "checks"):
        return None
    file, n = str(parameters.dataset_file), getattr(parameters, "n", None)
    server = _server(*_deployment(choice.study, parameters))
    for check in study.checks(parameters):
        if why := _refusal(file, sha256, n, check, server):
            return why
    return None


@lru_cache(maxsize=4096)
def _refusal(file: str, sha256: str, n: int | None, check: "Check", server: _Stack) -> str | None:
    """Return why a check does not pass, with the file and, where it is about a record, its line."""
    own = own_records.planned(file)
    try:
        check.hold(own.schema, own_records.sample(own.records, n))
    except UnfitError as error:
        where = file if error.record is None else f"{file}:{own.line(error.record)}"
        return f"{where}: {error}"
    return None


def _lacking(choice: Choice) -> str:
    """Return what a point that is left out would need: its product, its network, or its language."""
    first, topology = _deployment(choice.study, choice.parameters)
    for product in (first, *_beside(choice.study, choice.parameters)):
        if _server(product, topology).missing:
            return product
    network = _network(choice.parameters)
    return f"network {network}" if networks.lacking(network) else f"language {choice.parameters.language}"


def _why_not(choice: Choice) -> str:
    """Return why a point cannot run here; empty when it can."""
    return _stack(choice.study, choice.parameters).missing or ""


def _not_needed(choice: Choice) -> bool:
    """Return whether it stands in for cells of a language or a network that can be had here."""
    name = choice.product.without
    if name in networks.NAMED:
        return networks.lacking(name) is None
    return bool(name) and not isinstance(languages.find(name), languages.Missing)


@cache
def kind(study: str, parameters: CellParameters) -> Kind:
    """Return study and parameters as the results state them."""
    return study, parameters.as_json()


def _ordered(choices: Iterable[Choice]) -> list[Cell]:
    """Return the cells block after block, in a block deployment after deployment, both in random order."""
    each = [(choice.blocks, _cell(choice)) for choice in choices]
    cells: list[Cell] = []
    for block in range(max((blocks for blocks, _ in each), default=0)):
        first = len(cells)
        visits: dict[Place, list[Cell]] = {}
        for blocks, cell in each:
            if block < blocks:
                visits.setdefault(cell.place, []).append(cell)
        order = random.Random(f"block {block}")
        for deployment in order.sample(sorted(visits), len(visits)):
            for cell in order.sample(visits[deployment], len(visits[deployment])):
                cells.append(replace(cell, block=block, position=len(cells) - first))
    return in_their_states(cells)


def _cell(choice: Choice) -> Cell:
    """Return a cell, before it has a place in a block."""
    study, parameters = choice.study, choice.parameters
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
        missing=stack.missing or choice.excluded,
        state="todo",
        records=records(parameters),
    )


def _deployment(study: str, parameters: CellParameters) -> tuple[str, Topology]:
    """Return the product and the topology that a cell needs."""
    place: tuple[str, Topology] = studies.load(study).deployment(parameters)
    return place


def _beside(study: str, parameters: CellParameters) -> Sequence[str]:
    """Return the products whose servers a cell starts itself, beside its deployment."""
    beside: Callable[[CellParameters], Sequence[str]] | None = getattr(studies.load(study), "beside", None)
    return beside(parameters) if beside else ()


def _network(parameters: CellParameters) -> str:
    return getattr(parameters, "network", networks.NONE)


def _stack(study: str, parameters: CellParameters) -> _Stack:
    """Return what a cell runs on beside Python: its server, and its language's harness."""
    product, topology = _deployment(study, parameters)
    server = _server(product, topology, _network(parameters))
    for other in _beside(study, parameters):
        second = _server(other, topology)
        server = _Stack(f"{server.version}, {second.version}", server.missing or second.missing)
    if parameters.language == "python":
        return server
    harness = languages.find(parameters.language)
    if isinstance(harness, languages.Missing):
        return replace(server, missing=server.missing or harness.why)
    return replace(server, version=f"{server.version}, {harness.version}")


@cache
def _server(product: str, topology: Topology, network: str = networks.NONE) -> _Stack:
    """Return the server that would be used, in that network."""
    if product == "none":
        return _Stack("none", missing=networks.lacking(network))
    server = servers.find(product, topology)
    if isinstance(server, servers.Missing):
        return _Stack("missing", missing=server.why)
    return _Stack(server_version(server), missing=servers.unplaceable(server, network))
