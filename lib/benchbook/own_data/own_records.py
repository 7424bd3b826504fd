"""A user's records in place of a study's: their file as a `Dataset` with an inferred schema.

`record_files` finds the format's reader, which reads the records and finds their types. What it
found is kept: in memory by the file's state, and of a large file on disk by the file's content.
"""

import hashlib
import importlib.metadata
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from benchbook import paths
from benchbook.datasets.dataset import Dataset, hash_records
from benchbook.datasets.streams import ColumnDraws
from benchbook.files import suite_files
from benchbook.files.inputs import InputError
from benchbook.own_data.opened_file import (
    FileDescription,
    LoadedRecords,
    OpenedFile,
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

_MIN_STORED_BYTES: Final = 2**20
"""The size from which a file's description is stored; a smaller file is read at once."""

_DESCRIPTIONS: Final[dict[tuple[str, ...], tuple[FileDescription, str]]] = {}
"""The descriptions and digests of files, by their path and state: a plan asks once per cell."""


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
    # Its bytes, which must be those that were planned.
    file = open_file(path)
    if sha256 not in (None, file.sha256):
        raise InputError(str(file.path), CHANGED_REASON)
    description = _describe(file)
    records = _load(file, description, n).records
    # A file that is too short is repeated.
    if n is not None:
        rounds = -(-n // len(records))
        repeated = [*records]
        for turn in range(1, rounds):
            repeated += [{**record, "_id": f"{record['_id']}-{turn}"} for record in records]
        records = repeated[:n]
    return Dataset(name_dataset(path), _make_schema(description), records, hash_records(records))


def describe_file(path: str | Path, report: ReportProgress = ignore_progress) -> FileDescription:
    """Return the description of a file; raises `InputError` as `read_dataset`.

    Parameters
    ----------
    path
        The file, with options after its name.
    report
        Called with the share that has been read, if the file must be read.
    """
    return _describe_once(path, report)[0]


def digest_file(path: str | Path) -> str:
    """Return the SHA-256, in hexadecimal, of a file's bytes; raises as `read_dataset`."""
    return _describe_once(path)[1]


def load_file(path: str | Path, count: int | None = None) -> "PlannedRecords":
    """Return the first records of a file, for a plan's checks; see `forget_records`."""
    return _load_once(count, *_identify(path))


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


def _identify(path: str | Path) -> tuple[str, ...]:
    """Return a file's path and state; while both are the same, it need not be read again."""
    try:
        stat = split_options(path)[0].stat()
    except (OSError, ValueError):
        # Reading the file then reports the error.
        return (str(path),)
    state = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    return str(Path.cwd() / path), *map(str, state)


@lru_cache(maxsize=1)
def _open_once(path: str, *_: str) -> OpenedFile:
    return open_file(path)


@lru_cache(maxsize=8)
def _load_once(count: int | None, *identity: str) -> PlannedRecords:
    file = _open_once(*identity)
    description = _describe(file)
    loaded = _load(file, description, count)
    return PlannedRecords(_make_schema(description), loaded.records, loaded.lines)


def _describe_once(
    path: str | Path, report: ReportProgress = ignore_progress
) -> tuple[FileDescription, str]:
    """Return the description of a file, and its digest; it is read if its state has changed."""
    identity = _identify(path)
    if identity not in _DESCRIPTIONS:
        file = _open_once(*identity)
        _DESCRIPTIONS[identity] = _describe(file, report), file.sha256
    return _DESCRIPTIONS[identity]


def _describe(file: OpenedFile, report: ReportProgress = ignore_progress) -> FileDescription:
    """Return the description that is stored for the file's content, or a new one."""
    # A large file may be described already.
    is_large = len(file.data) >= _MIN_STORED_BYTES
    if is_large:
        with suppress(OSError, ValueError):
            return _adapt_json().validate_json(_locate_description(file).read_bytes())
    # Its format's reader describes its content; what no reader knows is added.
    description = find_reader(file).describe(file, report)
    if description.records == 1:
        description = replace(description, notes=(ONE_RECORD_NOTE, *description.notes))
    if file.compression:
        packed = f"{description.format} in {file.compression}"
        description = replace(description, format=packed)
    # Without effect where nothing can be written.
    if is_large:
        with suppress(OSError):
            text = _adapt_json().dump_json(description).decode()
            suite_files.write_file(_locate_description(file), text)
    return description


@cache
def _adapt_json() -> TypeAdapter[FileDescription]:
    # It takes 40 ms, and only large files need it.
    return TypeAdapter(FileDescription)


def _locate_description(file: OpenedFile) -> Path:
    # The suffix is part of how a file is recognised.
    parts = [file.sha256, file.suffix, sorted(file.options.items()), _digest_code()]
    name = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return paths.results() / ".own" / "described" / f"{name}.json"


@cache
def _digest_code() -> str:
    """Return a digest of all code that describes files, and of its libraries' versions."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    for name in ("duckdb", "orjson", "pyarrow"):
        digest.update(importlib.metadata.version(name).encode())
    return digest.hexdigest()


def _load(file: OpenedFile, description: FileDescription, count: int | None) -> LoadedRecords:
    """Return the first records, each with an ``_id``."""
    loaded = find_reader(file).load(file, description, count)
    if description.has_keys:
        return loaded
    # A record's key is the same, however many are loaded.
    keys = ColumnDraws(0, file.path.stem, description.records).ids()
    keyed = zip(keys, loaded.records, strict=False)
    return replace(loaded, records=[{"_id": key, **record} for key, record in keyed])


def _make_schema(description: FileDescription) -> Schema:
    """Return the schema of a file's records, with their key."""
    return Schema(COLLECTION, (Field("_id", "string"), *description.schema))
