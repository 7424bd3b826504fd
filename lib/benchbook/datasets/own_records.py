"""A person's own records in place of a study's: JSON Lines or CSV, with an inferred schema."""

import csv
import hashlib
import io
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from benchbook.datasets import Dataset, fingerprint
from benchbook.datasets.streams import ids
from benchbook.inputs import InputError, contents, text
from benchbook.schemas import Document, Field, FieldType, Record, Schema

LIMIT: Final = 256 * 2**20
"""Bytes of the largest file that is read."""

STORE: Final = "own_records"
"""What their collection or table is called, whatever the file is: a store may refuse the file's name."""

CHANGED: Final = "has changed since the cell was planned: run again, for with other records it is another cell"

Rows = Iterable[tuple[int, Record]]
"""Records with their line in the file."""


def read(path: str | Path, n: int | None = None, sha256: str | None = None) -> Dataset:
    """Return the records of a JSON Lines file (``.jsonl``, ``.ndjson``, ``.json``) or of a CSV file with a header.

    A column's type is the narrowest that holds all its values: integer (64 bits), float, boolean (``true``,
    ``false``), date or datetime (ISO 8601; a datetime states its zone and is cut to UTC milliseconds), else string.
    A JSON string is never a number. ``_id`` is taken as text, and made up where there is none.

    The file is UTF-8 text; its records all have the same fields, none of them a list or null. Objects inside become
    fields of their own, ``address_city`` for the city of ``address``, in every store: what is compared is the same. The
    first `n` are taken, which beyond the file's length repeat with new ids; None: all, once. Raises `InputError`, with
    file and line, when they cannot be read as such, or `sha256` is given and is not the `digest` of the file's bytes.
    """
    file = Path(path)
    data = contents(file, LIMIT)
    if sha256 not in (None, hashlib.sha256(data).hexdigest()):
        raise InputError(str(file), CHANGED)
    schema, records = _typed(file, [record for _, record in _rows(file, data)])
    if n is not None:
        rounds = -(-n // len(records))
        again = [{**record, "_id": f"{record['_id']}-{turn}"} for turn in range(1, rounds) for record in records]
        records = (records + again)[:n]
    return Dataset(f"own-{file.stem}", schema, records, fingerprint(records))


def sample(data: Dataset, n: int | None) -> Dataset:
    """Return of a whole file's records what `n` of them have: the first round, and the last if they repeat.

    Whoever takes these takes all: rounds between differ in shorter ids alone.
    """
    rounds = -(-n // len(data.records)) if n else 1
    last = [{**record, "_id": f"{record['_id']}-{rounds - 1}"} for record in data.records if rounds > 1]
    return replace(data, records=[*data.records[:n], *last])


def line(path: str | Path, number: int) -> int:
    """Return the line on which a file's record ends, by its number in `sample`."""
    file = Path(path)
    lines = [line for line, _ in _rows(file, contents(file, LIMIT))]
    return lines[number % len(lines)]


def digest(path: str | Path) -> str:
    """Return the SHA-256, in hexadecimal, of a file's bytes; raises `InputError` when they cannot be read."""
    return hashlib.sha256(contents(Path(path), LIMIT)).hexdigest()


def checked(path: str | Path) -> str:
    """Return `digest` of a file that was read from end to end, once for each state that the file is found in.

    Raises `InputError` when `read` would not take it.
    """
    try:
        state = Path(path).stat()
    except (OSError, ValueError):
        # This says what is wrong.
        return digest(path)
    return _checked(str(path), state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


@lru_cache(maxsize=64)
def _checked(path: str, *_: int) -> str:
    file = Path(path)
    data = contents(file, LIMIT)
    for _line, _record in _rows(file, data):
        pass
    return hashlib.sha256(data).hexdigest()


def _rows(file: Path, data: bytes) -> Iterator[tuple[int, Record]]:
    """Yield the records of a file's bytes, each looked at."""
    is_csv = file.suffix.lower() == ".csv"
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="" if is_csv else None)
    number = 0
    try:
        for number, record in _like(file, _csv(file, lines) if is_csv else _json_lines(file, lines)):
            yield number, record
    except UnicodeDecodeError:
        # This says where.
        text(data, str(file))
        raise
    if not number:
        raise InputError(str(file), "holds no record")


def _csv(file: Path, lines: Iterable[str]) -> Rows:
    """Yield each row by its header's names; blank lines are passed over."""
    reader = csv.reader(lines, strict=True)
    try:
        header = next(reader, [])
        if len(header) == 1 and (other := next((mark for mark in ";\t|" if mark in header[0]), None)):
            raise InputError(f"{file}:1", f"is separated by {other!r}: CSV here is separated by commas")
        if len(set(header)) < len(header) or "" in header:
            raise InputError(f"{file}:1", f"the header's names must be distinct and not empty: {header}")
        for row in filter(None, reader):
            if len(row) != len(header):
                raise InputError(f"{file}:{reader.line_num}", f"{len(row)} values under {len(header)} names")
            yield reader.line_num, dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise InputError(f"{file}:{reader.line_num or 1}", f"not CSV: {error}") from error


def _json_lines(file: Path, lines: Iterable[str]) -> Rows:
    """Yield each line's object; blank lines are passed over."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, object_pairs_hook=_distinct)
            if "\\u" in line:
                # Half of a surrogate pair is no character.
                json.dumps(record, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise InputError(f"{file}:{number}", f"not a JSON object on one line: {error}") from error
        if not isinstance(record, dict):
            array = "; an array's objects stand on a line each: jq -c '.[]' FILE" if isinstance(record, list) else ""
            raise InputError(f"{file}:{number}", f"a JSON object is expected, not {type(record).__name__}{array}")
        yield number, _flat(f"{file}:{number}", record)


def _flat(where: str, record: Record, prefix: str = "") -> Record:
    """Return a record whose objects inside are fields of its own: ``address_city`` for the city of ``address``."""
    flat: Document = {}
    for name, value in record.items():
        parts = _flat(where, value, f"{prefix}{name}_") if isinstance(value, dict) else {f"{prefix}{name}": value}
        if isinstance(value, list):
            raise InputError(where, f"{prefix}{name}: a list is no value of a table's column, and every study has one")
        if twice := flat.keys() & parts.keys():
            raise InputError(where, f"{min(twice)!r} comes twice once objects inside are fields of their own")
        flat |= parts
    return flat


def _distinct(pairs: list[tuple[str, object]]) -> Record:
    """Return an object of a JSON document, whose names are given once each."""
    record = dict(pairs)
    if len(record) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the name {twice!r} comes twice")
    return record


def _like(file: Path, rows: Rows) -> Rows:
    """Yield the records: all flat, with the first one's fields, and different in ``_id``."""
    expected: set[str] | None = None
    seen: set[str] = set()
    for line, record in rows:
        expected = {*record} if expected is None else expected
        if record.keys() != expected or "" in record:
            differing = sorted(expected ^ record.keys()) or "one has no name"
            raise InputError(f"{file}:{line}", f"fields differ from the first record's: {differing}")
        for name, value in record.items():
            if not isinstance(value, str | int | float) or (isinstance(value, float) and not math.isfinite(value)):
                wanted = "a string, number, true or false is expected"
                raise InputError(f"{file}:{line}", f"{name}: {wanted}, not {value!r}")
        if "_id" in record:
            if (key := str(record["_id"])) in seen:
                raise InputError(f"{file}:{line}", f"_id {key!r} comes twice")
            seen.add(key)
        yield line, record


Readers = dict[FieldType, Callable[[Any], object]]
"""By the type, what makes its value of a file's, or raises of another type's."""

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")  # 007 and 1_000 are text


def _number(value: str | int | float) -> int | float:
    """Return a number, or the number that a CSV file's text states."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value) if set(value) & set(".eE") else int(value)
    if isinstance(value, bool | str):
        raise ValueError(value)
    return value


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
    return value if isinstance(value, bool) else {"true": True, "false": False}[value]


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


_DATES: Final[Readers] = {"date": _date, "datetime": _datetime}
_READERS: Final[Readers] = {
    "integer": _integer, "float": _float, "boolean": _boolean, **_DATES
}  # fmt: skip


def _column(values: list[object], *, quoted: bool) -> tuple[FieldType, list[object]]:
    """Return the narrowest type that holds all the values, and the values as such; `quoted` strings are no numbers."""
    dates_only = quoted and any(isinstance(value, str) for value in values)
    for kind, read_value in (_DATES if dates_only else _READERS).items():
        try:
            return kind, [read_value(value) for value in values]
        except (ValueError, TypeError, KeyError, OverflowError):
            continue
    return "string", [value if isinstance(value, str) else json.dumps(value) for value in values]


def _typed(file: Path, records: list[Record]) -> tuple[Schema, list[Record]]:
    """Return the inferred schema and the records with typed values, ``_id`` first."""
    keys = [str(record["_id"]) for record in records] if "_id" in records[0] else ids(0, file.stem, len(records))
    names = [name for name in records[0] if name != "_id"]
    quoted = file.suffix.lower() != ".csv"
    columns = [_column([record[name] for record in records], quoted=quoted) for name in names]
    kinds: list[FieldType] = ["string", *(kind for kind, _ in columns)]
    rows = zip(keys, *(values for _, values in columns), strict=True)
    names.insert(0, "_id")
    return Schema(STORE, tuple(map(Field, names, kinds))), [dict(zip(names, row, strict=True)) for row in rows]
