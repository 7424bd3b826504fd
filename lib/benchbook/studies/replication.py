"""Study `replication`: replicating smartphones that are stored as JSON or XML, and its cost.

As in the paper, smartphones are inserted one at a time on the primary, which replicates them. The
paper measured the database's process on each node with atop; here it is the process with its
children. Every value covers the window from the first insertion until the replica has what the
primary has. The models are the forms in which a record is stored:

- ``document``: the record itself (BSON in MongoDB, JSONB in PostgreSQL, JSON in MySQL and CouchDB);
- ``json_text`` and ``xml_text``: its key and one text, ``body``, with the record as JSON or XML;
- ``xml_fields``: the record with each value wrapped in its tag, as in the paper's screenshots.

With ``process: together`` several models alternate, in one process and on one connection with each
node, so that other activity of the machine affects all. The window of each begins with an empty
database and idle servers, and has nothing of another model in it. With ``process: apart`` a model
has a process and connections of its own.

The paper replicates one way. In topology ``bidirectional``, its outlook, both nodes take writes and
each pulls from the other (CouchDB can do that). Smartphones are still inserted on the primary.

In a relational database the record itself would be a row and not a document, so ``document`` is
refused there.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain, combinations, product
from typing import TYPE_CHECKING, Final, Literal, Self

from pydantic import model_validator
from typing_extensions import override

from benchbook import codecs
from benchbook.codecs.tree_codec import write_element
from benchbook.databases import catalogue
from benchbook.datasets import phones
from benchbook.datasets.dataset import Dataset
from benchbook.measure import time_action
from benchbook.registry.products import (
    PRODUCTS,
    find_missing_plugin,
    is_unsupported,
    load_database_product,
    load_product,
)
from benchbook.schema import Field, Record, Schema, UnfitError
from benchbook.servers import address, launcher, networks
from benchbook.servers.deployment import Role, Topology, list_roles
from benchbook.servers.programs import MissingServer
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
    CellDatabase,
    ReplicaLostError,
    WriteTimes,
    call_each,
    open_database,
    write_until_replicated,
)
from benchbook.studies.study import Study

VERSION = 1

TIME_OUTPUTS: Final = {
    ("client", "wall_time"),
    ("replica", "catch_up_time"),
    ("client", "elapsed_time"),
}
PROCESS_METRICS: Final = ("cpu_total", "cpu_user", "cpu_system", "cpu_capacity", "memory_rss")
"""Metrics of each node's processes; ``memory_pss`` is added where the kernel has it."""

PROCESS_OUTPUTS: Final = set(product(("primary", "replica"), PROCESS_METRICS))
MEMORY_OUTPUTS: Final = {
    (role, metric) for role, metric in PROCESS_OUTPUTS if metric == "memory_rss"
}
"""Memory is read only when a cell has one model, because servers keep another model's memory."""

BYTES_OUTPUT: Final = ("replica", "bytes_received")
_CARD_METRICS: Final = ("card_bytes_sent", "card_bytes_received")
CARD_OUTPUTS: Final = set(product(("client", "primary", "replica"), _CARD_METRICS))
"""In a network: the bytes that each role's network card counts."""

SINGLE_MODELS: Final = ("document", "json_text", "xml_text", "xml_fields")
_COMBINATIONS: Final = [
    combinations(SINGLE_MODELS, count + 1) for count in range(len(SINGLE_MODELS))
]
MODELS: Final = tuple(map("+".join, chain.from_iterable(_COMBINATIONS)))
"""Each model, and each set of models that can alternate."""

TEXT_CODECS: Final = {"json_text": "orjson", "xml_text": "lxml"}
"""The codec of each model that stores a text."""

# pydantic checks these at run time, and names them in its errors.
if TYPE_CHECKING:
    import pandas as pd

    Model = str
else:
    Model = Literal[MODELS]


class TimedOutError(RuntimeError):
    """The wait for the replica timed out: the window has no end."""

    def __init__(self, times: WriteTimes) -> None:
        super().__init__(f"the replica had not caught up after {times.catch_up / 1e9:g} s")
        self.times = times


class Parameters(CellParameters):
    """One cell: a database, models and how they share a process, and a number of records."""

    language: Literal["python"] = "python"
    database: catalogue.StoreName = "mongodb"
    topology: Literal["replicated", "bidirectional"] = "replicated"
    process: Literal["together", "apart"] = "together"
    model: Model = "document+xml_fields"
    n: Count = 2000
    durability: Literal["default", "relaxed", "strict"] = "default"
    network: NetworkName = networks.NO_NETWORK
    timeout_s: Seconds = 600.0
    repetitions: Repetitions = 1

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if self.database.endswith("+relational") and "document" in self.models():
            raise ValueError(
                f"model: document is a row in {self.database}:"
                " take another model, or a store of documents"
            )
        if (self.process == "together") != (len(self.models()) > 1):
            raise ValueError(
                "process: together takes several models, as document+xml_fields;"
                " process: apart takes one"
            )
        if self.durability != "default" and is_unsupported(self.database, "durability"):
            raise ValueError(
                f"database: {self.database} has no durability to choose;"
                " it takes durability: default"
            )
        if (
            self.topology == "bidirectional"
            and not load_database_product(self.database).bidirectional
        ):
            fit = " or ".join(name for name in PRODUCTS if load_product(name).bidirectional)
            raise ValueError(
                f"topology: bidirectional is for database: {fit};"
                f" {self.database} replicates one way"
            )
        return self

    def models(self) -> list[str]:
        """Return the models that alternate."""
        return self.model.split("+")

    @override
    def variants(self) -> list[dict[str, str]]:
        return [
            {"model": model, "format": "xml" if model.startswith("xml") else "json"}
            for model in self.models()
        ]


def deployment(parameters: Parameters) -> tuple[str, Topology]:
    """Return the product and topology that the cell needs."""
    return launcher.name_product(parameters.database), parameters.topology


def modules(parameters: Parameters) -> tuple[str, ...]:
    """Return the modules that the cell imports by name."""
    models = [model for model in parameters.models() if model in TEXT_CODECS]
    names = [codecs.find_module(TEXT_CODECS[model]) for model in sorted(models)]
    return *catalogue.list_modules(parameters.database), *names


@dataclass(frozen=True)
class ModelCheck:
    """A check of a user's records: a model's form of them can be written."""

    model: str

    def check_records(self, schema: Schema, records: Sequence[Record]) -> None:
        """Raise `UnfitError` at the first record whose form cannot be written."""
        for number, record in enumerate(records):
            try:
                apply_model(Dataset("", schema, [record], ""), self.model)
            except codecs.FormatError as error:
                reason = f"{self.model} does not hold this record: {error}"
                raise UnfitError(reason, number) from error


def expected(parameters: Parameters) -> set[Output]:
    """Return the operation, role and metric of each value of a repetition, for each model.

    Values of processes are not expected when a user gave the nodes' addresses, or when the nodes
    run in a virtual machine. Nor are bytes that the database cannot count on
    that server.
    """
    name, topology = deployment(parameters)
    server = launcher.find_server(name, topology)
    if isinstance(server, MissingServer):
        is_given, is_hidden = False, False
    else:
        is_given = server.source == "address"
        is_hidden = server.image is not None and not server.image.engine.shares_kernel
    outputs = set(TIME_OUTPUTS)
    if not is_given and not is_hidden:
        outputs |= PROCESS_OUTPUTS
        if parameters.process == "together":
            outputs -= MEMORY_OUTPUTS
    if parameters.network != networks.NO_NETWORK:
        outputs |= CARD_OUTPUTS
    if _can_count_bytes(parameters, is_given):
        outputs.add(BYTES_OUTPUT)
    return {("insert", *output) for output in outputs}


def _can_count_bytes(parameters: Parameters, is_given: bool) -> bool:
    """Return whether the database can count received bytes on the cell's servers."""
    if find_missing_plugin(parameters.database):
        # Its adapter cannot be imported: the registry knows what its product cannot do.
        return not is_unsupported(parameters.database, "bytes_received")
    name, topology = deployment(parameters)
    urls: Mapping[Role, str] = {}
    if is_given:
        urls = address.read_given_urls(name, topology) or {}
    elif parameters.network != networks.NO_NETWORK:
        # In a network no node is at the loopback.
        urls = {role: f"//{role}" for role in list_roles(topology)}
    limitations = catalogue.load_adapter(parameters.database).find_limitations(urls)
    return "bytes_received" not in limitations


@state_parameters
def run(parameters: Parameters) -> "pd.DataFrame":
    """Time the insertion in each repetition, from an empty database, and read both nodes' meters.

    A wait for the replica that times out is recorded as timed out, with the time waited. The window
    then has no end: its other values are rows without a number, marked timed out, with the reason.
    The cell waits once more, untimed. If that times out too the cell ends, and the missing
    repetitions are such rows.

    Raises `WrongContentsError` when a node has other records than those inserted, and `UnfitError`
    when the database refuses a user's records.
    """
    source = parameters.own_records() or phones.generate_smartphones(parameters.n, parameters.seed)
    data = {model: apply_model(source, model) for model in parameters.models()}
    rows = Rows()
    add_unmeasured = partial(rows.add_unmeasured, expected(parameters))
    options = {"durability": parameters.durability, "count_bytes": True}
    with open_database(
        parameters.database, parameters.topology, parameters.network, **options
    ) as database:
        about = {**database.columns(source), "topology": parameters.topology}
        turns = [{**about, **turn} for turn in parameters.turns()]
        first = secrets.randbelow(2)
        if parameters.dataset_file:
            for records in data.values():
                insert = partial(call_each, database.adapter.insert, records.records)
                database.try_records(records, insert)
        try:
            # What a first use costs must not be in only one arm of an A/A check.
            if len(parameters.aa_arms()) > 1:
                for columns in turns:
                    with suppress(TimedOutError):
                        records = data[columns["model"]]
                        _measure_repetition(parameters, database, records, lambda **_: None)
            for repetition in iterate_repetitions(parameters.repetitions):
                for columns in order_turns(turns, first + repetition):
                    add = partial(rows.add, repetition, "insert", **columns)
                    try:
                        _measure_repetition(parameters, database, data[columns["model"]], add)
                    except TimedOutError as timed_out:
                        add_unmeasured([repetition], str(timed_out), columns)
        except ReplicaLostError as lost:
            for columns in turns:
                add_unmeasured(range(parameters.repetitions), str(lost), columns)
    return rows.frame()


STUDY: Final = Study(
    "replication",
    Parameters,
    run=run,
    expected=expected,
    dataset=lambda parameters: parameters.name_dataset("smartphones"),
    deployment=deployment,
    modules=modules,
    checks=lambda parameters: [ModelCheck(model) for model in parameters.models()],
    outputs={
        ("insert", *output)
        for output in {*TIME_OUTPUTS, *PROCESS_OUTPUTS, *CARD_OUTPUTS, BYTES_OUTPUT}
    },
)


def apply_model(data: Dataset, model: str) -> Dataset:
    """Return the records in a model's form, with the schema of that form."""
    if model == "document":
        return data
    key = data.schema.key
    records: list[Record]
    if model == "xml_fields":
        # Each value but the key is a text, wrapped in its tag.
        by_name = {field.name: field for field in data.schema.fields}
        fields = tuple(Field(field.name, "string", field.optional) for field in data.schema.fields)

        def wrap(record: Record) -> Record:
            return {
                name: value if name == key else write_element(by_name[name], value)
                for name, value in record.items()
            }

        records = [wrap(record) for record in data.records]
    else:
        # The whole record is one text.
        encode = codecs.choose_encoder(codecs.load_codec(TEXT_CODECS[model]), data.schema)
        fields = (Field(key, "string"), Field("body", "string"))
        records = [{key: record[key], "body": encode(record).decode()} for record in data.records]
    return replace(data, schema=replace(data.schema, fields=fields), records=records)


def _measure_repetition(
    parameters: Parameters, database: CellDatabase, data: Dataset, add: Callable[..., None]
) -> None:
    """Time one insertion, and check the records that every node has afterwards."""
    database.empty(data.schema)
    started_at = datetime.now(UTC)
    add = partial(add, count=len(data.records), started_at=started_at)
    # Both nodes' processes, where they are known.
    meters = database.meters()
    if parameters.process == "together":
        meters = [meter for meter in meters if not meter.metric.startswith("memory")]
    # The bytes that the replica received.
    meters += database.adapter.list_counters("replica")
    # The cards are read closest to the window: answers to the counters travel over them.
    meters += networks.make_card_meters(database.deployment.places)
    insert = partial(call_each, database.adapter.insert, data.records)

    def insert_and_wait() -> WriteTimes:
        times = write_until_replicated(insert, database.adapter, parameters.timeout_s)
        # The meters of a node that does not answer cannot be read.
        if not times.caught_up:
            raise TimedOutError(times)
        return times

    try:
        times, readings = time_action(insert_and_wait, meters)
    except TimedOutError as timed_out:
        timed_out.times.add_to(add)
        database.resume(parameters.timeout_s)
        raise
    times.add_to(add)
    # Without the first, which is the window: the elapsed time and the time of proving its end.
    add(readings=readings[1:])
    database.check(data.index_by_key(), "insert")
