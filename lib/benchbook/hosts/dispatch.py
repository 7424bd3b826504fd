"""A run on a lab's hosts: it knows them, sends each one block at a time, and keeps what comes back."""

import logging
import queue
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, Self

from distributed import CancelledError, Client, Future, KilledWorker, Security

from benchbook.digits import duration
from benchbook.grid import Cell
from benchbook.hosts import NoLabError, worker
from benchbook.hosts.orders import NEWS, STOPPED, Asked, Delivery, News, Order, Plan, differences, sameness
from benchbook.results.folder import keep
from benchbook.runner.progress import Progress, Summary
from benchbook.runner.run_folder import writing

ANSWER_S: Final = 10.0
"""How long a scheduler may take to answer."""

PATIENCE_S: Final = 300.0
"""How long a run waits for a host when none is there."""

_GLANCE_S: Final = 0.5
_STOPPING_S: Final = 30.0
"""How long hosts may take to stop what they measure and deliver what is finished."""


@dataclass(eq=False)
class Host:
    """One worker's timing slot."""

    address: str  # of the worker, as Dask names it
    name: str  # of the machine, as the results name it
    boot: str  # which tells it from others of its name
    plan: Plan
    busy: "Sent | None" = None


@dataclass(eq=False)
class Sent:
    """Cells on their way through a host, and which of them it says have ended."""

    cells: tuple[Cell, ...]
    future: Future[Any]
    ended: list[Cell] = field(default_factory=list)


class Work(Protocol):
    """What is to be measured, as the hosts come to it."""

    def joined(self, host: Host) -> None:
        """Note that a host has come, with its plan."""

    def left(self, host: Host) -> None:
        """Note that a host has gone."""

    def next(self, host: Host) -> Sequence[Cell]:
        """Return the cells of a block for a host that is free; none: it has nothing to do now."""

    def returned(self, host: Host, cells: Sequence[Cell], delivery: Delivery | None) -> None:
        """Note what became of them; None: the host was lost."""

    def finished(self, hosts: Iterable[Host]) -> bool:
        """Return whether nothing is left that these could measure."""


class SchedulerConnection(AbstractContextManager["SchedulerConnection"]):
    """A connection to the scheduler at that address, which its end closes; raises `NoLabError` when none answers."""

    def __init__(self, scheduler: str, security: Security) -> None:
        # What a person needs to know is said by `NoLabError`.
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self._client = Client(
                scheduler, security=security, timeout=ANSWER_S, set_as_default=False, name="benchbook"
            )
        # It is whatever a wrong address, a firewall or a certificate makes of it.
        except Exception as error:
            why = "the one there has other credentials" if "certificate" in str(error) else str(error)
            raise NoLabError(f"no scheduler answers at {scheduler}: {why}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # The scheduler may have gone.
        with suppress(Exception):
            self._client.close(timeout=2)


class Lab(SchedulerConnection):
    """The hosts behind a Dask scheduler, each of which plans the cells that were asked for."""

    def __init__(self, scheduler: str, security: Security, asked: Asked) -> None:
        self._asked = asked
        self._refused: set[str] = set()
        self._planning: dict[str, Future[Any]] = {}
        self._hosts: dict[str, Host] = {}
        self._events: queue.SimpleQueue[News | Future[Any]] = queue.SimpleQueue()
        self._sent: dict[str, tuple[Host, Sent]] = {}
        self._sameness = sameness()
        self._send: Callable[[Host], None]
        super().__init__(scheduler, security)
        self._client.subscribe_topic(NEWS, lambda event: self._events.put(event[1]))

    def run(
        self,
        work: Work,
        progress: Progress,
        summary: Summary,
        timeout_s: float,
        patience_s: float | None,
        left_s: Callable[[], float],
    ) -> None:
        """Have all of the work measured; an interrupt ends it once the hosts have stopped and delivered.

        Raises `NoLabError` when no host is there for `PATIENCE_S`, or the scheduler goes.
        """
        self._work, self._progress, self._summary = work, progress, summary

        def send(host: Host) -> None:
            if host.busy is None and (left := left_s()) > 0 and (cells := tuple(work.next(host))):
                order = Order(f"benchbook-{uuid.uuid4().hex}", cells, timeout_s, patience_s, left)
                future = self._client.submit(
                    worker.measured, order, key=order.name, workers=[host.address], pure=False, retries=0
                )
                host.busy = Sent(cells, future)
                self._sent[order.name] = host, host.busy
                future.add_done_callback(self._events.put)

        self._send = send
        alone_since = time.monotonic()
        try:
            while True:
                self._meet()
                for host in self._hosts.values():
                    send(host)
                if not self._sent and (left_s() <= 0 or (self._hosts and work.finished(self._hosts.values()))):
                    return
                if self._hosts:
                    alone_since = time.monotonic()
                elif time.monotonic() - alone_since > PATIENCE_S:
                    raise NoLabError(f"no host was there for {duration(PATIENCE_S)} (benchbook worker starts one)")
                self._hear()
        finally:
            self._stop()

    def _meet(self) -> None:
        """Take in the hosts that have come, and let go of those that have gone."""
        if self._client.status != "running":
            raise NoLabError("the scheduler has gone")
        # Asked now: what Dask knows of the workers by itself may be of none.
        try:
            addresses = {*self._client.nthreads()}
        except (OSError, TimeoutError) as error:
            raise NoLabError("the scheduler has gone") from error
        for address in self._hosts.keys() - addresses:
            self._lose(self._hosts.pop(address))
        self._refused &= addresses
        for address in self._planning.keys() - addresses:
            self._planning.pop(address).cancel()
        new = sorted(addresses - self._hosts.keys() - self._planning.keys() - self._refused)
        for address, answer in self._ask(new, worker.sameness_here).items():
            if answer is None:
                why = "it was not started by benchbook worker"
            elif isinstance(answer, BaseException):
                why = f"it runs no benchbook, or another: {answer}"
            else:
                why = differences(self._sameness, answer)
            if why:
                self._refuse(address, why)
            else:
                self._planning[address] = self._client.submit(
                    worker.planned, self._asked, key=f"benchbook-plan-{uuid.uuid4().hex}", workers=[address], retries=0
                )
        for address in [address for address, plan in self._planning.items() if plan.done()]:
            self._join(address, self._planning.pop(address))

    def _join(self, address: str, plan: Future[Any]) -> None:
        """Take in a host that has planned."""
        try:
            host = Host(address, *plan.result(timeout=ANSWER_S))
        except (CancelledError, KilledWorker, OSError, TimeoutError):
            return  # it has gone
        except Exception as error:
            self._refuse(address, str(error))
            return
        if any(other.name == host.name and other.boot != host.boot for other in self._hosts.values()):
            self._refuse(address, f"another machine here is called {host.name}, too")
        else:
            self._hosts[address] = host
            self._work.joined(host)
            self._progress.say(f"host {host.name} takes part")

    def _ask(self, addresses: list[str], question: Callable[..., Any], *arguments: object) -> dict[str, Any]:
        """Return what workers answer, or the exception that they raise; of those that cannot be reached, nothing."""
        if not addresses:
            return {}
        try:
            answers = self._client.run(question, *arguments, workers=addresses, on_error="return")
        # One has just gone: the others are asked again in a moment.
        except (OSError, TimeoutError, ValueError):
            return {}
        unreached = (OSError, TimeoutError)
        return {address: answer for address, answer in answers.items() if not isinstance(answer, unreached)}

    def _refuse(self, address: str, why: str) -> None:
        self._refused.add(address)
        self._progress.say(f"refused: the worker at {address}: {why}")

    def _hear(self) -> None:
        """Wait a moment for what hosts tell and deliver, and pass it on."""
        with suppress(queue.Empty):
            event = self._events.get(timeout=_GLANCE_S)
            while True:
                if isinstance(event, Future):
                    self._receive(event)
                elif event[0] in self._sent:
                    self._tell(event)
                event = self._events.get_nowait()

    def _tell(self, news: News) -> None:
        name, method, arguments = news
        _, sent = self._sent[name]
        if isinstance(arguments[0], int):
            cell = sent.cells[arguments[0]]
            if method == "ended":
                sent.ended.append(cell)
            arguments = (cell, *arguments[1:])
        getattr(self._progress, method)(*arguments)

    def _receive(self, future: Future[Any]) -> None:
        """Keep what a host delivered, which has more to do meanwhile."""
        if future.key not in self._sent or not future.done():
            return
        host, sent = self._sent.pop(future.key)
        host.busy = None
        try:
            delivery: Delivery = future.result(timeout=ANSWER_S)
        # It was cancelled, or lost with its worker.
        except Exception:
            self._return(host, sent)
            return
        future.release()
        if delivery.ended is None:
            self._send(host)
        for name, content in delivery.files.items():
            with writing():
                keep(name, content)
        self._summary.add(delivery.summary)
        delivered = {".".join(name.split(".")[:2]) for name in delivery.files}
        self._progress.lost([cell for cell in sent.ended if f"{cell.study}/{cell.key}" not in delivered])
        if delivery.ended not in (None, STOPPED):
            self._progress.say(f"host {host.name} measures no more: {delivery.ended}")
            self._refused.add(host.address)
            self._hosts.pop(host.address, None)
        self._work.returned(host, sent.cells, delivery)
        if host.address in self._refused:
            self._work.left(host)
        self._progress.visited(sent.cells)

    def _lose(self, host: Host) -> None:
        self._progress.say(f"host {host.name} was lost")
        if host.busy:
            self._sent.pop(str(host.busy.future.key), None)
            with suppress(Exception):
                host.busy.future.cancel()
            self._return(host, host.busy)
        self._work.left(host)

    def _return(self, host: Host, sent: Sent) -> None:
        self._progress.lost(sent.ended)
        self._work.returned(host, sent.cells, None)

    def _stop(self) -> None:
        """Have the hosts stop, and keep what they have finished."""
        if not self._sent or self._client.status != "running":
            return
        self._send = lambda host: None
        self._ask([host.address for host, _ in self._sent.values()], worker.stop_here, {*self._sent})
        until = time.monotonic() + _STOPPING_S
        while self._sent and time.monotonic() < until and self._client.status == "running":
            self._hear()
        for _, sent in self._sent.values():
            sent.future.cancel()
