"""The protocol of both ends: length-prefixed frames, messages in them, and hashes of records.

A frame is one byte of kind, four of length, and the payload; a message is JSON in a frame.

Sockets block, with the kernel's own time limits: Python's would cost a poll before every call. They
send at once (``TCP_NODELAY``), so that what is sent together is the transport's decision and not
the kernel's.
"""

import hashlib
import hmac
import json
import socket
import struct
from collections.abc import Iterable
from typing import BinaryIO, Final

import orjson

from benchbook.schema import Document, Record

HEADER: Final = struct.Struct("!BI")
MAX_PAYLOAD_BYTES: Final = 2**20
"""Bytes of the largest payload that is accepted."""
BUFFER_BYTES: Final = 2**18
"""Bytes that are read from a socket at once, if available."""
TIMEOUT_S: Final = 60
"""Seconds that a network call may take, and that the server waits for objects that were sent."""

START, READY, JOIN, OBJECT, ACK, END, REPORT, ERROR = range(1, 9)

SECRET_BYTES: Final = 16
"""Random bytes that begin every connection, because any account can connect to the loopback."""

Frame = tuple[int, bytes]


class WireError(RuntimeError):
    """A trial failed; `number` is the object's on its connection, from 0, if it was at one."""

    def __init__(self, what: str, number: int | None = None) -> None:
        super().__init__(what if number is None else f"object {number}: {what}")
        self.what, self.number = what, number


def pack_frame(kind: int, payload: bytes = b"") -> bytes:
    """Return the payload as a frame."""
    return HEADER.pack(kind, len(payload)) + payload


def pack_message(kind: int, **fields: object) -> bytes:
    """Return the fields as JSON in a frame."""
    return pack_frame(kind, json.dumps(fields).encode())


def is_admitted(connection: socket.socket, secret: bytes) -> bool:
    """Return whether a connection begins with the secret; nothing more is read of it."""
    return hmac.compare_digest(connection.recv(SECRET_BYTES, socket.MSG_WAITALL), secret)


def unpack_message(payload: bytes) -> Document:
    """Return the fields of a message; raises `WireError` when it is not a JSON object."""
    try:
        content = json.loads(payload)
    except ValueError as error:
        raise WireError(f"not a message: {error}") from error
    if not isinstance(content, dict):
        raise WireError("not a message: a JSON object is expected")
    return content


def read_frame(stream: BinaryIO, limit: int = MAX_PAYLOAD_BYTES) -> Frame | None:
    """Return the next frame; None when the other end has closed the connection after the last one.

    Raises `WireError` when it has more bytes than the limit, the connection is cut inside it, or
    nothing came in time.
    """
    # The header.
    header = stream.read(HEADER.size)
    if header is None:
        raise WireError("nothing came in time")
    if len(header) < HEADER.size:
        if not header:
            return None
        raise WireError("the connection was cut or fell silent inside a frame's header")
    # The payload.
    kind, size = HEADER.unpack(header)
    if size > limit:
        raise WireError(f"a frame of {size} bytes is over the limit of {limit}")
    payload = stream.read(size)
    if payload is None or len(payload) < size:
        got = len(payload or b"")
        reason = f"the connection was cut or fell silent after {got} of a frame's {size} bytes"
        raise WireError(reason)
    return kind, payload


def set_socket_options(connection: socket.socket, timeout_s: int = TIMEOUT_S) -> None:
    """Make a socket block for at most so many seconds per call (0: no limit), and send at once."""
    connection.settimeout(None)
    limit = struct.pack("ll", timeout_s, 0)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def hash_record(record: Record) -> int:
    """Return a hash of 64 bits of a record's fields, values and their types."""
    return int.from_bytes(hashlib.blake2b(orjson.dumps(record), digest_size=8).digest())


def sum_hashes(records: Iterable[Record]) -> int:
    """Return the sum of the records' hashes, modulo 2**64, which is the same in any order."""
    return sum(map(hash_record, records)) % 2**64
