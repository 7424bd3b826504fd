"""What every database that has servers does alike: connecting, `create`, counting, waiting for a replica, closing.

A replica that cannot be told to wait is asked how far it is, again and again: by a database that is `Polled`, or
`Compared` where no log tells anything.
"""

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack
from functools import partial
from typing import ClassVar, Generic, Protocol, TypeVar

from typing_extensions import override

from benchbook.databases.adapter import CATCH_UP_S, Adapter, AdapterError, MissingRecordError, Options, Position
from benchbook.datasets import Dataset
from benchbook.deployment import Deployment, Node, Role
from benchbook.measure import Meter
from benchbook.schemas import Schema

T = TypeVar("T")

S = TypeVar("S")
"""What an adapter has for each node: what its driver calls a client, a connection or a bucket."""


class Closable(Protocol):
    """What a database closes at its end: its sessions, and what else it has open."""

    def close(self) -> object:
        """Close it."""


C = TypeVar("C", bound=Closable)


class Connected(Adapter, Generic[S]):
    """Connects when it is made; an adapter adds its sessions, its databases and its verbs.

    A database is what the product calls so, a schema, or a prefix of names: all that a run makes
    is in one.
    """

    grant: ClassVar[str] = "the right to make and drop databases"  # or the product's words for it
    _sessions: dict[Role, S]

    def __init__(self, deployment: Deployment, options: Options) -> None:
        super().__init__(deployment, options)
        self._closing = ExitStack()
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def list_databases(self) -> list[str]:
        """Return the names of all databases, on every node."""

    def make_database(self) -> None:
        """Make the deployment's database, unless it is there; do nothing where it is a prefix."""

    @abstractmethod
    def drop_database(self, name: str) -> None:
        """Drop a database with all that is in it, on every node; nothing when it is not there."""

    def create(self, schema: Schema, *, parents: Sequence[Dataset] = ()) -> None:
        """Create the store after its parents', whose records are inserted in bulk; then index, follow, checkpoint."""
        self._prepare([schema, *(parent.schema for parent in parents)])
        for parent in parents:
            self._fill(parent)
        self._begin(schema)
        for attribute in schema.fields:
            if attribute.name in self.options.index:
                self._index(attribute.name)
        self._follow()
        self._checkpoint()

    @override
    def counters(self, role: Role) -> list[Meter]:
        return self._received() if self.replicated and role == "replica" else []

    @override
    def close(self) -> None:
        self._closing.close()

    def _connect(self) -> None:
        """Open a session with each node, unless another database has them."""
        if isinstance(other := self.options.client_of, Connected):
            self._sessions = other._sessions
        else:
            self._sessions = {node.role: self._session(node) for node in self.deployment.nodes}

    @abstractmethod
    def _session(self, node: Node) -> S:
        """Return a new session with a node, which answers; `_kept` sees to it that it is closed."""

    @abstractmethod
    def _begin(self, schema: Schema) -> None:
        """Make a schema's store, new and empty, the current one."""

    @abstractmethod
    def _index(self, field: str) -> None:
        """Index a field of the current store."""

    def _prepare(self, schemas: Sequence[Schema]) -> None:
        """Prepare the database for the stores of these schemas; each may refer to later ones."""

    def _fill(self, parent: Dataset) -> None:
        """Create a parent's store with its records."""
        self._begin(parent.schema)
        self.insert_many(parent.records)

    def _checkpoint(self) -> None:
        """Let the servers write to the disk what is still to be written, where they can be told to."""

    def _received(self) -> list[Meter]:
        """Return the counter of the bytes that the replica has received, if there is one."""
        return []

    def _kept(self, opened: C) -> C:
        """Return what was opened, which `close` will close."""
        self._closing.callback(opened.close)
        return opened

    def _follow(self) -> None:
        if self.replicated and not self.wait_for(self.position(), CATCH_UP_S):
            raise AdapterError(f"{self.where}: the replica has not followed the empty store in {CATCH_UP_S:g} s")

    def _expect_one(self, count: int, key: str) -> None:
        if count != 1:
            raise MissingRecordError(f"{self.where}: there is no record {key!r}")


class ReplicaPoll(Generic[T]):
    """A question about a node's progress, asked again and again, each time on a thread of its own.

    An answer that came too late is taken by the next wait: a replica only moves on, so it is still true. Nothing waits
    for a thread whose node never answers. `resolution_ns` says by how much the end of the last `until` may have come
    late: the time since the last question began whose answer did not satisfy.
    """

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask
        self._pending: Future[T] | None = None
        self._begun_ns = 0
        self.resolution_ns = 0.0

    def until(
        self, satisfied: Callable[[T], bool], deadline_s: float, poll_s: float, since_ns: int | None = None
    ) -> bool:
        """Ask until an answer satisfies, `poll_s` after each that does not; False when the time ran out.

        Where the first answer satisfies, it may have been true since `since_ns` (of `time.perf_counter_ns`), which is
        now unless said. Raises what the question raises.
        """
        deadline = time.monotonic() + deadline_s
        unsatisfied_ns = since_ns or time.perf_counter_ns()
        while (pending := self._answered(deadline)) is not None:
            reached = satisfied(pending.result())
            self.resolution_ns = float(time.perf_counter_ns() - unsatisfied_ns)
            if reached or time.monotonic() + poll_s > deadline:
                return reached
            unsatisfied_ns = self._begun_ns
            time.sleep(poll_s)
        return False

    def _answered(self, deadline: float) -> Future[T] | None:
        """Return the question with its answer or error; None when there was none by `deadline` (s, monotonic)."""
        if self._pending is None:
            self._begun_ns = time.perf_counter_ns()
            self._pending = self._ask_in_thread()
        pending = self._pending
        if not wait([pending], max(0.0, deadline - time.monotonic())).done:
            return None
        self._pending = None
        return pending

    def _ask_in_thread(self) -> Future[T]:
        future: Future[T] = Future()

        def ask() -> None:
            try:
                future.set_result(self._ask())
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=ask, daemon=True).start()
        return future


Versions = Mapping[str, object]
"""Each record's version by its key: equal on two nodes only when the records are."""


class Polled(Connected[S]):
    """The wait ends when the replica's log is where the primary's was; its resolution is measured at every wait."""

    poll_s: ClassVar[float] = 0.001  # between an answer and the next question

    def __init__(self, deployment: Deployment, options: Options) -> None:
        self._replica = ReplicaPoll(partial(self._position_of, "replica"))
        super().__init__(deployment, options)

    def position(self) -> Position:
        """Return how far the primary is; nothing where there is no replica to compare it with."""
        return self._position_of("primary") if self.replicated else None

    @abstractmethod
    def _position_of(self, role: Role) -> Position:
        """Ask a node how far it is."""

    def _reached(self, position: Position, deadline_s: float) -> bool:
        return self._wait_until(lambda reached: bool(reached >= position), deadline_s)

    def _wait_until(
        self, satisfied: Callable[[Position], bool], deadline_s: float, since_ns: int | None = None
    ) -> bool:
        reached = self._replica.until(satisfied, deadline_s, self.poll_s, since_ns)
        self.wait_resolution_ns = self._replica.resolution_ns
        return reached


class Compared(Polled[S]):
    """No log tells anything: the nodes' records are compared, version by version (`Versions`).

    Exact, and as slow as reading them all is. The time to read the primary's is part of the resolution.
    """

    poll_s = 0.005
    _since_ns = 0

    @override
    def position(self) -> Position:
        self._since_ns = time.perf_counter_ns()
        return super().position()

    def _reached(self, position: Position, deadline_s: float) -> bool:
        return self._wait_until(lambda versions: bool(versions == position), deadline_s, self._since_ns)
