"""A user's file in memory, and what every reader of a format returns about it.

A reader has two functions. ``describe`` reads all records once, and returns a `FileDescription`,
which is all that a plan needs. ``load`` returns the first records with the types that were found.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchbook.files.inputs import InputError
from benchbook.schema import Document, Field, FieldType, Record
from benchbook.text.number_format import format_count

MAX_BYTES: Final = 256 * 2**20
"""Bytes of the largest file that is read, and of what is unpacked from it."""

NumberedRecords = Iterator[tuple[int, Record]]
"""Records with their line in the file; in Parquet, with their row."""

ReportProgress = Callable[[float], None]
"""Called with the share of a file that has been read, from 0 to 1."""


def ignore_progress(share: float) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class OpenedFile:
    """A file's bytes, unpacked, and the options after its name."""

    path: Path  # without the options
    data: bytes
    options: Mapping[str, str] = field(default_factory=dict)
    sha256: str = ""  # of the bytes as they are on the disk, in hexadecimal
    compression: str = ""  # ``gzip`` or ``zstd``; empty if there is none

    @property
    def suffix(self) -> str:
        """The suffix of the content, in small letters: ``.csv`` of ``export.csv.gz``."""
        path = self.path
        if self.compression and path.suffix.lower() in (".gz", ".gzip", ".zst", ".zstd"):
            path = path.with_suffix("")
        return path.suffix.lower()


@dataclass(frozen=True)
class KnownField:
    """The description of one field of a file."""

    path: str  # ``lines[].sku`` for a field of an array's documents
    type: FieldType
    item: FieldType | None  # an array's type of elements
    of: int  # documents that could have the field
    absent: int  # documents without it
    null: int  # documents in which it is null


_TYPE_LABELS: Final = {
    "json": "differs in kind",
    "datetime": "moment",
    "date": "day",
    "string": "text",
}


@dataclass(frozen=True, kw_only=True)
class FileDescription:
    """A description of a file, which a plan shows before anything is measured."""

    format: str  # ``JSON Lines``, ``JSON array``, ``delimited text`` or ``Parquet``
    encoding: str = ""  # in words, with the line ends; empty for Parquet
    delimiter: str = ""  # its name, as an option after the file's name has it
    decimal: str = ""  # the same for the decimal mark
    size: int  # bytes
    records: int
    has_keys: bool  # whether the records have an ``_id``
    schema: tuple[Field, ...]  # without ``_id``
    fields: tuple[KnownField, ...]  # at any depth
    notes: tuple[str, ...]  # a sentence for each change of values
    # What `load` needs to read the file in the same way.
    dialect: Mapping[str, str] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """The levels of nesting: 1 if all values are scalars."""
        return max(map(_measure_depth, self.schema), default=1)

    @property
    def words(self) -> str:
        """The description in one line."""
        marks = f", delimiter {self.delimiter}, decimal {self.decimal}" if self.delimiter else ""
        encoding = f", {self.encoding}" if self.encoding else ""
        nested = f", {self.depth} deep" if self.depth > 1 else ""
        records = format_count(self.records, "record")
        fields = format_count(len(self.schema), "field")
        counts = f"{records} of {fields}{nested}, {self.size:,} bytes"
        return f"{self.format}{encoding}{marks}: {counts}"

    def list_fields(self, most: int) -> list[dict[str, str]]:
        """Return the fields as rows of texts: the type, and how many documents do not have it."""
        rows = []
        for known in self.fields[:most]:
            kind = _TYPE_LABELS.get(known.type, known.type)
            if known.item not in (None, "json"):
                kind += f" of {_TYPE_LABELS.get(known.item, known.item)}s"
            absent, null = _write_share(known.absent, known.of), _write_share(known.null, known.of)
            rows.append({"field": known.path, "type": kind, "absent": absent, "null": null})
        if len(self.fields) > most:
            others = f"and {len(self.fields) - most} more"
            rows.append({"field": others, "type": "", "absent": "", "null": ""})
        return rows


@dataclass(frozen=True)
class LoadedRecords:
    """The first records of a file, typed by its description's schema."""

    records: list[Document]  # ``_id`` first, as text, if the file has it; without nulls
    lines: list[int]  # of the records; in Parquet, rows


@dataclass(frozen=True)
class RecordReader:
    """The reader of a format; both functions raise `InputError` with file and line."""

    describe: Callable[[OpenedFile, ReportProgress], FileDescription]
    # With the number of records: fewer, if the file has fewer; None for all.
    load: Callable[[OpenedFile, FileDescription, int | None], LoadedRecords]


@dataclass
class KeyCheck:
    """The check that all records of a file have a different ``_id``, or none has."""

    path: Path
    seen: set[str] = field(default_factory=set)
    count: int = 0

    def check_keys(self, lines: Iterable[int], keys: Sequence[object]) -> None:
        """Check the ``_id`` of the next records, or None, with their lines.

        Raises `InputError` when an ``_id`` comes twice, or only some records have one.
        """
        if not self.seen and keys.count(None) == len(keys):
            # Most files have none: no loop over their records.
            self.count += len(keys)
            return
        for line, given in zip(lines, keys, strict=True):
            if self.count and (given is not None) != bool(self.seen):
                why = "has an _id, others do not"
                if given is None:
                    why = "has no _id, which records before it have"
                remedy = "give one to each, or to none"
                raise InputError(f"{self.path}:{line}", f"a record {why}: {remedy}")
            self.count += 1
            if given is None:
                continue
            key = write_key(given)
            if key in self.seen:
                raise InputError(f"{self.path}:{line}", f"_id {key!r} comes twice")
            self.seen.add(key)


def write_key(given: object) -> str:
    """Return an ``_id`` as text."""
    return json.dumps(given) if isinstance(given, dict | list) else str(given)


def _measure_depth(field: Field) -> int:
    """Return the depth of a field's values: 1 for a scalar."""
    return 1 + max(map(_measure_depth, field.fields), default=0)


def _write_share(count: int, of: int) -> str:
    """Return a share in percent; a small one is not 0 %, and a large one is not 100 %."""
    if not count:
        return "–"
    percent = 100 * count / of
    if percent < 1:
        return "< 1 %"
    if 99 < percent < 100:
        return "> 99 %"
    return f"{percent:.0f} %"
