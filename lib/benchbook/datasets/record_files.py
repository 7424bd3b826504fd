"""Files of a person's own records as other systems write them: JSON, delimited text, Parquet; and how each was read.

In come a file's bytes, out go its records with their lines: `RecordFile`. What a delimited file does not say of itself
is sniffed, and can be stated behind its name: ``FILE#delimiter=semicolon+decimal=comma``.
"""

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchbook.digits import plural
from benchbook.inputs import InputError, contents, text
from benchbook.parquet import TooLargeError, check_size
from benchbook.schemas import Document, Record

LIMIT: Final = 256 * 2**20
"""Bytes of the largest file that is read."""

DEPTH: Final = 100
"""How deep a record may be nested: MongoDB takes no more."""

Rows = Iterator[tuple[int, Record]]
"""Records with their line in the file; of Parquet, with their row."""

DELIMITERS: Final = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
DECIMALS: Final = {"point": ".", "comma": ","}
_STATED: Final = {"delimiter": DELIMITERS, "decimal": DECIMALS}
_BATCH_ROWS: Final = 1_000
_SNIFFED_ROWS: Final = 200
_SNIFFED_CHARACTERS: Final = 2**18
_TABLES: Final = (".csv", ".tsv", ".tab")
TEXTS: Final = (*_TABLES, ".txt")
"""Names of delimited files end so; in those that end in the last there may be JSON."""
_BOMS: Final = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_CALLED: Final = {"utf-8-sig": "UTF-8 with a byte order mark", "utf-16": "UTF-16", "": "UTF-8"}


@dataclass
class RecordFile:
    """A file of records, read into memory; what was understood of it is complete once all `rows` were taken."""

    path: Path
    data: bytes
    decimal: str  # as stated behind the name; empty: to be sniffed of the cells
    format: str = ""  # ``JSON Lines``, ``JSON array``, ``delimited text`` or ``Parquet``
    encoding: str = ""  # in words; empty for Parquet
    delimiter: str = ""  # of delimited text
    line_end: str = ""  # in words
    header: Sequence[str] = ()  # the columns' names in their order, of delimited text
    notes: dict[str, None] = field(default_factory=dict)  # what was not taken as it stands, each a sentence

    @property
    def is_text(self) -> bool:
        """Whether every value is text, of which numbers are still to be made."""
        return self.format == "delimited text"

    def rows(self) -> Rows:
        """Yield the records. Raises `InputError`, with file and line, at what cannot be read."""
        self.notes.clear()
        count = 0
        record: Record = {}
        for line, record in self._rows():
            count += 1
            yield line, record
        if not count:
            raise InputError(str(self.path), "holds no record")
        lists = [name for name, value in record.items() if isinstance(value, list) and len(value) > 1]
        if count == 1 and len(lists) == 1 and not self.is_text:
            self.notes[f"It is one record. If its records are in {lists[0]}: jq -c '.\"{lists[0]}\"[]' FILE"] = None

    def _rows(self) -> Rows:
        if self.data.startswith(b"PAR1"):
            self.format = "Parquet"
            return self._parquet()
        decoded, codec = _decoded(self.path, self.data)
        self.encoding = _CALLED[codec]
        self.line_end = "Windows" if "\r\n" in decoded[:_SNIFFED_CHARACTERS] else "Unix"
        start = _after_blanks(decoded, 0)
        suffix = self.path.suffix.lower()
        if suffix in _TABLES or (suffix == ".txt" and decoded[start : start + 1] not in ("{", "[")):
            self.format = "delimited text"
            return self._delimited(decoded)
        is_array = decoded.startswith("[", start)
        self.format = "JSON array" if is_array else "JSON Lines"
        return self._json(decoded, start, is_array)

    def _json(self, decoded: str, position: int, is_array: bool) -> Rows:
        """Yield each object of an array, or of a text in which one follows another, on a line each or on several."""
        parse = json.JSONDecoder(
            object_pairs_hook=self._object, parse_float=_finite, parse_constant=_no_number
        ).raw_decode
        line, counted, first = 1, 0, True
        position += is_array
        while True:
            position = _after_blanks(decoded, position)
            if is_array and not first and decoded.startswith(",", position):
                position = _after_blanks(decoded, position + 1)
            elif is_array and decoded.startswith("]", position):
                break
            elif is_array and not first:
                mark = decoded[position : position + 1]
                line += decoded.count("\n", counted, position)
                raise InputError(f"{self.path}:{line}", f"a comma or ] is expected, not {mark!r}" if mark else _CUT_OFF)
            elif position == len(decoded) and not is_array:
                return
            line += decoded.count("\n", counted, position)
            counted = position
            where = f"{self.path}:{line}"
            try:
                record, end = parse(decoded, position)
                if "\\u" in decoded[position:end]:
                    # Half of a surrogate pair is no character.
                    json.dumps(record, ensure_ascii=False).encode()
            except json.JSONDecodeError as error:
                if error.pos >= len(decoded.rstrip()):
                    raise InputError(where, _CUT_OFF) from error
                if error.lineno > line and error.colno == 1 and decoded[error.pos] == "{":
                    why = f"the record is cut off before line {error.lineno}, where another begins"
                    raise InputError(where, f"{why}: complete or delete it") from error
                began = f" (the record begins on line {line})" if error.lineno != line else ""
                why = f"not JSON: {error.msg}, at column {error.colno}{began}"
                raise InputError(f"{self.path}:{error.lineno}", why) from error
            except (ValueError, TypeError, RecursionError) as error:
                raise InputError(where, f"not a JSON object: {error}") from error
            if not isinstance(record, dict):
                raise InputError(where, f"a JSON object is expected, not {type(record).__name__}")
            _hold(where, record)
            yield line, record
            position, first = end, False
        if (rest := _after_blanks(decoded, position + 1)) < len(decoded):
            raise InputError(str(self.path), f"behind the array's end stands {decoded[rest : rest + 20]!r}")

    def _object(self, pairs: list[tuple[str, Any]]) -> object:
        """Return an object of a JSON document, whose names are given once each, or what MongoDB's export means."""
        if len(pairs) == 1 and (read := _EXTENDED.get(pairs[0][0])):
            self.notes["MongoDB's Extended JSON: $oid is taken as text, $date as a moment, numbers as numbers."] = None
            return read(pairs[0][1])
        record = dict(pairs)
        if len(record) < len(pairs):
            twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
            raise ValueError(f"the name {twice!r} comes twice")
        return record

    def _delimited(self, decoded: str) -> Rows:
        """Yield each row's cells that are not empty, by the header's names."""
        csv.field_size_limit(LIMIT)
        lines = io.StringIO(decoded, newline="")
        if decoded[:4].lower() == "sep=":
            # Excel's own word for it, which is no row.
            self.delimiter = self.delimiter or decoded[4]
            lines.readline()
        self.delimiter = self.delimiter or _sniffed(decoded, self.path)
        skipped = decoded[: lines.tell()].count("\n")
        reader = csv.reader(lines, strict=True, delimiter=self.delimiter)
        try:
            self.header = header = self._header(next(reader, []), skipped + 1)
            empty = dict.fromkeys(header)
            for row in reader:
                where = f"{self.path}:{reader.line_num + skipped}"
                record = {name: cell for name, cell in zip(header, row, strict=False) if cell}
                if not record:
                    if row:
                        self.notes["Rows whose cells are all empty were passed over."] = None
                    continue
                if len(row) < len(header) or any(row[len(header) :]):
                    found = f"{plural(len(row), 'value')} under {plural(len(header), 'name')}"
                    other = f"where all rows are so, state another delimiter than {self.delimiter!r}"
                    raise InputError(where, f"{found}: complete the row, or quote its texts; {other}")
                for name in empty.keys() & record.keys():
                    del empty[name]
                yield reader.line_num + skipped, record
            self.notes |= {f"{name} is empty in every row, and left out.": None for name in empty}
        except csv.Error as error:
            raise InputError(f"{self.path}:{reader.line_num + skipped or 1}", f"not CSV: {error}") from error

    def _header(self, names: list[str], line: int) -> list[str]:
        """Return the names of the columns; one without a name is called by its number."""
        if twice := [name for name, count in Counter(filter(None, names)).items() if count > 1]:
            raise InputError(f"{self.path}:{line}", f"the name {twice[0]!r} comes twice: rename one of the columns")
        called = [name or f"column_{number}" for number, name in enumerate(names, 1)]
        if len(set(called)) < len(called):
            raise InputError(f"{self.path}:{line}", f"the header's names must be distinct: {called}")
        return called

    def _parquet(self) -> Rows:
        number = 0
        try:
            check_size(pa.BufferReader(self.data), LIMIT)
            for batch in pq.ParquetFile(pa.BufferReader(self.data)).iter_batches(batch_size=_BATCH_ROWS):
                for record in self._in_microseconds(batch).to_pylist():
                    number += 1
                    yield number, {name: self._plain(value, f"{self.path}:{number}", name, inside=False)
                                   for name, value in record.items()}  # fmt: skip
        except InputError:
            raise
        except TooLargeError as error:
            raise InputError(str(self.path), f"{error}: take some of its rows, or leave long texts out") from error
        except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
            why = str(error).partition("\n")[0] or "memory ran out"
            raise InputError(str(self.path), f"not Parquet that can be read: {why}") from error

    def _in_microseconds(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch with its moments in microseconds.

        Of nanoseconds pyarrow makes a `pandas.Timestamp`, which is no JSON.
        """
        for place, column in enumerate(batch.columns):
            if not pa.types.is_timestamp(column.type) or column.type.unit != "ns" or not column.type.tz:
                continue
            name = batch.schema.field(place).name
            cut = column.cast(pa.timestamp("us", column.type.tz), safe=False)
            if not cut.cast(column.type).equals(column):
                self.notes[f"{name}: {CUT}"] = None
            batch = batch.set_column(place, name, cut)
        return batch

    def _plain(self, value: object, where: str, name: str, *, inside: bool = True) -> object:
        """Return a value of Parquet's as JSON has it; a day or a moment that is not inside another value stays one."""
        if isinstance(value, dict):
            return {key: self._plain(part, where, f"{name}.{key}") for key, part in value.items()}
        if isinstance(value, list):
            return [self._plain(part, where, name) for part in value]
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(where, f"{name}: {value} is no number that JSON has: write null")
        if isinstance(value, datetime) and value.tzinfo and not inside:
            return value.astimezone(UTC)
        if isinstance(value, date) and not isinstance(value, datetime) and not inside:
            return value
        if isinstance(value, date | time):
            self.notes[f"{name}: times without a zone, and days inside documents, are taken as ISO 8601 text."] = None
            return value.isoformat()
        if isinstance(value, Decimal):
            self.notes[f"{name}: decimal numbers are taken as the nearest double."] = None
            return float(value)
        if value is None or isinstance(value, str | int | float):
            return value
        raise InputError(where, f"{name}: {type(value).__name__} is neither text nor number: leave the column out")


CUT: Final = "moments are kept in milliseconds; what is finer is cut off."
_CUT_OFF: Final = "ends in the middle of a record: the file is cut off"


def opened(path: str | Path) -> RecordFile:
    """Return a file of records, whose name may state how it is to be read.

    Raises `InputError` when it is not there or too large, or what is stated behind the name is nothing to state.
    """
    file, stated = located(path)
    return RecordFile(file, contents(file, LIMIT), stated.get("decimal", ""), delimiter=stated.get("delimiter", ""))


def located(path: str | Path) -> tuple[Path, dict[str, str]]:
    """Return a file's path and what is stated behind it: the ``delimiter`` and the ``decimal`` mark themselves."""
    name, mark, options = str(path).rpartition("#")
    if not mark or "=" not in options or Path(path).exists():
        return Path(path), {}
    stated = {}
    for option in options.split("+"):
        key, _, word = option.partition("=")
        if word not in _STATED.get(key, {}):
            known = ", ".join(f"{key}={'|'.join(words)}" for key, words in _STATED.items())
            raise InputError(str(path), f"{option!r} is nothing to state of a file: {known}")
        stated[key] = _STATED[key][word]
    return Path(name), stated


def _decoded(path: Path, data: bytes) -> tuple[str, str]:
    """Return a file's text, and the codec that its byte order mark names, if it has one."""
    codec = next((codec for mark, codec in _BOMS.items() if data.startswith(mark)), "")
    if codec != "utf-16":
        return text(data, str(path)), codec
    try:
        return data.decode(codec), codec
    except UnicodeDecodeError as error:
        raise InputError(f"{path}:1", f"is not UTF-16, as its first bytes say: {error.reason}") from error


def _sniffed(decoded: str, path: Path) -> str:
    """Return the delimiter under which most rows have as many cells as the header, and the header has most."""
    sample = io.StringIO(decoded[:_SNIFFED_CHARACTERS], newline="")
    best = (0.0, 1, "\t" if path.suffix.lower() in (".tsv", ".tab") else ",")
    for mark in DELIMITERS.values():
        sample.seek(0)
        rows = [row for row, _ in zip(csv.reader(sample, delimiter=mark), range(_SNIFFED_ROWS), strict=False) if row]
        width = len(rows[0]) if rows else 0
        if width > 1:
            alike = sum(len(row) == width for row in rows) / len(rows)
            best = max(best, (alike, width, mark), key=lambda choice: choice[:2])
    return best[2]


_BLANK: Final = re.compile(r"[ \t\r\n]*")


def _after_blanks(decoded: str, position: int) -> int:
    blanks = _BLANK.match(decoded, position)
    return blanks.end() if blanks else position


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"the number {number} is beyond what a double holds")
    return value


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number that JSON has: write null")


def _moment(value: object) -> str:
    """Return MongoDB's moment, a text or milliseconds since 1970, as ISO 8601."""
    if isinstance(value, str):
        return value
    if not isinstance(value, int | float):
        raise ValueError("a $date is neither text nor milliseconds: leave the field out")
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=value)).isoformat()
    except OverflowError as error:
        raise ValueError(f"the $date {value} is not in the years 1 to 9999: write null") from error


def _double(value: Any) -> float:
    """Return the number that MongoDB's export writes as a text."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number} is no finite double: write null")
    return number


_EXTENDED: Final[dict[str, Callable[[Any], object]]] = {
    "$oid": str, "$date": _moment,
    "$numberInt": int, "$numberLong": int, "$numberDouble": _double, "$numberDecimal": _double,
}  # fmt: skip


def _hold(where: str, value: Document) -> None:
    """Raise `InputError` when a document is nested too deep, or has a field without a name."""
    level: Sequence[Any] = [value]
    for _ in range(DEPTH):
        inner: list[Any] = []
        for part in level:
            if isinstance(part, dict):
                if "" in part:
                    raise InputError(where, "a field has no name")
                inner += part.values()
            else:
                inner += part
        if not (level := [part for part in inner if isinstance(part, dict | list)]):
            return
    raise InputError(where, f"is nested more than {DEPTH} deep")
