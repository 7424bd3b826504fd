"""Block means of stored results, aggregated by DuckDB a few files at a time: only the means ever reach Python."""

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from benchbook import results
from benchbook.evidence.means import EARLIEST, FINISHED, LATEST, NOT_CARRIED, ROWS, UNIT, block_means
from benchbook.stats.outliers import ENOUGH, REACH_IQR

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BATCH: Final = 16 * 2**20
"""Bytes of Parquet that are aggregated at once: some two million values, which exact quartiles hold in memory."""

_ORDER: Final = ["study", *UNIT]

_TEXT: Final = pd.StringDtype("python", na_value=float("nan"))
"""References to the few texts there are: Arrow would copy each cell's parameters whenever rows are chosen."""


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
    with duckdb.connect() as connection, ThreadPoolExecutor(1) as beside:
        connection.execute("SET TimeZone = 'UTC'")
        parts: list[Future[pd.DataFrame]] = []
        for batch in _batches(files):
            units = _units(connection, batch)
            wait(parts)  # or values would pile up where DuckDB has many processors
            parts.append(beside.submit(_means, units))
    return pd.concat([part.result() for part in parts]).sort_values(_ORDER, ignore_index=True)


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


def _units(connection: "DuckDBPyConnection", files: list[str]) -> pa.Table:
    return connection.sql(_SQL, params={"files": files, "finished": FINISHED}).to_arrow_table()


def _means(units: pa.Table) -> pd.DataFrame:
    means: pd.DataFrame = units.drop_columns(_OF_UNITS).to_pandas(types_mapper={pa.string(): _TEXT}.get)
    inside, within = _inside(units)
    return means.assign(
        value=means["at_least"].mask(means["censored"]),
        outliers=means["measured"] - inside,
        value_without=within.mask(means["censored"]),
    )


def _inside(units: pa.Table) -> "tuple[NDArray[np.int64], pd.Series[float]]":
    """Return how many of each unit's values lie inside the fences, and their mean.

    Here and not in SQL, where a lambda over each list takes a quarter of all the time.
    """
    known = units["known"].combine_chunks()
    values, lengths = known.flatten().to_numpy(zero_copy_only=False), known.value_lengths().to_numpy()  # no number: NaN
    low, high = (np.repeat(units[fence].to_numpy(), lengths) for fence in ("low", "high"))
    inside = (low <= values) & (values <= high)
    starts = np.cumsum(lengths) - lengths  # no unit is without a row
    counts = np.add.reduceat(inside, starts, dtype=np.int64)
    with np.errstate(invalid="ignore"):  # none inside: no mean
        return counts, pd.Series(np.add.reduceat(np.where(inside, values, 0), starts) / counts)


def _carried() -> str:
    """Return the SQL of the columns that are the same in all rows of a unit; `source` may differ: the first one's."""
    names = [name for name in results.OBSERVATIONS.names if name not in {*UNIT, *NOT_CARRIED, "source"}]
    return ", ".join(["arg_min(source, repetition) AS source", *(f"first({name}) AS {name}" for name in names)])


_UNIT: Final = ", ".join(UNIT)
_COLUMNS: Final = ", ".join(name for name in results.OBSERVATIONS.names if name not in NOT_CARRIED)
_OF_UNITS: Final = ["known", "low", "high"]
_SQL: Final = f"""
WITH found AS (
    SELECT *, CASE WHEN isnan(value) THEN NULL ELSE value END AS known, coalesce(censored, false) AS ran_out
    FROM read_parquet($files)
    WHERE state = $finished AND ((value IS NOT NULL AND NOT isnan(value)) OR censored)
), units AS (
    SELECT {_UNIT}, {_carried()}, count(*) AS {ROWS}, min(started_at) AS {EARLIEST}, max(started_at) AS {LATEST},
        bool_or(ran_out) AS censored, avg("count") AS "count", count(known) AS measured, favg(known) AS at_least,
        list(known) AS known, quantile_cont(known, [0.25, 0.75]) AS quartiles
    FROM found GROUP BY {_UNIT}
), fenced AS (
    SELECT *, CASE WHEN {ROWS} < {ENOUGH} THEN 'infinity'::DOUBLE
        ELSE {REACH_IQR} * (quartiles[2] - quartiles[1]) END AS reach
    FROM units
)
SELECT {_COLUMNS}, {ROWS}, {EARLIEST}, {LATEST}, at_least, censored, "count", measured, known,
    quartiles[1] - reach AS low, quartiles[2] + reach AS high
FROM fenced
"""
"""Sums as precise as pandas' (``favg`` is Kahan's); quartiles interpolated as numpy's; fences as `stats.outliers`."""
