"""A host's side of a run on several machines: the tasks that a run sends to a stock Dask worker.

A task works in a child process, because servers die with the thread that started them, and a
worker's threads come and go. The results stay in a folder of the host until the next block, so that an
interrupted block continues there.
"""

import os
import pickle
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from distributed import Worker, get_worker

from benchbook import grid, paths, processes, results
from benchbook.folders import FolderError
from benchbook.grid import Cell
from benchbook.hosts import HostsError
from benchbook.measure.machine import host, hostname
from benchbook.runner.batch import Batch
from benchbook.runner.progress import Progress, Summary
from benchbook.runner.quiet import NotQuietError
from benchbook.runner.run_folder import UnwritableError, run_lock

R = TypeVar("R")

RESOURCE: Final = "benchbook"
"""The Dask resource of which a worker has one: it measures one block at a time."""

NEWS: Final = "benchbook-news"
"""Dask's topic of the lines that tasks print: pairs of the task's key and a line."""

STOPPED: Final = "stopped"
"""Why a delivery ended that the run itself stopped."""

LARGEST: Final = 2**30
"""Bytes that a block's files may have together."""

_GLANCE_S: Final = 0.25
_STOPPING_S: Final = 30.0
"""How long a child may take to stop its servers before it is killed."""

_stopped: set[str] = set()
"""The keys of tasks that their run wants to end early."""


@dataclass
class Delivery:
    """What a host measured of a block."""

    files: dict[str, bytes] = field(default_factory=dict)  # by their paths in the results' folder
    summary: Summary = field(default_factory=Summary)
    ended: str | None = None  # why it ended early


def plan_cells(expected: str, *asked: Any) -> tuple[str, list[Cell]]:
    """Return this host's name and its cells: a Dask task.

    Parameters
    ----------
    expected
        The run's `describe_suite`: a worker that has another one raises `HostsError`.
    asked
        The arguments of `benchbook.grid.plan`.
    """
    state = get_worker().state
    if RESOURCE not in state.total_resources or state.nthreads != 1:
        raise HostsError(f"start it with --nthreads 1 --resources {RESOURCE}=1")
    return _run_in_child(expected, _plan, *asked)


def measure_block(
    expected: str,
    cells: list[Cell],
    timeout_s: float,
    patience_s: float | None,
) -> Delivery:
    """Measure cells of one study in one block on this host, and return their files: a Dask task."""
    return _run_in_child(expected, _measure, cells, timeout_s, patience_s)


def stop_tasks(keys: set[str]) -> None:
    """Have tasks of this worker stop, and deliver what they have finished."""
    _stopped.update(keys)


def _run_in_child(expected: str, work: Callable[..., R], *arguments: Any) -> R:
    """Return a function's answer from a child process, interrupted when the run no longer waits."""
    worker = get_worker()
    key = str(worker.get_current_task())
    folder = paths.root() / ".cache" / "worker" / hostname()
    # Numpy would start threads for each processor, which spin for work that there is not.
    env = {**os.environ, "BENCHBOOK_RESULTS": str(folder), "OPENBLAS_NUM_THREADS": "1"}
    command = [*processes.PYTHON, "-m", "benchbook.hosts", expected]
    # Files without a name: none is left when the worker is killed.
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as log:
        child = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=answer, stderr=log, start_new_session=True
        )
        assert child.stdin is not None
        try:
            child.stdin.write(pickle.dumps((work, arguments)))
            child.stdin.flush()
            relayed = 0
            while child.poll() is None and _is_wanted(worker, key):
                time.sleep(_GLANCE_S)
                relayed = _relay(worker, key, log.fileno(), relayed)
        except BrokenPipeError:
            pass  # it ended before it read: the answer says why
        finally:
            _end(child)
        answer.seek(0)
        content = answer.read()
        if not content:
            last = os.pread(log.fileno(), 2000, 0).decode(errors="replace").strip()
            status = f"its child process ended with status {child.returncode}"
            raise HostsError(f"{status}: {last or 'without output'}")
    outcome: R | HostsError = pickle.loads(content)
    if isinstance(outcome, HostsError):
        raise outcome
    return outcome


def _is_wanted(worker: Worker, key: str) -> bool:
    """Return whether a run waits for a task: not if it was stopped, or the run has gone."""
    task = worker.state.tasks.get(key)
    executing = task is not None and task.state == "executing"
    return executing and key not in _stopped and worker.status.name == "running"


def _relay(worker: Worker, key: str, log: int, start: int) -> int:
    """Send the whole lines that the log has after `start` to the run, and return where they end."""
    text = os.pread(log, 2**20, start)
    whole = text[: text.rfind(b"\n") + 1]
    for line in whole.decode(errors="replace").splitlines():
        worker.log_event(NEWS, (key, line))
    return start + len(whole)


def _end(child: "subprocess.Popen[bytes]") -> None:
    """Interrupt a child by the end of its standard input, and kill it when it does not stop."""
    try:
        child.communicate(timeout=_STOPPING_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _plan(*asked: Any) -> tuple[str, list[Cell]]:
    """Plan the cells, in the child."""
    return host(), grid.plan(*asked).cells


def _measure(ordered: list[Cell], timeout_s: float, patience_s: float | None) -> Delivery:
    """Measure the cells that are not done here yet, in the child.

    Whatever ends it, finished cells are delivered.
    """
    delivery = Delivery()
    with run_lock():
        _remove_others(ordered)
        cells = grid.in_their_states(ordered)
        # An earlier run was lost before it got them.
        delivery.summary.done = sum(cell.state == "done" for cell in cells)
        try:
            with Progress(cells, {}) as progress:
                Batch(cells, progress, timeout_s, delivery.summary, patience_s=patience_s).run()
        except KeyboardInterrupt:
            delivery.ended = STOPPED
        except (UnwritableError, NotQuietError, FolderError) as error:
            delivery.ended = str(error)
        delivery.files = _read_files(cells)
    return delivery


def _remove_others(cells: Sequence[Cell]) -> None:
    """Remove the results of all other cells from this host's folder: they were delivered."""
    keys = {cell.key for cell in cells}
    for path in paths.results().glob("*/**/*.*"):
        if path.is_file() and _key_of(path) not in keys:
            path.unlink()


def _read_files(cells: Sequence[Cell]) -> dict[str, bytes]:
    """Return the results and notebooks of these cells by their paths in the folder."""
    keys = {cell.key for cell in cells}
    written = [file.path for file in results.whole() if file.key in keys]
    notebooks = sorted(paths.results().glob("*/notebooks/*.*"))
    written += [path for path in notebooks if _key_of(path) in keys]
    size = sum(path.stat().st_size for path in written)
    if size > LARGEST:
        limit = f"at most {LARGEST:,} are sent: narrow the run by --where"
        raise HostsError(f"the block's files have {size:,} bytes, {limit}")
    return {str(path.relative_to(paths.results())): path.read_bytes() for path in written}


def _key_of(path: Path) -> str:
    """Return the identity and block with which the name of a cell's file begins."""
    return ".".join(path.name.split(".")[:2])
