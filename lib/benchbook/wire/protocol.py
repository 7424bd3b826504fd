"""What both ends of the wire share: length-prefixed frames on a socket, messages in them, fingerprints of records.

A frame is one byte of kind, four of length, and the payload; a message is JSON in a frame.

Sockets block, with the kernel's own time limits: Python's would cost a poll before every call. They send at once
(``TCP_NODELAY``), so that what is sent together is the transport's decision and not the kernel's.
"""

import hashlib
import hmac
import json
import socket
import struct
from collections.abc import Iterable
from typing import BinaryIO, Final

import orjson

from benchbook.schemas import Document, Record

HEADER: Final = struct.Struct("!BI")
LIMIT: Final = 2**20
"""Bytes of the largest payload that is taken."""
BUFFER: Final = 2**18
"""Bytes that are read from a socket at once, when they are there."""
PATIENCE_S: Final = 60
"""How long one call to the network may take, and the server wait for objects that were sent."""

START, READY, JOIN, OBJECT, ACK, END, REPORT, ERROR = range(1, 9)

SECRET_BYTES: Final = 16
"""Random bytes that every connection begins with: any account of the machine can connect to the loopback."""

Frame = tuple[int, bytes]


class WireError(RuntimeError):
    """A conversation failed, and at which object, counted from 0 on its connection, if it was at one."""

    def __init__(self, what: str, number: int | None = None) -> None:
        super().__init__(what if number is None else f"object {number}: {what}")
        self.what, self.number = what, number


def frame(kind: int, payload: bytes = b"") -> bytes:
    """Return the payload as a frame."""
    return HEADER.pack(kind, len(payload)) + payload


def message(kind: int, **fields: object) -> bytes:
    """Return the fields, as JSON, in a frame."""
    return frame(kind, json.dumps(fields).encode())


def is_admitted(connection: socket.socket, secret: bytes) -> bool:
    """Return whether a connection begins with the secret; no more of it is read."""
    return hmac.compare_digest(connection.recv(SECRET_BYTES, socket.MSG_WAITALL), secret)


def fields(payload: bytes) -> Document:
    """Return the fields of a message; raises `WireError` when it is none."""
    try:
        content = json.loads(payload)
    except ValueError as error:
        raise WireError(f"not a message: {error}") from error
    if not isinstance(content, dict):
        raise WireError("not a message: a JSON object is expected")
    return content


def read(stream: BinaryIO, limit: int = LIMIT) -> Frame | None:
    """Return the next frame; None when the other side has closed after the last one.

    Raises `WireError` when it has more bytes than the limit, the connection is cut inside it, or nothing came in time.
    """
    header = stream.read(HEADER.size)
    if header is None:
        raise WireError("nothing came in time")
    if len(header) < HEADER.size:
        if not header:
            return None
        raise WireError("the connection was cut or fell silent inside a frame's header")
    kind, size = HEADER.unpack(header)
    if size > limit:
        raise WireError(f"a frame of {size} bytes is over the limit of {limit}")
    payload = stream.read(size)
    if payload is None or len(payload) < size:
        raise WireError(f"the connection was cut or fell silent after {len(payload or b'')} of a frame's {size} bytes")
    return kind, payload


def prepare(connection: socket.socket, patience_s: int = PATIENCE_S) -> None:
    """Let a socket block, but no longer than so many seconds in one call (0: as long as it takes), and send at once."""
    connection.settimeout(None)
    limit = struct.pack("ll", patience_s, 0)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def fingerprint(record: Record) -> int:
    """Return 64 bits of a record's fields, values and their types."""
    return int.from_bytes(hashlib.blake2b(orjson.dumps(record), digest_size=8).digest())


def fingerprints(records: Iterable[Record]) -> int:
    """Return the sum of the records' fingerprints, modulo 2**64: the same in any order, for both ends to compare."""
    return sum(map(fingerprint, records)) % 2**64
