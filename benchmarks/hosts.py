"""What a lab costs: simulated cells on 2, 4 and 8 workers of this machine beside as many in one process.

A simulated cell sleeps for 50 ms in the place of its kernel and delivers a row; everything else is what a run does: the
plan, the order, the slot, Parquet files, the delivery. Times run from the first cell's start to the last file that the
run keeps. Work grows with the workers (weak scaling: as many blocks for each): what a lab costs is asked, not that of
eight workers which make their plans at once on one machine's processors. Printed is a cell's cost over one process, and
the efficiency: what one process needs for its share over what n workers need for theirs. Then 64 hosts of 1,000 cells
each, without Dask: how long one host plans, how long the runner takes to hand out all blocks, to keep a cell's file,
and to judge what they measured. ``python benchmarks/hosts.py`` takes ten minutes of an idle machine.
"""

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any, Final

import merge
from benchbook import cli, grid, results
from benchbook.hosts.dispatch import Host
from benchbook.hosts.orders import Delivery, Plan
from benchbook.hosts.works import Shared, as_anywhere
from benchbook.results.folder import keep
from benchbook.runner.progress import Progress

CELL_S: Final = 0.05
BLOCKS: Final = 24
HOSTS: Final = 64
CELLS: Final = 1000
ASKED: Final = ("bookstore", "--profile", "evening", "--where", "lane=python")

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
    started = datetime.now(UTC)
    time.sleep({CELL_S})
    row = dict(study=cell.study, repetition=0, operation="marshal", role="client", metric="wall_time", unit="ns",
        value=1e6, started_at=datetime.now(UTC))
    self._write(batch._columns(cell, "done") | dict(cell_started_at=started, cell_ended_at=datetime.now(UTC)),
        pd.DataFrame([row]))
    self.summary.done += 1
    self._progress.ended(cell, "done", {CELL_S})
    return True

batch_folder = None
batch.Visit = Visit
batch.ForkServer = lambda _: nullcontext()
batch.Batch._attempt = attempt
batch.quiet.Watch.begin = lambda self, own: None
sys.exit(cli.main(sys.argv[1:]))
"""


def simulated(*arguments: str, results: Path, log: Path) -> "subprocess.Popen[bytes]":
    with log.open("ab") as out:
        env = {**os.environ, "BENCHBOOK_RESULTS": str(results)}
        return subprocess.Popen([sys.executable, "-c", SIMULATED, *arguments], env=env, stdout=out, stderr=out)


def timed_run(folder: Path, workers: int, *more: str) -> tuple[float, int]:
    """Return for how long a run's cells took, in seconds, and how many they were."""
    blocks = f"blocks={BLOCKS * workers}"
    run = simulated("run", *ASKED, "--set", blocks, "--noisy", *more, results=folder, log=folder.with_suffix(".log"))
    if run.wait() != cli.DONE:
        raise RuntimeError(folder.with_suffix(".log").read_text())
    os.environ["BENCHBOOK_RESULTS"] = str(folder)
    found = results.finished()
    begun = min(one.facts.started_at or inf for one in found)
    return max(one.path.stat().st_mtime for one in found) - begun, len(found)


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        alone_s, count = timed_run(folder / "alone", 1)
        print(f"one process: {count} cells in {alone_s:.1f} s, {1e3 * alone_s / count:.1f} ms a cell")
        for workers in (1, 2, 4, 8):
            print(_lab(folder / str(workers), workers, alone_s / count))
        _many(folder / "many")


def _lab(folder: Path, workers: int, alone_s: float) -> str:
    folder.mkdir()
    log, key = folder / "scheduler.log", ("--credentials", str(folder / "lab.pem"))
    processes: list[Any] = [simulated("scheduler", "127.0.0.1:0", *key, results=folder, log=log)]
    try:
        while not (said := log.read_text().partition("benchbook run --hosts ")[2].split()):
            time.sleep(0.05)
        address = said[0]
        logs = [folder / f"{number}.log" for number in range(workers)]
        processes += [simulated("worker", address, *key, results=folder, log=log) for log in logs]
        while sum("waits for blocks" in log.read_text() for log in folder.glob("[0-9]*.log")) < workers:
            time.sleep(0.05)
        took_s, count = timed_run(folder / "results", workers, "--hosts", address, *key)
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()
    each = workers * took_s / count
    return (
        f"{workers} workers: {count} cells in {took_s:.1f} s, {1e3 * (each - alone_s):+.1f} ms a cell over one process,"
        f" efficiency {alone_s / each:.0%}"
    )


def _many(folder: Path) -> None:
    """Print what a lab of many hosts takes."""
    one_block = grid.plan(["bookstore"], "evening", ["lane=python"], ["blocks=1"])
    blocks = -(-HOSTS * CELLS // len(one_block))
    start = time.perf_counter()
    cells = [replace(cell, block=block) for block in range(blocks) for cell in one_block]
    plan = pickle.dumps(Plan(cells))
    planned_s = time.perf_counter() - start
    hosts = []
    for number in range(HOSTS):
        own = pickle.loads(plan)
        own.kinds = [replace(cell, identity=f"{number:02x}{cell.identity[2:]}") for cell in own.kinds]
        hosts.append(Host(f"tcp://{number}", f"host{number}", "boot", own))
    os.environ["BENCHBOOK_RESULTS"] = str(folder)
    measured_there = []
    start = time.perf_counter()
    with Progress([], {}, as_anywhere) as progress:
        work = Shared(progress)
        for host in hosts:
            pickle.loads(plan)
            work.joined(host)
        while not work.finished(hosts):
            for host in hosts:
                if order := work.next(host):
                    work.returned(host, order, Delivery())
                    measured_there += order
    handed_s = time.perf_counter() - start
    count = len(measured_there)
    print(f"{HOSTS} hosts, {count} cells: planned in {planned_s:.1f} s on each, handed out in {handed_s:.1f} s")
    with ProcessPoolExecutor() as pool:
        names = [f"host{int(cell.identity[:2], 16)}" for cell in measured_there]
        [*pool.map(merge.synthesise, measured_there, [1] * count, names, chunksize=256)]
    files = [one.path for one in results.finished()][:CELLS]
    contents = [(f"bookstore/{path.name}", path.read_bytes()) for path in files]
    start = time.perf_counter()
    for name, content in contents:
        keep(name, content)
    print(f"a file is kept in {1e3 * (time.perf_counter() - start) / len(contents):.1f} ms")
    took = {step: round(seconds, 1) for step, seconds in merge.measured(str(folder)).items()}
    print(f"judged in {took['answered']} s, of which {took['block means']} s for the block means: {took}")


if __name__ == "__main__":
    main()
