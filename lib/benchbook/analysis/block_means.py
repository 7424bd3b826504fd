"""Block means: one mean of each quantity per cell and block, the unit of all analysis.

Begin with `load_block_means` for results, or `compute_block_means` for observations. `BlockMeans`
are those of one term of a comparison.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from benchbook.analysis.orders import add_turn_means, join_orders
from benchbook.analysis.published import CellSettings
from benchbook.analysis.quantities import DERIVED, MEAN_KEYS, derive_quantities
from benchbook.results import files
from benchbook.results.additions import write_complete_columns
from benchbook.results.folder import Operations, ResultFile, ResultsFolder, verify_files
from benchbook.results.schema import OBSERVATIONS

REPETITION_COLUMNS: Final = (
    "repetition",
    "turn",
    "value",
    "count",
    "timed_out",
    "resolution",
    "started_at",
)
"""Columns of one repetition, which a mean has not or has in another form."""

RUN_COLUMNS: Final = (
    *("run_id", "position", "state", "reason", "cell_started_at", "cell_ended_at"),
    *("dataset", "dataset_sha256", "code_hash", "versions", "machine", "boot"),
    *("background_load", "noisy"),
)
"""Columns about the run of a cell, which stay with the observations, under its `cell_id`."""

MEAN_COLUMNS: Final = (
    *(name for name in OBSERVATIONS.names if name not in {*REPETITION_COLUMNS, *RUN_COLUMNS}),
    *("rows", "started_at", "last_started_at", "value", "at_least", "timed_out", "noisy", "count"),
)
"""Columns of a mean, besides the parameters of its cell."""

PASS_PAUSE: Final = pd.Timedelta(hours=1)
"""When no cell of a block has begun for so long, its number is used again in another pass."""

_KEYS: Final = ", ".join(MEAN_KEYS)
# ``favg`` is Kahan's sum, as precise as that of pandas.
_SQL: Final = f"""
WITH chosen AS (
    SELECT *, CASE WHEN isnan(value) THEN NULL ELSE value END AS known
    FROM {{source}}
    WHERE coalesce(state, 'done') = 'done'
        AND ((value IS NOT NULL AND NOT isnan(value)) OR timed_out)
)
SELECT {_KEYS}, arg_min(source, repetition) AS source, {{first}},
    count(*) AS rows, min(started_at) AS started_at, max(started_at) AS last_started_at,
    favg(known) AS at_least, {{turns}}, bool_or(coalesce(timed_out, false)) AS timed_out,
    coalesce(bool_or(noisy), false) AS noisy, avg("count") AS "count"
FROM chosen GROUP BY {_KEYS}
"""

# A side's mean in processes that it began, and in others, where the rows state its turn.
_TURN_SQL: Final = (
    "favg(known) FILTER (turn = 1) AS when_first, favg(known) FILTER (turn > 1) AS when_later"
)
_NO_TURN_SQL: Final = "NULL::DOUBLE AS when_first, NULL::DOUBLE AS when_later"

_TEXT: Final = pd.StringDtype("python", na_value=float("nan"))


@dataclass(frozen=True)
class BlockMeans:
    """The means of one quantity, one per block: a term of a comparison. Arrays of shape (n,)."""

    settings: CellSettings  # levels of parameters and columns
    blocks: NDArray[np.int64]  # numbers, ascending, unique over machines and days
    values: NDArray[np.float64]  # in `unit`
    timed_out: NDArray[np.bool_]  # whether a wait ran out: the true value is larger
    unit: str
    noisy: int = 0  # number of further blocks that other programs disturbed
    noisy_means: "BlockMeans | None" = None  # the means of these blocks
    cells: frozenset[str] = frozenset()  # parameters of its cells, in JSON
    # Numbers of the blocks in which the sides took turns in one process, if others did not.
    in_turn: frozenset[int] = frozenset()
    own_processors: int = 0  # the fewest that a role of these cells had to itself
    is_unchecked: bool = False  # whether an adapter that has not met its server measured them

    @property
    def with_noisy_blocks(self) -> "BlockMeans":
        """The means of all blocks; of a block with quiet repetitions, of these."""
        if self.noisy_means is None:
            return self
        return join_blocks(self, self.noisy_means)

    def select_blocks(self, blocks: NDArray[np.int64]) -> "BlockMeans":
        """Return the means of those of the blocks that it has."""
        # As nearly always, and faster than to look for each block.
        if np.array_equal(self.blocks, blocks):
            return self
        chosen = np.isin(self.blocks, blocks)
        return replace(
            self,
            blocks=self.blocks[chosen],
            values=self.values[chosen],
            timed_out=self.timed_out[chosen],
        )


def find_shared_blocks(terms: Iterable[BlockMeans]) -> NDArray[np.int64]:
    """Return the numbers of the blocks that all terms have, ascending."""
    first, *others = (means.blocks for means in terms)
    # As nearly always, and faster than to look for each block.
    if all(np.array_equal(first, other) for other in others):
        return first
    return reduce(np.intersect1d, others, first)


def find_common_settings(terms: Iterable[BlockMeans]) -> CellSettings:
    """Return the settings that all terms have in common."""
    first, *others = (means.settings for means in terms)
    common = {}
    for name, level in first.items():
        if all(other.get(name) == level for other in others):
            common[name] = level
    return common


def join_blocks(means: BlockMeans, others: BlockMeans) -> BlockMeans:
    """Return means with those of the blocks that only the others have."""
    added = others.select_blocks(np.setdiff1d(others.blocks, means.blocks))
    blocks = np.append(means.blocks, added.blocks)
    order = np.argsort(blocks)
    # A noisy block counts only where there is no quiet one.
    noisy = [part.noisy_means for part in (means, others) if part.noisy_means]
    noisy_means = reduce(join_blocks, noisy) if noisy else None
    return replace(
        means,
        blocks=blocks[order],
        values=np.append(means.values, added.values)[order],
        timed_out=np.append(means.timed_out, added.timed_out)[order],
        noisy=0 if noisy_means is None else len(noisy_means.blocks),
        noisy_means=noisy_means,
        cells=means.cells | others.cells,
        in_turn=means.in_turn | (others.in_turn & frozenset(added.blocks.tolist())),
        own_processors=min(means.own_processors, others.own_processors),
        is_unchecked=means.is_unchecked or others.is_unchecked,
    )


def average_levels(parts: list[BlockMeans]) -> BlockMeans:
    """Return the means over several levels of a factor, in the blocks that all levels have."""
    # A block that is noisy at one level is noisy in the mean.
    noisy_means = None
    if any(part.noisy_means for part in parts):
        whole = [replace(part.with_noisy_blocks, noisy_means=None) for part in parts]
        noisy_means = average_levels(whole)

    blocks = find_shared_blocks(parts)
    parts = [part.select_blocks(blocks) for part in parts]
    return replace(
        parts[0],
        settings=find_common_settings(parts),
        values=np.mean([part.values for part in parts], axis=0),
        timed_out=np.any([part.timed_out for part in parts], axis=0),
        noisy=max(part.noisy for part in parts),
        noisy_means=noisy_means,
        cells=frozenset[str]().union(*(part.cells for part in parts)),
        own_processors=min(part.own_processors for part in parts),
        is_unchecked=any(part.is_unchecked for part in parts),
    )


def load_block_means(
    results: ResultsFolder,
    identities: Iterable[str] | Mapping[str, Operations] | None = None,
) -> pd.DataFrame:
    """Return the block means of finished cells, without loading their single values.

    Parameters
    ----------
    results
        The folder that has the cells.
    identities
        As `ResultsFolder.list_finished_files` takes them.

    Returns
    -------
    pandas.DataFrame
        The rows of `average_repetitions`.
    """
    finished = verify_files(results.list_finished_files(identities))
    if not finished:
        return average_repetitions(OBSERVATIONS.empty_table().to_pandas())
    paths = [str(result.path) for result in finished]
    stored = set[str]()
    for result in finished:
        stored.update(name for name, _ in result.facts.columns)
    schema = files.merge_file_schemas(result.facts for result in finished)
    means = _average(paths, schema, write_complete_columns(stored))
    # Here, because its models are slow to import, and comparisons do without.
    from benchbook.results.server_checks import add_check_dates

    return add_check_dates(_select_counted(means, finished), results)


def _select_counted(means: pd.DataFrame, finished: Iterable[ResultFile]) -> pd.DataFrame:
    """Return the means of the operations that count of each file."""
    counted_of = {
        (result.facts.cell_id, result.facts.block): result.operations
        for result in finished
        if result.operations is not None
    }
    if not counted_of:
        return means
    cells = zip(means["cell_id"], means["block"], means["operation"], strict=True)
    is_counted = [
        operation in counted_of.get((identity, block), (operation,))
        for identity, block, operation in cells
    ]
    return means[is_counted].reset_index(drop=True)


def average_repetitions(observations: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell, block and quantity: the mean of its repetitions.

    Repetitions share a process, its start and the state of the machine, so they are not
    independent. Blocks nearly are. All of `benchbook.analysis` therefore works on these rows.

    Parameters
    ----------
    observations
        Rows with the columns of `benchbook.results.schema.OBSERVATIONS`, some of which may be
        missing, and of parameters; or block means, which are returned as they are.

    Returns
    -------
    pandas.DataFrame
        The columns of the cell without `RUN_COLUMNS`, ``operation, role, metric, unit, source``,
        and

        - ``rows``: number of repetitions; ``started_at``, ``last_started_at``: when the first and
          the last of them began;
        - ``value``: mean of the repetitions in ``unit``; NaN if a wait ran out in any of them;
        - ``at_least``: the mean with such waits at the time waited; equal to ``value`` if none;
        - ``timed_out``: whether a wait ran out;
        - ``noisy``: whether other programs used the machine: such a block is not judged;
        - ``count``: mean number of items that a repetition covers.

        Sorted by study, cell, block and quantity.
    """
    if "rows" in observations:
        return observations
    # Sorted, so that equal sums are equal to the last digit.
    rows = observations.sort_values("repetition", kind="stable")
    table = files.build_inferred_table(rows)
    return _average(table, table.schema)


def _average(
    source: pa.Table | list[str],
    schema: pa.Schema,
    completions: Mapping[str, str] = MappingProxyType({}),
) -> pd.DataFrame:
    """Return the means of a table's rows or of some files' rows.

    The schema is that of all rows; `completions` are the SQL of columns that came later.
    """
    # Importing it takes a quarter of a second; the reference run needs none.
    import duckdb

    grouped = {*REPETITION_COLUMNS, *RUN_COLUMNS, *MEAN_KEYS, "source"}
    names = [name for name in schema.names if name not in grouped]
    value_of = {name: f'"{name}"' for name in names} | dict(completions)
    first = ", ".join(f'first({value_of[name]}) AS "{name}"' for name in names)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        if isinstance(source, list):
            # Files of earlier versions do not have the later columns.
            connection.register("today", OBSERVATIONS.empty_table())
            stored = "SELECT * FROM read_parquet($files, union_by_name = true)"
            complete = f"({stored} UNION ALL BY NAME SELECT * FROM today)"
            query = _SQL.format(source=complete, first=first, turns=_TURN_SQL)
            try:
                units = connection.sql(query, params={"files": source}).to_arrow_table()
            except duckdb.Error:
                # DuckDB refuses some damaged footers that Arrow reads; Arrow has verified the
                # values of these files.
                tables = [files.read_table(Path(file)) for file in source]
                whole = pa.concat_tables(tables, promote_options="permissive")
                return _average(whole, schema)
        else:
            connection.register("in_memory", source)
            turns = _TURN_SQL if "turn" in schema.names else _NO_TURN_SQL
            query = _SQL.format(source="in_memory", first=first, turns=turns)
            units = connection.sql(query).to_arrow_table()
    # DuckDB reads texts as bytes where a damaged footer calls them so; Arrow, which verified the
    # values, does not.
    typed = units.schema
    for number, name in enumerate(units.column_names):
        if name in schema.names and schema.field(name).type == pa.string():
            typed = typed.set(number, pa.field(name, pa.string()))
    means = read_texts_by_reference(units.cast(typed))
    means["value"] = means["at_least"].mask(means["timed_out"])
    return means.sort_values(["study", *MEAN_KEYS], ignore_index=True)


def read_texts_by_reference(table: pa.Table) -> pd.DataFrame:
    """Return a table as a frame; Arrow's texts would be copied whenever rows are chosen."""
    frame: pd.DataFrame = table.to_pandas(types_mapper={pa.string(): _TEXT}.get)
    return frame


def compute_block_means(observations: pd.DataFrame) -> pd.DataFrame:
    """Return the block means of all quantities, stored and derived, with their machine-days.

    The columns are those of `average_repetitions`, `add_machine_days` and `add_turn_means`. Rows
    that have them already are returned as they are.
    """
    if "machine_day" in observations:
        return observations
    means = add_turn_means(add_machine_days(average_repetitions(observations)))
    if not means["metric"].isin({quantity.metric for quantity in DERIVED}).any():
        means = pd.concat([means, derive_quantities(means)], ignore_index=True)
    return join_orders(means)


def add_machine_days(means: pd.DataFrame) -> pd.DataFrame:
    """Return block means with the machine-day of their blocks.

    Returns
    -------
    pandas.DataFrame
        Two more columns: ``begun``, when the block's pass over all cells began, and
        ``machine_day``, the host and the date (UTC) of that.
    """
    block = [means["host"].fillna(""), means["block"]]
    # Passes: cells of a block that began one after the other.
    started = means["started_at"].sort_values()
    pauses = started.groupby(block, sort=False).diff() > PASS_PAUSE
    passes = pauses.groupby(block, sort=False).cumsum().reindex(means.index)
    begun = means["started_at"].groupby([*block, passes], sort=False).transform("min")
    # A block that began at no known time, number -1, has no date.
    numbers, times = begun.factorize()
    dates = np.array([*pd.DatetimeIndex(times).strftime("%Y-%m-%d"), ""], np.object_)
    return means.assign(begun=begun, machine_day=block[0] + " " + dates[numbers])
