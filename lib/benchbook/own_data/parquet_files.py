"""Files of Parquet, by pyarrow."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from numbers import Real
from typing import Any, Final
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchbook.files.inputs import InputError
from benchbook.files.parquet import TooLargeError, check_size
from benchbook.own_data.inference import CUT_NOTE, Inference, SampledColumn, load_records
from benchbook.own_data.opened_file import (
    MAX_BYTES,
    FileDescription,
    KeyCheck,
    LoadedRecords,
    NumberedRecords,
    OpenedFile,
    RecordReader,
    ReportProgress,
    ignore_progress,
)

_KEY: Final = "_id"
_READ_ERRORS: Final = (
    *(pa.ArrowException, OSError, LookupError, ValueError, OverflowError, MemoryError),
)


def describe(file: OpenedFile, report: ReportProgress) -> FileDescription:
    """Return the description of a file of Parquet."""
    rows, inference, check = ParquetRows(file), Inference(), KeyCheck(file.path)
    with _explain_errors(file):
        check_size(pa.BufferReader(file.data), MAX_BYTES)
        for first_row, columns in rows.read_columns(10_000, report):
            _survey_columns(rows, first_row, columns, inference, check)
    found = inference.describe(file, "Parquet", check)
    # A moment that is cut in both is noted once.
    return replace(found, notes=tuple(rows.notes | dict.fromkeys(found.notes)))


def _survey_columns(
    rows: "ParquetRows",
    first_row: int,
    columns: dict[str, pa.Array],
    inference: Inference,
    check: KeyCheck,
) -> None:
    """Take some rows into account, and check their keys."""
    count = len(next(iter(columns.values())))
    keys: Sequence[object] = [None] * count
    if _KEY in columns:
        keys = rows.list_values(_KEY, columns.pop(_KEY), first_row)
    check.check_keys(range(first_row, first_row + count), keys)
    sampled = {
        name: rows.sample_column(name, column, first_row) for name, column in columns.items()
    }
    inference.survey_columns(count, sampled)


def load(file: OpenedFile, description: FileDescription, count: int | None) -> LoadedRecords:
    """Return the first records of a file of Parquet, typed by its description."""
    return load_records(ParquetRows(file).read(), description, count)


READER: Final = RecordReader(describe, load)


@dataclass
class ParquetRows:
    """The records of a file of Parquet."""

    file: OpenedFile
    # A sentence for each change of values.
    notes: dict[str, None] = field(default_factory=dict)

    def read(self) -> NumberedRecords:
        """Yield the records; raises `InputError`, with file and row, at the first error."""
        with _explain_errors(self.file):
            for first_row, columns in self.read_columns(1_000):
                lists = [self.list_values(name, part, first_row) for name, part in columns.items()]
                for row, values in enumerate(zip(*lists, strict=True), first_row):
                    yield row, dict(zip(columns, values, strict=True))

    def read_columns(
        self, count: int, report: ReportProgress = ignore_progress
    ) -> Iterator[tuple[int, dict[str, pa.Array]]]:
        """Yield the columns of `count` rows at a time, with the number of the first row."""
        parquet = pq.ParquetFile(pa.BufferReader(self.file.data))
        names = parquet.schema_arrow.names
        for name in names:
            if not name:
                raise InputError(str(self.file.path), "a column has no name: rename it")
            if names.count(name) > 1:
                reason = f"two columns have the name {name!r}: rename one"
                raise InputError(str(self.file.path), reason)
        row = 1
        for batch in parquet.iter_batches(batch_size=count):
            if batch.num_rows and names:
                yield row, dict(zip(names, batch.columns, strict=True))
            row += batch.num_rows
            report(row / (parquet.metadata.num_rows + 1))

    def sample_column(self, name: str, column: pa.Array, first_row: int) -> SampledColumn:
        """Return the values of a column that stand for all."""
        count = len(column) - column.null_count
        if count and _is_as_in_json(column):
            return SampledColumn(_sample_simple_values(column), count, column.null_count)
        values = [value for value in self.list_values(name, column, first_row) if value is not None]
        return SampledColumn(values, count, column.null_count)

    def list_values(self, name: str, column: pa.Array, first_row: int) -> Sequence[object]:
        """Return a column's values as JSON has them; dates and moments stay what they are."""
        values: Sequence[object] = column.to_pylist(maps_as_pydicts="strict")
        if _is_as_in_json(column):
            return values
        return [
            self._convert_outer(value, f"{self.file.path}:{row}", name)
            for row, value in enumerate(values, first_row)
        ]

    def _convert_outer(self, value: object, where: str, name: str) -> object:
        """Return a record's value; days and moments with a zone stay what they are."""
        if isinstance(value, datetime) and value.tzinfo:
            return self._cut(name, value).astimezone(UTC)
        if isinstance(value, date) and not isinstance(value, datetime):
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
        for kind, (convert, note) in _CONVERTERS.items():
            if isinstance(value, kind):
                try:
                    converted = convert(value)
                except ValueError:
                    # Bytes that are no text.
                    break
                if getattr(value, "tzinfo", None) is not None:
                    note = "moments inside documents and lists are taken as ISO 8601 text."
                self.notes[f"{name}: {note}"] = None
                return converted
        why = f"{type(value).__name__} is neither text nor number: leave the column out"
        raise InputError(where, f"{name}: {why}")


_TIMES_NOTE: Final = "times without a zone, and days inside documents, are taken as ISO 8601 text."

_CONVERTERS: Final[Mapping[type, tuple[Callable[[Any], object], str]]] = {
    datetime: (datetime.isoformat, _TIMES_NOTE),
    date: (date.isoformat, _TIMES_NOTE),
    time: (time.isoformat, _TIMES_NOTE),
    Decimal: (float, "decimal numbers are taken as the nearest double."),
    UUID: (str, "UUIDs are taken as text."),
    bytes: (bytes.decode, "bytes are taken as the UTF-8 text that they are."),
}
"""By type: what makes it a value of JSON, and the note about it.

Each datetime is a date, too, so it comes before.
"""


def _name_key(key: object) -> str:
    """Return a map's key as text."""
    return key.decode() if isinstance(key, bytes) else str(key)


def _sample_simple_values(column: pa.Array) -> list[object]:
    """Return some of a column's texts, numbers or booleans, by which its type is found."""
    if pa.types.is_integer(column.type):
        limits: list[object] = [*pc.min_max(column).as_py().values()]
        return limits
    first = column.drop_null()[0].as_py()
    # All texts matter only if they may be days or moments.
    if isinstance(first, str) and first[:1].isdigit():
        texts: list[object] = column.unique().drop_null().to_pylist()
        return texts
    return [first]


def _is_as_in_json(column: pa.Array) -> bool:
    """Return whether all of a column's values are texts, finite numbers or booleans."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    elif pa.types.is_float32(kind) or pa.types.is_float64(kind):
        return pc.all(pc.is_finite(column)).as_py() is not False
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_text or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


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
