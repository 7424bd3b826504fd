"""Files of Parquet, by pyarrow."""

import base64
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from numbers import Real
from typing import Any, Final
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

from benchbook.files.inputs import InputError
from benchbook.files.parquet import TooLargeError, check_size
from benchbook.own_data.inference import CUT_NOTE
from benchbook.own_data.opened_file import (
    MAX_BYTES,
    NumberedRecords,
    OpenedFile,
    ReadRecords,
    take_records,
)
from benchbook.schema import Document, Record

_BATCH_ROWS: Final = 1_000
_READ_ERRORS: Final = (
    *(pa.ArrowException, OSError, LookupError, ValueError, OverflowError, MemoryError),
)


def read(file: OpenedFile, count: int | None) -> ReadRecords:
    """Return the first rows of a file of Parquet; None: all.

    Raises `InputError`, with file and row, at the first error.
    """
    rows = _ParquetRows(file)
    with _explain_errors(file):
        # Parquet is read from its end: a packed file is unpacked first.
        source: Any = str(file.path)
        if file.compression:
            with file.open() as stream:
                source = pa.BufferReader(stream.read())
        check_size(source, MAX_BYTES, count)
        taken, lines, is_whole = take_records(rows.iterate(source, count), count)
        rows.find_texts(taken)
        records = [rows.convert(record, row) for record, row in zip(taken, lines, strict=True)]
    return ReadRecords("Parquet", records, lines, is_whole, rows.notes)


@dataclass
class _ParquetRows:
    """The records of a file of Parquet."""

    file: OpenedFile
    # A sentence for each change of values.
    notes: dict[str, None] = field(default_factory=dict)
    # The columns whose bytes are base64.
    _binary: set[str] = field(default_factory=set)

    def iterate(self, source: Any, count: int | None) -> NumberedRecords:
        """Yield the records with their rows, as pyarrow has their values."""
        with pq.ParquetFile(source) as parquet:
            names = parquet.schema_arrow.names
            for name in names:
                if not name:
                    raise InputError(str(self.file.path), "a column has no name: rename it")
                if names.count(name) > 1:
                    reason = f"two columns have the name {name!r}: rename one"
                    raise InputError(str(self.file.path), reason)
            size = _BATCH_ROWS if count is None else min(count, _BATCH_ROWS)
            row = 0
            for batch in parquet.iter_batches(batch_size=size):
                columns = [column.to_pylist(maps_as_pydicts="strict") for column in batch.columns]
                for values in zip(*columns, strict=True):
                    row += 1
                    yield row, dict(zip(names, values, strict=True))

    def find_texts(self, records: Sequence[Record]) -> None:
        """Find the columns whose bytes are not texts; older writers do not mark texts as such."""
        for record in records:
            for name, value in record.items():
                if name not in self._binary and not _is_printable(value):
                    self._binary.add(name)

    def convert(self, record: Record, row: int) -> Document:
        """Return a record as JSON has it; days and moments stay what they are."""
        where = f"{self.file.path}:{row}"
        return {name: self._convert_outer(value, where, name) for name, value in record.items()}

    def _convert_outer(self, value: object, where: str, name: str) -> object:
        """Return a record's value; days and moments with a zone stay what they are."""
        if isinstance(value, datetime):
            moment = self._cut(name, value)
            return moment.astimezone(UTC) if moment.tzinfo else moment.isoformat()
        if isinstance(value, date):
            return value
        return self._convert(value, where, name)

    def _cut(self, name: str, value: datetime) -> datetime:
        """Return a moment in microseconds; pyarrow returns pandas' where there are nanoseconds."""
        if not hasattr(value, "to_pydatetime"):
            return value
        if getattr(value, "nanosecond", 0):
            self.notes[f"{name}: {CUT_NOTE}"] = None
        cut: datetime = value.to_pydatetime(warn=False)
        return cut

    def _convert(self, value: object, where: str, name: str) -> object:
        """Return a value as JSON has it."""
        if value is None or isinstance(value, str | int):
            return value
        if isinstance(value, dict):
            return {
                _name_key(key): self._convert(part, where, f"{name}.{key}")
                for key, part in value.items()
            }
        if isinstance(value, list):
            return [self._convert(part, where, name) for part in value]
        if isinstance(value, Real):
            if not math.isfinite(value):
                reason = f"JSON does not have the number {value}: write null"
                raise InputError(where, f"{name}: {reason}")
            return float(value)
        if isinstance(value, datetime):
            value = self._cut(name, value)
        if isinstance(value, bytes) and name.partition(".")[0] not in self._binary:
            self.notes[f"{name}: bytes are taken as the UTF-8 text that they are."] = None
            return value.decode()
        for kind, (convert, note) in _CONVERTERS.items():
            if isinstance(value, kind):
                if getattr(value, "tzinfo", None) is not None:
                    note = "moments inside documents and lists are taken as ISO 8601 text."
                self.notes[f"{name}: {note}"] = None
                return convert(value)
        why = f"{type(value).__name__} is neither text nor number: leave the column out"
        raise InputError(where, f"{name}: {why}")


def _is_printable(value: object) -> bool:
    """Return whether all bytes in a value, at any depth, are printable text in UTF-8."""
    if isinstance(value, dict):
        return all(map(_is_printable, value.values()))
    if isinstance(value, list):
        return all(map(_is_printable, value))
    if not isinstance(value, bytes):
        return True
    try:
        return "".join(value.decode().split()).isprintable()
    except UnicodeDecodeError:
        return False


_TIMES_NOTE: Final = "times without a zone, and days inside documents, are taken as ISO 8601 text."

_CONVERTERS: Final[Mapping[type, tuple[Callable[[Any], object], str]]] = {
    datetime: (datetime.isoformat, _TIMES_NOTE),
    date: (date.isoformat, _TIMES_NOTE),
    time: (time.isoformat, _TIMES_NOTE),
    Decimal: (float, "decimal numbers are taken as the nearest double."),
    UUID: (str, "UUIDs are taken as text."),
    bytes: (lambda value: base64.b64encode(value).decode(), "bytes are taken as base64 text."),
}
"""By type: what makes it a value of JSON, and the note about it.

Each datetime is a date, too, so it comes before.
"""


def _name_key(key: object) -> str:
    """Return a map's key as text."""
    return key.decode() if isinstance(key, bytes) else str(key)


@contextmanager
def _explain_errors(file: OpenedFile) -> Iterator[None]:
    """Turn the errors of a damaged or too large file into an `InputError`."""
    try:
        yield
    except InputError:
        raise
    except TooLargeError as error:
        raise InputError(
            str(file.path), f"{error}: take some of its rows, or leave long texts out"
        ) from error
    except _READ_ERRORS as error:
        reason = str(error).partition("\n")[0]
        if isinstance(error, MemoryError):
            reason = reason or "memory ran out"
        raise InputError(str(file.path), f"not Parquet that can be read: {reason}") from error
