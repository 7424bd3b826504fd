"""What a cell's file says of it beside its values; whether those are complete, and how long its clocks ran."""

import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

import pandas as pd
import pyarrow as pa

from benchbook import results, studies
from benchbook.datasets import own_records
from benchbook.grid import Cell, code_hash
from benchbook.inputs import InputError
from benchbook.measure.environment import host
from benchbook.runner.durations import STEP_S, Took
from benchbook.runner.visit import Visit

_TIMES: Final = ("wall_time", "catch_up_time", "elapsed_time")
_VARYING: Final = ["format", "codec"]


def columns(cell: Cell, run_id: str, state: results.State, reason: str | None = None) -> dict[str, Any]:
    """Return a cell's columns that are known without running it."""
    parameters = cell.parameters.model_dump()
    own = {name: parameters[name] for name in results.CELLS.names if name in parameters and name != "parameters"}
    return {
        **own,
        "cell_id": cell.identity,
        "block": cell.block,
        "position": cell.position,
        "run_id": run_id,
        "host": host(),
        "study": cell.study,
        "topology": cell.topology,
        "dataset": studies.load(cell.study).dataset(cell.parameters),
        "parameters": cell.kind[1],
        "code_hash": code_hash(cell.study, cell.parameters),
        "state": state,
        "reason": reason,
    }


def changed(cell: Cell) -> str | None:
    """Return that the file of records which a cell was given is another now than when it was planned; else None."""
    if cell.records is None:
        return None
    file = cell.parameters.model_dump()["dataset_file"]
    try:
        return None if own_records.digest(file) == cell.records else f"{file}: {own_records.CHANGED}"
    except InputError as error:
        return f"{error}: it {own_records.CHANGED}"


def measured_on(visit: Visit, took: Took) -> dict[str, Any]:
    """Return a cell's columns that its deployment knows, and when it ran.

    It ends as long after its start as the monotonic clock says; how far the machine's time jumped meanwhile stands
    with its environment.
    """
    nodes = visit.deployment.nodes
    jumped = {"clock_step_s": round(took.step_s, 3)} if abs(took.step_s) >= STEP_S else {}
    return {
        "engine_version": nodes[0].version if nodes else None,
        "stand_in": any(node.stand_in for node in nodes),
        "environment": json.dumps(visit.environment | jumped, sort_keys=True, default=str),
        "cell_started_at": took.started_at,
        "cell_ended_at": took.started_at + timedelta(seconds=took.seconds),
    }


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
    times = rows[rows["metric"].isin(_TIMES) & rows["value"].notna()]
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
