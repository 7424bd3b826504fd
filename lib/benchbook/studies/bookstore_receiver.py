"""The server of study `bookstore` in a network: it unmarshals what the client sends, on its own clock.

It makes the same objects as the client, of the cell's parameters, and compares what it has read back with its own: so
nothing but the document crosses the cable. One client is served, which begins with the secret.
"""

import json
import socket
import sys
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from benchbook import formats
from benchbook.measure import client_meters, timed
from benchbook.schemas import Document as Message
from benchbook.studies.bookstore import LIMIT, METRICS, Document, Parameters, RoundTrip, document_of
from benchbook.wire import protocol
from benchbook.wire.protocol import BUFFER, WireError, fields, message, read

_ACK: Final = protocol.frame(protocol.ACK)


def _admitted(listener: socket.socket, secret: bytes) -> socket.socket:
    """Return the first connection that begins with the secret."""
    while True:
        connection, _ = listener.accept()
        protocol.prepare(connection)
        with suppress(OSError):
            if protocol.is_admitted(connection, secret):
                return connection
        connection.close()


def _serve(connection: socket.socket, stream: BinaryIO, document: Document[Any], trips: dict[str, RoundTrip]) -> None:
    """Unmarshal one document after the other, until the client has gone; raises `WireError`."""
    cpu = client_meters(METRICS)
    while start := read(stream):
        kind, payload = start
        trip = trips.get(fields(payload).get("codec", ""))
        if kind != protocol.START or trip is None:
            raise WireError("a codec of the cell is named first")
        thing = document.build()
        connection.sendall(message(protocol.READY))
        kind, data = read(stream, LIMIT) or (protocol.END, b"")
        if kind != protocol.OBJECT:
            raise WireError(f"a document is expected; a frame of kind {kind} came")
        if trip.file:
            trip.file.write_bytes(data)
            data = b""
        connection.sendall(_ACK)
        back, readings = timed(trip.unmarshalling(data), cpu)
        if trip.file:
            trip.file.unlink()
        unmarshal = [asdict(replace(reading, role="server")) for reading in readings]
        connection.sendall(message(protocol.REPORT, readings=unmarshal, alike=back == thing))


def main() -> None:
    """Serve one client, until it has gone."""
    order: Message = json.loads(sys.stdin.readline())
    parameters = Parameters.model_validate(order["parameters"])
    document, folder = document_of(parameters), Path(order["folder"])
    codecs = map(formats.codec, parameters.codecs())
    trips = {codec.name: RoundTrip(document, codec, parameters.file(folder, "received", codec)) for codec in codecs}
    with socket.create_server((order["address"], 0)) as listener:
        print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
        connection = _admitted(listener, bytes.fromhex(order["secret"]))
    # It ends with the client, and waits for it as long as it takes: its object may be large.
    protocol.prepare(connection, 0)
    # The stubs know the mode only without a buffer's size.
    with connection, cast(BinaryIO, connection.makefile("rb", BUFFER)) as stream:
        try:
            _serve(connection, stream, document, trips)
        except Exception as error:
            # Whatever a codec does, the client is told.
            connection.sendall(message(protocol.ERROR, what=f"{type(error).__name__}: {error}", number=None))


if __name__ == "__main__":
    main()
