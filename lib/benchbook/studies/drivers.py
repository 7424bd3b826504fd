"""Study `drivers`: create, read, update and delete through MongoDB's driver and an object mapper.

The paper compared MongoClient with Mongoose in one Node.js process. In Python the pair is pymongo
and mongoengine, whose documents have a schema and validate. The paper does not say what an
"operation" is. Only bulk calls fit the limits in its text (updates of up to 200,000 records below 5
s). So ``calls: bulk`` is the paper's, and ``single`` (one call per record) is a variant. Every
operation is on all records.

``batch`` is the number of records of one insert call. MongoDB takes at most 100,000 at once and
splits larger calls; the paper gives that as the reason of a fall beyond that number. A caller's own
batches leave nothing to split.

The paper calls a mapper's schema its "verification of data, such as nullity or type". It is a
parameter: ``document_schema: types`` checks the fields' types, ``required`` (the paper's words)
also that each field is there, ``validated`` also a validator per field.

With ``process: together`` both drivers of a pair alternate, in one process and on one client with
its connections. So other activity of the machine affects both. With ``process: apart`` a driver has
a process of its own. Memory is measured with ``process: operation``: a new process for each
operation, because the next operation would reuse the memory that one frees.

In Node.js the driver that goes first in a process also pays for warming it up: a find then takes
1.28 times as long. So a cell of a pair has two processes, which share its repetitions. The native
driver begins the first and the mapper the second. In Python going first costs nothing that could be
found, and chance decides who begins. The order is reversed in every other repetition.

With ``calls: bulk`` an update or a delete is a single short call, so it is repeated. A repetition
inserts and finds once, updates `UPDATES` times in one timed section, and deletes `DELETES` times.
The native driver refills the collection before each further delete, untimed. A value of either is
the mean of one call.

``heap`` is the largest heap of Node.js; by default the paper's 3 GB.
"""

import gc
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import override

from benchbook import codecs
from benchbook.databases import catalogue
from benchbook.databases.adapter import Adapter
from benchbook.datasets import players
from benchbook.datasets.dataset import Dataset
from benchbook.measure import Reading, make_client_meters, time_action
from benchbook.schema import Record
from benchbook.servers import processes
from benchbook.servers.deployment import Deployment
from benchbook.studies.cell import (
    CellParameters,
    Count,
    Output,
    Repetitions,
    Rows,
    iterate_repetitions,
    order_turns,
    state_parameters,
)
from benchbook.studies.cell_database import (
    CellDatabase,
    call_each,
    open_databases,
    run_mongodb_in_language,
)
from benchbook.studies.language_cell import plan_processes
from benchbook.studies.study import Study
from benchbook.studies.update import UpdateCheck, find_updated_field, make_change

if TYPE_CHECKING:
    import pandas as pd

VERSION = 2

Operations = dict[str, Callable[[], Any]]

DRIVER_DATABASES: Final = {
    "pymongo": "mongodb",
    "mongoengine": "mongodb+mongoengine",
}
"""The adapter of each driver in Python."""

NODE_DRIVERS: Final = ("mongoclient", "mongoose")
"""The paper's own pair, in language ``node``."""

MAPPERS: Final = ("mongoengine", "mongoose")
"""The mappers whose schema's strictness is a level."""

OPERATIONS: Final = ("insert", "find", "update", "delete")
UPDATES: Final = 5
"""Bulk updates of a repetition, so that two repetitions have ten calls, as many as the paper.

A call takes some milliseconds of the client's CPU time, but a second of the server for 100,000
records. Twenty calls would make a repetition with small records three times as long.
"""

DELETES: Final = 3
"""Bulk deletes of a repetition: each further one costs a refill, too."""

METRICS: Final = ("wall_time", "cpu_user", "cpu_system")
MEMORY: Final = ("memory_change",)


class Parameters(CellParameters):
    """One cell: a driver or a pair, how it shares a process, the records, and the calls."""

    language_levels: ClassVar = {"node": {"driver": "mongoclient+mongoose"}}
    data_parameters: ClassVar = frozenset({"attributes"})
    added: ClassVar = {"heap": "default"}

    language: Literal["python", "node"] = "python"
    process: Literal["together", "apart", "operation"] = "together"
    driver: Literal[
        "pymongo+mongoengine",
        "mongoclient+mongoose",
        "pymongo",
        "mongoengine",
        "mongoclient",
        "mongoose",
    ] = "pymongo+mongoengine"
    attributes: Literal[89, 6] = 89
    n: Count = 1000
    calls: Literal["bulk", "single"] = "bulk"
    batch: Literal["all", 50000, 10000] = "all"
    document_schema: Literal["types", "required", "validated"] = "required"
    durability: Literal["default", "relaxed", "strict"] = "default"
    heap: str = Field("default", pattern=r"^(default|[1-9]\d{1,5}m)$")
    repetitions: Repetitions = 10

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if any((driver in NODE_DRIVERS) != (self.language == "node") for driver in self.drivers()):
            raise ValueError(f"driver: {self.driver} is not one of language: {self.language}")
        if (self.process == "apart") != (len(self.drivers()) == 1):
            raise ValueError(
                "process: apart takes one driver; all others a pair, as driver: pymongo+mongoengine"
            )
        if self.process == "operation" and self.calls != "bulk":
            raise ValueError("process: operation takes calls: bulk")
        if self.batch != "all" and self.calls != "bulk":
            raise ValueError("batch is for calls: bulk")
        if self.document_schema != "required" and not {*self.drivers()} & {*MAPPERS}:
            raise ValueError(
                f"document_schema: {self.document_schema} is for {' and '.join(MAPPERS)}"
            )
        if self.heap != "default" and self.language != "node":
            raise ValueError(f"heap: {self.heap} is for language: node")
        if self.dataset_file and self.attributes != 89:
            raise ValueError(
                "attributes: 6 is not for your records (dataset_file): leave attributes out"
            )
        return self

    def drivers(self) -> list[str]:
        """Return the drivers that alternate, the native one first."""
        return self.driver.split("+")

    @override
    def variants(self) -> list[dict[str, str]]:
        return [{"driver": driver} for driver in self.drivers()]


def modules(parameters: Parameters) -> tuple[str, ...]:
    """Return the modules that the cell imports by name."""
    if parameters.language != "python":
        return *catalogue.list_modules("mongodb"), codecs.find_module("orjson")
    modules: list[str] = []
    for driver in parameters.drivers():
        modules += catalogue.list_modules(DRIVER_DATABASES[driver])
    return tuple(dict.fromkeys(modules))


def expected(parameters: Parameters) -> set[Output]:
    """Return the operation, role and metric of each value of a repetition, for each driver."""
    if parameters.process != "operation":
        metrics: tuple[str, ...] = METRICS
    elif parameters.language == "node":
        metrics = (*MEMORY, "heap_change")
    else:
        metrics = MEMORY
    return {(operation, "client", metric) for operation, metric in product(OPERATIONS, metrics)}


@state_parameters
def run(parameters: Parameters) -> "pd.DataFrame":
    """Time the four operations in each repetition, which starts from an empty collection.

    The find that follows insert checks what insert stored: reading everything before it would warm
    up the client for find.

    Raises `WrongContentsError` when find returns other records than it should, or the collection
    has others after an operation, and `UnfitError` when a driver refuses a user's records.
    """
    data = _generate_data(parameters)
    if parameters.language != "python":
        # The harness expects this name of the collection.
        wide = replace(data, schema=replace(data.schema, name="wide"))
        head = {
            "fields": [field.as_json for field in data.schema.fields],
            "changes": _make_changes(parameters, data),
            "deletes": _count_deletes(parameters),
        }
        # In an A/A check the same driver begins both processes, with one arm each.
        second = len(parameters.turns()) // 2
        harness_processes = plan_processes(parameters, second, parameters.heap)
        return run_mongodb_in_language(
            parameters, "drivers", "single", wide, head, harness_processes
        )[0].frame()
    rows, drivers = Rows(), parameters.drivers()
    names = [DRIVER_DATABASES[driver] for driver in drivers]
    options = {"durability": parameters.durability, "document_schema": parameters.document_schema}
    with open_databases(names, "single", **options) as opened:
        databases = dict(zip(drivers, opened, strict=True))
        measure = _measure_processes if parameters.process == "operation" else _measure_turn
        if parameters.dataset_file:
            for database in opened:
                _try_records(parameters, database, data)
        # What a first use costs must not be in only one arm of an A/A check.
        if len(parameters.aa_arms()) > 1:
            for turn in parameters.turns():
                measure(parameters, databases[turn["driver"]], data, lambda *_, **__: None)
        first = secrets.randbelow(2)
        for repetition in iterate_repetitions(parameters.repetitions):
            for turn in order_turns(parameters.turns(), first + repetition):
                database = databases[turn["driver"]]
                columns = {**database.columns(data), "topology": "single", **turn}
                measure(parameters, database, data, partial(rows.add, repetition, **columns))
    return rows.frame()


STUDY: Final = Study(
    "drivers",
    Parameters,
    run=run,
    expected=expected,
    dataset=lambda parameters: parameters.name_dataset(f"wide-{parameters.attributes}"),
    deployment=lambda _: ("mongodb", "single"),
    modules=modules,
    checks=lambda parameters: [UpdateCheck(parameters.language)],
    outputs={
        (operation, "client", metric)
        for operation, metric in product(OPERATIONS, (*METRICS, *MEMORY, "heap_change"))
    },
)


def _generate_data(parameters: Parameters) -> Dataset:
    return parameters.own_records() or players.generate_players(
        parameters.n, parameters.seed, attributes=parameters.attributes
    )


def _make_changes(parameters: Parameters, data: Dataset) -> list[Record]:
    """Return the changed fields of each update of a repetition: each writes another value."""
    change = make_change(data.schema, data.records)
    if parameters.calls == "single" or parameters.process == "operation":
        return [change]
    field = find_updated_field(data.schema)
    first = field.read(change)
    changes: list[Record] = []
    for number in range(1, UPDATES + 1):
        value = f"{first} {number:02}" if isinstance(first, str) else first + number
        changes.append(field.write(change, value))
    return changes


def _count_deletes(parameters: Parameters) -> int:
    return DELETES if parameters.calls == "bulk" else 1


def _try_records(parameters: Parameters, database: CellDatabase, data: Dataset) -> None:
    """Write a user's records once, untimed; raises `UnfitError` when they are refused."""
    change = make_change(data.schema, data.records)
    calls = _make_calls(parameters, database.adapter, data.records, [change])
    database.try_records(
        data, calls["insert"], lambda records: (dict.fromkeys(records, change), calls["update"])
    )


def _measure_turn(
    parameters: Parameters, database: CellDatabase, data: Dataset, add: Callable[..., None]
) -> None:
    """Time the four operations in this process, and check their results."""
    records, changes = data.index_by_key(), _make_changes(parameters, data)
    calls = _make_calls(parameters, database.adapter, data.records, changes)
    count = len(records)
    database.empty(data.schema)

    inserted = TimedCall.time(calls["insert"])
    add("insert", inserted.readings, count, started_at=inserted.started_at)

    found = TimedCall.time(calls["find"])
    add("find", found.readings, count, started_at=found.started_at)
    database.compare(found.result, records, "find")
    # Otherwise the records would be freed while another operation is timed.
    del found

    # All updates are one section, whose values are long enough to be exact.
    updated = TimedCall.time(calls["update"])
    readings = _average_calls([updated.readings], len(changes))
    add("update", readings, count, started_at=updated.started_at)
    database.check(records, "update", changes[-1])

    # The native driver refills the collection before each delete but the first.
    deleted: list[TimedCall] = []
    owner = database.adapter
    refill: Any = catalogue.open_adapter("mongodb", database.deployment, session_owner=owner)
    with refill as native:
        native.select_collection(data.schema)
        for number in range(_count_deletes(parameters)):
            if number > 0:
                native.insert_many(data.records)
            deleted.append(TimedCall.time(calls["delete"]))
            database.check({}, "delete")
    readings = _average_calls([section.readings for section in deleted], len(deleted))
    add("delete", readings, count, started_at=deleted[0].started_at)


@dataclass(frozen=True)
class TimedCall:
    """One timed section: its start (UTC), the action's result and the readings."""

    started_at: datetime
    result: Any
    readings: list[Reading]

    @classmethod
    def time(cls, action: Callable[[], Any]) -> Self:
        """Time an action; the garbage of what came before it is collected first."""
        meters = make_client_meters(METRICS)
        gc.collect()
        started_at = datetime.now(UTC)
        result, readings = time_action(action, meters)
        return cls(started_at, result, readings)


def _average_calls(sections: Sequence[Sequence[Reading]], calls: int) -> list[Reading]:
    """Return the readings of the mean call, of timed sections with so many calls in all."""
    if calls == 1:
        return [*sections[0]]
    means: list[Reading] = []
    for readings in zip(*sections, strict=True):
        total = sum(reading.value for reading in readings)
        reading = readings[0]
        mean = replace(
            reading,
            value=total / calls,
            source=f"{reading.source}, mean of {calls} calls",
            resolution=reading.resolution / calls,
        )
        means.append(mean)
    return means


def _measure_processes(
    parameters: Parameters, database: CellDatabase, data: Dataset, add: Callable[..., None]
) -> None:
    """Measure each of the four operations in a process of its own, and check their results."""
    records, change = data.index_by_key(), make_change(data.schema, data.records)
    # The records after an operation, and their changed fields; find is checked in its process.
    contents: dict[str, tuple[Mapping[str, Record], Record]] = {
        "insert": (records, {}),
        "update": (records, change),
        "delete": ({}, {}),
    }
    work = _OperationProcess(parameters, database.adapter.name, database.deployment, change)
    with ExitStack() as stack:
        pools = [stack.enter_context(processes.start_worker_pool(1)) for _ in OPERATIONS]
        # To receive the work, each process imports what it needs.
        wait([pool.submit(bool, work) for pool in pools])
        database.empty(data.schema)
        for operation, pool in zip(OPERATIONS, pools, strict=True):
            started_at, readings = pool.submit(work, operation).result()
            add(operation, readings, len(records), started_at=started_at)
            if operation in contents:
                expected, change = contents[operation]
                database.check(expected, operation, change)


@dataclass(frozen=True)
class _OperationProcess:
    """The work of a process that does one operation; it has no records but those that it needs."""

    parameters: Parameters
    database: str
    deployment: Deployment
    change: Record

    def __call__(self, operation: str) -> tuple[datetime, list[Reading]]:
        """Return when the operation began (UTC), and by how much the process' memory grew."""
        n = self.parameters.n if operation == "insert" else 1
        data = _generate_data(self.parameters.model_copy(update={"n": n}))
        opened: Any = catalogue.open_adapter(
            self.database,
            self.deployment,
            durability=self.parameters.durability,
            document_schema=self.parameters.document_schema,
        )
        with opened as adapter:
            adapter.select_collection(data.schema)
            batch = self.parameters.batch
            calls = _make_bulk_calls(adapter, data.records, [self.change], batch)
            action = calls[operation]
            gc.collect()
            started_at = datetime.now(UTC)
            result, readings = time_action(action, make_client_meters(MEMORY))
            if operation == "find":
                expected = _generate_data(self.parameters).index_by_key()
                CellDatabase(adapter, self.deployment).compare(result, expected, operation)
        # Without the time, which includes what the new process does first.
        return started_at, readings[1:]


def _make_calls(
    parameters: Parameters,
    adapter: Adapter,
    records: Sequence[Record],
    changes: Sequence[Record],
) -> Operations:
    """Return the calls of each operation; those of update make all `changes`, in their order."""
    if parameters.calls == "bulk":
        return _make_bulk_calls(adapter, records, changes, parameters.batch)
    (change,) = changes
    return _make_single_calls(adapter, records, change)


def _make_bulk_calls(
    adapter: Adapter, records: Sequence[Record], changes: Sequence[Record], batch: int | str
) -> Operations:
    def insert() -> object:
        return adapter.insert_many(records)

    if not isinstance(batch, str):
        batches = [records[start : start + batch] for start in range(0, len(records), batch)]
        insert = partial(call_each, adapter.insert_many, batches)
    return {
        "insert": insert,
        "find": adapter.read_all,
        "update": lambda: call_each(adapter.update_all, changes),
        "delete": adapter.delete_all,
    }


def _make_single_calls(adapter: Adapter, records: Sequence[Record], change: Record) -> Operations:
    keys = [record["_id"] for record in records]
    update, find = adapter.update, adapter.find

    def find_all() -> list[Record]:
        found: list[Record] = []
        for key in keys:
            found += find("_id", key)
        return found

    return {
        "insert": lambda: call_each(adapter.insert, records),
        "find": find_all,
        "update": lambda: call_each(lambda key: update(key, change), keys),
        "delete": lambda: call_each(adapter.delete, keys),
    }
