"""Study `tcp`: encoded objects sent to a multi-threaded server that decodes each on receipt and discards it.

As the paper did: the client sends a start command, the server starts its clock and says that it is ready, the objects
follow, and the end signal stops the clock. Every object is distinct. They are encoded before that window, so that the
server is not kept waiting (``encode: inside`` has them encoded as they are sent); ``idle_time`` says how long it did
wait for bytes. The client sees its own wall time; the server its clock and its CPU; and the machine is read around the
trial as the paper's System Activity Reporter did. Here client and server share the machine, which the paper's did not.

Both formats take turns in one client and one server process (``process: together``): XML goes first in even
repetitions, JSON in odd ones. ``process: apart`` gives a format a client and a server of its own, and only there memory
is read: in a process that both have used it is neither's.

Others use the machine too, hence a secret that each connection begins with. Connections are opened, and it is said,
before the clocks start. Only the transport with a connection an object says it while they run, in the send that the
object needs anyway: about 2 % of that transport's CPU in lane ``python`` (8 us of 540 on a busy machine).

After the timed trials the objects are sent once more, the same way, and the server adds up fingerprints of what it
decodes: unless they are those of the objects sent, the cell fails.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Literal, Self

import pandas as pd
from pydantic import Field, model_validator

from benchbook import formats
from benchbook.datasets import Dataset, persons
from benchbook.deployment import Topology
from benchbook.measure import Reading, idle, machine_meters, timed
from benchbook.studies.cell import Columns, Count, FormatParameters, Output, Rows, in_turn, on_lane, passes
from benchbook.wire.client import Client, Report, Transport, serving
from benchbook.wire.protocol import LIMIT, fingerprints

JAVA: Final = {"jackson": "json", "jaxb": "xml", "jaxb_context": "xml", "dom": "xml", "xmldecoder": "xml"}
"""What lane ``java`` decodes with, and each one's format: the ways to read XML that could explain the paper's ratio."""

SERVER: Final = ("wall_time", "cpu_user", "cpu_system")
MACHINE: Final = ("cpu_user", "cpu_system", "cpu_capacity")
MEMORY: Final = (("server", "memory_rss"), ("machine", "memory_used"), ("machine", "memory_total"))
"""What is read of memory, where a process has one format."""

_TIMES: Final = (
    ("client", "wall_time"),
    *(("server", metric) for metric in SERVER),
    *(("machine", metric) for metric in MACHINE),
)
_IDLE: Final = ("server", "idle_time")
_CPU: Final = ("server", "cpu_total")
"""Lane ``java`` alone: Python's user and system times are exact by themselves."""

EVERY: Final = frozenset(("receive", role, metric) for role, metric in (*_TIMES, *MEMORY, _IDLE, _CPU))
"""What some cell of the study delivers: operation, role and metric."""


class WrongObjectsError(RuntimeError):
    """The server did not decode what was sent: its times mean nothing."""


class Parameters(FormatParameters):
    """One cell: the formats' codecs and how they share processes, a number of objects and of their fields, their way.

    Lane ``java`` has client and server in a JVM each, and the codecs of `JAVA`: Jackson; JAXB with an unmarshaller an
    object, or with a context an object; DOM with a factory an object; ``java.beans.XMLDecoder``. Before anything is
    sent the client takes ``held_mb`` of memory: the machine's state, which the paper's measure of memory depends on.
    """

    lane: Literal["python", "java"] = "python"
    process: Literal["together", "apart"] = "together"
    json_codec: Literal[formats.JsonName, "jackson"] = "orjson"
    xml_codec: Literal[formats.XmlName, "jaxb", "xmldecoder", "dom", "jaxb_context"] = "lxml"
    n: Count = 20000
    fields: Literal[2, 12, 50] = 12
    transport: Transport = "framed"
    connections: int = Field(1, ge=1, le=64)
    encode: Literal["before", "inside"] = "before"
    held_mb: int = Field(0, ge=0, le=4096)

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        java = self.lane == "java"
        if (self.process == "apart") == (self.format == "both"):
            raise ValueError("process: together takes format: both; process: apart takes format: json or xml")
        for codec in (self.json_codec, self.xml_codec):
            if (codec in JAVA) != java:
                raise ValueError(f"codec {codec} is not one of lane: {self.lane}")
        if self.fields != 12 and self.dataset_file:
            raise ValueError(f"fields: {self.fields} is not for own records (dataset_file)")
        if java and (self.fields != 12 or self.dataset_file):
            raise ValueError("lane: java sends people of fields: 12, a class, and no own records (dataset_file)")
        return self


def deployment(parameters: Parameters) -> tuple[str, Topology]:
    """Return that the cell needs no database server; it starts its own."""
    return "none", "none"


def dataset(parameters: Parameters) -> str:
    """Return the name of the cell's objects."""
    return parameters.named(f"people-{parameters.fields}")


def modules(parameters: Parameters) -> tuple[str, ...]:
    """Return what the cell imports by name."""
    if parameters.lane != "python":
        return (formats.module("orjson"),)
    return *map(formats.module, parameters.codecs()), "benchbook.wire.receiver"


def checks(parameters: Parameters) -> list[formats.RoundTrip]:
    """Return what own records are held against: each codec writes them as objects that can be sent, and reads them."""
    return [formats.RoundTrip(name, LIMIT) for name in parameters.codecs()]


def expected(parameters: Parameters) -> set[Output]:
    """Return the operation, role and metric of every value that each repetition must deliver, for each format."""
    memory = MEMORY if parameters.process == "apart" else ()
    alone = parameters.connections == 1 and parameters.transport != "connection"
    more = [_IDLE] * alone + [_CPU] * (parameters.lane == "java")
    return {("receive", role, metric) for role, metric in (*_TIMES, *memory, *more)}


def run(parameters: Parameters) -> pd.DataFrame:
    """Time as many trials of each format as asked, with one server.

    Raises `WrongObjectsError` when the server has not decoded exactly what was sent,
    `benchbook.wire.protocol.WireError` when a conversation breaks, `benchbook.lanes.LaneError` for either elsewhere.
    """
    held = b"\1" * (parameters.held_mb * 2**20)
    data = parameters.own_records() or persons.people(parameters.n, parameters.seed, parameters.fields)
    about: Columns = {"dataset": data.name, "dataset_sha256": data.sha256}
    if parameters.lane != "python":
        encode = formats.codec("orjson").encode_record
        rows, _ = on_lane(parameters, "tcp", about, data=b"\n".join(map(encode, data.records)))
        return _owned(rows.frame(), parameters)
    rows = Rows()
    with serving(parameters.codecs(), data.schema) as server:
        senders = [
            _Sender(parameters, data, Client(server, name, parameters.transport)) for name in parameters.codecs()
        ]
        turns = [(sender, arm) for arm in parameters.identical_arms() for sender in senders]
        for sender, _ in turns if len(turns) > len(senders) else ():
            sender.timed()
        for repetition in passes(parameters.repetitions):
            for sender, arm in in_turn(turns, repetition):
                started_at, readings = sender.timed()
                columns: Columns = {**about, **sender.about, **arm}
                rows.add(repetition, "receive", readings, parameters.n, started_at=started_at, **columns)
        for sender in senders:
            sender.check()
    del held
    return _owned(rows.frame(), parameters)


def _owned(rows: pd.DataFrame, parameters: Parameters) -> pd.DataFrame:
    """Return the rows without what is no format's own: the memory of processes that several have used."""
    wanted = expected(parameters)
    keys = zip(rows["operation"], rows["role"], rows["metric"], strict=True)
    return rows[[key in wanted for key in keys]].reset_index(drop=True)


class _Sender:
    """One codec's trials with the server: the objects encoded before any of them, or as they are sent."""

    def __init__(self, parameters: Parameters, data: Dataset, client: Client) -> None:
        self._data, self._client = data, client
        self._streams = _streams(parameters, data, client.codec)
        self.about = {"format": formats.NAMES[client.codec], "codec": client.codec}

    def timed(self) -> tuple[datetime, list[Reading]]:
        """Time one trial, begun when the server rests: return when it began, and what was read around it."""
        streams = self._streams()
        with self._client.opened(len(streams)) as trial:
            idle([self._client.server.pid])
            started_at = datetime.now(UTC)
            report, readings = timed(partial(trial, streams), machine_meters())
        self._hold(report, 0)
        return started_at, readings + report.readings

    def check(self) -> None:
        """Send the objects once more, and hold that they are what the server decoded."""
        self._hold(self._client.trial(self._streams(), check=True), fingerprints(self._data.records))

    def _hold(self, report: Report, digest: int) -> None:
        if report.objects != len(self._data.records):
            raise WrongObjectsError(
                f"the server received {report.objects} objects, {len(self._data.records)} were sent"
            )
        if report.digest != digest:
            raise WrongObjectsError("the objects that the server decoded are not those that were sent")


def _streams(parameters: Parameters, data: Dataset, codec: str) -> Callable[[], Sequence[Iterable[bytes]]]:
    """Return what gives each connection's objects for a trial: encoded now and once, or while they are sent."""
    encode: Any = formats.codec(codec).encode_record
    parts = [data.records[first :: parameters.connections] for first in range(parameters.connections)]
    if parameters.encode == "inside":
        return lambda: [map(encode, part) for part in parts]
    encoded = [[encode(record) for record in part] for part in parts]
    return lambda: encoded
