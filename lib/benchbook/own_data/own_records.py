"""A user's records in place of a study's: the first records of their file as a `Dataset`.

`record_files` finds the format's reader, which reads the records that are measured and no more.
Their types are inferred from them. A runner reads them once, and gives them to the cell's kernel.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import orjson

from benchbook.datasets.dataset import Dataset, hash_records
from benchbook.datasets.streams import ColumnDraws
from benchbook.files import suite_files
from benchbook.files.inputs import InputError
from benchbook.own_data.file_description import FileDescription
from benchbook.own_data.inference import Inference, check_nesting, convert_record
from benchbook.own_data.opened_file import ReadRecords, open_file
from benchbook.own_data.record_files import read_records, split_options
from benchbook.schema import Document, Field, Record, Schema

VERSION = 2

COLLECTION: Final = "own_records"
"""The name of their collection or table: a database could refuse the file's name."""

ONE_RECORD_NOTE: Final = "It is one record."

CHANGED_REASON: Final = (
    "has changed since the cell was planned: run again, for with other records it is another cell"
)

KEY: Final = Field("_id", "string")
"""The field of the key, which is generated where the file has none."""


@dataclass(frozen=True)
class OwnRecords:
    """The first records of a user's file."""

    description: FileDescription
    records: list[Document]  # ``_id`` first, as text; without nulls
    lines: list[int]  # of the records; in Parquet, rows
    sha256: str  # of the fields and the records, without generated keys

    @property
    def schema(self) -> Schema:
        """The records' schema, with their key."""
        return Schema(COLLECTION, (KEY, *self.description.schema))

    def find_line(self, number: int) -> int:
        """Return the line of a record by its number in `sample_records`."""
        return self.lines[number % len(self.lines)]


def read_file(path: str | Path, n: int | None = None) -> OwnRecords:
    """Return the first records of a file of JSON, delimited text, XML or Parquet.

    A field's type is the narrowest for all its values: integer (64 bits), float, boolean (``true``,
    ``false``), date or datetime (ISO 8601), else string. Or it is a document, an array, or ``json``
    for values of mixed types. A datetime has a zone and is cut to UTC milliseconds. A JSON string
    is never a number. A null or an empty cell is absent, and its field optional. ``_id`` is read as
    text, and generated if there is none.

    Raises `InputError`, with file and line, when the file cannot be read.

    Parameters
    ----------
    path
        The file, with options after its name; see `benchbook.own_data.record_files`.
    n
        Records; the file may have fewer. None: all.
    """
    return _read_state(*_identify(path), n)


def describe_file(path: str | Path, n: int | None = None) -> FileDescription:
    """Return the description of a file's first records; raises `InputError` as `read_file`."""
    return read_file(path, n).description


def digest_file(path: str | Path, n: int | None = None) -> str:
    """Return the digest, in hexadecimal, of a file's first records; raises as `read_file`."""
    return read_file(path, n).sha256


def read_dataset(path: str | Path, n: int | None = None, *, keyed: bool = True) -> Dataset:
    """Return `n` records of a file, as `read_file`; a shorter file is repeated with new keys.

    They have generated keys only if they are to be `keyed`.
    """
    own = read_file(path, n)
    keyed = keyed or own.description.has_keys
    return _build_dataset(name_dataset(path), own.schema, own.records, n, keyed=keyed)


def store_records(path: str | Path, n: int | None, target: Path) -> str:
    """Write a file's first records for `load_dataset`, and return their digest."""
    own = read_file(path, n)
    fields = [field.as_json for field in own.schema.fields]
    stored = {
        "name": name_dataset(path),
        "fields": fields,
        "records": own.records,
        "has_keys": own.description.has_keys,
    }
    suite_files.write_file(target, orjson.dumps(stored).decode())
    return own.sha256


def load_dataset(stored: Path, n: int | None, *, keyed: bool = True) -> Dataset:
    """Return the `n` records that `store_records` wrote, as `read_dataset`."""
    content: dict[str, Any] = orjson.loads(stored.read_bytes())
    schema = Schema(COLLECTION, tuple(map(Field.from_json, content["fields"])))
    records = [convert_record(record, schema.fields) for record in content["records"]]
    keyed = keyed or content["has_keys"]
    return _build_dataset(content["name"], schema, records, n, keyed=keyed)


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


def _identify(path: str | Path) -> tuple[str, tuple[int, ...]]:
    """Return a file's path and state; while both are the same, it need not be read again."""
    try:
        stat = split_options(path)[0].stat()
    except (OSError, ValueError):
        # Reading the file then reports the error.
        return str(path), ()
    state = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    return str(Path.cwd() / path), state


# A plan asks once per cell.
@lru_cache(maxsize=16)
def _read_state(path: str, state: tuple[int, ...], n: int | None) -> OwnRecords:
    """Return the first records of a file in some state."""
    # Its format's reader reads the records.
    file = open_file(*split_options(path))
    found = read_records(file, n)
    if not found.records:
        raise InputError(str(file.path), "holds no record")
    for line, record in zip(found.lines, found.records, strict=True):
        check_nesting(record, f"{file.path}:{line}")
    keys = _read_keys(file.path, found)
    # Their types are found from all of them, without the key.
    documents = found.records
    if keys:
        documents = [_omit_key(record) for record in documents]
    inference = Inference()
    names = [name for name in found.names if name != "_id"]
    fields = inference.infer_fields(documents, names=names)
    is_single = found.is_whole and len(documents) == 1
    notes = [ONE_RECORD_NOTE] if is_single else []
    description = FileDescription(
        format=f"{found.format} in {file.compression}" if file.compression else found.format,
        marks=found.marks,
        size=file.path.stat().st_size,
        records=len(documents),
        is_whole=found.is_whole,
        has_keys=bool(keys),
        schema=fields,
        fields=tuple(inference.known),
        notes=tuple(dict.fromkeys([*notes, *found.notes, *inference.notes])),
    )
    typed = [convert_record(record, fields) for record in documents]
    # The digest has no generated keys: they are not part of the file.
    digest = hashlib.sha256(orjson.dumps([[field.as_json for field in fields], keys]))
    digest.update(hash_records(typed).encode())
    keys = keys or ColumnDraws(0, file.path.stem, len(typed)).ids()
    records = [{"_id": key, **record} for key, record in zip(keys, typed, strict=True)]
    return OwnRecords(description, records, found.lines, digest.hexdigest())


def _read_keys(path: Path, found: ReadRecords) -> list[str]:
    """Return the ``_id`` of all records as texts; empty if none has one.

    Raises `InputError` when an ``_id`` comes twice, or only some records have one.
    """
    given = [record.get("_id") for record in found.records]
    if given.count(None) == len(given):
        return []
    keys: dict[str, None] = {}
    for line, key in zip(found.lines, given, strict=True):
        where = f"{path}:{line}"
        if (key is None) != (given[0] is None):
            why = "has no _id, others do" if key is None else "has an _id, others do not"
            raise InputError(where, f"a record {why}: give one to each, or to none")
        text = orjson.dumps(key).decode() if isinstance(key, dict | list) else str(key)
        if text in keys:
            raise InputError(where, f"_id {text!r} comes twice")
        keys[text] = None
    return [*keys]


def _omit_key(record: Record) -> Document:
    return {name: value for name, value in record.items() if name != "_id"}


def _build_dataset(
    name: str, schema: Schema, records: Sequence[Document], n: int | None, *, keyed: bool
) -> Dataset:
    """Return the records, repeated with new keys until there are `n`; None: once."""
    repeated = [*records]
    for turn in range(1, -(-(n or 1) // len(records))):
        repeated += [{**record, "_id": f"{record['_id']}-{turn}"} for record in records]
    repeated = repeated[:n]
    if not keyed:
        repeated = [_omit_key(record) for record in repeated]
        # The key is the first field.
        schema = replace(schema, fields=schema.fields[1:])
    return Dataset(name, schema, repeated, hash_records(repeated))
