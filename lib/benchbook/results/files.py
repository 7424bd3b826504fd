"""One Parquet file, written whole or not at all, and verified before its values are used.

Each page of a file has Parquet's own checksum, which is verified when its values are read. Headers and footer have
none: a flipped bit there makes the file unreadable, or changes columns or rows, which are compared, too.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from errno import EMFILE, ENFILE, ENOMEM
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchbook import atomic, inputs
from benchbook.parquet import TooLargeError, check_size
from benchbook.results.former import is_former, read_levels, with_current_columns
from benchbook.results.schema import OBSERVATIONS, merge_schemas

if TYPE_CHECKING:
    import pandas as pd

KEYS: Final = ("study", "cell_id", "block", "state")
"""What a file has one value of."""

_FACTS: Final = "benchbook.cell"
"""The key of a file's facts in its footer."""

_BUSY: Final = (EMFILE, ENFILE, ENOMEM)
"""Errors that are not the file's."""

_COUNTED: Final = ("repetition", "started_at")
"""Columns of which each value differs little from the one before; they and the values have no dictionary worth it."""


class DamagedError(Exception):
    """A file is not what was written: says why."""


class FormerError(DamagedError):
    """A file is of an earlier version: `convert` gives it today's columns."""


@dataclass(frozen=True)
class Facts:
    """The cell of a result's file: its name, its parameters in JSON, when it ran, and the columns of its parameters.

    Times are in seconds since 1970, None when it did not run. A column is a name with the name of its type.
    """

    study: str
    cell_id: str
    block: int
    state: str
    parameters: str | None = None
    started_at: float | None = None
    ended_at: float | None = None
    columns: tuple[tuple[str, str], ...] = ()

    @property
    def took_s(self) -> float:
        """How long the cell ran, in seconds; NaN when it did not."""
        return nan if self.started_at is None or self.ended_at is None else self.ended_at - self.started_at


def facts(table: pa.Table, parameters: str | None = None) -> Facts:
    """Return the facts of a cell's table, from its first row and its parameters in JSON."""
    first = table.slice(0, 1)
    (words,) = first.select(KEYS).to_pylist()
    # In numbers: Arrow makes times of Python's only with pandas, which is slow to import.
    at_us = [first[name].cast(pa.int64())[0].as_py() for name in ("cell_started_at", "cell_ended_at")]
    started, ended = (None if at is None else at / 1e6 for at in at_us)
    columns = tuple((field.name, str(field.type)) for field in table.schema if field.name not in OBSERVATIONS.names)
    return Facts(**words, parameters=parameters, started_at=started, ended_at=ended, columns=columns)


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


def typed_with_parameters(frame: "pd.DataFrame") -> pa.Table:
    """Return values as an Arrow table, without the columns of parameters that none of them has."""
    empty = [name for name in frame if name not in OBSERVATIONS.names and frame[name].isna().all()]
    frame = frame.drop(columns=empty)
    return typed(frame, infer_schema(frame))


def typed(frame: "pd.DataFrame", schema: pa.Schema) -> pa.Table:
    """Return the frame as an Arrow table: the schema's columns in its order; those that the frame lacks are null.

    Raises `ValueError` when the frame has a column that the schema does not know, or a value of another type.
    """
    if unknown := sorted(set(frame.columns) - set(schema.names)):
        raise ValueError(f"the results have no column {', '.join(unknown)}")
    wanted = pa.schema([field for field in schema if field.name in frame.columns])
    try:
        table = pa.Table.from_pandas(frame[wanted.names], schema=wanted, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"a value is not of its column's type: {'; '.join(map(str, error.args))}") from error
    columns = [
        table[field.name] if field.name in frame.columns else pa.nulls(len(frame), field.type) for field in schema
    ]
    return pa.table(columns, schema=schema)


def write_table(path: Path, table: pa.Table, about: Facts | None = None) -> None:
    """Write a Parquet file, whole or not at all, to the disk; of a cell's result its footer has the facts."""
    texts = [name for name in table.column_names if name not in {"value", *_COUNTED}]
    counted = {name: "DELTA_BINARY_PACKED" for name in _COUNTED if name in table.column_names}
    path.parent.mkdir(parents=True, exist_ok=True)
    options: dict[str, Any] = {"use_dictionary": texts, "column_encoding": counted, "write_page_checksum": True}
    # Statistics choose nothing in a file of one cell, and no checksum covers them. They are a third of its bytes, and
    # Arrow's copy of the schema is a sixth.
    options |= {"write_statistics": False, "store_schema": False}
    with atomic.replacing(path, durable=True) as file, pq.ParquetWriter(file, table.schema, **options) as writer:
        writer.write_table(table)
        if about:
            writer.add_key_value_metadata({_FACTS: json.dumps(asdict(about))})


def whole(path: Path) -> Facts:
    """Return the facts of a result's file, once its footer is read; its values are not.

    Raises `DamagedError` when it is no result, or no regular file, and `FileNotFoundError` when there is none.
    """
    with _opened(path) as file, _reading(), pq.ParquetFile(file) as parquet:
        return _facts(parquet)


def verify(path: Path) -> Facts:
    """Return the facts of a result's file, once the checksums of all its pages are verified; raises as `whole` does."""
    with _opened(path) as file, _reading():
        return verify_content(file.read())


def verify_content(content: bytes) -> Facts:
    """Return what `verify` returns, of a file's content; raises `DamagedError`."""
    source = pa.BufferReader(content)
    with _reading(), pq.ParquetFile(source, page_checksum_verification=True) as parquet:
        # Without a table of the values, which takes twice as long.
        if parquet.scan_contents() != parquet.metadata.num_rows:
            raise DamagedError("its columns have other numbers of rows than were written")
        return _facts(parquet)


def _facts(parquet: pq.ParquetFile) -> Facts:
    schema = parquet.schema_arrow
    if is_former(schema):
        raise FormerError("it is of an earlier version of benchbook")
    if not has_columns(schema):
        raise DamagedError("it is of another version of benchbook, whose results have other columns")
    stated = (parquet.metadata.metadata or {}).get(_FACTS.encode())
    if stated is None or not parquet.metadata.num_rows:
        raise DamagedError("it does not state its cell, or has no rows")
    known = json.loads(stated)
    known["columns"] = tuple((name, kind) for name, kind in known["columns"])
    facts = Facts(**{field.name: known[field.name] for field in fields(Facts)})
    if not schema.equals(schema_of([facts])):
        raise DamagedError("its columns are not those that were written")
    return facts


def convert(path: Path) -> None:
    """Give a result's file of an earlier version today's columns, in its place; raises as `read` does."""
    with _opened(path) as file, _reading(), pq.ParquetFile(file) as parquet:
        stated = json.loads((parquet.metadata.metadata or {})[_FACTS.encode()])
    levels = read_levels(stated["parameters"])
    table = read(path)
    write_table(path, table, facts(table, json.dumps(levels, sort_keys=True)))


def schema_of(cells: Iterable[Facts]) -> pa.Schema:
    """Return the columns of some cells' files together."""
    schemas = [[pa.field(name, _KINDS[kind]) for name, kind in facts.columns] for facts in cells]
    return merge_schemas(map(pa.schema, schemas))


_KINDS: Final = {str(kind): kind for kind in (pa.bool_(), pa.int64(), pa.float64(), pa.string())}


def has_columns(schema: pa.Schema) -> bool:
    """Return whether a table has the columns of all results, with their types, and others only for parameters."""
    return bool(schema.equals(merge_schemas([schema])))


def delivered(path: Path) -> pa.Table:
    """Return the rows that a cell's process wrote for the runner; raises as `read` does."""
    table = read(path)
    if not has_columns(table.schema):
        raise DamagedError("its columns are not those of results")
    return table


def check(path: Path) -> None:
    """Raise as `read` does of a file that cannot be read, without keeping its values in memory."""
    with _opened(path) as file, _reading(), pq.ParquetFile(file, page_checksum_verification=True) as parquet:
        parquet.scan_contents()


def read(path: Path, rows: int | None = None, size: int | None = None) -> pa.Table:
    """Return the table of a file, once its pages are verified: a cell's, an export, or one of the reference run.

    Raises `DamagedError` when it cannot be read, has more than so many `rows` (None: any number), or values of more
    than `size` bytes, and `FileNotFoundError` when there is none.
    """
    # `pyarrow.parquet.read_table` imports what reads folders of files, and pandas with it.
    with _opened(path) as file, _reading(), pq.ParquetFile(file, page_checksum_verification=True) as parquet:
        has = parquet.metadata.num_rows
        if rows is not None and has > rows:
            raise DamagedError(f"it has {has:,} rows: at most {rows:,} are read")
        if size is not None:
            check_size(file, size)
        return with_current_columns(parquet.read())


def _opened(path: Path) -> BinaryIO:
    try:
        return inputs.opened(path)
    except inputs.KindError as error:
        raise DamagedError(f"it is {error}") from error
    except OSError as error:
        if error.errno in _BUSY or (isinstance(error, FileNotFoundError) and not path.is_symlink()):
            raise
        why = "is a link that leads to no file" if path.is_symlink() else f"cannot be read: {error.strerror}"
        raise DamagedError(f"it {why}") from error


@contextmanager
def _reading() -> Iterator[None]:
    """Say of whatever a damaged file makes its readers raise that it is damaged."""
    try:
        yield
    except TooLargeError as error:
        raise DamagedError(f"{error}: import fewer cells at a time, or their results' folder") from error
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno in _BUSY:
            raise
        raise DamagedError(f"it cannot be read: {str(error).partition(chr(10))[0]}") from error
