"""SQL views of all results, and their export as CSV.

Begin with `load_observations` or `connect`.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from benchbook.results import files
from benchbook.results.additions import (
    FORMER_CODE_TABLE,
    STORED_TABLE,
    build_former_code_table,
    complete_columns,
    write_complete_columns,
)
from benchbook.results.files import CELL_KEYS
from benchbook.results.folder import Operations, map_operations, open_results, verify_files
from benchbook.results.schema import (
    ALTERNATING_COLUMNS,
    CELLS,
    OBSERVATIONS,
    VALUES,
    name_parameter_column,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow.dataset as ds
    from duckdb import DuckDBPyConnection


def open_table() -> "pa.Table | ds.Dataset":
    """Return all rows of all files that are not damaged: of finished, failed and skipped cells."""
    # Here, because it is slow to import, and a plan reads no rows.
    import pyarrow.dataset as ds

    whole = verify_files(open_results().list_files())
    paths, schema = (
        [str(file.path) for file in whole],
        files.merge_file_schemas(file.facts for file in whole),
    )
    scan = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    form = ds.ParquetFileFormat(default_fragment_scan_options=scan)
    return ds.dataset(paths, schema=schema, format=form) if paths else OBSERVATIONS.empty_table()


@dataclass(frozen=True)
class Origin:
    """The host and the code that measured a finished cell."""

    key: str  # ``identity.block``
    host: str
    machine: str | None  # unknown in older rows
    versions: Mapping[str, int | str]  # of each unit; empty where that is unknown


def list_origins(keys: Iterable[str]) -> list[Origin]:
    """Return the origin of each finished cell of some keys, ``identity.block``."""
    chosen = {*keys}
    if not chosen:
        return []
    # Here, as in `open_table`.
    import pyarrow.dataset as ds

    whole = verify_files(open_results().list_finished_files(chosen))
    columns = ["study", "cell_id", "block", "host", "machine", "code_hash", "versions"]
    rows = ds.dataset([str(file.path) for file in whole], schema=OBSERVATIONS).to_table(columns)
    cells = complete_columns(rows.group_by(columns).aggregate([]))
    return [
        Origin(
            f"{row['cell_id']}.{row['block']}",
            row["host"],
            row["machine"],
            json.loads(row["versions"] or "{}"),
        )
        for row in cells.to_pylist()
    ]


def connect(
    identities: Iterable[str] | Mapping[str, Operations] | None = None,
    memory: str | None = None,
    rows: "pa.Table | ds.Dataset | None" = None,
    folder: str | None = None,
) -> "DuckDBPyConnection":
    """Return a DuckDB connection that sees the results and nothing else.

    Views: ``all_observations``, every value with its cell, and one row per cell without values;
    ``observations``, finished cells of some identities; ``cells`` and ``"values"``, the two parts
    of ``all_observations``.

    Parameters
    ----------
    identities
        The cells of ``observations``: ``identity`` for all blocks, ``identity.block`` for one,
        perhaps each with the operations that count; None for all.
    memory
        Limit of a user's query, as DuckDB writes it; None: DuckDB's own.
    rows
        Rows instead of those of the results' folder, with the columns of `OBSERVATIONS` and of
        parameters.
    folder
        The only folder that it may read and write; None: no folder.
    """
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")  # instead of the machine's zone
    # It would be among what a command prints.
    connection.execute("SET enable_progress_bar = false")
    # An interrupted COPY of DuckDB 2.0 can wait for ever for the threads that write its file.
    connection.execute("SET async_threads = 0")
    observed = open_table() if rows is None else rows
    names = observed.schema.names
    connection.register(STORED_TABLE, observed)
    # Columns that came later are filled.
    connection.register(FORMER_CODE_TABLE, build_former_code_table())
    complete = write_complete_columns(names)
    filled = [f'{complete[name]} AS "{name}"' for name in names if name in complete]
    replaced = f"REPLACE ({', '.join(filled)})" if filled else ""
    connection.execute(f"CREATE VIEW all_observations AS SELECT * {replaced} FROM {STORED_TABLE}")

    # The finished cells of the identities, and of some of them certain operations.
    done = "CREATE VIEW observations AS SELECT * FROM all_observations WHERE state = 'done'"
    key = "concat(cell_id, '.', block)"
    conditions = [f"{name} IN (SELECT key FROM _current)" for name in ("cell_id", key)]
    operations_of = map_operations(identities or ())
    whole = sorted(name for name, operations in operations_of.items() if operations is None)
    connection.register("_current", pa.table({"key": pa.array(whole, pa.string())}))
    parts = []
    for name, operations in operations_of.items():
        parts += [{"key": name, "operation": operation} for operation in sorted(operations or ())]
    if parts:
        connection.register("_parts", pa.Table.from_pylist(parts))
        conditions.append(f"({key}, operation) IN (SELECT (key, operation) FROM _parts)")
    is_chosen = " OR ".join(conditions)
    connection.execute(done if identities is None else f"{done} AND ({is_chosen})")

    # The two parts of all rows: cells and values.
    by_cell = f"FROM all_observations GROUP BY {', '.join(CELL_KEYS)}"
    connection.execute(f"CREATE VIEW cells AS SELECT {_cell_columns(names)} {by_cell}")
    columns = ", ".join(["cell_id", "block", *VALUES.names])
    connection.execute(
        f'CREATE VIEW "values" AS SELECT {columns} FROM all_observations WHERE metric IS NOT NULL'
    )

    # A query can change none of these settings: they are locked last.
    if memory is not None:
        connection.execute(f"SET memory_limit = '{memory}'; SET temp_directory = ''")
    if folder is not None:
        connection.execute("SET allowed_directories = $folders", {"folders": [folder]})
    connection.execute("SET enable_external_access = false; SET lock_configuration = true")
    return connection


def load_observations(
    identities: Iterable[str] | Mapping[str, Operations] | None = None,
) -> "pd.DataFrame":
    """Return the view ``observations`` of `connect`, empty and typed when nothing has been run."""
    with connect(identities) as connection:
        return fetch_frame(connection, "SELECT * FROM observations")


def fetch_frame(connection: "DuckDBPyConnection", query: str) -> "pd.DataFrame":
    """Return the rows of a query; Arrow keeps the types of empty columns and the time zone."""
    rows: pd.DataFrame = connection.sql(query).to_arrow_table().to_pandas()
    return rows


def _cell_columns(names: Iterable[str]) -> str:
    """Return the SQL of a cell's columns, with those of its parameters.

    Where levels alternate in it, such as two formats, it has the cell's level: ``both``.
    """
    columns = []
    of_arms = {name_parameter_column(name) for name in ALTERNATING_COLUMNS}
    for name in names:
        if name in CELL_KEYS:
            columns.append(name)
        elif name in CELLS.names or name not in {*VALUES.names, *of_arms}:
            shared = f'CASE WHEN min("{name}") = max("{name}") THEN min("{name}") END'
            own = name_parameter_column(name)
            level = f'coalesce(min("{own}"), {shared})' if own != name and own in names else shared
            columns.append(f'{level} AS "{name}"')
    return ", ".join(columns)


_FORMULA: Final = re.compile(r"[=+\-@\t\r]")
"""Characters at the begin of a text that a spreadsheet reads as a formula."""

_NUMBER: Final = re.compile(
    r"[-+][\d.,]+(e[-+]?\d+)?( \([-+]?[\d.,]+ to [-+]?[\d.,]+\))?( [%\w]+)?"
)
"""A number, perhaps with its interval and its unit."""


def quote_formula(text: str) -> str:
    """Return a text after an apostrophe if a spreadsheet would read it as a formula."""
    is_formula = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text


def quote_formula_in_sql(text: str) -> str:
    """Return SQL that quotes a text, an SQL expression, as `quote_formula` does."""
    is_formula = f"regexp_matches({text}, '^{_FORMULA.pattern}')"
    is_number = f"regexp_full_match({text}, '{_NUMBER.pattern}')"
    return f"CASE WHEN {is_formula} AND NOT {is_number} THEN chr(39) || {text} ELSE {text} END"


def format_csv(frame: "pd.DataFrame") -> str:
    """Return a frame as CSV, with texts quoted by `quote_formula`; numbers are unchanged."""
    quoted = frame.copy()
    for position, kind in enumerate(frame.dtypes):
        if kind.kind not in "biufcmM":
            column = []
            for value in frame.iloc[:, position]:
                column.append(quote_formula(value) if isinstance(value, str) else value)
            quoted.isetitem(position, column)
    written: str = quoted.to_csv(index=False, lineterminator="\n")
    return written
