"""Import: cells that were measured before or elsewhere come into the results' folder."""

import dataclasses
import hashlib
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbook.results import files
from benchbook.results.additions import change_texts
from benchbook.results.files import CellFacts
from benchbook.results.folder import (
    WITH_PATHS,
    ResultFile,
    ResultsFolder,
    check_name,
    shorten_paths,
    verify_files,
)
from benchbook.results.schema import OBSERVATIONS, VALUES, merge_schemas
from benchbook.text.number_format import format_count


class OtherValuesError(Exception):
    """Measurements are already present with other values; the message names the first."""


class ImportedCells(NamedTuple):
    """How many cells an import wrote, how many were present, and how many got another block."""

    new: int
    present: int
    moved: int


def import_cells(
    results: ResultsFolder,
    table: pa.Table,
    state_parameters: Callable[[Mapping[str, object]], str],
    host: str | None = None,
) -> ImportedCells:
    """Write the cells of observations that were measured before or elsewhere.

    Where another measurement of a cell has the number of its block, as by a second machine of the
    same name, the cell gets the next free number.

    Parameters
    ----------
    results
        Where they are written.
    table
        Observations; cells that are already present stay. Paths in their reasons and environments
        are shortened.
    state_parameters
        Returns a cell's parameters in JSON from its first row.
    host
        The name of the host that the cells are given; None: their own.

    Raises
    ------
    ValueError
        When a column of `OBSERVATIONS` is missing, or a row has no cell.
    OtherValuesError
        When a measurement is present with other values; then nothing is written.
    """
    table = cast_observations(table)
    if host is not None:
        table = _rename_host(table, host)
    for name in WITH_PATHS:
        column = change_texts(table[name], shorten_paths)
        table = table.set_column(table.column_names.index(name), name, column)
    cells = list(_split_cells(table, state_parameters))
    new = _select_new_cells(results, cells)
    for facts, rows in new:
        results.replace_table(facts, rows)
    blocks = {(facts.study, facts.cell_id, facts.block) for facts, _ in cells}
    moved = [facts for facts, _ in new if (facts.study, facts.cell_id, facts.block) not in blocks]
    return ImportedCells(len(new), len(cells) - len(new), len(moved))


def cast_observations(table: pa.Table) -> pa.Table:
    """Return observations in the columns and types of results.

    Raises `ValueError` when a column of `OBSERVATIONS` is missing.
    """
    missing = [name for name in OBSERVATIONS.names if name not in table.column_names]
    if missing:
        raise ValueError(f"it has no column {missing[0]!r}")
    schema = merge_schemas([table.schema])
    return table.select(schema.names).cast(schema)


def _select_new_cells(
    results: ResultsFolder,
    cells: Collection[tuple[CellFacts, pa.Table]],
) -> list[tuple[CellFacts, pa.Table]]:
    """Return the cells that are not present, or did not finish here, each with a free block.

    Raises
    ------
    OtherValuesError
        When measurements are present with other values.
    """
    known = _list_known_cells(results, {facts.study for facts, _ in cells})
    taken = {key: {*files} for key, files in known.items()}
    for facts, _ in cells:
        taken.setdefault((facts.study, facts.cell_id), set()).add(facts.block)

    new, other = [], []
    for facts, rows in cells:
        of_cell = known.get((facts.study, facts.cell_id), {})
        present = of_cell.get(facts.block)
        same = _find_measurement(facts, of_cell.values())
        if same is not None:
            # A finished cell stays, unless its file is damaged or has fewer operations.
            if not verify_files([same]):
                new.append((facts, rows))
                continue
            here = files.read_table(same.path)
            if not _have_equal_values(here, rows):
                other.append((facts, rows))
            elif len(rows) > len(here):
                new.append((facts, rows))
        elif present is None or (present.facts.state != "done" and facts.state == "done"):
            new.append((facts, rows))
        elif present.facts.state == facts.state == "done":
            blocks = taken[facts.study, facts.cell_id]
            free = next(number for number in itertools.count(facts.block) if number not in blocks)
            blocks.add(free)
            place = rows.column_names.index("block")
            column = pa.array([free] * len(rows), rows.field(place).type)
            renumbered = rows.set_column(place, "block", column)
            new.append((dataclasses.replace(facts, block=free), renumbered))
    if other:
        facts, rows = other[0]
        cell = f"{facts.study} {facts.cell_id}.{facts.block} of {rows['host'][0].as_py()!r}"
        count = f"{format_count(len(other), 'cell')} {'is' if len(other) == 1 else 'are'}"
        raise OtherValuesError(
            f"{count} already present with other values of the same measurement, first {cell}: "
            "one of them was changed; add --as NAME to have both"
        )
    return new


def _list_known_cells(
    results: ResultsFolder, studies: Iterable[str]
) -> dict[tuple[str, str], dict[int, ResultFile]]:
    """Return the files that are not damaged by study and identity, then by block."""
    known: dict[tuple[str, str], dict[int, ResultFile]] = {}
    for study in studies:
        states = results.list_states(study)
        for file in results.list_files(study):
            # An interrupted `write_cell` may leave an earlier state.
            if file.facts.state == states[file.key]:
                known.setdefault((study, file.facts.cell_id), {})[file.facts.block] = file
    return known


def _find_measurement(facts: CellFacts, present: Iterable[ResultFile]) -> ResultFile | None:
    """Return the file of the same measurement: of a finished cell that began at the same time."""
    if facts.state != "done":
        return None
    for file in present:
        same_time = file.facts.state == "done" and file.facts.started_at == facts.started_at
        # Without a time, cells of one block are the same.
        if same_time and (facts.started_at is not None or file.facts.block == facts.block):
            return file
    return None


def _rename_host(table: pa.Table, host: str) -> pa.Table:
    """Return cells as those of another host, whose name is part of their identities."""
    identity_of: dict[str | None, str | None] = {None: None}
    for cell_id in table["cell_id"].unique().drop_null().to_pylist():
        # As many digits as `benchbook.grid.cell_id` gives an identity.
        identity_of[cell_id] = hashlib.sha256(f"{cell_id} {host}".encode()).hexdigest()[:20]
    identities = [identity_of[cell_id] for cell_id in table["cell_id"].to_pylist()]
    hosts = [host] * len(table)
    for name, column in (("cell_id", identities), ("host", hosts)):
        table = table.set_column(
            table.column_names.index(name), name, pa.array(column, pa.string())
        )
    return table


def _have_equal_values(here: pa.Table, given: pa.Table) -> bool:
    """Return whether two tables of one cell have the same values, in any order.

    A reference run has only the operations that count: one table may have some of the other's.
    """
    operations = [{*table["operation"].to_pylist()} for table in (here, given)]
    fewer, more = sorted(operations, key=len)
    if not fewer <= more:
        return False
    order = [(name, "ascending") for name in VALUES.names]
    shared = pa.array(fewer, pa.string())
    here, given = (
        table.select(VALUES.names).filter(pc.is_in(table["operation"], shared)).sort_by(order)
        for table in (here, given)
    )
    # Two NaN are equal to pandas, not to Arrow.
    return bool(here.equals(given) or here.to_pandas().equals(given.to_pandas()))


def _split_cells(
    table: pa.Table, state_parameters: Callable[[Mapping[str, object]], str]
) -> Iterator[tuple[CellFacts, pa.Table]]:
    """Yield the facts and the rows of each cell, without columns of other studies' parameters."""
    # Stable: a cell's rows keep their order. Exports are sorted, and large to copy.
    order = pc.sort_indices(table, [(name, "ascending") for name in files.CELL_KEYS])
    if not np.array_equal(order, np.arange(len(table))):
        table = table.take(order)
    keys = table.select(files.CELL_KEYS).to_pandas()
    begins = np.flatnonzero((keys != keys.shift()).any(axis=1))
    for begin, end in itertools.pairwise([*begins, len(table)]):
        rows = table.slice(begin, end - begin)
        foreign = [
            name
            for name in rows.column_names
            if name not in OBSERVATIONS.names and not rows[name][0].is_valid
        ]
        rows = rows.drop_columns(foreign)
        facts = files.collect_facts(rows, state_parameters(rows.slice(0, 1).to_pylist()[0]))
        check_name(facts, f"row {begin}, sorted by cell,")
        yield facts, rows
