"""The unit of analysis: one mean a block for every quantity, stored (by DuckDB) or derived from stored ones."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
from pydantic import BaseModel, ValidationError

from benchbook import results, studies
from benchbook.results import files
from benchbook.results.folder import Whole, verified

if TYPE_CHECKING:
    pass

Triple: TypeAlias = tuple[str, str, str]
"""An operation, a role and a metric."""

UNIT: Final = ["cell_id", "block", "operation", "role", "metric", *results.OF_AN_ARM]
"""What one block's mean covers: all its repetitions of one quantity, in one of the arms that its cell took in turn."""

OF_A_REPETITION: Final = frozenset({"repetition", "value", "count", "timed_out", "resolution", "started_at"})
OF_THE_RUN: Final = frozenset({
    *("run_id", "position", "state", "reason", "cell_started_at", "cell_ended_at"),
    *("dataset", "dataset_sha256", "code_hash", "background_load", "noisy"),
})  # fmt: skip
"""Columns that tell of a cell's run and not what it measured: they stay with the observations, under its `cell_id`."""

_UNIT: Final = ", ".join(UNIT)
_SQL: Final = f"""
WITH kept AS (
    SELECT *, CASE WHEN isnan(value) THEN NULL ELSE value END AS known
    FROM {{source}}
    WHERE coalesce(state, 'done') = 'done' AND ((value IS NOT NULL AND NOT isnan(value)) OR timed_out)
)
SELECT {_UNIT}, arg_min(source, repetition) AS source, {{first}},
    count(*) AS rows, min(started_at) AS started_at, max(started_at) AS last_started_at,
    favg(known) AS at_least, bool_or(coalesce(timed_out, false)) AS timed_out,
    coalesce(bool_or(noisy), false) AS noisy, avg("count") AS "count"
FROM kept GROUP BY {_UNIT}
"""
"""Sums as precise as pandas' (``favg`` is Kahan's)."""

_TEXT: Final = pd.StringDtype("python", na_value=float("nan"))
"""References to the few texts there are: Arrow would copy each cell's parameters whenever rows are chosen."""


def block_means(observations: pd.DataFrame) -> pd.DataFrame:
    """Return one row a cell, block and measured quantity: the mean of its repetitions.

    Single repetitions share their process, its start and the machine's mood: they are not independent, blocks are
    nearly so. Everything in `benchbook.analysis` therefore works on these rows.

    Parameters
    ----------
    observations
        Rows as in `benchbook.results.schema.OBSERVATIONS`, of which columns may be missing, with a column for each
        parameter; or block means, which are returned as they are.

    Returns
    -------
    pandas.DataFrame
        The columns of the cell but `OF_THE_RUN`, ``operation, role, metric, unit, source``, and

        - ``rows``: number of repetitions, with and without a value; ``started_at``, ``last_started_at``: when the first
          and the last of them began;
        - ``value``: mean over the repetitions, in ``unit``; NaN when a wait ran out in any of them, which is no time;
        - ``at_least``: the mean with such waits at the time waited, which the true mean exceeds; ``value`` if none;
        - ``timed_out``: whether a wait ran out;
        - ``noisy``: whether other programs used the machine meanwhile: nothing is judged on such a block;
        - ``count``: mean number of items that a repetition covers.

        Sorted by study, cell, block and quantity.
    """
    if "rows" in observations:
        return observations
    rows = observations.sort_values("repetition", kind="stable")  # so that equal sums are equal to the last digit
    table = files.typed_with_parameters(rows)
    return _means(table, table.schema)


def stored_means(identities: Iterable[str] | None = None) -> pd.DataFrame:
    """Return `block_means` of the finished cells of those identities, without ever holding their single values.

    Parameters
    ----------
    identities
        As in `benchbook.results.observations`: ``identity`` for all blocks of a cell, ``identity.block`` for one; None
        for all.
    """
    return means_of(results.finished(identities))


def means_of(finished: Collection[Whole]) -> pd.DataFrame:
    """Return `stored_means` of the files of some finished cells."""
    finished = verified(finished)
    if not finished:
        return block_means(results.OBSERVATIONS.empty_table().to_pandas())
    return _means([str(result.path) for result in finished], files.schema_of(result.facts for result in finished))


def _means(source: pa.Table | list[str], schema: pa.Schema) -> pd.DataFrame:
    """Return the means of a table's rows, or of those of some files, which have the schema's columns together."""
    import duckdb

    known = [*OF_A_REPETITION, *OF_THE_RUN, *UNIT, "source"]
    names = [name for name in schema.names if name not in known]
    first = ", ".join(f'first("{name}") AS "{name}"' for name in names)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        if isinstance(source, list):
            query = _SQL.format(source="read_parquet($files, union_by_name = true)", first=first)
            try:
                units = connection.sql(query, params={"files": source}).to_arrow_table()
            except duckdb.Error:
                # DuckDB refuses some damaged footers that Arrow, which has verified the files' values, reads well.
                tables = [files.read(Path(file)) for file in source]
                return _means(pa.concat_tables(tables, promote_options="permissive"), schema)
        else:
            connection.register("in_memory", source)
            units = connection.sql(_SQL.format(source="in_memory", first=first)).to_arrow_table()
    means: pd.DataFrame = units.to_pandas(types_mapper={pa.string(): _TEXT}.get)
    means["value"] = means["at_least"].mask(means["timed_out"])
    return means.sort_values(["study", *UNIT], ignore_index=True)


_MEANS: Final = ("value", "at_least")


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

Its bytes are those at the network card where the role has one, as the paper read them, else those that the database
counts of replication.

``cpu_percent``, ``cpu_user_percent`` and ``cpu_system_percent`` are a role's processor time in % of what its
processors could have given in the same window, as atop has a process' share of its machine. In a network with
``cores`` those are the role's own, of tcp's server those that it may use, else all of this machine's; each row's
``source`` of ``cpu_capacity`` says how many. 100 % is all of them, all the time.
"""

COUNTED: Final = frozenset(
    {"size", "markup_size", "markup_percent", "bytes_received", "card_bytes_sent", "card_bytes_received"}
)
"""The metrics that are counted: what other processes do meanwhile disturbs none of them."""

CHANGES: Final = frozenset({"memory_change", "memory_change_kb", "heap_change"})
"""The metrics that may be negative; all others are positive, those in % shares of a whole."""


def measures(observations: pd.DataFrame) -> pd.DataFrame:
    """Return the block means of all quantities, stored and derived, with each block's machine-day.

    The columns are those of `block_means` and `with_machine_days`. What has them is returned as it is, so that whatever
    takes observations takes their measures too.
    """
    if "machine_day" in observations:
        return observations
    means = block_means(observations)
    if not means["metric"].isin({quantity.metric for quantity in DERIVED}).any():
        means = pd.concat([means, derive(means)], ignore_index=True)
    return with_machine_days(means)


PASS_ENDS: Final = pd.Timedelta(hours=1)
"""When no cell of a block has begun for so long, what comes later under its number is another pass."""


def with_machine_days(means: pd.DataFrame) -> pd.DataFrame:
    """Return block means with the machine-day of their blocks.

    Returns
    -------
    pandas.DataFrame
        Two more columns: ``begun``, when the pass over all cells began that the block is of; and ``machine_day``, the
        host and the date (UTC) of that.
    """
    of_block = [means["host"].fillna(""), means["block"]]
    # Passes: cells of a block that began one after the other.
    started = means["started_at"].sort_values()
    pauses = started.groupby(of_block, sort=False).diff() > PASS_ENDS
    number = pauses.groupby(of_block, sort=False).cumsum().reindex(means.index)
    begun = means["started_at"].groupby([*of_block, number], sort=False).transform("min")
    date = pd.to_datetime(begun, utc=True).dt.strftime("%Y-%m-%d").fillna("")
    return means.assign(begun=begun, machine_day=of_block[0] + " " + date)


def derive(means: pd.DataFrame, quantities: Iterable[Derived] = DERIVED) -> pd.DataFrame:
    """Return the derived quantities whose raw ones are among those block means; the same columns.

    A quotient is that of the block's means. One with a timed-out part is timed out; when the part is the divisor,
    nothing is known of ``at_least``.
    """
    keys = [key for key in UNIT if key not in ("metric", "role")]
    occasion = means.groupby(keys, dropna=False, sort=False).ngroup()
    known = means[["metric", "role", "count"]].assign(occasion=occasion).reset_index(drop=True)
    of_metric = means[[*_MEANS, "timed_out"]].set_axis(pd.MultiIndex.from_frame(known[["metric", "role", "occasion"]]))
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
    own["timed_out"] = np.any([part["timed_out"].eq(True) for part in (*parts, divisor)], axis=0)
    own["at_least"] = own["at_least"].mask(divisor["timed_out"].eq(True))
    own["source"] = f"derived: {' + '.join(quantity.of)}" + (f" / {quantity.per}" if quantity.per else "")
    own["metric"], own["unit"] = quantity.metric, quantity.unit
    seen = divisor["value"].ne(0)  # a window shorter than a tick of its clock has no shares
    if quantity.unless:
        seen &= _of(of_metric, quantity.unless, rows["role"], rows["occasion"])["timed_out"].isna()
    return own[np.all([seen, *(part["timed_out"].notna() for part in (*parts, divisor))], axis=0)]


def _divisor(quantity: Derived, rows: pd.DataFrame, of_metric: pd.DataFrame) -> pd.DataFrame:
    """Return what the sum is divided by, a row for each of `rows`."""
    if quantity.per is not None and quantity.per != "count":
        role = rows["role"] if quantity.per_role is None else pd.Series(quantity.per_role, index=rows.index)
        return _of(of_metric, quantity.per, role, rows["occasion"])
    divisor = rows["count"] if quantity.per == "count" else pd.Series(1.0, index=rows.index)
    return pd.DataFrame(dict.fromkeys(_MEANS, divisor) | {"timed_out": False}, index=rows.index)


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
