"""Cells of a plan: what each runs on, and which of their results are in the results' folder."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from benchbook.grid.cell_id import (
    digest_records,
    digest_versions,
    identify_cell,
    write_server_version,
)
from benchbook.grid.expansion import choose_cells, select
from benchbook.grid.grid_file import load_grid
from benchbook.grid.pooling import list_counted_versions
from benchbook.measure.machine import digest_machine_id, name_host
from benchbook.results.additions import find_former_code
from benchbook.results.folder import Operations, list_files, list_refusals, list_states, locate_file
from benchbook.results.views import list_finished_files, list_origins
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
    identity: str
    block: int
    # Rank in the block's random order, from 0.
    position: int
    # Of the server that it needs; ``none`` is one, too.
    product: str
    topology: Topology
    # Why it does not run here: a server is missing or refuses the records, or the grid excludes it.
    missing: str | None
    # todo: it has no result yet.
    state: Literal["todo", "done", "failed", "skipped"]
    # The identities of its results of earlier versions that count, each with what counts of them.
    earlier: tuple[tuple[str, Operations], ...] = ()
    # Digest of the user's records, which is part of the identity.
    records: str | None = None
    # The most on a machine-day of a run until claims are decided; None: as its duration allows.
    blocks_per_day: int | None = None

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
        return locate_file(self.study, self.identity, self.block)

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
    states = {study: list_states(study) for study in studies}
    refusals = {study: list_refusals(study) for study in studies}
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
    for result in list_finished_files():
        combination = (result.facts.study, str(result.facts.parameters))
        if result.facts.study in SLUGS and (combination, result.facts.block) not in known:
            beyond.setdefault(combination, set()).add(result.facts.block)

    cells = []
    for (study, text), blocks in beyond.items():
        parameters = read_parameters(study, text)
        if parameters is None or parameters.dataset_file:
            continue
        cell = replace(build_cell(study, parameters), missing=None)
        cells += [replace(cell, block=block) for block in sorted(blocks)]
    return list_result_keys([*planned, *cells], own)


def count_beyond(planned: Iterable[Cell], judged: Mapping[str, Operations]) -> int:
    """Return how many finished results of `list_judged_results` are not of the plan."""
    of_plan = list_finished_files(list_result_keys(planned))
    return len(list_finished_files(judged)) - len(of_plan)


def read_parameters(study: str, text: str) -> CellParameters | None:
    """Return a cell's parameters from JSON; None if its study has others now."""
    try:
        model = load_study(study).Parameters
        # A later parameter is not in the text at the level at which it was not there.
        return model.model_validate({**model.added, **json.loads(text)})
    except (ValueError, KeyError):
        return None


def build_cell(study: str, parameters: CellParameters) -> Cell:
    """Return a cell before it has a block and a position."""
    platform = find_platform(study, parameters)
    product, topology = load_study(study).deployment(parameters)
    return Cell(
        study,
        parameters,
        identity=identify_cell(study, parameters, platform.version),
        block=0,
        position=0,
        product=product,
        topology=topology,
        missing=platform.missing,
        state="todo",
        records=digest_records(parameters),
        earlier=list_earlier_identities(study, parameters, platform.version),
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
    for result in list_finished_files():
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
        is_own = origin.host == own and origin.machine in (None, digest_machine_id())
        if is_own:
            continue
        cell = cell_of[origin.key]
        if cell.combination not in versions_of:
            counted = list_counted_versions(cell.study, cell.parameters)
            versions_of[cell.combination] = counted
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


def list_finished_ids(study: str | None = None) -> set[str]:
    """Return the identities of finished cells that a run would give today."""
    return _keep_current(_list_finished(study))


def list_user_ids() -> set[str]:
    """Return the identities of finished cells with a user's own levels or records."""
    finished = _list_finished()
    if not finished:
        return set()
    # Every combination of every profile of the papers' studies.
    planned = set()
    for slug in SLUGS:
        for profile in load_grid(slug).profiles:
            for cell in choose_cells([slug], profile, [], []):
                planned.add(combine(slug, cell.parameters))
    others = [row for row in finished if row[1] in SLUGS and row[1:] not in planned]
    return _keep_current(others)


def list_current_refusals(study: str) -> list[str]:
    """Return why servers refuse a user's records, each reason once; of cells of today's code."""
    refusals = list_refusals(study)
    rows = []
    for result in list_files(study):
        facts = result.facts
        if facts.cell_id in refusals:
            rows.append((facts.cell_id, facts.study, str(facts.parameters)))
    return sorted({refusals[identity] for identity in _keep_current(rows)})


def list_levels(study: str, profile: str) -> dict[str, list[Any]]:
    """Return the levels of each parameter in a profile of a study, and of the number of blocks."""
    return select(load_grid(study), profile).levels()


def _list_finished(study: str | None = None) -> list[tuple[str, str, str]]:
    """Return identity, study and parameters in JSON of the cells that finished here, each once."""
    rows: dict[tuple[str, str, str], None] = {}
    for result in list_files(study):
        facts = result.facts
        if facts.state == "done":
            rows[facts.cell_id, facts.study, str(facts.parameters)] = None
    return list(rows)


def _keep_current(rows: Iterable[tuple[str, str, str]]) -> set[str]:
    """Return the identities that a run would give today, by identity, study and parameters."""
    identities = set()
    for old, study, text in rows:
        parameters = read_parameters(study, text)
        if parameters is None:
            continue
        try:
            digest_records(parameters)
        except (ValueError, KeyError):
            # The user's file is gone.
            continue
        server = find_platform(study, parameters).version
        earlier = list_earlier_identities(study, parameters, server)
        if identify_cell(study, parameters, server) == old or (old, None) in earlier:
            identities.add(old)
    return identities


@dataclass(frozen=True)
class Platform:
    """The versions of servers and language, or why they are missing here."""

    version: str
    missing: str | None = None


def find_platform(study: str, parameters: CellParameters) -> Platform:
    """Return the servers of a cell, and its language's harness."""
    product, topology = load_study(study).deployment(parameters)
    network, commit = parameters.network_name, parameters.commit_time
    platform = find_server(product, topology, network, commit)
    for other in load_study(study).other_products(parameters):
        second = find_server(other, topology)
        missing = platform.missing or second.missing
        platform = Platform(f"{platform.version}, {second.version}", missing)
    if parameters.language == "python":
        return platform
    found = harness.find_harness(parameters.language)
    if isinstance(found, harness.MissingHarness):
        return replace(platform, missing=platform.missing or found.why)
    return replace(platform, version=f"{platform.version}, {found.version}")


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
        return Platform("none", missing=shortage or networks.find_network_fault(network))
    server = launcher.find_server(product, topology)
    if isinstance(server, MissingServer):
        return Platform("missing", missing=server.why)
    fault = shortage or launcher.find_placement_fault(server, network)
    fault = fault or launcher.find_commit_fault(server, commit)
    return Platform(write_server_version(server), fault)


def name_missing(study: str, parameters: CellParameters) -> str:
    """Return the missing product, network, commit or language of a cell."""
    first, topology = load_study(study).deployment(parameters)
    for product in (first, *load_study(study).other_products(parameters)):
        if find_server(product, topology).missing:
            return product
    network = parameters.network_name
    if find_server(first, topology, network).missing:
        return f"network {network}"
    commit = parameters.commit_time
    if find_server(first, topology, network, commit).missing:
        return f"commit {commit}"
    return f"language {parameters.language}"


def is_available(name: str) -> bool:
    """Return whether a network or a language can be used here."""
    if name in networks.NAMED_NETWORKS:
        return networks.find_network_fault(name) is None
    return not isinstance(harness.find_harness(name), harness.MissingHarness)
