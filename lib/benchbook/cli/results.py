"""`benchbook results`: a query over the merged results, which it cannot change; it sees no other file."""

import argparse
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import duckdb

from benchbook import grid, results
from benchbook.cli import answers, damage, status

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY: Final = "1GB"
"""What a query may take."""

LONGEST: Final = 100_000
"""Characters of the longest query."""


def main(asked: argparse.Namespace) -> int:
    """Print or write the query's rows."""
    form = _form(asked)
    identities = _identities(asked.profile)
    damage.tell()
    with results.connect(identities, memory=MEMORY) as connection:
        _answer(connection, asked.sql)
        if standing := _stand_ins(connection):
            print(f"stand-ins, not the products themselves: {', '.join(standing)}", file=sys.stderr)
        with _standard_output() if asked.output is None else _file(Path(asked.output)) as file:
            try:
                answers.FORMATS[form](connection, file)
            except duckdb.Error as error:
                raise status.UsageError(f"--sql: {_told(error)}") from error
    return status.DONE


def _form(asked: argparse.Namespace) -> str:
    """Return the form that was asked for, by its name or by the file's."""
    if asked.format is not None:
        if asked.format == "parquet" and not asked.output and sys.stdout.isatty():
            raise status.UsageError("--format parquet is not for a terminal: name an --output")
        return str(asked.format)
    suffix = Path(asked.output or "").suffix.lower()
    if suffix not in answers.SUFFIXES:
        known = ", ".join(filter(None, answers.SUFFIXES))
        raise status.UsageError(
            f"--output {asked.output}: no form is called {suffix}: end it in {known}, or add --format"
        )
    return answers.SUFFIXES[suffix]


def _identities(profile: str | None) -> set[str]:
    """Return the results that are shown as observations: a profile's, else all whose identity is current."""
    if profile is not None:
        try:
            return {cell.key for cell in grid.plan(profile=profile)}
        except grid.GridError as error:
            raise status.UsageError(str(error)) from error
    with results.connect() as connection:
        query = "SELECT DISTINCT cell_id, study, parameters FROM cells WHERE state = 'done'"
        return grid.current(results.frame(connection, query).itertuples(index=False, name=None))


def _answer(connection: "DuckDBPyConnection", sql: str) -> None:
    """Keep the query's rows on the connection, within its memory.

    Raises
    ------
    status.UsageError
        When it is not one SELECT, is wrong, or takes too much.
    """
    if len(sql) > LONGEST:
        raise status.UsageError(f"--sql: {len(sql):,} characters: at most {LONGEST:,} are read")
    try:
        sql.encode()
        statements = connection.extract_statements(sql)
        if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
            raise status.UsageError("--sql: one SELECT, nothing else: results are read here, never changed")
        _interruptible(connection, lambda: connection.sql(sql).create(answers.TABLE))
    except (duckdb.Error, UnicodeEncodeError) as error:
        raise status.UsageError(f"--sql: {_told(error)}") from error


def _interruptible(connection: "DuckDBPyConnection", query: Callable[[], None]) -> None:
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


def _told(error: Exception) -> str:
    """Return DuckDB's reason on one line, without its advice to those who may set its options."""
    reason, *rest = re.split(
        r"\n+(?=LINE \d+:|Possible solutions|Database is launched)| Use \"SET", str(error), maxsplit=1
    )
    line = re.match(r"LINE (\d+):", rest[0]) if rest else None
    limit = f" (a query may take {MEMORY})" if isinstance(error, duckdb.OutOfMemoryException) else ""
    return " ".join(reason.split()) + (f" (line {line[1]})" if line else "") + limit


def _stand_ins(connection: "DuckDBPyConnection") -> list[str]:
    """Return the engines of the answer's rows that stand-ins were measured as."""
    if "engine" not in connection.table(answers.TABLE).columns:
        return []
    query = f"""SELECT DISTINCT engine FROM observations
        WHERE stand_in AND engine IN (SELECT CAST(engine AS VARCHAR) FROM {answers.TABLE}) ORDER BY engine"""
    return [str(engine) for (engine,) in connection.execute(query).fetchall()]


@contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    if sys.stdout is None:
        raise status.UsageError("standard output is closed: name an --output")
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


@contextmanager
def _file(path: Path) -> Iterator[BinaryIO]:
    """Yield what takes the file's new contents: the old ones stay until these are written, to the disk, whole.

    Raises
    ------
    status.UsageError
        When no file can be written there.
    OSError
        When the disk takes no more.
    """
    try:
        target = path.resolve()
        there = target.stat() if target.exists() else None
        if there and stat.S_ISDIR(there.st_mode):
            raise status.UsageError(f"--output {path}: is a folder: name a file in it")
        whole = there is None or stat.S_ISREG(there.st_mode)  # a device or FIFO is written to, never replaced
        written = target.with_name(f".{target.name}.{os.getpid()}") if whole else target
        if there and not os.access(target, os.W_OK):
            raise PermissionError(13, "Permission denied")
        file = written.open("xb" if whole else "wb")
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise status.UsageError(f"--output {path}: no file can be written there: {reason}") from error
    try:
        with file:
            yield file
            file.flush()
            if whole:
                os.fsync(file.fileno())
        if whole:
            if there:
                shutil.copymode(target, written)
            written.replace(target)
    finally:
        if whole:
            with suppress(OSError):
                written.unlink()
