"""The unit of analysis: one mean a block for every measured quantity of a cell."""

from typing import Final

import pandas as pd

from benchbook.stats.outliers import ENOUGH, REACH_IQR

UNIT: Final = ["cell_id", "block", "operation", "role", "metric", "format", "codec"]
"""What one block's mean covers: all its repetitions of one quantity."""

ROWS: Final = "rows"
EARLIEST: Final = "started_at"
LATEST: Final = "last_started_at"
FINISHED: Final = "done"
OF_A_REPETITION: Final = frozenset({"repetition", "value", "count", "censored", "resolution", "started_at"})
"""Columns that differ from repetition to repetition."""

OF_THE_RUN: Final = frozenset({
    *("run_id", "position", "state", "reason", "cell_started_at", "cell_ended_at", "repetitions"),
    *("dataset", "dataset_sha256", "link", "code_hash"),
})  # fmt: skip
"""Columns that tell of a cell's run and not what it measured: they stay with the observations, under its `cell_id`."""

NOT_CARRIED: Final = OF_A_REPETITION | OF_THE_RUN


def block_means(observations: pd.DataFrame) -> pd.DataFrame:
    """Return one row a cell, block and measured quantity: the mean of its repetitions.

    Single repetitions share their process, its start and the machine's mood: they are not independent, blocks are
    nearly so. Everything in `benchbook.evidence` therefore works on these rows.

    Parameters
    ----------
    observations
        Rows as in `benchbook.results.schema.OBSERVATIONS`; or block means, which are returned as they are, so that
        whatever takes observations takes `stored_means` too.

    Returns
    -------
    pandas.DataFrame
        The columns of the cell but `OF_THE_RUN`, ``operation, role, metric, unit, source``, and

        - ``rows``: number of repetitions, with and without a value; ``started_at``, ``last_started_at``: when the first
          and the last of them began;

        - ``value``: mean over the repetitions, in ``unit``; NaN when any of them is censored, for a wait that ran out
          is no time;
        - ``at_least``: the mean with censored waits at the time waited, which the true mean exceeds; ``value`` if none;
        - ``censored``: whether any repetition is;
        - ``count``: mean number of items that a repetition covers;
        - ``measured``: number of repetitions with a value;
        - ``outliers``: how many of them lie beyond Tukey's fences;
        - ``value_without``: the mean without those.
    """
    if "measured" in observations:
        return observations
    rows = observations.assign(censored=observations["censored"].fillna(False).astype(bool))
    wanted = rows["value"].notna() | rows["censored"]  # a value still owed when a replica was lost has no number
    if "state" in rows:
        wanted &= rows["state"].isna() | (rows["state"] == FINISHED)
    rows = rows[wanted].reset_index(drop=True)
    keys = [key for key in UNIT if key in rows]
    unit = rows.groupby(keys, dropna=False, sort=False, observed=True).ngroup()
    means = _carried(rows, unit).join(_summary(rows, unit))
    return means.reset_index(drop=True)


def _carried(rows: pd.DataFrame, unit: "pd.Series[int]") -> pd.DataFrame:
    """Return the columns that are the same in all rows of a unit."""
    first = ~unit.duplicated()
    kept = rows.loc[first, [column for column in rows.columns if column not in NOT_CARRIED]]
    return kept.set_index(unit[first])


def _summary(rows: pd.DataFrame, unit: "pd.Series[int]") -> pd.DataFrame:
    """Return what is computed over the repetitions of each unit."""
    inside = rows["value"].mask(_flags(rows["value"], unit))
    grouped = rows["value"].groupby(unit)
    summary = pd.DataFrame(
        {
            "at_least": grouped.mean(),
            "censored": rows["censored"].groupby(unit).any(),
            "count": rows["count"].groupby(unit).mean(),
            "measured": grouped.count(),
            "outliers": grouped.count() - inside.groupby(unit).count(),
            "value_without": inside.groupby(unit).mean(),
        }
    )
    if EARLIEST in rows:
        started = rows[EARLIEST].groupby(unit)
        summary = summary.assign(**{EARLIEST: started.min(), LATEST: started.max()})
    summary.insert(0, ROWS, grouped.size())
    summary.insert(0, "value", summary["at_least"].mask(summary["censored"]))
    summary["value_without"] = summary["value_without"].mask(summary["censored"])
    return summary


def _flags(values: "pd.Series[float]", unit: "pd.Series[int]") -> "pd.Series[bool]":
    """Return `stats.outliers` of each unit, for a million rows at once."""
    grouped = values.groupby(unit)
    low, high = (unit.map(grouped.quantile(q)) for q in (0.25, 0.75))
    reach = REACH_IQR * (high - low)
    enough = unit.map(grouped.size()) >= ENOUGH
    return enough & ((values < low - reach) | (values > high + reach))
