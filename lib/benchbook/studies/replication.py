"""Study `replication`: replication of smartphones kept as JSON and as XML, and what both nodes spend on it.

As the paper did: smartphones inserted one at a time on the primary, which replicates them. It measured with atop, on
each node, the database's process: here its process tree. Every value covers the window from the first insertion until
the replica holds what the primary holds. The models are what a record is stored as:

- ``document``: the record itself (in BSON for MongoDB, JSONB for PostgreSQL, JSON for MySQL and CouchDB);
- ``json_text`` and ``xml_text``: its key and one text, ``body``, with the record as JSON or XML (a field of the
  document, or a text column of the relational table);
- ``xml_fields``: the record with each value wrapped in its tag, as the paper's screenshots show it.

``process: together`` takes several models by turns, in one process and over one connection with each node, so that what
the machine does meanwhile happens to all; the window of each opens on an emptied store and idle servers, and nothing of
another's is in it. ``process: apart`` gives a model a process, and connections, of its own.

The paper's replication is one-way. In topology ``bidirectional``, its outlook, both nodes take writes and each pulls
from the other (CouchDB has that); the smartphones are still inserted on the primary.

In a relational database the record itself would be a row and not a document, so that pair is refused.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal, Self

from pydantic import model_validator
from typing_extensions import override

from benchbook import databases, formats, networks, servers
from benchbook.datasets import Dataset, phones
from benchbook.deployment import Role, Topology, roles
from benchbook.formats.tree import fragment
from benchbook.measure import timed
from benchbook.registry import PRODUCTS, known, lacks, missing_driver, product
from benchbook.schemas import Field, Record, Schema, UnfitError
from benchbook.servers import address
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
from benchbook.studies.cell_store import Check, ReplicaLostError, Store, Write, each, opened, until_replicated

VERSION = 1

TIMES: Final = {("client", "wall_time"), ("replica", "catch_up_time"), ("client", "elapsed_time")}
OF_A_PROCESS: Final = ("cpu_total", "cpu_user", "cpu_system", "cpu_capacity", "memory_rss")
"""Metrics of each node's processes; ``memory_pss`` comes with them where the kernel tells it."""

PROCESSES: Final = {(role, metric) for role in ("primary", "replica") for metric in OF_A_PROCESS}
MEMORY: Final = {(role, metric) for role, metric in PROCESSES if metric == "memory_rss"}
"""What is read of memory, where a cell has one model: servers keep what another one's turn took."""

BYTES: Final = ("replica", "bytes_received")
CARDS: Final = {
    (role, f"card_bytes_{way}") for role in ("client", "primary", "replica") for way in ("sent", "received")
}
"""What each machine's network card counts, in a network."""

KINDS: Final = ("document", "json_text", "xml_text", "xml_fields")
MODELS: Final = tuple("+".join(kinds) for count in range(1, len(KINDS) + 1) for kinds in combinations(KINDS, count))
"""Each, and those that can take turns."""

CODECS: Final = {"json_text": "orjson", "xml_text": "lxml"}
"""What writes the text that a model stores."""

EVERY: Final = {("insert", role, metric) for role, metric in {*TIMES, *PROCESSES, *CARDS, BYTES}}
"""The operation, role and metric of every value that some cell delivers, wherever its nodes run."""


if TYPE_CHECKING:
    import pandas as pd

    Model = str
else:  # what pydantic checks, and names in its errors
    Model = Literal[MODELS]


class Parameters(CellParameters):
    """One cell: a database, what a record is stored as, how several models share a process, and a number of records."""

    language: Literal["python"] = "python"
    database: databases.StoreName = "mongodb"
    topology: Literal["replicated", "bidirectional"] = "replicated"
    process: Literal["together", "apart"] = "together"
    model: Model = "document+xml_fields"
    n: Count = 2000
    durability: Literal["default", "relaxed", "strict"] = "default"
    network: NetworkName = networks.NONE
    timeout_s: Seconds = 600.0
    repetitions: Repetitions = 1

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.database.endswith("+relational") and "document" in self.models():
            raise ValueError(
                f"model: document is a row in {self.database}: take another model, or a store of documents"
            )
        if (self.process == "together") != (len(self.models()) > 1):
            raise ValueError("process: together takes several models, as document+xml_fields; process: apart takes one")
        if self.durability != "default" and lacks(self.database, "durability"):
            raise ValueError(f"database: {self.database} has no durability to choose; it takes durability: default")
        if self.topology == "bidirectional" and not known(self.database).bidirectional:
            fit = " or ".join(name for name in PRODUCTS if product(name).bidirectional)
            raise ValueError(f"topology: bidirectional is for database: {fit}; {self.database} replicates one way")
        return self

    def models(self) -> list[str]:
        """Return the models that take turns."""
        return self.model.split("+")

    @override
    def arms(self) -> list[dict[str, str]]:
        return [{"model": model, "format": "xml" if model.startswith("xml") else "json"} for model in self.models()]


def deployment(parameters: Parameters) -> tuple[str, Topology]:
    """Return the product and topology that the cell needs."""
    return servers.product_of(parameters.database), parameters.topology


def dataset(parameters: Parameters) -> str:
    """Return the name of the cell's records."""
    return parameters.named("smartphones")


def modules(parameters: Parameters) -> tuple[str, ...]:
    """Return what the cell imports by name."""
    codecs = [formats.module(codec) for model, codec in CODECS.items() if model in parameters.models()]
    return *databases.modules(parameters.database), *codecs


def checks(parameters: Parameters) -> list[Check]:
    """Return what own records are held against: as each model stores them, the database keeps them."""
    return [
        Modelled(model, databases.Stored(parameters.database, parameters.topology)) for model in parameters.models()
    ]


@dataclass(frozen=True)
class Modelled:
    """What a model makes of records is stored."""

    model: str
    stored: databases.Stored

    def hold(self, schema: Schema, records: Sequence[Record]) -> None:
        """Raise `UnfitError` at the first record of which the model's text cannot be written, or stored."""
        made: list[Record] = []
        for number, record in enumerate(records):
            try:
                modelled_as = modelled(Dataset("", schema, [record], ""), self.model)
            except formats.FormatError as error:
                raise UnfitError(f"{self.model} does not hold this record: {error}", number) from error
            made += modelled_as.records
        self.stored.hold(modelled_as.schema, made)


def expected(parameters: Parameters) -> set[Output]:
    """Return the operation, role and metric of every value that each repetition must deliver, of each arm.

    Of nodes that are given by their address, or run in a virtual machine, the processes are not known: then what
    belongs to a process is not owed; nor are bytes that the database declares it cannot count on that server.
    """
    owed = set(TIMES)
    product, topology = deployment(parameters)
    server = servers.find(product, topology)
    if isinstance(server, servers.Missing):
        given, hidden = False, False
    else:
        given = server.source == "address"
        hidden = server.image is not None and not server.image.engine.shares_kernel
    if not given and not hidden:
        owed |= PROCESSES if parameters.process == "apart" else PROCESSES - MEMORY
    if parameters.network != networks.NONE:
        owed |= CARDS
    urls: Mapping[Role, str] = {}
    if given:
        urls = address.given(product, topology) or {}
    elif parameters.network != networks.NONE:
        # In a network no node is at the loopback.
        urls = {role: f"//{role}" for role in roles(topology)}
    if missing_driver(parameters.database):
        # Its adapter cannot be asked: the registry says what its product lacks.
        counts_bytes = not lacks(parameters.database, "bytes_received")
    else:
        counts_bytes = "bytes_received" not in databases.load(parameters.database).lacks_on(urls)
    if counts_bytes:
        owed.add(BYTES)
    return {("insert", role, metric) for role, metric in owed}


@state_parameters
def run(parameters: Parameters) -> "pd.DataFrame":
    """Time the insertion as often as asked, each from an emptied store, and read both nodes' meters around it.

    A wait for the replica that runs out is recorded as timed out, at the time waited; the window then has no end, and
    what would have been read over it is a row without a number, marked timed out, that says so. The replica has as long
    again, untimed; when that runs out too the cell ends, finished, and the repetitions it still owed are such rows.

    Raises `WrongContentsError` when a node holds something else than what was inserted.
    """
    source = parameters.own_records() or phones.smartphones(parameters.n, parameters.seed)
    data = {model: modelled(source, model) for model in parameters.models()}
    rows = Rows()
    with opened(
        parameters.database, parameters.topology, parameters.network, durability=parameters.durability, counted=True
    ) as store:
        about = {**store.columns(source), "topology": parameters.topology}
        turns = [{**about, **arm} for arm in parameters.turns()]
        owe, first = partial(rows.add_unmeasured, expected(parameters)), secrets.randbelow(2)
        try:
            for columns in turns if len(parameters.identical_arms()) > 1 else ():
                with suppress(RanOutError):
                    _repetition(parameters, store, data[columns["model"]], lambda **_: None)
            for repetition in passes(parameters.repetitions):
                for columns in in_turn(turns, first + repetition):
                    add = partial(rows.add, repetition, "insert", **columns)
                    try:
                        _repetition(parameters, store, data[columns["model"]], add)
                    except RanOutError as ran_out:
                        owe([repetition], str(ran_out), columns)
        except ReplicaLostError as lost:
            for columns in turns:
                owe(range(parameters.repetitions), str(lost), columns)
    return rows.frame()


def modelled(data: Dataset, model: str) -> Dataset:
    """Return the records as the model stores them, with the schema that fits them."""
    if model == "document":
        return data
    key = data.schema.key
    records: list[Record]
    if model == "xml_fields":
        by_name = {field.name: field for field in data.schema.fields}
        fields = tuple(Field(field.name, "string", field.optional) for field in data.schema.fields)
        records = [
            {name: value if name == key else fragment(by_name[name], value) for name, value in record.items()}
            for record in data.records
        ]
    else:
        encode = formats.encoder(formats.codec(CODECS[model]), data.schema)
        fields = (Field(key, "string"), Field("body", "string"))
        records = [{key: record[key], "body": encode(record).decode()} for record in data.records]
    return replace(data, schema=replace(data.schema, fields=fields), records=records)


def _repetition(parameters: Parameters, store: Store, data: Dataset, add: Callable[..., None]) -> None:
    store.empty(data.schema)
    started_at = datetime.now(UTC)
    add = partial(add, count=len(data.records), started_at=started_at)
    # Of both nodes: their processes, where known, the bytes that the replica received, and in a network the cards'.
    apart = parameters.process == "apart"
    meters = [meter for meter in store.meters() if apart or not meter.metric.startswith("memory")]
    meters += store.adapter.counters("replica")
    # Nearest to the window: the database's own counters answer over the cards.
    meters += networks.card_meters(store.deployment.places)
    insert = partial(each, store.adapter.insert, data.records)

    def window() -> Write:
        """Insert and wait; a wait that ran out is raised: the meters of a node that is silent cannot be read."""
        write = until_replicated(insert, store.adapter, parameters.timeout_s)
        if not write.caught_up:
            raise RanOutError(write)
        return write

    try:
        write, readings = timed(window, meters)
    except RanOutError as ran_out:
        ran_out.write.add_to(add)
        store.resume(parameters.timeout_s)
        raise
    write.add_to(add)
    # The first is the window itself: the elapsed time, and what proving its end took.
    add(readings=readings[1:])
    store.check(data.by_key(), "insert")


class RanOutError(RuntimeError):
    """The wait for the replica ran out: the window has no end."""

    def __init__(self, write: Write) -> None:
        super().__init__(f"the replica had not caught up after {write.catch_up / 1e9:g} s")
        self.write = write
