"""What a cell delivered: whether it is complete, and how much of its time was measured."""

from collections.abc import Iterable
from typing import Any

import pandas as pd
import pyarrow as pa

TIMES = ("wall_time", "catch_up_time", "elapsed_time")
_VARYING = ["format", "codec"]


def missing(
    rows: pd.DataFrame, repetitions: int, expected: Iterable[tuple[str, str, str]], format_: str | None = None
) -> str | None:
    """Return what lacks in a cell's rows; None when they are complete.

    Every repetition holds every expected operation, role and metric, for each format that the cell measures (``both``
    are JSON and XML); a value may be missing only where a wait ran out.
    """
    stated = rows[rows["value"].notna() | rows["censored"]]
    if format_ == "both" and (absent := {"json", "xml"} - set(stated["format"])):
        return f"all values of {' and '.join(sorted(absent))}"
    for _, part in stated.groupby(_VARYING, dropna=False):
        found = set(zip(part["repetition"], part["operation"], part["role"], part["metric"], strict=True))
        wanted = {(repetition, *output) for repetition in range(repetitions) for output in expected}
        if lacking := sorted(wanted - found):
            repetition, operation, role, metric = lacking[0]
            return f"{len(lacking)} of {len(wanted)} values, first {metric} of the {role} in {operation} {repetition}"
    return "all values" if stated.empty else None


def ran_out(rows: pd.DataFrame) -> bool:
    """Return whether a wait for the replica ran out: a time that is censored, not one that was never taken."""
    return bool((rows["censored"] & rows["value"].notna()).any())


def measured_s(rows: pd.DataFrame) -> float:
    """Return for how many seconds a cell's clocks ran, each moment once."""
    times = rows[rows["metric"].isin(TIMES) & rows["value"].notna()]
    starts = times["started_at"].astype("int64") / _per_second(times["started_at"])
    spans = sorted(zip(starts, starts + times["value"] / 1e9, strict=True))
    total, until = 0.0, float("-inf")
    for start, end in spans:
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def _per_second(times: "pd.Series[Any]") -> float:
    return {"s": 1e0, "ms": 1e3, "us": 1e6, "ns": 1e9}[times.dt.unit]


def frame(table: pa.Table) -> pd.DataFrame:
    """Return the columns that completeness and time are judged by."""
    names = ["repetition", "operation", "role", "metric", "value", "censored", "started_at", *_VARYING]
    rows: pd.DataFrame = table.select(names).to_pandas()
    return rows
