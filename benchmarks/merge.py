"""The time of merging and judging a run, by its size: block means, tables, A/A checks, verdicts.

``python benchmarks/merge.py [ROWS...]`` writes results of the real schema for the cells of profile
`night` that can run here, with as many repetitions as make that many rows, and reads them back as
the report does: in a fresh process, whose peak memory is printed too. The goals are for
``answered``, the time from that process's start, imports included, until its verdicts are there;
``ended`` is when it is gone. 100 million rows take 2 GB of temporary disk; run it on an idle
machine.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import product
from math import ceil, log
from time import perf_counter
from typing import Any, Final

import numpy as np
import pyarrow as pa

from benchbook import grid
from benchbook.results.folder import open_results
from benchbook.results.schema import ALTERNATING_COLUMNS, METRIC_UNITS, OBSERVATIONS
from benchbook.studies.catalogue import load_study

SIZES: Final = (1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000)
GOALS_S: Final = {10_000_000: 5.0, 100_000_000: 60.0}
GOAL_GIB: Final = 4.0
START: Final = datetime(2026, 1, 2, tzinfo=UTC)
ENVIRONMENT: Final = json.dumps(
    {"cpu": "synthetic", "cores": 2, "libraries": {"pymongo": "4.20.0"}, "load": [0.1] * 3}
)

Quantity = tuple[str, str, str, str | None]  # operation, role, metric, format


def quantities(cell: grid.Cell) -> list[Quantity]:
    """Return the quantities of one repetition of a cell."""
    formats = ("json", "xml") if getattr(cell.parameters, "format", None) == "both" else (None,)
    outputs = sorted(load_study(cell.study).expected(cell.parameters))
    return [(*one, kind) for one, kind in product(outputs, formats)]


def synthesise(cell: grid.Cell, repetitions: int, host: str = "synthetic") -> int:
    """Write one cell's file: log-normal values, 1 % of them outliers, 0.1 % timed out."""
    outputs = quantities(cell)
    rows = len(outputs) * repetitions
    chance = np.random.default_rng([int(cell.identity, 16), cell.block])
    means = 10.0 ** np.array([5 + sum(map(ord, metric)) % 4 for _, _, metric, _ in outputs])
    drift = 1 + 0.05 * chance.standard_normal()
    value = np.tile(means * drift, repetitions) * np.exp(0.1 * chance.standard_normal(rows))
    value[chance.random(rows) < 0.01] *= 5
    waits = np.tile(
        [metric in ("catch_up_time", "elapsed_time") for _, _, metric, _ in outputs], repetitions
    )
    named: dict[str, Any] = {
        "repetition": np.repeat(np.arange(repetitions, dtype=np.int32), len(outputs)),
        "value": value,
        "count": np.full(rows, getattr(cell.parameters, "n", 1)),
        "timed_out": waits & (chance.random(rows) < 0.001),
        "resolution": np.ones(rows),
        "started_at": (
            np.datetime64(START.replace(tzinfo=None), "us")
            + np.arange(rows) * np.timedelta64(1, "s")
        ),
    }
    for place, name in enumerate(("operation", "role", "metric", "format")):
        named[name] = [one[place] for one in outputs] * repetitions
    named["unit"] = [METRIC_UNITS[metric] for _, _, metric, _ in outputs] * repetitions
    named["source"] = ["perf_counter_ns"] * rows
    kept = [field for field in OBSERVATIONS if field.name in named]
    table = pa.table(
        [pa.array(named[field.name], field.type) for field in kept], schema=pa.schema(kept)
    )
    open_results().write_cell(
        {**_columns(cell, repetitions), "host": host}, table, cell.combination[1]
    )
    return rows


def _columns(cell: grid.Cell, repetitions: int) -> dict[str, Any]:
    named = cell.parameters.model_dump(mode="json")
    known = {
        name: named[name] for name in ALTERNATING_COLUMNS if named.get(name)
    } | cell.parameters.as_columns()
    times = {"cell_started_at": START, "cell_ended_at": START + timedelta(minutes=1)}
    facts = {
        "study": cell.study,
        "cell_id": cell.identity,
        "block": cell.block,
        "position": cell.position,
        "state": "done",
        "run_id": "synthetic",
        "host": "synthetic",
        "language": "python",
        "arm": cell.arm,
        "database_version": "1.0",
        "dataset": "synthetic",
        "dataset_sha256": "0" * 64,
        "repetitions": repetitions,
        "environment": ENVIRONMENT,
        "code_hash": "0" * 16,
    }
    return known | times | facts


def write_cells(cells: Sequence[grid.Cell], rows: int) -> int:
    """Write the cells' files with at least that many rows together; return how many they have."""
    repetitions = ceil(rows / sum(len(quantities(cell)) for cell in cells))
    with ProcessPoolExecutor() as pool:
        return sum(pool.map(synthesise, cells, [repetitions] * len(cells), chunksize=16))


def judge() -> dict[str, float]:
    """Merge and judge the results' folder as the report does; return each step's seconds."""
    took: dict[str, float] = {}
    begun = perf_counter()

    def step(name: str) -> None:
        nonlocal begun
        now = perf_counter()
        took[name], begun = now - begun, now

    from benchbook.analysis.block_means import load_block_means
    from benchbook.analysis.runs import Analysis

    step("imports")
    means = load_block_means(open_results())
    step("block means")
    analysis = Analysis(means)
    for part in ("means", "tables", "aa", "verdicts"):  # each is made when it is first asked for
        getattr(analysis, part)
        step(part)
    counts = {
        "means": float(len(means)),
        "rows": float(means["rows"].sum()),
        "compared": float(len(analysis.tables)),
    }
    return took | counts | {"peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def measure_judging(folder: str) -> dict[str, float]:
    """Return the result of `judge` in a fresh process, with its seconds to answer and to end."""
    begun = perf_counter()
    command = [sys.executable, __file__, "--judge"]
    with subprocess.Popen(
        command, env=os.environ | {"BENCHBOOK_RESULTS": folder}, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        answered = perf_counter() - begun
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return {**json.loads(said), "answered": answered, "ended": perf_counter() - begun}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", type=int, default=SIZES)
    parser.add_argument("--profile", default="night", help="whose cells are synthesised")
    parser.add_argument("--judge", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.judge:
        print(json.dumps(judge()), flush=True)
        return 0
    cells = [cell for cell in grid.make_plan(profile=asked.profile).cells if cell.missing is None]
    figures: list[dict[str, float]] = []
    for rows in asked.rows:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["BENCHBOOK_RESULTS"] = folder
            write_cells(cells, rows)
            figures.append(measure_judging(folder))
        print(
            json.dumps(
                {"asked": rows, "files": len(cells)}
                | {k: round(v, 3) for k, v in figures[-1].items()}
            )
        )
    if len(figures) > 1:
        first, last = figures[0], figures[-1]
        power = log(last["answered"] / first["answered"]) / log(last["rows"] / first["rows"])
        print(json.dumps({"grows_as_rows_to_the_power": round(power, 2)}))
    goals = (GOALS_S.get(rows, float("inf")) for rows in asked.rows)
    slow = any(one["answered"] > goal for one, goal in zip(figures, goals, strict=True))
    return int(slow or any(one["peak_gib"] > GOAL_GIB for one in figures))


if __name__ == "__main__":
    sys.exit(main())
