"""The multi-threaded server: a thread a connection, decoding on receipt and discarding.

``python -m benchbook.wire.server`` reads a line of JSON on its standard input: the secret that each connection must say
first, the codec and the schema of all that it will decode, and its limits. It listens on a free port of the loopback
and says which, as a line of JSON. A trial is a start command, answered by a ready message; objects, on the same
connection or on others that join the trial; and an end signal, answered by the report once all objects have been
decoded. What goes wrong is told to the connection where it went wrong and in answer to the end signal; the server goes
on. Who does not know the secret is told nothing: see `benchbook.wire.strangers`.
"""

import itertools
import json
import socket
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO, Final, cast

from benchbook import formats
from benchbook.schemas import Field, Schema
from benchbook.wire.framing import (
    ACK,
    BUFFER,
    END,
    ERROR,
    JOIN,
    OBJECT,
    READY,
    REPORT,
    START,
    Frame,
    WireError,
    fields,
    frame,
    greeting,
    message,
    prepare,
    read,
)
from benchbook.wire.strangers import Strangers
from benchbook.wire.trial import Trial

PATIENCE_S: Final = 60.0
BACKLOG: Final = 1024
PAUSE_S: Final = 0.01
"""How long nothing is accepted once that has failed."""
_ACK: Final = frame(ACK)


class Listener:
    """A server on a free port of the loopback.

    Parameters
    ----------
    secret
        What every connection must say before anything else.
    codec, schema
        How everything is decoded, and to what.
    limit
        Bytes of the largest payload that is taken.
    """

    def __init__(self, secret: bytes, codec: str, schema: Schema, limit: int) -> None:
        self._strangers = Strangers(greeting(secret))
        self._decoder = partial(formats.codec(codec).decoder, schema)
        self._limit = limit
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        self._trials: dict[int, Trial] = {}
        self._numbers = itertools.count(1)
        self.port: int = self._socket.getsockname()[1]

    def serve(self) -> None:
        """Accept connections, each in a thread of its own, until the process ends."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # no descriptor is left, or the other side has gone
                self._strangers.drop_half()
                time.sleep(PAUSE_S)
                continue
            self._strangers.add(connection)
            threading.Thread(target=self._attend, args=(connection,), daemon=True).start()

    def _attend(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            if not self._strangers.admit(connection):
                return
            prepare(connection, PATIENCE_S)
            with _stream(connection) as stream:
                try:
                    self._converse(connection, stream)
                except WireError as error:
                    connection.sendall(message(ERROR, what=error.what, number=error.number))
                    _drain(connection, stream)

    def _converse(self, connection: socket.socket, stream: BinaryIO) -> None:
        while first := read(stream, self._limit):
            kind, payload = first
            if kind == START:
                self._control(connection, stream, Trial(self._decoder(), fields(payload)))
            elif kind == JOIN:
                self._join(connection, stream, fields(payload).get("trial"))
            else:
                raise WireError(f"a trial is started or joined first; a frame of kind {kind} came")

    def _control(self, connection: socket.socket, stream: BinaryIO, trial: Trial) -> None:
        number = next(self._numbers)
        self._trials[number] = trial
        try:
            connection.sendall(message(READY, trial=number))
            last = self._receive(connection, stream, trial)
            if last is None:
                return  # the client went away: nobody is left to be told
            kind, payload = last
            objects = fields(payload).get("objects")
            if kind != END or not isinstance(objects, int):
                raise WireError(f"objects and the end signal are expected; a frame of kind {kind} came")
            connection.sendall(message(REPORT, **trial.finish(objects, PATIENCE_S)))
        finally:
            del self._trials[number]

    def _join(self, connection: socket.socket, stream: BinaryIO, number: object) -> None:
        trial = self._trials.get(number) if isinstance(number, int) else None
        if trial is None:
            raise WireError(f"there is no trial {number!r} to join")
        if self._receive(connection, stream, trial):
            raise WireError("only objects come on a connection that has joined")

    def _receive(self, connection: socket.socket, stream: BinaryIO, trial: Trial) -> Frame | None:
        """Decode objects until something else comes, and return that."""
        decode, acknowledge, limit, send = trial.decode, trial.acknowledge, self._limit, connection.sendall
        count = size = 0
        try:
            while got := read(stream, limit):
                kind, payload = got
                if kind != OBJECT:
                    return got
                decode(payload)
                count += 1
                size += len(payload)
                if acknowledge:
                    send(_ACK)
            return None
        except Exception as error:  # whatever a codec or a socket does, the trial is told and the server goes on
            failure = WireError(getattr(error, "what", str(error)), count)
            trial.fail(failure)
            raise failure from error
        finally:
            trial.add(count, size)


def _stream(connection: socket.socket) -> BinaryIO:
    return cast(BinaryIO, connection.makefile("rb", BUFFER))  # the stubs know the mode only without a buffer's size


def _drain(connection: socket.socket, stream: BinaryIO) -> None:
    """Read what the client still sends: closed on unread bytes, the kernel would throw our last words away."""
    connection.shutdown(socket.SHUT_WR)
    while stream.read(BUFFER):
        pass


def main() -> None:
    """Serve until killed."""
    order: dict[str, Any] = json.loads(sys.stdin.readline())
    schema = Schema(order["schema"]["name"], tuple(Field(name, kind) for name, kind in order["schema"]["fields"]))
    listener = Listener(bytes.fromhex(order["secret"]), order["codec"], schema, order["limit"])
    print(json.dumps({"port": listener.port}), flush=True)
    listener.serve()


if __name__ == "__main__":
    main()
