"""A plan: the cells of a profile in the order of their run, and those that are skipped."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from benchbook.files.inputs import InputError
from benchbook.grid.cell_id import digest_records
from benchbook.grid.cells import (
    Cell,
    DeploymentKey,
    SkippedCells,
    build_cell,
    find_platform,
    is_available,
    name_missing,
    read_states,
)
from benchbook.grid.expansion import ChosenCell, Options, choose_cells, write_options
from benchbook.own_data import own_records
from benchbook.schema import UnfitError
from benchbook.studies.catalogue import load_study
from benchbook.studies.study import RecordCheck
from benchbook.text.number_format import format_count

MAX_CELLS: Final = 50_000
"""Of a plan, over all blocks; the papers' have some thousands."""


@dataclass(frozen=True)
class Plan:
    """The cells that a command was asked for, in their order, and those that are skipped."""

    cells: list[Cell]
    skipped: list[SkippedCells]
    options: tuple[tuple[str, ...], ...] = ()
    """The words by which `benchbook run` plans these cells of a study."""


class NoneFitsError(InputError):
    """All cells refuse what was set for them."""

    def __init__(self, where: str, message: str, skipped: list[SkippedCells]) -> None:
        super().__init__(where, message)
        self.skipped = skipped


def make_plan(
    slugs: Iterable[str] = (),
    profile: str = "quick",
    where: Options = (),
    changes: Options = (),
    *,
    everywhere: bool = False,
) -> Plan:
    """Return the cells of a profile, block after block, and those that are skipped.

    Within a block, deployments and the cells of each are in random order. Cells are skipped where
    a product is not found here, or where they refuse a file or a language that was set.

    Parameters
    ----------
    slugs
        The studies; none: all five.
    profile
        The selection from their grids.
    where
        Only cells with one of the levels, as ``name=value,...`` or by name.
    changes
        The levels of a parameter in place of the grid's, or the number of ``blocks``; likewise.
    everywhere
        Plan the cells of all products, whether they are found here or not: for what other machines
        measured.

    Raises
    ------
    InputError
        When a grid, a name or a value is wrong, no cell takes the user's records, or there are
        more than `MAX_CELLS` cells.
    """
    # Cells that do not take the user's records say why.
    asked = choose_cells(slugs, profile, where, changes)
    chosen = [replace(cell, refused=cell.refused or _find_refusal(cell)) for cell in asked]
    planned, skipped = _sort_out(chosen, everywhere=everywhere)
    if skipped and not planned and all(group.refused for group in skipped):
        reasons = "; ".join(group.why for group in skipped)
        raise NoneFitsError(chosen[0].where, reasons, skipped)
    count = sum(cell.blocks for cell in planned)
    if count > MAX_CELLS:
        raise InputError(
            f"the grid of {', '.join(_list_studies(planned))}",
            f"{count:,} cells in all blocks: at most {MAX_CELLS:,} are planned, "
            "so take fewer blocks",
        )
    options = [("--profile", profile)] if profile != "quick" else []
    options += [("--set", text) for text in write_options(changes)]
    options += [("--where", text) for text in write_options(where)]
    return Plan(_order_cells(planned, everywhere=everywhere), skipped, tuple(options))


def _sort_out(
    chosen: Iterable[ChosenCell], *, everywhere: bool
) -> tuple[list[ChosenCell], list[SkippedCells]]:
    """Return the cells to plan, and those that refuse a setting or miss something here."""
    # Which cells refuse a setting, and which miss something here?
    refused: dict[str, list[ChosenCell]] = {}
    absent: dict[str, list[ChosenCell]] = {}
    planned = []
    for cell in chosen:
        fallback_for = cell.product.without
        if cell.refused:
            refused.setdefault(cell.refused, []).append(cell)
        elif fallback_for and (everywhere or is_available(fallback_for)):
            continue
        elif everywhere:
            planned.append(cell)
        elif cell.product.if_available and find_platform(cell.study, cell.parameters).missing:
            absent.setdefault(name_missing(cell.study, cell.parameters), []).append(cell)
        else:
            planned.append(cell)

    skipped = []
    # One group per missing part, and one per reason.
    for what, cells in absent.items():
        missing = find_platform(cells[0].study, cells[0].parameters).missing or ""
        skipped.append(SkippedCells(what, _list_studies(cells), missing.partition("\n")[0]))
    for why, cells in refused.items():
        what = f"{format_count(len(cells), 'cell')} per block"
        parameters = tuple(cell.parameters for cell in cells)
        skipped.append(SkippedCells(what, _list_studies(cells), why, parameters))
    return planned, skipped


def _list_studies(cells: Iterable[ChosenCell]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cell.study for cell in cells))


def _find_refusal(cell: ChosenCell) -> str | None:
    """Return why the first codec or study that refuses the user's records does so.

    Databases are not asked: a cell writes the records once before it measures.
    """
    study, parameters = load_study(cell.study), cell.parameters
    sha256 = digest_records(parameters)
    if sha256 is None:
        return None
    for check in study.checks(parameters):
        count = parameters.record_count
        refusal = _check_records(str(parameters.dataset_file), sha256, count, check)
        if refusal:
            return refusal
    return None


# The answer depends on the file's content: it is an argument, so that a cached answer is not given
# for another file of that name.
@lru_cache(maxsize=4096)
def _check_records(file: str, sha256: str, count: int | None, check: RecordCheck) -> str | None:
    """Return why a check refuses a file's records, with the file and the line of the record."""
    own = own_records.read_file(file, count)
    try:
        check.check_records(own.schema, own_records.sample_records(own.records, count))
    except UnfitError as error:
        place = file if error.record is None else f"{file}:{own.find_line(error.record)}"
        return f"{place}: {error}"
    return None


def _order_cells(chosen: Iterable[ChosenCell], *, everywhere: bool) -> list[Cell]:
    """Return the cells block after block. Deployments, and cells in each, are in random order."""
    each = [(cell.blocks, _make_cell(cell, everywhere=everywhere)) for cell in chosen]
    cells: list[Cell] = []
    for block in range(max((blocks for blocks, _ in each), default=0)):
        of_deployment: dict[DeploymentKey, list[Cell]] = {}
        for blocks, cell in each:
            if block < blocks:
                of_deployment.setdefault(cell.deployment, []).append(cell)
        # The seed makes the order the same whenever the plan is made again.
        order = random.Random(f"block {block}")
        first = len(cells)
        for deployment in order.sample(sorted(of_deployment), len(of_deployment)):
            same = of_deployment[deployment]
            for cell in order.sample(same, len(same)):
                cells.append(replace(cell, block=block, position=len(cells) - first))
    return read_states(cells)


def _make_cell(chosen: ChosenCell, *, everywhere: bool) -> Cell:
    """Return a cell before it has a block and a position."""
    cell = build_cell(chosen.study, chosen.parameters)
    missing = None if everywhere else cell.missing
    return replace(cell, missing=missing or chosen.excluded, blocks_per_day=chosen.blocks_per_day)
