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

A pair such as ``database: mongodb/postgresql+relational`` takes turns in one process: a repetition of one, then one of
the other, each on servers of its own that run all the time. So the process is the same on both sides of a comparison;
which of them begins is drawn for each cell.
"""

import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from pydantic import model_validator
from typing_extensions import override

from benchbook import databases, formats, measure, networks, servers
from benchbook.databases import Adapter
from benchbook.datasets import Dataset, blog
from benchbook.deployment import Topology
from benchbook.measure import timed
from benchbook.registry import lacks
from benchbook.schemas import Record, Schema
from benchbook.servers import product_of
from benchbook.studies.cell import (
    CellParameters,
    Count,
    NetworkName,
    Output,
    Repetitions,
    Rows,
    Seconds,
    in_turn,
    passes,
    state_parameters,
)
from benchbook.studies.cell_store import (
    PATIENCE_S,
    Check,
    OnNode,
    ReplicaLostError,
    Store,
    Updated,
    each,
    opened,
    run_mongodb_in_language,
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


PAIRS: Final = ("mongodb/postgresql+relational", "mongodb/mysql+relational")
"""Databases that can take turns in one process."""

if TYPE_CHECKING:
    DatabaseOrPair = str
else:  # what pydantic checks, and names in its errors
    DatabaseOrPair = Literal[(*databases.NAMES, *PAIRS)]


class Parameters(CellParameters):
    """One cell: a database and its model, a topology, a number of comments, and how they are kept and handed over.

    Of a pair, such as ``mongodb/postgresql+relational``, both databases take turns, and each row states its own.
    Language ``node`` is the paper's JavaScript: MongoDB through its own driver, the same operations and checks.
    """

    language: Literal["python", "node"] = "python"
    database: DatabaseOrPair = "mongodb"
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
    network: NetworkName = networks.NONE
    timeout_s: Seconds = 600.0
    repetitions: Repetitions = 50

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        for database in self.databases():
            self._check_levels(database)
        if len(self.databases()) > 1 and self.network != networks.NONE:
            raise ValueError(
                f"database: {self.database} takes network: {networks.NONE}; in a network take one database"
            )
        if self.language == "node" and self.database != "mongodb":
            raise ValueError(f"language: node takes database: mongodb, not {self.database}")
        if self.dataset_file and self.comments_per_article != "all":
            raise ValueError(f"comments_per_article: {self.comments_per_article} is not for own records (dataset_file)")
        if self.dataset_file and self.article_index:
            raise ValueError("article_index: true is not for own records (dataset_file), which have no article")
        return self

    def _check_levels(self, database: str) -> None:
        """Raise ValueError where a level is not for a database."""
        if self.constraints == "off" and not database.endswith("+relational"):
            raise ValueError(f"constraints: off is for relational databases; {database} has no constraints to drop")
        if self.arrays == "table" and not (database.endswith("+relational") and self.dataset_file):
            raise ValueError(
                "arrays: table is for relational databases and own records (dataset_file): others have none"
            )
        if self.durability != "default" and lacks(database, "durability"):
            raise ValueError(f"database: {database} has no durability to choose; it takes durability: default")
        logs = (product_of(database), self.topology) == ("mysql", "single")
        if self.binary_log == "always" and not logs:
            why = "others write one for a replica alone"
            raise ValueError(f"binary_log: always is for a single MySQL from 8.0 on: {why}")
        if database == "noop" and (self.topology != "single" or self.durability != "default" or self.article_index):
            raise ValueError(
                "database: noop stores nothing; it takes topology: single and no durability or article_index"
            )

    def databases(self) -> list[str]:
        """Return the databases that take turns."""
        return self.database.split("/")

    @override
    def arms(self) -> list[dict[str, str]]:
        databases = self.databases()
        return [{"database": database} for database in databases] if len(databases) > 1 else super().arms()


def deployment(parameters: Parameters) -> tuple[str, Topology]:
    """Return the product and topology that the cell needs: of a pair the first one's."""
    product = product_of(parameters.databases()[0])
    return product, "none" if product == "none" else parameters.topology


def beside(parameters: Parameters) -> list[str]:
    """Return the products of a pair's other databases, whose servers the cell starts itself, in the same topology."""
    return [product_of(database) for database in parameters.databases()[1:]]


def dataset(parameters: Parameters) -> str:
    """Return the name of the cell's records."""
    return parameters.named(f"comments-{parameters.comments_per_article}")


def modules(parameters: Parameters) -> tuple[str, ...]:
    """Return what the cell imports by name."""
    handing_over = (formats.module("orjson"),) if parameters.language == "node" else ()
    adapters = [databases.modules(database, parameters.arrays) for database in parameters.databases()]
    return *(module for modules in adapters for module in modules), *handing_over


def checks(parameters: Parameters) -> list[Check]:
    """Return what own records are held against: each database keeps them, and a text of theirs is changed."""
    node = [OnNode()] if parameters.language == "node" else []
    stored = [
        databases.Stored(database, parameters.topology, parameters.arrays)
        for database in parameters.databases()
        if database != "noop"
    ]
    return [Updated(), *node, *stored]


def expected(parameters: Parameters) -> set[Output]:
    """Return the operation, role and metric of every value that each repetition must deliver."""
    if parameters.topology == "replicated":
        return {(operation, *rest) for operation in WRITES for rest in REPLICATED}
    return {(operation, *rest) for operation in (*WRITES, "select") for rest in ALONE}


@state_parameters
def run(parameters: Parameters) -> "pd.DataFrame":
    """Time the batch of operations as often as asked, each from an emptied store.

    A wait for the replica that runs out is recorded as timed out, at the time waited. Then, as in the paper, the batch
    goes on when both nodes do: the replica has as long again, untimed. If that runs out too, nothing more can be
    measured and the cell ends, finished: the values it still owed are rows without a number, marked timed out, that say
    so. So is select where the database cannot search.

    Raises `WrongContentsError` when a node holds something else than it should after an operation, or select returned
    something else.
    """
    data = parameters.own_records() or blog.comments(
        parameters.n, parameters.seed, per_article=parameters.comments_per_article
    )
    if parameters.language == "node":
        return _on_node(parameters, data)
    rows = Rows()
    options = {
        "durability": parameters.durability,
        "binary_log": parameters.binary_log == "always",
        "constraints": parameters.constraints == "on",
        "arrays": parameters.arrays,
        "index": (_group(data.schema),) if parameters.article_index else (),
    }
    with ExitStack() as open_:
        database, *others = parameters.databases()
        stores = [open_.enter_context(opened(database, parameters.topology, parameters.network, **options))]
        stores += [
            open_.enter_context(_opened_beside(stores[0], other, parameters.topology, **options)) for other in others
        ]
        first = secrets.randbelow(len(stores))
        for repetition in passes(parameters.repetitions):
            for store in in_turn(stores, first + repetition):
                columns = {**store.columns(data), "topology": parameters.topology}
                resting = [pid for other in stores if other is not store for pid in other.pids.values()]
                try:
                    _Batch(parameters, store, data, partial(rows.add, repetition, **columns), resting).run()
                    if why := store.adapter.gaps.get("find"):
                        rows.add_unmeasured(expected(parameters), [repetition], why, columns)
                except ReplicaLostError as lost:
                    left = range(repetition, parameters.repetitions)
                    rows.add_unmeasured(expected(parameters), left, str(lost), columns)
                    stores = [other for other in stores if other is not store]
    return rows.frame()


@contextmanager
def _opened_beside(first: Store, database: str, topology: Topology, **options: Any) -> Iterator[Store]:
    """Open a database on servers of its own, which are started beside the first one's.

    Their files lie beside the first one's files: where a runner executes the cell, its own folder for temporary files
    is closed to the user that servers run as.
    """
    folder = first.deployment.settings.get("folder")
    with ExitStack() as open_:
        with _temporary_files(Path(folder).parent if folder else None):
            running = open_.enter_context(servers.up(product_of(database), topology))
        open_.enter_context(databases.use_fresh_database(running.deployment))
        adapter = open_.enter_context(databases.open(database, running.deployment, **options))
        yield Store(adapter, running.deployment)


@contextmanager
def _temporary_files(folder: Path | None) -> Iterator[None]:
    """Make new temporary files in a folder; where it is None, where they are made anyway."""
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


def _on_node(parameters: Parameters, data: Dataset) -> "pd.DataFrame":
    """Run the cell on the paper's stack."""
    head = {
        **_described(data.schema),
        **{"group": _group(data.schema), "text": text_field(data.schema)},
        "parents": [{**_described(parent.schema), "records": parent.records} for parent in data.parents],
    }
    rows, closing, columns = run_mongodb_in_language(parameters, "crud", parameters.topology, data, head)
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
    resting: list[int]  # the servers of a pair's other database, which rest meanwhile

    def run(self) -> None:
        adapter, data, bulk = self.store.adapter, self.data, self.parameters.calls == "bulk"
        self.store.empty(data.schema, data.parents)
        measure.idle(self.resting, patience_s=PATIENCE_S)
        wanted = data.by_key()
        insert = partial(adapter.insert_many, data.records) if bulk else partial(each, adapter.insert, data.records)
        self._write("insert", insert, wanted)
        update: Callable[[], object]
        if bulk:
            changes = dict.fromkeys(wanted, same_change(data.schema))
            update = partial(adapter.update_all, same_change(data.schema))
        else:
            # In the order in which the store gives the ids.
            ids, field = adapter.ids() if self.store.roles else wanted, text_field(data.schema)
            changes = {key: {field: f"*{wanted[key].get(field, '')[::-1]}"} for key in ids}
            update = partial(_update_each, adapter, changes)
        changed = {key: {**wanted[key], **change} for key, change in changes.items()}
        self._write("update", update, changed)
        if self.parameters.topology == "single" and "find" not in adapter.gaps:
            group, find = _group(data.schema), adapter.find
            groups = list(dict.fromkeys(record[group] for record in data.records))
            started_at = datetime.now(UTC)
            selected, readings = timed(lambda: [record for value in groups for record in find(group, value)])
            self.add("select", readings, len(selected), started_at=started_at)
            if self.store.roles:
                self.store.compare(selected, changed, "select")
        delete = adapter.delete_all if self.parameters.delete == "all" else partial(each, adapter.delete, changes)
        self._write("delete", delete, {})

    def _write(self, operation: str, action: Callable[[], object], wanted: Mapping[str, Record]) -> None:
        count, started_at = len(self.data.records), datetime.now(UTC)
        if self.parameters.topology == "single":
            self.add(operation, timed(action)[1], count, started_at=started_at)
        else:
            write = until_replicated(action, self.store.adapter, self.parameters.timeout_s)
            write.add_to(partial(self.add, operation, count=count, started_at=started_at))
            if not write.caught_up:
                self.store.resume(self.parameters.timeout_s)
        self.store.check(wanted, operation)


def _update_each(adapter: Adapter, changes: Mapping[str, Record]) -> None:
    update = adapter.update
    for key, change in changes.items():
        update(key, change)


def _group(schema: Schema) -> str:
    """Return the field that select asks for: the comments' article, or own records' key."""
    return schema.parent.field if schema.parent else schema.key
