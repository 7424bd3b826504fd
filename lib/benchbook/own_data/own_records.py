"""A user's records in place of a study's: their file as a `Dataset` with an inferred schema.

`record_files` finds the format's reader, which reads the records and finds their types.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from benchbook.datasets.dataset import Dataset, hash_records
from benchbook.datasets.streams import ColumnDraws
from benchbook.files.inputs import InputError
from benchbook.own_data.description_store import load_description, store_description
from benchbook.own_data.opened_file import (
    FileDescription,
    LoadedRecords,
    ReportProgress,
    ignore_progress,
)
from benchbook.own_data.record_files import find_reader, open_file, split_options
from benchbook.schema import Document, Field, Schema

VERSION = 1

COLLECTION: Final = "own_records"
"""The name of their collection or table: a database could refuse the file's name."""

ONE_RECORD_NOTE: Final = "It is one record."

CHANGED_REASON: Final = (
    "has changed since the cell was planned: run again, for with other records it is another cell"
)


def read_dataset(path: str | Path, n: int | None = None, sha256: str | None = None) -> Dataset:
    """Return the records of a file of JSON, delimited text, XML or Parquet.

    A field's type is the narrowest for all its values: integer (64 bits), float, boolean (``true``,
    ``false``), date or datetime (ISO 8601), else string. Or it is a document, an array, or ``json``
    for values of mixed types. A datetime has a zone and is cut to UTC milliseconds. A JSON string
    is never a number. A null or an empty cell is absent, and its field optional. ``_id`` is read as
    text, and generated if there is none.

    Raises `InputError`, with file and line, when the file cannot be read, or has changed.

    Parameters
    ----------
    path
        The file, with options after its name; see `benchbook.own_data.record_files`.
    n
        Records; beyond the file's length they repeat with new ids. None: all, once.
    sha256
        The expected digest of the file's bytes, in hexadecimal; None: any.
    """
    own = OwnFile(path)
    if sha256 not in (None, own.file.sha256):
        raise InputError(str(own.file.path), CHANGED_REASON)
    records = own.load(n).records
    if n is not None:
        rounds = -(-n // len(records))
        repeated = [*records]
        for turn in range(1, rounds):
            repeated += [{**record, "_id": f"{record['_id']}-{turn}"} for record in records]
        records = repeated[:n]
    return Dataset(name_dataset(path), own.schema, records, hash_records(records))


def describe_file(path: str | Path, report: ReportProgress = ignore_progress) -> FileDescription:
    """Return the description of a file; raises `InputError` as `read_dataset`.

    Parameters
    ----------
    path
        The file, with options after its name.
    report
        Called with the share that has been read, if the file must be read.
    """
    description, _ = _describe(path, report)
    return description


def digest_file(path: str | Path) -> str:
    """Return the SHA-256, in hexadecimal, of a file's bytes; raises as `read_dataset`."""
    _, sha256 = _describe(path)
    return sha256


def load_file(path: str | Path, count: int | None = None) -> "PlannedRecords":
    """Return the first records of a file, for a plan's checks; see `forget_records`."""
    return _load_once(count, *_identify_file(path))


def forget_records() -> None:
    """Free the memory of a plan's files; descriptions stay cached."""
    _open_once.cache_clear()
    _load_once.cache_clear()


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
class PlannedRecords:
    """The first records of a user's file, which a plan checks."""

    schema: Schema
    records: list[Document]
    lines: list[int]  # in Parquet, rows

    def find_line(self, number: int) -> int:
        """Return the line of a record by its number in `sample_records`."""
        return self.lines[number % len(self.lines)]


class OwnFile:
    """A user's file in memory."""

    def __init__(self, path: str | Path) -> None:
        self.file = open_file(path)
        self._reader = find_reader(self.file)
        self._description: FileDescription | None = None

    def describe(self, report: ReportProgress = ignore_progress) -> FileDescription:
        """Return the description that is stored for the file's content, or a new one."""
        if self._description is None:
            self._description = load_description(self.file)
        if self._description is None:
            self._description = self._reader.describe(self.file, report)
            if self._description.records == 1:
                notes = ONE_RECORD_NOTE, *self._description.notes
                self._description = replace(self._description, notes=notes)
            if self.file.compression:
                packed = f"{self._description.format} in {self.file.compression}"
                self._description = replace(self._description, format=packed)
            store_description(self.file, self._description)
        return self._description

    @property
    def schema(self) -> Schema:
        """The schema of its records, with their key."""
        return Schema(COLLECTION, (Field("_id", "string"), *self.describe().schema))

    def load(self, count: int | None) -> LoadedRecords:
        """Return the first records, each with an ``_id``."""
        description = self.describe()
        loaded = self._reader.load(self.file, description, count)
        if description.has_keys:
            return loaded
        # A record's key is the same, however many are loaded.
        keys = ColumnDraws(0, self.file.path.stem, description.records).ids()
        keyed = zip(keys, loaded.records, strict=False)
        return replace(loaded, records=[{"_id": key, **record} for key, record in keyed])


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
def _open_once(path: str, *_: str) -> OwnFile:
    return OwnFile(path)


@lru_cache(maxsize=8)
def _load_once(count: int | None, *state: str) -> PlannedRecords:
    own = _open_once(*state)
    loaded = own.load(count)
    return PlannedRecords(own.schema, loaded.records, loaded.lines)


_DESCRIPTIONS: Final[dict[tuple[str, ...], tuple[FileDescription, str]]] = {}
"""The descriptions and digests of files, by their path and state.

A plan asks for them once a cell. They stay when `forget_records` frees the records.
"""


def _describe(
    path: str | Path, report: ReportProgress = ignore_progress
) -> tuple[FileDescription, str]:
    """Return the description of a file, and its digest; it is read if its state has changed."""
    state = _identify_file(path)
    if state not in _DESCRIPTIONS:
        own = _open_once(*state)
        _DESCRIPTIONS[state] = own.describe(report), own.file.sha256
    return _DESCRIPTIONS[state]
