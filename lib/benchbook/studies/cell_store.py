"""The store of one cell: a database on its deployment, emptied, written until it is replicated, read and compared."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

import orjson

from benchbook import databases, formats, languages, measure, networks, servers
from benchbook.databases import Adapter
from benchbook.databases.adapter import EXACT, listed, scalars
from benchbook.databases.mongodb import MONGOOSE
from benchbook.datasets import Dataset
from benchbook.deployment import Deployment, Role, Topology, announced
from benchbook.measure import Meter, Reading, capacity_meter, clock, process_meters
from benchbook.measure.timing import CLOCK_SOURCE
from benchbook.schemas import Record, Schema, UnfitError
from benchbook.servers import containers
from benchbook.studies.cell import CellParameters, Columns, Rows, run_in_language

T = TypeVar("T")

PATIENCE_S: Final = 60.0
"""How long servers may take to come to rest before a repetition."""

UNCHANGED: Final[Record] = {}


class WrongContentsError(RuntimeError):
    """A store does not hold what was written to it: its times mean nothing."""


class ReplicaLostError(RuntimeError):
    """A wait for the replica ran out twice: nothing that follows could be measured."""


@dataclass(frozen=True)
class Store:
    """A database and the nodes it works on."""

    adapter: Adapter
    deployment: Deployment

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles of the nodes, the primary first."""
        return tuple(node.role for node in self.deployment.nodes)

    @property
    def pids(self) -> dict[Role, int]:
        """The top process of each node that runs on this machine and is known."""
        return {node.role: node.pid for node in self.deployment.nodes if node.pid is not None}

    def meters(self) -> list[Meter]:
        """Return what is read of each node's processes, or of the container that hides them; of others nothing."""
        found, places = [], self.deployment.places
        for role, pid in self.pids.items():
            processors = len(places[role].processors) if role in places else 0
            found += [*process_meters(pid, role), capacity_meter(role, processors)]
        for node in self.deployment.nodes:
            found += containers.meters(node.container, node.role) if node.container else []
        return found

    def empty(self, schema: Schema, parents: tuple[Dataset, ...] = ()) -> None:
        """Create the store anew, on every node, and wait until the servers are idle.

        Raises `AdapterError` when the replica does not follow, `NotIdle` when a server does not come to rest.
        """
        self.adapter.create(schema, parents=parents)
        measure.idle(self.pids.values(), patience_s=PATIENCE_S)

    def check(self, wanted: Mapping[str, Record], after: str, change: Record = UNCHANGED) -> None:
        """Raise `WrongContentsError` unless every node holds exactly the wanted records; the rest as for `compare`."""
        for role in self.roles:
            self.compare(self.adapter.read_all(role), wanted, f"{role} after {after}", change)

    def compare(
        self, records: Iterable[Record], wanted: Mapping[str, Record], where: str, change: Record = UNCHANGED
    ) -> None:
        """Compare records that were read with those wanted, by key: their number and every value; their order is free.

        Every wanted record has the fields of `change` with these values instead. Raises `WrongContentsError`, which
        says `where` and names the first record that differs, is missing, or is there too often.
        """
        missing, where = dict(wanted), f"{self.adapter.name}, {where}"
        for record in records:
            due = missing.pop(record["_id"], None)
            if due is None:
                raise WrongContentsError(
                    f"{where}: record {record['_id']!r} is there, and should not be (or not twice)"
                )
            if change:
                due = {**due, **change}
            if record != due:
                name = next(name for name in {**due, **record} if record.get(name, ...) != due.get(name, ...))
                differs = f"{name} is {_short(record, name)}, should be {_short(due, name)}"
                raise WrongContentsError(f"{where}: record {record['_id']!r} differs: {differs}")
        if missing:
            count, first = f"{len(missing)} of {len(wanted)}", next(iter(missing))
            raise WrongContentsError(f"{where}: {count} records are missing, the first is {first!r}")

    def resume(self, timeout_s: float) -> None:
        """After a wait that ran out, give the replica as long again, untimed: the paper's tests go on when both do.

        Raises `ReplicaLostError` when that runs out too.
        """
        if not self.adapter.wait_for(self.adapter.position(), timeout_s):
            raise ReplicaLostError(f"{self.adapter.name}: the replica has not caught up within 2 times {timeout_s:g} s")

    def columns(self, dataset: Dataset) -> Columns:
        """Return the cell's columns that only the running store knows."""
        nodes = self.deployment.nodes
        return {
            "database": self.adapter.name,
            "database_version": nodes[0].version if nodes else "",
            "model": self.adapter.model,
            "driver_version": self.adapter.driver,
            "dataset": dataset.name,
            "dataset_sha256": dataset.sha256,
        }


@contextmanager
def opened(database: str, topology: Topology, network: str = networks.NONE, **options: Any) -> Iterator[Store]:
    """Open a database on the session's deployment (options as for `databases.open`), and close both at the end."""
    with opened_together([database], topology, network, **options) as (store,):
        yield store


@contextmanager
def opened_together(
    names: Sequence[str], topology: Topology, network: str = networks.NONE, **options: Any
) -> Iterator[list[Store]]:
    """Open databases of one product on the session's deployment, all on the first one's clients, and close them."""
    with deployed(names[0], topology, network) as deployment, ExitStack() as open_:
        stores: list[Store] = []
        for name in names:
            first = stores[0].adapter if stores else None
            adapter = open_.enter_context(databases.open(name, deployment, client_of=first, **options))
            stores.append(Store(adapter, deployment))
        yield stores


@contextmanager
def deployed(database: str, topology: Topology, network: str = networks.NONE) -> Iterator[Deployment]:
    """Yield the session's deployment; at the end nothing of ours is left on servers given by their addresses.

    What a runner announced it removes itself, when all cells on it have ended.
    """
    with servers.session(database, topology, network) as deployment:
        if announced() is not None:
            yield deployment
            return
        with databases.use_fresh_database(deployment):
            yield deployment


def run_mongodb_in_language(
    parameters: CellParameters, study: str, topology: Topology, data: Dataset, head: object
) -> tuple[Rows, languages.Closing, Columns]:
    """Run a cell of MongoDB on its language, and return its rows, what closed the answer, and the columns of all rows.

    The harness empties the store by itself. The records are handed over after a line of JSON, `head`, that states what
    they are.
    """
    lines = [orjson.dumps(head), *map(formats.codec("orjson").encode_record, data.records)]
    with deployed("mongodb", topology, getattr(parameters, "network", networks.NONE)) as deployment:
        with databases.open("mongodb", deployment) as adapter:
            adapter.create(data.schema, parents=data.parents)
            store = Store(adapter, deployment)
            columns = {**store.columns(data), "topology": topology}
        replica = deployment.node("replica").url if topology == "replicated" else None
        rows, closing = run_in_language(
            parameters,
            study,
            columns,
            data=b"\n".join(lines),
            url=deployment.node().url,
            database=deployment.database,
            replica_url=replica,
            pids=[*store.pids.values()],
        )
        return rows, closing, {**columns, "driver_version": closing.driver}


class Check(Protocol):
    """What a person's own records are held against when a plan is made."""

    def hold(self, schema: Schema, records: Sequence[Record]) -> None:
        """Raise `UnfitError` at the first record, or because of fields, that cells could not take."""


@dataclass(frozen=True)
class Updated:
    """What a study is given that updates records: a text field to change."""

    def hold(self, schema: Schema, records: Sequence[Record]) -> None:
        """Raise `UnfitError` when there is none."""
        text_field(schema)


@dataclass(frozen=True)
class OnNode:
    """What Node.js is given, as JSON: records of which Mongoose, where it maps them, keeps no name for itself."""

    mapped: bool = False

    def hold(self, schema: Schema, records: Sequence[Record]) -> None:
        """Raise `UnfitError` at the first record that is another there: a number of JavaScript's is a double."""
        inner = [part.name for field in schema.fields for part in field.inside()]
        names = [*(field.name for field in schema.fields), *inner]
        kept = [name for name in names if name in MONGOOSE or "[" in name or (name in inner and "." in name)]
        if self.mapped and kept:
            why = "it keeps such names for itself, or reads a place in an array"
            raise UnfitError(f"Mongoose does not take {listed(kept, why)}")
        for number, record in enumerate(records):
            for name, outer in record.items():
                for value in scalars(outer):
                    if type(value) is int and abs(value) >= EXACT:
                        why = f"the number {value}, in the field {name!r}: its numbers are doubles"
                        raise UnfitError(f"Node.js does not take {why}", number)


def each(call: Callable[[T], object], items: Iterable[T]) -> None:
    """Call once an item: the loop that is timed where records go one at a time."""
    for item in items:
        call(item)


def text_field(schema: Schema) -> str:
    """Return the field that an update changes: ``content`` when there is one, else the first text that is no key.

    One that every record has comes before one that some lack, to whom the update gives it. Raises `UnfitError` when the
    records hold no text but their keys, or texts in documents and arrays alone.
    """
    keys = {schema.key, schema.parent.field if schema.parent else schema.key}
    texts = [field for field in schema.fields if field.type == "string" and field.name not in keys]
    if not texts:
        raise UnfitError("an update changes a text field, and no field but the keys holds text")
    if any(field.name == "content" for field in texts):
        return "content"
    return min(texts, key=lambda field: field.optional).name


def same_change(schema: Schema) -> Record:
    """Return what an update of all records gives each of them: the same new text. Raises as `text_field` does."""
    field = text_field(schema)
    return {field: f"new {field}"}


def _short(record: Record, name: str) -> str:
    text = repr(record[name]) if name in record else "absent"
    return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass(frozen=True)
class Write:
    """Times of one row of writes that end when the replica holds what the primary holds, in ns.

    Where the wait ran out, `catch_up` is how long was waited: its true value, and that of `elapsed`, is larger.
    """

    wall: int  # the client's loop
    catch_up: int  # from the loop's end until the replica held what the primary held
    elapsed: int  # both, read as one interval
    caught_up: bool
    resolution: float  # of the end of the wait: by how much it may be late

    def add_to(self, add: Callable[..., None]) -> None:
        """Add the three times: the client's is always exact, a wait that ran out makes the others timed out."""
        end = ("ns", f"{CLOCK_SOURCE}, until the replica is at the primary's position", self.resolution)
        add(readings=[Reading("wall_time", "client", self.wall, "ns", CLOCK_SOURCE, 1.0)])
        waits = (("catch_up_time", "replica", self.catch_up), ("elapsed_time", "client", self.elapsed))
        add(readings=[Reading(*wait, *end) for wait in waits], timed_out=not self.caught_up)


def until_replicated(write: Callable[[], object], adapter: Adapter, timeout_s: float) -> Write:
    """Write, then wait once until the replica holds what the primary holds, or the time runs out.

    The wait ends when the replica is known to have held it; what proving that took afterwards is in no time.
    """
    started = clock()
    write()
    written = clock()
    caught_up = adapter.wait_for(adapter.position(), timeout_s - (clock() - written) / 1e9)
    ended = clock() - (adapter.wait_proof_ns if caught_up else 0)
    return Write(written - started, ended - written, ended - started, caught_up, adapter.wait_resolution_ns)
