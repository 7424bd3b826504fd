"""Cells of a plan: what each runs on, and which of their results are in the results' folder."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from benchbook.grid.cell_id import (
    digest_records,
    digest_versions,
    identify_cell,
    write_server_version,
)
from benchbook.grid.pooling import list_counted_versions
from benchbook.measure.machine import digest_machine_id, name_host
from benchbook.results.additions import find_former_code
from benchbook.results.folder import Operations, open_results
from benchbook.results.views import list_origins
from benchbook.servers import launcher, networks
from benchbook.servers.deployment import Topology, list_roles
from benchbook.servers.programs import MissingServer
from benchbook.studies import harness
from benchbook.studies.catalogue import SLUGS, load_study
from benchbook.studies.cell import CellParameters

Combination: TypeAlias = tuple[str, str]
"""A study and its parameters as JSON: a cell in any block, of any version of the code."""

DeploymentKey: TypeAlias = tuple[str, Topology, str, str]
"""Product, topology, network and commit.

Cells that share them run one after another on the same servers. The product of a cell without
servers is ``none``.
"""


@dataclass(frozen=True)
class Cell:
    """One cell in one block."""

    study: str
    parameters: CellParameters
    identity: str = ""
    block: int = 0
    # Rank in the block's random order, from 0.
    position: int = 0
    # Why it does not run here: a server is missing or refuses the records, or the grid excludes it.
    missing: str | None = None
    # todo: it has no result yet.
    state: Literal["todo", "done", "failed", "skipped"] = "todo"
    # The identities of its results of earlier versions that count, each with what counts of them.
    earlier: tuple[tuple[str, Operations], ...] = ()
    # Digest of the user's records, which is part of the identity.
    records: str | None = None
    # The number of its blocks in the plan.
    blocks: int = 1
    # The most on a machine-day of a run until claims are decided; None: as its duration allows.
    blocks_per_day: int | None = None
    # The file and line, or the option, that gave it its levels last.
    where: str = ""
    # Run where its server, network and language are found.
    if_available: bool = False
    # Run where this language or network is not found.
    without: str = ""
    # Why a plan skips it: it does not take the user's records, or a language that was set.
    refused: str | None = None

    @property
    def product(self) -> str:
        """The product whose servers it needs; ``none`` is one, too."""
        return load_study(self.study).deployment(self.parameters)[0]

    @property
    def topology(self) -> Topology:
        """The topology of these servers."""
        return load_study(self.study).deployment(self.parameters)[1]

    @property
    def arm(self) -> str:
        """``a``, or ``b`` for the second measurement of an A/A check."""
        return self.parameters.arm

    @property
    def network(self) -> str:
        """The network that it needs, as `benchbook.servers.networks` reads it, or ``none``."""
        return self.parameters.network_name

    @property
    def deployment(self) -> DeploymentKey:
        """What it runs on. A cell without servers makes its network itself."""
        network = networks.NO_NETWORK if self.product == "none" else self.network
        return self.product, self.topology, network, self.parameters.commit_time

    @property
    def state_here(self) -> str:
        """Its state; what cannot run here, and has no result, is skipped."""
        return "skipped" if self.missing and self.state == "todo" else self.state

    @property
    def combination(self) -> Combination:
        """Its study and parameters: what its blocks share."""
        return combine(self.study, self.parameters)

    @property
    def key(self) -> str:
        """The name of its result: identity and block."""
        return f"{self.identity}.{self.block}"

    @property
    def earlier_keys(self) -> list[str]:
        """The names of results of earlier versions that count whole, whether they exist or not."""
        whole = [identity for identity, operations in self.earlier if operations is None]
        return [f"{identity}.{self.block}" for identity in whole]

    @property
    def path(self) -> Path:
        """The file of its values once it is done."""
        return open_results().locate_file(self.study, self.identity, self.block)

    @property
    def notebook(self) -> Path:
        """The file of its executed notebook."""
        return self.path.parent / "notebooks" / f"{self.key}.ipynb"


@dataclass(frozen=True)
class SkippedCells:
    """Cells that a plan leaves out, and why."""

    # A product, a network (``network lan-100m``), ``commit later``, a language (``language java``),
    # or a count.
    what: str
    studies: tuple[str, ...]
    why: str
    # The parameters of cells that do not take a user's records, or another setting.
    refused: tuple[CellParameters, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class CountedResult:
    """A result of a planned cell that an earlier version or another host measured."""

    host: str
    cell: Cell
    # Of the result: its own identity, and its block.
    key: str
    # Those that count.
    operations: Operations
    # Whether an earlier version measured it.
    is_earlier: bool


@cache
def combine(study: str, parameters: CellParameters) -> Combination:
    """Return study and parameters as results store them."""
    return study, parameters.as_json()


def read_states(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells with the state that each has in the results' folder now.

    A cell is done, too, when a result of an earlier version counts whole. All blocks of a cell
    whose servers refused a user's records have the reason.
    """
    cells = list(cells)
    studies = {cell.study for cell in cells}
    states = {study: open_results().list_states(study) for study in studies}
    refusals = {study: open_results().list_refusals(study) for study in studies}
    read = []
    for cell in cells:
        state_of = states[cell.study]
        cell = replace(cell, state=state_of.get(cell.key, "todo"))
        if any(state_of.get(key) == "done" for key in cell.earlier_keys):
            cell = replace(cell, state="done")
        refusal = refusals[cell.study].get(cell.identity)
        if refusal and not cell.missing and cell.state != "done":
            cell = replace(cell, missing=refusal)
        read.append(cell)
    return read


def list_result_keys(cells: Iterable[Cell], own: str | None = None) -> dict[str, Operations]:
    """Return the keys of the results that count for a plan's cells, with what counts of each.

    Cells that the plan excludes are left out, although they may have run before. The parameters are
    those of `find_counted_results`.
    """
    runnable = [cell for cell in cells if not cell.missing]
    keys: dict[str, Operations] = dict.fromkeys(cell.key for cell in runnable)
    return keys | {result.key: result.operations for result in find_counted_results(runnable, own)}


def list_judged_results(planned: Iterable[Cell], own: str | None = None) -> dict[str, Operations]:
    """Return the keys of all finished results that claims read, with what counts of each.

    These are the results of a plan, and those beyond it: of other profiles, levels and blocks, of
    this host and of others. Cells with a user's records are in no claim. The parameters are those
    of `find_counted_results`.
    """
    planned = [cell for cell in planned if not cell.missing]
    known = {(cell.combination, cell.block) for cell in planned}
    beyond: dict[Combination, set[int]] = {}
    for result in open_results().list_finished_files():
        combination = (result.facts.study, str(result.facts.parameters))
        if result.facts.study in SLUGS and (combination, result.facts.block) not in known:
            beyond.setdefault(combination, set()).add(result.facts.block)

    cells = []
    for (study, text), blocks in beyond.items():
        parameters = read_parameters(study, text)
        if parameters is None or parameters.dataset_file:
            continue
        cell = add_identity(Cell(study, parameters), everywhere=True)
        cells += [replace(cell, block=block) for block in sorted(blocks)]
    return list_result_keys([*planned, *cells], own)


def count_beyond(planned: Iterable[Cell], judged: Mapping[str, Operations]) -> int:
    """Return how many finished results of `list_judged_results` are not of the plan."""
    of_plan = open_results().list_finished_files(list_result_keys(planned))
    return len(open_results().list_finished_files(judged)) - len(of_plan)


def read_parameters(study: str, text: str) -> CellParameters | None:
    """Return a cell's parameters from JSON; None if its study has others now."""
    try:
        model = load_study(study).Parameters
        # A later parameter is not in the text at the level at which it was not there.
        return model.model_validate({**model.added, **json.loads(text)})
    except (ValueError, KeyError):
        return None


def add_identity(cell: Cell, *, everywhere: bool) -> Cell:
    """Return a cell with its identity and, unless it is for everywhere, what is missing here."""
    platform = find_platform(cell.study, cell.parameters)
    missing = None if everywhere else platform.missing
    return replace(
        cell,
        identity=identify_cell(cell.study, cell.parameters, platform.version),
        missing=missing or cell.missing,
        records=digest_records(cell.parameters),
        earlier=list_earlier_identities(cell.study, cell.parameters, platform.version),
    )


def find_counted_results(cells: Iterable[Cell], own: str | None = None) -> list[CountedResult]:
    """Return the results of the same cells that count, of earlier versions and of other hosts.

    They have the same levels, and the same versions as today's or pooled ones. On the cells' own
    host the versions of libraries and servers are the same, too.

    Parameters
    ----------
    cells
        The cells of a plan.
    own
        The host of the cells, or an empty text: all results are of other hosts; None: this one.
    """
    planned: dict[tuple[Combination, int], Cell] = {}
    earlier: dict[str, tuple[Cell, Operations]] = {}
    for cell in cells:
        planned[cell.combination, cell.block] = cell
        for identity, operations in cell.earlier:
            earlier[f"{identity}.{cell.block}"] = cell, operations

    # Those of this host, by their identity. Which others are of a planned combination and block?
    own = name_host() if own is None else own
    found = []
    cell_of: dict[str, Cell] = {}
    for result in open_results().list_finished_files():
        if result.key in earlier:
            cell, operations = earlier[result.key]
            found.append(CountedResult(own, cell, result.key, operations, is_earlier=True))
            continue
        combination = (result.facts.study, str(result.facts.parameters))
        same = planned.get((combination, result.facts.block))
        if same is not None and same.key != result.key:
            cell_of[result.key] = same

    # Those of other hosts, by their versions.
    versions_of = {}
    for origin in list_origins(cell_of):
        if origin.host == own and origin.machine in (None, digest_machine_id()):
            continue
        cell = cell_of[origin.key]
        if cell.combination not in versions_of:
            versions_of[cell.combination] = list_counted_versions(cell.study, cell.parameters)
        for number, (versions, operations) in enumerate(versions_of[cell.combination]):
            if origin.versions == versions:
                is_earlier = number > 0
                found.append(CountedResult(origin.host, cell, origin.key, operations, is_earlier))
    return found


def list_earlier_identities(
    study: str, parameters: CellParameters, server: str
) -> tuple[tuple[str, Operations], ...]:
    """Return the identities by which earlier versions measured a cell, with what counts of each.

    The parameters are those of `benchbook.grid.cell_id.identify_cell`.
    """
    earlier = []
    for number, (versions, operations) in enumerate(list_counted_versions(study, parameters)):
        codes = [find_former_code(versions)]
        # The first are today's, of which the cell has the identity.
        if number > 0:
            codes.append(digest_versions(versions))
        identities = [identify_cell(study, parameters, server, code) for code in codes if code]
        earlier += [(identity, operations) for identity in identities]
    return tuple(earlier)


@dataclass(frozen=True)
class Platform:
    """The versions of servers and language, or why they are missing here."""

    version: str
    missing: str | None = None
    # What is missing: a product, a network (``network lan-100m``), ``commit later``, a language.
    part: str = ""


def find_platform(study: str, parameters: CellParameters) -> Platform:
    """Return the servers of a cell, and its language's harness."""
    product, topology = load_study(study).deployment(parameters)
    first = find_server(product, topology, parameters.network_name, parameters.commit_time)
    others = load_study(study).other_products(parameters)
    servers = [first, *(find_server(other, topology) for other in others)]
    versions = [server.version for server in servers]
    absent = [server for server in servers if server.missing]
    if parameters.language != "python":
        found = harness.find_harness(parameters.language)
        if isinstance(found, harness.MissingHarness):
            absent.append(Platform("", found.why, f"language {parameters.language}"))
        else:
            versions.append(found.version)
    version = ", ".join(versions)
    return replace(absent[0], version=version) if absent else Platform(version)


@cache
def find_server(
    product: str,
    topology: Topology,
    network: str = networks.NO_NETWORK,
    commit: str = "each",
) -> Platform:
    """Return the server that would be used, in that network, with its commits now or later."""
    # A cell without a database starts a server of its own in a network.
    servers = 1 if product == "none" else len(list_roles(topology))
    shortage = networks.find_shortage(network, 1 + servers)
    if product == "none":
        fault = shortage or networks.find_network_fault(network)
        return Platform("none", fault, f"network {network}")
    server = launcher.find_server(product, topology)
    if isinstance(server, MissingServer):
        return Platform("missing", server.why, product)
    version = write_server_version(server)
    fault = shortage or launcher.find_placement_fault(server, network)
    if fault:
        return Platform(version, fault, f"network {network}")
    return Platform(version, launcher.find_commit_fault(server, commit), f"commit {commit}")


def is_available(name: str) -> bool:
    """Return whether a network or a language can be used here."""
    if name in networks.NAMED_NETWORKS:
        return networks.find_network_fault(name) is None
    return not isinstance(harness.find_harness(name), harness.MissingHarness)
