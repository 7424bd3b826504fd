"""Rates, percentages and sums: derived in one place from the raw quantities that a study stores."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from benchbook.evidence.means import UNIT, block_means

OCCASION: Final = [key for key in UNIT if key != "metric"]
"""What quantities have in common when they were read around the same timed sections."""

_MEANS: Final = ("value", "at_least", "value_without")


@dataclass(frozen=True)
class Derived:
    """A quantity computed from others of the same occasion: factor * sum(of) / per.

    Parameters
    ----------
    metric, unit
        Its name and unit.
    of
        The raw metrics that are summed, of the row's role.
    per
        The raw metric that the sum is divided by; ``count`` are the items; None divides by nothing.
    factor
        From raw units to ``unit``.
    per_role
        The role that ``per`` is read from, when it is not the row's.
    """

    metric: str
    unit: str
    of: tuple[str, ...]
    per: str | None = None
    factor: float = 1.0
    per_role: str | None = None


DERIVED: Final = (
    Derived("time_per_item", "ms", ("wall_time",), per="count", factor=1e-6),
    Derived("cpu_time", "s", ("cpu_user", "cpu_system"), factor=1e-9),
    Derived("cpu_user_time", "s", ("cpu_user",), factor=1e-9),
    Derived("cpu_system_time", "s", ("cpu_system",), factor=1e-9),
    Derived("cpu_percent", "%", ("cpu_user", "cpu_system"), per="cpu_capacity", factor=100),
    Derived("cpu_user_percent", "%", ("cpu_user",), per="cpu_capacity", factor=100),
    Derived("cpu_system_percent", "%", ("cpu_system",), per="cpu_capacity", factor=100),
    Derived("memory_percent", "%", ("memory_used",), per="memory_total", factor=100),
    Derived("memory_rss_mb", "MB", ("memory_rss",), factor=1 / 2**20),  # as Atop's RSIZE: an MB of 1,048,576 bytes
    Derived("memory_pss_mb", "MB", ("memory_pss",), factor=1 / 2**20),
    Derived("memory_change_kb", "KB", ("memory_change",), factor=1e-3),
    Derived("bandwidth", "Kbps", ("bytes_received",), per="elapsed_time", factor=8e6, per_role="client"),
)
"""Every derived quantity. The window of ``bandwidth`` is the client's first insert until the replica has caught up."""

_DERIVED: Final = frozenset(one.metric for one in DERIVED)


def measures(observations: pd.DataFrame) -> pd.DataFrame:
    """Return the block means of all quantities, stored and derived; the columns are those of `block_means`.

    What has derived ones is returned as it is, so that whatever takes observations takes their measures too.
    """
    means = block_means(observations)
    if means["metric"].isin(_DERIVED).any():
        return means
    return pd.concat([means, derive(means)], ignore_index=True)


def derive(means: pd.DataFrame) -> pd.DataFrame:
    """Return the derived quantities of `DERIVED` whose raw ones are there.

    Parameters
    ----------
    means
        As `block_means` returns them.

    Returns
    -------
    pandas.DataFrame
        The same columns. A quotient is that of the block's means. One with a censored part is censored; when the part
        is the divisor, nothing is known of ``at_least``.
    """
    keys = [key for key in OCCASION if key in means and key != "role"]
    occasion = means.groupby(keys, dropna=False, sort=False).ngroup()
    known = means[["metric", "role", "count"]].assign(occasion=occasion).reset_index(drop=True)
    found = means[[*_MEANS, "censored"]].set_axis(pd.MultiIndex.from_frame(known[["metric", "role", "occasion"]]))
    rows = pd.concat([_derive(one, known, found) for one in DERIVED])
    carried = means.drop(columns=rows.columns).take(rows.index.to_numpy())
    return pd.concat([carried.reset_index(drop=True), rows.reset_index(drop=True)], axis=1)[means.columns]


def _derive(one: Derived, known: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Return what is a derived quantity's own, for every role and occasion that has its parts.

    The index says which row of the means the other columns are those of.
    """
    rows = known[known["metric"] == one.of[0]]
    parts = [_of(found, metric, rows["role"], rows["occasion"]) for metric in one.of]
    divisor = _divisor(one, rows, found)
    own = pd.DataFrame(
        {column: one.factor * sum(part[column] for part in parts) / divisor[column] for column in _MEANS}
    )
    own["censored"] = np.any([part["censored"].eq(True) for part in (*parts, divisor)], axis=0)
    own["at_least"] = own["at_least"].mask(divisor["censored"].eq(True))
    own["source"] = f"derived: {' + '.join(one.of)}" + (f" / {one.per}" if one.per else "")
    own["metric"], own["unit"] = one.metric, one.unit
    seen = divisor["value"].ne(0)  # a window shorter than a tick of its clock has no shares
    return own[np.all([seen, *(part["censored"].notna() for part in (*parts, divisor))], axis=0)]


def _divisor(one: Derived, rows: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Return what the sum is divided by, a row for each of `rows`."""
    if one.per is not None and one.per != "count":
        role = rows["role"] if one.per_role is None else pd.Series(one.per_role, index=rows.index)
        return _of(found, one.per, role, rows["occasion"])
    divisor = rows["count"] if one.per == "count" else pd.Series(1.0, index=rows.index)
    return pd.DataFrame(dict.fromkeys(_MEANS, divisor) | {"censored": False}, index=rows.index)


def _of(found: pd.DataFrame, metric: str, role: "pd.Series[str]", occasion: "pd.Series[int]") -> pd.DataFrame:
    """Return the means of one metric at those roles and occasions, NaN where there is none."""
    wanted = pd.MultiIndex.from_arrays([[metric] * len(role), role, occasion])
    return found.reindex(wanted).set_axis(role.index)


def ended(means: pd.DataFrame) -> pd.DataFrame:
    """Say of a single node in `crud` that its operation has ended when its client's has: as the paper timed both."""
    alone = (means["study"] == "crud") & (means["topology"] == "single") & (means["metric"] == "wall_time")
    return means.assign(metric=means["metric"].mask(alone, "elapsed_time"))
