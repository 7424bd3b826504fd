"""Block means of stored results, aggregated by DuckDB a few files at a time: only the means ever reach Python."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pandas as pd
import pyarrow as pa

from benchbook import results
from benchbook.evidence.means import EARLIEST, FINISHED, LATEST, NOT_CARRIED, ROWS, UNIT, block_means
from benchbook.stats import fences

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BATCH: Final = 16 * 2**20
"""Bytes of Parquet that are aggregated at once: some two million values, which exact quartiles hold in memory."""

_ORDER: Final = ["study", *UNIT]


def stored_means(identities: Iterable[str] | None = None) -> pd.DataFrame:
    """Return `block_means` of the finished cells of those identities, without ever holding their single values.

    A file holds one cell in one block, so that no mean spans two of them: memory does not grow with the repetitions.

    Parameters
    ----------
    identities
        As in `benchbook.results.observations`: ``identity`` for all blocks of a cell, ``identity.block`` for one; None
        for all.

    Returns
    -------
    pandas.DataFrame
        As `block_means`, sorted by study, cell, block and quantity.
    """
    import duckdb

    files = results.finished(identities)
    if not files:
        return block_means(results.OBSERVATIONS.empty_table().to_pandas())
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        parts = [_means(connection, batch) for batch in _batches(files)]
    means: pd.DataFrame = pa.concat_tables(parts).to_pandas()
    return means.sort_values(_ORDER, ignore_index=True)


def _batches(files: Iterable[Path]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for file in files:
        batch.append(str(file))
        size += file.stat().st_size
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _means(connection: "DuckDBPyConnection", files: list[str]) -> pa.Table:
    return connection.sql(_SQL, params={"files": files, "finished": FINISHED}).to_arrow_table()


def _carried() -> str:
    """Return the SQL of the columns that are the same in all rows of a unit; `source` may differ: the first one's."""
    names = [name for name in results.OBSERVATIONS.names if name not in {*UNIT, *NOT_CARRIED, "source"}]
    return ", ".join(["arg_min(source, repetition) AS source", *(f"first({name}) AS {name}" for name in names)])


_UNIT: Final = ", ".join(UNIT)
_COLUMNS: Final = ", ".join(name for name in results.OBSERVATIONS.names if name not in NOT_CARRIED)
_SQL: Final = f"""
WITH found AS (
    SELECT *, CASE WHEN isnan(value) THEN NULL ELSE value END AS known, coalesce(censored, false) AS ran_out
    FROM read_parquet($files)
    WHERE state = $finished AND ((value IS NOT NULL AND NOT isnan(value)) OR censored)
), units AS (
    SELECT {_UNIT}, {_carried()}, count(*) AS {ROWS}, min(started_at) AS {EARLIEST}, max(started_at) AS {LATEST},
        bool_or(ran_out) AS censored, avg("count") AS "count", count(known) AS measured,
        list(known) FILTER (known IS NOT NULL) AS listed, quantile_cont(known, [0.25, 0.75]) AS quartiles
    FROM found GROUP BY {_UNIT}
), fenced AS (
    SELECT *, {fences.FENCE} * (quartiles[2] - quartiles[1]) AS reach,
        CASE WHEN {ROWS} < {fences.ENOUGH} THEN listed
            ELSE list_filter(listed, lambda x: x BETWEEN quartiles[1] - reach AND quartiles[2] + reach) END AS inside
    FROM units
)
SELECT {_COLUMNS}, {ROWS}, {EARLIEST}, {LATEST},
    CASE WHEN NOT censored THEN at_least END AS value, at_least, censored, "count", measured,
    measured - coalesce(len(inside), 0) AS outliers, CASE WHEN NOT censored THEN favg END AS value_without
FROM (
    SELECT *, list_aggregate(listed, 'favg') AS at_least, list_aggregate(inside, 'favg') AS favg FROM fenced
)
"""
"""Sums as precise as pandas' (``favg`` is Kahan's); quartiles interpolated as numpy's; fences as `stats.outliers`."""
