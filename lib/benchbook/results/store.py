"""A cell's file in the results' folder: its name says whether it is done, and its contents are held against it."""

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np
import pyarrow as pa
from pyarrow.json import ParseOptions, ReadOptions, read_json

from benchbook import atomic, paths
from benchbook.results import files, folder
from benchbook.results.files import typed, write_table
from benchbook.results.schema import CELLS, OBSERVATIONS

if TYPE_CHECKING:
    import pandas as pd

State = Literal["done", "failed", "skipped"]
STATES: Final[tuple[State, ...]] = get_args(State)

_WORD: Final = re.compile(r"[0-9A-Za-z_-]+")
"""What can name a cell's file, and the folder of its study."""

_NAME: Final = r"(?:[\w.+@~%-]|\\u[0-9a-f]{4})+"
_PATH: Final = re.compile(
    r"(?:(?<=file://)|(?<![\w./~<)…]))(?!/(?:proc|sys|dev)/)"  # what the kernel tells is the same on every machine
    rf"(?:(?<=')/[^':,;\n]*/(?=[^':,;/\n]+')|/(?:{_NAME}/)+(?={_NAME}))"  # as Python quotes them names may have spaces
)
"""The folders in an absolute path, in a text or in JSON."""


def path(study: str, identity: str, block: int, state: State = "done") -> Path:
    """Return where a cell's file lies when it is in that state."""
    suffix = "" if state == "done" else f".{state}"
    return paths.results() / study / f"{identity}.{block}{suffix}.parquet"


def states(study: str) -> dict[str, State]:
    """Return the state of each of a study's written cells, by ``identity.block``: of what is damaged, none."""
    written = folder.whole(study)
    found: dict[str, State] = {}
    for state in reversed(STATES):  # done outlives what an interrupted `write` left beside
        found |= {file.key: state for file in written if file.facts.state == state}
    return found


def without_paths(text: str) -> str:
    """Return a text, which may be JSON, with the last name alone of each path that it names on this or any machine."""
    return _PATH.sub("…/", text)


def write(cell: Mapping[str, Any], values: "pd.DataFrame | pa.Table | None" = None) -> Path:
    """Write a cell's file under the name of its state, then remove those of its earlier states.

    Parameters
    ----------
    cell
        Columns of `CELLS`; at least ``study, cell_id, block, state``. Its reason and environment are written without
        paths.
    values
        What the study delivered. Where it states a column of `CELLS` itself, that stands; None for a cell without
        values, which becomes one row that says why.

    Returns
    -------
    Path
        The file.
    """
    texts = [name for name in ("reason", "environment") if cell.get(name) is not None]
    table = joined({**cell, **{name: without_paths(str(cell[name])) for name in texts}}, values)
    return _put_table(files.facts(table), table)


def take_in(table: pa.Table) -> tuple[int, int]:
    """Write the cells of observations that were measured before or elsewhere; those that are here already stay.

    Parameters
    ----------
    table
        Rows as in `OBSERVATIONS`, of any number of cells.

    Returns
    -------
    tuple of int
        How many cells were written, and how many were here already.

    Raises
    ------
    ValueError
        When the table has other columns, or a row that names no cell; nothing was written then.
    """
    cells = list(_cells(_as_observations(table)))
    known = {study: states(study) for study in {held.study for held, _ in cells}}
    new = 0
    for held, rows in cells:
        state = known[held.study].get(f"{held.cell_id}.{held.block}")
        if state is None or (state != "done" and held.state == "done"):
            _put_table(held, rows)
            new += 1
    return new, len(cells) - new


def keep(name: str, content: bytes) -> None:
    """Write a file of a results' folder elsewhere under the same name here: a cell's, or what was kept of a notebook.

    Raises
    ------
    ValueError
        When it is a cell's and does not hold one.
    benchbook.results.DamagedError
        When it is, and not whole.
    """
    target = paths.results() / name
    if target.suffix == ".parquet":
        _hold_name(held := files.held(BytesIO(content)), name)
        _put(held, lambda path: atomic.write(path, content, durable=True))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _put(held: files.Facts, write: Callable[[Path], object]) -> Path:
    """Have a cell's file written, then remove those of its other states."""
    place: dict[str, Path] = {state: path(held.study, held.cell_id, held.block, state) for state in STATES}
    target = place.pop(held.state)
    write(target)
    if stale := [other for other in place.values() if other.exists()]:
        for other in stale:
            other.unlink()
        atomic.flush_folder(target.parent)
    return target


def _put_table(held: files.Facts, table: pa.Table) -> Path:
    return _put(held, lambda path: write_table(path, table, held))


def _as_observations(table: pa.Table) -> pa.Table:
    """Return the table in the form of `OBSERVATIONS`."""
    names = {*table.column_names}
    if unknown := sorted(names - {*OBSERVATIONS.names}):
        raise ValueError(f"it has a column {unknown[0]!r}, which observations have not")
    if lacking := [name for name in OBSERVATIONS.names if name not in names]:
        raise ValueError(f"it has no column {lacking[0]!r}")
    return table.select(OBSERVATIONS.names).cast(OBSERVATIONS)


def _cells(table: pa.Table) -> Iterator[tuple[files.Facts, pa.Table]]:
    """Yield each cell's rows with what they say of it."""
    table = table.sort_by([(name, "ascending") for name in files.KEYS])  # stable: a cell's rows keep their order
    keys = table.select(files.KEYS).to_pandas()
    begins = np.flatnonzero((keys != keys.shift()).any(axis=1))
    for begin, end in itertools.pairwise([*begins, len(table)]):
        rows = table.slice(begin, end - begin)
        held = files.facts(rows)
        _hold_name(held, f"row {begin}, sorted by cell,")
        yield held, rows


def _hold_name(held: files.Facts, where: str) -> None:
    """Raise `ValueError` when what a file says of itself cannot be its name."""
    words = _WORD.fullmatch(str(held.study)) and _WORD.fullmatch(str(held.cell_id))
    if not words or held.block is None or held.block < 0 or held.state not in STATES:
        raise ValueError(f"{where} is of no cell: {held.study} {held.cell_id}.{held.block}, {held.state}")


def joined(cell: Mapping[str, Any], values: "pd.DataFrame | pa.Table | None" = None) -> pa.Table:
    """Return the values with their cell's columns, in the form of `OBSERVATIONS`."""
    known = _row(cell, OBSERVATIONS if values is None else CELLS)
    if values is None:
        return known
    # Only now: it is slow to import, and who only reads states writes nothing.
    import pyarrow.compute as pc

    own = values if isinstance(values, pa.Table) else typed(values, OBSERVATIONS)
    columns = {one.name: pa.nulls(len(own), one.type) for one in OBSERVATIONS}
    columns |= {name: own[name] for name in own.column_names}
    for name in CELLS.names:
        value = known[name][0]
        whose = name in files.KEYS  # no study says whose the file is
        columns[name] = pa.repeat(value, len(own)) if whose else pc.coalesce(columns[name], value)
    return pa.table(columns).cast(OBSERVATIONS)


def _row(cell: Mapping[str, Any], schema: pa.Schema) -> pa.Table:
    """Return the cell as one row, by way of JSON: Arrow takes Python's values only with pandas, slow to import."""
    if unknown := sorted({*cell} - {*schema.names}):
        raise ValueError(f"the results have no column {', '.join(unknown)}")
    line = json.dumps(dict(cell), default=datetime.isoformat, allow_nan=False).encode()
    read = ReadOptions(use_threads=False, block_size=len(line) + 1)
    return read_json(BytesIO(line), read, ParseOptions(explicit_schema=schema))
