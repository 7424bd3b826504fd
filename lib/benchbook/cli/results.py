"""`benchbook results`: a query over the merged results, which it cannot change; it sees no other file."""

import argparse
import io
import sys
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from benchbook import grid, results
from benchbook.cli import damage, status


def main(asked: argparse.Namespace) -> int:
    """Print or write the query's rows."""
    identities = _identities(asked.profile)
    damage.tell()
    frame = _query(asked.sql, identities)
    if asked.format == "parquet" and not asked.output and sys.stdout.isatty():
        raise status.UsageError("--format parquet is not for a terminal: name an --output")
    if standing := _stand_ins(frame, identities):
        print(f"stand-ins, not the products themselves: {', '.join(standing)}", file=sys.stderr)
    data = _rendered(frame, asked.format)
    if asked.output:
        Path(asked.output).write_bytes(data)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    return status.DONE


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


def _query(sql: str, identities: set[str]) -> pd.DataFrame:
    with results.connect(identities) as connection:
        try:
            statements = connection.extract_statements(sql)
            if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                raise status.UsageError("--sql: one SELECT, nothing else: results are read here, never changed")
            return results.frame(connection, sql)
        except duckdb.Error as error:
            raise status.UsageError(f"--sql: {error}") from error


def _stand_ins(frame: pd.DataFrame, identities: set[str]) -> list[str]:
    """Return the engines of these rows that stand-ins were measured as."""
    if "engine" not in frame:
        return []
    with results.connect(identities) as connection:
        query = "SELECT DISTINCT engine FROM observations WHERE stand_in"
        standing = set(results.frame(connection, query)["engine"])
    return sorted(standing & set(frame["engine"].dropna()))


def _rendered(frame: pd.DataFrame, form: str) -> bytes:
    if form == "parquet":
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        return buffer.getvalue()
    if form == "csv":
        return frame.to_csv(index=False).encode()
    if form == "json":
        return (_json(frame) + "\n").encode()
    with pd.option_context("display.max_columns", None, "display.width", None, "display.max_colwidth", 40):
        return (frame.to_string(index=False, max_rows=None) + "\n").encode()


def _json(frame: pd.DataFrame) -> str:
    text: Any = frame.to_json(orient="records", date_format="iso", double_precision=15, force_ascii=False)
    return str(text)
