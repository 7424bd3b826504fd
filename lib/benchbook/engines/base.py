"""What every engine is: a store's verbs on a deployment. No timing, no statistics."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from traceback import format_exception
from types import TracebackType
from typing import Any, ClassVar, Final, Self

from benchbook.datasets import Dataset, Schema
from benchbook.deployment import Deployment, Role
from benchbook.engines.counter import Counter
from benchbook.engines.errors import EngineError, GapError
from benchbook.engines.options import Options
from benchbook.scrubbing import scrubbed, shown

Record = Mapping[str, Any]

_LONGEST: Final = 500
"""Characters of a driver's message."""


class Engine(ABC):
    """An adapter: opened on a deployment, emptied by `create`, closed as a context manager.

    Records are flat dictionaries with a text key ``_id``; what is read back equals what was inserted, in any order.

    Attributes
    ----------
    name, product, model
        As registered; the product it runs on; what a record is kept as.
    driver
        The library and its version.
    gaps
        What it cannot do (a verb or a capability), and why; asked for all the same, it raises `RefusedError`
        (data) or `GapError` (all else).
    wait_resolution_ns
        By how much the end of a wait may be late, in ns: what `position` and `wait_for` take when the replica has
        caught up already, or what was measured at the last wait.
    wait_proof_ns
        By how much the last wait's end lies before its return, in ns: what it took to prove that all was there then.
    raises
        The driver's exceptions that stand for a fault of server or data.
    """

    name: ClassVar[str]
    product: ClassVar[str]
    model: ClassVar[str]
    driver: ClassVar[str]
    raises: ClassVar[tuple[type[Exception], ...]] = ()
    lacks: ClassVar[Mapping[str, str]] = {}
    stand_in_lacks: ClassVar[Mapping[str, str]] = {}
    wait_resolution_ns: float = 0.0
    wait_proof_ns: int = 0

    def __init__(self, deployment: Deployment, options: Options) -> None:
        self.deployment = deployment
        self.options = options
        self.replicated = any(node.role == "replica" for node in deployment.nodes)
        alone = {} if self.replicated else {"wait_for": f"a {deployment.topology} {self.product} has no replica"}
        stood_in = self.stand_in_lacks if any(node.stand_in for node in deployment.nodes) else {}
        self.gaps: Mapping[str, str] = {**self.lacks, **alone, **stood_in}
        if not options.constraints:
            self._has("constraints")
        if options.durability != "default":
            self._has("durability")

    @property
    def where(self) -> str:
        """The engine and its primary's address, without user and password."""
        url = shown(self.deployment.node().url) if self.deployment.nodes else ""
        address = url.partition("://")[2].partition("/")[0]
        return f"{self.name} at {address}" if address else self.name

    @abstractmethod
    def reserve(self) -> None:
        """Mark the namespace that the engine works in as the suite's, on every node; `create` does so by itself.

        Raises
        ------
        OccupiedError
            When something is there that the suite did not make.
        """

    @abstractmethod
    def release(self) -> None:
        """Remove, on every node, all that the suite made and nothing else; then the engine can only be closed."""

    @abstractmethod
    def create(self, schema: Schema, *, parents: Sequence[Dataset] = ()) -> None:
        """Drop what the suite made, create the empty store with its indexes and the parents' records, and checkpoint.

        On every node: when it returns, a replica has followed. `OccupiedError` when a user's data are in the way.
        """

    @abstractmethod
    def insert(self, record: Record) -> object:
        """Insert one record."""

    @abstractmethod
    def insert_many(self, records: Sequence[Record]) -> object:
        """Insert records in bulk, as the driver's users would; none is fine."""

    @abstractmethod
    def find(self, field: str, value: Any) -> Sequence[Record]:
        """Return all records with that value, drained and materialised."""

    @abstractmethod
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return all records as that node holds them, drained and materialised."""

    @abstractmethod
    def update(self, key: str, changes: Record) -> object:
        """Change fields of one record; `MissingRecordError` when there is none."""

    @abstractmethod
    def update_all(self, changes: Record) -> int:
        """Change fields of every record in one call; return how many."""

    @abstractmethod
    def delete(self, key: str) -> object:
        """Delete one record; `MissingRecordError` when there is none."""

    @abstractmethod
    def delete_all(self) -> int:
        """Delete every record in one call; return how many."""

    @abstractmethod
    def ids(self) -> list[str]:
        """Return every record's key."""

    @abstractmethod
    def position(self) -> object:
        """Return where the primary's log stands: at or after the last acknowledged write."""

    def wait_for(self, position: Any, deadline_s: float) -> bool:
        """Wait until the replica has applied the primary's log up to `position`; False when the time ran out."""
        self._has("wait_for")
        return self._reached(position, deadline_s)

    def counters(self, role: Role) -> list[Counter]:
        """Return what replication alone can count of that node."""
        return []

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""

    @abstractmethod
    def _reached(self, position: Any, deadline_s: float) -> bool:
        """Do `wait_for` on a replicated deployment."""

    def kind(self, error: Exception) -> type[EngineError]:
        """Return what the driver's exception is to be raised as."""
        return EngineError

    def text(self, error: Exception) -> str:
        """Return the driver's exception in one line."""
        return " ".join(str(error).split())

    def raised(self, error: Exception, what: str) -> EngineError:
        """Return what to raise for the driver's exception: with the engine, its address and what was asked.

        Its cause is the driver's exception, unless a password is in that.
        """
        urls = [node.url for node in self.deployment.nodes]
        said = self.kind(error)(f"{self.where}: {what}: {scrubbed(self.text(error), urls)[:_LONGEST]}")
        whole = "".join(format_exception(error))
        said.__cause__ = error if scrubbed(whole, urls) == whole else None
        return said

    def _has(self, capability: str) -> None:
        if why := self.gaps.get(capability):
            raise GapError(f"{self.where} has no {capability}: {why}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
