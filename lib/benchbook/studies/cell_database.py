"""The database of one cell: it is emptied, written until it is replicated, read and compared."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, TypeVar

import orjson

from benchbook import codecs, measure
from benchbook.databases import catalogue
from benchbook.databases.adapter import (
    Adapter,
    AdapterError,
    MissingRecordError,
    RefusedError,
    UnreachableError,
)
from benchbook.datasets.dataset import Dataset
from benchbook.measure import Meter, Reading, clock, make_capacity_meter, make_process_meters
from benchbook.measure.timing import CLOCK_SOURCE
from benchbook.schema import Record, Schema, UnfitError
from benchbook.servers import containers, launcher, networks
from benchbook.servers.deployment import Deployment, Role, Topology, load_deployment
from benchbook.studies import harness
from benchbook.studies.cell import CellParameters, Columns, Rows
from benchbook.studies.language_cell import HarnessProcess, run_in_language

T = TypeVar("T")

IDLE_TIMEOUT_S: Final = 60.0
"""Seconds that servers may take to become idle before a repetition."""

NO_CHANGE: Final[Record] = {}

PrepareUpdate: TypeAlias = Callable[
    [Mapping[str, Record]], tuple[Mapping[str, Record], Callable[[], object]]
]
"""Of records by their keys: each one's changed fields, and the function that changes them."""

_MAX_SHOWN: Final = 60
"""Characters of a value in an error."""

_MAX_WORDS: Final = 200
"""Characters of a product's own words in the reason of a skipped cell."""


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

    def try_records(
        self,
        data: Dataset,
        insert: Callable[[], object],
        prepare_update: "PrepareUpdate | None" = None,
    ) -> None:
        """Write a user's records once, untimed, and read them back; the same for an update.

        The primary keeps them until the next `empty`. Raises `UnfitError`, with the product's own
        words, when it refuses the records or gives others back.

        Parameters
        ----------
        data
            The user's records.
        insert
            Inserts them as the cell will.
        prepare_update
            Returns each record's changed fields by its key, and the function that changes them.
            None: the cell updates nothing.
        """
        records = data.index_by_key()
        try:
            self.adapter.create(data.schema, parents=data.parents)
            insert()
            self._read_back(records, "read back")
            if prepare_update:
                changes, update = prepare_update(records)
                update()
                changed = {key: {**records[key], **change} for key, change in changes.items()}
                self._read_back(changed, "read back after an update")
        except WrongContentsError as error:
            raise UnfitError(str(error)) from error
        except AdapterError as error:
            refusal = self._explain_refusal(data, error)
            if refusal is None:
                raise
            raise refusal from error

    def _read_back(self, wanted: Mapping[str, Record], where: str) -> None:
        if self.roles:
            self.compare(self.adapter.read_all(), wanted, where)

    def _explain_refusal(self, data: Dataset, error: AdapterError) -> UnfitError | None:
        """Return which record is refused and why; None when the error is another one.

        The records are inserted once more, one at a time, on a new connection: a server may have
        hung up.
        """
        # Without a driver's words it is a wait that timed out.
        if not error.words and not _is_refusal(error):
            return None
        refused = "these records"
        options = replace(self.adapter.options, session_owner=None)
        try:
            with type(self.adapter)(self.deployment, options) as adapter:
                adapter.create(data.schema, parents=data.parents)
                for number, record in enumerate(data.records, 1):
                    refused = f"record {number}"
                    adapter.insert(record)
                refused = "these records"
        except AdapterError as single:
            error = single if _is_refusal(single) else error
        if not _is_refusal(error):
            return None
        words = _shorten_text(error.words or str(error), _MAX_WORDS)
        return UnfitError(f"{self.adapter.name} does not take {refused}: {words}")

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


def _is_refusal(error: AdapterError) -> bool:
    """Return whether a database refused what it was given; a server that is gone did not."""
    if isinstance(error, UnreachableError):
        return False
    return bool(error.words) or isinstance(error, RefusedError | MissingRecordError)


@contextmanager
def open_database(
    database: str,
    topology: Topology,
    network: str = networks.NO_NETWORK,
    commit: str = "each",
    /,
    **options: Any,
) -> Iterator[CellDatabase]:
    """Open a database on a new deployment; options as of `catalogue.open_adapter`."""
    with open_databases([database], topology, network, commit, **options) as (opened,):
        yield opened


@contextmanager
def open_databases(
    names: Sequence[str],
    topology: Topology,
    network: str = networks.NO_NETWORK,
    commit: str = "each",
    /,
    **options: Any,
) -> Iterator[list[CellDatabase]]:
    """Open databases of one product on the session's deployment, all on the first one's clients."""
    with ExitStack() as stack:
        deployment = stack.enter_context(use_deployment(names[0], topology, network, commit))
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
    database: str,
    topology: Topology,
    network: str = networks.NO_NETWORK,
    commit: str = "each",
) -> Iterator[Deployment]:
    """Yield the session's deployment; at the end remove the cell's database from a user's server.

    A deployment that a runner started is cleaned by the runner, when all its cells have ended.
    """
    with launcher.open_deployment(database, topology, network, commit) as deployment:
        if load_deployment() is not None:
            yield deployment
            return
        with catalogue.use_fresh_database(deployment):
            yield deployment


def run_mongodb_in_language(
    parameters: CellParameters,
    study: str,
    topology: Topology,
    data: Dataset,
    head: object,
    processes: Sequence[HarnessProcess] = (),
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
    processes
        The processes of the harness, as of `run_in_language`.
    """
    # One line for the description, and one per record.
    records = [*map(codecs.load_codec("orjson").encode_record, data.records)]
    if parameters.dataset_file:
        _expect_doubles(records)
    lines = [orjson.dumps(head), *records]

    # The adapter prepares the database and describes it; the harness measures it.
    with use_deployment("mongodb", topology, parameters.network_name) as deployment:
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
            processes=processes,
        )
        return rows, closing, {**columns, "driver_version": closing.driver}


def _expect_doubles(records: Iterable[bytes]) -> None:
    """Raise `UnfitError` at the first record that JSON's numbers in JavaScript would change."""
    for number, record in enumerate(records, 1):
        if json.loads(record, parse_int=float) != json.loads(record):
            reason = "its numbers are doubles, which have no digits beyond 2^53"
            raise UnfitError(f"Node.js does not take record {number}: {reason}")


def call_each(call: Callable[[T], object], items: Iterable[T]) -> None:
    """Call a function once per item: the loop that is timed when records go one at a time."""
    for item in items:
        call(item)


def _explain_difference(record: Record, expected: Record) -> str:
    """Return the first place that differs, at any depth, with both values."""
    for name in {**expected, **record}:
        # A mapper's object has other names, too, for ``in``.
        found, wanted = record.get(name, ...), expected.get(name, ...)
        if found != wanted:
            place, found, wanted = _find_difference(name, found, wanted)
            return f"{place} is {_shorten_value(found)}, should be {_shorten_value(wanted)}"
    raise ValueError("the records are equal")


def _find_difference(place: str, found: Any, wanted: Any) -> tuple[str, Any, Any]:
    """Return the first place inside two unequal values that differs, and the values there."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        inner = [
            (f"{place}.{name}", found.get(name, ...), wanted.get(name, ...))
            for name in {**wanted, **found}
        ]
    elif isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        inner = [
            (f"{place}[{index}]", *pair)
            for index, pair in enumerate(zip(found, wanted, strict=True))
        ]
    else:
        return place, found, wanted
    return next(
        (_find_difference(*each) for each in inner if each[1] != each[2]),
        (place, found, wanted),
    )


def _shorten_value(value: object) -> str:
    return "absent" if value is ... else _shorten_text(repr(value), _MAX_SHOWN)


def _shorten_text(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."


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
