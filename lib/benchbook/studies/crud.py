"""Study `crud`: insert, update, select and delete on document and relational stores, alone and replicated.

As the paper did: 1 KB comments, one call a comment, in the order insert, update, select, delete. Before the update the
comments' ids are read, untimed; it gives each comment's ``content`` new data. Select reads all comments of an article
and drains them, once for every article, so that all n comments come back: its count is comments. The paper speaks of
"a given article" and its times grow with n, which fits one article holding all comments (``comments_per_article:
all``). In the replicated topology select is left out, and each row of writes is followed by one wait until the replica
holds what the primary holds: the client's time, the replica's catching up, and both as one interval are stored apart.

What the paper's delete was it does not say but that it "deletes all the data": its times, 35 to 115 µs a comment on
PostgreSQL, fit a call a comment (``delete: each``) and not the one statement of ``delete: all``.

A single server of MySQL from 8.0 on flushes a binary log at each commit by default; the paper's 5.5 did not, nor does
MariaDB. So a log is written where a replica reads it (``binary_log: needed``), or by MySQL as it comes (``always``).

MySQL's and MariaDB's tables index the comments' article by themselves, for it is a foreign key: there
``article_index: false`` means nothing unless constraints are off.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, Self

from pydantic import model_validator

from benchbook import databases, formats, rooms
from benchbook.databases import Engine
from benchbook.datasets import Dataset, blog
from benchbook.deployment import Topology
from benchbook.measure import timed
from benchbook.registry import lacks
from benchbook.schemas import Record, Schema
from benchbook.servers import product_of
from benchbook.studies.cell import (
    CellParameters,
    Count,
    Output,
    Repetitions,
    RoomName,
    Rows,
    Seconds,
    passes,
    state_parameters,
)
from benchbook.studies.cell_store import (
    Check,
    OnNode,
    ReplicaLostError,
    Store,
    Updated,
    each,
    on_mongodb_lane,
    opened,
    same_change,
    text_field,
    until_replicated,
)

if TYPE_CHECKING:
    import pandas as pd

VERSION = 1

WRITES: Final = ("insert", "update", "delete")
ALONE: Final = {("client", "wall_time")}
REPLICATED: Final = {("client", "wall_time"), ("replica", "catch_up_time"), ("client", "elapsed_time")}


class Parameters(CellParameters):
    """One cell: an engine and its model, a topology, a number of comments, and how they are kept and handed over.

    Lane ``node`` is the paper's JavaScript: MongoDB through its own driver, the same operations and checks.
    """

    lane: Literal["python", "node"] = "python"
    engine: databases.Name = "mongodb"
    topology: Literal["single", "replicated"] = "single"
    n: Count = 1000
    comments_per_article: Literal[10, 100, "all"] = "all"
    calls: Literal["single", "bulk"] = "single"
    delete: Literal["all", "each"] = "all"
    constraints: Literal["on", "off"] = "on"
    arrays: databases.Arrays = "json"
    article_index: bool = False
    durability: Literal["default", "relaxed", "strict"] = "default"
    binary_log: Literal["needed", "always"] = "needed"
    room: RoomName = rooms.NONE
    timeout_s: Seconds = 600.0
    repetitions: Repetitions = 50

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.constraints == "off" and not self.engine.endswith("+relational"):
            raise ValueError(f"constraints: off is for relational engines; {self.engine} has no constraints to drop")
        if self.arrays == "table" and not (self.engine.endswith("+relational") and self.dataset_file):
            raise ValueError("arrays: table is for relational engines and own records (dataset_file): others have none")
        if self.durability != "default" and lacks(self.engine, "durability"):
            raise ValueError(f"engine: {self.engine} has no durability to choose; it takes durability: default")
        logs = (product_of(self.engine), self.topology) == ("mysql", "single")
        if self.binary_log == "always" and not logs:
            why = "others write one for a replica alone"
            raise ValueError(f"binary_log: always is for a single MySQL from 8.0 on: {why}")
        if self.engine == "noop" and (self.topology != "single" or self.durability != "default" or self.article_index):
            raise ValueError(
                "engine: noop stores nothing; it takes topology: single and no durability or article_index"
            )
        if self.lane == "node" and self.engine != "mongodb":
            raise ValueError(f"lane: node takes engine: mongodb, not {self.engine}")
        if self.dataset_file and self.comments_per_article != "all":
            raise ValueError(f"comments_per_article: {self.comments_per_article} is not for own records (dataset_file)")
        if self.dataset_file and self.article_index:
            raise ValueError("article_index: true is not for own records (dataset_file), which have no article")
        return self


def deployment(parameters: Parameters) -> tuple[str, Topology]:
    """Return the product and topology that the cell needs."""
    product = product_of(parameters.engine)
    return product, "none" if product == "none" else parameters.topology


def dataset(parameters: Parameters) -> str:
    """Return the name of the cell's records."""
    return parameters.named(f"comments-{parameters.comments_per_article}")


def modules(parameters: Parameters) -> tuple[str, ...]:
    """Return what the cell imports by name."""
    handing_over = (formats.module("orjson"),) if parameters.lane == "node" else ()
    return *databases.modules(parameters.engine, parameters.arrays), *handing_over


def checks(parameters: Parameters) -> list[Check]:
    """Return what own records are held against: the engine keeps them, and a text of theirs is changed."""
    node = [OnNode()] if parameters.lane == "node" else []
    stored = databases.Stored(parameters.engine, parameters.topology, parameters.arrays)
    return [Updated(), *node, *([] if parameters.engine == "noop" else [stored])]


def expected(parameters: Parameters) -> set[Output]:
    """Return the operation, role and metric of every value that each repetition must deliver."""
    if parameters.topology == "replicated":
        return {(operation, *rest) for operation in WRITES for rest in REPLICATED}
    return {(operation, *rest) for operation in (*WRITES, "select") for rest in ALONE}


@state_parameters
def run(parameters: Parameters) -> "pd.DataFrame":
    """Time the batch of operations as often as asked, each from an emptied store.

    A wait for the replica that runs out is recorded as censored, at the time waited. Then, as in the paper, the batch
    goes on when both nodes do: the replica has as long again, untimed. If that runs out too, nothing more can be
    measured and the cell ends, finished: the values it still owed are rows without a number, marked censored, that say
    so. So is select where the engine cannot search.

    Raises `WrongContentsError` when a node holds something else than it should after an operation, or select returned
    something else.
    """
    data = parameters.own_records() or blog.comments(
        parameters.n, parameters.seed, per_article=parameters.comments_per_article
    )
    if parameters.lane == "node":
        return _on_node(parameters, data)
    rows = Rows()
    with opened(
        parameters.engine,
        parameters.topology,
        parameters.room,
        durability=parameters.durability,
        binary_log=parameters.binary_log == "always",
        constraints=parameters.constraints == "on",
        arrays=parameters.arrays,
        index=(_group(data.schema),) if parameters.article_index else (),
    ) as store:
        columns = {**store.columns(data), "topology": parameters.topology}
        for repetition in passes(parameters.repetitions):
            try:
                _Batch(parameters, store, data, partial(rows.add, repetition, **columns)).run()
                if why := store.engine.gaps.get("find"):
                    rows.add_unmeasured(expected(parameters), [repetition], why, columns)
            except ReplicaLostError as lost:
                left = range(repetition, parameters.repetitions)
                rows.add_unmeasured(expected(parameters), left, str(lost), columns)
                break
    return rows.frame()


def _on_node(parameters: Parameters, data: Dataset) -> "pd.DataFrame":
    """Run the cell on the paper's stack."""
    head = {
        **_described(data.schema),
        **{"group": _group(data.schema), "text": text_field(data.schema)},
        "parents": [{**_described(parent.schema), "records": parent.records} for parent in data.parents],
    }
    rows, closing, columns = on_mongodb_lane(parameters, "crud", parameters.topology, data, head)
    if closing.lost:
        owed = range(parameters.repetitions)
        rows.add_unmeasured(expected(parameters), owed, closing.lost, columns)
    return rows.frame()


def _described(schema: Schema) -> dict[str, object]:
    return {"collection": schema.name, "fields": [field.shape for field in schema.fields]}


@dataclass(frozen=True)
class _Batch:
    """One repetition."""

    parameters: Parameters
    store: Store
    data: Dataset
    add: Callable[..., None]

    def run(self) -> None:
        engine, data, bulk = self.store.engine, self.data, self.parameters.calls == "bulk"
        self.store.empty(data.schema, data.parents)
        wanted = data.by_key()
        insert = partial(engine.insert_many, data.records) if bulk else partial(each, engine.insert, data.records)
        self._write("insert", insert, wanted)
        update: Callable[[], object]
        if bulk:
            changes = dict.fromkeys(wanted, same_change(data.schema))
            update = partial(engine.update_all, same_change(data.schema))
        else:
            # In the order in which the store gives the ids.
            ids, field = engine.ids() if self.store.roles else wanted, text_field(data.schema)
            changes = {key: {field: f"*{wanted[key].get(field, '')[::-1]}"} for key in ids}
            update = partial(_update_each, engine, changes)
        changed = {key: {**wanted[key], **change} for key, change in changes.items()}
        self._write("update", update, changed)
        if self.parameters.topology == "single" and "find" not in engine.gaps:
            group, find = _group(data.schema), engine.find
            groups = list(dict.fromkeys(record[group] for record in data.records))
            started_at = datetime.now(UTC)
            selected, readings = timed(lambda: [record for value in groups for record in find(group, value)])
            self.add("select", readings, len(selected), started_at=started_at)
            if self.store.roles:
                self.store.compare(selected, changed, "select")
        delete = engine.delete_all if self.parameters.delete == "all" else partial(each, engine.delete, changes)
        self._write("delete", delete, {})

    def _write(self, operation: str, action: Callable[[], object], wanted: Mapping[str, Record]) -> None:
        count, started_at = len(self.data.records), datetime.now(UTC)
        if self.parameters.topology == "single":
            self.add(operation, timed(action)[1], count, started_at=started_at)
        else:
            write = until_replicated(action, self.store.engine, self.parameters.timeout_s)
            write.add_to(partial(self.add, operation, count=count, started_at=started_at))
            if not write.caught_up:
                self.store.resume(self.parameters.timeout_s)
        self.store.check(wanted, operation)


def _update_each(engine: Engine, changes: Mapping[str, Record]) -> None:
    update = engine.update
    for key, change in changes.items():
        update(key, change)


def _group(schema: Schema) -> str:
    """Return the field that select asks for: the comments' article, or own records' key."""
    return schema.parent.field if schema.parent else schema.key
