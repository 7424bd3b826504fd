"""Study `tcp`: encoded objects sent to a multi-threaded server that decodes and discards each.

As in the paper, the client sends a start command, and the server starts its clock and answers that
it is ready. The objects follow, and the end signal stops the clock. All objects are different. They
are encoded before that window, so that the server does not wait for the encoder; with ``encode:
inside`` they are encoded as they are sent. ``idle_time`` is the time that the server still waited
for bytes. The client measures its wall time, the server its clock and its CPU. The machine is read
around the trial, as the paper's System Activity Reporter did. Here client and server share the
machine; the paper's did not.

With ``process: together`` both formats alternate in one client and one server process: XML goes
first in even repetitions, JSON in odd ones. With ``process: apart`` a format has its own client and
server. Only there memory is read, because the memory of a process that both have used belongs to
neither.

The paper's trials followed one another, and its first was its slowest (0.11 ms per object against
0.08). With ``trials: sequence`` a format's server and client begin with the paper's smaller trials
of 20,000, 40,000 and so on, before the cell's own. So what a process does first, such as a JVM that
loads and compiles, happens where it happened in the paper. Each repetition begins with new
processes. The cell's own trial is ``receive``; everything before it is ``warm_up``. One million
objects follow five trials; ``trials: alone`` is the cold start. Each cell runs the earlier trials
again, so that a row belongs to its cell's ``n`` as everywhere. That sends 700,000 objects instead
of the 300,000 of one cell that would report all five.

On a machine with three cores or more, client and server of one connection have one core each
(`benchbook.sockets.client.choose_processors`). The source of ``cpu_capacity`` has the number of
processors to which the server's shares are relative. A JVM with one processor collects its garbage
in one thread, as the paper's probably did.

Other users can connect, too, so each connection begins with a secret. Connections are opened, and
it is sent, before the clocks start. Only with a connection per object it is sent while they run, in
the same send as the object. There it takes about 2 % of the transport's CPU in Python (8 us of 540
on a busy machine).

After the timed trials the objects are sent once more, and the server adds up hashes of the objects
that it decodes. The cell fails unless they are those of the objects sent.
"""

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain, product
from typing import TYPE_CHECKING, Final, Literal, Self

from pydantic import Field, model_validator

from benchbook import codecs
from benchbook.codecs.codec import CodecCheck, JsonName, XmlName
from benchbook.datasets import persons
from benchbook.datasets.dataset import Dataset
from benchbook.measure import Meter, Reading, make_machine_meters, time_action, wait_until_idle
from benchbook.servers import networks
from benchbook.servers.own_processors import count_own_processors, read_place
from benchbook.sockets.client import (
    Client,
    Processors,
    Transport,
    TrialReport,
    choose_processors,
    pin_to_processor,
    start_receiver,
)
from benchbook.sockets.protocol import MAX_PAYLOAD_BYTES, sum_hashes
from benchbook.studies.cell import (
    Columns,
    Count,
    FormatParameters,
    NetworkName,
    Output,
    Rows,
    iterate_repetitions,
    order_turns,
    state_parameters,
)
from benchbook.studies.language_cell import run_in_language
from benchbook.studies.study import Study

if TYPE_CHECKING:
    import pandas as pd

VERSION = 2

JAVA_CODECS: Final = {
    "jackson": "json",
    "jaxb": "xml",
    "jaxb_context": "xml",
    "dom": "xml",
    "xmldecoder": "xml",
}
"""Decoders of language ``java``, with their formats; each could explain the paper's ratio."""

PAPER_TRIALS: Final = (20_000, 40_000, 60_000, 80_000, 100_000)
"""Objects of the paper's trials of scenario 2, in their order."""

MEMORY_OUTPUTS: Final = (
    ("server", "memory_rss"),
    ("machine", "memory_used"),
    ("machine", "memory_total"),
)
"""Role and metric of the values of memory, when a process has one format."""

_TIME_OUTPUTS: Final = (
    ("client", "wall_time"),
    *(("server", metric) for metric in ("wall_time", "cpu_user", "cpu_system", "cpu_capacity")),
    *(("machine", metric) for metric in ("cpu_user", "cpu_system", "cpu_capacity")),
)
_IDLE_OUTPUT: Final = ("server", "idle_time")
_CPU_OUTPUT: Final = ("server", "cpu_total")
"""Only in Java: Python's user and system times are exact."""

_CARD_OUTPUTS: Final = (("client", "card_bytes_sent"), ("client", "card_bytes_received"))
"""In a network: the bytes of whole frames in both directions."""

_WARM_UP_OUTPUT: Final = ("warm_up", "server", "wall_time")
"""The time of all earlier trials together; its count is that of their objects."""

_RECEIVE_OUTPUTS: Final = (
    *_TIME_OUTPUTS,
    *MEMORY_OUTPUTS,
    *_CARD_OUTPUTS,
    _IDLE_OUTPUT,
    _CPU_OUTPUT,
)


class WrongObjectsError(RuntimeError):
    """The server did not decode the objects that were sent: its times mean nothing."""


class Parameters(FormatParameters):
    """One cell: codecs and how they share processes, the objects, and how they are sent.

    Parameters
    ----------
    language
        ``java`` has a JVM each for client and server, and the codecs of `JAVA_CODECS`: Jackson;
        JAXB with an unmarshaller or a context per object; DOM with a factory per object;
        ``java.beans.XMLDecoder``.
    fields
        Fields of an object.
    connections
        Connections at the same time, with a thread each.
    held_mb
        Megabytes of memory that the client takes before anything is sent. The paper's measure of
        memory depends on the state of the machine.
    heap
        Largest heap of Java's server, as in ``-Xmx``; by default a quarter of the memory.
    """

    language: Literal["python", "java"] = "python"
    process: Literal["together", "apart"] = "together"
    json_codec: Literal[JsonName, "jackson"] = "orjson"
    xml_codec: Literal[XmlName, "jaxb", "xmldecoder", "dom", "jaxb_context"] = "lxml"
    n: Count = 20000
    fields: Literal[2, 12, 50] = 12
    transport: Transport = "framed"
    connections: int = Field(1, ge=1, le=64)
    encode: Literal["before", "inside"] = "before"
    held_mb: int = Field(0, ge=0, le=4096)
    trials: Literal["alone", "sequence"] = "alone"
    heap: str = Field("default", pattern=r"^(default|[1-9]\d{1,5}m)$")
    network: NetworkName = networks.NO_NETWORK

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        is_java = self.language == "java"
        if (self.process == "apart") == (self.format == "both"):
            raise ValueError(
                "process: together takes format: both; process: apart takes format: json or xml"
            )
        if self.trials == "sequence" and self.process != "apart":
            raise ValueError(
                "trials: sequence is of process: apart:"
                " a format's trials follow one another in one server"
            )
        if self.heap != "default" and not is_java:
            raise ValueError(f"heap: {self.heap} is a JVM's, of language: java")
        for codec in (self.json_codec, self.xml_codec):
            if (codec in JAVA_CODECS) != is_java:
                raise ValueError(f"codec {codec} is not one of language: {self.language}")
        if self.fields != 12 and self.dataset_file:
            raise ValueError(f"fields: {self.fields} is not for your records (dataset_file)")
        if is_java and (self.fields != 12 or self.dataset_file):
            raise ValueError(
                "language: java sends people of fields: 12, a class,"
                " and none of your records (dataset_file)"
            )
        return self

    def earlier_trials(self) -> list[int]:
        """Return the numbers of objects of the trials before the cell's own."""
        if self.trials == "alone":
            return []
        return [count for count in PAPER_TRIALS if count < self.n]


def modules(parameters: Parameters) -> tuple[str, ...]:
    """Return the modules that the cell imports by name."""
    if parameters.language != "python":
        return (codecs.find_module("orjson"),)
    return *map(codecs.find_module, parameters.codecs()), "benchbook.sockets.receiver"


def expected(parameters: Parameters) -> set[Output]:
    """Return the operation, role and metric of each value of a repetition, for each format."""
    received = {*_TIME_OUTPUTS}
    if parameters.process == "apart":
        received.update(MEMORY_OUTPUTS)
    if parameters.connections == 1 and parameters.transport != "connection":
        received.add(_IDLE_OUTPUT)
    if parameters.language == "java":
        received.add(_CPU_OUTPUT)
    if parameters.network != networks.NO_NETWORK:
        received.update(_CARD_OUTPUTS)
    outputs = {("receive", *output) for output in received}
    return outputs | {_WARM_UP_OUTPUT} if parameters.earlier_trials() else outputs


@state_parameters
def run(parameters: Parameters) -> "pd.DataFrame":
    """Time the trials of each format in every repetition, with one server.

    Raises `WrongObjectsError` when the server has not decoded exactly the objects sent, and
    `benchbook.sockets.protocol.WireError` when a connection breaks. Another language's harness
    fails with `benchbook.studies.harness.LanguageError` for both.
    """
    # Imported here, because it is slow to import and a plan does not need it.
    import pandas as pd

    held = b"\1" * (parameters.held_mb * 2**20)
    data = parameters.own_records(keyed=False) or persons.generate_people(
        parameters.n, parameters.seed, parameters.fields
    )
    run_once = _run_in_python if parameters.language == "python" else _run_in_java
    with (
        networks.open_network(parameters.network, ("client", "server")) as network,
        networks.enter_place(network.places.get("client")),
    ):
        processors = _choose_processors(parameters, network)
        if parameters.trials == "sequence":
            # Each repetition begins with processes that have not sent anything yet.
            once = parameters.model_copy(update={"repetitions": 1})
            frames = []
            for repetition in iterate_repetitions(parameters.repetitions):
                frame = run_once(once, data, processors, network)
                frames.append(frame.assign(repetition=repetition))
        else:
            frames = [run_once(parameters, data, processors, network)]
        own_processors = _count_own_processors(processors, network)
    del held
    frame = pd.concat(frames, ignore_index=True).assign(own_processors=own_processors)
    return _drop_shared_outputs(frame, parameters)


STUDY: Final = Study(
    "tcp",
    Parameters,
    run=run,
    expected=expected,
    dataset=lambda parameters: parameters.name_dataset(f"people-{parameters.fields}"),
    modules=modules,
    checks=lambda parameters: [CodecCheck(name, MAX_PAYLOAD_BYTES) for name in parameters.codecs()],
    outputs=frozenset(("receive", *output) for output in _RECEIVE_OUTPUTS) | {_WARM_UP_OUTPUT},
)


def _choose_processors(
    parameters: Parameters, network: networks.EmulatedNetwork
) -> Processors | None:
    """Return processors for client and server; None when the system is to choose."""
    # Several connections are as many threads at both ends: they need more than one processor.
    if parameters.connections > 1:
        return None
    if parameters.language != "python" and shutil.which("taskset") is None:
        return None
    place = network.places.get("server")
    if place and place.processors:
        return None
    return choose_processors()


def _count_own_processors(
    processors: Processors | None, network: networks.EmulatedNetwork
) -> int | None:
    """Return how many processors client and server had to themselves, the fewer of both."""
    client, server = processors or (None, None)
    with pin_to_processor(client):
        of_client = read_place(network.places.get("client"))
    with pin_to_processor(server):
        of_server = read_place(network.places.get("server"))
    return count_own_processors([of_client, of_server])


def _describe_data(data: Dataset) -> Columns:
    return {"dataset": data.name, "dataset_sha256": data.sha256}


def _run_in_java(
    parameters: Parameters,
    data: Dataset,
    processors: Processors | None,
    network: networks.EmulatedNetwork,
) -> "pd.DataFrame":
    """Return the rows of all repetitions with one server, in language ``java``."""
    sent = b"\n".join(map(codecs.load_codec("orjson").encode_record, data.records))
    place = network.places.get("server")
    server = None
    if place:
        server = {"address": network.addresses["server"], "command": networks.make_prefix(place)}
    with pin_to_processor(processors.client if processors else None):
        rows, _ = run_in_language(
            parameters,
            "tcp",
            _describe_data(data),
            data=sent,
            processors=processors,
            server=server,
        )
    return rows.frame()


def _run_in_python(
    parameters: Parameters,
    data: Dataset,
    processors: Processors | None,
    network: networks.EmulatedNetwork,
) -> "pd.DataFrame":
    """Return the rows of all repetitions with one server, in language ``python``."""
    rows = Rows()
    client_processor, server_processor = processors or (None, None)
    cards = networks.make_card_meters(network.places)
    meters = [*(meter for meter in cards if meter.role == "client"), *make_machine_meters()]
    server_address = network.addresses["server"]
    server_place = network.places.get("server")
    with (
        start_receiver(
            parameters.codecs(), data.schema, server_processor, server_address, server_place
        ) as server,
        pin_to_processor(client_processor),
    ):
        # One sender per codec, all with the same server.
        clients = [Client(server, name, parameters.transport) for name in parameters.codecs()]
        senders = [_Sender(parameters, data, client, meters) for client in clients]
        turns = list(product(parameters.aa_arms(), senders))
        # What a first use costs must not be in only one arm of an A/A check.
        if len(turns) > len(senders):
            for _, sender in turns:
                sender.time_trial()
        if parameters.trials == "sequence":
            repetitions: Iterable[int] = range(1)
        else:
            repetitions = iterate_repetitions(parameters.repetitions)
        for repetition in repetitions:
            for arm, sender in order_turns(turns, repetition):
                columns: Columns = {**_describe_data(data), **sender.about, **arm}
                sender.add_trials(rows, repetition, columns)
        # Once more, untimed: whether the server decodes what was sent.
        for sender in senders:
            sender.check()
    return rows.frame()


def _sum_wall_times(readings: Iterable[Reading]) -> Reading:
    """Return the sum of the server's wall times."""
    server = [reading for reading in readings if reading.role == "server"]
    times = [reading for reading in server if reading.metric == "wall_time"]
    value = sum(reading.value for reading in times)
    resolution = sum(reading.resolution for reading in times)
    return replace(times[0], value=value, resolution=resolution)


def _drop_shared_outputs(rows: "pd.DataFrame", parameters: Parameters) -> "pd.DataFrame":
    """Return the rows without the memory of processes that several formats have used."""
    wanted = expected(parameters)
    keys = zip(rows["operation"], rows["role"], rows["metric"], strict=True)
    return rows[[key in wanted for key in keys]].reset_index(drop=True)


class _Sender:
    """The trials of one codec with the server."""

    def __init__(
        self, parameters: Parameters, data: Dataset, client: Client, meters: Sequence[Meter]
    ) -> None:
        self._parameters, self._data, self._client, self._meters = parameters, data, client, meters
        self._streams = _prepare_streams(parameters, data, client.codec)
        self.about = {"format": codecs.NAMES[client.codec], "codec": client.codec}

    def add_trials(self, rows: Rows, repetition: int, columns: Columns) -> None:
        """Time the cell's trial, after the earlier ones of a sequence, and add their rows."""
        earlier = self._parameters.earlier_trials()
        if earlier:
            warm_up = [self.time_trial(count) for count in earlier]
            wall_time = _sum_wall_times(chain.from_iterable(readings for _, readings in warm_up))
            started_at = warm_up[0][0]
            rows.add(
                repetition, "warm_up", [wall_time], sum(earlier), started_at=started_at, **columns
            )
        started_at, readings = self.time_trial()
        n = self._parameters.n
        rows.add(repetition, "receive", readings, n, started_at=started_at, **columns)

    def time_trial(self, count: int | None = None) -> tuple[datetime, list[Reading]]:
        """Time one trial of the first `count` objects (None: all), when the server is idle.

        Return the time when it began (UTC), and the readings.
        """
        sent = len(self._data.records) if count is None else count
        streams = self._streams(sent)
        with self._client.open_trial(len(streams)) as trial:
            wait_until_idle([self._client.server.pid])
            started_at = datetime.now(UTC)
            report, readings = time_action(partial(trial, streams), self._meters)
        self._check_report(report, sent, 0)
        return started_at, readings + report.readings

    def check(self) -> None:
        """Send the objects once more; raise `WrongObjectsError` unless the server decodes these."""
        sent = len(self._data.records)
        report = self._client.run_trial(self._streams(sent), check=True)
        self._check_report(report, sent, sum_hashes(self._data.records))

    def _check_report(self, report: TrialReport, sent: int, digest: int) -> None:
        if report.objects != sent:
            raise WrongObjectsError(
                f"the server received {report.objects} objects, {sent} were sent"
            )
        if report.digest != digest:
            raise WrongObjectsError(
                "the objects that the server decoded are not those that were sent"
            )


def _prepare_streams(
    parameters: Parameters, data: Dataset, codec: str
) -> Callable[[int], Sequence[Iterable[bytes]]]:
    """Return a function of a number of objects, which returns each connection's encoded objects.

    They are encoded here and once, or while they are sent.
    """
    encode = codecs.choose_encoder(codecs.load_codec(codec), data.schema)
    firsts = range(parameters.connections)
    if parameters.encode == "inside":
        return lambda count: [
            map(encode, data.records[:count][first :: len(firsts)]) for first in firsts
        ]
    encoded = [encode(record) for record in data.records]
    return lambda count: [encoded[first : count : len(firsts)] for first in firsts]
