"""Study `crud`: insert, update, select and delete in document and relational databases.

As in the paper: comments of 1 KB, one call per comment, in the order insert, update, select,
delete; on a single server and replicated. Before the update the comments' ids are read, untimed; it
gives each comment a new ``content``. Select reads all comments of an article, once per article, so
that all n comments are returned: its count is comments. The paper speaks of "a given article" and
its times grow with n, which fits one article with all comments (``comments_per_article: all``). In
the replicated topology select is left out. There each series of writes is followed by a wait until
the replica has what the primary has. The client's time, the time until the replica has caught up,
and both as one interval are separate values.

The paper says only that its delete "deletes all the data". Its times, 35 to 115 µs per comment on
PostgreSQL, fit one call per comment (``delete: each``) and not the single statement of ``delete:
all``.

A single server of MySQL from 8.0 on flushes a binary log at each commit by default; the paper's 5.5
did not, and MariaDB does not. So a log is written when a replica reads it (``binary_log: needed``),
or as MySQL does by default (``always``).

CouchDB 1.5 answered before a write was on the disk, and synced once a second; today's CouchDB syncs
each commit (``commit: each``). With ``commit: later`` its server runs without syncs of its own, and
its files are synced once a second.

With ``load: bulk`` only select is timed: the comments are inserted in bulk before it, and not
updated. With ``load: each`` it reads what single inserts and updates left, so the two are never
compared with each other.

MySQL and MariaDB index the comments' article on their own, because it is a foreign key. There
``article_index: false`` has an effect only without constraints.

A pair such as ``database: mongodb/postgresql+relational`` alternates in one process: a repetition
of one, then one of the other, each on its own running servers. So both have the same process; which
one begins is drawn at random for each cell. With ``constraints: on/off`` the tables with and
without constraints alternate on the same servers.
"""

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self

from pydantic import model_validator
from typing_extensions import override

from benchbook import codecs, measure
from benchbook.databases import catalogue
from benchbook.databases.adapter import Adapter
from benchbook.datasets import blog
from benchbook.datasets.dataset import Dataset
from benchbook.measure import Meter, make_machine_meters, time_action
from benchbook.registry.products import is_unsupported
from benchbook.schema import Record, Schema, UnfitError
from benchbook.servers import launcher, networks
from benchbook.servers.deployment import Topology
from benchbook.servers.launcher import name_product
from benchbook.studies.cell import (
    CellParameters,
    Count,
    NetworkName,
    Output,
    Repetitions,
    Rows,
    Seconds,
    iterate_repetitions,
    order_turns,
    state_parameters,
)
from benchbook.studies.cell_database import (
    IDLE_TIMEOUT_S,
    CellDatabase,
    ReplicaLostError,
    call_each,
    open_database,
    run_mongodb_in_language,
    write_until_replicated,
)
from benchbook.studies.study import RecordCheck, Study
from benchbook.studies.update import (
    UpdateCheck,
    change_value,
    find_updated_field,
    make_change,
)

if TYPE_CHECKING:
    import pandas as pd

VERSION = 1

WRITES: Final = ("insert", "update", "delete")

PROCESSOR_METRICS: Final = ("cpu_user", "cpu_system", "cpu_capacity")
"""What the machine's processors did while a replicated pair was written."""

PAIRS: Final = ("mongodb/postgresql+relational", "mongodb/mysql+relational")
"""Databases that can alternate in one process."""

# pydantic checks these at run time, and names them in its errors.
if TYPE_CHECKING:
    DatabaseOrPair = str
else:
    DatabaseOrPair = Literal[(*catalogue.DATABASE_NAMES, *PAIRS)]


class Parameters(CellParameters):
    """One cell: a database, a topology, and how many comments are stored and how.

    With a pair, such as ``mongodb/postgresql+relational``, both databases alternate, and each row
    has its own. Language ``node`` is the paper's JavaScript: MongoDB through its own driver, with
    the same operations and checks.
    """

    language: Literal["python", "node"] = "python"
    database: DatabaseOrPair = "mongodb"
    topology: Literal["single", "replicated"] = "single"
    n: Count = 1000
    comments_per_article: Literal[10, 100, "all"] = "all"
    calls: Literal["single", "bulk"] = "single"
    delete: Literal["all", "each"] = "all"
    constraints: Literal["on", "off", "on/off"] = "on"
    arrays: catalogue.Arrays = "json"
    article_index: bool = False
    durability: Literal["default", "relaxed", "strict"] = "default"
    binary_log: Literal["needed", "always"] = "needed"
    commit: Literal["each", "later"] = "each"
    load: Literal["each", "bulk"] = "each"
    network: NetworkName = networks.NO_NETWORK
    timeout_s: Seconds = 600.0
    repetitions: Repetitions = 50

    added: ClassVar = {"commit": "each", "load": "each"}

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        for database in self.databases():
            self._check_levels(database)
        if len(self.databases()) > 1 and self.network != networks.NO_NETWORK:
            raise ValueError(
                f"database: {self.database} takes network: {networks.NO_NETWORK};"
                " in a network take one database"
            )
        if self.language == "node" and self.database != "mongodb":
            raise ValueError(f"language: node takes database: mongodb, not {self.database}")
        if self.load == "bulk" and (self.topology, self.language) != ("single", "python"):
            raise ValueError(
                "load: bulk times select only: it takes topology: single and language: python"
            )
        if self.dataset_file and self.comments_per_article != "all":
            raise ValueError(
                f"comments_per_article: {self.comments_per_article} is not for your records"
                " (dataset_file)"
            )
        if self.dataset_file and self.article_index:
            raise ValueError(
                "article_index: true is not for your records (dataset_file), which have no article"
            )
        return self

    def _check_levels(self, database: str) -> None:
        """Raise ValueError when a level is not for a database."""
        is_relational = database.endswith("+relational")
        if self.constraints != "on" and not is_relational:
            raise ValueError(
                f"constraints: {self.constraints} is for relational databases;"
                f" {database} has no constraints to drop"
            )
        if self.arrays == "table" and not (is_relational and self.dataset_file):
            raise ValueError(
                "arrays: table is for relational databases and your records (dataset_file):"
                " others have none"
            )
        if self.durability != "default" and is_unsupported(database, "durability"):
            raise ValueError(
                f"database: {database} has no durability to choose; it takes durability: default"
            )
        if self.commit == "later" and database != "couchdb":
            raise ValueError(f"commit: later is for couchdb; {database} takes commit: each")
        has_log = name_product(database) == "mysql" and self.topology == "single"
        if self.binary_log == "always" and not has_log:
            why = "others write one for a replica alone"
            raise ValueError(f"binary_log: always is for a single MySQL from 8.0 on: {why}")
        if database == "noop":
            is_plain = self.topology == "single" and self.durability == "default"
            if not is_plain or self.article_index:
                raise ValueError(
                    "database: noop stores nothing; it takes topology: single"
                    " and no durability or article_index"
                )

    def databases(self) -> list[str]:
        """Return the databases that alternate."""
        return self.database.split("/")

    @override
    def variants(self) -> list[dict[str, str]]:
        databases = self.databases()
        if self.constraints == "on/off":
            return [{"own_level": level} for level in ("on", "off")]
        if len(databases) == 1:
            return super().variants()
        return [{"database": database} for database in databases]


def deployment(parameters: Parameters) -> tuple[str, Topology]:
    """Return the product and topology that the cell needs; for a pair those of its first."""
    product = name_product(parameters.databases()[0])
    return product, "none" if product == "none" else parameters.topology


def other_products(parameters: Parameters) -> list[str]:
    """Return the product of a pair's other database, whose servers the cell starts itself."""
    return [name_product(database) for database in parameters.databases()[1:]]


def modules(parameters: Parameters) -> tuple[str, ...]:
    """Return the modules that the cell imports by name."""
    modules: list[str] = []
    for database in parameters.databases():
        modules += catalogue.list_modules(database, parameters.arrays)
    if parameters.language == "node":
        modules.append(codecs.find_module("orjson"))
    return tuple(modules)


def checks(parameters: Parameters) -> list[RecordCheck]:
    """Return the checks of a user's records: one field can change, and arrays can be tables."""
    checks: list[RecordCheck] = [UpdateCheck(parameters.language)]
    if parameters.arrays == "table":
        checks.append(ArraysCheck())
    return checks


@dataclass(frozen=True)
class ArraysCheck:
    """The check of ``arrays: table``: without arrays its cell would be that of ``arrays: json``."""

    def check_records(self, schema: Schema, records: Sequence[Record]) -> None:
        """Raise `UnfitError` when no field is an array."""
        if not any(field.type == "array" for field in schema.fields):
            raise UnfitError("arrays: table is for records with arrays, and no field is one")


def expected(parameters: Parameters) -> set[Output]:
    """Return the operation, role and metric of each value of a repetition."""
    operations: tuple[str, ...] = (*WRITES, "select")
    if parameters.load == "bulk":
        operations = ("select",)
    outputs = {("client", "wall_time")}
    if parameters.topology == "replicated":
        operations = WRITES
        outputs |= {("replica", "catch_up_time"), ("client", "elapsed_time")}
        if parameters.language == "python":
            outputs |= {("machine", metric) for metric in PROCESSOR_METRICS}
    return {(operation, *output) for operation, output in product(operations, outputs)}


@state_parameters
def run(parameters: Parameters) -> "pd.DataFrame":
    """Time the operations in each repetition, each from an empty database.

    A wait for the replica that times out is recorded as timed out, with the time waited. As in the
    paper, the cell goes on when both nodes do: it waits once more, untimed. If that times out too,
    nothing more can be measured and the cell ends. The missing values are rows without a number,
    marked timed out, with the reason; so is select when the database cannot search.

    Raises `WrongContentsError` when a node has other records than it should after an operation, or
    when select returned others; `UnfitError` when a database refuses a user's records.
    """
    data = parameters.own_records() or blog.generate_comments(
        parameters.n, parameters.seed, per_article=parameters.comments_per_article
    )
    if parameters.language == "node":
        return _run_on_node(parameters, data)
    rows = Rows()
    with ExitStack() as stack:
        databases = _open_pair(parameters, data.schema, stack)
        # A user's records that a product refuses end the cell before anything is timed.
        if parameters.dataset_file:
            for database in databases:
                _CrudRepetition(parameters, database, data, lambda *_, **__: None, []).try_records()
        # Each repetition measures one database after the other.
        first = secrets.randbelow(len(databases))
        for repetition in iterate_repetitions(parameters.repetitions):
            for database in order_turns(databases, first + repetition):
                columns = {**database.columns(data), "topology": parameters.topology}
                if parameters.constraints == "on/off":
                    has_constraints = database.adapter.options.constraints
                    columns["own_level"] = "on" if has_constraints else "off"
                add = partial(rows.add, repetition, **columns)
                idle = [other for other in databases if other is not database]
                try:
                    _CrudRepetition(parameters, database, data, add, idle).run()
                    why = database.adapter.limitations.get("find")
                    if why:
                        rows.add_unmeasured(expected(parameters), [repetition], why, columns)
                except ReplicaLostError as lost:
                    # The other database of a pair goes on without it.
                    left = range(repetition, parameters.repetitions)
                    rows.add_unmeasured(expected(parameters), left, str(lost), columns)
                    databases = idle
    return rows.frame()


STUDY: Final = Study(
    "crud",
    Parameters,
    run=run,
    expected=expected,
    dataset=lambda parameters: parameters.name_dataset(
        f"comments-{parameters.comments_per_article}"
    ),
    deployment=deployment,
    modules=modules,
    checks=checks,
    other_products=other_products,
)


def _open_pair(parameters: Parameters, schema: Schema, stack: ExitStack) -> list[CellDatabase]:
    """Return the cell's database, or both that alternate; the stack closes them."""
    options: dict[str, Any] = {
        "durability": parameters.durability,
        "binary_log": parameters.binary_log == "always",
        "constraints": parameters.constraints != "off",
        "arrays": parameters.arrays,
        "index": (_find_group_field(schema),) if parameters.article_index else (),
    }
    name, *others = parameters.databases()
    first = stack.enter_context(
        open_database(name, parameters.topology, parameters.network, parameters.commit, **options)
    )
    databases = [first]
    if parameters.constraints == "on/off":
        # The same servers and sessions; each repetition makes the tables anew.
        options |= {"constraints": False, "session_owner": first.adapter}
        without = catalogue.open_adapter(name, first.deployment, **options)
        databases.append(CellDatabase(stack.enter_context(without), first.deployment))
    for other in others:
        opened = _open_other_database(first, other, parameters.topology, **options)
        databases.append(stack.enter_context(opened))
    return databases


@contextmanager
def _open_other_database(
    first: CellDatabase, database: str, topology: Topology, **options: Any
) -> Iterator[CellDatabase]:
    """Open a database on servers of its own, which are started in addition to the first one's.

    Their files go next to the first one's. The cell's own temporary folder, which a runner made, is
    closed to the user that servers run as.
    """
    folder = first.deployment.settings.get("folder")
    product = name_product(database)
    with ExitStack() as stack:
        with _use_temporary_folder(Path(folder).parent if folder else None):
            running = stack.enter_context(launcher.provide_servers(product, topology))
        stack.enter_context(catalogue.use_fresh_database(running.deployment))
        adapter = stack.enter_context(
            catalogue.open_adapter(database, running.deployment, **options)
        )
        yield CellDatabase(adapter, running.deployment)


@contextmanager
def _use_temporary_folder(folder: Path | None) -> Iterator[None]:
    """Make new temporary files in a folder; None changes nothing."""
    usual = os.environ.get("TMPDIR")
    if folder:
        os.environ["TMPDIR"] = str(folder)
    try:
        yield
    finally:
        if usual:
            os.environ["TMPDIR"] = usual
        elif folder:
            del os.environ["TMPDIR"]


def _run_on_node(parameters: Parameters, data: Dataset) -> "pd.DataFrame":
    """Run the cell in Node.js, the paper's language."""
    parents = [
        {**_describe_schema(parent.schema), "records": parent.records} for parent in data.parents
    ]
    head = {
        **_describe_schema(data.schema),
        "group": _find_group_field(data.schema),
        "text": find_updated_field(data.schema).path,
        "change": make_change(data.schema, data.records),
        "parents": parents,
    }
    rows, closing, columns = run_mongodb_in_language(
        parameters, "crud", parameters.topology, data, head
    )
    if closing.lost:
        repetitions = range(parameters.repetitions)
        rows.add_unmeasured(expected(parameters), repetitions, closing.lost, columns)
    return rows.frame()


def _describe_schema(schema: Schema) -> dict[str, object]:
    return {"collection": schema.name, "fields": [field.as_json for field in schema.fields]}


@dataclass(frozen=True)
class _CrudRepetition:
    """The operations of one repetition."""

    parameters: Parameters
    database: CellDatabase
    data: Dataset
    add: Callable[..., None]
    others: Sequence[CellDatabase]  # the other database of a pair, whose servers must be idle

    def run(self) -> None:
        adapter, schema = self.database.adapter, self.data.schema
        self.database.empty(schema, self.data.parents)
        pids = chain.from_iterable(other.pids.values() for other in self.others)
        measure.wait_until_idle(pids, patience_s=IDLE_TIMEOUT_S)
        # Each operation continues with the records that the one before it left.
        records = self.data.index_by_key()
        if self.parameters.load == "bulk":
            self._load_in_bulk(records)
            self._select(records)
            return
        self._write("insert", self._prepare_insert(), records)
        changes, update = self._prepare_update(records)
        changed = {key: {**records[key], **change} for key, change in changes.items()}
        self._write("update", update, changed)
        if self.parameters.topology == "single":
            self._select(changed)
        if self.parameters.delete == "all":
            delete: Callable[[], object] = adapter.delete_all
        else:
            delete = partial(call_each, adapter.delete, changes)
        self._write("delete", delete, {})

    def _load_in_bulk(self, records: Mapping[str, Record]) -> None:
        """Insert all records, untimed, and wait until the servers are idle again."""
        self.database.adapter.insert_many(self.data.records)
        self.database.check(records, "load")
        measure.wait_until_idle(self.database.pids.values(), patience_s=IDLE_TIMEOUT_S)

    def try_records(self) -> None:
        """Write a user's records once, untimed; raises `UnfitError` when they are refused."""
        self.database.try_records(self.data, self._prepare_insert(), self._prepare_update)

    def _prepare_insert(self) -> Callable[[], object]:
        adapter, records = self.database.adapter, self.data.records
        if self.parameters.calls == "bulk":
            return partial(adapter.insert_many, records)
        return partial(call_each, adapter.insert, records)

    def _prepare_update(
        self, records: Mapping[str, Record]
    ) -> tuple[Mapping[str, Record], Callable[[], object]]:
        """Return each record's changed fields by its key, and the function that changes them."""
        adapter, schema = self.database.adapter, self.data.schema
        if self.parameters.calls == "bulk":
            change = make_change(schema, self.data.records)
            return dict.fromkeys(records, change), partial(adapter.update_all, change)
        # Records are changed in the order in which the database returns their ids.
        ids = adapter.list_ids() if self.database.roles else records
        field = find_updated_field(schema)
        changes = {}
        for key in ids:
            value = change_value(field.read(records[key]))
            changes[key] = field.write(records[key], value)
        return changes, partial(_update_each, adapter, changes)

    def _select(self, expected: Mapping[str, Record]) -> None:
        """Time the search of each group's records, and compare what was found.

        Nothing is timed where the database cannot search.
        """
        if "find" in self.database.adapter.limitations:
            return
        group, find = _find_group_field(self.data.schema), self.database.adapter.find
        groups = list(dict.fromkeys(record[group] for record in self.data.records))

        def select() -> list[Record]:
            found: list[Record] = []
            for value in groups:
                # A comprehension takes the records one by one, as a program does.
                found += [record for record in find(group, value)]  # noqa: C416
            return found

        started_at = datetime.now(UTC)
        selected, readings = time_action(select)
        self.add("select", readings, len(selected), started_at=started_at)
        if self.database.roles:
            self.database.compare(selected, expected, "select")

    def _write(
        self, operation: str, action: Callable[[], object], expected: Mapping[str, Record]
    ) -> None:
        """Time one series of writes, and check the records that every node has afterwards."""
        count, started_at = len(self.data.records), datetime.now(UTC)
        if self.parameters.topology == "single":
            self.add(operation, time_action(action)[1], count, started_at=started_at)
        else:
            timeout_s = self.parameters.timeout_s
            write = partial(write_until_replicated, action, self.database.adapter, timeout_s)
            times, (_, *processors) = time_action(write, _make_processor_meters())
            add = partial(self.add, operation, count=count, started_at=started_at)
            times.add_to(add)
            add(readings=processors, timed_out=not times.caught_up)
            if not times.caught_up:
                self.database.resume(timeout_s)
        self.database.check(expected, operation)


def _make_processor_meters() -> list[Meter]:
    return [meter for meter in make_machine_meters() if meter.metric in PROCESSOR_METRICS]


def _update_each(adapter: Adapter, changes: Mapping[str, Record]) -> None:
    update = adapter.update
    for key, change in changes.items():
        update(key, change)


def _find_group_field(schema: Schema) -> str:
    """Return the field that select searches: the comments' article, or the records' key."""
    return schema.parent.field if schema.parent else schema.key
