"""Study `tcp`: encoded objects sent to a multi-threaded server that decodes each on receipt and discards it.

As the paper did: the client sends a start command, the server starts its clock and says that it is ready, the objects
follow, and the end signal stops the clock. Every object is distinct and encoded inside that window. The client sees its
own wall time; the server its clock, its CPU and its memory; and the machine is read around the trial as the paper's
System Activity Reporter did. Here client and server share the machine, which the paper's did not.

So do its other users, hence a secret that each connection begins with. Connections are opened, and it is said, before
the clocks start. Only the transport with a connection an object says it while they run, in the send that the object
needs anyway: about 2 % of that transport's CPU in lane ``python`` (8 us of 540 on a busy machine).

After the timed trials the objects are sent once more, the same way, and the server adds up fingerprints of what it
decodes: unless they are those of the objects sent, the cell fails.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Literal, Self

import pandas as pd
from pydantic import Field, model_validator

from benchbook import formats
from benchbook.datasets import Dataset, persons
from benchbook.deployment import Topology
from benchbook.measure import idle, machine_meters, timed
from benchbook.studies.cell import CellParameters, Count, Rows, on_lane
from benchbook.wire.client import Client, Report, Transport, serving
from benchbook.wire.protocol import fingerprints

JAVA: Final = {"jackson": "json", "jaxb": "xml", "jaxb_context": "xml", "dom": "xml", "xmldecoder": "xml"}
"""What lane ``java`` decodes with, and each one's format: the ways to read XML that could explain the paper's ratio."""

SERVER: Final = ("wall_time", "cpu_user", "cpu_system", "memory_rss")
MACHINE: Final = ("cpu_user", "cpu_system", "cpu_capacity", "memory_used", "memory_total")


class WrongObjectsError(RuntimeError):
    """The server did not decode what was sent: its times mean nothing."""


class Parameters(CellParameters):
    """One cell: a format and its codec, a number of objects and of their fields, and how they travel.

    Lane ``java`` has client and server in a JVM each, and the codecs of `JAVA`: Jackson; JAXB with an unmarshaller an
    object, or with a context an object; DOM with a factory an object; ``java.beans.XMLDecoder``.
    """

    lane: Literal["python", "java"] = "python"
    format: Literal["json", "xml"] = "json"
    codec: Literal[
        "orjson", "json", "msgspec", "pydantic", "lxml", "etree", "xsdata", "pydantic_xml",
        "jackson", "jaxb", "jaxb_context", "dom", "xmldecoder",
    ] = "orjson"  # fmt: skip
    n: Count = 20000
    fields: Literal[2, 12, 50] = 12
    transport: Transport = "framed"
    connections: int = Field(1, ge=1, le=64)
    encode: Literal["inside", "before"] = "inside"

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        java = self.lane == "java"
        if (self.codec in JAVA) != java:
            raise ValueError(f"codec: {self.codec} is not one of lane: {self.lane}")
        if (writes := (JAVA if java else formats.NAMES)[self.codec]) != self.format:
            raise ValueError(f"codec: {self.codec} writes {writes}, not {self.format}")
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
    return formats.module(parameters.codec), "benchbook.wire.server"


def expected(parameters: Parameters) -> set[tuple[str, str, str]]:
    """Return the operation, role and metric of every value that each repetition must deliver."""
    values = [("client", "wall_time"), *(("server", name) for name in SERVER), *(("machine", name) for name in MACHINE)]
    return {("receive", role, metric) for role, metric in values}


def run(parameters: Parameters) -> pd.DataFrame:
    """Time as many trials as asked, with one server.

    Raises `WrongObjectsError` when the server has not decoded exactly what was sent,
    `benchbook.wire.protocol.WireError` when a conversation breaks, `benchbook.lanes.LaneError` for either elsewhere.
    """
    data = parameters.own_records() or persons.people(parameters.n, parameters.seed, parameters.fields)
    columns: dict[str, Any] = {"dataset": data.name, "dataset_sha256": data.sha256}
    if parameters.lane != "python":
        encode = formats.codec("orjson").encode_record
        return on_lane(parameters, "tcp", columns, data=b"\n".join(map(encode, data.records)))[0].frame()
    rows = Rows()
    with serving(parameters.codec, data.schema) as server:
        client = Client(server, parameters.transport)
        for repetition in range(parameters.repetitions):
            streams = _streams(parameters, data)
            with client.opened(len(streams)) as trial:
                idle([server.pid])
                started_at = datetime.now(UTC)
                report, readings = timed(partial(trial, streams), machine_meters())
            _check(report, data)
            readings += report.readings
            rows.add(repetition, "receive", readings, parameters.n, started_at=started_at, **columns)
        _check(client.trial(_streams(parameters, data), check=True), data, fingerprints(data.records))
    return rows.frame()


def _streams(parameters: Parameters, data: Dataset) -> list[Iterable[bytes]]:
    """Return each connection's objects: encoded while they are sent, or already encoded."""
    encode: Any = formats.codec(parameters.codec).encode_record
    parts = [data.records[first :: parameters.connections] for first in range(parameters.connections)]
    if parameters.encode == "inside":
        return [map(encode, part) for part in parts]
    return [[encode(record) for record in part] for part in parts]


def _check(report: Report, data: Dataset, digest: int = 0) -> None:
    if report.objects != len(data.records):
        raise WrongObjectsError(f"the server received {report.objects} objects, {len(data.records)} were sent")
    if report.digest != digest:
        raise WrongObjectsError("the objects that the server decoded are not those that were sent")
