"""The multi-threaded server: one thread per connection, which decodes each object and discards it.

``python -m benchbook.sockets.receiver`` reads a line of JSON from its standard input. It has the
secret of each connection, the codecs and the schema of all objects, and the address to listen on.
The server listens on a free port, which it prints in a line of JSON.

A trial begins with a start command, which names a codec and is answered by a ready message. Then
come objects, on the same connection or on others that join the trial. An end signal follows, which
is answered by the report when all objects have been decoded. Decoders are made before the first
trial, when no clock runs.

An error is sent to the connection where it happened, and in answer to the end signal; the server
goes on. A connection that does not begin with the secret is closed without an answer.
"""

import itertools
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, cast

import psutil

from benchbook import codecs
from benchbook.measure import Reading, clock, make_client_meters
from benchbook.schema import Document, Field, Record, Schema
from benchbook.servers.networks import LOOPBACK
from benchbook.sockets import protocol
from benchbook.sockets.protocol import (
    BUFFER_BYTES,
    OBJECT,
    Frame,
    WireError,
    hash_record,
    pack_message,
    read_frame,
    unpack_message,
)

_SCHEDSTAT: Final = Path("/proc/thread-self/schedstat")
"""A thread's time on a processor and in the queue for one (ns), and its number of time slices."""

_ACK_FRAME: Final = protocol.pack_frame(protocol.ACK)

_CPU_METERS: Final = make_client_meters(("cpu_user", "cpu_system"))

_PROCESSORS: Final = (
    len(os.sched_getaffinity(0)) if sys.platform == "linux" else psutil.cpu_count() or 1
)
"""The number of processors that this process may use; its shares are relative to them."""


class Trial:
    """One trial, from its start command to its end signal: its clock, its counts and its error.

    The start command has ``codec``, ``acknowledge`` and ``check``. With ``check`` the hashes of the
    decoded objects are added up for the client to compare; else each object is discarded at once.
    """

    def __init__(self, decoders: Mapping[str, Callable[[bytes], Record]], order: Document) -> None:
        try:
            self._decode = decoders[order["codec"]]
            self.acknowledge = bool(order["acknowledge"])
            self.decode: Callable[[bytes], object] = (
                self._add_hash if order["check"] else self._decode
            )
        except (KeyError, TypeError) as error:
            raise WireError(f"not a start command: {error!r}") from error
        self._changed = threading.Condition()
        self._received = self._bytes = self._digest = 0
        self.joined = False
        """Whether objects come on other connections than the one that started the trial."""
        self._error: WireError | None = None
        # The clock starts last, so that reading the meters is not in it.
        self._cpu = [meter.read() for meter in _CPU_METERS]
        self._busy = _read_busy_time()
        self._start = clock()

    def add(self, received: int, size: int) -> None:
        """Count the objects and bytes of one connection."""
        with self._changed:
            self._received += received
            self._bytes += size
            self._changed.notify_all()

    def fail(self, error: WireError) -> None:
        """Keep the first error for the reply to the end signal."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    def finish(self, objects: int) -> dict[str, object]:
        """Stop the clock when all objects have arrived, and return the report.

        Raises `WireError`: the first error, or that objects are missing.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._error or self._received >= objects, protocol.TIMEOUT_S
            )
            elapsed = clock() - self._start
            if self._error:
                raise self._error
            if self._received != objects:
                raise WireError(f"{self._received} objects were received, {objects} were sent")
            return {
                "readings": [vars(reading) for reading in self._make_readings(elapsed)],
                "objects": self._received,
                "bytes": self._bytes,
                "digest": self._digest,
            }

    def _make_readings(self, elapsed: int) -> list[Reading]:
        # What the process used since the start.
        cpu = []
        for meter, before in zip(_CPU_METERS, self._cpu, strict=True):
            used = meter.read() - before
            reading = Reading(
                meter.metric, "server", used, meter.unit, meter.source, meter.resolution
            )
            cpu.append(reading)
        idle = max(0, elapsed - (_read_busy_time() - self._busy))
        rss = psutil.Process().memory_info().rss
        # Make the readings.
        wall_source = "perf_counter_ns, from start to end signal"
        idle_source = "clock less the thread's CPU time and run delay"
        capacity_source = f"the same, times {_PROCESSORS} processors that the server may use"
        capacity = elapsed * _PROCESSORS
        readings = [Reading("wall_time", "server", elapsed, "ns", wall_source, 1.0)]
        # If other threads receive the objects, this one only waits for the end signal.
        if not self.joined:
            readings.append(Reading("idle_time", "server", idle, "ns", idle_source, 1.0))
        return [
            *readings,
            *cpu,
            Reading("cpu_capacity", "server", capacity, "ns", capacity_source, float(_PROCESSORS)),
            Reading("memory_rss", "server", rss, "B", "psutil.memory_info", 4096),
        ]

    def _add_hash(self, data: bytes) -> None:
        value = hash_record(self._decode(data))
        with self._changed:
            self._digest = (self._digest + value) % 2**64


class Listener:
    """A server on a free port of an address; every connection must begin with the secret."""

    def __init__(
        self, secret: bytes, names: Iterable[str], schema: Schema, address: str = LOOPBACK
    ) -> None:
        self._secret = secret
        self._decoders = {name: codecs.load_codec(name).decoder(schema) for name in names}
        self._socket = socket.create_server((address, 0), backlog=1024)
        self._trials: dict[int, Trial] = {}
        self._numbers = itertools.count(1)
        self.port: int = self._socket.getsockname()[1]

    def serve(self) -> None:
        """Accept connections, each in a thread of its own, until the process ends."""
        while True:
            connection, _ = self._socket.accept()
            threading.Thread(target=self._attend, args=(connection,), daemon=True).start()

    def _attend(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            protocol.set_socket_options(connection)
            if not protocol.is_admitted(connection, self._secret):
                return
            # The type stubs know the mode only without a buffer size.
            with cast(BinaryIO, connection.makefile("rb", BUFFER_BYTES)) as stream:
                try:
                    self._converse(connection, stream)
                except WireError as error:
                    connection.sendall(
                        pack_message(protocol.ERROR, what=error.what, number=error.number)
                    )
                    # If the connection closed on unread bytes, the kernel would drop this answer.
                    connection.shutdown(socket.SHUT_WR)
                    while stream.read(BUFFER_BYTES):
                        pass

    def _converse(self, connection: socket.socket, stream: BinaryIO) -> None:
        while True:
            frame = read_frame(stream)
            if frame is None:
                return
            kind, payload = frame
            if kind == protocol.START:
                self._control(connection, stream, Trial(self._decoders, unpack_message(payload)))
            elif kind == protocol.JOIN:
                number = unpack_message(payload).get("trial")
                trial = self._trials.get(number) if isinstance(number, int) else None
                if trial is None:
                    raise WireError(f"there is no trial {number!r} to join")
                trial.joined = True
                if self._receive(connection, stream, trial):
                    raise WireError("only objects come on a connection that has joined")
            else:
                raise WireError(f"a trial is started or joined first; a frame of kind {kind} came")

    def _control(self, connection: socket.socket, stream: BinaryIO, trial: Trial) -> None:
        number = next(self._numbers)
        self._trials[number] = trial
        try:
            connection.sendall(pack_message(protocol.READY, trial=number))
            last = self._receive(connection, stream, trial)
            if last is None:
                # The client has closed the connection.
                return
            kind, payload = last
            objects = unpack_message(payload).get("objects")
            if kind != protocol.END or not isinstance(objects, int):
                raise WireError(
                    f"objects and the end signal are expected; a frame of kind {kind} came"
                )
            connection.sendall(pack_message(protocol.REPORT, **trial.finish(objects)))
        finally:
            del self._trials[number]

    def _receive(self, connection: socket.socket, stream: BinaryIO, trial: Trial) -> Frame | None:
        """Decode objects until another frame comes, and return that; None at the end."""
        decode, acknowledge, send = trial.decode, trial.acknowledge, connection.sendall
        count = size = 0
        try:
            while True:
                frame = read_frame(stream)
                if frame is None:
                    return None
                kind, payload = frame
                if kind != OBJECT:
                    return frame
                decode(payload)
                count += 1
                size += len(payload)
                if acknowledge:
                    send(_ACK_FRAME)
        except Exception as error:
            # After any error of a codec or a socket the trial fails and the server goes on.
            failure = WireError(getattr(error, "what", str(error)), count)
            trial.fail(failure)
            raise failure from error
        finally:
            trial.add(count, size)


def _read_busy_time() -> int:
    """Return how long this thread has run, or waited for a processor where Linux has that, in ns.

    The rest of the time it waits for bytes. It is read outside the clock.
    """
    try:
        waited = int(_SCHEDSTAT.read_text().split()[1])
    except (OSError, IndexError):
        waited = 0
    return time.thread_time_ns() + waited


def main() -> None:
    """Serve until killed."""
    order: Document = json.loads(sys.stdin.readline())
    schema = Schema(order["schema"]["name"], tuple(map(Field.from_json, order["schema"]["fields"])))
    listener = Listener(bytes.fromhex(order["secret"]), order["codecs"], schema, order["address"])
    print(json.dumps({"port": listener.port}), flush=True)
    listener.serve()


if __name__ == "__main__":
    main()
