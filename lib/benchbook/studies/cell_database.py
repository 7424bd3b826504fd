"""The database of one cell: it is emptied, written until it is replicated, read and compared."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

import orjson

from benchbook import codecs, measure
from benchbook.databases import catalogue
from benchbook.databases.adapter import MAX_EXACT_INTEGER, Adapter, describe_fields, iterate_scalars
from benchbook.databases.mongodb import MONGOOSE_NAMES
from benchbook.datasets.dataset import Dataset
from benchbook.languages import harness
from benchbook.measure import Meter, Reading, clock, make_capacity_meter, make_process_meters
from benchbook.measure.timing import CLOCK_SOURCE
from benchbook.schema import Record, Schema, UnfitError
from benchbook.servers import containers, launcher, networks
from benchbook.servers.deployment import Deployment, Role, Topology, load_deployment
from benchbook.studies.cell import CellParameters, Columns, Rows, run_in_language

T = TypeVar("T")

IDLE_TIMEOUT_S: Final = 60.0
"""Seconds that servers may take to become idle before a repetition."""

NO_CHANGE: Final[Record] = {}

_MAX_SHOWN: Final = 60
"""Characters of a value in an error."""


class WrongContentsError(RuntimeError):
    """A database does not have the records that were written: its times mean nothing."""


class ReplicaLostError(RuntimeError):
    """A wait for the replica timed out twice: nothing more can be measured."""


@dataclass(frozen=True)
class CellDatabase:
    """A database's adapter, and the nodes that it uses."""

    adapter: Adapter
    deployment: Deployment

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles of the nodes, the primary first."""
        return tuple(node.role for node in self.deployment.nodes)

    @property
    def pids(self) -> dict[Role, int]:
        """The top process of each node, where it is known and on this machine."""
        return {node.role: node.pid for node in self.deployment.nodes if node.pid is not None}

    def meters(self) -> list[Meter]:
        """Return the meters of each known process, or of the container that hides it."""
        meters: list[Meter] = []
        places = self.deployment.places
        for role, pid in self.pids.items():
            processors = len(places[role].processors) if role in places else 0
            meters += make_process_meters(pid, role)
            meters.append(make_capacity_meter(role, processors))
        for node in self.deployment.nodes:
            if node.container:
                meters += containers.make_container_meters(node.container, node.role)
        return meters

    def empty(self, schema: Schema, parents: tuple[Dataset, ...] = ()) -> None:
        """Create the empty collection or tables on every node, and wait until the servers are idle.

        Raises `AdapterError` when the replica does not follow, and `NotIdleError` when a server
        does not become idle.
        """
        self.adapter.create(schema, parents=parents)
        measure.wait_until_idle(self.pids.values(), patience_s=IDLE_TIMEOUT_S)

    def check(self, wanted: Mapping[str, Record], after: str, change: Record = NO_CHANGE) -> None:
        """Raise `WrongContentsError` unless every node has exactly these records; see `compare`."""
        for role in self.roles:
            self.compare(self.adapter.read_all(role), wanted, f"{role} after {after}", change)

    def compare(
        self,
        records: Iterable[Record],
        wanted: Mapping[str, Record],
        where: str,
        change: Record = NO_CHANGE,
    ) -> None:
        """Compare records that were read with the expected ones, in any order.

        Raises `WrongContentsError` at the first record that differs, is missing or is unexpected.

        Parameters
        ----------
        records
            The records that were read.
        wanted
            The expected records, by key.
        where
            The place in an error, such as ``replica after insert``.
        change
            Fields that replace those of every expected record.
        """
        missing, where = dict(wanted), f"{self.adapter.name}, {where}"
        for record in records:
            expected = missing.pop(record["_id"], None)
            if expected is None:
                raise WrongContentsError(
                    f"{where}: record {record['_id']!r} is there, and should not be (or not twice)"
                )
            if change:
                expected = {**expected, **change}
            if record != expected:
                reason = _explain_difference(record, expected)
                raise WrongContentsError(f"{where}: record {record['_id']!r} differs: {reason}")
        if missing:
            count, first = f"{len(missing)} of {len(wanted)}", next(iter(missing))
            raise WrongContentsError(
                f"{where}: {count} records are missing, the first is {first!r}"
            )

    def resume(self, timeout_s: float) -> None:
        """Wait for the replica once more, untimed, after a wait that timed out.

        The paper's tests, too, went on when both nodes did. Raises `ReplicaLostError` when this
        wait times out as well.
        """
        if not self.adapter.wait_for(self.adapter.position(), timeout_s):
            raise ReplicaLostError(
                f"{self.adapter.name}: the replica has not caught up within 2 times {timeout_s:g} s"
            )

    def columns(self, dataset: Dataset) -> Columns:
        """Return the cell's columns that are known only when the database runs."""
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
def open_database(
    database: str, topology: Topology, network: str = networks.NO_NETWORK, **options: Any
) -> Iterator[CellDatabase]:
    """Open a database on a new deployment; options as of `catalogue.open_adapter`."""
    with open_databases([database], topology, network, **options) as (opened,):
        yield opened


@contextmanager
def open_databases(
    names: Sequence[str], topology: Topology, network: str = networks.NO_NETWORK, **options: Any
) -> Iterator[list[CellDatabase]]:
    """Open databases of one product on the session's deployment, all on the first one's clients."""
    with use_deployment(names[0], topology, network) as deployment, ExitStack() as stack:
        databases: list[CellDatabase] = []
        for name in names:
            first = databases[0].adapter if databases else None
            adapter = stack.enter_context(
                catalogue.open_adapter(name, deployment, session_owner=first, **options)
            )
            databases.append(CellDatabase(adapter, deployment))
        yield databases


@contextmanager
def use_deployment(
    database: str, topology: Topology, network: str = networks.NO_NETWORK
) -> Iterator[Deployment]:
    """Yield the session's deployment; at the end remove the cell's database from a user's server.

    A deployment that a runner started is cleaned by the runner, when all its cells have ended.
    """
    with launcher.open_deployment(database, topology, network) as deployment:
        if load_deployment() is not None:
            yield deployment
            return
        with catalogue.use_fresh_database(deployment):
            yield deployment


def run_mongodb_in_language(
    parameters: CellParameters, study: str, topology: Topology, data: Dataset, head: object
) -> tuple[Rows, harness.Closing, Columns]:
    """Run a cell of MongoDB in its language.

    Return its rows, the harness' closing message, and the columns of all rows. The harness itself
    empties the collection.

    Parameters
    ----------
    parameters, study, topology
        The cell.
    data
        The records; the harness gets one per line of JSON.
    head
        The description of the records, which is the first line.
    """
    lines = [orjson.dumps(head), *map(codecs.load_codec("orjson").encode_record, data.records)]
    network = getattr(parameters, "network", networks.NO_NETWORK)
    with use_deployment("mongodb", topology, network) as deployment:
        with catalogue.open_adapter("mongodb", deployment) as adapter:
            adapter.create(data.schema, parents=data.parents)
            database = CellDatabase(adapter, deployment)
            columns = {**database.columns(data), "topology": topology}
        replica = deployment.node("replica").url if topology == "replicated" else None
        rows, closing = run_in_language(
            parameters,
            study,
            columns,
            data=b"\n".join(lines),
            url=deployment.node().url,
            database=deployment.database,
            replica_url=replica,
            pids=[*database.pids.values()],
        )
        return rows, closing, {**columns, "driver_version": closing.driver}


class RecordCheck(Protocol):
    """A check of a user's records, made when a cell is planned."""

    def check_records(self, schema: Schema, records: Sequence[Record]) -> None:
        """Raise `UnfitError` at the first record, or because of fields, that a cell cannot take."""


@dataclass(frozen=True)
class UpdateCheck:
    """The check of a study that updates records: they need a text field."""

    def check_records(self, schema: Schema, records: Sequence[Record]) -> None:
        """Raise `UnfitError` when there is no text field to change."""
        find_text_field(schema)


@dataclass(frozen=True)
class NodeCheck:
    """The check of a cell in Node.js, with Mongoose if records are `mapped`."""

    mapped: bool = False

    def check_records(self, schema: Schema, records: Sequence[Record]) -> None:
        """Raise `UnfitError` at a name that Mongoose reserves, or a number beyond doubles."""
        if self.mapped:
            names = self._list_reserved_names(schema)
            if names:
                why = "it keeps such names for itself, or reads a place in an array"
                raise UnfitError(f"Mongoose does not take {describe_fields(names, why)}")
        for number, record in enumerate(records):
            for name, outer in record.items():
                for value in iterate_scalars(outer):
                    if type(value) is int and abs(value) >= MAX_EXACT_INTEGER:
                        why = f"the number {value}, in the field {name!r}: its numbers are doubles"
                        raise UnfitError(f"Node.js does not take {why}", number)

    def _list_reserved_names(self, schema: Schema) -> list[str]:
        outer = [field.name for field in schema.fields]
        inner: list[str] = []
        for field in schema.fields:
            inner += [part.name for part in field.iterate_inner()]
        names = [name for name in [*outer, *inner] if name in MONGOOSE_NAMES or "[" in name]
        return names + [name for name in inner if "." in name and name not in names]


def call_each(call: Callable[[T], object], items: Iterable[T]) -> None:
    """Call a function once per item: the loop that is timed when records go one at a time."""
    for item in items:
        call(item)


def find_text_field(schema: Schema) -> str:
    """Return the field that an update changes.

    It is ``content``, else the first text field that every record has, else the first that some
    have. The key does not count. Raises `UnfitError` when there is no such field, or only inside
    documents and arrays.
    """
    keys = {schema.key, schema.parent.field if schema.parent else schema.key}
    texts = [field for field in schema.fields if field.type == "string" and field.name not in keys]
    if not texts:
        raise UnfitError("an update changes a text field, and no field but the keys holds text")
    if any(field.name == "content" for field in texts):
        return "content"
    return min(texts, key=lambda field: field.optional).name


def make_change(schema: Schema) -> Record:
    """Return the fields that an update of all records sets, the same new text for each.

    Raises as `find_text_field`.
    """
    field = find_text_field(schema)
    return {field: f"new {field}"}


def _explain_difference(record: Record, expected: Record) -> str:
    """Return the first field that differs, with both values."""
    for name in {**expected, **record}:
        if record.get(name, ...) != expected.get(name, ...):
            found = _shorten_value(record, name)
            return f"{name} is {found}, should be {_shorten_value(expected, name)}"
    raise ValueError("the records are equal")


def _shorten_value(record: Record, name: str) -> str:
    text = repr(record[name]) if name in record else "absent"
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


@dataclass(frozen=True)
class WriteTimes:
    """Times in ns of a series of writes that ends when the replica has what the primary has.

    When the wait timed out, `catch_up` is the time waited: its true value is larger, and that of
    `elapsed`, too.
    """

    wall: int  # the client's loop
    catch_up: int  # from the end of the loop until the replica had what the primary had
    elapsed: int  # both, read as one interval
    caught_up: bool
    resolution: float  # of the end of the wait: by how much it can be late

    def add_to(self, add: Callable[..., None]) -> None:
        """Add the three times; after a wait that timed out, only the client's is exact."""
        add(readings=[Reading("wall_time", "client", self.wall, "ns", CLOCK_SOURCE, 1.0)])
        source = f"{CLOCK_SOURCE}, until the replica is at the primary's position"
        end = ("ns", source, self.resolution)
        waits = [
            Reading("catch_up_time", "replica", self.catch_up, *end),
            Reading("elapsed_time", "client", self.elapsed, *end),
        ]
        add(readings=waits, timed_out=not self.caught_up)


def write_until_replicated(
    write: Callable[[], object], adapter: Adapter, timeout_s: float
) -> WriteTimes:
    """Write, then wait until the replica has what the primary has, or the time is over.

    The wait ends when the replica is known to have had it; the time of proving that does not
    count.
    """
    started = clock()
    write()
    written = clock()
    caught_up = adapter.wait_for(adapter.position(), timeout_s - (clock() - written) / 1e9)
    ended = clock() - (adapter.wait_proof_ns if caught_up else 0)
    return WriteTimes(
        written - started, ended - written, ended - started, caught_up, adapter.wait_resolution_ns
    )
