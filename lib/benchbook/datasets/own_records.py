"""A person's own records in place of a study's: their file, read, with the schema that all of them have together.

In comes a path, out goes a `Dataset`. `record_files` knows the formats, `inference` the types.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from benchbook.datasets import Dataset, fingerprint
from benchbook.datasets.inference import Inference, KnownField
from benchbook.datasets.record_files import DECIMALS, DELIMITERS, LIMIT, RecordFile, located, opened
from benchbook.datasets.streams import Draws
from benchbook.digits import plural
from benchbook.inputs import InputError, contents
from benchbook.schemas import Document, Field, Record, Schema

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
    file = opened(path)
    if sha256 not in (None, hashlib.sha256(file.data).hexdigest()):
        raise InputError(str(file.path), CHANGED)
    schema, records, _ = _inferred(file)
    if n is not None:
        rounds = -(-n // len(records))
        again = [{**record, "_id": f"{record['_id']}-{turn}"} for turn in range(1, rounds) for record in records]
        records = (records + again)[:n]
    return Dataset(f"own-{file.path.stem}", schema, records, fingerprint(records))


def understood(path: str | Path) -> Understood:
    """Return what is understood of a file. Raises `InputError` as `read` does."""
    file = opened(path)
    schema, records, inference = _inferred(file)
    return Understood(
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


def sample(data: Dataset, n: int | None) -> Dataset:
    """Return of a whole file's records what `n` of them have: the first round, and the last if they repeat.

    Whoever takes these takes all: rounds between differ in shorter ids alone.
    """
    rounds = -(-n // len(data.records)) if n else 1
    last = [{**record, "_id": f"{record['_id']}-{rounds - 1}"} for record in data.records if rounds > 1]
    return replace(data, records=[*data.records[:n], *last])


def line(path: str | Path, number: int) -> int:
    """Return the line of a file's record by its number in `sample`; of Parquet, its row."""
    lines = [line for line, _ in _rows(opened(path))]
    return lines[number % len(lines)]


def name(path: str | Path) -> str:
    """Return what a file's records are called: by its name, without what is stated behind that."""
    return f"own-{located(path)[0].stem}"


def digest(path: str | Path) -> str:
    """Return the SHA-256, in hexadecimal, of a file's bytes; raises `InputError` when they cannot be read."""
    return hashlib.sha256(contents(located(path)[0], LIMIT)).hexdigest()


def checked(path: str | Path) -> str:
    """Return `digest` of a file that was read from end to end, once for each state that the file is found in.

    Raises `InputError` when `read` would not take it.
    """
    try:
        state = located(path)[0].stat()
    except (OSError, ValueError):
        # This says what is wrong.
        return digest(path)
    return _checked(str(path), state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


@lru_cache(maxsize=64)
def _checked(path: str, *_: int) -> str:
    file = opened(path)
    for _line, _record in _rows(file):
        pass
    return hashlib.sha256(file.data).hexdigest()


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


def _inferred(file: RecordFile) -> tuple[Schema, list[Document], Inference]:
    """Return the inferred schema and the records with typed values, ``_id`` first; and what is known of them."""
    records = [record for _, record in _rows(file)]
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
