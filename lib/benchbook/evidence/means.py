"""The unit of analysis: one mean a block for every quantity, stored (by DuckDB) or derived from stored ones."""

import json
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from benchbook import results, studies
from benchbook.results import files
from benchbook.results.folder import Whole, verified

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Triple: TypeAlias = tuple[str, str, str]
"""An operation, a role and a metric."""

UNIT: Final = ["cell_id", "block", "operation", "role", "metric", *results.OF_AN_ARM]
"""What one block's mean covers: all its repetitions of one quantity, in one of the arms that its cell took in turn."""

BATCH: Final = 16 * 2**20
"""Bytes of Parquet that are aggregated at once: some two million values, which exact quartiles hold in memory."""

REACH_IQR: Final = 1.5
"""How far beyond the quartiles Tukey's outlier limits lie, in interquartile ranges."""

ENOUGH: Final = 5
"""Fewer values than this have no quartiles worth a limit: none is an outlier."""

OF_A_REPETITION: Final = frozenset({"repetition", "value", "count", "censored", "resolution", "started_at"})
OF_THE_RUN: Final = frozenset({
    *("run_id", "position", "state", "reason", "cell_started_at", "cell_ended_at", "repetitions"),
    *("dataset", "dataset_sha256", "link", "code_hash", "foreign_load", "disturbed", "stand_in"),
})  # fmt: skip
"""Columns that tell of a cell's run and not what it measured: they stay with the observations, under its `cell_id`."""

_COLUMNS: Final = [name for name in results.OBSERVATIONS.names if name not in OF_A_REPETITION | OF_THE_RUN]
_FIRST: Final = ", ".join(f"first({name}) AS {name}" for name in _COLUMNS if name not in {*UNIT, "source", "campaign"})
_UNIT: Final = ", ".join(UNIT)
_OF_UNITS: Final = ["known", "low", "high"]
_SQL: Final = f"""
WITH kept AS (
    SELECT *, CASE WHEN isnan(value) THEN NULL ELSE value END AS known, coalesce(censored, false) AS ran_out
    FROM {{source}}
    WHERE coalesce(state, 'done') = 'done' AND NOT coalesce(stand_in, false)
        AND ((value IS NOT NULL AND NOT isnan(value)) OR censored)
), units AS (
    SELECT {_UNIT}, arg_min(source, repetition) AS source, {_FIRST},
        count(*) AS rows, min(started_at) AS started_at, max(started_at) AS last_started_at,
        bool_or(ran_out) AS censored, avg("count") AS "count",
        coalesce(first(campaign), '') AS campaign, avg(coalesce(resolution, 0)) AS resolution,
        count(known) AS measured, favg(known) AS at_least, stddev_samp(known) AS deviation,
        coalesce(bool_or(disturbed), false) AS disturbed,
        list(known) AS known, quantile_cont(known, [0.25, 0.5, 0.75]) AS quartiles
    FROM kept GROUP BY {_UNIT}
), limited AS (
    SELECT *, CASE WHEN rows < {ENOUGH} THEN 'infinity'::DOUBLE
        ELSE {REACH_IQR} * (quartiles[3] - quartiles[1]) END AS reach
    FROM units
)
SELECT {", ".join(_COLUMNS)}, rows, started_at, last_started_at, at_least, deviation, censored, disturbed, "count",
    resolution, measured, known, quartiles[1] - reach AS low, quartiles[2] AS median, quartiles[3] + reach AS high
FROM limited
"""
"""Sums as precise as pandas' (``favg`` is Kahan's); quartiles interpolated as numpy's."""

_TEXT: Final = pd.StringDtype("python", na_value=float("nan"))
"""References to the few texts there are: Arrow would copy each cell's parameters whenever rows are chosen."""


_FORMER: Final = {"fault": "none", "probe_rate": 0}
"""Parameters that no study has any more, each with the level that made a cell the same as one without it."""


def drop_former_parameters(means: pd.DataFrame) -> pd.DataFrame:
    """Return means without the parameters that have gone, where these stood at the level that changed nothing."""
    current = {}
    for text in means["parameters"].dropna().unique():
        try:
            stated = {**json.loads(text)}
        except (ValueError, TypeError):
            continue  # no object: named and left out where it is read
        kept = {name: level for name, level in stated.items() if (name, level) not in _FORMER.items()}
        if len(kept) < len(stated):
            # As the grid writes a cell's parameters, so that equal cells have equal texts.
            current[text] = json.dumps(kept, sort_keys=True)
    return means.replace({"parameters": current}) if current else means


def block_means(observations: pd.DataFrame) -> pd.DataFrame:
    """Return one row a cell, block and measured quantity: the mean of its repetitions.

    Single repetitions share their process, its start and the machine's mood: they are not independent, blocks are
    nearly so. Everything in `benchbook.evidence` therefore works on these rows.

    Parameters
    ----------
    observations
        Rows as in `benchbook.results.schema.OBSERVATIONS`, of which columns may be missing; or block means, which are
        returned as they are, so that whatever takes observations takes `stored_means` too.

    Returns
    -------
    pandas.DataFrame
        The columns of the cell but `OF_THE_RUN` (``campaign`` is empty where the runner did not say it),
        ``operation, role, metric, unit, source``, and

        - ``rows``: number of repetitions, with and without a value; ``started_at``, ``last_started_at``: when the first
          and the last of them began;
        - ``value``: mean over the repetitions, in ``unit``; NaN when any of them is censored, for a wait that ran out
          is no time;
        - ``at_least``: the mean with censored waits at the time waited, which the true mean exceeds; ``value`` if none;
        - ``median``: of the repetitions, the typical one, which a slow first one does not move; of a quantity that is
          derived from several what their medians give;
        - ``deviation``: standard deviation of the repetitions, in ``unit``; NaN of fewer than two, or of a quantity
          that is derived from several;
        - ``censored``: whether any repetition is;
        - ``disturbed``: whether other processes used the machine meanwhile: no claim is judged on such a block;
        - ``count``: mean number of items that a repetition covers;
        - ``resolution``: mean of the repetitions' resolutions, in ``unit``, 0 where none is said: what the mean may be
          off by, for the rounding of repetitions that take alike long is alike;
        - ``measured``: number of repetitions with a value;
        - ``outliers``: how many of them lie beyond Tukey's limits (Exploratory Data Analysis, 1977, section 2D);
        - ``value_without``: the mean without those.

        Sorted by study, cell, block and quantity.
    """
    if "measured" in observations:
        return observations
    rows = observations.reindex(columns=results.OBSERVATIONS.names)
    rows = rows.sort_values("repetition", kind="stable")  # so that equal data gives equal sums, to the last digit
    return _sorted([_means(_units(pa.Table.from_pandas(rows, results.OBSERVATIONS, preserve_index=False)))])


def stored_means(identities: Iterable[str] | None = None) -> pd.DataFrame:
    """Return `block_means` of the finished cells of those identities, without ever holding their single values.

    A file holds one cell in one block, so that no mean spans two of them: memory does not grow with the repetitions.

    Parameters
    ----------
    identities
        As in `benchbook.results.observations`: ``identity`` for all blocks of a cell, ``identity.block`` for one; None
        for all.
    """
    return means_of(results.finished(identities))


def means_of(finished: Collection[Whole]) -> pd.DataFrame:
    """Return `stored_means` of the files of some finished cells."""
    import duckdb

    finished = verified(finished)
    if not finished:
        return block_means(results.OBSERVATIONS.empty_table().to_pandas())
    with duckdb.connect() as connection, ThreadPoolExecutor(1) as beside:
        parts: list[Future[pd.DataFrame]] = []
        for batch in _batches(result.path for result in finished):
            units = _units(batch, connection)
            wait(parts)  # or values would pile up where DuckDB has many processors
            parts.append(beside.submit(_means, units))
    return drop_former_parameters(_sorted([part.result() for part in parts]))


def _sorted(parts: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(parts).sort_values(["study", *UNIT], ignore_index=True)


def _batches(paths: Iterable[Path]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for file in paths:
        batch.append(str(file))
        size += file.stat().st_size
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _units(source: pa.Table | list[str], connection: "DuckDBPyConnection | None" = None) -> pa.Table:
    """Return one row a unit of those observations, or of those files', with all its values as a list."""
    import duckdb

    connection = connection or duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    if isinstance(source, list):
        query = _SQL.format(source="read_parquet($files)")
        try:
            return connection.sql(query, params={"files": source}).to_arrow_table()
        except duckdb.Error:
            # DuckDB refuses some damaged footers that Arrow, which has verified the files' values, reads well.
            source = pa.concat_tables(files.read(Path(file)) for file in source)
    connection.register("in_memory", source)
    return connection.sql(_SQL.format(source="in_memory")).to_arrow_table()


def _means(units: pa.Table) -> pd.DataFrame:
    means: pd.DataFrame = units.drop_columns(_OF_UNITS).to_pandas(types_mapper={pa.string(): _TEXT}.get)
    inside, within = _inside(units)
    return means.assign(
        value=means["at_least"].mask(means["censored"]),
        outliers=means["measured"] - inside,
        value_without=within.mask(means["censored"]),
    )


def _inside(units: pa.Table) -> "tuple[NDArray[np.int64], pd.Series[float]]":
    """Return how many of each unit's values lie inside the limits, and their mean.

    Here and not in SQL, where a lambda over each list takes a quarter of all the time.
    """
    known = units["known"].combine_chunks()
    values, lengths = known.flatten().to_numpy(zero_copy_only=False), known.value_lengths().to_numpy()  # no number: NaN
    low, high = (np.repeat(units[limit].to_numpy(), lengths) for limit in ("low", "high"))
    inside = (low <= values) & (values <= high)
    starts = np.cumsum(lengths) - lengths  # no unit is without a row
    counts = np.add.reduceat(inside, starts, dtype=np.int64) if len(units) else np.array([], dtype=np.int64)
    with np.errstate(invalid="ignore"):  # none inside: no mean
        sums = np.add.reduceat(np.where(inside, values, 0), starts) if len(units) else counts.astype(float)
        return counts, pd.Series(sums / counts)


_MEANS: Final = ("value", "at_least", "value_without", "median")


@dataclass(frozen=True)
class Derived:
    """A quantity computed from others that were read around the same timed sections: factor * sum(of) / per."""

    metric: str
    unit: str
    of: tuple[str, ...]  # the raw metrics that are summed, of the row's role
    per: str | None = None  # the raw metric that the sum is divided by; ``count`` are the items; None: by nothing
    factor: float = 1.0  # from raw units to `unit`
    per_role: str | None = None  # the role that `per` is read from, when it is not the row's
    unless: str | None = None  # the raw metric that, where it was read, makes a better one of the same name


DERIVED: Final = (
    Derived("time_per_item", "ms", ("wall_time",), per="count", factor=1e-6),
    Derived("cpu_time", "s", ("cpu_total",), factor=1e-9),
    Derived("cpu_time", "s", ("cpu_user", "cpu_system"), factor=1e-9, unless="cpu_total"),
    Derived("cpu_user_time", "s", ("cpu_user",), factor=1e-9),
    Derived("cpu_system_time", "s", ("cpu_system",), factor=1e-9),
    Derived("cpu_percent", "%", ("cpu_total",), per="cpu_capacity", factor=100),
    Derived("cpu_percent", "%", ("cpu_user", "cpu_system"), per="cpu_capacity", factor=100, unless="cpu_total"),
    Derived("cpu_user_percent", "%", ("cpu_user",), per="cpu_capacity", factor=100),
    Derived("cpu_system_percent", "%", ("cpu_system",), per="cpu_capacity", factor=100),
    Derived("idle_percent", "%", ("idle_time",), per="wall_time", factor=100),
    Derived("markup_percent", "%", ("markup_size",), per="size", factor=100),
    Derived("memory_percent", "%", ("memory_used",), per="memory_total", factor=100),
    Derived("memory_rss_mb", "MB", ("memory_rss",), factor=1 / 2**20),  # as Atop's RSIZE: an MB of 1,048,576 bytes
    Derived("memory_pss_mb", "MB", ("memory_pss",), factor=1 / 2**20),
    Derived("memory_change_kb", "KB", ("memory_change",), factor=1e-3),
    Derived("bandwidth", "Kbps", ("card_bytes_received",), per="elapsed_time", factor=8e6, per_role="client"),
    Derived(
        *("bandwidth", "Kbps", ("bytes_received",)),
        per="elapsed_time",
        factor=8e6,
        per_role="client",
        unless="card_bytes_received",
    ),
)
"""Every derived quantity. The window of ``bandwidth`` is the client's first insert until the replica has caught up.

Its bytes are those at the network card where the role has one, as the paper read them, else those that the engine
counts of replication.

``cpu_percent``, ``cpu_user_percent`` and ``cpu_system_percent`` are a role's processor time in % of what its processors
could have given in the same window, as atop has a process' share of its machine. In a room with ``cores`` those are the
role's own, of tcp's server those that it may use, else all of this machine's; each row's ``source`` of ``cpu_capacity``
says how many. 100 % is all of them, all the time.
"""

COUNTED: Final = frozenset(
    {"size", "markup_size", "markup_percent", "bytes_received", "card_bytes_sent", "card_bytes_received"}
)
"""The metrics that are counted: what other processes do meanwhile disturbs none of them."""

CHANGES: Final = frozenset({"memory_change", "memory_change_kb", "heap_change"})
"""The metrics that may be negative; all others are positive, those in % shares of a whole."""

_SCALED: Final = tuple(derived for derived in DERIVED if len(derived.of) == 1 and derived.per is None)
_SUMMED: Final = {derived.metric for derived in DERIVED if derived.unless}
SPREAD: Final = frozenset({*results.UNITS, *(derived.metric for derived in _SCALED)} - _SUMMED)
"""The metrics whose spread over a block's repetitions is known: those stored, and those that only change its unit."""

_KINDS: Final = ({"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}, {"B": 1.0, "KB": 1e3, "MB": 1e6})
"""Units of time and of size."""


def unit_of(metric: str) -> str:
    """Return the unit of a metric, stored or derived."""
    derived = {quantity.metric: quantity.unit for quantity in DERIVED}
    stored = {str(name): unit for name, unit in results.UNITS.items()}
    return {**stored, **derived}[metric]


def convert(value: float, unit: str, into: str) -> float:
    """Return a value in another unit of its kind.

    Raises
    ------
    ValueError
        When the units are not of one kind.
    """
    if unit == into:
        return value
    for kind in _KINDS:
        if unit in kind and into in kind:
            return value * kind[unit] / kind[into]
    raise ValueError(f"unit: no {unit} is a number of {into}")


def measures(observations: pd.DataFrame) -> pd.DataFrame:
    """Return the block means of all quantities, stored and derived; the columns are those of `block_means`.

    What has derived ones is returned as it is, so that whatever takes observations takes their measures too.
    """
    means = block_means(observations)
    if means["metric"].isin({quantity.metric for quantity in DERIVED}).any():
        return means
    return pd.concat([means, derive(means)], ignore_index=True)


def derive(means: pd.DataFrame, quantities: Iterable[Derived] = DERIVED) -> pd.DataFrame:
    """Return the derived quantities whose raw ones are among those block means; the same columns.

    A quotient is that of the block's means. One with a censored part is censored; when the part is the divisor, nothing
    is known of ``at_least``. The ``resolution`` is what its parts' may add up to, in the derived unit.
    """
    keys = [key for key in UNIT if key not in ("metric", "role")]
    occasion = means.groupby(keys, dropna=False, sort=False).ngroup()
    known = means[["metric", "role", "count"]].assign(occasion=occasion).reset_index(drop=True)
    of_metric = means[[*_MEANS, "deviation", "censored", "resolution"]].set_axis(
        pd.MultiIndex.from_frame(known[["metric", "role", "occasion"]])
    )
    rows = pd.concat([_derive(quantity, known, of_metric) for quantity in quantities])
    carried = means.drop(columns=rows.columns).take(rows.index.to_numpy())
    return pd.concat([carried.reset_index(drop=True), rows.reset_index(drop=True)], axis=1)[means.columns]


def _derive(quantity: Derived, known: pd.DataFrame, of_metric: pd.DataFrame) -> pd.DataFrame:
    """Return what is a derived quantity's own, for every role and occasion that has its parts.

    The index says which row of the means the other columns are those of.
    """
    rows = known[known["metric"] == quantity.of[0]]
    parts = [_of(of_metric, metric, rows["role"], rows["occasion"]) for metric in quantity.of]
    divisor = _divisor(quantity, rows, of_metric)
    own = pd.DataFrame(
        {column: quantity.factor * sum(part[column] for part in parts) / divisor[column] for column in _MEANS}
    )
    own["censored"] = np.any([part["censored"].eq(True) for part in (*parts, divisor)], axis=0)
    rounding = quantity.factor * sum(part["resolution"] for part in parts)
    own["resolution"] = (rounding + own["at_least"].abs() * divisor["resolution"]) / divisor["at_least"]
    own["at_least"] = own["at_least"].mask(divisor["censored"].eq(True))
    own["deviation"] = quantity.factor * parts[0]["deviation"] if quantity in _SCALED else np.nan
    own["source"] = f"derived: {' + '.join(quantity.of)}" + (f" / {quantity.per}" if quantity.per else "")
    own["metric"], own["unit"] = quantity.metric, quantity.unit
    seen = divisor["value"].ne(0)  # a window shorter than a tick of its clock has no shares
    if quantity.unless:
        seen &= _of(of_metric, quantity.unless, rows["role"], rows["occasion"])["censored"].isna()
    return own[np.all([seen, *(part["censored"].notna() for part in (*parts, divisor))], axis=0)]


def _divisor(quantity: Derived, rows: pd.DataFrame, of_metric: pd.DataFrame) -> pd.DataFrame:
    """Return what the sum is divided by, a row for each of `rows`."""
    if quantity.per is not None and quantity.per != "count":
        role = rows["role"] if quantity.per_role is None else pd.Series(quantity.per_role, index=rows.index)
        return _of(of_metric, quantity.per, role, rows["occasion"])
    divisor = rows["count"] if quantity.per == "count" else pd.Series(1.0, index=rows.index)
    return pd.DataFrame(dict.fromkeys(_MEANS, divisor) | {"censored": False, "resolution": 0.0}, index=rows.index)


def _of(of_metric: pd.DataFrame, metric: str, role: "pd.Series[str]", occasion: "pd.Series[int]") -> pd.DataFrame:
    """Return the means of one metric at those roles and occasions, NaN where there is none."""
    wanted = pd.MultiIndex.from_arrays([[metric] * len(role), role, occasion])
    return of_metric.reindex(wanted).set_axis(role.index)


@cache
def delivered(study: str) -> frozenset[Triple]:
    """Return the operation, role and metric, stored or derived, of every value that some cell of the study delivers."""
    stored = _stored(study)
    if _ends_on_all_nodes(study):  # on a single node its client's time is the whole: `ended`
        stored |= {(operation, role, "elapsed_time") for operation, role, metric in stored if metric == "wall_time"}
    stored |= {(operation, role, "memory_pss") for operation, role, metric in stored if metric == "memory_rss"}
    quantities = set(stored)
    for derived in DERIVED:
        for operation, role, metric in stored:
            parts = {(operation, role, part) for part in derived.of}
            if derived.per not in (None, "count"):
                parts.add((operation, derived.per_role or role, str(derived.per)))
            if metric == derived.of[0] and parts <= stored:
                quantities.add((operation, role, derived.metric))
    return frozenset(quantities)


@cache
def _stored(study: str) -> frozenset[Triple]:
    """Return what is stored: what the study says of itself, where that hangs on servers, else what its cells owe."""
    module = studies.load(study)
    if hasattr(module, "EVERY"):
        return frozenset(module.EVERY)
    return frozenset().union(*map(module.expected, _variants(module.Parameters)))


def _variants(model: type[BaseModel]) -> Iterable[BaseModel]:
    """Yield the default parameters, and those with another value of one of them."""
    yield model()
    for name, info in model.model_fields.items():
        for value in get_args(info.annotation):
            try:
                yield model.model_validate({name: value})
            except ValidationError:  # not a choice alone
                continue


def _ends_on_all_nodes(study: str) -> bool:
    """Return whether a study reads how long an operation takes until all nodes hold the same."""
    return study in studies.NAMES and any(metric == "elapsed_time" for _, _, metric in _stored(study))


def ended(means: pd.DataFrame) -> pd.DataFrame:
    """Say of a single node that its operation has ended when its client's has, where a study asks when it has ended."""
    timed = [study for study in means["study"].unique() if _ends_on_all_nodes(study)]
    alone = means["study"].isin(timed) & (means["topology"] == "single") & (means["metric"] == "wall_time")
    return means.assign(metric=means["metric"].mask(alone, "elapsed_time"))
