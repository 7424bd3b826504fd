"""A run that measures here, with its servers on other machines: where its roles are, and what is started there."""

import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import Any, Final, Self, TypeVar

from distributed import Client, Future, Security

from benchbook import servers
from benchbook.deployment import Role, Topology
from benchbook.hosts import hosting, worker
from benchbook.hosts.lab import connected
from benchbook.hosts.orders import NoLabError
from benchbook.hosts.sameness import differences, sameness
from benchbook.servers import Found, Running, ServerError
from benchbook.servers.address import placement
from benchbook.servers.fleet import Fleet

T = TypeVar("T")

_GLANCE_S: Final = 0.1
_PATIENT_S: Final = 2.0
"""After which it is said for whom a run waits."""


class Places(AbstractContextManager["Places"]):
    """The workers behind a Dask scheduler on which servers are started, as ``BENCHBOOK_PLACE`` says.

    Raises
    ------
    NoLabError
        When no scheduler answers, there is no such host, or it runs other code.
    """

    def __init__(self, scheduler: str, security: Security) -> None:
        self._client = connected(scheduler, security)
        self._lost: set[str] = set()
        self._client.subscribe_topic("all", self._hear)
        try:
            self._addresses = _addresses(self._client, {*placement("single").values(), *_named().values()})
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):  # of a scheduler that has gone
            self._client.close(timeout=2)

    def _hear(self, event: tuple[float, dict[str, Any]]) -> None:
        """Note a worker that the scheduler has lost: a task that only that one may run would wait for it."""
        if event[1].get("action") == "remove-worker":
            self._lost.add(event[1]["worker"])

    def _is_lost(self, address: str) -> bool:
        return address in self._lost or self._client.status != "running"

    def up(self, product: str, topology: Topology) -> Running:
        """Start servers where they belong; raises `ServerError` as `benchbook.servers.start` does."""
        names = placement(topology)
        with ExitStack() as undo:
            leases = {
                name: undo.enter_context(self._lease(name, product, topology)) for name in dict.fromkeys(names.values())
            }

            def at(role: Role, function: Callable[..., T], *arguments: object) -> T:
                return leases[names[role]].call(function, *arguments)

            def alive() -> str | None:
                return "\n".join(why for lease in leases.values() if (why := lease.ended())) or None

            for role, name in names.items():
                _hold_version(product, topology, name, at(role, _version))
            deployment = servers.placed(product, topology, at, names, alive)
            return Running(deployment, alive, undo.pop_all().close)

    def _lease(self, name: str, product: str, topology: Topology) -> "_Lease":
        address = self._addresses[name]
        return _Lease(self._client, name, address, lambda: self._is_lost(address), product, topology)


class _Lease(AbstractContextManager["_Lease"]):
    """A fleet that a worker holds for this run; whether that is `lost` is asked of nobody."""

    def __init__(
        self, client: Client, name: str, address: str, lost: Callable[[], bool], product: str, topology: Topology
    ) -> None:
        self._client, self._name, self._address, self._lost = client, name, address, lost
        self._key = f"benchbook-servers-{uuid.uuid4().hex}"
        held: Callable[..., Any] = hosting.held
        self._future: Future[Any] = client.submit(
            held, self._key, product, topology, key=self._key, workers=[address], pure=False, retries=0
        )

    def __enter__(self) -> Self:
        began = time.monotonic()
        said = False
        try:
            while not self._ask(hosting.holds, self._key):
                if why := self.ended():
                    raise ServerError(why)
                if not said and time.monotonic() - began > _PATIENT_S:
                    said = True
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
            while not self._lost() and self._ask(hosting.holds, self._key):
                time.sleep(_GLANCE_S)

    def call(self, function: Callable[..., T], *arguments: object) -> T:
        """Return what the function returns there, called with the fleet and its programs."""
        answer: T | ServerError = self._ask(hosting.called, self._key, function, arguments)
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
        except Exception:  # cancelled, or lost with its worker
            return lost

    def _ask(self, question: Callable[..., Any], *arguments: object) -> Any:
        try:
            return self._client.run(question, *arguments, workers=[self._address])[self._address]
        except (OSError, TimeoutError, ValueError, LookupError) as error:
            raise ServerError(f"host {self._name} was lost: {error}") from error


def _version(fleet: Fleet, found: Found) -> str:
    return found.version


def _hold_version(product: str, topology: Topology, name: str, there: str) -> None:
    """Raise `ServerError` unless a machine has the version that the plan here was made with."""
    found = servers.find(product, topology)
    if isinstance(found, Found) and found.version != there:
        raise ServerError(f"{name} has {product} {there}, and this machine {found.version}: install the same")


def _named() -> dict[Role, str]:
    """Return the hosts of both roles, as far as they are named."""
    with suppress(ServerError):
        return placement("replicated")
    return {}


def _addresses(client: Client, names: set[str]) -> dict[str, str]:
    """Return where the workers of these names are."""
    there: dict[str, str | None] = client.run(worker.name_here, on_error="return")
    found = {name: address for address, name in there.items() if isinstance(name, str)}
    if absent := sorted(names - found.keys()):
        workers = f"there are {', '.join(sorted(found))}" if found else "there is none (benchbook worker starts one)"
        raise NoLabError(f"no worker is called {absent[0]}: {workers}")
    chosen = {name: found[name] for name in names}
    theirs = client.run(worker.sameness_here, workers=[*chosen.values()])
    for name, address in chosen.items():
        if unlike := differences(sameness(), theirs[address]):
            raise NoLabError(f"{name} cannot take part: {unlike}")
    return chosen
