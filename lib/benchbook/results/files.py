"""One Parquet file, written whole or not at all, and known to be whole before it is read.

What tells a whole file from a damaged one is a checksum of all its bytes and what it holds, in the file's own footer.
Parquet's checksums cover its pages, not their headers nor the footer (schema, numbers of rows, offsets, statistics): a
flipped bit there reads back as other values. So every byte is covered once more, by a CRC-32 in the footer's metadata,
computed with its own eight digits as zeros: it misses no flipped bit, no run of up to 32, and one in 2**32 of anything
else, at a sixth of the cost of a cryptographic digest, which would help against nobody who can write the file. To any
reader the file stays ordinary Parquet.
"""

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from errno import EMFILE, ENFILE, ENOMEM
from io import BytesIO
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchbook import atomic, inputs
from benchbook.parquet import TooLargeError, check_size
from benchbook.results.schema import OBSERVATIONS

if TYPE_CHECKING:
    import pandas as pd

KEYS: Final = ("study", "cell_id", "block", "state")
"""What a file has one value of."""

_CHECKSUM: Final = "benchbook.crc32"
_FACTS: Final = "benchbook.cell"
_ZEROS: Final = b"0" * 8
_MARK: Final = _CHECKSUM.encode() + b"\x18" + bytes([len(_ZEROS)])
"""How the checksum begins in the footer: Thrift writes a name, then its value's field and length."""

_TAIL: Final = 2**16
"""Bytes at a file's end that its metadata lie in: only the columns' orders come after them."""

_PART: Final = 2**20
_BUSY: Final = (EMFILE, ENFILE, ENOMEM)
"""Errors that are not the file's."""

_COUNTED: Final = ("repetition", "started_at")
"""Columns of which each value differs little from the one before; they and the values have no dictionary worth it."""


class DamagedError(Exception):
    """A file is not what was written: says why."""


@dataclass(frozen=True)
class Facts:
    """What a result's file holds: whose it is, in rows and columns; the cell's parameters in JSON, and when it ran.

    Times are in seconds since 1970, None when it did not run.
    """

    study: str
    cell_id: str
    block: int
    state: str
    rows: int
    columns: int
    parameters: str | None = None
    started_at: float | None = None
    ended_at: float | None = None

    @property
    def took_s(self) -> float:
        """How long the cell ran, in seconds; NaN when it did not."""
        return nan if self.started_at is None or self.ended_at is None else self.ended_at - self.started_at


def facts(table: pa.Table) -> Facts:
    """Return what a cell's table holds, as its first row says it."""
    first = table.slice(0, 1)
    (words,) = first.select([*KEYS, "parameters"]).to_pylist()
    # In numbers: Arrow makes times of Python's only with pandas, which is slow to import.
    at_us = [first[name].cast(pa.int64())[0].as_py() for name in ("cell_started_at", "cell_ended_at")]
    started, ended = (None if at is None else at / 1e6 for at in at_us)
    return Facts(**words, rows=len(table), columns=table.num_columns, started_at=started, ended_at=ended)


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


def write_table(path: Path, table: pa.Table, held: Facts | None = None) -> None:
    """Write a Parquet file, whole or not at all, to the disk.

    Its footer says what it holds, of a cell's file in the results' folder, and its checksum.
    """
    kept = [name for name in table.column_names if name not in {"value", *_COUNTED}]
    counted = {name: "DELTA_BINARY_PACKED" for name in _COUNTED if name in table.column_names}
    options: dict[str, Any] = {"use_dictionary": kept, "column_encoding": counted, "write_page_checksum": True}
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic.replacing(path, durable=True) as file, sealed(file, table.schema, held, **options) as writer:
        writer.write_table(table)


@contextmanager
def sealed(file: BinaryIO, schema: pa.Schema, held: Facts | None = None, **options: Any) -> Iterator[pq.ParquetWriter]:
    """Yield what writes a Parquet file, whose footer then says what it holds, if that is told, and its checksum.

    The file is empty, and can be read, too; schema and options are as `pyarrow.parquet.ParquetWriter` takes them.
    """
    with pq.ParquetWriter(file, schema, **options) as writer:
        yield writer
        metadata = {_FACTS: json.dumps(asdict(held))} if held else {}
        writer.add_key_value_metadata(metadata | {_CHECKSUM: _ZEROS.decode()})
    at = _checksum_at(*_tail(file))
    assert at is not None, "the file was written with room for its checksum"
    checksum = _crc(file, at)
    file.seek(at)
    file.write(checksum)


def whole(path: Path) -> Facts:
    """Return what a result's file holds, once it is known to hold what was written.

    Raises `DamagedError` when it does not, says no checksum, or is no regular file, and `FileNotFoundError` when there
    is none.
    """
    with _opened(path) as file:
        return held(file)


def held(file: BinaryIO) -> Facts:
    """Return what an open file holds, as `whole` does; raises `DamagedError`."""
    with _reading():
        start, tail = _tail(file)
        begin = tail.rfind(_FACTS.encode())
        _hold(file if start else BytesIO(tail), start, tail)  # most files are small: all of it was read
        if begin < 0:
            raise DamagedError("it says of no cell that it is its")
        facts = json.JSONDecoder().raw_decode(tail[tail.find(b"{", begin) :].decode(errors="replace"))[0]
        if {*facts} != {*Facts.__dataclass_fields__} or facts["columns"] != len(OBSERVATIONS):
            raise DamagedError("it is of another version of benchbook, whose results have other columns")
        return Facts(**facts)


def delivered(path: Path) -> pa.Table:
    """Return the rows that a cell's process wrote for the runner; raises as `read` does."""
    table = read(path)
    if not table.schema.equals(OBSERVATIONS):
        raise DamagedError("its columns are not those of results")
    return table


def check(path: Path) -> None:
    """Raise as `read` does of a file that does not hold what was written."""
    with _opened(path) as file, _reading():
        _hold(file, *_tail(file))


def read(path: Path, rows: int | None = None, size: int | None = None) -> pa.Table:
    """Return the table of a file that says its checksum: a cell's, an export, or one of the reference run.

    Raises `DamagedError` when its bytes are not those that were written, it says no checksum, has more than so many
    `rows` (None: any number), or values of more than `size` bytes, and `FileNotFoundError` when there is none.
    """
    with _opened(path) as file, _reading():
        _hold(file, *_tail(file))
        file.seek(0)
        # `pyarrow.parquet.read_table` imports what reads folders of files, and pandas with it.
        with pq.ParquetFile(file, page_checksum_verification=True) as parquet:
            if rows is not None and (has := parquet.metadata.num_rows) > rows:
                raise DamagedError(f"it has {has:,} rows: at most {rows:,} are read")
            if size is not None:
                check_size(file, size)
            return parquet.read()


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
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno in _BUSY:
            raise
        raise DamagedError(f"it cannot be read: {str(error).partition(chr(10))[0]}") from error


def _tail(file: BinaryIO) -> tuple[int, bytes]:
    """Return a file's last bytes, and where they begin."""
    start = max(0, file.seek(0, os.SEEK_END) - _TAIL)
    file.seek(start)
    return start, file.read()


def _checksum_at(start: int, tail: bytes) -> int | None:
    """Return where in the file the checksum's digits begin."""
    at = tail.rfind(_MARK)
    return None if at < 0 else start + at + len(_MARK)


def _hold(file: BinaryIO, start: int, tail: bytes) -> None:
    """Raise `DamagedError` when a file has another checksum than it says, or says none."""
    at = _checksum_at(start, tail)
    if at is None:
        raise DamagedError("it says no checksum: its bytes are not those that benchbook wrote")
    if tail[at - start :][: len(_ZEROS)] != _crc(file, at):
        raise DamagedError("its bytes are not those that were written")


def _crc(file: BinaryIO, at: int) -> bytes:
    """Return the checksum's digits: of all bytes, those digits taken as zeros."""
    file.seek(0)
    checksum = 0
    for left in range(at, 0, -_PART):
        checksum = zlib.crc32(file.read(min(left, _PART)), checksum)
    checksum = zlib.crc32(_ZEROS, checksum)
    file.seek(at + len(_ZEROS))
    while part := file.read(_PART):
        checksum = zlib.crc32(part, checksum)
    return f"{checksum:08x}".encode()
