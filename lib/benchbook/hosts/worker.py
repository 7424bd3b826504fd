"""A host's worker: it offers one timing slot to a Dask scheduler and measures the blocks that runs send there.

The main thread measures, for servers die with the thread that started them; another one talks to the scheduler. What is
measured lies in a folder of the worker's own until the next order, so that a block which was interrupted goes on there.
"""

import asyncio
import fcntl
import itertools
import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, Final

import dask
from distributed import Worker

from benchbook import grid, paths, results
from benchbook.grid import Cell
from benchbook.hosts.orders import NEWS, Asked, Delivery, Order, Relay
from benchbook.hosts.sameness import sameness
from benchbook.measure.environment import host
from benchbook.results import files
from benchbook.runner.batch import Batch
from benchbook.runner.quiet import NotQuietError
from benchbook.runner.run_lock import UnwritableError, run_lock

RETRY_S: Final = 2.0
"""Until a scheduler that is not there, or has gone, is asked again."""

_GLANCE_S: Final = 0.25

_RESTING: Final = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "1h",
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
}
"""What Dask does by itself many times a second, and what would end a worker for the memory that servers take."""

_STOP: Final = signal.SIGUSR1


class _StoppedError(KeyboardInterrupt):
    """The run that sent the order wants no more of it."""


class Job:
    """An order on its way through the slot, and to whom its delivery goes."""

    def __init__(self, order: Order, dask_worker: Worker) -> None:
        self.order = order
        self._worker = dask_worker
        self._loop = asyncio.get_running_loop()
        self.delivered: asyncio.Future[Delivery] = self._loop.create_future()

    def tell(self, news: Any) -> None:
        """Pass news on to the run."""
        self._call(self._worker.log_event, NEWS, news)

    def deliver(self, delivery: Delivery) -> None:
        """Give the delivery back to the scheduler, if it still waits for one."""

        def give() -> None:
            if not self.delivered.done():
                self.delivered.set_result(delivery)

        self._call(give)

    def _call(self, function: Any, *arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop has ended: the scheduler is gone
            self._loop.call_soon_threadsafe(function, *arguments)


class Slot:
    """Where the main thread measures one order at a time."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self.current: Job | None = None

    def stop(self, job: Job | None = None) -> None:
        """Stop a job (None: the one that runs): what it has finished is delivered."""
        if self.current is not None and job in (None, self.current):
            signal.pthread_kill(threading.main_thread().ident or 0, _STOP)

    def run(self) -> None:
        """Measure what comes, until this process is interrupted."""
        signal.signal(_STOP, self._stopped)
        while True:
            with suppress(_StoppedError):  # it came when the job was over
                job = self.jobs.get()
                self.current = job
                delivery = _measured(job)
                self.current = None
                job.deliver(delivery)

    def _stopped(self, *_: int | FrameType | None) -> None:
        if self.current is not None:
            raise _StoppedError


slot: Slot | None = None
"""This process's, if it is a worker of ours."""


def serve(scheduler: str) -> None:
    """Offer this host to a scheduler until SIGINT or SIGTERM; one that is not there, or goes, is waited for."""
    global slot
    slot = Slot()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with _own_folder() as folder:
        os.environ["BENCHBOOK_RESULTS"] = str(folder)
        os.environ.pop("BENCHBOOK_FIGURES", None)
        logging.getLogger("distributed").setLevel(logging.WARNING)  # what a person needs to know is said here
        threading.Thread(target=lambda: asyncio.run(_connected(scheduler, folder)), daemon=True).start()
        slot.run()


async def measured(order: Order) -> Delivery:
    """Measure an order in the slot: the task that a run sends."""
    from distributed.worker import get_worker

    dask_worker = get_worker()
    assert slot is not None, "a run sends nothing to a worker that is not ours"
    job = Job(order, dask_worker)
    slot.jobs.put(job)
    while not job.delivered.done():
        await asyncio.wait([job.delivered], timeout=_GLANCE_S)
        if not _wanted(dask_worker, order):
            slot.stop(job)
    return job.delivered.result()


def sameness_here() -> dict[str, str] | None:
    """Return what must be alike on all hosts; None of a worker that is not ours."""
    return None if slot is None else sameness()


def plan_here(asked: Asked) -> tuple[str, list[Cell]]:
    """Return this host's name, and the cells that were asked for with their identities here, and what is missing."""
    return host(), grid.plan(asked.studies, asked.profile, asked.where, asked.changes)


def stop_here() -> None:
    """Stop what is measured here."""
    if slot is not None:
        slot.stop()


def _wanted(dask_worker: Worker, order: Order) -> bool:
    """Return whether a run still waits for an order: not when it was cancelled, or the run or the scheduler is gone."""
    task = dask_worker.state.tasks.get(order.name)
    return task is not None and task.state == "executing" and dask_worker.status.name == "running"


def _measured(job: Job) -> Delivery:
    """Measure an order; whatever ends it, what is finished is delivered."""
    order, delivery = job.order, Delivery()
    try:
        _forget_others(order)
        with run_lock():
            known = results.states(order.cells[0].study)
            cells = [replace(cell, state=known.get(cell.key, "todo")) for cell in order.cells]
            progress = Relay(order, job.tell)
            Batch(cells, progress, order.timeout_s, delivery.summary, patience_s=order.patience_s).run()
    except _StoppedError:
        delivery.ended = "stopped"
    except (UnwritableError, NotQuietError) as error:
        delivery.ended = str(error)
    except Exception as error:  # a defect of ours: the worker lives on, and the run says it
        delivery.ended = f"{type(error).__name__}: {error}"
    delivery.files = {str(path.relative_to(paths.results())): path.read_bytes() for path in _written(order)}
    return delivery


def _written(order: Order) -> Iterator[Path]:
    """Yield what lies here of an order's cells: whole results, and notebooks of what failed."""
    for cell in order.cells:
        folder = paths.results() / cell.study
        yield from (path for path in folder.glob(f"{cell.key}.*") if path.suffix != ".parquet")
        for path in sorted(folder.glob(f"{cell.key}*.parquet")):
            with suppress(files.DamagedError):
                files.whole(path)
                yield path
        yield from sorted((folder / "notebooks").glob(f"{cell.key}.*"))


def _forget_others(order: Order) -> None:
    """Remove what was delivered before, or is wanted no more."""
    own = {cell.key for cell in order.cells}
    for path in paths.results().glob("*/**/*.*"):
        if path.is_file() and ".".join(path.name.split(".")[:2]) not in own:
            path.unlink()


@contextmanager
def _own_folder() -> Iterator[Path]:
    """Hold a folder for what is measured here: the first of this host's that no other worker holds."""
    for number in itertools.count(1):
        folder = paths.root() / ".cache" / "worker" / f"{host()}-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ".worker").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if number > 1:
                print("another worker measures on this host: each is busy beside the other", file=sys.stderr)
            yield folder
            return


async def _connected(scheduler: str, folder: Path) -> None:
    """Be connected to the scheduler, again and again."""
    said, name = "", f"{host()}-{os.getpid()}"
    with dask.config.set(_RESTING):
        while True:
            try:
                async with Worker(
                    scheduler, nthreads=1, name=name, dashboard=False, death_timeout=10, local_directory=str(folder)
                ) as worker:
                    said = _say(f"{host()} waits for blocks from {scheduler}", "")
                    await worker.finished()
                said = _say(f"{scheduler} has gone: this worker waits for it", said)
            except (OSError, TimeoutError) as error:
                said = _say(f"no scheduler answers at {scheduler}: {error or 'no answer'}: asked again", said)
            if slot is not None:
                slot.stop()
            await asyncio.sleep(RETRY_S)


def _say(line: str, said: str) -> str:
    if line != said:
        print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)
    return line
