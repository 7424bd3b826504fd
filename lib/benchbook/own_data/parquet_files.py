"""Files of Parquet, by pyarrow."""

import base64
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchbook.files.inputs import InputError
from benchbook.files.parquet import TooLargeError, check_size, iterate_batches
from benchbook.own_data.inference import CUT_NOTE
from benchbook.own_data.opened_file import MAX_BYTES, OpenedFile, ReadRecords
from benchbook.text.number_format import format_count

_READ_ERRORS: Final = (
    *(pa.ArrowException, OSError, LookupError, ValueError, OverflowError, MemoryError),
)
_VALUE_ERRORS: Final = (pa.ArrowException, LookupError, ValueError, OverflowError)
"""Errors of a single value, such as of a moment that Python does not have."""

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


def read(file: OpenedFile, count: int | None) -> ReadRecords:
    """Return the first rows of a file of Parquet; None: all.

    Raises `InputError`, with file and row, at the first error.
    """
    try:
        source: Any = str(file.path)
        if file.compression:
            # Parquet is read from its end: a packed file is unpacked first.
            data = file.read()
            if len(data) == MAX_BYTES:
                raise TooLargeError(f"unpacked, it takes {MAX_BYTES:,} bytes or more")
            source = pa.BufferReader(data)
        check_size(source, MAX_BYTES, count)
        columns: dict[str, list[Any]] = {}
        with pq.ParquetFile(source) as parquet:
            for name, number in Counter(parquet.schema_arrow.names).items():
                if number > 1 or not name:
                    why = f"{format_count(number, 'column')} with the name {name!r}: rename each"
                    raise InputError(str(file.path), why)
            for batch in iterate_batches(parquet, count):
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    values = columns.setdefault(name, [])
                    # The last batch may have more rows than are read.
                    rows = column.slice(length=None if count is None else count - len(values))
                    values += _read_values(rows, file.path, name, len(values))
            is_whole = count is None or parquet.metadata.num_rows <= count
        converted = _ConvertedColumns(file)
        read = {name: converted.convert(name, values) for name, values in columns.items()}
    except TooLargeError as error:
        why = f"{error}: take some of its rows, or leave long texts out"
        raise InputError(str(file.path), why) from error
    except _READ_ERRORS as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).partition("\n")[0] or "memory ran out"
        raise InputError(str(file.path), f"not Parquet that can be read: {reason}") from error
    rows = [dict(zip(read, values, strict=True)) for values in zip(*read.values(), strict=True)]
    return ReadRecords("Parquet", rows, [*range(1, len(rows) + 1)], is_whole, converted.notes)


def _read_values(column: pa.Array, path: Path, name: str, before: int) -> list[Any]:
    """Return the values of a part of a column as Python has them.

    Raises `InputError`, with file, row and column, at one that Python does not have.

    Parameters
    ----------
    before
        How many rows of the column are before the part.
    """
    values: list[Any] = []
    try:
        for value in column:
            values.append(value.as_py(maps_as_pydicts="strict"))
    except _VALUE_ERRORS as error:
        where = f"{path}:{before + len(values) + 1}"
        reason = str(error).partition("\n")[0]
        why = f"a value that Python does not have ({reason}): leave the column out"
        raise InputError(where, f"{name}: {why}") from error
    return values


@dataclass
class _ConvertedColumns:
    """The columns of a file of Parquet as JSON has them."""

    file: OpenedFile
    # A sentence for each change of values.
    notes: dict[str, None] = field(default_factory=dict)

    def convert(self, name: str, values: list[Any]) -> list[Any]:
        """Return a column."""
        # Older writers do not mark texts as such.
        is_text = all(map(_is_printable, values))
        return [
            self._convert(value, f"{self.file.path}:{row}", name, is_text=is_text, is_top=True)
            for row, value in enumerate(values, 1)
        ]

    def _convert(
        self, value: Any, where: str, name: str, *, is_text: bool, is_top: bool = False
    ) -> Any:
        """Return a value as JSON has it."""
        if value is None or isinstance(value, str | int):
            return value
        if isinstance(value, dict):
            parts = {}
            for key, part in value.items():
                key = key.decode() if isinstance(key, bytes) else str(key)
                parts[key] = self._convert(part, where, f"{name}.{key}", is_text=is_text)
            return parts
        if isinstance(value, list):
            return [self._convert(part, where, name, is_text=is_text) for part in value]
        if isinstance(value, float | np.floating):
            if not math.isfinite(value):
                reason = f"JSON does not have the number {value}: write null"
                raise InputError(where, f"{name}: {reason}")
            return float(value)
        if hasattr(value, "to_pydatetime"):
            # pyarrow returns pandas' moments where there are nanoseconds.
            if value.nanosecond:
                self.notes[f"{name}: {CUT_NOTE}"] = None
            value = value.to_pydatetime(warn=False)
        if is_top and isinstance(value, date):
            # Types are inferred from its text.
            return value.isoformat()
        if isinstance(value, bytes) and is_text:
            self.notes[f"{name}: bytes are taken as the UTF-8 text that they are."] = None
            return value.decode()
        for kind, (convert, note) in _CONVERTERS.items():
            if isinstance(value, kind):
                if isinstance(value, datetime) and value.tzinfo:
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
    return "".join(value.decode(errors="replace").split()).replace("\ufffd", "\0").isprintable()
