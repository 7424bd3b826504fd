"""One Parquet file of a cell and block, written atomically and verified before it is used.

Begin with `write_table` and `read_table`.

Each page of a file has Parquet's own checksum, which is verified when its values are read. Headers
and footer have none: a flipped bit there makes the file unreadable, or changes columns, rows or the
facts of the cell. Columns and rows are compared, and the facts have a digest.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from errno import EMFILE, ENFILE, ENOMEM
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from benchbook.files import inputs, suite_files
from benchbook.files.parquet import TooLargeError, check_size
from benchbook.results.additions import (
    add_later_levels,
    complete_columns,
    convert_columns,
    is_former,
    match_columns,
    read_former_levels,
)
from benchbook.results.schema import OBSERVATIONS, merge_schemas

if TYPE_CHECKING:
    import pandas as pd

CellState = Literal["done", "failed", "skipped"]
STATES: Final[tuple[CellState, ...]] = get_args(CellState)

CELL_KEYS: Final = ("study", "cell_id", "block", "state")
"""Columns with one value per file."""

_FACTS: Final = "benchbook.cell"
_FACTS_DIGEST: Final = "benchbook.cell.sha256"
"""The keys of a file's facts in its footer, and of their digest (not in files up to 0.3.0)."""

_BUSY: Final = (EMFILE, ENFILE, ENOMEM)
"""Errors of the system, not of the file."""

_COUNTED: Final = ("repetition", "started_at")
"""Columns whose values differ little from the one before, so that differences are written."""


class DamagedError(Exception):
    """A file is not as it was written; the message says why."""


class FormerError(DamagedError):
    """A file is of an earlier version; `convert_file` gives it today's columns."""


@dataclass(frozen=True)
class CellFacts:
    """The cell of a file, as its footer states it.

    `parameters` are in JSON. Times are in seconds since 1970, or None if it did not run. `columns`
    are those of its parameters, each with the name of its type.
    """

    study: str
    cell_id: str
    block: int
    state: CellState
    parameters: str | None = None
    started_at: float | None = None
    ended_at: float | None = None
    columns: tuple[tuple[str, str], ...] = ()

    @property
    def took_s(self) -> float:
        """How long the cell ran, in seconds; NaN when it did not."""
        if self.started_at is None or self.ended_at is None:
            return nan
        return self.ended_at - self.started_at


def collect_facts(table: pa.Table, parameters: str | None = None) -> CellFacts:
    """Return the facts of a cell from the first row of its table and its parameters in JSON."""
    first = table.slice(0, 1)
    (words,) = first.select(CELL_KEYS).to_pylist()
    # In numbers: Arrow makes times of Python's only with pandas, which is slow to import.
    at_us = [
        first[name].cast(pa.int64())[0].as_py() for name in ("cell_started_at", "cell_ended_at")
    ]
    started, ended = (None if at is None else at / 1e6 for at in at_us)
    added = [field for field in table.schema if field.name not in OBSERVATIONS.names]
    columns = tuple((field.name, str(field.type)) for field in added)
    return CellFacts(
        **words, parameters=parameters, started_at=started, ended_at=ended, columns=columns
    )


def infer_schema(frame: "pd.DataFrame") -> pa.Schema:
    """Return the schema of a frame of values, in which all further columns are parameters."""
    # Only now: it is slow to import.
    from pandas.api.types import infer_dtype

    kinds = {"boolean": pa.bool_(), "integer": pa.int64(), "floating": pa.float64()}
    added = [
        pa.field(name, kinds.get(infer_dtype(frame[name], skipna=True), pa.string()))
        for name in sorted({*frame.columns} - {*OBSERVATIONS.names})
    ]
    return merge_schemas([pa.schema(added)])


def build_inferred_table(frame: "pd.DataFrame") -> pa.Table:
    """Return values as an Arrow table, without empty columns of parameters."""
    empty = [name for name in frame if name not in OBSERVATIONS.names and frame[name].isna().all()]
    frame = frame.drop(columns=empty)
    return build_table(frame, infer_schema(frame))


def build_table(frame: "pd.DataFrame", schema: pa.Schema) -> pa.Table:
    """Return a frame as an Arrow table with the columns of the schema; missing ones are null.

    Raises
    ------
    ValueError
        When the frame has another column, or a value of another type.
    """
    unknown = sorted(set(frame.columns) - set(schema.names))
    if unknown:
        raise ValueError(f"the results have no column {', '.join(unknown)}")
    # The frame's own columns, then a null column for each that it does not have.
    wanted = pa.schema([field for field in schema if field.name in frame.columns])
    try:
        table = pa.Table.from_pandas(frame[wanted.names], schema=wanted, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(
            f"a value is not of its column's type: {'; '.join(map(str, error.args))}"
        ) from error
    columns = [
        table[field.name] if field.name in frame.columns else pa.nulls(len(frame), field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def write_table(path: Path, table: pa.Table, about: CellFacts | None = None) -> None:
    """Write a Parquet file atomically and flush it to the disk; its footer has a cell's facts."""
    texts = [name for name in table.column_names if name not in {"value", *_COUNTED}]
    counted = {name: "DELTA_BINARY_PACKED" for name in _COUNTED if name in table.column_names}
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        suite_files.replace_file(path, durable=True) as file,
        pq.ParquetWriter(
            file,
            table.schema,
            use_dictionary=texts,
            column_encoding=counted,
            write_page_checksum=True,
            # In a file of one cell statistics are of no use, and no checksum covers them. They are
            # a third of its bytes, Arrow's copy of the schema is a sixth.
            write_statistics=False,
            store_schema=False,
        ) as writer,
    ):
        writer.write_table(table)
        if about:
            facts = json.dumps(asdict(about))
            writer.add_key_value_metadata({_FACTS: facts, _FACTS_DIGEST: _digest(facts.encode())})


def _digest(facts: bytes) -> str:
    return hashlib.sha256(facts).hexdigest()[:16]


def read_facts(path: Path) -> CellFacts:
    """Return the facts of a file from its footer, without reading its values.

    Raises
    ------
    DamagedError
        When it is not a result, or not a regular file.
    FileNotFoundError
        When there is none.
    """
    with _open(path) as file, _explain_damage(), pq.ParquetFile(file) as parquet:
        return _read_facts(parquet)


def verify_file(path: Path) -> CellFacts:
    """Return the facts of a file after verifying all checksums; raises as `read_facts`."""
    with _open(path) as file, _explain_damage():
        return verify_content(file.read())


def verify_content(content: bytes) -> CellFacts:
    """Return the facts of a file's content after verifying it, or raise `DamagedError`."""
    source = pa.BufferReader(content)
    with _explain_damage(), pq.ParquetFile(source, page_checksum_verification=True) as parquet:
        # Without a table of the values, which takes twice as long.
        if parquet.scan_contents() != parquet.metadata.num_rows:
            raise DamagedError("its columns have other numbers of rows than were written")
        return _read_facts(parquet)


def _read_facts(parquet: pq.ParquetFile) -> CellFacts:
    schema = parquet.schema_arrow
    if is_former(schema):
        raise FormerError("it is of an earlier version of benchbook")
    # The facts in the footer, which the columns must agree with: no checksum covers either.
    footer = parquet.metadata.metadata or {}
    stated = footer.get(_FACTS.encode())
    if stated is None or not parquet.metadata.num_rows:
        raise DamagedError("it does not state its cell, or has no rows")
    digest = footer.get(_FACTS_DIGEST.encode())
    if digest is not None and digest != _digest(stated).encode():
        raise DamagedError("its footer is not as it was written")
    known = json.loads(stated)
    known["columns"] = tuple((name, kind) for name, kind in known["columns"])
    facts = CellFacts(**{field.name: known[field.name] for field in fields(CellFacts)})
    if match_columns(schema, _merge_facts([facts])):
        return facts
    if has_result_columns(schema):
        raise DamagedError("its columns are not those that were written")
    raise DamagedError("it is of another version of benchbook, whose results have other columns")


def convert_file(path: Path) -> None:
    """Rewrite a file of an earlier version with today's columns; raises as `read_table`."""
    with _open(path) as file, _explain_damage(), pq.ParquetFile(file) as parquet:
        stated = json.loads((parquet.metadata.metadata or {})[_FACTS.encode()])
    levels = read_former_levels(stated["parameters"])
    table = read_table(path)
    write_table(path, table, collect_facts(table, json.dumps(levels, sort_keys=True)))


def merge_file_schemas(cells: Iterable[CellFacts]) -> pa.Schema:
    """Return the schema that the files of some cells have together, with all later columns."""
    cells = [*cells]
    return add_later_levels(_merge_facts(cells), {facts.study for facts in cells})


def _merge_facts(cells: Iterable[CellFacts]) -> pa.Schema:
    schemas = [[pa.field(name, _KINDS[kind]) for name, kind in facts.columns] for facts in cells]
    return merge_schemas(map(pa.schema, schemas))


_KINDS: Final = {str(kind): kind for kind in (pa.bool_(), pa.int64(), pa.float64(), pa.string())}


def has_result_columns(schema: pa.Schema) -> bool:
    """Return whether all columns are those of results, with their types, or of parameters.

    They may be the columns of an earlier version.
    """
    return match_columns(schema, merge_schemas([schema]))


def read_delivered(path: Path) -> pa.Table:
    """Return the rows that a cell's process wrote for the runner; raises as `read_table`."""
    table = _read_stored(path)
    if not has_result_columns(table.schema):
        raise DamagedError("its columns are not those of results")
    return table


def check_file(path: Path) -> None:
    """Verify all checksums of a file without keeping its values; raises as `read_table`."""
    with (
        _open(path) as file,
        _explain_damage(),
        pq.ParquetFile(file, page_checksum_verification=True) as parquet,
    ):
        parquet.scan_contents()


def read_table(path: Path, rows: int | None = None, size: int | None = None) -> pa.Table:
    """Return the verified table of a file: of a cell, an export, or the reference run.

    Parameters
    ----------
    path
        Of the file.
    rows, size
        Limits on the rows and on the bytes of values; None: no limit.

    Raises
    ------
    DamagedError
        When it cannot be read or is too large.
    FileNotFoundError
        When there is none.
    """
    stored = _read_stored(path, rows, size)
    with _explain_damage():
        return complete_columns(convert_columns(stored))


def _read_stored(path: Path, rows: int | None = None, size: int | None = None) -> pa.Table:
    """Return the verified table of a file with the columns that it has."""
    # `pyarrow.parquet.read_table` imports what reads folders of files, and pandas with it.
    with (
        _open(path) as file,
        _explain_damage(),
        pq.ParquetFile(file, page_checksum_verification=True) as parquet,
    ):
        has = parquet.metadata.num_rows
        if rows is not None and has > rows:
            raise DamagedError(f"it has {has:,} rows: at most {rows:,} are read")
        if size is not None:
            check_size(file, size)
        return parquet.read()


def read_first_row(path: Path, columns: list[str]) -> dict[str, Any]:
    """Return columns that have one value in a file from its first row; raises as `read_table`."""
    with (
        _open(path) as file,
        _explain_damage(),
        pq.ParquetFile(file, page_checksum_verification=True) as parquet,
    ):
        (row,) = parquet.read(columns=columns).slice(0, 1).to_pylist()
        return dict(row)


def _open(path: Path) -> pa.NativeFile:
    """Open a file that Arrow reads itself.

    Arrow's threads free what they read, perhaps only while Python exits; a buffer of Python's would
    then abort the process.
    """
    try:
        with inputs.open_regular_file(path):
            return pa.OSFile(os.fsencode(path))
    except inputs.FileKindError as error:
        raise DamagedError(f"it is {error}") from error
    except OSError as error:
        if error.errno in _BUSY or (isinstance(error, FileNotFoundError) and not path.is_symlink()):
            raise
        why = f"cannot be read: {error.strerror}"
        if path.is_symlink():
            why = "is a link that leads to no file"
        raise DamagedError(f"it {why}") from error


@contextmanager
def _explain_damage() -> Iterator[None]:
    """Turn the errors of readers of a damaged file into a `DamagedError`."""
    try:
        yield
    except TooLargeError as error:
        raise DamagedError(
            f"{error}: import fewer cells at a time, or their results' folder"
        ) from error
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno in _BUSY:
            raise
        raise DamagedError(f"it cannot be read: {str(error).partition(chr(10))[0]}") from error
