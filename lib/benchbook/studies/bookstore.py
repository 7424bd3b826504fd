"""Study `bookstore`: marshalling and unmarshalling a Bookstore, in JSON and in XML.

As in the paper, each repetition builds the object anew (untimed), marshals it to a file and
unmarshals it from there. It does so in one format after the other, inside one process (``process:
together``). The published time is the sum of the two. With ``process: apart`` each format has a
process of its own. The round trip is compared with the object in every repetition, outside the
timing.

The paper does not say which format goes first, and the first one pays for warming the process up.
So each format begins a process. In Java a cell has two JVMs: XML begins the first and JSON the
second, and each does half of the repetitions. In Python a cell has one process, and chance decides
which format begins. The order is reversed in every other repetition.

A `network` is the scenario of the paper's introduction: services in a local network. The client
sends the marshalled document to a server over the emulated link, and the server unmarshals it
(`benchbook.studies.bookstore_receiver`). ``send`` begins with the marshalled document, in the
client's file or memory. It ends when the server has acknowledged that it has the whole document.
The round trip is the sum of the three; its processor time is that of both processes. There is one
connection, which is opened before any clock starts.

The first repetition of a process includes what a library prepares at first use, and is kept. In
Java that is JAXB's context, and Jackson's mapper with its look at the classes: both are made inside
the first marshalling. The paper does not say where its program makes them. With ``binding: each``
every call makes a new one. Garbage collection stays on, as in normal use; with both formats in one
process, one may collect the other's garbage.
"""

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Self, TypeVar
from xml.etree import ElementTree

from pydantic import model_validator
from typing_extensions import override

from benchbook import codecs
from benchbook.codecs import Codec
from benchbook.codecs.codec import CodecCheck, JsonName, XmlName
from benchbook.datasets.books import KEYS, generate_records, make_bookstore_builder
from benchbook.datasets.dataset import Dataset
from benchbook.files.suite_files import TemporaryFolder
from benchbook.measure import Meter, Reading, make_client_meters, time_action
from benchbook.schema import AnyBookstore, Record
from benchbook.servers import networks
from benchbook.sockets import protocol
from benchbook.sockets.client import Connection, open_connection, start_server
from benchbook.studies.cell import (
    Columns,
    Count,
    FormatParameters,
    NetworkName,
    Output,
    Repetitions,
    Rows,
    iterate_repetitions,
    order_turns,
    state_parameters,
)
from benchbook.studies.language_cell import plan_processes, run_in_language
from benchbook.studies.study import Study

if TYPE_CHECKING:
    import pandas as pd

VERSION = 2

T = TypeVar("T")

LOCAL_OPERATIONS: Final = ("marshal", "unmarshal", "round_trip")
METRICS: Final = ("wall_time", "cpu_user", "cpu_system")
CARD_OUTPUTS: Final = {
    ("send", "client", metric) for metric in ("card_bytes_sent", "card_bytes_received")
}
"""In a network: the bytes of whole frames that the client's network card counts."""

RECEIVER: Final = "benchbook.studies.bookstore_receiver"
"""The module that is the server in a network."""

MAX_DOCUMENT_BYTES: Final = 2**32 - 1
"""Bytes of the largest document that one frame can have."""

JAVA_CODECS: Final = {"jackson": "json", "moxy": "json", "jaxb": "xml"}
"""The codecs of language ``java``, with their formats."""

NESTING_CODECS: Final = {"orjson", "json", "lxml", "etree"}
"""The codecs that read and write case 3, because they do not bind a class to a document."""

_XML_RECORD: Final = b"<record"


class RoundTripError(RuntimeError):
    """The object that was read back differs from the written one: its times mean nothing."""


class Parameters(FormatParameters):
    """One cell: a case of the paper, formats and how they share a process, and a number of books.

    Parameters
    ----------
    language
        ``java`` has the paper's Jackson and JAXB, and ``moxy``: the JSON of JAXB's binding, which
        the paper tried first. It runs one cold JVM per cell.
    case
        The paper's test case. It does not matter with a `dataset_file`, whose n records are then
        written one after the other as one document.
    keys
        ``short`` and ``long`` write case 1 as records with field names of one letter or about
        thirty; ``nested`` has the author's name one level deeper. With ``short/long`` both
        documents alternate, each in both formats.
    process
        ``warm``, only in Java, is steady state in memory: JMH warms up for 5 s, a repetition is one
        of its iterations of 1 s, and its value is the mean of all its round trips.
    binding
        ``each``, only in Java, makes mapper and context inside every call.
    sink
        Where documents are written to and read from.
    network
        An emulated network between client and server, only in Python.
    """

    language: Literal["python", "java"] = "python"
    case: Literal[1, 2] = 1
    keys: Literal["paper", "short", "long", "nested", "short/long"] = "paper"
    process: Literal["together", "apart", "warm"] = "together"
    json_codec: Literal[JsonName, "jackson", "moxy"] = "orjson"
    xml_codec: Literal[XmlName, "jaxb"] = "lxml"
    binding: Literal["once", "each"] = "once"
    n: Count = 1000
    sink: Literal["file", "memory"] = "file"
    network: NetworkName = networks.NO_NETWORK
    repetitions: Repetitions = 100

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if (self.process == "apart") == (self.format == "both"):
            raise ValueError(
                "process: together and process: warm take format: both;"
                " process: apart takes format: json or xml"
            )
        self._check_language()
        if self.keys != "paper":
            is_fit = self.language == "python" and self.case == 1 and not self.dataset_file
            if not is_fit:
                raise ValueError(
                    f"keys: {self.keys} is for language: python and case: 1,"
                    " not for your records (dataset_file)"
                )
        if self.keys == "short/long" and self.network != networks.NO_NETWORK:
            raise ValueError(f"keys: {self.keys} takes network: {networks.NO_NETWORK}")
        if self.case != 1 and self.dataset_file:
            raise ValueError("case: 2 is not for your records (dataset_file)")
        if self.keys == "nested" and not {self.json_codec, self.xml_codec} <= NESTING_CODECS:
            raise ValueError(f"keys: nested is for {', '.join(sorted(NESTING_CODECS))}")
        return self

    def _check_language(self) -> None:
        is_java = self.language == "java"
        if self.process == "warm" and (not is_java or self.sink != "memory"):
            raise ValueError("process: warm is for language: java, and takes sink: memory")
        if any((codec in JAVA_CODECS) != is_java for codec in (self.json_codec, self.xml_codec)):
            raise ValueError(
                "language: java takes json_codec: jackson or moxy, and xml_codec: jaxb,"
                " and no other language does"
            )
        if is_java and self.dataset_file:
            raise ValueError(
                "language: java marshals the paper's classes, not your records (dataset_file)"
            )
        if not is_java and self.binding != "once":
            raise ValueError("binding: each is for language: java")
        if is_java and self.network != networks.NO_NETWORK:
            raise ValueError(
                f"network: {self.network} is for language: python (--set language=python);"
                " language: java sends nothing"
            )

    @override
    def variants(self) -> list[dict[str, str]]:
        formats = super().variants()
        if self.keys != "short/long":
            return formats
        levels = ("short", "long")
        return [{**kind, "own_level": level} for level, kind in product(levels, formats)]

    @override
    def codecs(self) -> list[str]:
        return [variant["codec"] for variant in super().variants()]

    def split_keys(self) -> list[Self]:
        """Return the parameters of each document that the cell has."""
        return [self.model_copy(update={"keys": keys}) for keys in self.keys.split("/")]

    def file(self, folder: Path, name: str, codec: Codec) -> Path | None:
        """Return the path of a codec's file in a folder; None when the sink is memory."""
        return folder / f"{name}.{codec.format}" if self.sink == "file" else None


def dataset(parameters: Parameters) -> str:
    """Return the name of the cell's object."""
    variant = parameters.case if parameters.keys == "paper" else parameters.keys
    return parameters.name_dataset(f"bookstore-{variant}")


def modules(parameters: Parameters) -> tuple[str, ...]:
    """Return the modules that the cell imports by name: its codecs, and its object's digest's."""
    names = parameters.codecs() if parameters.language == "python" else ()
    receiver = () if parameters.network == networks.NO_NETWORK else (RECEIVER,)
    return *map(codecs.find_module, ["orjson", *names]), *receiver


def expected(parameters: Parameters) -> set[Output]:
    """Return the operation, role and metric of each value of a repetition, for each format."""
    if parameters.process == "warm":
        metrics: tuple[str, ...] = ("wall_time",)
        sizes: tuple[str, ...] = ("size",)
    else:
        metrics = (*METRICS, "cpu_total") if parameters.language == "java" else METRICS
        sizes = ("size", "markup_size")
    outputs = {("marshal", "client", metric) for metric in sizes}
    if parameters.network == networks.NO_NETWORK:
        for operation in LOCAL_OPERATIONS:
            outputs |= {(operation, "client", metric) for metric in metrics}
        return outputs
    for operation in ("marshal", "send", "round_trip"):
        outputs |= {(operation, "client", metric) for metric in metrics}
    outputs |= {("unmarshal", "server", metric) for metric in metrics}
    return outputs | CARD_OUTPUTS


@state_parameters
def run(parameters: Parameters) -> "pd.DataFrame":
    """Time each format's round trip in every repetition.

    Raises `RoundTripError` when an object that was read back differs from the one that was written.
    Another language's harness fails for the same reason, with
    `benchbook.studies.harness.LanguageError`.
    """
    levels = parameters.split_keys()
    documents = [build_object(level) for level in levels]
    abouts = [_describe_document(*each) for each in zip(levels, documents, strict=True)]
    if len(levels) > 1:
        for level, about in zip(levels, abouts, strict=True):
            about["own_level"] = level.keys
    if parameters.language != "python":
        return _run_in_language(parameters, abouts[0], documents[0].json())
    rows = Rows()
    with ExitStack() as stack:
        trips: list[tuple[int, RoundTrip]] = []
        for place, (level, document) in enumerate(zip(levels, documents, strict=True)):
            trips += [(place, trip) for trip in _open_trips(level, document, stack)]
        turns = [(arm, *trip) for arm, trip in product(parameters.aa_arms(), trips)]
        first = secrets.randbelow(2)
        # What a first use costs must not be in only one arm of an A/A check.
        if len(turns) > len(trips):
            for _, place, trip in order_turns(turns, first):
                trip.measure(documents[place].build())
        for repetition in iterate_repetitions(parameters.repetitions):
            things = [document.build() for document in documents]
            for arm, place, trip in order_turns(turns, first + repetition):
                started_at = datetime.now(UTC)
                readings_by_operation = trip.measure(things[place])
                columns: Columns = {
                    **abouts[place],
                    **arm,
                    "format": trip.codec.format,
                    "codec": trip.codec.name,
                    "started_at": started_at,
                }
                for operation, readings in readings_by_operation.items():
                    rows.add(repetition, operation, readings, parameters.n, **columns)
    frame = rows.frame()
    loaded = [codecs.load_codec(name) for name in parameters.codecs()]
    for document, about in zip(documents, abouts, strict=True):
        thing = document.build()
        encoded: dict[str, bytes] = {one.format: document.encoder(one)(thing) for one in loaded}
        frame = _add_markup(frame, about, encoded)
    return frame


STUDY: Final = Study(
    "bookstore",
    Parameters,
    run=run,
    expected=expected,
    dataset=dataset,
    modules=modules,
    checks=lambda parameters: [CodecCheck(name) for name in parameters.codecs()],
    outputs=(
        expected(Parameters())
        | expected(Parameters(language="java"))
        | expected(Parameters(network=next(iter(networks.NAMED_NETWORKS))))
    ),
)


def _describe_document(parameters: Parameters, document: "BookstoreObject[Any]") -> Columns:
    """Return the columns that say which records a document has."""
    digest = hashlib.sha256(document.json()).hexdigest()
    return {"dataset": dataset(parameters), "dataset_sha256": digest}


def _open_trips(
    parameters: Parameters, document: "BookstoreObject[Any]", stack: ExitStack
) -> "Sequence[RoundTrip]":
    """Return the round trip of each codec; the stack closes what they use."""
    folder = stack.enter_context(TemporaryFolder("cell"))
    trips = []
    for name in parameters.codecs():
        codec = codecs.load_codec(name)
        trips.append(RoundTrip(document, codec, parameters.file(folder, "document", codec)))
    if parameters.network == networks.NO_NETWORK:
        return trips
    network = stack.enter_context(networks.open_network(parameters.network, ("client", "server")))
    server = stack.enter_context(_open_receiver(parameters, folder, network))
    meters = networks.make_card_meters(network.places)
    cards = [meter for meter in meters if meter.role == "client"]
    return [
        _RoundTripOverNetwork(trip.document, trip.codec, trip.file, server, cards) for trip in trips
    ]


@contextmanager
def _open_receiver(
    parameters: Parameters, folder: Path, network: networks.EmulatedNetwork
) -> Iterator[Connection]:
    """Start the server in a network, enter the client's place, and yield their connection."""
    order = {"parameters": parameters.model_dump(mode="json"), "folder": str(folder)}
    starting = start_server(
        RECEIVER, order, address=network.addresses["server"], place=network.places["server"]
    )
    with (
        networks.enter_place(network.places["client"]),
        starting as server,
        open_connection(server, timeout_s=0) as connection,
    ):
        yield connection


def _run_in_language(parameters: Parameters, about: Columns, data: bytes) -> "pd.DataFrame":
    """Return the rows of another language's harness, which writes each format's last document."""
    documents: dict[str, bytes] = {}

    def read(folder: Path) -> None:
        documents.update({file.suffix[1:]: file.read_bytes() for file in folder.glob("last.*")})

    rows, _ = run_in_language(
        parameters,
        "bookstore",
        about,
        data=data,
        read_files=read,
        processes=plan_processes(parameters, len(parameters.turns()) - 1),
    )
    return _add_markup(rows.frame(), about, documents)


def count_markup_bytes(document: bytes, format: str) -> int:
    """Return how many bytes of a document do not belong to values.

    Those are names, tags, quotes, punctuation, escapes and indentation. Values are texts, numbers
    and attributes' values, unescaped, in UTF-8. Raises ValueError when the document is not of the
    format.

    Parameters
    ----------
    document
        A document, or records with a newline between them.
    format
        ``json`` or ``xml``.
    """
    values = _count_xml_bytes(document) if format == "xml" else _count_json_bytes(document)
    return len(document) - values


def _count_xml_bytes(document: bytes) -> int:
    """Return the bytes of a document's values."""
    try:
        root = ElementTree.fromstring(document)
    except ElementTree.ParseError:
        try:
            # Several records have no common root.
            root = ElementTree.fromstring(b"<all>" + document + b"</all>")
        except ElementTree.ParseError as error:
            raise ValueError(f"not XML: {error}") from error
    size = 0
    for element in root.iter():
        texts = [*element.attrib.values()]
        if element.text and not len(element):
            texts.append(element.text)
        size += sum(len(text.encode()) for text in texts)
    return size


def _count_json_bytes(document: bytes) -> int:
    """Return the bytes of a document's values."""

    def measure(value: object) -> int:
        if isinstance(value, dict):
            return sum(map(measure, value.values()))
        if isinstance(value, list):
            return sum(map(measure, value))
        return len(value.encode()) if isinstance(value, str) else len(json.dumps(value))

    # Numbers are read as the document writes them.
    parse = partial(json.loads, parse_int=str, parse_float=str)
    try:
        return measure(parse(document))
    except json.JSONDecodeError:
        return sum(measure(parse(line)) for line in document.split(b"\n"))


def _add_markup(
    rows: "pd.DataFrame", about: Columns, documents: Mapping[str, bytes]
) -> "pd.DataFrame":
    """Return the rows, with a row of the markup's bytes for each size of a format's document.

    Of several documents it adds those of the one in `about`.
    """
    # Imported here, because it is slow to import and a plan does not need it.
    import pandas as pd

    is_of_document = rows["dataset"].eq(about["dataset"]) & rows["format"].isin(documents)
    sizes = rows[rows["metric"].eq("size") & is_of_document]
    markup_sizes = {
        kind: float(count_markup_bytes(document, kind)) for kind, document in documents.items()
    }
    markup = sizes.assign(
        metric="markup_size", value=sizes["format"].map(markup_sizes), source="parsed"
    )
    return pd.concat([rows, markup], ignore_index=True)


@dataclass(frozen=True)
class BookstoreObject(Generic[T]):
    """How the cell's object is built, and how a codec writes and reads it."""

    build: Callable[[], T]
    encoder: Callable[[Codec], Callable[[T], bytes]]
    decoder: Callable[[Codec], Callable[[bytes], T]]

    def json(self) -> bytes:
        """Return the object as the main JSON codec writes it."""
        return self.encoder(codecs.load_codec("orjson"))(self.build())


def build_object(parameters: Parameters) -> BookstoreObject[Any]:
    """Return the cell's object: a user's records, the paper's books, or books with other keys."""
    own = parameters.own_records(keyed=False)
    if parameters.keys in KEYS:
        own = generate_records(parameters.n, parameters.seed, parameters.keys)
    return _build_own_object(own) if own else _build_paper_object(parameters)


def _build_paper_object(parameters: Parameters) -> BookstoreObject[AnyBookstore]:
    case = 3 if parameters.keys == "nested" else parameters.case
    return BookstoreObject(
        make_bookstore_builder(parameters.n, parameters.seed, case),
        lambda codec: codec.encode_bookstore,
        lambda codec: lambda data: codec.decode_bookstore(data, case),
    )


def _build_own_object(data: Dataset) -> BookstoreObject[list[Record]]:
    """Return records as one document: each is encoded separately, with a newline between them."""

    def encoder(codec: Codec) -> Callable[[list[Record]], bytes]:
        encode = codecs.choose_encoder(codec, data.schema)
        return lambda records: b"\n".join(map(encode, records))

    def split(document: bytes) -> list[bytes]:
        """Return an XML document's records; only between two is a newline before a record's tag."""
        first, *rest = document.split(b"\n" + _XML_RECORD)
        return [first, *(_XML_RECORD + part for part in rest)]

    def decoder(codec: Codec) -> Callable[[bytes], list[Record]]:
        decode = codec.decoder(data.schema)
        if codec.format == "json":
            return lambda document: [decode(line) for line in document.split(b"\n")]
        return lambda document: [decode(part) for part in split(document)]

    return BookstoreObject(lambda: [dict(record) for record in data.records], encoder, decoder)


@dataclass(frozen=True)
class RoundTrip:
    """One object to bytes and back, through a file if there is one."""

    document: BookstoreObject[Any]
    codec: Codec
    file: Path | None

    def measure(self, thing: object) -> dict[str, list[Reading]]:
        """Return the readings of each operation; the document's size is one of marshalling."""
        cpu = make_client_meters(METRICS)
        data, marshal = time_action(self.prepare_marshal(thing), cpu)
        size, source = (self.file.stat().st_size, "stat") if self.file else (len(data), "len")
        back, unmarshal = time_action(self.prepare_unmarshal(data), cpu)
        self.check_equal(back == thing)
        # The next repetition writes a new file, as this one did.
        if self.file:
            self.file.unlink()
        size_reading = Reading("size", "client", size, "B", source, 1.0)
        return {
            "marshal": [*marshal, size_reading],
            "unmarshal": unmarshal,
            "round_trip": _sum_readings(marshal, unmarshal),
        }

    def check_equal(self, alike: bool) -> None:
        """Raise `RoundTripError` unless the objects written and read back are equal."""
        if not alike:
            reason = "the object that was read back is not the one that was written"
            raise RoundTripError(f"{self.codec.name}: {reason}")

    def prepare_marshal(self, thing: object) -> Callable[[], bytes]:
        """Return a function that returns the object's document, or writes it to the file."""
        encode, file = self.document.encoder(self.codec), self.file
        if file is None:
            return lambda: encode(thing)

        def write_to_file() -> bytes:
            with file.open("wb") as sink:
                sink.write(encode(thing))
            return b""

        return write_to_file

    def prepare_unmarshal(self, data: bytes) -> Callable[[], object]:
        """Return a function that makes an object of the document, or of the file."""
        decode, file = self.document.decoder(self.codec), self.file
        if file is None:
            return lambda: decode(data)

        def read_from_file() -> object:
            with file.open("rb") as source:
                return decode(source.read())

        return read_from_file


@dataclass(frozen=True)
class _RoundTripOverNetwork(RoundTrip):
    """One object to bytes, to a server, and there back to an object."""

    server: Connection
    cards: Sequence[Meter]

    @override
    def measure(self, thing: object) -> dict[str, list[Reading]]:
        cpu = make_client_meters(METRICS)
        # The server now builds the object for its comparison, before any clock starts.
        self.server.socket.sendall(protocol.pack_message(protocol.START, codec=self.codec.name))
        self.server.expect(protocol.READY)
        data, marshal = time_action(self.prepare_marshal(thing), cpu)
        # The cards' meters take a tenth of a millisecond, so they are read outside of the others.
        size, send = time_action(partial(self._send, data), [*self.cards, *cpu])
        report = protocol.unpack_message(self.server.expect(protocol.REPORT))
        unmarshal = [Reading(**reading) for reading in report["readings"]]
        self.check_equal(report["alike"])
        if self.file:
            self.file.unlink()
        size_reading = Reading("size", "client", size, "B", "len", 1.0)
        return {
            "marshal": [*marshal, size_reading],
            "send": send,
            "unmarshal": unmarshal,
            "round_trip": _sum_readings(marshal, send, unmarshal),
        }

    def _send(self, data: bytes) -> int:
        """Send the document, wait until the server has it, and return its bytes."""
        if self.file:
            data = self.file.read_bytes()
        if len(data) > MAX_DOCUMENT_BYTES:
            reason = f"a document of {len(data)} bytes is over the limit of {MAX_DOCUMENT_BYTES}"
            raise protocol.WireError(f"{reason}: take a smaller n")
        self.server.socket.sendall(protocol.pack_frame(protocol.OBJECT, data))
        self.server.expect(protocol.ACK)
        return len(data)


def _sum_readings(first: Sequence[Reading], *others: Sequence[Reading]) -> list[Reading]:
    """Return the first readings, each with the sum over all readings of its metric."""
    sums = []
    for reading in first:
        readings = [*first, *chain.from_iterable(others)]
        parts = [part for part in readings if part.metric == reading.metric]
        value = sum(part.value for part in parts)
        resolution = sum(part.resolution for part in parts)
        sums.append(replace(reading, value=value, resolution=resolution))
    return sums
