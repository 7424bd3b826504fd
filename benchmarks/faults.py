"""Print what becomes of `benchbook run` when servers fail under it: ``python benchmarks/faults.py [ENGINE...]``.

Three cells of a study run as a user runs them, on servers that the suite starts. When the first is finished and the
primary holds a hundred of the second's records, one fault is put in. What the run printed, its exit status, whether the
finished cell's file is still the same, and what became of the third cell make one row of a Markdown table. A full disk
is a small file system in place of the servers' temporary folder (root only), filled to its last block.

``--fault`` chooses among the faults, ``--study replication`` takes that study's cells instead. `faults_given.py` does
the same to servers that are given by their addresses.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import psutil

from benchbook import registry, servers
from benchbook.deployment import Deployment
from faults_run import HEAD, Folders, Row, Run, selected, summary
from faults_servers import Watcher, fill, stop_link, stopped, tree

ENGINES: Final = (
    *("mongodb", "postgresql+jsonb", "postgresql+relational", "mariadb+json", "mariadb+relational"),
    *("mysql+json", "mysql+relational", "mysql@5.5+relational", "postgresql@9.6+jsonb"),
    *("couchdb", "rethinkdb", "couchbase"),
)
N: Final = (2000, 2001, 2002)
WAIT_S: Final = 15.0
GLANCE_S: Final = 0.25
"""How often the primary is asked, in s: it must rest before a cell, and PouchDB make a database unasked."""

DISK_MB: Final = 448
DISK_N: Final = (6000, 6001, 6002)
"""Filling the disk takes its time, during which the cell must go on."""

MOMENT: Final = 100
"""Records that the primary holds when the fault comes."""


Fault = Callable[[Folders, Deployment], str]


def primary_killed(folders: Folders, deployment: Deployment) -> str:
    tree(deployment.node().pid)[0].kill()
    return "primary killed"


def replica_killed(folders: Folders, deployment: Deployment) -> str:
    tree(deployment.node("replica").pid)[0].kill()
    return "replica killed"


def replica_stopped(folders: Folders, deployment: Deployment) -> str:
    for process in tree(deployment.node("replica").pid):
        process.suspend()
    return "replica cut off: SIGSTOP"


def link_stopped(folders: Folders, deployment: Deployment) -> str:
    return f"replica cut off: {stop_link(deployment)}"


def disk_full(folders: Folders, deployment: Deployment) -> str:
    fill(folders.temporary)
    return "disk full"


FAULTS: Final[dict[str, Fault]] = {
    "primary-killed": primary_killed,
    "replica-killed": replica_killed,
    "replica-stopped": replica_stopped,
    "link-stopped": link_stopped,
    "disk-full": disk_full,
}

OF_A_PAIR: Final = ("replica-killed", "replica-stopped", "link-stopped")


def options(study: str, engine: str, sizes: Sequence[int]) -> list[str]:
    """Return the options of three cells that differ in nothing but a record more."""
    product = servers.product_of(engine)
    of_study = {"topology": topology(product)} if study == "crud" else {"model": "json_text"}
    n = ",".join(map(str, sizes))
    return selected(study, engine=engine, n=n, repetitions="1", timeout_s=str(WAIT_S), **of_study)


def topology(product: str) -> str:
    """Return what the product can run here at most."""
    stand_in = registry.product(product).stand_in
    return "single" if stand_in is not None and not stand_in.pairs else "replicated"


def order(folders: Folders, asked: list[str]) -> list[int]:
    """Return the cells' n in the order in which they will run."""
    command = [sys.executable, "-m", "benchbook.cli", "plan", *asked, "--json"]
    answer = subprocess.run(command, env=folders.environment(), capture_output=True, text=True, check=True)
    return [cell["parameters"]["n"] for cell in json.loads(answer.stdout)]


def row(study: str, engine: str, name: str) -> Row:
    """Put one fault into one run, and say what became of it."""
    folders = Folders()
    try:
        if name == "disk-full":
            folders.mount(DISK_MB)
        return _row(folders, study, engine, FAULTS[name])
    finally:
        folders.remove()


def _row(folders: Folders, study: str, engine: str, inject: Fault) -> Row:
    asked = options(study, engine, DISK_N if inject is disk_full else N)
    _, second, third = order(folders, asked)
    run, filler = Run(folders, asked), folders.temporary / "filler"
    frozen: list[psutil.Process] = []
    try:
        run.until(folders.finished, "the first cell was done")
        before = folders.finished()
        deployment = run.until(run.deployment, "its servers were announced")
        if inject is disk_full:
            fill(folders.temporary)  # all but a little: what is left goes at the moment
            os.truncate(filler, filler.stat().st_size - (8 << 20))
        watcher = Watcher(deployment, second)
        run.until(lambda: watcher.held() >= MOMENT, f"the primary held {MOMENT} records of the second cell", GLANCE_S)
        watcher.close()
        fault = inject(folders, deployment)
        frozen = stopped(deployment)
        since = time.monotonic()
        run.until(lambda: _ended(run, folders, second), "the second cell ended")
        after_s = time.monotonic() - since
        status = run.end()
    finally:
        run.process.kill()
        run.process.wait()
        for process in frozen:
            with suppress(psutil.NoSuchProcess):
                process.kill()
    lost = [name for name, digest in before.items() if folders.finished().get(name) != digest]
    saw, following = _saw(run, second, after_s), _next(run, third)
    if inject is disk_full:
        filler.unlink()
        freed = Run(folders, asked)
        freed.end()
        following += f"; space freed, the same command again: `{summary(freed.printed)}`"
    return Row(engine, fault, saw, status, ", ".join(lost) or "nothing", following)


def _ended(run: Run, folders: Folders, n: int) -> bool:
    return f"n={n} (block 1)" in run.printed or len(folders.finished()) > 1


def _saw(run: Run, n: int, after_s: float) -> str:
    """Return the lines that the run printed about a cell's failure, without what the server wrote last."""
    found = re.search(rf"^failed: .*n={n} \(block 1\): (.*)$", run.printed, re.MULTILINE)
    if found is None:
        return f"`{summary(run.printed)}`"
    return f"`{found[1]}` (after {after_s:.0f} s)"


def _next(run: Run, n: int) -> str:
    found = re.search(rf"^failed: .*n={n} \(block 1\): (.*)$", run.printed, re.MULTILINE)
    return f"failed: {found[1]}" if found else "done"


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", nargs="*", default=ENGINES)
    parser.add_argument("--fault", action="append", choices=FAULTS)
    parser.add_argument("--study", choices=["crud", "replication"], default="crud")
    asked = parser.parse_args()
    print(HEAD)
    for engine in asked.engine:
        for name in asked.fault or FAULTS:
            if name in OF_A_PAIR and topology(servers.product_of(engine)) == "single":
                continue
            try:
                line = row(asked.study, engine, name).markdown()
            except RuntimeError as error:
                line = f"| {engine} | {name} | NOT PUT IN: {error} |"
            print(line, flush=True)


if __name__ == "__main__":
    main()
