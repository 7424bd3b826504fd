"""Quantities: what a study's cells deliver, and what is derived from it.

Begin with `DERIVED`. `list_quantities` has all quantities of a study, `derive_quantities` computes
those that are derived.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

import numpy as np
import pandas as pd

from benchbook.results.schema import ALTERNATING_COLUMNS
from benchbook.studies.catalogue import STUDIES, load_study

QuantityKey: TypeAlias = tuple[str, str, str]
"""An operation, a role and a metric."""

QUANTITY_COLUMNS: Final = ("operation", "role", "metric")

MEAN_KEYS: Final = ("cell_id", "block", *QUANTITY_COLUMNS, *ALTERNATING_COLUMNS)
"""Columns that tell block means apart."""

COUNTED_METRICS: Final = (
    *("size", "markup_size", "markup_percent", "bytes_received"),
    *("card_bytes_sent", "card_bytes_received"),
)
"""Metrics that are counted: no other program can disturb them."""

SIGNED_METRICS: Final = ("memory_change", "memory_change_kb", "heap_change")
"""Metrics that may be zero or negative, and so have no ratio."""

MIN_CHANGE: Final = {"B": 256_000.0, "KB": 256.0}
"""The page in which V8 takes memory, by unit: smaller changes are too little to measure."""

_MEANS: Final = ("value", "at_least", "when_first", "when_later")


@dataclass(frozen=True)
class DerivedQuantity:
    """A quantity computed from others of the same timed sections: factor * sum(of) / per.

    Stored times are in ns, sizes in bytes.
    """

    metric: str
    unit: str
    # Stored metrics that are summed, of the row's role.
    of: tuple[str, ...]
    # Stored metric that divides the sum; ``count`` is the number of items.
    per: str | None = None
    # From stored units to `unit`.
    factor: float = 1.0
    # Role of `per`, where it is not the row's.
    per_role: str | None = None
    # A stored metric that gives a better quantity: where it is there, this one is not computed.
    unless: str | None = None

    @property
    def stored_metrics(self) -> set[str]:
        """The stored metrics that it is computed from."""
        divisors = set() if self.per in (None, "count") else {str(self.per)}
        return {*self.of} | divisors


DERIVED: Final = (
    DerivedQuantity("time_per_item", "ms", ("wall_time",), per="count", factor=1e-6),
    DerivedQuantity("cpu_time", "s", ("cpu_total",), factor=1e-9),
    DerivedQuantity("cpu_time", "s", ("cpu_user", "cpu_system"), factor=1e-9, unless="cpu_total"),
    DerivedQuantity("cpu_user_time", "s", ("cpu_user",), factor=1e-9),
    DerivedQuantity("cpu_system_time", "s", ("cpu_system",), factor=1e-9),
    DerivedQuantity("cpu_percent", "%", ("cpu_total",), per="cpu_capacity", factor=100),
    DerivedQuantity(
        "cpu_percent",
        "%",
        ("cpu_user", "cpu_system"),
        per="cpu_capacity",
        factor=100,
        unless="cpu_total",
    ),
    DerivedQuantity("cpu_user_percent", "%", ("cpu_user",), per="cpu_capacity", factor=100),
    DerivedQuantity("cpu_system_percent", "%", ("cpu_system",), per="cpu_capacity", factor=100),
    DerivedQuantity("idle_percent", "%", ("idle_time",), per="wall_time", factor=100),
    DerivedQuantity("markup_percent", "%", ("markup_size",), per="size", factor=100),
    DerivedQuantity("memory_percent", "%", ("memory_used",), per="memory_total", factor=100),
    DerivedQuantity("memory_rss_mb", "MB", ("memory_rss",), factor=1 / 2**20),
    DerivedQuantity("memory_pss_mb", "MB", ("memory_pss",), factor=1 / 2**20),
    DerivedQuantity("memory_change_kb", "KB", ("memory_change",), factor=1e-3),
    DerivedQuantity(
        "bandwidth",
        "Kbps",
        ("card_bytes_received",),
        per="elapsed_time",
        factor=8e6,
        per_role="client",
    ),
    DerivedQuantity(
        *("bandwidth", "Kbps", ("bytes_received",)),
        per="elapsed_time",
        factor=8e6,
        per_role="client",
        unless="card_bytes_received",
    ),
)
"""Every derived quantity.

``bandwidth``: bytes from the client's first insert until the replica has caught up. They are read
at the network card where the role has one, as in the paper; else the database counts them.

``cpu_percent``, ``cpu_user_percent``, ``cpu_system_percent``: processor time in % of what the
role's processors could have given in the same window, as atop reports a process' share. These are
the role's own processors in a network with ``cores``, the allowed ones of the server of study
`tcp`, and else all of the machine; the ``source`` of ``cpu_capacity`` says how many. 100 % is all
of them, all the time.

``memory_rss_mb``: as Atop's RSIZE, an MB of 1,048,576 bytes.
"""


def derive_quantities(means: pd.DataFrame) -> pd.DataFrame:
    """Return the derived quantities of some block means, with the same columns.

    A quotient is that of the block's means. It is timed out where a part is. Where that part is the
    divisor, its lower bound ``at_least`` is unknown.
    """
    stored_metrics = {*means["metric"]}
    quantities = [one for one in DERIVED if one.stored_metrics <= stored_metrics]
    if not quantities:
        return means[:0]
    # All that one cell measured of one operation in one block.
    keys = [name for name in MEAN_KEYS if name not in ("metric", "role")]
    section = means.groupby(keys, dropna=False, sort=False).ngroup()
    known = means[["metric", "role", "count"]].assign(section=section).reset_index(drop=True)
    index = pd.MultiIndex.from_frame(known[["metric", "role", "section"]])
    stored = means[[*_MEANS, "timed_out"]].set_axis(index)

    # The other columns are those of the first stored metric.
    rows = pd.concat([_derive(quantity, known, stored) for quantity in quantities])
    others = means.drop(columns=rows.columns).take(rows.index.to_numpy())
    whole = pd.concat([others.reset_index(drop=True), rows.reset_index(drop=True)], axis=1)
    return whole[means.columns]


def _derive(quantity: DerivedQuantity, known: pd.DataFrame, stored: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that a derived quantity computes, for every role with its parts."""
    rows = known[known["metric"] == quantity.of[0]]
    parts = [_find_stored(stored, metric, rows["role"], rows["section"]) for metric in quantity.of]
    divisor = _find_divisor(quantity, rows, stored)
    values = {}
    for column in _MEANS:
        total = sum(part[column] for part in parts)
        values[column] = quantity.factor * total / divisor[column]
    derived = pd.DataFrame(values)
    all_parts = [*parts, divisor]
    derived["timed_out"] = np.any([part["timed_out"].eq(True) for part in all_parts], axis=0)
    derived["at_least"] = derived["at_least"].mask(divisor["timed_out"].eq(True))
    formula = " + ".join(quantity.of)
    if quantity.per:
        formula += f" / {quantity.per}"
    derived["source"] = f"derived: {formula}"
    derived["metric"] = quantity.metric
    derived["unit"] = quantity.unit

    # A window shorter than a tick of its clock is 0: nothing can be divided by it.
    is_known = divisor["value"].ne(0)
    for part in all_parts:
        is_known &= part["timed_out"].notna()
    if quantity.unless:
        better = _find_stored(stored, quantity.unless, rows["role"], rows["section"])
        is_known &= better["timed_out"].isna()
    return derived[is_known]


def _find_divisor(
    quantity: DerivedQuantity, rows: pd.DataFrame, stored: pd.DataFrame
) -> pd.DataFrame:
    """Return the divisor of the sum for each row: a stored metric, the number of items, or 1."""
    if quantity.per is not None and quantity.per != "count":
        role = rows["role"]
        if quantity.per_role is not None:
            role = pd.Series(quantity.per_role, index=rows.index)
        return _find_stored(stored, quantity.per, role, rows["section"])
    divisor = rows["count"] if quantity.per == "count" else pd.Series(1.0, index=rows.index)
    return pd.DataFrame(dict.fromkeys(_MEANS, divisor) | {"timed_out": False}, index=rows.index)


def _find_stored(
    stored: pd.DataFrame, metric: str, role: "pd.Series[str]", section: "pd.Series[int]"
) -> pd.DataFrame:
    """Return the means of one metric at those roles and sections, NaN where there is none."""
    wanted = pd.MultiIndex.from_arrays([[metric] * len(role), role, section])
    return stored.reindex(wanted).set_axis(role.index)


@cache
def list_quantities(study: str) -> frozenset[QuantityKey]:
    """Return every stored and derived quantity that some cell of the study delivers."""
    outputs, has_elapsed_times = load_study(study).list_outputs(), _has_elapsed_times(study)
    stored = set(outputs)
    for operation, role, metric in outputs:
        # On a single node the client's time is the whole: `name_elapsed_times`.
        if metric == "wall_time" and has_elapsed_times:
            stored.add((operation, role, "elapsed_time"))
        # Read where the system has it, which a study's expected rows do not say.
        if metric == "memory_rss":
            stored.add((operation, role, "memory_pss"))
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
def _has_elapsed_times(study: str) -> bool:
    """Return whether a study measures the time until all nodes have the same data."""
    if study not in STUDIES:
        return False
    return any(metric == "elapsed_time" for _, _, metric in load_study(study).list_outputs())


def name_elapsed_times(means: pd.DataFrame) -> pd.DataFrame:
    """Return block means in which a single node's wall time is its elapsed time.

    Only in studies that measure the time until all nodes have the same data: on a single node that
    is when the client is done.
    """
    timed = [study for study in means["study"].unique() if _has_elapsed_times(study)]
    is_single = means["study"].isin(timed) & (means["topology"] == "single")
    is_wall_time = is_single & (means["metric"] == "wall_time")
    return means.assign(metric=means["metric"].mask(is_wall_time, "elapsed_time"))
