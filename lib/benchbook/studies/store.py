"""The store of one cell: an engine on its deployment, emptied before a repetition and checked after an operation."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from benchbook import databases, measure, servers
from benchbook.datasets import Dataset
from benchbook.deployment import Deployment, Role, Topology, announced
from benchbook.schemas import Record, Schema
from benchbook.studies import contents

T = TypeVar("T")

PATIENCE_S: Final = 60.0
"""How long servers may take to come to rest before a repetition."""


@dataclass(frozen=True)
class Store:
    """An engine and the nodes it works on."""

    engine: databases.Engine
    deployment: Deployment

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles of the nodes, the primary first."""
        return tuple(node.role for node in self.deployment.nodes)

    @property
    def pids(self) -> dict[Role, int]:
        """The top process of each node that runs on this machine and is known."""
        return {node.role: node.pid for node in self.deployment.nodes if node.pid is not None}

    def empty(self, schema: Schema, parents: tuple[Dataset, ...] = ()) -> None:
        """Create the store anew, on every node, and wait until the servers are idle.

        Raises
        ------
        EngineError, NotIdle
            When the replica does not follow, or a server does not come to rest.
        """
        self.engine.create(schema, parents=parents)
        measure.idle(self.pids.values(), patience_s=PATIENCE_S)

    def check(self, wanted: Mapping[str, Record], after: str, change: Record = contents.UNCHANGED) -> None:
        """Raise `contents.WrongContentsError` unless every node holds exactly the wanted records."""
        for role in self.roles:
            found = self.engine.read_all(role)
            contents.check(found, wanted, f"{self.engine.name}, {role} after {after}", change=change)

    def columns(self, dataset: Dataset) -> dict[str, Any]:
        """Return the cell's columns that only the running store knows."""
        nodes = self.deployment.nodes
        return {
            "engine": self.engine.name,
            "engine_version": nodes[0].version if nodes else "",
            "stand_in": any(node.stand_in for node in nodes),
            "model": self.engine.model,
            "driver": self.engine.driver,
            "dataset": dataset.name,
            "dataset_sha256": dataset.sha256,
        }


def each(call: Callable[[T], object], items: Iterable[T]) -> None:
    """Call once an item: the loop that is timed where records go one at a time."""
    for item in items:
        call(item)


@contextmanager
def opened(engine: str, topology: Topology, **options: Any) -> Iterator[Store]:
    """Open an engine on the session's deployment (options as for `databases.open`), and close both at the end."""
    with deployed(engine, topology) as deployment, databases.open(engine, deployment, **options) as adapter:
        yield Store(adapter, deployment)


@contextmanager
def deployed(engine: str, topology: Topology) -> Iterator[Deployment]:
    """Yield the session's deployment; at the end nothing of ours is left on servers given by their addresses.

    What a runner announced it removes itself, when all cells on it have ended.
    """
    with servers.session(engine, topology) as deployment:
        if announced() is not None:
            yield deployment
            return
        databases.reserve(deployment)
        try:
            yield deployment
        except BaseException:
            with suppress(databases.EngineError):  # what the cell died of is what is to be told
                databases.release(deployment)
            raise
        databases.release(deployment)


def handed_over(deployment: Deployment, schema: Schema, parents: tuple[Dataset, ...] = ()) -> None:
    """Make a MongoDB store for a harness that empties it by itself: nothing of a user's goes by its names then."""
    with databases.open("mongodb", deployment) as adapter:
        adapter.create(schema, parents=parents)
