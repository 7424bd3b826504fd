"""The client's side of a trial, in four transports.

``framed``: a send an object. ``batched``: objects gathered into sends of 64 KiB. ``acknowledged``: a send an object,
and the server's acknowledgement before the next. ``connection``: a new connection for each object, closed on its
acknowledgement. On one connection objects follow the start command, as in the paper; several join the trial that a
control connection has started, a client thread each, and the end signal follows when all have sent everything.

Every connection begins with the server's secret. They are opened, and it is said, before any clock starts; only those
of ``connection`` are opened while it runs: there the secret travels in the object's own send, and costs no round trip.
"""

import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO, Final, Literal, get_args

from benchbook.measure import Reading
from benchbook.wire.framing import (
    ACK,
    END,
    ERROR,
    JOIN,
    OBJECT,
    READY,
    REPORT,
    START,
    WireError,
    fields,
    frame,
    message,
    prepare,
    read,
)
from benchbook.wire.process import Server

Transport = Literal["framed", "batched", "acknowledged", "connection"]
TRANSPORTS: Final[tuple[Transport, ...]] = get_args(Transport)
BATCH: Final = 2**16

Objects = Iterable[bytes]


@dataclass(frozen=True)
class Report:
    """What the server logged of a trial.

    Parameters
    ----------
    readings
        Role ``server``: ``wall_time`` from start command to end signal, its ``cpu_user`` and ``cpu_system`` between
        them, its ``memory_rss`` at the end.
    objects, bytes
        What it received and decoded, and how long that was.
    digest
        Sum of the decoded objects' fingerprints (see `benchbook.wire.digest`) when the trial was a check, else 0.
    """

    readings: list[Reading]
    objects: int
    bytes: int
    digest: int


@dataclass
class Line:
    """A connection to the server: its socket, and the stream of what the server says."""

    connection: socket.socket
    stream: BinaryIO = field(init=False)

    def __post_init__(self) -> None:
        self.stream = self.connection.makefile("rb")

    def close(self) -> None:
        """Send no more, and read no more."""
        self.stream.close()
        self.connection.close()

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


@dataclass(frozen=True)
class Client:
    """Trials with one server and one transport.

    Parameters
    ----------
    server
        See `benchbook.wire.serving`.
    transport
        See this module.
    patience_s
        How long a single call to the network may take.
    """

    server: Server
    transport: Transport = "framed"
    patience_s: float = 60.0

    def trial(self, streams: Sequence[Objects], *, check: bool = False) -> Report:
        """Open the connections of a trial and send it; parameters, result and errors as for what `opened` yields."""
        with self.opened(len(streams)) as send:
            return send(streams, check=check)

    @contextmanager
    def opened(self, connections: int) -> Iterator[Callable[..., Report]]:
        """Open a trial's connections, admitted by the server, and yield the function that sends the trial on them.

        Parameters
        ----------
        connections
            How many streams of objects there will be.

        Yields
        ------
        Callable
            Sends encoded objects and returns the server's report. It takes the objects of each connection (what a
            stream does when it is iterated, such as encoding, happens inside the server's window), and ``check``: let
            the server add up fingerprints of what it decodes.

        Raises
        ------
        WireError
            What the server refused, or how the conversation broke.
        """
        joining = connections if connections > 1 and self.transport != "connection" else 0
        try:
            with ExitStack() as stack:
                control, *lines = (stack.enter_context(self._line()) for _ in range(1 + joining))
                yield partial(self._trial, control, lines)
        except OSError as error:
            raise WireError(f"the connection broke: {error}") from error

    def _trial(
        self, control: Line, lines: Sequence[Line], streams: Sequence[Objects], *, check: bool = False
    ) -> Report:
        acknowledge = self.transport in ("acknowledged", "connection")
        control.connection.sendall(message(START, acknowledge=acknowledge, check=check))
        join = message(JOIN, trial=fields(control.expect(READY))["trial"])
        sent = self._send(control, lines, join, streams)
        control.connection.sendall(message(END, objects=sent))
        report = fields(control.expect(REPORT))
        return Report(**{**report, "readings": [Reading(**reading) for reading in report["readings"]]})

    def _send(self, control: Line, lines: Sequence[Line], join: bytes, streams: Sequence[Objects]) -> int:
        if self.transport == "connection":
            return _parallel(lambda objects: self._a_connection_each(join, objects), streams)
        send = _SENDERS[self.transport]
        if not lines:
            return _told(control, send, streams[0])
        for line in lines:
            line.connection.sendall(join)
        sent = _parallel(lambda pair: _told(pair[0], send, pair[1]), list(zip(lines, streams, strict=True)))
        for line in lines:
            line.close()  # the server counts what each has brought
        return sent

    @contextmanager
    def _line(self, more: bytes = b"") -> Iterator[Line]:
        """Open a connection and say the secret, and what is to follow it in the same send."""
        with socket.create_connection(("127.0.0.1", self.server.port), self.patience_s) as connection:
            prepare(connection, self.patience_s)
            line = Line(connection)
            with line.stream:
                connection.sendall(self.server.greeting + more)
                yield line

    def _a_connection_each(self, join: bytes, objects: Objects) -> int:
        count = 0
        for data in objects:
            with self._line(join + frame(OBJECT, data)) as line:
                line.expect(ACK)
            count += 1
        return count


def _told(line: Line, send: Callable[[Line, Objects], int], objects: Objects) -> int:
    """Return how many objects were sent; when the connection breaks, raise what the server had to say, if anything."""
    try:
        return send(line, objects)
    except OSError:
        line.expect(ERROR)
        raise


def _framed(line: Line, objects: Objects) -> int:
    send, count = line.connection.sendall, 0
    for data in objects:
        send(frame(OBJECT, data))
        count += 1
    return count


def _batched(line: Line, objects: Objects) -> int:
    batch, count = bytearray(), 0
    for data in objects:
        batch += frame(OBJECT, data)
        count += 1
        if len(batch) >= BATCH:
            line.connection.sendall(batch)
            batch.clear()
    line.connection.sendall(batch)
    return count


def _acknowledged(line: Line, objects: Objects) -> int:
    send, count = line.connection.sendall, 0
    for data in objects:
        send(frame(OBJECT, data))
        line.expect(ACK)
        count += 1
    return count


_SENDERS: Final[dict[Transport, Callable[[Line, Objects], int]]] = {
    "framed": _framed,
    "batched": _batched,
    "acknowledged": _acknowledged,
}


def _parallel(send: Callable[[Any], int], parts: Sequence[Any]) -> int:
    """Return how many objects a thread a part has sent."""
    if len(parts) == 1:
        return send(parts[0])
    with ThreadPoolExecutor(len(parts)) as pool:
        return sum(pool.map(send, parts))
