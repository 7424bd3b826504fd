"""`benchbook results`: query, export and import the results.

A query cannot change the results, and reads no other file. Its answer is text, CSV, JSON, Parquet
or a DuckDB database. `benchbook results import` adds cells that were measured before, or on another
machine.
"""

import argparse
import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Lock, Thread
from typing import BinaryIO, Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb import DuckDBPyConnection

from benchbook import grid
from benchbook.cli import output
from benchbook.cli.command import DONE, UsageError
from benchbook.files import suite_files
from benchbook.grid.cells import list_result_keys
from benchbook.grid.finished_cells import list_finished_ids
from benchbook.results.files import DamagedError, read_table
from benchbook.results.folder import BusyError, open_results
from benchbook.results.imports import OtherValuesError, cast_observations, import_cells
from benchbook.results.schema import CURRENT_NAMES
from benchbook.results.views import connect, quote_formula, quote_formula_in_sql
from benchbook.studies.levels import check_levels, read_parameters
from benchbook.text.number_format import format_count

MAX_MEMORY: Final = "1GB"
"""The memory of a query."""

MAX_QUERY_LENGTH: Final = 100_000
"""Characters of the longest query."""

MAX_FILE_BYTES: Final = 2**29
"""The size of the largest file that is imported, packed as it is: some hundred reference runs."""

MAX_ROWS: Final = 20_000_000
"""The rows of the longest file that is imported."""

MAX_VALUE_BYTES: Final = 2**31
"""The memory that a file's values may take, unpacked: some three reference runs."""

ANSWER: Final = "_answer"
"""The table of the query's answer on its connection."""

SUMMARY_SQL: Final = """\
SELECT study, count(DISTINCT cell_id) AS cells, count(DISTINCT block) AS blocks,
    count(DISTINCT host) AS hosts, count(*) AS "values",
    min(started_at)::DATE AS first, max(started_at)::DATE AS last,
    coalesce(parse_filename(dataset_file), 'as in the paper') AS documents
FROM observations GROUP BY study, dataset_file
ORDER BY dataset_file IS NOT NULL, study, documents"""

QUERY_ADVICE: Final = """
Ask more with --sql. The tables: observations (every value of finished cells), all_observations,
cells, "values".
  benchbook results --sql "SELECT database, topology, n, avg(value) / 1e9 AS seconds
    FROM observations WHERE study = 'crud' AND operation = 'insert' AND metric = 'wall_time'
    AND arm = 'a' AND dataset_file IS NULL GROUP BY ALL ORDER BY ALL\""""

SHORTEN_SQL: Final = r"""
CREATE TEMP MACRO write_line(field) AS
    regexp_replace(coalesce(field::VARCHAR, 'NULL'), '[\p{Cc}\x{2028}\x{2029}]', ' ', 'g');
CREATE TEMP MACRO shorten(field) AS CASE WHEN length(write_line(field)) > 40
    THEN left(write_line(field), 37) || '...' ELSE write_line(field) END"""
"""A value as text output has it: on one line, and cut if it has more than 40 characters."""

FLOAT_TYPES: Final = frozenset({"float", "double"})
NUMBER_TYPES: Final = FLOAT_TYPES | {
    *("boolean", "decimal", "bignum"),
    *("tinyint", "smallint", "integer", "bigint", "hugeint"),
    *("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"),
}
"""DuckDB's types of numbers, and of truth values."""

FORMAT_OF_SUFFIX: Final = {
    "": "text",
    ".txt": "text",
    ".csv": "csv",
    ".json": "json",
    ".parquet": "parquet",
    ".duckdb": "duckdb",
}
"""The format of a file by the end of its name."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    text = 'a SELECT over the tables observations, cells and "values" (default: a summary)'
    parser.add_argument("--sql", help=text)
    text = "only the observations of this profile (default: all that match today's code)"
    parser.add_argument("--profile", metavar="P", help=text)
    text = "the format (default: by the file's name, else text)"
    parser.add_argument("--format", choices=["text", *WRITERS], help=text)
    text = "the same as --format json"
    parser.add_argument("--json", dest="format", action="store_const", const="json", help=text)
    parser.add_argument("--output", metavar="FILE", help="write to this file (default: print)")

    verbs = parser.add_subparsers(dest="verb", metavar="{import,check,export}")
    text = (
        "import cells that were measured before or elsewhere, "
        "from folders of results or Parquet files"
    )
    importing = verbs.add_parser("import", help=text, description=text)
    text = "folders of results, or Parquet files"
    importing.add_argument("path", nargs="+", metavar="PATH", help=text)
    text = "import them under another host's name; all must be of one host"
    importing.add_argument("--as", dest="host", metavar="NAME", help=text)
    text = "show which verdicts of the reference run would change with a campaign's files"
    checking = verbs.add_parser("check", help=text, description=text)
    checking.add_argument("path", nargs="+", metavar="PATH", help="Parquet files, or folders")
    text = (
        "export every finished cell of any code and host; "
        "the name says CSV, JSON, Parquet or DuckDB"
    )
    exporting = verbs.add_parser("export", help=text, description=text)
    exporting.add_argument("path", metavar="PATH", help="the file to write")


def main(options: argparse.Namespace) -> int:
    """Print or write the query's rows, or import other results."""
    if options.verb == "import":
        return _import_files(options.path, options.host)
    if options.verb == "check":
        # Here, because it imports all that judges, and a query does without.
        from benchbook.cli.results_check import check_files

        return check_files(_read_checked_tables(options.path))
    if options.verb == "export":
        # A query over every finished cell, whatever code measured it.
        options.output = options.path
        options.sql = "SELECT * FROM all_observations WHERE state = 'done'"

    # The query, and the cells that it sees.
    answer_format = _choose_format(options)
    is_summary = options.sql is None and answer_format == "text" and options.output is None
    sql = SUMMARY_SQL if is_summary else options.sql or "SELECT * FROM observations"
    if options.profile is None:
        identities = list_finished_ids()
    else:
        identities = {*list_result_keys(grid.make_plan(profile=options.profile).cells)}
    output.report_damage(values=True)

    # The answer; a file is replaced when all of it is written.
    with (
        suite_files.TemporaryFolder("cell") as folder,
        connect(identities, memory=MAX_MEMORY, folder=str(folder)) as connection,
    ):
        _run_query(connection, sql)
        if is_summary and connection.execute(f"SELECT 1 FROM {ANSWER}").fetchone() is None:
            print("No cell is finished yet: benchbook run measures the default ones.")
            return DONE
        # All but text is first written to a temporary file.
        scratch = folder / "answer"
        if answer_format != "text":
            _write_scratch(connection, answer_format, scratch)
        target = Path(options.output) if options.output is not None else None
        with _open_standard_output() if target is None else _open_file(target) as file:
            if answer_format == "text":
                _write_text(connection, file)
            else:
                with scratch.open("rb") as written:
                    shutil.copyfileobj(written, file)
    if is_summary:
        print(QUERY_ADVICE)
    return DONE


def _import_files(names: Sequence[str], host: str | None = None) -> int:
    """Import each file, with `host` as its host if given, and print how many cells are new."""
    if host is not None:
        _check_one_host(names, host)
    results = open_results()
    new = present = moved = 0
    try:
        with results.lock():
            for file, table in _read_tables(names):
                try:
                    check_levels(table)
                    imported = import_cells(results, table, read_parameters, host)
                except OtherValuesError as error:
                    raise UsageError(f"{file}: {error}") from error
                except (ValueError, MemoryError, pa.ArrowException) as error:
                    reason = str(error) or "not enough memory"
                    raise _make_unreadable_error(file, reason) from error
                new += imported.new
                present += imported.present
                moved += imported.moved
    except BusyError as error:
        raise UsageError(str(error)) from error
    were = "was" if present == 1 else "were"
    print(f"imported {format_count(new, 'cell')}; {present} {were} already present")
    if moved:
        print(
            f"{format_count(moved, 'cell')} got the next free block number: "
            "another measurement here has theirs"
        )
    return DONE


def _read_checked_tables(names: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the table of each file, once its columns and levels are checked."""
    for file, table in _read_tables(names):
        try:
            check_levels(table)
            yield cast_observations(table)
        except (ValueError, pa.ArrowException) as error:
            raise _make_unreadable_error(file, str(error)) from error


def _check_one_host(names: Sequence[str], host: str) -> None:
    """Check that the files have cells of one host only, and that `host` can be its name.

    Raises `UsageError` when they have several, or when it cannot.
    """
    if not re.fullmatch(r"[^\W_][\w.-]*", host):
        rule = "a host's name begins with a letter or digit"
        raise UsageError(f"--as {host!r}: {rule}, and has letters, digits, '.', '_' and '-'")
    hosts = set()
    for _, table in _read_tables(names):
        # A wrong column is reported when the file is imported.
        with suppress(KeyError, pa.ArrowException):
            hosts |= {*table["host"].unique().to_pylist()}
    if len(hosts) > 1:
        reason = f"the files hold cells of {len(hosts)} hosts"
        raise UsageError(f"--as {host}: {reason}: import those of one host at a time")


def _read_tables(names: Sequence[str]) -> Iterator[tuple[Path, pa.Table]]:
    """Yield each file with its table; of a results' folder, each file in its studies' folders."""
    for path in map(Path, names):
        files = [path]
        if path.is_dir():
            files = sorted(path.glob("[!.]*/[!.]*.parquet"))
            if not files:
                advice = "name a folder of results, or a Parquet file of observations"
                raise UsageError(f"{path}: has no results: {advice}")
        for file in files:
            try:
                size = file.stat().st_size
                if size > MAX_FILE_BYTES:
                    limit = f"at most {MAX_FILE_BYTES:,} are read"
                    raise DamagedError(f"it has {size:,} bytes: {limit}")
                yield file, read_table(file, MAX_ROWS, MAX_VALUE_BYTES)
            except DamagedError as error:
                reason = str(error)
                if file.suffix != ".parquet":
                    reason = (
                        "import takes Parquet files, as benchbook results export FILE.parquet"
                        " writes them, and results' folders"
                    )
                raise _make_unreadable_error(file, reason) from error


def _make_unreadable_error(file: Path, reason: str) -> UsageError:
    return UsageError(f"{file}: no observations that can be read: {reason}")


def _choose_format(options: argparse.Namespace) -> str:
    """Return the answer's format: as asked, else by the end of the file's name."""
    if options.format is not None:
        if options.format in ("parquet", "duckdb") and not options.output and sys.stdout.isatty():
            raise UsageError(f"--format {options.format} is not for a terminal: name an --output")
        return str(options.format)
    suffix = Path(options.output or "").suffix.lower()
    if suffix not in FORMAT_OF_SUFFIX:
        known = ", ".join(filter(None, FORMAT_OF_SUFFIX))
        advice = f"end the name in {known}, or add --format"
        raise UsageError(f"--output {options.output}: unknown format {suffix}: {advice}")
    return FORMAT_OF_SUFFIX[suffix]


def _run_query(connection: DuckDBPyConnection, sql: str) -> None:
    """Keep the query's rows in the table `ANSWER`, within its memory.

    Raises `UsageError` when it is not one SELECT, is wrong, or takes too much.
    """
    if len(sql) > MAX_QUERY_LENGTH:
        limit = f"at most {MAX_QUERY_LENGTH:,} are read"
        raise UsageError(f"--sql: {len(sql):,} characters: {limit}")
    try:
        sql.encode()
        statements = connection.extract_statements(sql)
        if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
            raise UsageError("--sql: must be one SELECT, because results are only read here")
        _run_interruptibly(connection, lambda: connection.sql(sql).create(ANSWER))
    except (duckdb.Error, UnicodeEncodeError) as error:
        raise UsageError(f"--sql: {_describe_error(error)}") from error


def _run_interruptibly(connection: DuckDBPyConnection, query: Callable[[], None]) -> None:
    """Run a query in a thread, so that this thread can receive Ctrl-C and interrupt it.

    However early or late that comes, the query has ended or never begins when this returns.
    """
    permit, ended = Lock(), Lock()
    ended.acquire()
    outcome: list[BaseException | None] = []

    def run() -> None:
        if not permit.acquire(blocking=False):
            return
        try:
            query()
            outcome.append(None)
        except BaseException as error:
            outcome.append(error)
        finally:
            ended.release()

    try:
        # A daemon: a stop inside `start` can leave it waiting for ever before it runs.
        Thread(target=run, daemon=True).start()
        ended.acquire()
    except KeyboardInterrupt:
        if not permit.acquire(blocking=False):
            # An interrupt between two statements of the query is lost: repeat it.
            while not outcome:
                connection.interrupt()
                time.sleep(0.05)
        raise
    if outcome[0]:
        raise outcome[0]


def _describe_error(error: Exception) -> str:
    """Return DuckDB's reason on one line, without its advice on options that cannot be set here."""
    separator = r"\n+(?=LINE \d+:|Possible solutions|Database is launched)| Use \"SET"
    reason, *rest = re.split(separator, str(error), maxsplit=1)
    words = " ".join(reason.split())
    line = re.match(r"LINE (\d+):", rest[0]) if rest else None
    if line:
        words += f" (line {line[1]})"
    if isinstance(error, duckdb.OutOfMemoryException):
        words += f" (a query may take {MAX_MEMORY})"

    # The query may have a column's name of version 0.2: suggest that of today.
    unknown = re.search(r'column "?(\w+)"? not found', reason)
    name = unknown[1].lower() if unknown else ""
    if name == "parameters":
        words += ": each parameter has a column of its own name"
    elif name in CURRENT_NAMES:
        words += f": did you mean {CURRENT_NAMES[name]!r}?"
    return words


@contextmanager
def _open_standard_output() -> Iterator[BinaryIO]:
    if sys.__stdout__ is None:  # it was closed at the start; sys.stdout discards what it gets
        raise UsageError("standard output is closed: name an --output")
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


@contextmanager
def _open_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a file for the new contents, which replace the old ones once they are all on the disk.

    Raises `UsageError` when no file can be written there, and `OSError` when the disk is full.
    """
    with ExitStack() as stack:
        try:
            target = path.resolve()
            status = target.stat() if target.exists() else None
            if status and stat.S_ISDIR(status.st_mode):
                raise UsageError(f"--output {path}: is a folder: name a file")
            if status and not os.access(target, os.W_OK):
                raise PermissionError(13, "Permission denied")
            # A device or FIFO is written to, and not replaced.
            is_regular = status is None or stat.S_ISREG(status.st_mode)
            if is_regular:
                suite_files.remove_unfinished(target)
                file = stack.enter_context(suite_files.replace_file(target, durable=True))
            else:
                file = stack.enter_context(target.open("wb"))
        except (OSError, RuntimeError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"--output {path}: cannot be written: {reason}") from error
        if status and is_regular:
            os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
        yield file


def _write_scratch(connection: DuckDBPyConnection, answer_format: str, scratch: Path) -> None:
    """Write the answer in its format to the file `scratch`.

    Raises `UsageError` when the format cannot hold it, and `OSError` when the disk is full.
    """
    try:
        _run_interruptibly(connection, lambda: WRITERS[answer_format](connection, scratch))
    except duckdb.IOException as error:
        reason = _describe_error(error)
        raise OSError(f"no temporary file can be written: {reason}") from error
    except (duckdb.Error, pa.ArrowException) as error:
        reason = _describe_error(error)
        raise UsageError(f"--sql: {answer_format} cannot hold the answer: {reason}") from error


def _write_text(connection: DuckDBPyConnection, file: BinaryIO) -> None:
    """Write columns under their names; long values are cut."""
    connection.execute(SHORTEN_SQL)
    columns = connection.table(ANSWER).columns
    shortened = ", ".join(["shorten(?)"] * len(columns))
    [names] = connection.execute(f"SELECT {shortened}", columns).fetchall()
    query = f"SELECT max(length(shorten(COLUMNS(*)))) FROM {ANSWER}"
    [longest] = connection.execute(query).fetchall()
    widths = [max(len(name), width or 0) for name, width in zip(names, longest, strict=True)]
    line: tuple[str, ...] | None = names
    rows = connection.execute(f"SELECT shorten(COLUMNS(*)) FROM {ANSWER}")
    while line is not None:
        file.write(("  ".join(map(str.rjust, line, widths)) + "\n").encode())
        line = rows.fetchone()


def _write_csv(connection: DuckDBPyConnection, path: Path) -> None:
    """Write a header row and the rows; missing values are empty, and texts are no formulas."""
    columns = []
    for name, kind in _list_columns(connection):
        value = column = _quote_name(name)
        if kind not in NUMBER_TYPES:
            value = quote_formula_in_sql(f"CAST({column} AS VARCHAR)")
        columns.append(f"{value} AS {_quote_name(quote_formula(name))}")
    rows = f"SELECT {', '.join(columns)} FROM {ANSWER}"
    connection.execute(f"COPY ({rows}) TO {_quote_path(path)} (FORMAT csv)")


def _write_json(connection: DuckDBPyConnection, path: Path) -> None:
    """Write an array with one object per line; NaN and infinities are null."""
    columns = []
    for name, kind in _list_columns(connection):
        value = column = _quote_name(name)
        if kind in FLOAT_TYPES:
            value = f"CASE WHEN isfinite({column}) THEN {column} END"
        elif kind == "timestamp with time zone":
            value = f"strftime({column}, '%Y-%m-%dT%H:%M:%S.%fZ')"
        columns.append(f"{value} AS {column}")
    rows = f"SELECT {', '.join(columns)} FROM {ANSWER}"
    connection.execute(f"COPY ({rows}) TO {_quote_path(path)} (FORMAT json, ARRAY true)")


def _write_parquet(connection: DuckDBPyConnection, path: Path) -> None:
    """Write the columns with their types, and checksums of pages, which ``COPY`` does not write."""
    batches = connection.table(ANSWER).to_arrow_reader(batch_size=10_000)
    with pq.ParquetWriter(path, batches.schema, write_page_checksum=True) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _write_duckdb(connection: DuckDBPyConnection, path: Path) -> None:
    """Write a database whose table ``observations`` is the answer."""
    connection.execute(f"ATTACH {_quote_path(path)} AS written")
    connection.execute(f"CREATE TABLE written.observations AS FROM {ANSWER}")
    connection.execute("DETACH written")


def _list_columns(connection: DuckDBPyConnection) -> list[tuple[str, str]]:
    """Return the name and type of each column."""
    table = connection.table(ANSWER)
    return [(name, kind.id) for name, kind in zip(table.columns, table.types, strict=True)]


def _quote_name(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _quote_path(path: Path) -> str:
    doubled = str(path).replace("'", "''")
    return f"'{doubled}'"


WRITERS: Final[dict[str, Callable[[DuckDBPyConnection, Path], None]]] = {
    "csv": _write_csv,
    "json": _write_json,
    "parquet": _write_parquet,
    "duckdb": _write_duckdb,
}
"""The functions that write the answer, by its format."""
