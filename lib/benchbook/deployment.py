"""What a cell finds running: frozen nodes, to and from JSON, so that a kernel can be told of them in a file."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

Role = Literal["client", "primary", "replica", "server", "machine"]
Topology = Literal["none", "single", "replicated", "bidirectional"]

VARIABLE = "BENCHBOOK_DEPLOYMENT"
"""Environment variable that names the file with the runner's deployment."""


@dataclass(frozen=True)
class Node:
    """One running server.

    Parameters
    ----------
    role
        ``primary`` or ``replica`` (a single server is a primary).
    url
        Where it listens, with user and password.
    pid
        Its (top) process when it runs on this machine and is known, else None.
    version
        As the server states it.
    stand_in
        True when this is not the product itself but something that speaks its protocol.
    """

    role: Role
    url: str
    pid: int | None
    version: str
    stand_in: bool = False


@dataclass(frozen=True)
class Deployment:
    """The nodes a cell uses: one product in one topology; ``none`` has no nodes."""

    product: str
    topology: Topology
    nodes: tuple[Node, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def given(self) -> bool:
        """Whether its servers are a user's, given by their addresses, and not started for it."""
        return self.settings.get("source") == "address"

    def node(self, role: Role = "primary") -> Node:
        """Return the node of that role.

        Raises
        ------
        LookupError
            When the deployment has none.
        """
        for node in self.nodes:
            if node.role == role:
                return node
        raise LookupError(f"the {self.topology} deployment of {self.product} has no {role}")

    def to_json(self) -> str:
        """Return the deployment as a JSON object."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Deployment":
        """Return the deployment that `to_json` wrote."""
        fields = json.loads(text)
        nodes = tuple(Node(**node) for node in fields.pop("nodes"))
        return cls(nodes=nodes, **fields)


def login(url: str, port: int) -> dict[str, Any]:
    """Return a URL's ``host``, ``port`` (or this one), ``user`` and ``password``, for drivers that take no URL.

    The password is in UTF-8, as servers keep it: PyMySQL would make Latin-1 of a text, or fail.
    """
    parts = urlsplit(url)
    user, password = unquote(parts.username or ""), unquote(parts.password or "").encode()
    return {"host": parts.hostname, "port": parts.port or port, "user": user, "password": password}


@contextmanager
def as_addressed() -> Iterator[None]:
    """Keep libpq from adding to an address what the user's ``PG*`` variables, and files in the user's home, say."""
    before = {name: value for name, value in os.environ.items() if name == "HOME" or name.startswith("PG")}
    for name in before:
        del os.environ[name]
    os.environ["HOME"] = os.devnull
    try:
        yield
    finally:
        del os.environ["HOME"]
        os.environ.update(before)


def location(url: str, port: int) -> str:
    """Return a URL's host and port (or this one) as a URL has them: an IPv6 address in brackets."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return f"{f'[{host}]' if ':' in host else host}:{parts.port or port}"


NONE = Deployment(product="none", topology="none")


def announced() -> Deployment | None:
    """Return the deployment in the file that ``BENCHBOOK_DEPLOYMENT`` names; None when the variable is not set."""
    path = os.environ.get(VARIABLE)
    return Deployment.from_json(Path(path).read_text()) if path else None
