"""A person's own records in place of a study's: JSON Lines or CSV, with an inferred schema."""

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from benchbook.datasets.dataset import Dataset, Record, fingerprint
from benchbook.datasets.streams import ids
from benchbook.shapes import Field, FieldType, Schema

Rows = list[tuple[int, Record]]
"""Records with their line in the file."""


class OwnDataError(ValueError):
    """A person's file cannot be used; the message names file and line."""


def own(path: str | Path, n: int | None = None) -> Dataset:
    """Return the records of a JSON Lines file (``.jsonl``, ``.ndjson``, ``.json``) or of a CSV file with a header.

    A column's type is the narrowest that holds all its values: integer (64 bits), float, boolean (``true``,
    ``false``), date or datetime (ISO 8601; a datetime states its zone and is cut to UTC milliseconds), else string.
    A JSON string is never a number. ``_id`` is taken as text, and made up where there is none.

    Parameters
    ----------
    path
        UTF-8 text. Records are flat and all have the same fields, none of them null.
    n
        The first `n` records; beyond the file's length they repeat with new ids. None: all, once.

    Raises
    ------
    OwnDataError
        When the file cannot be read as such records; names file and line.
    """
    file = Path(path)
    try:
        rows = list(_csv(file) if file.suffix.lower() == ".csv" else _json_lines(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise OwnDataError(f"{file}: {error}") from error
    if not rows:
        raise OwnDataError(f"{file}: holds no record")
    _check(file, rows)
    schema, records = _typed(file, [record for _, record in rows])
    records = _repeated(records, len(records) if n is None else n)
    return Dataset(f"own-{file.stem}", schema, records, fingerprint(records))


def _csv(file: Path) -> Iterator[tuple[int, Record]]:
    """Yield each row by its header's names; blank lines are passed over."""
    with file.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, strict=True)
        header = next(reader, [])
        if len(set(header)) < len(header) or "" in header:
            raise OwnDataError(f"{file}:1: the header's names must be distinct and not empty: {header}")
        for row in filter(None, reader):
            if len(row) != len(header):
                raise OwnDataError(f"{file}:{reader.line_num}: {len(row)} values under {len(header)} names")
            yield reader.line_num, dict(zip(header, row, strict=True))


def _json_lines(file: Path) -> Iterator[tuple[int, Record]]:
    """Yield each line's object; blank lines are passed over."""
    with file.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise OwnDataError(f"{file}:{number}: not a JSON object on one line: {error}") from error
            if not isinstance(record, dict):
                raise OwnDataError(f"{file}:{number}: a JSON object is expected, not {type(record).__name__}")
            yield number, record


def _check(file: Path, rows: Rows) -> None:
    """Raise unless all records are flat, have the first one's fields, and differ in ``_id``."""
    expected = rows[0][1].keys()
    seen: set[str] = set()
    for line, record in rows:
        if record.keys() != expected:
            raise OwnDataError(
                f"{file}:{line}: fields differ from the first record's: {sorted(expected ^ record.keys())}"
            )
        for name, value in record.items():
            if not isinstance(value, str | int | float) or (isinstance(value, float) and not math.isfinite(value)):
                raise OwnDataError(f"{file}:{line}: {name}: a string, number, true or false is expected, not {value!r}")
        if "_id" in record:
            if (key := str(record["_id"])) in seen:
                raise OwnDataError(f"{file}:{line}: _id {key!r} comes twice")
            seen.add(key)


_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")  # 007 and 1_000 are text


def _number(value: Any) -> int | float:
    """Return a number, or the number that a CSV file's text states."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value) if set(value) & set(".eE") else int(value)
    if isinstance(value, bool | str):
        raise ValueError(value)
    number: int | float = value
    return number


def _integer(value: Any) -> int:
    number = _number(value)
    if isinstance(number, float) or not -(2**63) <= number < 2**63:
        raise ValueError(value)
    return number


def _float(value: Any) -> float:
    exact = _number(value)
    number = float(exact)
    if not math.isfinite(number) or number != exact:
        raise ValueError(value)
    return number


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}[value]


def _date(value: Any) -> date:
    day = date.fromisoformat(value)
    if day.isoformat() != value:
        raise ValueError(value)
    return day


def _datetime(value: Any) -> datetime:
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError(value)
    moment = moment.astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


_DATES: tuple[tuple[FieldType, Callable[[Any], Any]], ...] = (("date", _date), ("datetime", _datetime))
_READERS: tuple[tuple[FieldType, Callable[[Any], Any]], ...] = (
    ("integer", _integer),
    ("float", _float),
    ("boolean", _boolean),
    *_DATES,
)


def _column(values: list[Any], *, quoted: bool) -> tuple[FieldType, list[Any]]:
    """Return the narrowest type that holds all the values, and the values as such; `quoted` strings are no numbers."""
    dates_only = quoted and any(isinstance(value, str) for value in values)
    for kind, read in _DATES if dates_only else _READERS:
        try:
            return kind, [read(value) for value in values]
        except (ValueError, TypeError, KeyError, OverflowError):
            continue
    return "string", [value if isinstance(value, str) else json.dumps(value) for value in values]


def _typed(file: Path, records: list[Record]) -> tuple[Schema, list[Record]]:
    """Return the inferred schema and the records with typed values, ``_id`` first."""
    keys = [str(record["_id"]) for record in records] if "_id" in records[0] else ids(0, file.stem, len(records))
    names = [name for name in records[0] if name != "_id"]
    columns = {
        name: _column([record[name] for record in records], quoted=file.suffix.lower() != ".csv") for name in names
    }
    fields = (Field("_id", "string"), *(Field(name, kind) for name, (kind, _) in columns.items()))
    values: Iterable[tuple[Any, ...]] = zip(keys, *(column for _, column in columns.values()), strict=True)
    return Schema(file.stem, fields), [dict(zip(("_id", *names), row, strict=True)) for row in values]


def _repeated(records: list[Record], n: int) -> list[Record]:
    """Return `n` records: the first ones, then the same again with the round's number after the id."""
    rounds = -(-n // len(records))
    later = [{**record, "_id": f"{record['_id']}-{turn}"} for turn in range(1, rounds) for record in records]
    return (records + later)[:n]
