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
import socket
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import dask
import psutil
from distributed import Security, Worker, get_worker
from distributed.comm.addressing import get_address_host_port

from benchbook import grid, paths
from benchbook.folders import FolderError
from benchbook.hosts.orders import NEWS, STOPPED, Asked, Delivery, News, Order, Plan, Relay, sameness
from benchbook.hosts.scheduler import RESTING, OnePort
from benchbook.measure.machine import hostname
from benchbook.results import files
from benchbook.runner.batch import Batch
from benchbook.runner.progress import Summary
from benchbook.runner.quiet import NotQuietError
from benchbook.runner.run_folder import UnwritableError, machine, run_lock

T = TypeVar("T")

RETRY_S: Final = 2.0
"""Until a scheduler that is not there, or has gone, is asked again."""

_GLANCE_S: Final = 0.25

_RESTING: Final = {
    **RESTING,
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
}
"""What Dask does by itself many times a second, and what would end a worker for the memory that servers take."""

_STOP: Final = signal.SIGUSR1


class _StoppedError(KeyboardInterrupt):
    """The run that sent the order wants no more of it."""


class Job(Generic[T]):
    """Work for the main thread, and to whom its answer goes.

    Its name is that of the order which it measures; other work has none, and nobody stops it.
    """

    def __init__(self, work: Callable[[], T], name: str = "") -> None:
        self._work = work
        self.name = name
        self.unwanted = False
        self._loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[T] = self._loop.create_future()

    def run(self) -> None:
        """Do it, and give the answer, or what was raised, back to the scheduler, if it still waits for one."""
        try:
            give = partial(self.answer.set_result, self._work())
        except Exception as error:
            give = partial(self.answer.set_exception, error)
        self.call(lambda: None if self.answer.done() else give())

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Have the thread that talks to the scheduler call a function."""
        # Its loop has ended when the scheduler is gone.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function, *arguments)


class Slot:
    """The main thread, which does one job at a time."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Job[Any]] = queue.SimpleQueue()
        self._newest: Job[Any] | None = None
        self._measuring = False

    def put(self, job: Job[Any]) -> None:
        """Give the main thread a job; Dask does so only when it has the answer of the one before."""
        self._newest = job
        self._jobs.put(job)

    def stop(self, orders: Collection[str] | None = None) -> None:
        """Stop the newest job, if it measures one of these orders (None: any): what it has finished is delivered."""
        if self._newest is not None and (orders is None or self._newest.name in orders):
            self._newest.unwanted = True
            signal.pthread_kill(threading.main_thread().ident or 0, _STOP)

    def run(self) -> None:
        """Do what comes, until this process is interrupted."""
        signal.signal(_STOP, self._stopped)
        while True:
            self._jobs.get().run()

    def measure(self, order: Order, job: Job[Delivery], tell: Callable[[News], None]) -> Delivery:
        """Measure an order; whatever ends it, what is finished is delivered."""
        delivery = Delivery()
        try:
            self._measuring = True
            if job.unwanted:
                raise _StoppedError
            _measure(order, Relay(order, tell), delivery.summary)
        except _StoppedError:
            delivery.ended = STOPPED
        except (UnwritableError, NotQuietError, FolderError) as error:
            delivery.ended = str(error)
        # A defect of ours: the worker lives on, and the run says it.
        except Exception as error:
            delivery.ended = f"{type(error).__name__}: {error}"
        self._measuring = False
        # A stop may have come while what it started was being ended.
        left = psutil.Process().children(recursive=True)
        for child in left:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(left, timeout=10)
        delivery.files = {str(path.relative_to(paths.results())): path.read_bytes() for path in _written(order)}
        return delivery

    def _stopped(self, *_: object) -> None:
        if self._measuring:
            self._measuring = False
            raise _StoppedError


slot: Slot | None = None
"""This process's, if it is a worker of ours."""


class _Worker(OnePort, Worker):
    pass


def serve(scheduler: str, security: Security, listen: str | None = None) -> None:
    """Offer this host to a scheduler until SIGINT or SIGTERM; one that is not there, or goes, is waited for.

    Runs reach it at the address `listen` alone; None: this machine's on the way to the scheduler.
    """
    global slot
    slot = Slot()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with _own_folder() as folder:
        os.environ["BENCHBOOK_RESULTS"] = str(folder)
        os.environ.pop("BENCHBOOK_FIGURES", None)
        # What a person needs to know is said by `_connected`.
        logging.getLogger("distributed").setLevel(logging.WARNING)
        threading.Thread(
            target=lambda: asyncio.run(_connected(scheduler, security, listen, folder)), daemon=True
        ).start()
        slot.run()


async def measured(order: Order) -> Delivery:
    """Measure an order in the slot: a task that a run sends."""
    dask_worker, own_slot = get_worker(), this_slot()

    def tell(news: News) -> None:
        job.call(dask_worker.log_event, NEWS, news)

    job: Job[Delivery] = Job(lambda: own_slot.measure(order, job, tell), order.name)
    own_slot.put(job)
    while not job.answer.done():
        await asyncio.wait([job.answer], timeout=_GLANCE_S)
        if not wanted(dask_worker, order.name):
            own_slot.stop({order.name})
    return job.answer.result()


async def planned(asked: Asked) -> tuple[str, str, Plan]:
    """Return this host's name and boot, and the cells that were asked for with their identities here: a task, too.

    What is done of them only the run's results say: what lies here was never delivered.
    """

    def plan() -> tuple[str, str, Plan]:
        return *machine(), Plan(grid.plan(asked.studies, asked.profile, asked.where, asked.changes))

    # It is for the main thread: to see which servers are here it starts them.
    job = Job(plan)
    this_slot().put(job)
    return await job.answer


def this_slot() -> Slot:
    """Return the slot of this process, which is a worker of ours."""
    assert slot is not None, "a run sends nothing to a worker that is not ours"
    return slot


def sameness_here() -> dict[str, str] | None:
    """Return what must be alike on all hosts; None of a worker that is not ours."""
    return None if slot is None else sameness()


def stop_here(orders: set[str]) -> None:
    """Stop what is measured here, if it is one of these orders."""
    if slot is not None:
        slot.stop(orders)


def wanted(dask_worker: Worker, key: str) -> bool:
    """Return whether a run still waits for a task: not when it was cancelled, or the run or the scheduler is gone."""
    task = dask_worker.state.tasks.get(key)
    return task is not None and task.state == "executing" and dask_worker.status.name == "running"


def _measure(order: Order, relay: Relay, summary: Summary) -> None:
    """Measure what of an order is not done here already."""
    start = time.monotonic()
    # What was delivered before, or is wanted no more.
    ordered = {cell.key for cell in order.cells}
    for path in paths.results().glob("*/**/*.*"):
        if path.is_file() and ".".join(path.name.split(".")[:2]) not in ordered:
            path.unlink()
    with run_lock():
        cells = grid.in_their_states(order.cells)
        for cell in cells:
            # For a run that was lost before it was delivered.
            if cell.state == "done":
                relay.ended(cell, "done")
                summary.done += 1

        def over() -> bool:
            return time.monotonic() - start >= order.left_s

        Batch(cells, relay, order.timeout_s, summary, over, order.patience_s).run()


def _written(order: Order) -> Iterator[Path]:
    """Yield what lies here of an order's cells: whole results, and notebooks of what failed."""
    for cell in order.cells:
        folder = cell.path.parent
        yield from (path for path in folder.glob(f"{cell.key}.*") if path.suffix != ".parquet")
        for path in sorted(folder.glob(f"{cell.key}*.parquet")):
            with suppress(files.DamagedError):
                files.whole(path)
                yield path
        yield from sorted(cell.notebook.parent.glob(f"{cell.key}.*"))


@contextmanager
def _own_folder() -> Iterator[Path]:
    """Hold a folder for what is measured here: the first of this host's that no other worker holds."""
    for number in itertools.count(1):
        folder = paths.root() / ".cache" / "worker" / f"{hostname()}-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        # Whoever can open the file in it could hold it.
        folder.chmod(0o700)
        with (folder / ".worker").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if number > 1:
                print("another worker measures on this host: each is busy beside the other", file=sys.stderr)
            yield folder
            return


async def _connected(scheduler: str, security: Security, listen: str | None, folder: Path) -> None:
    """Be connected to the scheduler, again and again."""
    latest, name = "", f"{hostname()}-{os.getpid()}"
    with dask.config.set(_RESTING):
        while True:
            try:
                async with _Worker(
                    scheduler,
                    security=security,
                    nthreads=1,
                    name=name,
                    host=listen or _facing(scheduler),
                    dashboard=False,
                    death_timeout=10,
                    local_directory=str(folder),
                ) as worker:
                    latest = _say(f"{hostname()} waits for blocks from {scheduler}", "")
                    await worker.finished()
                latest = _say(f"{scheduler} has gone: this worker waits for it", latest)
            except (OSError, TimeoutError) as error:
                why = f"no scheduler answers at {scheduler}, or one with other credentials"
                latest = _say(f"{why}: {error or 'no answer'}: asked again", latest)
            # Dask's, of an address that is not this machine's.
            except RuntimeError as error:
                latest = _say(f"nothing can listen here: {error.__cause__ or error}: tried again", latest)
            if slot is not None:
                slot.stop()
            await asyncio.sleep(RETRY_S)


def _facing(scheduler: str) -> str:
    """Return this machine's address on the way to a scheduler, to which nothing is sent."""
    place = get_address_host_port(scheduler)
    family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect(place)
        address: str = probe.getsockname()[0]
    return f"[{address}]" if family == socket.AF_INET6 else address


def _say(line: str, latest: str) -> str:
    """Print a line, unless it is the latest; return it."""
    if line != latest:
        print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)
    return line
