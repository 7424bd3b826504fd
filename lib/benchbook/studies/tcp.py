"""Study `tcp`: encoded objects sent to a multi-threaded server that decodes each on receipt and discards it.

As the paper did: the client sends a start command, the server starts its clock and says that it is ready, the objects
follow, and the end signal stops the clock. Every object is distinct. They are encoded before that window, so that the
server is not kept waiting (``encode: inside`` has them encoded as they are sent); ``idle_time`` says how long it did
wait for bytes. The client sees its own wall time; the server its clock and its CPU; and the machine is read around the
trial as the paper's System Activity Reporter did. Here client and server share the machine, which the paper's did not.

Both formats take turns in one client and one server process (``process: together``): XML goes first in even
repetitions, JSON in odd ones. ``process: apart`` gives a format a client and a server of its own, and only there memory
is read: in a process that both have used it is neither's.

The paper's trials followed one another, and its first was its slowest (0.11 ms an object against 0.08). ``trials:
sequence`` has a format's server and client begin with the paper's trials of fewer objects, 20,000, 40,000 and so on,
and then send the cell's own: what a process does first (a JVM loads and compiles) falls where it fell in the paper.
Each repetition begins anew, with processes of its own. The cell's trial alone is ``receive``; all that went before it
is ``warm_up``, reported so that one can see what it took. So one million objects follow five trials, and ``trials:
alone`` beside it is the cold start. A cell runs the earlier trials for itself, rather than one cell reporting all five:
then a row belongs to its cell's ``n`` as everywhere, at the cost of sending 700,000 objects where 300,000 would do.

On a machine with three cores or more client and server of one connection have one each to themselves, as
`benchbook.wire.client.own_processors` says; the source of ``cpu_capacity`` says of how many processors the server's
shares are. A JVM of one processor collects its garbage in one thread, as the paper's will have done.

Others use the machine too, hence a secret that each connection begins with. Connections are opened, and it is said,
before the clocks start. Only the transport with a connection an object says it while they run, in the send that the
object needs anyway: about 2 % of that transport's CPU in language ``python`` (8 us of 540 on a busy machine).

After the timed trials the objects are sent once more, the same way, and the server adds up fingerprints of what it
decodes: unless they are those of the objects sent, the cell fails.
"""

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, Self

from pydantic import Field, model_validator

from benchbook import formats, networks
from benchbook.datasets import Dataset, persons
from benchbook.deployment import Topology
from benchbook.measure import Meter, Reading, idle, machine_meters, timed
from benchbook.studies.cell import (
    Columns,
    Count,
    FormatParameters,
    NetworkName,
    Output,
    Rows,
    in_turn,
    passes,
    run_in_language,
    state_parameters,
)
from benchbook.wire.client import Client, Processors, Report, Transport, on_processor, own_processors, serving
from benchbook.wire.protocol import LIMIT, fingerprints

if TYPE_CHECKING:
    import pandas as pd

VERSION = 2

JAVA: Final = {"jackson": "json", "jaxb": "xml", "jaxb_context": "xml", "dom": "xml", "xmldecoder": "xml"}
"""Decoders of language ``java`` with their format: ways to read XML that could explain the paper's ratio."""

TRIALS: Final = (20_000, 40_000, 60_000, 80_000, 100_000)
"""Objects of the paper's trials of scenario 2, in its order."""

SERVER: Final = ("wall_time", "cpu_user", "cpu_system", "cpu_capacity")
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
"""Language ``java`` alone: Python's user and system times are exact by themselves."""

_CARD: Final = (("client", "card_bytes_sent"), ("client", "card_bytes_received"))
"""In a network: what travels, both ways, in whole frames."""

_WARM_UP: Final = ("warm_up", "server", "wall_time")
"""Of all earlier trials together; its items are their objects."""

EVERY: Final = frozenset(("receive", role, metric) for role, metric in (*_TIMES, *MEMORY, *_CARD, _IDLE, _CPU)) | {
    _WARM_UP
}
"""What some cell of the study delivers: operation, role and metric."""


class WrongObjectsError(RuntimeError):
    """The server did not decode what was sent: its times mean nothing."""


class Parameters(FormatParameters):
    """One cell: the formats' codecs and how they share processes, a number of objects and of their fields, their way.

    Language ``java`` has client and server in a JVM each, and the codecs of `JAVA`: Jackson; JAXB with an
    unmarshaller an object, or with a context an object; DOM with a factory an object; ``java.beans.XMLDecoder``. Its
    server's ``heap`` may grow to what the JVM chooses (a quarter of the machine's memory), or to so many megabytes
    (``-Xmx``). Before anything is sent the client takes ``held_mb`` of memory: the machine's state, which the paper's
    measure of memory depends on.
    """

    language: Literal["python", "java"] = "python"
    process: Literal["together", "apart"] = "together"
    json_codec: Literal[formats.JsonName, "jackson"] = "orjson"
    xml_codec: Literal[formats.XmlName, "jaxb", "xmldecoder", "dom", "jaxb_context"] = "lxml"
    n: Count = 20000
    fields: Literal[2, 12, 50] = 12
    transport: Transport = "framed"
    connections: int = Field(1, ge=1, le=64)
    encode: Literal["before", "inside"] = "before"
    held_mb: int = Field(0, ge=0, le=4096)
    trials: Literal["alone", "sequence"] = "alone"
    heap: str = Field("default", pattern=r"^(default|[1-9]\d{1,5}m)$")
    network: NetworkName = networks.NONE

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        java = self.language == "java"
        if (self.process == "apart") == (self.format == "both"):
            raise ValueError("process: together takes format: both; process: apart takes format: json or xml")
        if self.trials == "sequence" and self.process != "apart":
            raise ValueError(
                "trials: sequence is of process: apart: a format's trials follow one another in one server"
            )
        if self.heap != "default" and not java:
            raise ValueError(f"heap: {self.heap} is a JVM's, of language: java")
        for codec in (self.json_codec, self.xml_codec):
            if (codec in JAVA) != java:
                raise ValueError(f"codec {codec} is not one of language: {self.language}")
        if self.fields != 12 and self.dataset_file:
            raise ValueError(f"fields: {self.fields} is not for own records (dataset_file)")
        if java and (self.fields != 12 or self.dataset_file):
            raise ValueError("language: java sends people of fields: 12, a class, and no own records (dataset_file)")
        return self

    def earlier(self) -> list[int]:
        """Return how many objects each of the trials has that go before the cell's own."""
        return [count for count in TRIALS if count < self.n] if self.trials == "sequence" else []


def deployment(parameters: Parameters) -> tuple[str, Topology]:
    """Return that the cell needs no database server; it starts its own."""
    return "none", "none"


def dataset(parameters: Parameters) -> str:
    """Return the name of the cell's objects."""
    return parameters.named(f"people-{parameters.fields}")


def modules(parameters: Parameters) -> tuple[str, ...]:
    """Return what the cell imports by name."""
    if parameters.language != "python":
        return (formats.module("orjson"),)
    return *map(formats.module, parameters.codecs()), "benchbook.wire.receiver"


def checks(parameters: Parameters) -> list[formats.RoundTrip]:
    """Return what own records are held against: each codec writes them as objects that can be sent, and reads them."""
    return [formats.RoundTrip(name, LIMIT) for name in parameters.codecs()]


def expected(parameters: Parameters) -> set[Output]:
    """Return the operation, role and metric of every value that each repetition must deliver, for each format."""
    owed = {*_TIMES}
    if parameters.process == "apart":
        owed.update(MEMORY)
    if parameters.connections == 1 and parameters.transport != "connection":
        owed.add(_IDLE)
    if parameters.language == "java":
        owed.add(_CPU)
    if parameters.network != networks.NONE:
        owed.update(_CARD)
    outputs = {("receive", role, metric) for role, metric in owed}
    return outputs | {_WARM_UP} if parameters.earlier() else outputs


@state_parameters
def run(parameters: Parameters) -> "pd.DataFrame":
    """Time as many trials of each format as asked, with one server.

    Raises `WrongObjectsError` when the server has not decoded exactly what was sent,
    `benchbook.wire.protocol.WireError` when a conversation breaks, `benchbook.languages.LanguageError` for either
    elsewhere.
    """
    # Only now: who plans cells makes no frame, and it is slow to import.
    import pandas as pd

    held = b"\1" * (parameters.held_mb * 2**20)
    data = parameters.own_records() or persons.people(parameters.n, parameters.seed, parameters.fields)
    about: Columns = {"dataset": data.name, "dataset_sha256": data.sha256}
    # Each repetition of a sequence is a run of its own: it begins with processes that have sent nothing yet.
    in_sequence = parameters.trials == "sequence"
    runs = passes(parameters.repetitions) if in_sequence else range(1)
    each = parameters.model_copy(update={"repetitions": 1}) if in_sequence else parameters
    # Several connections are as many threads on either side: one processor would be no fair place for them.
    placeable = parameters.connections == 1 and (parameters.language == "python" or shutil.which("taskset") is not None)
    with (
        networks.standing(parameters.network, ("client", "server")) as network,
        networks.entered(network.places.get("client")),
    ):
        in_network = network.places.get("server")
        placed = own_processors() if placeable and not (in_network and in_network.processors) else None
        if parameters.language == "python":
            frames = [_here(each, data, about, placed, network) for _ in runs]
        else:
            sent = b"\n".join(map(formats.codec("orjson").encode_record, data.records))
            of_server = (
                {"address": network.addresses["server"], "command": networks.command(in_network)}
                if in_network
                else None
            )
            with on_processor(placed.client if placed else None):
                answers = [
                    run_in_language(each, "tcp", about, data=sent, processors=placed, server=of_server) for _ in runs
                ]
            frames = [rows.frame() for rows, _ in answers]
    del held
    if in_sequence:
        frames = [frame.assign(repetition=repetition) for repetition, frame in enumerate(frames)]
    return _owned(pd.concat(frames, ignore_index=True), parameters)


def _here(
    parameters: Parameters, data: Dataset, about: Columns, placed: Processors | None, network: networks.Standing
) -> "pd.DataFrame":
    """Return the rows of all repetitions with one server, in language ``python``."""
    rows = Rows()
    client_on, server_on = placed or (None, None)
    meters = [meter for meter in networks.card_meters(network.places) if meter.role == "client"] + machine_meters()
    at = network.addresses["server"], network.places.get("server")
    with serving(parameters.codecs(), data.schema, server_on, *at) as server, on_processor(client_on):
        clients = [Client(server, name, parameters.transport) for name in parameters.codecs()]
        senders = [_Sender(parameters, data, client, meters) for client in clients]
        turns = [(sender, arm) for arm in parameters.identical_arms() for sender in senders]
        for sender, _ in turns if len(turns) > len(senders) else ():
            sender.timed()
        for repetition in range(1) if parameters.trials == "sequence" else passes(parameters.repetitions):
            for sender, arm in in_turn(turns, repetition):
                columns: Columns = {**about, **sender.about, **arm}
                if earlier := parameters.earlier():
                    warm_up = [sender.timed(count) for count in earlier]
                    took = _wall_time(reading for _, readings in warm_up for reading in readings)
                    rows.add(repetition, "warm_up", [took], sum(earlier), started_at=warm_up[0][0], **columns)
                started_at, readings = sender.timed()
                rows.add(repetition, "receive", readings, parameters.n, started_at=started_at, **columns)
        for sender in senders:
            sender.check()
    return rows.frame()


def _wall_time(readings: Iterable[Reading]) -> Reading:
    """Return the sum of the server's windows."""
    windows = [reading for reading in readings if (reading.role, reading.metric) == ("server", "wall_time")]
    resolution = sum(reading.resolution for reading in windows)
    return replace(windows[0], value=sum(reading.value for reading in windows), resolution=resolution)


def _owned(rows: "pd.DataFrame", parameters: Parameters) -> "pd.DataFrame":
    """Return the rows without what is no format's own: the memory of processes that several have used."""
    wanted = expected(parameters)
    keys = zip(rows["operation"], rows["role"], rows["metric"], strict=True)
    return rows[[key in wanted for key in keys]].reset_index(drop=True)


class _Sender:
    """One codec's trials with the server: the objects encoded before any of them, or as they are sent."""

    def __init__(self, parameters: Parameters, data: Dataset, client: Client, meters: Sequence[Meter]) -> None:
        self._data, self._client, self._meters = data, client, meters
        self._streams = _streams(parameters, data, client.codec)
        self.about = {"format": formats.NAMES[client.codec], "codec": client.codec}

    def timed(self, count: int | None = None) -> tuple[datetime, list[Reading]]:
        """Time one trial of the first so many objects, or of all, begun when the server rests.

        Return when it began, and what was read around it.
        """
        sent = len(self._data.records) if count is None else count
        streams = self._streams(sent)
        with self._client.opened(len(streams)) as trial:
            idle([self._client.server.pid])
            started_at = datetime.now(UTC)
            report, readings = timed(partial(trial, streams), self._meters)
        self._hold(report, sent, 0)
        return started_at, readings + report.readings

    def check(self) -> None:
        """Send the objects once more, and hold that they are what the server decoded."""
        sent = len(self._data.records)
        report = self._client.trial(self._streams(sent), check=True)
        self._hold(report, sent, fingerprints(self._data.records))

    def _hold(self, report: Report, sent: int, digest: int) -> None:
        if report.objects != sent:
            raise WrongObjectsError(f"the server received {report.objects} objects, {sent} were sent")
        if report.digest != digest:
            raise WrongObjectsError("the objects that the server decoded are not those that were sent")


def _streams(parameters: Parameters, data: Dataset, codec: str) -> Callable[[int], Sequence[Iterable[bytes]]]:
    """Return what gives each connection's part of the first so many objects: encoded now and once, or while sent."""
    encode = formats.encoder(formats.codec(codec), data.schema)
    firsts = range(parameters.connections)
    if parameters.encode == "inside":
        return lambda count: [map(encode, data.records[:count][first :: len(firsts)]) for first in firsts]
    encoded = [encode(record) for record in data.records]
    return lambda count: [encoded[first : count : len(firsts)] for first in firsts]
