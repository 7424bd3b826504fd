"""The multi-threaded server: a thread a connection, decoding on receipt and discarding.

``python -m benchbook.wire.receiver`` reads a line of JSON on its standard input: the secret that each connection must
say first, the codecs and the schema of all that it will decode, and the address on a free port of which it is to
listen; it says which, as a line of JSON. A trial is a start command, which names one of the codecs, answered by a
ready message; objects, on the same connection or on others that join the trial; and an end signal, answered by the
report once all objects have been decoded. The decoders are made before the first trial: no clock runs meanwhile. What
goes wrong is
told to the connection where it went wrong and in answer to the end signal; the server goes on. A connection that does
not begin with the secret is closed without an answer.
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

from benchbook import formats
from benchbook.measure import Reading, client_meters, clock
from benchbook.networks import LOOPBACK
from benchbook.schemas import Document, Field, Record, Schema
from benchbook.wire import protocol
from benchbook.wire.protocol import BUFFER, OBJECT, Frame, WireError, fields, fingerprint, message, read

_BACKLOG: Final = 1024

_SCHEDSTAT: Final = Path("/proc/thread-self/schedstat")
"""A thread's own time on a processor, its time in the queue for one (ns), and how often it was given one."""

_ACK: Final = protocol.frame(protocol.ACK)

_CPU: Final = client_meters(("cpu_user", "cpu_system"))

_PROCESSORS: Final = len(os.sched_getaffinity(0)) if sys.platform == "linux" else psutil.cpu_count() or 1
"""How many this process may use: what its own shares are of."""


class Trial:
    """One trial, from its start command to its end signal: its clock, what it has received, and what went wrong.

    The start command says which ``codec``, ``acknowledge`` and ``check``: with that the decoded objects' fingerprints
    are added up, so that the client can compare; without it each is discarded at once.
    """

    def __init__(self, decoders: Mapping[str, Callable[[bytes], Record]], order: Document) -> None:
        try:
            self._decode = decoders[order["codec"]]
            self.acknowledge = bool(order["acknowledge"])
            self.decode: Callable[[bytes], object] = self._fold if order["check"] else self._decode
        except (KeyError, TypeError) as error:
            raise WireError(f"not a start command: {error!r}") from error
        self._changed = threading.Condition()
        self._received = self._bytes = self._digest = 0
        self.joined = False
        """Whether objects come on other connections than the one that started the trial."""
        self._error: WireError | None = None
        self._cpu = [meter.read() for meter in _CPU]
        self._busy = _busy()
        self._start = clock()

    def add(self, received: int, size: int) -> None:
        """Count what one connection has brought."""
        with self._changed:
            self._received += received
            self._bytes += size
            self._changed.notify_all()

    def fail(self, error: WireError) -> None:
        """Keep the first error, for the reply to the end signal."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    def finish(self, objects: int) -> dict[str, object]:
        """Stop the clock when all objects are here, and return the report; raises the first error, or what lacks."""
        with self._changed:
            self._changed.wait_for(lambda: self._error or self._received >= objects, protocol.PATIENCE_S)
            elapsed = clock() - self._start
            if self._error:
                raise self._error
            if self._received != objects:
                raise WireError(f"{self._received} objects were received, {objects} were sent")
            return {
                "readings": [vars(reading) for reading in self._readings(elapsed)],
                "objects": self._received,
                "bytes": self._bytes,
                "digest": self._digest,
            }

    def _readings(self, elapsed: int) -> list[Reading]:
        cpu = [
            Reading(meter.metric, "server", meter.read() - before, meter.unit, meter.source, meter.resolution)
            for meter, before in zip(_CPU, self._cpu, strict=True)
        ]
        idle = max(0, elapsed - (_busy() - self._busy))
        rss = psutil.Process().memory_info().rss
        waited = Reading("idle_time", "server", idle, "ns", "clock less the thread's CPU time and run delay", 1.0)
        capacity = f"the same, times {_PROCESSORS} processors that the server may use"
        return [
            Reading("wall_time", "server", elapsed, "ns", "perf_counter_ns, from start to end signal", 1.0),
            *([] if self.joined else [waited]),
            *cpu,
            Reading("cpu_capacity", "server", elapsed * _PROCESSORS, "ns", capacity, float(_PROCESSORS)),
            Reading("memory_rss", "server", rss, "B", "psutil.memory_info", 4096),
        ]

    def _fold(self, data: bytes) -> None:
        mark = fingerprint(self._decode(data))
        with self._changed:
            self._digest = (self._digest + mark) % 2**64


class Listener:
    """A server on a free port of an address, to which every connection says the secret before anything else."""

    def __init__(self, secret: bytes, codecs: Iterable[str], schema: Schema, address: str = LOOPBACK) -> None:
        self._secret = secret
        self._decoders = {name: formats.codec(name).decoder(schema) for name in codecs}
        self._socket = socket.create_server((address, 0), backlog=_BACKLOG)
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
            protocol.prepare(connection)
            if not protocol.is_admitted(connection, self._secret):
                return
            # the stubs know the mode only without a buffer's size
            with cast(BinaryIO, connection.makefile("rb", BUFFER)) as stream:
                try:
                    self._converse(connection, stream)
                except WireError as error:
                    connection.sendall(message(protocol.ERROR, what=error.what, number=error.number))
                    # What the client still sends is read: closed on unread bytes, the kernel drops our last words.
                    connection.shutdown(socket.SHUT_WR)
                    while stream.read(BUFFER):
                        pass

    def _converse(self, connection: socket.socket, stream: BinaryIO) -> None:
        while first := read(stream):
            kind, payload = first
            if kind == protocol.START:
                self._control(connection, stream, Trial(self._decoders, fields(payload)))
            elif kind == protocol.JOIN:
                number = fields(payload).get("trial")
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
            connection.sendall(message(protocol.READY, trial=number))
            last = self._receive(connection, stream, trial)
            if last is None:
                # The client went away: nobody is left to be told.
                return
            kind, payload = last
            objects = fields(payload).get("objects")
            if kind != protocol.END or not isinstance(objects, int):
                raise WireError(f"objects and the end signal are expected; a frame of kind {kind} came")
            connection.sendall(message(protocol.REPORT, **trial.finish(objects)))
        finally:
            del self._trials[number]

    def _receive(self, connection: socket.socket, stream: BinaryIO, trial: Trial) -> Frame | None:
        """Decode objects until something else comes, and return that."""
        decode, acknowledge, send = trial.decode, trial.acknowledge, connection.sendall
        count = size = 0
        try:
            while got := read(stream):
                kind, payload = got
                if kind != OBJECT:
                    return got
                decode(payload)
                count += 1
                size += len(payload)
                if acknowledge:
                    send(_ACK)
            return None
        except Exception as error:
            # Whatever a codec or a socket does, the trial is told and the server goes on.
            failure = WireError(getattr(error, "what", str(error)), count)
            trial.fail(failure)
            raise failure from error
        finally:
            trial.add(count, size)


def _busy() -> int:
    """Return for how long this thread has run or waited for a processor (where Linux tells), in ns.

    The rest of the time it waits for bytes: asked outside the clock, it costs the loop that receives nothing.
    """
    try:
        waited = int(_SCHEDSTAT.read_text().split()[1])
    except (OSError, IndexError):
        waited = 0
    return time.thread_time_ns() + waited


def main() -> None:
    """Serve until killed."""
    order: Document = json.loads(sys.stdin.readline())
    schema = Schema(order["schema"]["name"], tuple(map(Field.of_shape, order["schema"]["fields"])))
    listener = Listener(bytes.fromhex(order["secret"]), order["codecs"], schema, order["address"])
    print(json.dumps({"port": listener.port}), flush=True)
    listener.serve()


if __name__ == "__main__":
    main()
