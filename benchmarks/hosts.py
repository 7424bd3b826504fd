"""What a lab costs: simulated cells on 2, 4 and 8 workers of this machine beside as many in one process.

A simulated cell sleeps for 50 ms in the place of its kernel and delivers a row; everything else is what a run does: the
plan, the order, the slot, Parquet files, the delivery. Printed is a cell's cost over the same run without hosts, and
the efficiency: the time that n workers need for all cells, over an n-th of one's. Then a lab of 64 hosts of 1,000 cells
each, in one process: planned, its results kept, and judged by block means. ``python benchmarks/hosts.py``, idle.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from benchbook import cli

CELL_S: Final = 0.05
BLOCKS: Final = 48
ASKED: Final = ("bookstore", "--profile", "evening", "--where", "lane=python", "--set", f"blocks={BLOCKS}")

SIMULATED: Final = f"""\
import sys, time
from contextlib import nullcontext
from datetime import datetime, UTC
import pandas as pd
from benchbook import cli, results
from benchbook.results import files
from benchbook.results.schema import OBSERVATIONS
from benchbook.runner import batch
from benchbook.runner.notebook import Ended

class Visit:
    own = frozenset()
    environment = {{}}
    def __init__(self, *_): self.folder = batch_folder
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def ready(self): pass
    def down(self): pass

def attempt(self, cell, visit):
    time.sleep({CELL_S})
    row = dict(study=cell.study, repetition=0, operation="marshal", role="client", metric="wall_time", unit="ns",
        value=1e6, started_at=datetime.now(UTC))
    self._write(batch._columns(cell, "done") | dict(cell_started_at=datetime.now(UTC), cell_ended_at=datetime.now(UTC)),
        pd.DataFrame([row]))
    self.summary.done += 1
    self._progress.ended(cell, "done", {CELL_S})
    return True

batch_folder = None
batch.Visit = Visit
batch.Forks = lambda _: nullcontext()
batch.Batch._attempt = attempt
batch.quiet.Watch.begin = lambda self, own: None
sys.exit(cli.main(sys.argv[1:]))
"""


def simulated(*arguments: str, results: Path, log: Path) -> "subprocess.Popen[bytes]":
    with log.open("ab") as out:
        env = {**os.environ, "BENCHBOOK_RESULTS": str(results)}
        return subprocess.Popen([sys.executable, "-c", SIMULATED, *arguments], env=env, stdout=out, stderr=out)


def timed_run(results: Path, *more: str) -> tuple[float, int]:
    """Return for how long a run's cells took, in seconds, and how many they were: its own counts."""
    run = simulated("run", *ASKED, "--noisy", *more, results=results, log=results.with_suffix(".log"))
    start = time.monotonic()
    while not any(results.glob("*/*.parquet")):
        time.sleep(0.005)
        if run.poll() is not None:
            raise RuntimeError(results.with_suffix(".log").read_text())
    first = time.monotonic()
    if run.wait() != cli.DONE:
        raise RuntimeError(results.with_suffix(".log").read_text())
    count = len([*results.glob("*/*.parquet")])
    return time.monotonic() - (start if more else first), count


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        alone_s, count = timed_run(folder / "alone")
        print(f"one process: {count} cells in {alone_s:.1f} s, {1e3 * alone_s / count:.1f} ms a cell")
        for workers in (1, 2, 4, 8):
            print(_lab(folder / str(workers), workers, alone_s / count))


def _lab(folder: Path, workers: int, alone_s: float) -> str:
    folder.mkdir()
    file = folder / "scheduler.json"
    options = ["--host", "tcp://127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    processes: list[Any] = []
    with (folder / "scheduler.log").open("wb") as log:
        processes.append(
            subprocess.Popen([sys.executable, "-m", "dask", "scheduler", *options], stdout=log, stderr=log)
        )
    try:
        while not file.exists() or not file.read_text().strip().endswith("}"):
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        logs = [folder / f"{number}.log" for number in range(workers)]
        processes += [simulated("worker", address, results=folder, log=log) for log in logs]
        while sum("waits for blocks" in log.read_text() for log in folder.glob("[0-9]*.log")) < workers:
            time.sleep(0.05)
        took_s, count = timed_run(folder / "results", "--hosts", address)
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()
    each = workers * took_s / count
    return (
        f"{workers} workers: {count} cells in {took_s:.1f} s, {1e3 * (each - alone_s):+.1f} ms a cell over one process,"
        f" efficiency {alone_s / each:.0%}"
    )


if __name__ == "__main__":
    main()
