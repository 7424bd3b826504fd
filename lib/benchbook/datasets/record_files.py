"""Files of a user's records as other systems write them: JSON, delimited text and Parquet.

A `RecordFile` yields records with their lines. The delimiter and the decimal mark of delimited text
are guessed, and can be given as options after the file's name:
``FILE#delimiter=semicolon+decimal=comma``.
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
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchbook.files.inputs import InputError, decode_utf8, read_bytes
from benchbook.files.parquet import TooLargeError, check_size
from benchbook.schema import Document, Record
from benchbook.text.number_format import format_count

MAX_BYTES: Final = 256 * 2**20
"""Bytes of the largest file that is read."""

MAX_DEPTH: Final = 100
"""Levels of the deepest nesting of a record: MongoDB's limit."""

NumberedRecords = Iterator[tuple[int, Record]]
"""Records with their line in the file; in Parquet, with their row."""

DELIMITERS: Final = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
DECIMALS: Final = {"point": ".", "comma": ","}
_OPTIONS: Final = {"delimiter": DELIMITERS, "decimal": DECIMALS}
_BATCH_ROWS: Final = 1_000
_SNIFFED_ROWS: Final = 200
_SNIFFED_CHARACTERS: Final = 2**18
_TABLE_SUFFIXES: Final = (".csv", ".tsv", ".tab")
TEXT_SUFFIXES: Final = (*_TABLE_SUFFIXES, ".txt")
"""Suffixes of delimited files; a file with the last one may also be JSON."""
_ENCODING_MARKS: Final = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
_ENCODING_NAMES: Final = {
    "utf-8-sig": "UTF-8 with a byte order mark",
    "utf-16": "UTF-16",
    "": "UTF-8",
}


@dataclass
class RecordFile:
    """A file of records in memory; it is described completely when all `rows` have been read."""

    path: Path
    data: bytes
    decimal: str  # the option after the file's name; empty: to be guessed from the values
    format: str = ""  # ``JSON Lines``, ``JSON array``, ``delimited text`` or ``Parquet``
    encoding: str = ""  # in words; empty for Parquet
    delimiter: str = ""  # of delimited text
    line_end: str = ""  # in words
    header: Sequence[str] = ()  # the columns' names in their order, of delimited text
    # A sentence for each change of values.
    notes: dict[str, None] = field(default_factory=dict)

    @property
    def is_text(self) -> bool:
        """Whether every value is text, so that numbers must be read from it."""
        return self.format == "delimited text"

    def rows(self) -> NumberedRecords:
        """Yield the records; raises `InputError`, with file and line, at the first error."""
        self.notes.clear()
        count = 0
        record: Record = {}
        for line, record in self._read_rows():
            count += 1
            yield line, record
        if not count:
            raise InputError(str(self.path), "holds no record")
        lists = [name for name, value in record.items() if isinstance(value, list) and value[1:]]
        if count == 1 and len(lists) == 1 and not self.is_text:
            remedy = f"If its records are in {lists[0]}: jq -c '.\"{lists[0]}\"[]' FILE"
            self.notes[f"It is one record. {remedy}"] = None

    def _read_rows(self) -> NumberedRecords:
        if self.data.startswith(b"PAR1"):
            self.format = "Parquet"
            return self._read_parquet()
        decoded, codec = _decode_text(self.path, self.data)
        self.encoding = _ENCODING_NAMES[codec]
        self.line_end = "Windows" if "\r\n" in decoded[:_SNIFFED_CHARACTERS] else "Unix"
        start = _skip_blanks(decoded, 0)
        suffix = self.path.suffix.lower()
        if suffix in _TABLE_SUFFIXES or (
            suffix == ".txt" and decoded[start : start + 1] not in ("{", "[")
        ):
            self.format = "delimited text"
            return self._read_delimited(decoded)
        is_array = decoded.startswith("[", start)
        self.format = "JSON array" if is_array else "JSON Lines"
        return self._read_json(decoded, start, is_array)

    def _read_json(self, decoded: str, position: int, is_array: bool) -> NumberedRecords:
        """Yield each object of an array, or of a text with one object after another."""
        parse = self._make_parser()
        line, counted, first = 1, 0, True
        position += is_array
        while True:
            position = _skip_blanks(decoded, position)
            if is_array and not first and decoded.startswith(",", position):
                position = _skip_blanks(decoded, position + 1)
            elif is_array and decoded.startswith("]", position):
                break
            elif is_array and not first:
                mark = decoded[position : position + 1]
                line += decoded.count("\n", counted, position)
                why = f"a comma or ] is expected, not {mark!r}" if mark else _CUT_OFF_REASON
                raise InputError(f"{self.path}:{line}", why)
            elif position == len(decoded) and not is_array:
                return
            line += decoded.count("\n", counted, position)
            counted = position
            where = f"{self.path}:{line}"
            try:
                record, end = parse(decoded, position)
                if "\\u" in decoded[position:end]:
                    # Half of a surrogate pair is not a character.
                    json.dumps(record, ensure_ascii=False).encode()
            except json.JSONDecodeError as error:
                raise self._explain_json_error(error, decoded, line) from error
            except (ValueError, TypeError, RecursionError) as error:
                raise InputError(where, f"not a JSON object: {error}") from error
            if not isinstance(record, dict):
                raise InputError(where, f"a JSON object is expected, not {type(record).__name__}")
            _check_nesting(where, record)
            yield line, record
            position, first = end, False
        rest = _skip_blanks(decoded, position + 1)
        if rest < len(decoded):
            found = decoded[rest : rest + 20]
            raise InputError(str(self.path), f"after the array's end is {found!r}")

    def _make_parser(self) -> Callable[[str, int], tuple[Any, int]]:
        decoder = json.JSONDecoder(
            object_pairs_hook=self._read_object,
            parse_float=_parse_finite,
            parse_constant=_refuse_number,
        )
        return decoder.raw_decode

    def _explain_json_error(
        self, error: json.JSONDecodeError, decoded: str, line: int
    ) -> InputError:
        """Return the error of a record that begins on a line."""
        where = f"{self.path}:{line}"
        if error.pos >= len(decoded.rstrip()):
            return InputError(where, _CUT_OFF_REASON)
        if error.lineno > line and error.colno == 1 and decoded[error.pos] == "{":
            why = f"the record is cut off before line {error.lineno}, where another begins"
            return InputError(where, f"{why}: complete or delete it")
        began = f" (the record begins on line {line})" if error.lineno != line else ""
        why = f"not JSON: {error.msg}, at column {error.colno}{began}"
        return InputError(f"{self.path}:{error.lineno}", why)

    def _read_object(self, pairs: list[tuple[str, Any]]) -> object:
        """Return a JSON object, or the value that MongoDB's export writes as one.

        Raises ValueError when the object has a name twice.
        """
        if len(pairs) == 1 and pairs[0][0] in _MONGODB_READERS:
            name, value = pairs[0]
            meaning = "$oid is taken as text, $date as a moment, numbers as numbers"
            self.notes[f"MongoDB's Extended JSON: {meaning}."] = None
            return _MONGODB_READERS[name](value)
        record = dict(pairs)
        if len(record) < len(pairs):
            twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
            raise ValueError(f"the name {twice!r} comes twice")
        return record

    def _read_delimited(self, decoded: str) -> NumberedRecords:
        """Yield each row's cells that are not empty, by the names in the header."""
        csv.field_size_limit(MAX_BYTES)
        lines = io.StringIO(decoded, newline="")
        if decoded[:4].lower() == "sep=":
            # Excel's own line for the delimiter is not a row.
            self.delimiter = self.delimiter or decoded[4]
            lines.readline()
        self.delimiter = self.delimiter or _guess_delimiter(decoded, self.path)
        skipped = decoded[: lines.tell()].count("\n")
        reader = csv.reader(lines, strict=True, delimiter=self.delimiter)
        try:
            self.header = header = self._complete_header(next(reader, []), skipped + 1)
            empty = dict.fromkeys(header)
            for row in reader:
                where = f"{self.path}:{reader.line_num + skipped}"
                record = {name: cell for name, cell in zip(header, row, strict=False) if cell}
                if not record:
                    if row:
                        self.notes["Rows whose cells are all empty were passed over."] = None
                    continue
                if len(row) < len(header) or any(row[len(header) :]):
                    values = format_count(len(row), "value")
                    names = format_count(len(header), "name")
                    remedy = "complete the row, or quote its texts"
                    other = f"another delimiter than {self.delimiter!r}"
                    raise InputError(
                        where,
                        f"{values} under {names}: {remedy}; where all rows are so, state {other}",
                    )
                for name in empty.keys() & record.keys():
                    del empty[name]
                yield reader.line_num + skipped, record
            self.notes |= {f"{name} is empty in every row, and left out.": None for name in empty}
        except csv.Error as error:
            raise InputError(
                f"{self.path}:{reader.line_num + skipped or 1}", f"not CSV: {error}"
            ) from error

    def _complete_header(self, names: list[str], line: int) -> list[str]:
        """Return the names of the columns; a column without a name is named by its number."""
        where = f"{self.path}:{line}"
        twice = [name for name, count in Counter(filter(None, names)).items() if count > 1]
        if twice:
            raise InputError(where, f"the name {twice[0]!r} comes twice: rename one of the columns")
        completed = [name or f"column_{number}" for number, name in enumerate(names, 1)]
        if len(set(completed)) < len(completed):
            raise InputError(where, f"the header's names must be distinct: {completed}")
        return completed

    def _read_parquet(self) -> NumberedRecords:
        number = 0
        try:
            check_size(pa.BufferReader(self.data), MAX_BYTES)
            for batch in pq.ParquetFile(pa.BufferReader(self.data)).iter_batches(
                batch_size=_BATCH_ROWS
            ):
                for record in self._cut_to_microseconds(batch).to_pylist():
                    number += 1
                    where = f"{self.path}:{number}"
                    yield (
                        number,
                        {
                            name: self._convert_value(value, where, name, inside=False)
                            for name, value in record.items()
                        },
                    )
        except InputError:
            raise
        except TooLargeError as error:
            raise InputError(
                str(self.path), f"{error}: take some of its rows, or leave long texts out"
            ) from error
        except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
            why = str(error).partition("\n")[0] or "memory ran out"
            raise InputError(str(self.path), f"not Parquet that can be read: {why}") from error

    def _cut_to_microseconds(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch with its moments in microseconds.

        Otherwise pyarrow makes a `pandas.Timestamp` of nanoseconds, which JSON does not have.
        """
        for place, column in enumerate(batch.columns):
            is_moment = pa.types.is_timestamp(column.type) and column.type.tz
            if not is_moment or column.type.unit != "ns":
                continue
            name = batch.schema.field(place).name
            cut = column.cast(pa.timestamp("us", column.type.tz), safe=False)
            if not cut.cast(column.type).equals(column):
                self.notes[f"{name}: {CUT_NOTE}"] = None
            batch = batch.set_column(place, name, cut)
        return batch

    def _convert_value(
        self, value: object, where: str, name: str, *, inside: bool = True
    ) -> object:
        """Return a Parquet value as a JSON value; outside of other values, dates stay dates."""
        if isinstance(value, dict):
            return {
                key: self._convert_value(part, where, f"{name}.{key}")
                for key, part in value.items()
            }
        if isinstance(value, list):
            return [self._convert_value(part, where, name) for part in value]
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(where, f"{name}: JSON does not have the number {value}: write null")
        if isinstance(value, datetime) and value.tzinfo and not inside:
            return value.astimezone(UTC)
        if isinstance(value, date) and not isinstance(value, datetime) and not inside:
            return value
        if isinstance(value, date | time):
            texts = "times without a zone, and days inside documents"
            self.notes[f"{name}: {texts}, are taken as ISO 8601 text."] = None
            return value.isoformat()
        if isinstance(value, Decimal):
            self.notes[f"{name}: decimal numbers are taken as the nearest double."] = None
            return float(value)
        if value is None or isinstance(value, str | int | float):
            return value
        why = f"{type(value).__name__} is neither text nor number: leave the column out"
        raise InputError(where, f"{name}: {why}")


CUT_NOTE: Final = "moments are kept in milliseconds; what is finer is cut off."
_CUT_OFF_REASON: Final = "ends in the middle of a record: the file is cut off"


def open_record_file(path: str | Path) -> RecordFile:
    """Return a file of records, with the options after its name.

    Raises `InputError` when the file does not exist or is too large, or an option is unknown.
    """
    file, options = split_options(path)
    data = read_bytes(file, MAX_BYTES)
    decimal, delimiter = options.get("decimal", ""), options.get("delimiter", "")
    return RecordFile(file, data, decimal, delimiter=delimiter)


def split_options(path: str | Path) -> tuple[Path, dict[str, str]]:
    """Return a file's path and its options: the characters of ``delimiter`` and ``decimal``."""
    name, mark, options = str(path).rpartition("#")
    if not mark or "=" not in options or Path(path).exists():
        return Path(path), {}
    stated = {}
    for option in options.split("+"):
        key, _, word = option.partition("=")
        if word not in _OPTIONS.get(key, {}):
            known = ", ".join(f"{key}={'|'.join(words)}" for key, words in _OPTIONS.items())
            raise InputError(str(path), f"{option!r} is not a file option: {known}")
        stated[key] = _OPTIONS[key][word]
    return Path(name), stated


def _decode_text(path: Path, data: bytes) -> tuple[str, str]:
    """Return a file's text, and the encoding of its byte order mark, if it has one."""
    codec = next((codec for mark, codec in _ENCODING_MARKS.items() if data.startswith(mark)), "")
    if codec != "utf-16":
        return decode_utf8(data, str(path)), codec
    try:
        return data.decode(codec), codec
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}:1", f"is not UTF-16, as its first bytes say: {error.reason}"
        ) from error


def _guess_delimiter(decoded: str, path: Path) -> str:
    """Return the delimiter with which most rows have as many cells as the header.

    Of equal ones, it is the one with which the header has most cells.
    """
    sample = io.StringIO(decoded[:_SNIFFED_CHARACTERS], newline="")
    best = (0.0, 1, "\t" if path.suffix.lower() in (".tsv", ".tab") else ",")
    for mark in DELIMITERS.values():
        sample.seek(0)
        first_rows = islice(csv.reader(sample, delimiter=mark), _SNIFFED_ROWS)
        rows = [row for row in first_rows if row]
        width = len(rows[0]) if rows else 0
        if width > 1:
            alike = sum(len(row) == width for row in rows) / len(rows)
            best = max(best, (alike, width, mark), key=lambda choice: choice[:2])
    return best[2]


_BLANK: Final = re.compile(r"[ \t\r\n]*")


def _skip_blanks(decoded: str, position: int) -> int:
    blanks = _BLANK.match(decoded, position)
    return blanks.end() if blanks else position


def _parse_finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"the number {number} is beyond what a double holds")
    return value


def _refuse_number(name: str) -> float:
    raise ValueError(f"JSON does not have the number {name}: write null")


def _read_mongodb_date(value: object) -> str:
    """Return MongoDB's date, a text or milliseconds since 1970, as ISO 8601."""
    if isinstance(value, str):
        return value
    if not isinstance(value, int | float):
        raise ValueError("a $date is neither text nor milliseconds: leave the field out")
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=value)).isoformat()
    except OverflowError as error:
        raise ValueError(f"the $date {value} is not in the years 1 to 9999: write null") from error


def _read_mongodb_number(value: Any) -> float:
    """Return the number that MongoDB's export writes as text."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number} is no finite double: write null")
    return number


_MONGODB_READERS: Final[dict[str, Callable[[Any], object]]] = {
    "$oid": str,
    "$date": _read_mongodb_date,
    "$numberInt": int,
    "$numberLong": int,
    "$numberDouble": _read_mongodb_number,
    "$numberDecimal": _read_mongodb_number,
}


def _check_nesting(where: str, value: Document) -> None:
    """Raise `InputError` when a document is nested too deep, or has a field without a name."""
    level: Sequence[Any] = [value]
    for _ in range(MAX_DEPTH):
        inner: list[Any] = []
        for part in level:
            if isinstance(part, dict):
                if "" in part:
                    raise InputError(where, "a field has no name")
                inner += part.values()
            else:
                inner += part
        level = [part for part in inner if isinstance(part, dict | list)]
        if not level:
            return
    raise InputError(where, f"is nested more than {MAX_DEPTH} deep")
