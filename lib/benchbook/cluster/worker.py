"""The tasks that a run on several machines sends to a stock Dask worker.

A task works in a child process, because servers end with the thread that started them, and a
worker's threads come and go. The results stay in a folder of the host until the next block, so that
an interrupted block continues there.
"""

import os
import pickle
import subprocess
import tempfile
import time
from typing import Any, Final

from distributed import Worker, get_worker

from benchbook import paths
from benchbook.cluster.block import BlockResults
from benchbook.cluster.child_process import CHILD_CODE, HostsError
from benchbook.grid import Cell
from benchbook.measure.machine import read_hostname
from benchbook.runner.progress import Limits
from benchbook.servers import processes

RESOURCE: Final = "benchbook"
"""The Dask resource of which a worker has one: it measures one block at a time."""

NEWS: Final = "benchbook-news"
"""The Dask topic of the lines that tasks print: pairs of the task's key and a line."""

_POLL_S: Final = 0.25
_STOP_S: Final = 30.0
"""Seconds that a child may take to stop its servers before it is killed."""

_stopped: set[str] = set()
"""The keys of tasks that their run has stopped."""


def plan_cells(expected: str, *request: Any) -> tuple[str, list[Cell]]:
    """Return this host's name and its cells: a Dask task.

    Parameters
    ----------
    expected
        The run's `describe_suite`; raises `HostsError` when this worker's differs.
    request
        The arguments of `benchbook.grid.make_plan`.
    """
    state = get_worker().state
    if RESOURCE not in state.total_resources or state.nthreads != 1:
        raise HostsError(f"start it with --nthreads 1 --resources {RESOURCE}=1")
    answer: tuple[str, list[Cell]] = _run_in_child(expected, "plan", *request)
    return answer


def measure_block(
    expected: str, cells: list[Cell], limits: Limits, noisy: dict[str, float]
) -> BlockResults:
    """Measure cells of one study in one block on this host, and return their files: a Dask task."""
    answer: BlockResults = _run_in_child(expected, "measure", cells, limits, noisy)
    return answer


def stop_tasks(keys: set[str]) -> None:
    """Stop tasks of this worker; they return what they have finished."""
    _stopped.update(keys)


def _run_in_child(expected: str, work: str, *arguments: Any) -> Any:
    """Return the answer of a function of `block` from a child process.

    It is interrupted when the run no longer waits.
    """
    worker = get_worker()
    key = str(worker.get_current_task())
    folder = paths.root() / ".cache" / "worker" / read_hostname()
    # Without OPENBLAS_NUM_THREADS numpy starts threads on each processor, which wait actively.
    env = {**os.environ, "BENCHBOOK_RESULTS": str(folder), "OPENBLAS_NUM_THREADS": "1"}
    # Unnamed files, so that none is left when the worker is killed.
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as log:
        child = subprocess.Popen(
            [*processes.PYTHON, "-c", CHILD_CODE, expected],
            env=env,
            stdin=subprocess.PIPE,
            stdout=answer,
            stderr=log,
            start_new_session=True,
        )
        assert child.stdin is not None
        # Give it the work, and relay its lines until it ends.
        try:
            child.stdin.write(pickle.dumps((work, arguments)))
            child.stdin.flush()
            relayed = 0
            while child.poll() is None and _is_wanted(worker, key):
                time.sleep(_POLL_S)
                relayed = _relay_lines(worker, key, log.fileno(), relayed)
        except BrokenPipeError:
            pass  # it ended before it read: the answer says why
        finally:
            _stop_child(child)
        # Read the answer; without one the log may say why.
        answer.seek(0)
        content = answer.read()
        if not content:
            last = os.pread(log.fileno(), 2000, 0).decode(errors="replace").strip()
            status = f"its child process ended with status {child.returncode}"
            raise HostsError(f"{status}: {last or 'without output'}")
    outcome = pickle.loads(content)
    if isinstance(outcome, HostsError):
        raise outcome
    return outcome


def _is_wanted(worker: Worker, key: str) -> bool:
    """Return whether a run still waits for a task: it was not stopped, and the run has not gone."""
    task = worker.state.tasks.get(key)
    executing = task is not None and task.state == "executing"
    return executing and key not in _stopped and worker.status.name == "running"


def _relay_lines(worker: Worker, key: str, log: int, start: int) -> int:
    """Send the whole lines that the log has after `start` to the run, and return where they end."""
    text = os.pread(log, 2**20, start)
    whole = text[: text.rfind(b"\n") + 1]
    for line in whole.decode(errors="replace").splitlines():
        worker.log_event(NEWS, (key, line))
    return start + len(whole)


def _stop_child(child: "subprocess.Popen[bytes]") -> None:
    """End a child's standard input, which interrupts it; kill it if it does not stop."""
    try:
        child.communicate(timeout=_STOP_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
