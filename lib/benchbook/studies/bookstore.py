"""Study `bookstore`: marshalling and unmarshalling a Bookstore, in JSON and in XML.

As the paper did: in each repetition the object is built anew (untimed), marshalled to a file and unmarshalled from it,
in one format after the other inside one process (``process: together``); the published time is the sum of the two.
Which format goes first is not printed: XML does in even repetitions, JSON in odd ones. ``process: apart`` gives a
format a process of its own. The round trip is compared with the object, outside the timing, in every repetition.

In a `network` it is the scenario of the paper's introduction, services over a local network: what the client has
marshalled is sent to a server, across the network's cable, which unmarshals it
(`benchbook.studies.bookstore_receiver`). ``send`` begins with the marshalled document, in the client's file or
memory, and ends when the server's acknowledgement is back: then all of it is in the server's. The round trip is the
sum of the three; its processor time is both processes'. There is one connection, open before any clock starts.

Repetition 0 pays for whatever a library prepares at first use, and is kept. Garbage collection stays on, as in normal
use: with both formats in one process, one may pay for the other's garbage.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Self, TypeVar
from xml.etree import ElementTree

from pydantic import model_validator
from typing_extensions import override

from benchbook import formats, networks
from benchbook.datasets import Dataset
from benchbook.datasets.books import KEYS, bookstore_builder, flat
from benchbook.deployment import Topology
from benchbook.folders import Folder
from benchbook.formats import Codec
from benchbook.measure import Meter, Reading, client_meters, timed
from benchbook.schemas import AnyBookstore, Record
from benchbook.studies.cell import (
    Columns,
    Count,
    FormatParameters,
    NetworkName,
    Output,
    Repetitions,
    Rows,
    in_turn,
    passes,
    run_in_language,
    state_parameters,
)
from benchbook.wire import protocol
from benchbook.wire.client import Connection, connected, started

if TYPE_CHECKING:
    import pandas as pd

VERSION = 1

T = TypeVar("T")

OPERATIONS: Final = ("marshal", "unmarshal", "round_trip")
METRICS: Final = ("wall_time", "cpu_user", "cpu_system")
SENT: Final = {("send", "client", metric) for metric in ("card_bytes_sent", "card_bytes_received")}
"""In a network: what the client's card counts, whole frames."""

RECEIVER: Final = "benchbook.studies.bookstore_receiver"
"""The server's program, in a network."""

LIMIT: Final = 2**32 - 1
"""Bytes of the largest document that can be sent, in one frame."""

JAVA: Final = {"jackson": "json", "moxy": "json", "jaxb": "xml"}
"""What language ``java`` has, and each one's format."""

NESTING: Final = {"orjson", "json", "lxml", "etree"}
"""The codecs that have the book with a level more, as they bind no class to a document."""

_XML_RECORD: Final = b"<record>"


class RoundTripError(RuntimeError):
    """What was read back is not what was written: its times mean nothing."""


class Parameters(FormatParameters):
    """One cell: a case of the paper, the formats and how they share a process, a number of books.

    Own records (``dataset_file``) take the books' place: a document then holds n of them, one after the other, and
    ``case`` means nothing. ``keys: short`` and ``long`` write case 1 as such records, its fields named by a letter or
    by some thirty, and ``keys: nested`` its author's name one level deeper. Language ``java`` has Jackson and JAXB,
    as the paper, and ``moxy``, which writes JSON by JAXB's binding, as the paper tried first; ``binding: each`` makes
    their mapper and context inside every call. ``apart`` and ``together`` are processes of its own there too: one JVM
    a cell, cold. ``process: warm``, there alone, is steady state in memory: JMH warms up for 5 s, then a repetition
    is one of its iterations of 1 s, and its value the mean of all round trips in it. A ``network`` is of language
    ``python``.
    """

    language: Literal["python", "java"] = "python"
    case: Literal[1, 2] = 1
    keys: Literal["paper", "short", "long", "nested"] = "paper"
    process: Literal["together", "apart", "warm"] = "together"
    json_codec: Literal[formats.JsonName, "jackson", "moxy"] = "orjson"
    xml_codec: Literal[formats.XmlName, "jaxb"] = "lxml"
    binding: Literal["once", "each"] = "once"
    n: Count = 1000
    sink: Literal["file", "memory"] = "file"
    network: NetworkName = networks.NONE
    repetitions: Repetitions = 100

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if (self.process == "apart") == (self.format == "both"):
            raise ValueError(
                "process: together and process: warm take format: both; process: apart takes format: json or xml"
            )
        if self.process == "warm" and (self.language != "java" or self.sink != "memory"):
            raise ValueError("process: warm is for language: java, and takes sink: memory")
        java = (self.language == "java", self.json_codec in JAVA, self.xml_codec in JAVA)
        if any(java) != all(java):
            raise ValueError(
                "language: java takes json_codec: jackson or moxy, and xml_codec: jaxb, and no other language does"
            )
        if self.language == "java" and self.dataset_file:
            raise ValueError("language: java marshals the paper's classes, not own records (dataset_file)")
        if self.keys != "paper" and (self.language != "python" or self.case != 1 or self.dataset_file):
            raise ValueError(
                f"keys: {self.keys} is for language: python and case: 1, not for own records (dataset_file)"
            )
        if self.case != 1 and self.dataset_file:
            raise ValueError("case: 2 is not for own records (dataset_file)")
        if self.keys == "nested" and not {self.json_codec, self.xml_codec} <= NESTING:
            raise ValueError(f"keys: nested is for {', '.join(sorted(NESTING))}")
        if self.language != "java" and self.binding != "once":
            raise ValueError("binding: each is for language: java")
        if self.language == "java" and self.network != networks.NONE:
            raise ValueError(
                f"network: {self.network} is for language: python (--set language=python); language: java sends nothing"
            )
        return self

    def file(self, folder: Path, name: str, codec: Codec) -> Path | None:
        """Return a codec's file in a folder; None where the sink is memory."""
        return folder / f"{name}.{codec.format}" if self.sink == "file" else None


def deployment(parameters: Parameters) -> tuple[str, Topology]:
    """Return that the cell needs no server."""
    return "none", "none"


def dataset(parameters: Parameters) -> str:
    """Return the name of the cell's object."""
    return parameters.named(f"bookstore-{parameters.case if parameters.keys == 'paper' else parameters.keys}")


def modules(parameters: Parameters) -> tuple[str, ...]:
    """Return what the cell imports by name: its codecs, and the one that its object's digest is made with."""
    codecs = parameters.codecs() if parameters.language == "python" else ()
    receiver = () if parameters.network == networks.NONE else (RECEIVER,)
    return *map(formats.module, ["orjson", *codecs]), *receiver


def checks(parameters: Parameters) -> list[formats.RoundTrip]:
    """Return what own records are held against: each codec writes and reads them."""
    return [formats.RoundTrip(name) for name in parameters.codecs()]


def expected(parameters: Parameters) -> set[Output]:
    """Return the operation, role and metric of every value that each repetition must deliver, for each format."""
    exact = ("cpu_total",) if parameters.language == "java" else ()
    metrics = ("wall_time",) if parameters.process == "warm" else (*METRICS, *exact)
    sizes = ("size",) if parameters.process == "warm" else ("size", "markup_size")
    owed = {("marshal", "client", metric) for metric in sizes}
    if parameters.network == networks.NONE:
        return owed | {(operation, "client", metric) for operation in OPERATIONS for metric in metrics}
    at_client = {(operation, "client", metric) for operation in ("marshal", "send", "round_trip") for metric in metrics}
    return owed | at_client | SENT | {("unmarshal", "server", metric) for metric in metrics}


_IN_A_NETWORK: Final = Parameters(network=next(iter(networks.NAMED)))
EVERY: Final = expected(Parameters()) | expected(Parameters(language="java")) | expected(_IN_A_NETWORK)
"""What some cell of the study delivers: operation, role and metric."""


@state_parameters
def run(parameters: Parameters) -> "pd.DataFrame":
    """Time each format's round trip as often as asked.

    Raises `RoundTripError` when an object that was read back differs from the one that was written; another language's
    harness fails for the same reason, with `benchbook.languages.LanguageError`.
    """
    document = document_of(parameters)
    digest = hashlib.sha256(document.json()).hexdigest()
    about: Columns = {"dataset": dataset(parameters), "dataset_sha256": digest}
    if parameters.language != "python":
        return _run_in_language(parameters, about, document.json())
    codecs, rows = [formats.codec(name) for name in parameters.codecs()], Rows()
    with ExitStack() as open_:
        folder = open_.enter_context(Folder("cell"))
        trips = [RoundTrip(document, codec, parameters.file(folder, "document", codec)) for codec in codecs]
        if parameters.network != networks.NONE:
            network = open_.enter_context(networks.standing(parameters.network, ("client", "server")))
            server = open_.enter_context(_served(parameters, folder, network))
            cards = [meter for meter in networks.card_meters(network.places) if meter.role == "client"]
            trips = [_RoundTripOverNetwork(trip.document, trip.codec, trip.file, server, cards) for trip in trips]
        turns = [(trip, arm) for arm in parameters.identical_arms() for trip in trips]
        for trip, _ in turns if len(turns) > len(trips) else ():
            trip.measure(document.build())
        for repetition in passes(parameters.repetitions):
            thing = document.build()
            for trip, arm in in_turn(turns, repetition):
                started_at = datetime.now(UTC)
                measured = trip.measure(thing)
                columns: Columns = {**about, **arm, "format": trip.codec.format, "codec": trip.codec.name}
                for operation, readings in measured.items():
                    rows.add(repetition, operation, readings, parameters.n, started_at=started_at, **columns)
    thing = document.build()
    return _with_markup(rows.frame(), {codec.format: document.encoder(codec)(thing) for codec in codecs})


@contextmanager
def _served(parameters: Parameters, folder: Path, network: networks.Standing) -> Iterator[Connection]:
    """Be the network's client, and yield a connection with its server."""
    order = {"parameters": parameters.model_dump(mode="json"), "folder": str(folder)}
    starting = started(RECEIVER, order, address=network.addresses["server"], place=network.places["server"])
    with networks.entered(network.places["client"]), starting as server, connected(server, patience_s=0) as connection:
        yield connection


def _run_in_language(parameters: Parameters, about: Columns, data: bytes) -> "pd.DataFrame":
    """Return the rows of another language's harness, which leaves each format's last document."""
    documents: dict[str, bytes] = {}

    def read(folder: Path) -> None:
        documents.update({file.suffix[1:]: file.read_bytes() for file in folder.glob("last.*")})

    rows, _ = run_in_language(parameters, "bookstore", about, data=data, leaves=read)
    return _with_markup(rows.frame(), documents)


def markup_size(document: bytes, format: str) -> int:
    """Return the bytes of a document that are no value: names, tags, quotes, punctuation, escapes, indentation.

    Values are texts, numbers and attributes' values, each as the document writes it, unescaped, in UTF-8. Records that
    stand one after the other, a newline between them, are a document too. ``format`` is ``json`` or ``xml``; raises
    ValueError when the document is none.
    """
    return len(document) - (_xml_values(document) if format == "xml" else _json_values(document))


def _xml_values(document: bytes) -> int:
    try:
        root = ElementTree.fromstring(document)
    except ElementTree.ParseError:
        try:
            root = ElementTree.fromstring(b"<all>" + document + b"</all>")  # several records
        except ElementTree.ParseError as error:
            raise ValueError(f"not XML: {error}") from error
    size = 0
    for element in root.iter():
        texts = [*element.attrib.values(), *([element.text] if element.text and not len(element) else [])]
        size += sum(len(text.encode()) for text in texts)
    return size


def _json_values(document: bytes) -> int:
    def size(value: object) -> int:
        if isinstance(value, dict):
            return sum(map(size, value.values()))
        if isinstance(value, list):
            return sum(map(size, value))
        return len(value.encode()) if isinstance(value, str) else len(json.dumps(value))

    try:
        return size(json.loads(document, parse_int=str, parse_float=str))
    except json.JSONDecodeError:
        return sum(size(json.loads(line, parse_int=str, parse_float=str)) for line in document.split(b"\n"))


def _with_markup(rows: "pd.DataFrame", documents: Mapping[str, bytes]) -> "pd.DataFrame":
    """Return the rows and, beside each size of a format's document, how much of that is markup: always the same."""
    # Only now: who plans cells makes no frame, and it is slow to import.
    import pandas as pd

    sizes = rows[rows["metric"].eq("size") & rows["format"].isin(documents)]
    markup_sizes = {kind: float(markup_size(document, kind)) for kind, document in documents.items()}
    markup = sizes.assign(metric="markup_size", value=sizes["format"].map(markup_sizes), source="parsed")
    return pd.concat([rows, markup], ignore_index=True)


@dataclass(frozen=True)
class Document(Generic[T]):
    """How an object is built anew, and how a codec writes and reads it."""

    build: Callable[[], T]
    encoder: Callable[[Codec], Callable[[T], bytes]]
    decoder: Callable[[Codec], Callable[[bytes], T]]

    def json(self) -> bytes:
        """Return the object as the main JSON codec writes it."""
        return self.encoder(formats.codec("orjson"))(self.build())


def document_of(parameters: Parameters) -> Document[Any]:
    """Return the cell's object: own records, the paper's books, or those with other names."""
    own = parameters.own_records()
    if parameters.keys in KEYS:
        own = flat(parameters.n, parameters.seed, parameters.keys)
    return _own_document(own) if own else _paper_document(parameters)


def _paper_document(parameters: Parameters) -> Document[AnyBookstore]:
    case = 3 if parameters.keys == "nested" else parameters.case
    return Document(
        bookstore_builder(parameters.n, parameters.seed, case),
        lambda codec: codec.encode_bookstore,
        lambda codec: lambda data: codec.decode_bookstore(data, case),
    )


def _own_document(data: Dataset) -> Document[list[Record]]:
    """Return records as one document: each encoded by itself, one after the other, a newline between them."""

    def encoder(codec: Codec) -> Callable[[list[Record]], bytes]:
        encode = formats.encoder(codec, data.schema)
        return lambda records: b"\n".join(map(encode, records))

    def split(document: bytes) -> list[bytes]:
        """Return an XML document's records: a text may hold a newline, but none can hold a newline and a tag."""
        first, *rest = document.split(b"\n" + _XML_RECORD)
        return [first, *(_XML_RECORD + part for part in rest)]

    def decoder(codec: Codec) -> Callable[[bytes], list[Record]]:
        decode = codec.decoder(data.schema)
        if codec.format == "json":
            return lambda document: [decode(line) for line in document.split(b"\n")]
        return lambda document: [decode(part) for part in split(document)]

    return Document(lambda: [dict(record) for record in data.records], encoder, decoder)


@dataclass(frozen=True)
class RoundTrip:
    """One object's way to bytes and back; to a file and back when there is one."""

    document: Document[Any]
    codec: Codec
    file: Path | None

    def measure(self, thing: object) -> dict[str, list[Reading]]:
        """Return the readings of each operation, the document's size among those of marshalling."""
        cpu = client_meters(METRICS)
        data, marshal = timed(self.marshalling(thing), cpu)
        size, source = (self.file.stat().st_size, "stat") if self.file else (len(data), "len")
        back, unmarshal = timed(self.unmarshalling(data), cpu)
        self.hold(back == thing)
        # The next repetition writes a new file, as this one did.
        if self.file:
            self.file.unlink()
        sized = Reading("size", "client", size, "B", source, 1.0)
        return {
            "marshal": [*marshal, sized],
            "unmarshal": unmarshal,
            "round_trip": _together(marshal, unmarshal),
        }

    def hold(self, alike: bool) -> None:
        """Raise `RoundTripError` unless what was read back is what was written."""
        if not alike:
            raise RoundTripError(f"{self.codec.name}: the object that was read back is not the one that was written")

    def marshalling(self, thing: object) -> Callable[[], bytes]:
        """Return what makes a document of the object, or writes it to the file and returns nothing of it."""
        encode, file = self.document.encoder(self.codec), self.file
        if file is None:
            return lambda: encode(thing)

        def to_file() -> bytes:
            with file.open("wb") as sink:
                sink.write(encode(thing))
            return b""

        return to_file

    def unmarshalling(self, data: bytes) -> Callable[[], object]:
        """Return what makes an object of the document, or of the file, when there is one."""
        decode, file = self.document.decoder(self.codec), self.file
        if file is None:
            return lambda: decode(data)

        def from_file() -> object:
            with file.open("rb") as source:
                return decode(source.read())

        return from_file


@dataclass(frozen=True)
class _RoundTripOverNetwork(RoundTrip):
    """One object's way to bytes, to a server, and back to an object there."""

    server: Connection
    cards: Sequence[Meter]

    @override
    def measure(self, thing: object) -> dict[str, list[Reading]]:
        cpu = client_meters(METRICS)
        # It makes the object that it will compare with, which is in no time.
        self.server.socket.sendall(protocol.message(protocol.START, codec=self.codec.name))
        self.server.expect(protocol.READY)
        data, marshal = timed(self.marshalling(thing), cpu)
        # The processor's meters are read within the cards', which take a tenth of a millisecond.
        size, send = timed(partial(self._send, data), [*self.cards, *cpu])
        report = protocol.fields(self.server.expect(protocol.REPORT))
        unmarshal = [Reading(**reading) for reading in report["readings"]]
        self.hold(report["alike"])
        if self.file:
            self.file.unlink()
        sized = Reading("size", "client", size, "B", "len", 1.0)
        return {
            "marshal": [*marshal, sized],
            "send": send,
            "unmarshal": unmarshal,
            "round_trip": _together(marshal, send, unmarshal),
        }

    def _send(self, data: bytes) -> int:
        """Send the document, wait until the server has it, and return its bytes."""
        if self.file:
            data = self.file.read_bytes()
        if len(data) > LIMIT:
            raise protocol.WireError(f"a document of {len(data)} bytes is over the limit of {LIMIT}: take a smaller n")
        self.server.socket.sendall(protocol.frame(protocol.OBJECT, data))
        self.server.expect(protocol.ACK)
        return len(data)


def _together(first: Sequence[Reading], *others: Sequence[Reading]) -> list[Reading]:
    """Return the sums of what is read of each, as the first's."""
    sums = []
    for reading in first:
        parts = [part for readings in (first, *others) for part in readings if part.metric == reading.metric]
        value, resolution = sum(part.value for part in parts), sum(part.resolution for part in parts)
        sums.append(replace(reading, value=value, resolution=resolution))
    return sums
