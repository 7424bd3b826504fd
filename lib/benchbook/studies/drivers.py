"""Study `drivers`: create, read, update and delete through MongoDB's native driver and through an object mapper.

The paper compared MongoClient with Mongoose in one Node.js process; the Python language compares pymongo with
mongoengine, whose documents have a schema and validate. What the paper took for an "operation" it does not say, but
only bulk calls fit the bounds in its text (updates of up to 200,000 records below 5 s): ``calls="bulk"`` is its way,
``"single"`` (one call a record) the variant. Every operation reaches all records.

``batch`` is how many records one call inserts. MongoDB takes at most 100,000 in one piece, and splits larger calls,
which the paper offers as the cause of a fall beyond so many; a caller's own batches leave nothing to split.

A mapper's schema, which the paper calls its "verification of data, such as nullity or type", is a level of its own: the
fields' types alone, that each must be there too (``document_schema: required``, which is the paper's words), or also a
validator of each (``validated``).

``process: together`` takes a pair's two by turns, in one process and over one client with its connections, so that what
the machine does meanwhile happens to both; ``process: apart`` gives a driver a process of its own. Memory is that of
``process: operation``: a new process for each operation, for what one operation frees the next would use again.
"""

import gc
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self

from pydantic import model_validator
from typing_extensions import override

from benchbook import databases, formats, workers
from benchbook.databases import Adapter
from benchbook.datasets import Dataset, players
from benchbook.deployment import Deployment, Topology
from benchbook.measure import Reading, client_meters, timed
from benchbook.schemas import Record
from benchbook.studies.cell import CellParameters, Count, Output, Repetitions, Rows, in_turn, passes, state_parameters
from benchbook.studies.cell_store import (
    Check,
    OnNode,
    Store,
    Updated,
    each,
    opened_together,
    run_mongodb_in_language,
    same_change,
)

if TYPE_CHECKING:
    import pandas as pd

VERSION = 1

Operations = dict[str, Callable[[], Any]]

DATABASES: Final = {
    "pymongo": "mongodb",
    "mongoengine": "mongodb+mongoengine",
}
"""The database's adapter that each driver is reached through."""

NODE: Final = ("mongoclient", "mongoose")
"""The paper's own pair, on language ``node``."""

SCHEMAS: Final = ("mongoengine", "mongoose")
"""The mappers whose schema's strictness is a level."""

OPERATIONS: Final = ("insert", "find", "update", "delete")
METRICS: Final = ("wall_time", "cpu_user", "cpu_system")
MEMORY: Final = ("memory_change",)
EVERY: Final = {
    (operation, "client", metric) for operation in OPERATIONS for metric in (*METRICS, *MEMORY, "heap_change")
}
"""The operation, role and metric of every value that some cell delivers."""


class Parameters(CellParameters):
    """One cell: a driver or a pair, and how it shares a process; a record set, its size, and how it is handed over."""

    language_levels: ClassVar = {"node": {"driver": "mongoclient+mongoose"}}

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
    repetitions: Repetitions = 10

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if any((driver in NODE) != (self.language == "node") for driver in self.drivers()):
            raise ValueError(f"driver: {self.driver} is not one of language: {self.language}")
        if (self.process == "apart") != (len(self.drivers()) == 1):
            raise ValueError("process: apart takes one driver; all others a pair, as driver: pymongo+mongoengine")
        if self.process == "operation" and self.calls != "bulk":
            raise ValueError("process: operation takes calls: bulk")
        if self.batch != "all" and self.calls != "bulk":
            raise ValueError("batch is for calls: bulk")
        if self.document_schema != "required" and not {*self.drivers()} & {*SCHEMAS}:
            raise ValueError(f"document_schema: {self.document_schema} is for {' and '.join(SCHEMAS)}")
        if self.dataset_file and self.attributes != 89:
            raise ValueError("attributes: 6 is not for own records (dataset_file)")
        return self

    def drivers(self) -> list[str]:
        """Return the drivers that take turns, the native one first."""
        return self.driver.split("+")

    @override
    def arms(self) -> list[dict[str, str]]:
        return [{"driver": driver} for driver in self.drivers()]


def deployment(parameters: Parameters) -> tuple[str, Topology]:
    """Return the product and topology that the cell needs."""
    return "mongodb", "single"


def dataset(parameters: Parameters) -> str:
    """Return the name of the cell's records."""
    return parameters.named(f"wide-{parameters.attributes}")


def modules(parameters: Parameters) -> tuple[str, ...]:
    """Return what the cell imports by name."""
    if parameters.language != "python":
        return *databases.modules("mongodb"), formats.module("orjson")
    return tuple(
        dict.fromkeys(name for driver in parameters.drivers() for name in databases.modules(DATABASES[driver]))
    )


def checks(parameters: Parameters) -> list[Check]:
    """Return what own records are held against: each driver's database keeps them, and a text of theirs is changed."""
    node = [OnNode(mapped=driver == "mongoose") for driver in parameters.drivers() if driver in NODE]
    return [Updated(), *node, *(databases.Stored(DATABASES.get(driver, "mongodb")) for driver in parameters.drivers())]


def expected(parameters: Parameters) -> set[Output]:
    """Return the operation, role and metric of every value that each repetition must deliver, of each arm."""
    alone = (*MEMORY, "heap_change") if parameters.language == "node" else MEMORY
    metrics = alone if parameters.process == "operation" else METRICS
    return {(operation, "client", metric) for operation in OPERATIONS for metric in metrics}


@state_parameters
def run(parameters: Parameters) -> "pd.DataFrame":
    """Time the four operations in each repetition, each of which starts from an emptied collection.

    Raises `WrongContentsError` when what is found, or what the collection holds after an operation, is not what it
    should be. What insert stored is checked by the find that follows it: reading everything in between would warm the
    client for find.
    """
    data = _data(parameters)
    if parameters.language != "python":
        # The harness calls its collection so.
        named = replace(data, schema=replace(data.schema, name="wide"))
        fields = [field.shape for field in data.schema.fields]
        return run_mongodb_in_language(parameters, "drivers", "single", named, fields)[0].frame()
    rows, drivers = Rows(), parameters.drivers()
    databases = [DATABASES[driver] for driver in drivers]
    options = {"durability": parameters.durability, "document_schema": parameters.document_schema}
    with opened_together(databases, "single", **options) as opened:
        stores = dict(zip(drivers, opened, strict=True))
        turn = _alone if parameters.process == "operation" else _turn
        for arm in parameters.turns() if len(parameters.identical_arms()) > 1 else ():
            turn(parameters, stores[arm["driver"]], data, lambda *_, **__: None)
        first = secrets.randbelow(2)
        for repetition in passes(parameters.repetitions):
            for arm in in_turn(parameters.turns(), first + repetition):
                store = stores[arm["driver"]]
                columns = {**store.columns(data), "topology": "single", **arm}
                turn(parameters, store, data, partial(rows.add, repetition, **columns))
    return rows.frame()


def _data(parameters: Parameters) -> Dataset:
    return parameters.own_records() or players.wide(parameters.n, parameters.seed, attributes=parameters.attributes)


def _turn(parameters: Parameters, store: Store, data: Dataset, add: Callable[..., None]) -> None:
    wanted, change = data.by_key(), same_change(data.schema)
    calls = partial(_bulk, batch=parameters.batch) if parameters.calls == "bulk" else _single
    meters = client_meters(METRICS)
    store.empty(data.schema)
    for operation, action in calls(store.adapter, data.records, change).items():
        # What checking left behind is not the next operation's to clear.
        gc.collect()
        started_at = datetime.now(UTC)
        result, readings = timed(action, meters)
        add(operation, readings, len(wanted), started_at=started_at)
        if operation == "find":
            store.compare(result, wanted, operation)
        elif operation == "update":
            store.check(wanted, operation, change)
        elif operation == "delete":
            store.check({}, operation)
        del result


def _alone(parameters: Parameters, store: Store, data: Dataset, add: Callable[..., None]) -> None:
    """Measure the four operations, each in a process of its own, and check what they left."""
    wanted = data.by_key()
    left: dict[str, tuple[Mapping[str, Record], Record]]
    left = {"insert": (wanted, {}), "update": (wanted, same_change(data.schema)), "delete": ({}, {})}
    work = _Process(parameters, store.adapter.name, store.deployment)
    with ExitStack() as open_:
        pools = [open_.enter_context(workers.start_pool(1)) for _ in OPERATIONS]
        # By then each has imported what it needs: it was sent the work.
        wait([pool.submit(bool, work) for pool in pools])
        store.empty(data.schema)
        for operation, pool in zip(OPERATIONS, pools, strict=True):
            started_at, readings = pool.submit(work, operation).result()
            add(operation, readings, len(wanted), started_at=started_at)
            if operation in left:
                held, change = left[operation]
                store.check(held, operation, change)


@dataclass(frozen=True)
class _Process:
    """What a process does that does one operation: it holds no records but those that it inserts, or found."""

    parameters: Parameters
    database: str
    deployment: Deployment

    def __call__(self, operation: str) -> tuple[datetime, list[Reading]]:
        """Return when the operation began, and by how much the process grew."""
        data = _data(self.parameters if operation == "insert" else self.parameters.model_copy(update={"n": 1}))
        opened: Any = databases.open(
            self.database,
            self.deployment,
            durability=self.parameters.durability,
            document_schema=self.parameters.document_schema,
        )
        with opened as adapter:
            adapter.attach(data.schema)
            action = _bulk(adapter, data.records, same_change(data.schema), self.parameters.batch)[operation]
            gc.collect()
            started_at = datetime.now(UTC)
            result, readings = timed(action, client_meters(MEMORY))
            if operation == "find":
                Store(adapter, self.deployment).compare(result, _data(self.parameters).by_key(), operation)
        # The first is the time, of a process that is new to all that it does.
        return started_at, readings[1:]


def _bulk(adapter: Adapter, records: Sequence[Record], change: Record, batch: int | str) -> Operations:
    def insert() -> object:
        return adapter.insert_many(records)

    if not isinstance(batch, str):
        batches = [records[start : start + batch] for start in range(0, len(records), batch)]
        insert = partial(each, adapter.insert_many, batches)
    return {
        "insert": insert,
        "find": adapter.read_all,
        "update": lambda: adapter.update_all(change),
        "delete": adapter.delete_all,
    }


def _single(adapter: Adapter, records: Sequence[Record], change: Record) -> Operations:
    keys = [record["_id"] for record in records]
    update, find = adapter.update, adapter.find
    return {
        "insert": lambda: each(adapter.insert, records),
        "find": lambda: [record for key in keys for record in find("_id", key)],
        "update": lambda: each(lambda key: update(key, change), keys),
        "delete": lambda: each(adapter.delete, keys),
    }
