"""`benchbook results`: a query over the merged results, which it cannot change; it sees no other file.

The answer is text, CSV, JSON, Parquet or a DuckDB database.
`benchbook results import` takes in cells that were measured before, or on another machine.
"""

import argparse
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb import DuckDBPyConnection

from benchbook import atomic, cli, grid, results
from benchbook.cli import output
from benchbook.digits import plural
from benchbook.results.files import DamagedError, read
from benchbook.results.folder import BusyError, OtherValuesError, locked, take_in
from benchbook.results.former import NAMES
from benchbook.results.spreadsheet import quote_formula, quote_formula_in_sql
from benchbook.studies.levels import check_levels, state_parameters

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
    count(*) AS "values", min(started_at)::DATE AS first, max(started_at)::DATE AS last,
    coalesce(parse_filename(dataset_file), 'as in the paper') AS documents
FROM observations GROUP BY study, dataset_file ORDER BY dataset_file IS NOT NULL, study, documents"""

_VIEWS: Final = """
Ask more with --sql. The tables: observations (every value of finished cells), all_observations, cells, "values".
  benchbook results --sql "SELECT database, topology, n, avg(value) / 1e9 AS seconds FROM observations
    WHERE study = 'crud' AND operation = 'insert' AND metric = 'wall_time' AND arm = 'a' AND dataset_file IS NULL
    GROUP BY ALL ORDER BY ALL\""""

_HOST: Final = re.compile(r"[\w.-]+")

_TAKEN: Final = "import takes Parquet files, as benchbook results export FILE.parquet writes them, and results' folders"

_PIECE: Final = 10_000
_WIDEST: Final = 40

_FLOATS: Final = frozenset({"float", "double"})
_NUMBERS: Final = _FLOATS | {
    *("boolean", "decimal", "tinyint", "smallint", "integer", "bigint", "hugeint", "bignum"),
    *("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"),
}
_ZONED: Final = "timestamp with time zone"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

_SUFFIXES: Final = {"": "text", ".txt": "text"} | {f".{form}": form for form in ("csv", "json", "parquet", "duckdb")}
"""What the name of a file says of its form."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--sql", help='a SELECT over the tables observations, cells and "values" (default: a summary)')
    parser.add_argument(
        "--profile", metavar="P", help="only the observations of this profile (default: all that match today's code)"
    )
    parser.add_argument(
        "--format", choices=["text", *_FORMATS], help="the format (default: by the file's name, else text)"
    )
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="the same as --format json")
    parser.add_argument("--output", metavar="FILE", help="write to this file (default: print)")
    verbs = parser.add_subparsers(dest="verb", metavar="{import,export}")
    text = "import cells that were measured before or elsewhere, from folders of results or Parquet files"
    taking = verbs.add_parser("import", help=text, description=text)
    taking.add_argument("path", nargs="+", metavar="PATH", help="folders of results, or Parquet files")
    taking.add_argument(
        "--as", dest="host", metavar="NAME", help="import them under another host's name; all must be of one host"
    )
    text = "export every finished cell of any code and host; the name says CSV, JSON, Parquet or DuckDB"
    giving = verbs.add_parser("export", help=text, description=text)
    giving.add_argument("path", metavar="PATH", help="the file to write")


def main(asked: argparse.Namespace) -> int:
    """Print or write the query's rows, or take in other results."""
    if asked.verb == "import":
        return _take_in(asked.path, asked.host)
    if asked.verb == "export":
        asked.output, asked.sql = asked.path, "SELECT * FROM all_observations WHERE state = 'done'"
    form = _form(asked)
    summary = asked.sql is None and form == "text" and asked.output is None
    profile = asked.profile
    identities = grid.finished() if profile is None else {*grid.keys(grid.plan(profile=profile).cells)}
    output.report_damage(values=True)
    with (
        TemporaryDirectory() as folder,
        results.connect(identities, memory=MEMORY, folder=folder) as connection,
    ):
        _answer(connection, _SUMMARY if summary else asked.sql or "SELECT * FROM observations")
        if summary and connection.execute(f"SELECT 1 FROM {TABLE} LIMIT 1").fetchone() is None:
            print("No cell is finished yet: benchbook run measures the default ones.")
            return cli.DONE
        with _standard_output() if asked.output is None else _file(Path(asked.output)) as file:
            _write_answer(connection, form, Path(folder) / "answer", file)
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
                    written, known = take_in(table, state_parameters, host)
                except OtherValuesError as error:
                    raise cli.UsageError(f"{file}: {error}") from error
                except (ValueError, MemoryError, pa.ArrowException) as error:
                    why = str(error) or "not enough memory"
                    raise cli.UsageError(f"{file}: no observations that can be read: {why}") from error
                new, before = new + written, before + known
    except BusyError as error:
        raise cli.UsageError(str(error)) from error
    present = f"{before} {'was' if before == 1 else 'were'} already present"
    print(f"imported {plural(new, 'cell')}; {present}")
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
            raise cli.UsageError(f"{path}: has no results: name a folder of results, or a Parquet file of observations")
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
        raise cli.UsageError(
            f"--output {asked.output}: unknown format {suffix}: end the name in {known}, or add --format"
        )
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
            raise cli.UsageError("--sql: must be one SELECT, because results are only read here")
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
    return " ".join(reason.split()) + (f" (line {line[1]})" if line else "") + limit + _name_column(reason)


def _name_column(reason: str) -> str:
    """Return the advice to a column's name of version 0.2; empty for others."""
    unknown = re.search(r'column "?(\w+)"? not found', reason)
    name = unknown[1].lower() if unknown else ""
    if name == "parameters":
        return ": each parameter has a column of its own name"
    return f": did you mean {NAMES[name]!r}?" if name in NAMES else ""


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
            raise cli.UsageError(f"--output {path}: is a folder: name a file")
        if there and not os.access(target, os.W_OK):
            raise PermissionError(13, "Permission denied")
        replaced = there is None or stat.S_ISREG(there.st_mode)  # a device or FIFO is written to
        new: AbstractContextManager[BinaryIO] = (
            atomic.replacing(target, durable=True) if replaced else target.open("wb")
        )
        file = written.enter_context(new)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise cli.UsageError(f"--output {path}: cannot be written: {reason}") from error
    with written:
        if there and replaced:
            os.fchmod(file.fileno(), stat.S_IMODE(there.st_mode))
        yield file


def _write_answer(connection: DuckDBPyConnection, form: str, whole: Path, file: BinaryIO) -> None:
    """Write the answer in its form; all but text is first written whole to a temporary file.

    Raises `cli.UsageError` when the form cannot hold it, and `OSError` when the disk takes no more.
    """
    try:
        if form == "text":
            _write_text(connection, file)
            return
        _interruptible(connection, lambda: _FORMATS[form](connection, whole))
    except duckdb.IOException as error:
        raise OSError(f"no temporary file can be written: {_reason(error)}") from error
    except (duckdb.Error, pa.ArrowException) as error:
        raise cli.UsageError(f"--sql: {form} cannot hold the answer: {_reason(error)}") from error
    with whole.open("rb") as written:
        shutil.copyfileobj(written, file)


def _write_text(connection: DuckDBPyConnection, file: BinaryIO) -> None:
    """Write columns under their names; long values are cut."""
    names = [name for name, _ in _columns(connection)]
    widths = [len(_shown(name)) for name in names]
    for row in _rows(connection):
        widths = [max(width, len(_shown(value))) for width, value in zip(widths, row, strict=True)]
    file.write(_line(tuple(names), widths))
    for row in _rows(connection):
        file.write(_line(row, widths))


def _line(row: tuple[str | None, ...], widths: list[int]) -> bytes:
    cells = (_shown(value).rjust(width) for value, width in zip(row, widths, strict=True))
    return ("  ".join(cells) + "\n").encode()


def _shown(value: str | None) -> str:
    """Return a value on one line."""
    words = _CONTROL.sub(" ", "NULL" if value is None else value[: _WIDEST + 1])
    return words if len(words) <= _WIDEST else words[: _WIDEST - 3] + "..."


def _write_csv(connection: DuckDBPyConnection, path: Path) -> None:
    """Write a header and the rows; what is missing is empty, and no text is a formula."""
    columns = []
    for name, kind in _columns(connection):
        column = _quoted(name)
        value = column if kind in _NUMBERS else quote_formula_in_sql(f"CAST({column} AS VARCHAR)")
        columns.append(f"{value} AS {_quoted(quote_formula(name))}")
    connection.execute(f"COPY (SELECT {', '.join(columns)} FROM {TABLE}) TO {_literal(path)} (FORMAT csv)")


def _write_json(connection: DuckDBPyConnection, path: Path) -> None:
    """Write one array of objects, one a line; NaN and infinities, for which JSON has no number, are null."""
    columns = []
    for name, kind in _columns(connection):
        value = column = _quoted(name)
        if kind in _FLOATS:
            value = f"CASE WHEN isfinite({column}) THEN {column} END"
        elif kind == _ZONED:
            value = f"strftime({column}, '%Y-%m-%dT%H:%M:%S.%fZ')"
        columns.append(f"{value} AS {column}")
    connection.execute(f"COPY (SELECT {', '.join(columns)} FROM {TABLE}) TO {_literal(path)} (FORMAT json, ARRAY true)")


def _write_parquet(connection: DuckDBPyConnection, path: Path) -> None:
    """Write the columns with their types, and the pages' checksums, which `COPY` would not write."""
    rows = connection.table(TABLE).to_arrow_reader(_PIECE)
    with pq.ParquetWriter(path, rows.schema, write_page_checksum=True) as writer:
        for piece in rows:
            writer.write_batch(piece)


def _write_duckdb(connection: DuckDBPyConnection, path: Path) -> None:
    """Write a database whose table ``observations`` is the answer."""
    connection.execute(f"ATTACH {_literal(path)} AS written")
    connection.execute(f"CREATE TABLE written.observations AS FROM {TABLE}")
    connection.execute("DETACH written")


def _columns(connection: DuckDBPyConnection) -> list[tuple[str, str]]:
    """Return each column's name and type."""
    table = connection.table(TABLE)
    return [(name, kind.id) for name, kind in zip(table.columns, table.types, strict=True)]


def _rows(connection: DuckDBPyConnection) -> Iterator[tuple[str | None, ...]]:
    """Yield each row in words."""
    words = [f"CAST({_quoted(name)} AS VARCHAR)" for name, _ in _columns(connection)]
    cursor = connection.execute(f"SELECT {', '.join(words)} FROM {TABLE}")
    while piece := cursor.fetchmany(_PIECE):
        yield from piece


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _literal(path: Path) -> str:
    doubled = str(path).replace("'", "''")
    return f"'{doubled}'"


_FORMATS: Final[dict[str, Callable[[DuckDBPyConnection, Path], None]]] = {
    "csv": _write_csv,
    "json": _write_json,
    "parquet": _write_parquet,
    "duckdb": _write_duckdb,
}
