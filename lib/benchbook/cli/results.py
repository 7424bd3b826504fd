"""`benchbook results`: a query over the merged results, which it cannot change; it sees no other file.

The answer is text, CSV, JSON, Parquet or a DuckDB database, written in pieces: DuckDB itself puts values into words.
`benchbook results import` takes in cells that were measured before, or on another machine.
"""

import argparse
import codecs
import csv
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import BinaryIO, Final

import duckdb
import pyarrow as pa
from duckdb import DuckDBPyConnection
from duckdb.sqltypes import DuckDBPyType

from benchbook import atomic, cli, grid, results
from benchbook.cli import output
from benchbook.results.files import DamagedError, read, sealed
from benchbook.results.folder import BusyError, OtherValuesError, locked, take_in
from benchbook.results.spreadsheet import quote_formula
from benchbook.studies.levels import check_levels

MEMORY: Final = "1GB"
"""What a query may take."""

LONGEST: Final = 100_000
"""Characters of the longest query."""

BYTES: Final = 2**29
"""Of the largest file that is taken in: a hundred reference runs."""

ROWS: Final = 20_000_000
"""Of the longest."""

VALUE_BYTES: Final = 2**31
"""That the values of one may take, unpacked in memory: three reference runs."""

TABLE: Final = "_answer"
"""Where the answer stands on its connection."""

_SUMMARY: Final = """\
SELECT study, count(DISTINCT cell_id) AS cells, count(DISTINCT block) AS blocks, count(DISTINCT host) AS hosts,
    count(DISTINCT campaign) AS campaigns, count(*) AS "values",
    min(started_at)::DATE AS first, max(started_at)::DATE AS last
FROM observations GROUP BY study ORDER BY study"""

_VIEWS: Final = """
Ask more with --sql, of observations (every value of finished cells), all_observations, cells and "values":
  benchbook results --sql "SELECT engine, topology, n, avg(value) / 1e9 AS seconds FROM observations
    WHERE study = 'crud' AND operation = 'insert' AND metric = 'wall_time' AND arm = 'a' GROUP BY ALL ORDER BY ALL\""""

_HOST: Final = re.compile(r"[\w.-]+")

_TAKEN: Final = "import takes Parquet files, as benchbook results export FILE.parquet writes them, and results' folders"

_PIECE: Final = 10_000
_WIDEST: Final = 40

_FLOATS: Final = frozenset({"float", "double"})
_NUMBERS: Final = _FLOATS | {
    *("boolean", "decimal", "tinyint", "smallint", "integer", "bigint", "hugeint", "bignum"),
    *("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"),
}
_NESTED: Final = frozenset({"list", "array", "struct", "map", "union", "json"})
_NOT_IN_PARQUET: Final = frozenset({"interval", "union", "bit", "bignum", "time with time zone"})
_MOMENT: Final = re.compile(r"^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)(\+00)?$")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

_SUFFIXES: Final = {"": "text", ".txt": "text"} | {f".{form}": form for form in ("csv", "json", "parquet", "duckdb")}
"""What the name of a file says of its form."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command can be asked."""
    parser.add_argument("--sql", help='over observations, cells, "values" (default: a summary, or into a file all)')
    parser.add_argument("--profile", metavar="P", help="observations of this profile only (default: all current ones)")
    parser.add_argument(
        "--format", choices=[*_FORMATS], help="the form (default: what the file's name says, else text)"
    )
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="as --format json")
    parser.add_argument("--output", metavar="FILE", help="write there (default: standard output)")
    verbs = parser.add_subparsers(dest="verb", metavar="{import,export}")
    text = "take in cells that were measured before or elsewhere: of results' folders, or Parquet files of observations"
    taking = verbs.add_parser("import", help=text, description=text)
    taking.add_argument("path", nargs="+", metavar="PATH")
    taking.add_argument("--as", dest="host", metavar="NAME", help="import their one host under another name")
    text = "write every finished cell, whatever its code and host, to a file: CSV, JSON, Parquet or DuckDB by its name"
    giving = verbs.add_parser("export", help=text, description=text)
    giving.add_argument("path", metavar="PATH")


def main(asked: argparse.Namespace) -> int:
    """Print or write the query's rows, or take in other results."""
    if asked.verb == "import":
        return _take_in(asked.path, asked.host)
    if asked.verb == "export":
        asked.output, asked.sql = asked.path, "SELECT * FROM all_observations WHERE state = 'done'"
    form = _form(asked)
    summary = asked.sql is None and form == "text" and asked.output is None
    profile = asked.profile
    identities = grid.finished() if profile is None else {*grid.keys(grid.plan(profile=profile))}
    output.report_damage()
    with results.connect(identities, memory=MEMORY) as connection:
        _answer(connection, _SUMMARY if summary else asked.sql or "SELECT * FROM observations")
        if standing := _stand_ins(connection):
            print(f"stand-ins, not the products themselves: {', '.join(standing)}", file=sys.stderr)
        with _standard_output() if asked.output is None else _file(Path(asked.output)) as file:
            try:
                _FORMATS[form](connection, file)
            except duckdb.Error as error:
                raise cli.UsageError(f"--sql: {_reason(error)}") from error
    if summary:
        print(_VIEWS)
    return cli.DONE


def _take_in(names: Sequence[str], host: str | None = None) -> int:
    """Take in each file, under another host name if one is given, and say how many cells are new."""
    if host is not None:
        _hold_one_host(names, host)
    new = before = 0
    try:
        with locked():
            for file, table in _tables(names):
                try:
                    check_levels(table)
                    written, known = take_in(table, host)
                except OtherValuesError as error:
                    raise cli.UsageError(f"{file}: {error}") from error
                except (ValueError, MemoryError, pa.ArrowException) as error:
                    why = str(error) or "memory ran out"
                    raise cli.UsageError(f"{file}: no observations that can be read: {why}") from error
                new, before = new + written, before + known
    except BusyError as error:
        raise cli.UsageError(str(error)) from error
    print(f"cells: {new} taken in, {before} here before")
    return cli.DONE


def _hold_one_host(names: Sequence[str], host: str) -> None:
    """Raise `cli.UsageError` when the files hold several hosts' cells, which one name would make one, or it is none."""
    if not _HOST.fullmatch(host):
        raise cli.UsageError(f"--as {host!r}: a host's name has letters, digits, '.', '_' and '-'")
    hosts = set()
    for _, table in _tables(names):
        with suppress(KeyError, pa.ArrowException):  # `take_in` says what is wrong with the column
            hosts |= {*table["host"].unique().to_pylist()}
    if len(hosts) > 1:
        raise cli.UsageError(
            f"--as {host}: the files hold cells of {len(hosts)} hosts: import those of one host at a time"
        )


def _tables(names: Sequence[str]) -> Iterator[tuple[Path, pa.Table]]:
    """Yield the files with what they hold; of a results' folder all that are in its studies' folders."""
    for path in map(Path, names):
        cells = sorted(path.glob("[!.]*/[!.]*.parquet")) if path.is_dir() else []
        if path.is_dir() and not cells:
            raise cli.UsageError(f"{path}: no results are in it: name a results' folder, or a file of observations")
        for file in cells or [path]:
            try:
                if (size := file.stat().st_size) > BYTES:
                    raise DamagedError(f"it has {size:,} bytes: at most {BYTES:,} are read")
                yield file, read(file, ROWS, VALUE_BYTES)
            except DamagedError as error:
                why = str(error) if file.suffix == ".parquet" else _TAKEN
                raise cli.UsageError(f"{file}: no observations that can be read: {why}") from error


def _form(asked: argparse.Namespace) -> str:
    """Return the form that was asked for, by its name or by the file's."""
    if asked.format is not None:
        if asked.format in ("parquet", "duckdb") and not asked.output and sys.stdout.isatty():
            raise cli.UsageError(f"--format {asked.format} is not for a terminal: name an --output")
        return str(asked.format)
    suffix = Path(asked.output or "").suffix.lower()
    if suffix not in _SUFFIXES:
        known = ", ".join(filter(None, _SUFFIXES))
        raise cli.UsageError(f"--output {asked.output}: no form is called {suffix}: end it in {known}, or add --format")
    return _SUFFIXES[suffix]


def _answer(connection: DuckDBPyConnection, sql: str) -> None:
    """Keep the query's rows on the connection, within its memory.

    Raises `cli.UsageError` when it is not one SELECT, is wrong, or takes too much.
    """
    if len(sql) > LONGEST:
        raise cli.UsageError(f"--sql: {len(sql):,} characters: at most {LONGEST:,} are read")
    try:
        sql.encode()
        statements = connection.extract_statements(sql)
        if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
            raise cli.UsageError("--sql: one SELECT, nothing else: results are read here, never changed")
        _interruptible(connection, lambda: connection.sql(sql).create(TABLE))
    except (duckdb.Error, UnicodeEncodeError) as error:
        raise cli.UsageError(f"--sql: {_reason(error)}") from error


def _interruptible(connection: DuckDBPyConnection, query: Callable[[], None]) -> None:
    """Run a query in a thread, for this one alone hears Ctrl-C, at any moment; it then interrupts the query."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(query)
        try:
            running.result()
        except KeyboardInterrupt:
            while not running.done():  # an interrupt before the query has begun is lost
                connection.interrupt()
                wait([running], timeout=0.05)
            raise


def _reason(error: Exception) -> str:
    """Return DuckDB's reason on one line, without its advice to those who may set its options."""
    reason, *rest = re.split(
        r"\n+(?=LINE \d+:|Possible solutions|Database is launched)| Use \"SET", str(error), maxsplit=1
    )
    line = re.match(r"LINE (\d+):", rest[0]) if rest else None
    limit = f" (a query may take {MEMORY})" if isinstance(error, duckdb.OutOfMemoryException) else ""
    return " ".join(reason.split()) + (f" (line {line[1]})" if line else "") + limit


def _stand_ins(connection: DuckDBPyConnection) -> list[str]:
    """Return the engines of the answer's rows that stand-ins were measured as."""
    if "engine" not in connection.table(TABLE).columns:
        return []
    query = f"""SELECT DISTINCT engine FROM observations
        WHERE stand_in AND engine IN (SELECT CAST(engine AS VARCHAR) FROM {TABLE}) ORDER BY engine"""
    return [str(engine) for (engine,) in connection.execute(query).fetchall()]


@contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    if sys.stdout is None:
        raise cli.UsageError("standard output is closed: name an --output")
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


@contextmanager
def _file(path: Path) -> Iterator[BinaryIO]:
    """Yield what takes the file's new contents: the old ones stay until these are written, to the disk, whole.

    Raises `cli.UsageError` when no file can be written there, and `OSError` when the disk takes no more.
    """
    written = ExitStack()
    try:
        target = path.resolve()
        there = target.stat() if target.exists() else None
        if there and stat.S_ISDIR(there.st_mode):
            raise cli.UsageError(f"--output {path}: is a folder: name a file in it")
        if there and not os.access(target, os.W_OK):
            raise PermissionError(13, "Permission denied")
        replaced = there is None or stat.S_ISREG(there.st_mode)  # a device or FIFO is written to
        new: AbstractContextManager[BinaryIO] = (
            atomic.replacing(target, durable=True) if replaced else target.open("wb")
        )
        file = written.enter_context(new)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise cli.UsageError(f"--output {path}: no file can be written there: {reason}") from error
    with written:
        if there and replaced:
            os.fchmod(file.fileno(), stat.S_IMODE(there.st_mode))
        yield file


def _text(connection: DuckDBPyConnection, file: BinaryIO) -> None:
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


def _csv(connection: DuckDBPyConnection, file: BinaryIO) -> None:
    """Write a header and the rows; what is missing is empty, and no text is a formula."""
    columns = _columns(connection)
    numbers = [kind in _NUMBERS for _, kind in columns]
    writer = csv.writer(codecs.getwriter("utf-8")(file), lineterminator="\n")
    writer.writerow(quote_formula(name) for name, _ in columns)
    for row in _rows(connection):
        cells = zip(row, numbers, strict=True)
        writer.writerow(value if is_number or value is None else quote_formula(value) for value, is_number in cells)


def _json(connection: DuckDBPyConnection, file: BinaryIO) -> None:
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
    if kind in _NUMBERS:
        return str
    if kind in _NESTED:
        return _nested
    if kind.startswith("timestamp"):
        return lambda words: json.dumps(
            _MOMENT.sub(lambda moment: f"{moment[1]}T{moment[2]}{'Z' if moment[3] else ''}", words)
        )
    return lambda words: json.dumps(words, ensure_ascii=False)


def _nested(words: str) -> str:
    """Return DuckDB's JSON without its NaN and infinities."""
    try:
        return json.dumps(json.loads(words, parse_constant=lambda _: None), ensure_ascii=False)
    except (ValueError, RecursionError) as error:
        raise cli.UsageError(f"--sql: a value that JSON cannot hold: {error}") from error


def _parquet(connection: DuckDBPyConnection, file: BinaryIO) -> None:
    """Write the columns with their types, and the checksum without which `import` takes nothing in."""
    table = connection.table(TABLE)
    for name, kind in zip(table.columns, table.types, strict=True):
        if not _fits(kind) or _exceeds(connection, name, kind.id):
            wrong = f"column {name!r} is of type {kind}, of which Parquet cannot hold every value"
            raise cli.UsageError(f"--sql: {wrong}: cast it, as in CAST({name} AS VARCHAR)")
    reader = connection.sql(f"SELECT * FROM {TABLE}").to_arrow_reader(_PIECE)
    try:
        with TemporaryFile() as written:  # standard output and pipes cannot be read back for the checksum
            with sealed(written, reader.schema) as writer:
                for piece in reader:
                    writer.write_batch(piece)
            written.seek(0)
            shutil.copyfileobj(written, file)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise cli.UsageError(f"--sql: a type that Parquet cannot hold: {error}") from error


def _duckdb(connection: DuckDBPyConnection, file: BinaryIO) -> None:
    """Write a database whose table ``observations`` is the answer."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "observations.duckdb"
        with duckdb.connect(str(path)) as database:
            database.execute("SET TimeZone = 'UTC'")
            database.register("answer", connection.sql(f"SELECT * FROM {TABLE}").to_arrow_reader(_PIECE))
            database.execute("CREATE TABLE observations AS FROM answer")
        with path.open("rb") as written:
            shutil.copyfileobj(written, file)


def _fits(kind: DuckDBPyType) -> bool:
    """Return whether Parquet, as it is written here, has the type and all that it is made of."""
    if kind.id in ("list", "array", "struct", "map", "union"):
        inner = [child for _, child in kind.children if isinstance(child, DuckDBPyType)]
        return kind.id != "union" and all(map(_fits, inner))
    return kind.id not in _NOT_IN_PARQUET


def _exceeds(connection: DuckDBPyConnection, name: str, kind: str) -> bool:
    """Return whether a column holds an infinite time, or an integer of more than 38 digits."""
    column = _quoted(name)
    if kind in ("hugeint", "uhugeint"):
        wrong = f"length(ltrim(CAST({column} AS VARCHAR), '-')) > 38"
    elif kind.startswith("timestamp") or kind == "date":
        wrong = f"NOT isfinite({column})"
    else:
        return False
    return connection.execute(f"SELECT 1 FROM {TABLE} WHERE {wrong} LIMIT 1").fetchone() is not None


def _columns(connection: DuckDBPyConnection) -> list[tuple[str, str]]:
    """Return each column's name and type."""
    table = connection.table(TABLE)
    return [(name, kind.id) for name, kind in zip(table.columns, table.types, strict=True)]


def _rows(connection: DuckDBPyConnection, *, json_columns: bool = False) -> Iterator[tuple[str | None, ...]]:
    """Yield each row in words, for JSON in such that DuckDB's numbers are JSON's."""
    words = []
    for name, kind in _columns(connection):
        column = _quoted(name)
        word = f"CAST({column} AS VARCHAR)"
        if json_columns and kind in _FLOATS:
            word = f"CASE WHEN isfinite({column}) THEN {word} END"
        elif json_columns and kind in _NESTED:
            word = f"CAST(to_json({column}) AS VARCHAR)"
        words.append(word)
    cursor = connection.execute(f"SELECT {', '.join(words)} FROM {TABLE}")
    while piece := cursor.fetchmany(_PIECE):
        yield from piece


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


_FORMATS: Final[dict[str, Callable[[DuckDBPyConnection, BinaryIO], None]]] = {
    "text": _text,
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
    "duckdb": _duckdb,
}
