"""Everything that runs wrote, as SQL views over one scan of the files; and what of it was finished, where and when."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from benchbook.results import files, folder
from benchbook.results.files import KEYS
from benchbook.results.schema import CELLS, OBSERVATIONS, OF_AN_ARM, VALUES, parameter_column

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow.dataset as ds
    from duckdb import DuckDBPyConnection

_CHOSEN: Final = """\
(cell_id IN (SELECT key FROM _current) OR concat(cell_id, '.', block) IN (SELECT key FROM _current))"""


def table() -> "pa.Table | ds.Dataset":
    """Return every row of every file: finished, failed and skipped cells of any identity; of damaged ones none."""
    # Only now: it is slow to import, with pandas, and a plan of what never ran reads no rows.
    import pyarrow.dataset as ds

    whole = folder.verified(folder.whole())
    paths, schema = [str(file.path) for file in whole], files.schema_of(file.facts for file in whole)
    scan = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    form = ds.ParquetFileFormat(default_fragment_scan_options=scan)
    return ds.dataset(paths, schema=schema, format=form) if paths else OBSERVATIONS.empty_table()


def finished(identities: Iterable[str] | None = None) -> list[folder.Whole]:
    """Return the whole files of finished cells: of ``identity`` all blocks, or ``identity.block``; None: of all."""
    chosen = None if identities is None else set(identities)
    done = (file for file in folder.whole() if file.facts.state == "done")
    return [file for file in done if chosen is None or {file.key, file.facts.cell_id} & chosen]


def origins(keys: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return of finished cells, each with its block, the host and the digest of the code that measured it."""
    chosen = {*keys}
    if not chosen:
        return []
    # Only now, as in `table`.
    import pyarrow.dataset as ds

    paths = [str(file.path) for file in folder.verified(finished(chosen))]
    columns = ["cell_id", "block", "host", "code_hash"]
    rows = ds.dataset(paths, schema=OBSERVATIONS).to_table(columns).group_by(columns).aggregate([])
    return [(f"{row['cell_id']}.{row['block']}", row["host"], row["code_hash"]) for row in rows.to_pylist()]


def connect(
    identities: Iterable[str] | None = None,
    memory: str | None = None,
    rows: "pa.Table | ds.Dataset | None" = None,
    folder: str | None = None,
) -> "DuckDBPyConnection":
    """Return a DuckDB connection that sees the results and nothing else.

    Views: ``all_observations``, every value beside its cell, and a row for each cell without values; ``observations``,
    the finished cells of the given identities; ``cells`` and ``"values"``, the two halves of ``all_observations``.

    Parameters
    ----------
    identities
        What ``observations`` holds: ``identity`` for all blocks of a cell, ``identity.block`` for one; None for all.
    memory
        What a query of a person's may take, as DuckDB writes it; None: what DuckDB takes by itself.
    rows
        What stands in the place of the results' folder: the columns of `OBSERVATIONS`, and of parameters.
    folder
        The one folder that it may read and write; None for none.
    """
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")  # else times are told in the machine's zone
    observed = table() if rows is None else rows
    connection.register("all_observations", observed)
    chosen = None if identities is None else sorted(set(identities))
    connection.register("_current", pa.table({"key": pa.array(chosen or [], pa.string())}))
    done = "CREATE VIEW observations AS SELECT * FROM all_observations WHERE state = 'done'"
    connection.execute(done if chosen is None else f"{done} AND {_CHOSEN}")
    by_cell = f"FROM all_observations GROUP BY {', '.join(KEYS)}"
    connection.execute(f"CREATE VIEW cells AS SELECT {_cell_columns(observed.schema.names)} {by_cell}")
    columns = ", ".join(["cell_id", "block", *VALUES.names])
    connection.execute(f'CREATE VIEW "values" AS SELECT {columns} FROM all_observations WHERE metric IS NOT NULL')
    if memory is not None:
        connection.execute(f"SET memory_limit = '{memory}'; SET temp_directory = ''; SET enable_progress_bar = false")
    if folder is not None:
        connection.execute("SET allowed_directories = $folders", {"folders": [folder]})
    connection.execute("SET enable_external_access = false; SET lock_configuration = true")
    return connection


def observations(identities: Iterable[str] | None = None) -> "pd.DataFrame":
    """Return the view ``observations`` of `connect`, empty and typed when nothing has been run."""
    with connect(identities) as connection:
        return frame(connection, "SELECT * FROM observations")


def seconds() -> dict[tuple[str, str], float]:
    """Return how long a finished cell took at last, in seconds, by its study and its parameters in JSON."""
    timed = [file.facts for file in finished() if not math.isnan(file.facts.took_s)]
    timed.sort(key=lambda facts: facts.ended_at or 0.0)
    return {(facts.study, str(facts.parameters)): facts.took_s for facts in timed}


def frame(connection: "DuckDBPyConnection", query: str) -> "pd.DataFrame":
    """Return a query's rows; by way of Arrow, which keeps the types of empty columns and the time zone."""
    rows: pd.DataFrame = connection.sql(query).to_arrow_table().to_pandas()
    return rows


def _cell_columns(names: Iterable[str]) -> str:
    """Return the SQL of a cell's columns, with those of its parameters.

    Where its rows have levels of their own, such as two formats, the cell's own level stands: ``both``.
    """
    columns = []
    of_arms = {parameter_column(name) for name in OF_AN_ARM}
    for name in names:
        if name in KEYS:
            columns.append(name)
        elif name in CELLS.names or name not in {*VALUES.names, *of_arms}:
            shared = f'CASE WHEN min("{name}") = max("{name}") THEN min("{name}") END'
            own = parameter_column(name)
            level = f'coalesce(min("{own}"), {shared})' if own != name and own in names else shared
            columns.append(f'{level} AS "{name}"')
    return ", ".join(columns)
