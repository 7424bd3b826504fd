"""What adapters of products with servers share: connecting, `create`, waiting, closing.

A replica whose server cannot wait by itself is asked for its progress again and again: by a
`PollingAdapter`, or by a `ComparingAdapter` where no log tells the progress.
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

from benchbook.databases.adapter import (
    CATCH_UP_S,
    Adapter,
    AdapterError,
    MissingRecordError,
    Options,
    Position,
)
from benchbook.datasets.dataset import Dataset
from benchbook.measure import Meter
from benchbook.schema import Schema
from benchbook.servers.deployment import Deployment, Node, Role

T = TypeVar("T")

S = TypeVar("S")
"""An adapter's session with a node: what its driver calls a client, a connection or a bucket."""


class Closable(Protocol):
    """A session, or something else that an adapter has open."""

    def close(self) -> object:
        """Close it."""


C = TypeVar("C", bound=Closable)


class ServerAdapter(Adapter, Generic[S]):
    """Connects to every node when it is made; a subclass adds its sessions, databases and verbs.

    All that a run makes is in one database: what the product calls a database, a schema, or a
    prefix of names.
    """

    grant: ClassVar[str] = "the right to make and drop databases"
    """The rights that a user needs, in the product's words."""

    _sessions: dict[Role, S]

    def __init__(self, deployment: Deployment, options: Options) -> None:
        super().__init__(deployment, options)
        self._closing = ExitStack()
        try:
            self._connect()
        except BaseException:
            # The caller gets no adapter that it could close.
            self.close()
            raise

    @abstractmethod
    def list_databases(self) -> list[str]:
        """Return the names of all databases, on every node."""

    def make_database(self) -> None:
        """Make the deployment's database, unless it exists; do nothing where it is a prefix."""

    @abstractmethod
    def drop_database(self, name: str) -> None:
        """Drop a database with its contents on every node; do nothing if it does not exist."""

    def create(self, schema: Schema, *, parents: Sequence[Dataset] = ()) -> None:
        """Create the parents' stores with their records, then the empty store with its indexes.

        Then wait for the replica and checkpoint.
        """
        # The parents' stores, which the schema may refer to.
        self._prepare_stores([schema, *(parent.schema for parent in parents)])
        for parent in parents:
            self._create_parent(parent)
        # The empty store with its indexes.
        self._create_store(schema)
        for field in schema.fields:
            if field.name in self.options.index:
                self._create_index(field.name)
        # What was done so far must not go on while verbs are timed.
        self._await_created_store()
        self._checkpoint()

    @override
    def list_counters(self, role: Role) -> list[Meter]:
        if self.is_replicated and role == "replica":
            return self._list_receive_counters()
        return []

    @override
    def close(self) -> None:
        self._closing.close()

    def _connect(self) -> None:
        """Open a session with each node, unless another adapter shares its own."""
        # Such an adapter also closes the sessions.
        other = self.options.session_owner
        if isinstance(other, ServerAdapter):
            self._sessions = other._sessions
        else:
            self._sessions = {node.role: self._open_session(node) for node in self.deployment.nodes}

    @abstractmethod
    def _open_session(self, node: Node) -> S:
        """Return a new session with a node that answers; `_close_at_end` closes it."""

    @abstractmethod
    def _create_store(self, schema: Schema) -> None:
        """Create a schema's empty store and make it the current one."""

    @abstractmethod
    def _create_index(self, field: str) -> None:
        """Index a field of the current store."""

    def _prepare_stores(self, schemas: Sequence[Schema]) -> None:
        """Prepare the database for stores; each schema may refer to later ones."""

    def _create_parent(self, parent: Dataset) -> None:
        """Create a parent's store with its records."""
        self._create_store(parent.schema)
        self.insert_many(parent.records)

    def _checkpoint(self) -> None:
        """Let the servers write their buffers to the disk, where they can be told to."""

    def _list_receive_counters(self) -> list[Meter]:
        """Return the counter of the bytes that the replica has received, if there is one."""
        return []

    def _close_at_end(self, opened: C) -> C:
        """Return an opened resource, which `close` will close."""
        self._closing.callback(opened.close)
        return opened

    def _await_created_store(self) -> None:
        if self.is_replicated and not self.wait_for(self.position(), CATCH_UP_S):
            raise AdapterError(
                f"{self.location}: the replica has not followed the empty store in {CATCH_UP_S:g} s"
            )

    def _expect_one(self, count: int, key: str) -> None:
        if count != 1:
            raise MissingRecordError(f"{self.location}: there is no record {key!r}")


class ReplicaPoll(Generic[T]):
    """A question about a node's progress that is asked again and again, each time in a new thread.

    The next wait takes an answer that came too late: a replica only moves on, so it is still true.
    Nothing waits for the thread of a node that never answers.

    Attributes
    ----------
    resolution_ns
        How late the last `wait_until` may have ended: the time since the beginning of the last
        question whose answer did not satisfy.
    """

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask
        self._pending: Future[T] | None = None
        self._begun_ns = 0
        self.resolution_ns = 0.0

    def wait_until(
        self,
        is_satisfied: Callable[[T], bool],
        deadline_s: float,
        poll_s: float,
        start_ns: int | None = None,
    ) -> bool:
        """Ask until an answer satisfies; return False when the time is over.

        Raises what the question raises.

        Parameters
        ----------
        is_satisfied
            Whether an answer ends the wait.
        deadline_s
            How long to wait, in seconds.
        poll_s
            How long to sleep after an answer that does not satisfy, in seconds.
        start_ns
            When the first answer may have become true, of `time.perf_counter_ns`; now if None.
        """
        deadline = time.monotonic() + deadline_s
        unsatisfied_ns = start_ns or time.perf_counter_ns()
        while True:
            pending = self._await_answer(deadline)
            if pending is None:
                return False
            # The replica got there at some time since the last question that did not satisfy began.
            reached = is_satisfied(pending.result())
            self.resolution_ns = float(time.perf_counter_ns() - unsatisfied_ns)
            if reached or time.monotonic() + poll_s > deadline:
                return reached
            unsatisfied_ns = self._begun_ns
            time.sleep(poll_s)

    def _await_answer(self, deadline: float) -> Future[T] | None:
        """Return the answer or error; None without one by `deadline` (s, monotonic)."""
        # Ask, unless the last question has no answer yet.
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
"""Each record's version by its key: equal on two nodes only if the records are."""


class PollingAdapter(ServerAdapter[S]):
    """Waits until the replica's log is where the primary's was, and measures the resolution."""

    poll_s: ClassVar[float] = 0.001
    """Seconds between an answer and the next question."""

    def __init__(self, deployment: Deployment, options: Options) -> None:
        self._replica_poll = ReplicaPoll(partial(self._read_position, "replica"))
        super().__init__(deployment, options)

    def position(self) -> Position:
        """Return the primary's progress; None without a replica to compare it with."""
        return self._read_position("primary") if self.is_replicated else None

    @abstractmethod
    def _read_position(self, role: Role) -> Position:
        """Return a node's progress."""

    def _await_replica(self, position: Position, deadline_s: float) -> bool:
        return self._poll_replica(lambda reached: bool(reached >= position), deadline_s)

    def _poll_replica(
        self,
        is_satisfied: Callable[[Position], bool],
        deadline_s: float,
        start_ns: int | None = None,
    ) -> bool:
        reached = self._replica_poll.wait_until(is_satisfied, deadline_s, self.poll_s, start_ns)
        self.wait_resolution_ns = self._replica_poll.resolution_ns
        return reached


class ComparingAdapter(PollingAdapter[S]):
    """Waits until the replica's records equal the primary's, version by version (`Versions`).

    It is for products whose log tells no progress. It is exact, and as slow as reading all records.
    The time to read the primary's is part of the resolution.
    """

    poll_s = 0.005
    _start_ns = 0

    @override
    def position(self) -> Position:
        self._start_ns = time.perf_counter_ns()
        return super().position()

    def _await_replica(self, position: Position, deadline_s: float) -> bool:
        return self._poll_replica(
            lambda versions: bool(versions == position), deadline_s, self._start_ns
        )
