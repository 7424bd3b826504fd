"""The client: it starts the server in a process of its own, and sends trials in four transports.

``framed``
    One send per object.
``batched``
    Objects are collected into sends of 64 KiB.
``acknowledged``
    One send per object, and the server's acknowledgement before the next.
``connection``
    A new connection for each object, closed after its acknowledgement.

With one connection the objects follow the start command, as in the paper. Several connections join
the trial that a control connection has started, each with a client thread. The end signal follows
when all have sent everything.

Every connection begins with the server's secret. Connections are opened, and the secret is sent,
before any clock starts. Only those of ``connection`` are opened while it runs: there the secret is
part of the object's own send and costs no round trip.

The paper's client and server had a machine each. Here they share one. If it has enough processors,
each gets one of its own (`choose_processors`), because the scheduler would move them otherwise.
"""

import json
import os
import secrets
import selectors
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeVar, get_args

from benchbook.measure import Reading
from benchbook.schema import Schema
from benchbook.servers import networks, processes
from benchbook.servers.deployment import Place
from benchbook.servers.networks import LOOPBACK
from benchbook.sockets import protocol
from benchbook.sockets.protocol import (
    ACK,
    ERROR,
    OBJECT,
    WireError,
    pack_frame,
    pack_message,
    read_frame,
    unpack_message,
)

Transport = Literal["framed", "batched", "acknowledged", "connection"]
TRANSPORTS: Final[tuple[Transport, ...]] = get_args(Transport)

_BATCH_BYTES: Final = 2**16

Objects = Iterable[bytes]

T = TypeVar("T")


class Processors(NamedTuple):
    """The processors that client and server run on."""

    client: int
    server: int


def choose_processors() -> Processors | None:
    """Return processors for client and server, on different cores; None without enough cores."""
    if sys.platform != "linux":
        return None
    # Take one processor of each core.
    cores: dict[str, int] = {}
    for processor in sorted(os.sched_getaffinity(0)):
        cores.setdefault(_read_siblings(processor), processor)
    # One core is for everything else, which would disturb the decoder.
    if len(cores) < 3:
        return None
    # The last ones, because the first processor serves most interrupts.
    return Processors(*list(cores.values())[-2:])


def _read_siblings(processor: int) -> str:
    """Return the list of the processors on the same core, as the system writes it."""
    try:
        folder = Path(f"/sys/devices/system/cpu/cpu{processor}/topology")
        return (folder / "thread_siblings_list").read_text(encoding="ascii")
    except OSError:
        # Not every kernel has this file: then each processor counts as a core.
        return str(processor)


@contextmanager
def pin_to_processor(processor: int | None) -> Iterator[None]:
    """Run this thread and the processes that it starts on one processor; None changes nothing."""
    if sys.platform != "linux" or processor is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {processor})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass(frozen=True)
class SocketServer:
    """A running server: its address, port and process, and the secret of every connection."""

    port: int
    pid: int
    secret: bytes = field(repr=False)
    address: str = LOOPBACK


@contextmanager
def start_receiver(
    codecs: Sequence[str],
    schema: Schema,
    processor: int | None = None,
    address: str = LOOPBACK,
    place: Place | None = None,
) -> Iterator[SocketServer]:
    """Run the server of `benchbook.sockets.receiver` while the context lasts.

    To be called from the main thread. Raises `WireError` when the server does not start.

    Parameters
    ----------
    codecs
        The names of the codecs that trials can use.
    schema
        The schema of all objects.
    processor
        The only processor that the server may use; None: all.
    address
        The address that it listens on.
    place
        Its place in a network, if there is one.
    """
    shape = {"name": schema.name, "fields": [field.as_json for field in schema.fields]}
    order = {"codecs": [*codecs], "schema": shape}
    with start_server("benchbook.sockets.receiver", order, processor, address, place) as server:
        yield server


@contextmanager
def start_server(
    module: str,
    order: Mapping[str, object],
    processor: int | None = None,
    address: str = LOOPBACK,
    place: Place | None = None,
) -> Iterator[SocketServer]:
    """Run a module that serves while the context lasts, as `start_receiver` does.

    Its standard input has the order in a line of JSON, with ``secret`` and ``address`` added:
    arguments and the environment would be visible to others. When it listens, it prints its
    ``port`` in a line of JSON.
    """
    # Start the process.
    secret = secrets.token_bytes(protocol.SECRET_BYTES)
    command = [*processes.PYTHON, "-m", module]
    with pin_to_processor(processor), networks.enter_place(place):
        process = processes.spawn(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    try:
        with process.stdout as announcement:
            # Give it its order. A server that has ended is reported below.
            with suppress(BrokenPipeError), process.stdin as stdin:
                given = {**order, "secret": secret.hex(), "address": address}
                stdin.write(json.dumps(given).encode() + b"\n")
            # Wait until it says where it listens.
            with selectors.DefaultSelector() as selector:
                selector.register(announcement, selectors.EVENT_READ)
                line = announcement.readline() if selector.select(timeout=30.0) else b""
        if not line:
            raise WireError("the server did not start: see the error output")
        port = json.loads(line)["port"]
        yield SocketServer(port, process.pid, secret, address)
    finally:
        processes.stop(process)


@dataclass(frozen=True)
class TrialReport:
    """The server's report of a trial: its readings, and the objects that it decoded."""

    readings: list[Reading]
    """``wall_time``, ``cpu_user`` and ``cpu_system`` from start to end signal; then ``memory_rss``.

    ``cpu_capacity`` is the time that the server's processors could have given. On one connection
    ``idle_time`` is the time in which the server's thread waited for bytes.
    """
    objects: int
    bytes: int
    digest: int
    """`protocol.sum_hashes` of the decoded objects when the trial was a check, else 0."""


class Connection:
    """A connection to the server: its `socket`, and the `stream` of the server's answers."""

    def __init__(self, opened: socket.socket) -> None:
        self.socket = opened
        self.stream = opened.makefile("rb")

    def close(self) -> None:
        """Close the connection in both directions."""
        self.stream.close()
        self.socket.close()

    def expect(self, kind: int) -> bytes:
        """Return the payload of the next frame, which is of that kind; raises `WireError`."""
        frame = read_frame(self.stream)
        if frame is None:
            raise WireError("the server closed the connection")
        if frame[0] == ERROR:
            raise WireError(**unpack_message(frame[1]))
        if frame[0] != kind:
            raise WireError(f"the server answered with a frame of kind {frame[0]}, not {kind}")
        return frame[1]


@contextmanager
def open_connection(
    server: SocketServer, more: bytes = b"", timeout_s: int = protocol.TIMEOUT_S
) -> Iterator[Connection]:
    """Open a connection and send the secret, with `more` in the same send."""
    with socket.create_connection((server.address, server.port), protocol.TIMEOUT_S) as opened:
        protocol.set_socket_options(opened, timeout_s)
        connection = Connection(opened)
        with connection.stream:
            opened.sendall(server.secret + more)
            yield connection


@dataclass(frozen=True)
class Client:
    """Trials with one server, one of its codecs and one transport."""

    server: SocketServer
    codec: str
    transport: Transport = "framed"

    def run_trial(self, streams: Sequence[Objects], *, check: bool = False) -> TrialReport:
        """Open the connections of a trial and send it, as the function that `open_trial` yields."""
        with self.open_trial(len(streams)) as send:
            return send(streams, check=check)

    @contextmanager
    def open_trial(self, connections: int) -> Iterator[Callable[..., TrialReport]]:
        """Open the connections of a trial, and yield the function that sends it on them.

        The function's parameters are a stream of encoded objects per connection, and ``check``.
        With it the server adds up hashes of the objects that it decodes. A stream that encodes
        while it is iterated does so inside the server's window. The function returns the server's
        report, or raises `WireError` when the server refused something or a connection broke.
        """
        joining = connections if connections > 1 and self.transport != "connection" else 0
        try:
            with ExitStack() as stack:
                control, *joined = (
                    stack.enter_context(open_connection(self.server)) for _ in range(1 + joining)
                )
                yield partial(self._send_trial, control, joined)
        except OSError as error:
            raise WireError(f"the connection broke: {error}") from error

    def _send_trial(
        self,
        control: Connection,
        joined: Sequence[Connection],
        streams: Sequence[Objects],
        *,
        check: bool = False,
    ) -> TrialReport:
        # Start the trial, whose number lets other connections join.
        acknowledge = self.transport in ("acknowledged", "connection")
        control.socket.sendall(
            pack_message(protocol.START, codec=self.codec, acknowledge=acknowledge, check=check)
        )
        number = unpack_message(control.expect(protocol.READY))["trial"]
        join = pack_message(protocol.JOIN, trial=number)
        # Send the objects, then the end signal.
        sent = self._send(control, joined, join, streams)
        control.socket.sendall(pack_message(protocol.END, objects=sent))
        report = unpack_message(control.expect(protocol.REPORT))
        readings = [Reading(**reading) for reading in report["readings"]]
        return TrialReport(**{**report, "readings": readings})

    def _send(
        self,
        control: Connection,
        joined: Sequence[Connection],
        join: bytes,
        streams: Sequence[Objects],
    ) -> int:
        """Send all objects and return their number."""
        if self.transport == "connection":
            return _send_in_parallel(lambda objects: self._send_singly(join, objects), streams)
        # One connection has both the commands and the objects.
        send = _SENDERS[self.transport]
        if not joined:
            return _send_or_explain(control, send, streams[0])
        # Several join the trial, each with a thread of its own.
        for connection in joined:
            connection.socket.sendall(join)
        sent = _send_in_parallel(
            lambda pair: _send_or_explain(pair[0], send, pair[1]),
            list(zip(joined, streams, strict=True)),
        )
        for connection in joined:
            # The server then counts this connection's objects.
            connection.close()
        return sent

    def _send_singly(self, join: bytes, objects: Objects) -> int:
        count = 0
        for data in objects:
            with open_connection(self.server, join + pack_frame(OBJECT, data)) as connection:
                connection.expect(ACK)
            count += 1
        return count


def _send_or_explain(
    connection: Connection, send: Callable[[Connection, Objects], int], objects: Objects
) -> int:
    """Return the number of objects sent.

    When the connection breaks, raise the server's error, if it sent one.
    """
    try:
        return send(connection, objects)
    except OSError:
        connection.expect(ERROR)
        raise


def _send_framed(connection: Connection, objects: Objects) -> int:
    send, count = connection.socket.sendall, 0
    for data in objects:
        send(pack_frame(OBJECT, data))
        count += 1
    return count


def _send_batched(connection: Connection, objects: Objects) -> int:
    batch, count = bytearray(), 0
    for data in objects:
        batch += pack_frame(OBJECT, data)
        count += 1
        if len(batch) >= _BATCH_BYTES:
            connection.socket.sendall(batch)
            batch.clear()
    connection.socket.sendall(batch)
    return count


def _send_acknowledged(connection: Connection, objects: Objects) -> int:
    send, count = connection.socket.sendall, 0
    for data in objects:
        send(pack_frame(OBJECT, data))
        connection.expect(ACK)
        count += 1
    return count


_SENDERS: Final[dict[Transport, Callable[[Connection, Objects], int]]] = {
    "framed": _send_framed,
    "batched": _send_batched,
    "acknowledged": _send_acknowledged,
}


def _send_in_parallel(send: Callable[[T], int], parts: Sequence[T]) -> int:
    """Send each part in a thread of its own, and return the number of objects sent."""
    if len(parts) == 1:
        return send(parts[0])
    with ThreadPoolExecutor(len(parts)) as pool:
        return sum(pool.map(send, parts))
