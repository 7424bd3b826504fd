"""A query's answer as text, CSV, JSON or Parquet, written in pieces: DuckDB itself puts each value into words."""

import codecs
import csv
import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq
from duckdb.sqltypes import DuckDBPyType

from benchbook.cli import status

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TABLE: Final = "_answer"
"""Where the answer stands on its connection."""

_PIECE: Final = 10_000
_WIDEST: Final = 40

_SIGNED: Final = frozenset({"tinyint", "smallint", "integer", "bigint", "hugeint", "bignum"})
_UNSIGNED: Final = frozenset({"utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"})
_NUMBERS: Final = frozenset({"boolean", "decimal", *_SIGNED, *_UNSIGNED})
_FLOATS: Final = frozenset({"float", "double"})
_NESTED: Final = frozenset({"list", "array", "struct", "map", "union", "json"})
_NOT_IN_PARQUET: Final = frozenset({"interval", "union", "bit", "bignum", "time with time zone"})
_MOMENT: Final = re.compile(r"^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)(\+00)?$")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

Write = Callable[["DuckDBPyConnection", BinaryIO], None]


def _text(connection: "DuckDBPyConnection", file: BinaryIO) -> None:
    """Write columns under their names; long values are cut."""
    columns = _columns(connection)
    widths = [len(_shown(name)) for name, _ in columns]
    for row in _rows(connection):
        widths = [max(width, len(_shown(value))) for width, value in zip(widths, row, strict=True)]
    file.write(_line(tuple(name for name, _ in columns), widths))
    for row in _rows(connection):
        file.write(_line(row, widths))


def _line(row: tuple[str | None, ...], widths: list[int]) -> bytes:
    cells = (_shown(value).rjust(width) for value, width in zip(row, widths, strict=True))
    return ("  ".join(cells) + "\n").encode()


def _shown(value: str | None) -> str:
    """Return a value on one line."""
    words = _CONTROL.sub(" ", "NULL" if value is None else value[: _WIDEST + 1])
    return words if len(words) <= _WIDEST else words[: _WIDEST - 3] + "..."


def _csv(connection: "DuckDBPyConnection", file: BinaryIO) -> None:
    """Write a header and the rows; what is missing is empty."""
    writer = csv.writer(codecs.getwriter("utf-8")(file), lineterminator="\n")
    writer.writerow(name for name, _ in _columns(connection))
    writer.writerows(_rows(connection))


def _json(connection: "DuckDBPyConnection", file: BinaryIO) -> None:
    """Write one array of objects, one a line; what JSON has no number for is null."""
    columns = _columns(connection)
    parts = [_as_json(kind) for _, kind in columns]
    names = [json.dumps(name, ensure_ascii=False) for name, _ in columns]
    between = "["
    for row in _rows(connection, json_columns=True):
        values = ("null" if value is None else part(value) for part, value in zip(parts, row, strict=True))
        line = ",".join(f"{name}:{value}" for name, value in zip(names, values, strict=True))
        file.write(f"{between}{{{line}}}".encode())
        between = ",\n "
    file.write(b"[]\n" if between == "[" else b"]\n")


def _as_json(kind: str) -> Callable[[str], str]:
    """Return what makes JSON of the words for a value of that type."""
    if kind in _NUMBERS | _FLOATS:
        return str
    if kind in _NESTED:
        return _nested
    if kind.startswith("timestamp"):
        return lambda words: json.dumps(
            _MOMENT.sub(lambda found: f"{found[1]}T{found[2]}{(found[3] and 'Z') or ''}", words)
        )
    return lambda words: json.dumps(words, ensure_ascii=False)


def _nested(words: str) -> str:
    """Return DuckDB's JSON without its NaN and infinities."""
    try:
        return json.dumps(json.loads(words, parse_constant=lambda _: None), ensure_ascii=False)
    except (ValueError, RecursionError) as error:
        raise status.UsageError(f"--sql: a value that JSON cannot hold: {error}") from error


def _parquet(connection: "DuckDBPyConnection", file: BinaryIO) -> None:
    """Write the columns with their types."""
    table = connection.table(TABLE)
    for name, kind in zip(table.columns, table.types, strict=True):
        if not _fits(kind) or _exceeds(connection, name, kind.id):
            wrong = f"column {name!r} is of type {kind}, of which Parquet cannot hold every value"
            raise status.UsageError(f"--sql: {wrong}: cast it, as in CAST({name} AS VARCHAR)")
    reader = connection.sql(f"SELECT * FROM {TABLE}").to_arrow_reader(_PIECE)
    try:
        with pq.ParquetWriter(file, reader.schema) as writer:
            for piece in reader:
                writer.write_batch(piece)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise status.UsageError(f"--sql: a type that Parquet cannot hold: {error}") from error


def _fits(kind: DuckDBPyType) -> bool:
    """Return whether Parquet, as it is written here, has the type and all that it is made of."""
    if kind.id in ("list", "array", "struct", "map", "union"):
        inner = [child for _, child in kind.children if isinstance(child, DuckDBPyType)]
        return kind.id != "union" and all(map(_fits, inner))
    return kind.id not in _NOT_IN_PARQUET


def _exceeds(connection: "DuckDBPyConnection", name: str, kind: str) -> bool:
    """Return whether a column holds an infinite time, or an integer of more than 38 digits."""
    column = _quoted(name)
    if kind in ("hugeint", "uhugeint"):
        wrong = f"length(ltrim(CAST({column} AS VARCHAR), '-')) > 38"
    elif kind.startswith("timestamp") or kind == "date":
        wrong = f"NOT isfinite({column})"
    else:
        return False
    return connection.execute(f"SELECT 1 FROM {TABLE} WHERE {wrong} LIMIT 1").fetchone() is not None


def _columns(connection: "DuckDBPyConnection") -> list[tuple[str, str]]:
    """Return each column's name and type."""
    table = connection.table(TABLE)
    return [(name, kind.id) for name, kind in zip(table.columns, table.types, strict=True)]


def _rows(connection: "DuckDBPyConnection", *, json_columns: bool = False) -> Iterator[tuple[str | None, ...]]:
    """Yield each row in words, for JSON in such that DuckDB's numbers are JSON's."""
    words = ", ".join(_words(_quoted(name), kind if json_columns else "") for name, kind in _columns(connection))
    cursor = connection.execute(f"SELECT {words} FROM {TABLE}")
    while piece := cursor.fetchmany(_PIECE):
        yield from piece


def _words(column: str, kind: str) -> str:
    if kind in _FLOATS:
        return f"CASE WHEN isfinite({column}) THEN CAST({column} AS VARCHAR) END"
    return f"CAST({f'to_json({column})' if kind in _NESTED else column} AS VARCHAR)"


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


FORMATS: Final[dict[str, Write]] = {"text": _text, "csv": _csv, "json": _json, "parquet": _parquet}
"""How each form is written."""

SUFFIXES: Final = {"": "text", ".txt": "text", ".csv": "csv", ".json": "json", ".parquet": "parquet"}
"""What the name of a file says of its form."""
