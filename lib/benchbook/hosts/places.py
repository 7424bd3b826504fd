"""A run that measures here, with its servers on other machines: where its roles are, and what is started there.

`Places` is the run's side. On a server's machine the worker holds them, as the functions at the end say, until the run
wants them no more.
"""

import asyncio
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from typing import Any, Final, Self, TypeVar
from urllib.parse import urlsplit

from distributed import Client, Future, Security, get_worker

from benchbook import rooms, servers
from benchbook.deployment import Role, Topology
from benchbook.hosts import NoLabError, worker
from benchbook.hosts.dispatch import SchedulerConnection
from benchbook.hosts.orders import differences, sameness
from benchbook.hosts.worker import Job
from benchbook.schemas import Document
from benchbook.scrubbing import scrubbed
from benchbook.servers import Found, Missing, Running, ServerError, fleet_of, here
from benchbook.servers.address import placement
from benchbook.servers.fleet import Fleet

T = TypeVar("T")

_GLANCE_S: Final = 0.1
_WATCH_S: Final = 0.25
"""How often a worker looks after the servers that it holds."""

_PATIENT_S: Final = 2.0
"""After which it is said for whom a run waits."""

_held: Final[dict[str, tuple[Fleet, Found]]] = {}
"""On a worker, the fleet and the programs of each lease."""


class Places(SchedulerConnection):
    """The workers behind a Dask scheduler on which servers are started, as ``BENCHBOOK_PLACE`` says.

    Raises `NoLabError` when no scheduler answers, there is no such host, or it runs other code.
    """

    def __init__(self, scheduler: str, security: Security) -> None:
        super().__init__(scheduler, security)
        self._lost: set[str] = set()
        self._client.subscribe_topic("all", self._hear)
        try:
            names = {*placement("single").values()}
            with suppress(ServerError):
                names |= {*placement("replicated").values()}
            self._addresses = _addresses(self._client, names)
        except BaseException:
            self.__exit__()
            raise

    def _hear(self, event: tuple[float, Document]) -> None:
        """Note a worker that the scheduler has lost: a task that only that one may run would wait for it."""
        if event[1].get("action") == "remove-worker":
            self._lost.add(event[1]["worker"])

    def up(self, product: str, topology: Topology, room: str = rooms.NONE) -> Running:
        """Start servers where they belong; raises `ServerError` as `benchbook.servers.start` does."""
        if room != rooms.NONE:
            raise ServerError(f"room {room}: its machines are namespaces of this one, not other hosts")
        names = placement(topology)
        with ExitStack() as undo:
            leases = {
                name: undo.enter_context(self._lease(name, product, topology)) for name in dict.fromkeys(names.values())
            }

            def at(role: Role, function: Callable[..., T], *arguments: object) -> T:
                return leases[names[role]].call(function, *arguments)

            def alive() -> str | None:
                return "\n".join(why for lease in leases.values() if (why := lease.ended())) or None

            planned = servers.find(product, topology)
            for role, name in names.items():
                version = at(role, _version)
                if isinstance(planned, Found) and planned.version != version:
                    raise ServerError(
                        f"{name} has {product} {version}, and this machine {planned.version}: install the same"
                    )
            deployment = servers.placed(product, topology, at, names, alive)
            return Running(deployment, alive, undo.pop_all().close)

    def _lease(self, name: str, product: str, topology: Topology) -> "_Lease":
        address = self._addresses[name]

        def lost() -> bool:
            return address in self._lost or self._client.status != "running"

        return _Lease(self._client, name, address, lost, product, topology)


class _Lease(AbstractContextManager["_Lease"]):
    """A fleet that a worker holds for this run; whether that is `lost` is asked of nobody."""

    def __init__(
        self, client: Client, name: str, address: str, lost: Callable[[], bool], product: str, topology: Topology
    ) -> None:
        self._client, self._name, self._address, self._lost = client, name, address, lost
        self._key = f"benchbook-servers-{uuid.uuid4().hex}"
        self._future: Future[Any] = client.submit(
            held, self._key, product, topology, key=self._key, workers=[address], pure=False, retries=0
        )

    def __enter__(self) -> Self:
        patient_until: float | None = time.monotonic() + _PATIENT_S
        try:
            while not self._ask(holds, self._key):
                if why := self.ended():
                    raise ServerError(why)
                if patient_until is not None and time.monotonic() > patient_until:
                    patient_until = None
                    print(f"waiting for {self._name}, which is busy for another run", flush=True)
                time.sleep(_GLANCE_S)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End the servers, and wait until they have."""
        self._future.cancel()
        with suppress(ServerError):
            while not self._lost() and self._ask(holds, self._key):
                time.sleep(_GLANCE_S)

    def call(self, function: Callable[..., T], *arguments: object) -> T:
        """Return what the function returns there, called with the fleet and its programs."""
        answer: T | ServerError = self._ask(called, self._key, function, arguments)
        if isinstance(answer, ServerError):
            raise ServerError(f"on {self._name}: {answer}")
        return answer

    def ended(self) -> str | None:
        """Return why the servers run no more; asks nobody, for that would disturb what is timed."""
        lost = f"host {self._name} was lost, and its servers with it"
        if not self._future.done():
            return lost if self._lost() else None
        try:
            return f"on {self._name}: {self._future.result(timeout=1)}"
        except ServerError as error:
            return f"on {self._name}: {error}"
        # It was cancelled, or lost with its worker.
        except Exception:
            return lost

    def _ask(self, question: Callable[..., Any], *arguments: object) -> Any:
        try:
            return self._client.run(question, *arguments, workers=[self._address])[self._address]
        except (OSError, TimeoutError, ValueError, LookupError) as error:
            raise ServerError(f"host {self._name} was lost: {error}") from error


def _version(fleet: Fleet, programs: Found) -> str:
    return programs.version


def _addresses(client: Client, names: set[str]) -> dict[str, str]:
    """Return where the workers of these names are."""
    names_there: dict[str, str | None] = client.run(worker.name_here, on_error="return")
    known = {name: address for address, name in names_there.items() if isinstance(name, str)}
    if absent := sorted(names - known.keys()):
        workers = f"there are {', '.join(sorted(known))}" if known else "there is none (benchbook worker starts one)"
        raise NoLabError(f"no worker is called {absent[0]}: {workers}")
    chosen = {name: known[name] for name in names}
    answers = client.run(worker.sameness_here, workers=[*chosen.values()])
    for name, address in chosen.items():
        if unlike := differences(sameness(), answers[address]):
            raise NoLabError(f"{name} cannot take part: {unlike}")
    return chosen


async def held(lease: str, product: str, topology: Topology) -> str:
    """Hold a fleet: a task that a run sends. It ends when the run has gone, or with why a server has ended."""
    dask_worker = get_worker()
    address = urlsplit(dask_worker.address).hostname
    assert address, "a worker has an address"
    await _in_main_thread(partial(_begin, lease, product, topology, address))
    former: str | None = None
    try:
        while worker.wanted(dask_worker, lease):
            why = _held[lease][0].failure()
            # One whose port was taken is started once more.
            if why and former:
                return why
            former = why
            await asyncio.sleep(_WATCH_S)
        return "the run wants it no more"
    finally:
        await _in_main_thread(partial(_end, lease))


def holds(lease: str) -> bool:
    """Return whether the fleet is there."""
    return lease in _held


async def called(lease: str, function: Callable[..., T], arguments: tuple[object, ...]) -> T | ServerError:
    """Return what a function does with the fleet and its programs, as `benchbook.servers.fleet.At` has it, or an error.

    Raised, Dask would print the error with the arguments, among which are passwords.
    """
    try:
        return await _in_main_thread(partial(function, *_held[lease], *arguments))
    except Exception as error:
        return ServerError(scrubbed(str(error)))


async def _in_main_thread(work: Callable[[], T]) -> T:
    """Have it done where servers are started, with which they would end."""
    job = Job(work)
    worker.this_slot().put(job)
    return await job.answer


def _begin(lease: str, product: str, topology: Topology, address: str) -> None:
    if ":" in address:
        raise ServerError("its address is one of IPv6: benchbook worker --listen takes one of IPv4")
    programs = here(product, topology)
    if isinstance(programs, Missing):
        raise ServerError(programs.why)
    fleet = fleet_of(product)
    fleet.address = address
    _held[lease] = fleet, programs


def _end(lease: str) -> None:
    try:
        _held[lease][0].stop()
    finally:
        del _held[lease]
