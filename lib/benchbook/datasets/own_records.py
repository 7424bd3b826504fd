"""A user's records in place of a study's: their file as a `Dataset` with an inferred schema.

`record_files` reads the formats, `inference` finds the types.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from benchbook.datasets.dataset import Dataset, hash_records
from benchbook.datasets.inference import Inference, KnownField
from benchbook.datasets.record_files import (
    DECIMALS,
    DELIMITERS,
    RecordFile,
    open_record_file,
    split_options,
)
from benchbook.datasets.streams import ColumnDraws
from benchbook.files.inputs import InputError
from benchbook.schema import Document, Field, Record, Schema
from benchbook.text.number_format import format_count

VERSION = 1

COLLECTION: Final = "own_records"
"""The name of their collection or table: a database could refuse the file's name."""

CHANGED_REASON: Final = (
    "has changed since the cell was planned: run again, for with other records it is another cell"
)


@dataclass(frozen=True)
class FileDescription:
    """A description of a file, which a plan shows before anything is measured."""

    format: str
    encoding: str  # in words, with the line ends; empty for Parquet
    delimiter: str  # its name, as an option after the file's name has it; empty if there is none
    decimal: str  # the same for the decimal mark
    size: int  # bytes
    records: int
    depth: int  # 1 if all values are scalars
    fields: tuple[KnownField, ...]
    notes: tuple[str, ...]  # a sentence for each change of values

    @property
    def words(self) -> str:
        """The description in one line."""
        marks = f", delimiter {self.delimiter}, decimal {self.decimal}" if self.delimiter else ""
        encoding = f", {self.encoding}" if self.encoding else ""
        columns = sum("." not in field.path and "[]" not in field.path for field in self.fields)
        nested = f", {self.depth} deep" if self.depth > 1 else ""
        records = format_count(self.records, "record")
        fields = format_count(columns, "field")
        counts = f"{records} of {fields}{nested}, {self.size:,} bytes"
        return f"{self.format}{encoding}{marks}: {counts}"


def read_dataset(path: str | Path, n: int | None = None, sha256: str | None = None) -> Dataset:
    """Return the records of a file of JSON, delimited text or Parquet.

    A field's type is the narrowest for all its values: integer (64 bits), float, boolean (``true``,
    ``false``), date or datetime (ISO 8601), else string. Or it is a document, an array, or ``json``
    for values of mixed types. A datetime has a zone and is cut to UTC milliseconds. A JSON string
    is never a number. A null or an empty cell is absent, and its field optional. ``_id`` is read as
    text, and generated if there is none.

    Raises `InputError`, with file and line, when the file cannot be read, or has changed.

    Parameters
    ----------
    path
        The file, with options after its name; see `benchbook.datasets.record_files`.
    n
        Records; beyond the file's length they repeat with new ids. None: all, once.
    sha256
        The expected digest of the file's bytes, in hexadecimal; None: any.
    """
    own = _read_file(path)
    if sha256 not in (None, own.sha256):
        raise InputError(str(split_options(path)[0]), CHANGED_REASON)
    records = own.records
    if n is not None:
        rounds = -(-n // len(records))
        repeated = [*records]
        for turn in range(1, rounds):
            repeated += [{**record, "_id": f"{record['_id']}-{turn}"} for record in records]
        records = repeated[:n]
    return Dataset(name_dataset(path), own.schema, records, hash_records(records))


def describe_file(path: str | Path) -> FileDescription:
    """Return the description of a file; raises `InputError` as `read_dataset`."""
    return _describe_once(*_identify_file(path)).description


def digest_file(path: str | Path) -> str:
    """Return the SHA-256, in hexadecimal, of a file's bytes; raises as `read_dataset`."""
    return _describe_once(*_identify_file(path)).sha256


def load_file(path: str | Path) -> "OwnFile":
    """Return a file with its records, for a plan's checks; see `forget_records`."""
    return _read_with_records(*_identify_file(path))


def forget_records() -> None:
    """Free the memory of a plan's records; descriptions stay cached."""
    _read_with_records.cache_clear()


def sample_records(records: Sequence[Document], n: int | None) -> list[Document]:
    """Return those of a data set's `n` records that a check needs: the first round and the last.

    Rounds between them differ only by shorter ids.
    """
    rounds = -(-n // len(records)) if n else 1
    last = [{**record, "_id": f"{record['_id']}-{rounds - 1}"} for record in records if rounds > 1]
    return [*records[:n], *last]


def name_dataset(path: str | Path) -> str:
    """Return the name of a file's data set: from the file's name, without options."""
    return f"own-{split_options(path)[0].stem}"


@dataclass(frozen=True)
class OwnFile:
    """A user's file of records that was read."""

    schema: Schema
    records: list[Document]
    lines: list[int]  # in Parquet, rows
    sha256: str
    description: FileDescription

    def find_line(self, number: int) -> int:
        """Return the line of a record by its number in `sample_records`."""
        return self.lines[number % len(self.lines)]


def _identify_file(path: str | Path) -> tuple[str, ...]:
    """Return a file's path and state; while both are the same, it need not be read again."""
    try:
        stat = split_options(path)[0].stat()
    except (OSError, ValueError):
        # Reading the file then reports the error.
        return (str(path),)
    state = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    return str(Path.cwd() / path), *map(str, state)


@lru_cache(maxsize=1)
def _read_with_records(path: str, *_: str) -> OwnFile:
    return _read_file(path)


@lru_cache(maxsize=64)
def _describe_once(*state: str) -> OwnFile:
    """Return a file without its records, which may fill the memory."""
    return replace(_read_with_records(*state), records=[], lines=[])


def _read_file(path: str | Path) -> OwnFile:
    """Read a whole file; see `read_dataset`."""
    file = open_record_file(path)
    lines, rows = [], []
    for line, row in _read_rows(file):
        lines.append(line)
        rows.append(row)
    schema, records, inference = _infer_schema(file, rows)
    delimiters = {mark: name for name, mark in DELIMITERS.items()}
    decimals = {mark: name for name, mark in DECIMALS.items()}
    description = FileDescription(
        format=file.format,
        encoding=f"{file.encoding}, {file.line_end} line ends" if file.encoding else "",
        delimiter=delimiters.get(file.delimiter, file.delimiter),
        decimal=decimals[inference.decimal] if file.is_text else "",
        size=len(file.data),
        records=len(records),
        depth=max(map(_measure_depth, schema.fields)),
        fields=tuple(inference.known),
        notes=tuple(file.notes | inference.notes),
    )
    return OwnFile(schema, records, lines, hashlib.sha256(file.data).hexdigest(), description)


def _read_rows(file: RecordFile) -> Iterator[tuple[int, Record]]:
    """Yield a file's records with their lines; all have different ``_id`` as text, or none has."""
    seen: dict[str, None] = {}
    for number, (line, record) in enumerate(file.rows()):
        given = record.get("_id")
        if (given is not None) != (len(seen) == number) and number:
            why = (
                "has no _id, which records before it have"
                if given is None
                else "has an _id, others do not"
            )
            raise InputError(f"{file.path}:{line}", f"a record {why}: give one to each, or to none")
        if given is None:
            yield line, record
            continue
        key = json.dumps(given) if isinstance(given, dict | list) else str(given)
        if key in seen:
            raise InputError(f"{file.path}:{line}", f"_id {key!r} comes twice")
        seen[key] = None
        yield line, {**record, "_id": key}


def _infer_schema(
    file: RecordFile, records: Sequence[Record]
) -> tuple[Schema, list[Document], Inference]:
    """Return the schema, the records with typed values and ``_id`` first, and the inference."""
    if records[0].get("_id"):
        keys = [record["_id"] for record in records]
    else:
        keys = ColumnDraws(0, file.path.stem, len(records)).ids()
    # With commas as delimiters, a quoted number's comma may as well separate thousands.
    decimal = file.decimal or ("." if file.delimiter == "," else "")
    inference = Inference(file.is_text, decimal, file.header)
    bare = [{name: value for name, value in record.items() if name != "_id"} for record in records]
    fields, typed = inference.infer(bare)
    schema = Schema(COLLECTION, (Field("_id", "string"), *fields))
    return (
        schema,
        [{"_id": key, **record} for key, record in zip(keys, typed, strict=True)],
        inference,
    )


def _measure_depth(field: Field) -> int:
    """Return the depth of a field's values: 1 for a scalar."""
    return 1 + max(map(_measure_depth, field.fields), default=0)
