"""A client of `benchbook_my_example.example_server`: delete both and use your database's driver."""

import json
import socket
from typing import Any
from urllib.parse import urlsplit

PATIENCE_S = 5.0
"""Seconds that a server may take to accept a connection."""


class ServerError(Exception):
    """The server refused a request; `code` is the kind of refusal."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Client:
    """A connection: a request is one line of JSON, and so is its answer."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._socket = socket.create_connection((parts.hostname, parts.port), PATIENCE_S)
        self._socket.settimeout(None)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._lines = self._socket.makefile("rb")

    def call(self, verb: str, **arguments: Any) -> Any:
        """Return the server's answer.

        Raises `ServerError` when it refuses, `ConnectionError` when it is gone.
        """
        request = json.dumps({"verb": verb, **arguments}, default=lambda day: day.isoformat())
        self._socket.sendall(request.encode() + b"\n")
        line = self._lines.readline()
        if not line:
            raise ConnectionError("the server closed the connection")
        answer = json.loads(line)
        if "refused" in answer:
            raise ServerError(answer["refused"], answer["why"])
        return answer["answer"]

    def close(self) -> None:
        """Close the connection."""
        self._lines.close()
        self._socket.close()
