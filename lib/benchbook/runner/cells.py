"""What a cell's file says of it beside its values."""

import json
from datetime import timedelta
from typing import Any

from benchbook import datasets, measure, results, studies
from benchbook.grid import Cell, code_hash
from benchbook.runner.stopwatch import STEP_S, Took
from benchbook.runner.visit import Visit


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
        "host": measure.host(),
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
        return None if datasets.digest(file) == cell.records else f"{file}: {datasets.CHANGED}"
    except datasets.OwnDataError as error:
        return f"{error}: it {datasets.CHANGED}"


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
