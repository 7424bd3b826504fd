"""The server of study `bookstore` in a network: it unmarshals the client's documents.

It builds the same objects as the client from the cell's parameters, and compares the objects that
it reads with its own. So only the document is sent over the network. It serves one client, which
begins with the secret.
"""

import json
import socket
import sys
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from benchbook import codecs
from benchbook.measure import make_client_meters, time_action
from benchbook.schema import Document as Message
from benchbook.sockets import protocol
from benchbook.sockets.protocol import (
    BUFFER_BYTES,
    WireError,
    pack_message,
    read_frame,
    unpack_message,
)
from benchbook.studies.bookstore import (
    MAX_DOCUMENT_BYTES,
    METRICS,
    BookstoreObject,
    Parameters,
    RoundTrip,
    build_object,
)

_ACK_FRAME: Final = protocol.pack_frame(protocol.ACK)


def _accept_client(listener: socket.socket, secret: bytes) -> socket.socket:
    """Return the first connection that begins with the secret."""
    while True:
        connection, _ = listener.accept()
        protocol.set_socket_options(connection)
        with suppress(OSError):
            if protocol.is_admitted(connection, secret):
                return connection
        connection.close()


def _serve_documents(
    connection: socket.socket,
    stream: BinaryIO,
    document: BookstoreObject[Any],
    trips: dict[str, RoundTrip],
) -> None:
    """Unmarshal one document after the other, until the client closes; raises `WireError`."""
    cpu = make_client_meters(METRICS)
    while True:
        start = read_frame(stream)
        if start is None:
            return
        kind, payload = start
        trip = trips.get(unpack_message(payload).get("codec", ""))
        if kind != protocol.START or trip is None:
            raise WireError("a codec of the cell is named first")
        thing = document.build()
        connection.sendall(pack_message(protocol.READY))
        kind, data = read_frame(stream, MAX_DOCUMENT_BYTES) or (protocol.END, b"")
        if kind != protocol.OBJECT:
            raise WireError(f"a document is expected; a frame of kind {kind} came")
        if trip.file:
            trip.file.write_bytes(data)
            data = b""
        connection.sendall(_ACK_FRAME)
        back, readings = time_action(trip.prepare_unmarshal(data), cpu)
        if trip.file:
            trip.file.unlink()
        unmarshal = [asdict(replace(reading, role="server")) for reading in readings]
        connection.sendall(pack_message(protocol.REPORT, readings=unmarshal, alike=back == thing))


def main() -> None:
    """Serve one client, until it closes the connection."""
    order: Message = json.loads(sys.stdin.readline())
    parameters = Parameters.model_validate(order["parameters"])
    document, folder = build_object(parameters), Path(order["folder"])
    trips = {}
    for name in parameters.codecs():
        codec = codecs.load_codec(name)
        trips[name] = RoundTrip(document, codec, parameters.file(folder, "received", codec))
    with socket.create_server((order["address"], 0)) as listener:
        print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
        connection = _accept_client(listener, bytes.fromhex(order["secret"]))
    # It waits for the client without a limit, because building a large object takes long.
    protocol.set_socket_options(connection, 0)
    # The type stubs know the mode only without a buffer size.
    with connection, cast(BinaryIO, connection.makefile("rb", BUFFER_BYTES)) as stream:
        try:
            _serve_documents(connection, stream, document, trips)
        except Exception as error:
            # The client gets every error of a codec.
            what = f"{type(error).__name__}: {error}"
            connection.sendall(pack_message(protocol.ERROR, what=what, number=None))


if __name__ == "__main__":
    main()
