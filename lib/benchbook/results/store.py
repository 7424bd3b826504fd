"""A cell's file in the results' folder: its name says whether it is done, and its contents are held against it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, get_args

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from benchbook import paths
from benchbook.results import files, folder
from benchbook.results.files import flush_folder, typed, write_table
from benchbook.results.schema import CELLS, OBSERVATIONS

State = Literal["done", "failed", "skipped"]
STATES: Final[tuple[State, ...]] = get_args(State)


def path(study: str, identity: str, block: int, state: State = "done") -> Path:
    """Return where a cell's file lies when it is in that state."""
    suffix = "" if state == "done" else f".{state}"
    return paths.results() / study / f"{identity}.{block}{suffix}.parquet"


def states(study: str) -> dict[str, State]:
    """Return the state of each of a study's written cells, by ``identity.block``: of what is damaged, none."""
    found = {state: {one.key: state for one in folder.whole(study) if one.facts.state == state} for state in STATES}
    return found["skipped"] | found["failed"] | found["done"]  # done outlives what an interrupted `write` left beside


def write(cell: Mapping[str, Any], values: pd.DataFrame | pa.Table | None = None) -> Path:
    """Write a cell's file under the name of its state, then remove those of its earlier states.

    Parameters
    ----------
    cell
        Columns of `CELLS`; at least ``study, cell_id, block, state``.
    values
        What the study delivered. Where it states a column of `CELLS` itself, that stands; None for a cell without
        values, which becomes one row that says why.

    Returns
    -------
    Path
        The file.
    """
    place = {state: path(cell["study"], cell["cell_id"], cell["block"], state) for state in STATES}
    table = joined(cell, values)
    write_table(place[cell["state"]], table, files.facts(table))
    for state in STATES:
        if state != cell["state"]:
            place[state].unlink(missing_ok=True)
    flush_folder(place["done"].parent)
    return place[cell["state"]]


def joined(cell: Mapping[str, Any], values: pd.DataFrame | pa.Table | None = None) -> pa.Table:
    """Return the values with their cell's columns, in the form of `OBSERVATIONS`."""
    if values is None:
        return typed(pd.DataFrame([dict(cell)]), OBSERVATIONS)
    table = values if isinstance(values, pa.Table) else typed(values, OBSERVATIONS)
    row = typed(pd.DataFrame([dict(cell)]), CELLS)
    for name in CELLS.names:
        if name in files.KEYS:  # whose the file is, no study says
            table = _with(table, name, pa.repeat(row[name][0], len(table)))
            continue
        own = table[name] if name in table.column_names else pa.nulls(len(table), CELLS.field(name).type)
        table = _with(table, name, pc.coalesce(own, row[name][0]))
    return table.select(OBSERVATIONS.names).cast(OBSERVATIONS)


def _with(table: pa.Table, name: str, column: Any) -> pa.Table:
    index = table.schema.get_field_index(name)
    return table.append_column(name, column) if index < 0 else table.set_column(index, name, column)
