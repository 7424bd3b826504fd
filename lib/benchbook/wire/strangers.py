"""Connections that have not said the server's secret: few, not for long, and nothing of what they send is parsed.

Any account of the machine can connect to the loopback. The secret is known to the process that started the server: it
hands it over on the server's standard input, where no other account can read it.
"""

import hmac
import socket
import struct
import threading
from contextlib import suppress
from typing import Final

CAP: Final = 128
"""Connections that may be open without the secret: twice as many as a trial opens at most."""

PATIENCE_S: Final = 5
"""How long one may take to say it."""


class Strangers:
    """Those that are open, oldest first. When there are too many the oldest is dropped, never the newest.

    Parameters
    ----------
    greeting
        The frame that lets a connection in.
    """

    def __init__(self, greeting: bytes) -> None:
        self._greeting = greeting
        self._waiting: dict[socket.socket, None] = {}
        self._lock = threading.Lock()

    def add(self, connection: socket.socket) -> None:
        """Count a connection that was just accepted."""
        with self._lock:
            self._waiting[connection] = None
            if len(self._waiting) > CAP:
                self._drop(1)

    def drop_half(self) -> None:
        """Drop the older half: the process can open nothing more."""
        with self._lock:
            self._drop((len(self._waiting) + 1) // 2)

    def admit(self, connection: socket.socket) -> bool:
        """Return whether a connection begins with the secret; no more than that is read.

        Raises
        ------
        OSError
            When nothing came in time, or the connection broke.
        """
        said = b""
        try:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", PATIENCE_S, 0))
            said = connection.recv(len(self._greeting), socket.MSG_WAITALL)  # the limit is for all of it
        finally:
            with self._lock:
                self._waiting.pop(connection, None)
        return hmac.compare_digest(said, self._greeting)

    def _drop(self, count: int) -> None:
        for connection in list(self._waiting)[:count]:
            del self._waiting[connection]
            with suppress(OSError):  # it was gone already
                connection.shutdown(socket.SHUT_RDWR)  # its thread wakes up, and closes it
