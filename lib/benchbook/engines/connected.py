"""What every engine that has servers does alike: connecting, `create`, counting, closing."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Protocol, TypeVar

from benchbook.datasets import Dataset, Schema
from benchbook.deployment import Deployment, Role
from benchbook.engines.base import Engine
from benchbook.engines.counter import Counter
from benchbook.engines.errors import EngineError, MissingRecordError
from benchbook.engines.namespace import Marker, Namespace
from benchbook.engines.options import CATCH_UP_S, Options
from benchbook.engines.told import told


class Session(Protocol):
    """What a driver calls a client, a connection or a bucket."""

    def close(self) -> object:
        """Close it."""


S = TypeVar("S", bound=Session)


class Connected(Engine):
    """Connects when it is made; an adapter adds its sessions, its namespace and its verbs."""

    def __init__(self, deployment: Deployment, options: Options) -> None:
        super().__init__(deployment, options)
        self._closing = ExitStack()
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    @told
    def reserve(self) -> None:
        """Mark the primary's namespace, or every node's where they are separate."""
        self._take([])

    @told
    def release(self) -> None:
        """Remove what the marker names, and the marker; the replica follows."""
        for namespace in self._own():
            namespace.release()
        self._follow_release()

    @told
    def create(self, schema: Schema, *, parents: Sequence[Dataset] = ()) -> None:
        """Create the store after its parents', whose records are inserted in bulk; then index, follow, checkpoint."""
        schemas = [schema, *(parent.schema for parent in parents)]
        self._prepare(schemas, self._take([self._store(one) for one in reversed(schemas)]))
        for parent in parents:
            self._fill(parent)
        self._begin(schema)
        for field in schema.fields:
            if field.name in self.options.index:
                self._index(field.name)
        self._follow()
        self._checkpoint()

    @told
    def counters(self, role: Role) -> list[Counter]:
        """Return the bytes that the replica has received, where the engine counts them."""
        return self._received() if self.replicated and role == "replica" else []

    def close(self) -> None:
        """Close all connections, the last opened first."""
        self._closing.close()

    @abstractmethod
    def _connect(self) -> None:
        """Open a session with each node; `_kept` sees to it that they are closed."""

    @abstractmethod
    def _namespaces(self) -> Mapping[Role, Namespace]:
        """Return each node's namespace."""

    @abstractmethod
    def _begin(self, schema: Schema) -> None:
        """Make a schema's store, new and empty, the current one."""

    @abstractmethod
    def _index(self, field: str) -> None:
        """Index a field of the current store."""

    def _store(self, schema: Schema) -> str:
        """Return what a schema's store is called in the namespace."""
        return schema.name

    def _prepare(self, schemas: Sequence[Schema], marker: Marker) -> None:
        """Prepare for the stores of these schemas, which refer to those behind them: drop what would be in the way.

        All that `marker` names is the suite's, and may be dropped.
        """

    def _fill(self, parent: Dataset) -> None:
        """Create a parent's store with its records."""
        self._begin(parent.schema)
        self.insert_many(parent.records)

    def _checkpoint(self) -> None:
        """Let the servers write to the disk what is still to be written, where they can be told to."""

    def _received(self) -> list[Counter]:
        """Return the counter of the bytes that the replica has received, if there is one."""
        return []

    def _kept(self, session: S) -> S:
        """Return a session, which `close` will close."""
        self._closing.callback(session.close)
        return session

    def _own(self) -> Sequence[Namespace]:
        """Return the namespaces that hold markers, the primary's first: alone, where the replica has it from there."""
        return [self._namespaces()["primary"]]

    def _take(self, stores: Sequence[str]) -> Marker:
        """Return the primary's marker, with these stores in it; where none is yet, no node may hold anything."""
        own = self._own()
        markers = [namespace.marker() for namespace in own]
        if None in markers:
            for namespace in self._namespaces().values():
                namespace.check(self.where)
        try:
            taken = [each.take(marker, stores, self.where) for each, marker in zip(own, markers, strict=True)]
        except self.raises as error:
            why = f"{own[0].title} takes no marker of this suite's, without which nothing is written there"
            said = self.raised(error, why)
            raise said from said.__cause__
        return taken[0]

    def _follow_release(self) -> None:
        """Wait until the replica has followed, where a log can tell that without a store."""
        self._follow()

    def _follow(self) -> None:
        if self.replicated and not self.wait_for(self.position(), CATCH_UP_S):
            raise EngineError(f"{self.where}: the replica has not followed the empty store in {CATCH_UP_S:g} s")

    def _one(self, count: int, key: str) -> None:
        if count != 1:
            raise MissingRecordError(f"{self.where}: there is no record {key!r}")
