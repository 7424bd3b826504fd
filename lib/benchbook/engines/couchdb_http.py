"""CouchDB's HTTP interface: requests on kept connections."""

import base64
from collections.abc import Container
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

import orjson
import urllib3

from benchbook.engines.options import PATIENCE_S

_FOREVER: Final = urllib3.Timeout(connect=PATIENCE_S, read=None)


class AnswerError(Exception):
    """A node answered with an error.

    Attributes
    ----------
    status, reason
        HTTP's status, and CouchDB's word for what is wrong.
    """

    def __init__(self, status: int, what: str, answer: dict[str, Any]) -> None:
        self.status = status
        self.reason = str(answer.get("reason"))
        said = "authentication failed" if status in (401, 403) else answer.get("error")
        super().__init__(f"{said}: {self.reason} ({what}, {status})")


class Node:
    """One server; its requests go one after the other on one connection.

    Attributes
    ----------
    name
        Its address, without user and password.
    peer
        Its address as the other servers reach it: ``?peer=host:port`` in its address, else as we do.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        user, at, server = parts.netloc.rpartition("@")
        self.name = server
        self._root = parts.path.rstrip("/")
        self.peer = f"{parts.scheme}://{user}{at}{parse_qs(parts.query).get('peer', [server])[0]}{self._root}"
        self._headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if user:
            login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
        self._pool = urllib3.connection_from_url(f"{parts.scheme}://{server}")

    def ask(
        self, method: str, path: str, content: Any = None, *, timeout_s: float | None = None, none: Container[int] = ()
    ) -> Any:
        """Return a request's answer, decoded; None when its status is one of `none`.

        Raises
        ------
        AnswerError
            When it is an error.
        urllib3.exceptions.HTTPError
            When there is none, within `timeout_s` if that is given.
        """
        body = None if content is None else orjson.dumps(content, option=orjson.OPT_STRICT_INTEGER)
        timeout = _FOREVER if timeout_s is None else urllib3.Timeout(total=timeout_s)
        answer = self._pool.urlopen(method, self._root + path, body, self._headers, timeout=timeout, retries=False)
        if answer.status < 400:
            return orjson.loads(answer.data)
        if answer.status in none:
            return None
        raise AnswerError(answer.status, f"{method} {unquote(path)}", _decoded(answer.data))

    def close(self) -> None:
        """Close the connection."""
        self._pool.close()


def _decoded(data: bytes) -> dict[str, Any]:
    try:
        return dict(orjson.loads(data))
    except (ValueError, TypeError):  # a proxy's page
        return {"error": "no answer of CouchDB's", "reason": data[:80].decode(errors="replace")}
