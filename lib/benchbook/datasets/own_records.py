"""A person's own records in place of a study's: their file, read, with the schema that all of them have together.

In comes a path, out goes a `Dataset`. `record_files` knows the formats, `inference` the types.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from benchbook.datasets import Dataset, fingerprint
from benchbook.datasets.inference import Inference, KnownField
from benchbook.datasets.record_files import DECIMALS, DELIMITERS, RecordFile, located, opened
from benchbook.datasets.streams import Draws
from benchbook.digits import plural
from benchbook.inputs import InputError
from benchbook.schemas import Document, Field, Record, Schema

VERSION = 1

STORE: Final = "own_records"
"""What their collection or table is called, whatever the file is: a store may refuse the file's name."""

CHANGED: Final = "has changed since the cell was planned: run again, for with other records it is another cell"


@dataclass(frozen=True)
class Understood:
    """What was understood of a file: to be shown before anything is measured of it."""

    format: str
    encoding: str  # in words, with the line ends; empty for Parquet
    delimiter: str  # its name, as it can be stated behind the file's; empty where there is none
    decimal: str  # the same
    size: int  # bytes
    records: int
    depth: int  # 1 where all values are scalars
    fields: tuple[KnownField, ...]
    notes: tuple[str, ...]  # what was not taken as it stands

    @property
    def words(self) -> str:
        """What the file is, in a line."""
        marks = f", delimiter {self.delimiter}, decimal {self.decimal}" if self.delimiter else ""
        encoding = f", {self.encoding}" if self.encoding else ""
        columns = sum("." not in field.path and "[]" not in field.path for field in self.fields)
        nested = f", {self.depth} deep" if self.depth > 1 else ""
        counts = f"{plural(self.records, 'record')} of {plural(columns, 'field')}{nested}, {self.size:,} bytes"
        return f"{self.format}{encoding}{marks}: {counts}"


def read(path: str | Path, n: int | None = None, sha256: str | None = None) -> Dataset:
    """Return the records of a file of JSON, delimited text or Parquet, as `record_files` reads them.

    A field's type is the narrowest that holds all its values: integer (64 bits), float, boolean (``true``,
    ``false``), date or datetime (ISO 8601; a datetime states its zone and is cut to UTC milliseconds), else string;
    a document or an array of such; or ``json`` where they differ in kind. A JSON string is never a number. What is
    null, or an empty cell, is absent, and its field optional. ``_id`` is taken as text, and made up where there is
    none.

    The first `n` are taken, which beyond the file's length repeat with new ids; None: all, once. Raises `InputError`,
    with file and line, when they cannot be read as such, or `sha256` is given and is not the `digest` of the file's
    bytes.
    """
    own = _read(path)
    if sha256 not in (None, own.sha256):
        raise InputError(str(located(path)[0]), CHANGED)
    records = own.records
    if n is not None:
        rounds = -(-n // len(records))
        again = [{**record, "_id": f"{record['_id']}-{turn}"} for turn in range(1, rounds) for record in records]
        records = (records + again)[:n]
    return Dataset(name(path), own.schema, records, fingerprint(records))


def understood(path: str | Path) -> Understood:
    """Return what is understood of a file. Raises `InputError` as `read` does."""
    return _read_once(*_state(path)).understood


def checked(path: str | Path) -> str:
    """Return the SHA-256, in hexadecimal, of a file that can be read from end to end. Raises `InputError` as `read`."""
    return _read_once(*_state(path)).sha256


def planned(path: str | Path) -> "OwnFile":
    """Return a file with its records, for a plan that checks whether cells can take them; see `forget_records`."""
    return _read_with_records(*_state(path))


def forget_records() -> None:
    """Give back the memory of a plan's records; what is understood of them stays known."""
    _read_with_records.cache_clear()


def sample(records: Sequence[Document], n: int | None) -> list[Document]:
    """Return of a whole file's records what `n` of them have: the first round, and the last if they repeat.

    Whoever takes these takes all: rounds between differ in shorter ids alone.
    """
    rounds = -(-n // len(records)) if n else 1
    last = [{**record, "_id": f"{record['_id']}-{rounds - 1}"} for record in records if rounds > 1]
    return [*records[:n], *last]


def name(path: str | Path) -> str:
    """Return what a file's records are called: by its name, without what is stated behind that."""
    return f"own-{located(path)[0].stem}"


@dataclass(frozen=True)
class OwnFile:
    """A file of records that was read."""

    schema: Schema
    records: list[Document]
    lines: list[int]  # of Parquet, rows
    sha256: str
    understood: Understood

    def line(self, number: int) -> int:
        """Return the line of a record by its number in `sample`."""
        return self.lines[number % len(self.lines)]


def _state(path: str | Path) -> tuple[str, ...]:
    """Return a file's path and as what it is found there; while that is the same, it need not be read again."""
    try:
        found = located(path)[0].stat()
    except (OSError, ValueError):
        # Reading it says what is wrong.
        return (str(path),)
    of_contents = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return str(Path.cwd() / path), *map(str, of_contents)


@lru_cache(maxsize=1)
def _read_with_records(path: str, *_: str) -> OwnFile:
    return _read(path)


@lru_cache(maxsize=64)
def _read_once(*state: str) -> OwnFile:
    """Return what is known of a file, without its records, which may fill the memory."""
    return replace(_read_with_records(*state), records=[], lines=[])


def _read(path: str | Path) -> OwnFile:
    """Read a file from end to end; see `read`."""
    file = opened(path)
    lines, rows = [], []
    for line, row in _rows(file):
        lines.append(line)
        rows.append(row)
    schema, records, inference = _inferred(file, rows)
    known = Understood(
        file.format,
        f"{file.encoding}, {file.line_end} line ends" if file.encoding else "",
        next((name for name, mark in DELIMITERS.items() if mark == file.delimiter), file.delimiter),
        next(name for name, mark in DECIMALS.items() if mark == inference.decimal) if file.is_text else "",
        len(file.data),
        len(records),
        max(map(_depth, schema.fields)),
        tuple(inference.known),
        tuple(file.notes | inference.notes),
    )
    return OwnFile(schema, records, lines, hashlib.sha256(file.data).hexdigest(), known)


def _rows(file: RecordFile) -> Iterator[tuple[int, Record]]:
    """Yield a file's records with their lines: all with an ``_id`` as text, each another one, or none."""
    seen: dict[str, None] = {}
    for number, (line, record) in enumerate(file.rows()):
        given = record.get("_id")
        if (given is not None) != (len(seen) == number) and number:
            why = "has no _id, which records before it have" if given is None else "has an _id, others do not"
            raise InputError(f"{file.path}:{line}", f"a record {why}: give one to each, or to none")
        if given is None:
            yield line, record
            continue
        key = json.dumps(given) if isinstance(given, dict | list) else str(given)
        if key in seen:
            raise InputError(f"{file.path}:{line}", f"_id {key!r} comes twice")
        seen[key] = None
        yield line, {**record, "_id": key}


def _inferred(file: RecordFile, records: Sequence[Record]) -> tuple[Schema, list[Document], Inference]:
    """Return the inferred schema and the records with typed values, ``_id`` first; and what is known of them."""
    if records[0].get("_id"):
        keys = [record["_id"] for record in records]
    else:
        keys = Draws(0, file.path.stem, len(records)).ids()
    # Between commas a number with one would be quoted: then it separates thousands as often.
    decimal = file.decimal or ("." if file.delimiter == "," else "")
    inference = Inference(file.is_text, decimal, file.header)
    bare = [{name: value for name, value in record.items() if name != "_id"} for record in records]
    fields, typed = inference.records(bare)
    schema = Schema(STORE, (Field("_id", "string"), *fields))
    return schema, [{"_id": key, **record} for key, record in zip(keys, typed, strict=True)], inference


def _depth(field: Field) -> int:
    """Return how deep a field's values are nested: 1 for a scalar."""
    return 1 + max(map(_depth, field.fields), default=0)
