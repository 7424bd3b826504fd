"""Cells of a plan, and which of their results are in the results' folder."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from benchbook.grid.cell_id import digest_records, hash_code, identify_cell
from benchbook.grid.expansion import choose_cells, select
from benchbook.grid.grid_file import load_grid
from benchbook.grid.platforms import find_platform, read_network
from benchbook.measure.machine import name_host
from benchbook.results.folder import list_files, list_states, locate_file
from benchbook.results.views import list_finished_files, list_origins
from benchbook.servers import networks
from benchbook.servers.deployment import Topology
from benchbook.studies.catalogue import SLUGS, load_study
from benchbook.studies.cell import CellParameters

Combination: TypeAlias = tuple[str, str]
"""A study and its parameters as JSON: a cell in any block, of any version of the code."""

DeploymentKey: TypeAlias = tuple[str, Topology, str]
"""Product, topology and network. Cells that share them run one after another on the same servers.

The product of a cell without servers is ``none``.
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
    # Why it does not run here: a server is missing, or the grid excludes it.
    missing: str | None
    # todo: it has no result yet.
    state: Literal["todo", "done", "failed", "skipped"]
    # Digest of the user's file of records, which is part of the identity.
    records: str | None = None

    @property
    def arm(self) -> str:
        """``a``, or ``b`` for the second measurement of an A/A check."""
        return self.parameters.arm

    @property
    def network(self) -> str:
        """The network that it needs, as `benchbook.servers.networks` reads it, or ``none``."""
        return read_network(self.parameters)

    @property
    def deployment(self) -> DeploymentKey:
        """What it runs on. A cell without servers makes its network itself."""
        network = networks.NO_NETWORK if self.product == "none" else self.network
        return self.product, self.topology, network

    @property
    def combination(self) -> Combination:
        """Its study and parameters: what its blocks share."""
        return combine(self.study, self.parameters)

    @property
    def key(self) -> str:
        """The name of its result: identity and block."""
        return f"{self.identity}.{self.block}"

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

    # A product, a network (``network lan-100m``), a language (``language java``), or a count.
    what: str
    studies: tuple[str, ...]
    why: str
    # The parameters of cells that do not take a user's records, or another setting.
    refused: tuple[CellParameters, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class OtherHostResult:
    """A result that another host measured of a cell of this host's plan."""

    host: str
    cell: Cell
    # Of the other host's result.
    key: str


@cache
def combine(study: str, parameters: CellParameters) -> Combination:
    """Return study and parameters as results store them."""
    return study, parameters.as_json()


def read_states(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells with the state that each has in the results' folder now."""
    cells = list(cells)
    states = {study: list_states(study) for study in {cell.study for cell in cells}}
    return [replace(cell, state=states[cell.study].get(cell.key, "todo")) for cell in cells]


def list_result_keys(cells: Iterable[Cell]) -> list[str]:
    """Return the keys of the results of a plan's cells, on this host and on others.

    Cells that the plan excludes are left out, although they may have run before.
    """
    own = [cell for cell in cells if not cell.missing]
    return [*(cell.key for cell in own), *(result.key for result in find_other_hosts(own))]


def find_other_hosts(cells: Iterable[Cell], own: str | None = None) -> list[OtherHostResult]:
    """Return results of the same cells, measured with the same code on other hosts.

    Parameters
    ----------
    cells
        The cells of a plan.
    own
        The host of the cells; None: this one.
    """
    planned = {(cell.combination, cell.block): cell for cell in cells}
    # Which results are of a planned combination and block, but have another identity?
    cell_of: dict[str, Cell] = {}
    for result in list_finished_files():
        combination = (result.facts.study, str(result.facts.parameters))
        cell = planned.get((combination, result.facts.block))
        if cell is not None and cell.key != result.key:
            cell_of[result.key] = cell
    # Which of them differ by the host alone?
    found = []
    for key, measured_on, code in list_origins(cell_of):
        cell = cell_of[key]
        is_other_host = measured_on != (own or name_host())
        if is_other_host and code == hash_code(cell.study, cell.parameters):
            found.append(OtherHostResult(measured_on, cell, key))
    return found


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
        try:
            parameters = load_study(study).Parameters.model_validate(json.loads(text))
            digest_records(parameters)
        except (ValueError, KeyError):
            # The study has other parameters now, or it or the user's file is gone.
            continue
        if identify_cell(study, parameters, find_platform(study, parameters).version) == old:
            identities.add(old)
    return identities
