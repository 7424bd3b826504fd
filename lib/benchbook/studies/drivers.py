"""Study `drivers`: create, read, update and delete through MongoDB's native driver and through an object mapper.

The paper compared MongoClient with Mongoose in one Node.js process; the Python lane compares pymongo with mongoengine,
whose documents have a schema and validate, and their asynchronous sisters, pymongo's AsyncMongoClient with beanie. What
the paper took for an "operation" it does not say, but only bulk calls fit the bounds in its text (updates of up to
200,000 records below 5 s): ``calls="bulk"`` is its way, ``"single"`` (one call a record) the variant. Every operation
reaches all records.
"""

import gc
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Literal, Self

import pandas as pd
from pydantic import model_validator

from benchbook import databases, formats
from benchbook.databases import Engine
from benchbook.datasets import Dataset, players
from benchbook.deployment import Topology
from benchbook.measure import client_meters, timed
from benchbook.schemas import Record
from benchbook.studies.cell import CellParameters, Count, Repetitions, Rows
from benchbook.studies.store import Store, each, on_mongodb_lane, opened, text_field

Operations = dict[str, Callable[[], Any]]

ENGINES: Final = {
    "pymongo": "mongodb",
    "mongoengine": "mongodb+mongoengine",
    "pymongo_async": "mongodb+async",
    "beanie": "mongodb+beanie",
}
"""The engine's adapter that each driver is reached through."""

NODE: Final = ("mongoclient", "mongoose")
"""The paper's own pair, on lane ``node``."""

OPERATIONS: Final = ("insert", "find", "update", "delete")
METRICS: Final = ("wall_time", "cpu_user", "cpu_system", "memory_change")


class Parameters(CellParameters):
    """One cell: a driver, a record set, a number of records, and how they are handed over."""

    lane: Literal["python", "node"] = "python"
    driver: Literal["pymongo", "mongoengine", "pymongo_async", "beanie", "mongoclient", "mongoose"] = "pymongo"
    attributes: Literal[89, 6] = 89
    n: Count = 1000
    calls: Literal["bulk", "single"] = "bulk"
    durability: Literal["default", "relaxed", "strict"] = "default"
    repetitions: Repetitions = 10

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if (self.driver in NODE) != (self.lane == "node"):
            raise ValueError(f"driver: {self.driver} is not one of lane: {self.lane}")
        return self


def deployment(parameters: Parameters) -> tuple[str, Topology]:
    """Return the product and topology that the cell needs."""
    return "mongodb", "single"


def dataset(parameters: Parameters) -> str:
    """Return the name of the cell's records."""
    return parameters.named(f"wide-{parameters.attributes}")


def modules(parameters: Parameters) -> tuple[str, ...]:
    """Return what the cell imports by name."""
    if parameters.lane != "python":
        return *databases.modules("mongodb"), formats.module("orjson")
    return databases.modules(ENGINES[parameters.driver])


def expected(parameters: Parameters) -> set[tuple[str, str, str]]:
    """Return the operation, role and metric of every value that each repetition must deliver."""
    metrics = (*METRICS, "heap_change") if parameters.lane == "node" else METRICS
    return {(operation, "client", metric) for operation in OPERATIONS for metric in metrics}


def run(parameters: Parameters) -> pd.DataFrame:
    """Time the four operations in each repetition, each of which starts from an emptied collection.

    Raises `WrongContentsError` when what is found, or what the collection holds after an operation, is not what it
    should be. What insert stored is checked by the find that follows it: reading everything in between would warm the
    client for find.
    """
    data = parameters.own_records() or players.wide(parameters.n, parameters.seed, attributes=parameters.attributes)
    if parameters.lane != "python":
        named = replace(data, schema=replace(data.schema, name="wide"))  # what the harness calls it
        fields = [(field.name, field.type) for field in data.schema.fields]
        return on_mongodb_lane(parameters, "drivers", "single", named, fields)[0].frame()
    rows = Rows()
    with opened(ENGINES[parameters.driver], "single", durability=parameters.durability) as store:
        for repetition in range(parameters.repetitions):
            _repetition(
                parameters, store, data, partial(rows.add, repetition, topology="single", **store.columns(data))
            )
    return rows.frame()


def _repetition(parameters: Parameters, store: Store, data: Dataset, add: Callable[..., None]) -> None:
    wanted = data.by_key()
    field = text_field(data.schema)
    change = {field: f"new {field}"}
    calls = _bulk if parameters.calls == "bulk" else _single
    store.empty(data.schema)
    for operation, action in calls(store.engine, data.records, change).items():
        gc.collect()  # what checking left behind is not the next operation's to clear
        started_at = datetime.now(UTC)
        result, readings = timed(action, client_meters())
        add(operation, readings, len(wanted), started_at=started_at)
        if operation == "find":
            store.compare(result, wanted, operation)
        elif operation == "update":
            store.check(wanted, operation, change)
        elif operation == "delete":
            store.check({}, operation)
        del result


def _bulk(engine: Engine, records: Sequence[Record], change: dict[str, Any]) -> Operations:
    return {
        "insert": lambda: engine.insert_many(records),
        "find": engine.read_all,
        "update": lambda: engine.update_all(change),
        "delete": engine.delete_all,
    }


def _single(engine: Engine, records: Sequence[Record], change: dict[str, Any]) -> Operations:
    ids = [record["_id"] for record in records]
    update, find = engine.update, engine.find
    return {
        "insert": lambda: each(engine.insert, records),
        "find": lambda: [record for one in ids for record in find("_id", one)],
        "update": lambda: each(lambda one: update(one, change), ids),
        "delete": lambda: each(engine.delete, ids),
    }
