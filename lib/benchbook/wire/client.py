"""The client's end: the server started in a process of its own, and trials with it in four transports.

``framed``: a send an object. ``batched``: objects gathered into sends of 64 KiB. ``acknowledged``: a send an object,
and the server's acknowledgement before the next. ``connection``: a new connection for each object, closed on its
acknowledgement. On one connection objects follow the start command, as in the paper; several join the trial that a
control connection has started, a client thread each, and the end signal follows when all have sent everything.

Every connection begins with the server's secret. They are opened, and it is said, before any clock starts; only those
of ``connection`` are opened while it runs: there the secret travels in the object's own send, and costs no round trip.

The paper's client and server had a machine each. Here they share one, and the scheduler moves both about: where the
machine has enough processors, each is given one of its own (`own_processors`).
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

from benchbook import networks, processes
from benchbook.deployment import Place
from benchbook.measure import Reading
from benchbook.networks import LOOPBACK
from benchbook.schemas import Schema
from benchbook.wire import protocol
from benchbook.wire.protocol import ACK, ERROR, OBJECT, WireError, fields, frame, message, read

Transport = Literal["framed", "batched", "acknowledged", "connection"]
TRANSPORTS: Final[tuple[Transport, ...]] = get_args(Transport)

_BATCH: Final = 2**16
_START_PATIENCE_S: Final = 30.0

_THREADS_OF_A_CORE: Final = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
_ENOUGH_CORES: Final = 3
"""The client's, the server's, and that of all else: with two, what else runs would land on the decoder's."""

Objects = Iterable[bytes]

T = TypeVar("T")


class Processors(NamedTuple):
    """A processor each."""

    client: int
    server: int


def own_processors() -> Processors | None:
    """Return a processor for the client and one for the server, on cores of their own; None without enough cores."""
    if sys.platform != "linux":
        return None
    cores: dict[str, int] = {}
    for processor in sorted(os.sched_getaffinity(0)):
        cores.setdefault(_threads_of_core(processor), processor)
    # The last ones: interrupts are mostly served by the first.
    return Processors(*list(cores.values())[-2:]) if len(cores) >= _ENOUGH_CORES else None


def _threads_of_core(processor: int) -> str:
    """Return which processors are threads of the same core, itself among them."""
    try:
        return Path(_THREADS_OF_A_CORE.format(processor)).read_text(encoding="ascii")
    except OSError:
        return str(processor)


@contextmanager
def on_processor(processor: int | None) -> Iterator[None]:
    """Run this thread, and what it starts meanwhile, on one processor; on None where it ran before."""
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
class Server:
    """A running server: its address and port, its process, and the secret that every connection begins with."""

    port: int
    pid: int
    secret: bytes = field(repr=False)
    address: str = LOOPBACK


@contextmanager
def serving(
    codecs: Sequence[str],
    schema: Schema,
    processor: int | None = None,
    address: str = LOOPBACK,
    place: Place | None = None,
) -> Iterator[Server]:
    """Run a server that can decode so, each trial with one of the codecs, while the context lasts.

    From the main thread only. It runs on that `processor` alone when one is given, and listens on an
    `address`, of the `place` in a network where there is one.

    It is given a secret of its own on its standard input, for arguments and environment can be seen by others. Raises
    `WireError` when it does not come up.
    """
    shape = {"name": schema.name, "fields": [field.shape for field in schema.fields]}
    order = {"codecs": [*codecs], "schema": shape}
    with started("benchbook.wire.receiver", order, processor, address, place) as server:
        yield server


@contextmanager
def started(
    module: str,
    order: Mapping[str, object],
    processor: int | None = None,
    address: str = LOOPBACK,
    place: Place | None = None,
) -> Iterator[Server]:
    """Run a module that serves, as `serving` does; on its standard input it is given the order, in a line of JSON.

    To that come the ``secret`` and the ``address``. Once it listens it prints its ``port``, in a line of JSON.
    """
    secret = secrets.token_bytes(protocol.SECRET_BYTES)
    command = [*processes.PYTHON, "-m", module]
    with on_processor(processor), networks.entered(place):
        process = processes.spawn(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    try:
        with process.stdout as announcement:
            # A server that has died is told of below.
            with suppress(BrokenPipeError), process.stdin as stdin:
                given = {**order, "secret": secret.hex(), "address": address}
                stdin.write(json.dumps(given).encode() + b"\n")
            with selectors.DefaultSelector() as selector:
                selector.register(announcement, selectors.EVENT_READ)
                line = announcement.readline() if selector.select(_START_PATIENCE_S) else b""
        if not line:
            raise WireError("the server did not come up; what it said stands on the error output")
        port = json.loads(line)["port"]
        yield Server(port, process.pid, secret, address)
    finally:
        processes.stop(process)


@dataclass(frozen=True)
class Report:
    """What the server logged of a trial: what it read, how many objects it received and decoded, how long they were."""

    readings: list[Reading]
    """``wall_time`` from start command to end signal, ``cpu_user`` and ``cpu_system`` between, ``memory_rss`` after.

    And ``cpu_capacity``, what the processors that its process may use could have given in that time.
    On one connection also ``idle_time``, in which its thread neither ran nor waited for a processor, but for bytes.
    """
    objects: int
    bytes: int
    digest: int
    """`protocol.fingerprints` of the decoded objects when the trial was a check, else 0."""


class Connection:
    """A connection to the server: its `socket`, and the `stream` of what the server says."""

    def __init__(self, opened: socket.socket) -> None:
        self.socket = opened
        self.stream = opened.makefile("rb")

    def close(self) -> None:
        """Send no more, and read no more."""
        self.stream.close()
        self.socket.close()

    def expect(self, kind: int) -> bytes:
        """Return the payload of the next frame, which is of that kind; raises `WireError`."""
        got = read(self.stream)
        if got is None:
            raise WireError("the server closed the connection")
        if got[0] == ERROR:
            raise WireError(**fields(got[1]))
        if got[0] != kind:
            raise WireError(f"the server answered with a frame of kind {got[0]}, not {kind}")
        return got[1]


@contextmanager
def connected(server: Server, more: bytes = b"", patience_s: int = protocol.PATIENCE_S) -> Iterator[Connection]:
    """Open a connection and say the secret, and what is to follow it in the same send."""
    with socket.create_connection((server.address, server.port), protocol.PATIENCE_S) as opened:
        protocol.prepare(opened, patience_s)
        connection = Connection(opened)
        with connection.stream:
            opened.sendall(server.secret + more)
            yield connection


@dataclass(frozen=True)
class Client:
    """Trials with one server, one of its codecs and one transport."""

    server: Server
    codec: str
    transport: Transport = "framed"

    def trial(self, streams: Sequence[Objects], *, check: bool = False) -> Report:
        """Open the connections of a trial and send it; parameters, result and errors as for what `opened` yields."""
        with self.opened(len(streams)) as send:
            return send(streams, check=check)

    @contextmanager
    def opened(self, connections: int) -> Iterator[Callable[..., Report]]:
        """Open the connections of a trial with so many streams of objects, and yield what sends it on them.

        That takes the encoded objects of each connection (what a stream does when it is iterated, such as encoding,
        happens inside the server's window), and ``check``: let the server add up fingerprints of what it decodes. It
        returns the server's report, or raises `WireError`: what the server refused, or how the conversation broke.
        """
        joining = connections if connections > 1 and self.transport != "connection" else 0
        try:
            with ExitStack() as stack:
                control, *joined = (stack.enter_context(connected(self.server)) for _ in range(1 + joining))
                yield partial(self._trial, control, joined)
        except OSError as error:
            raise WireError(f"the connection broke: {error}") from error

    def _trial(
        self, control: Connection, joined: Sequence[Connection], streams: Sequence[Objects], *, check: bool = False
    ) -> Report:
        acknowledge = self.transport in ("acknowledged", "connection")
        control.socket.sendall(message(protocol.START, codec=self.codec, acknowledge=acknowledge, check=check))
        join = message(protocol.JOIN, trial=fields(control.expect(protocol.READY))["trial"])
        sent = self._send(control, joined, join, streams)
        control.socket.sendall(message(protocol.END, objects=sent))
        report = fields(control.expect(protocol.REPORT))
        return Report(**{**report, "readings": [Reading(**reading) for reading in report["readings"]]})

    def _send(self, control: Connection, joined: Sequence[Connection], join: bytes, streams: Sequence[Objects]) -> int:
        """Send all objects and return how many they are."""
        if self.transport == "connection":
            return _parallel(lambda objects: self._a_connection_each(join, objects), streams)
        send = _SENDERS[self.transport]
        if not joined:
            return _sent(control, send, streams[0])
        for connection in joined:
            connection.socket.sendall(join)
        sent = _parallel(lambda pair: _sent(pair[0], send, pair[1]), list(zip(joined, streams, strict=True)))
        for connection in joined:
            # The server counts what each has brought.
            connection.close()
        return sent

    def _a_connection_each(self, join: bytes, objects: Objects) -> int:
        count = 0
        for data in objects:
            with connected(self.server, join + frame(OBJECT, data)) as connection:
                connection.expect(ACK)
            count += 1
        return count


def _sent(connection: Connection, send: Callable[[Connection, Objects], int], objects: Objects) -> int:
    """Return how many objects were sent; when the connection breaks, raise what the server had to say, if anything."""
    try:
        return send(connection, objects)
    except OSError:
        connection.expect(ERROR)
        raise


def _framed(connection: Connection, objects: Objects) -> int:
    send, count = connection.socket.sendall, 0
    for data in objects:
        send(frame(OBJECT, data))
        count += 1
    return count


def _batched(connection: Connection, objects: Objects) -> int:
    batch, count = bytearray(), 0
    for data in objects:
        batch += frame(OBJECT, data)
        count += 1
        if len(batch) >= _BATCH:
            connection.socket.sendall(batch)
            batch.clear()
    connection.socket.sendall(batch)
    return count


def _acknowledged(connection: Connection, objects: Objects) -> int:
    send, count = connection.socket.sendall, 0
    for data in objects:
        send(frame(OBJECT, data))
        connection.expect(ACK)
        count += 1
    return count


_SENDERS: Final[dict[Transport, Callable[[Connection, Objects], int]]] = {
    "framed": _framed,
    "batched": _batched,
    "acknowledged": _acknowledged,
}


def _parallel(send: Callable[[T], int], parts: Sequence[T]) -> int:
    """Return how many objects a thread a part has sent."""
    if len(parts) == 1:
        return send(parts[0])
    with ThreadPoolExecutor(len(parts)) as pool:
        return sum(pool.map(send, parts))
