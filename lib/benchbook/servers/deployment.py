"""The deployment that a cell uses: its servers as nodes, written as JSON for the cell's kernel."""

import json
import os
import re
import secrets
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final, Literal

Role = Literal["client", "primary", "replica", "server", "machine"]
Topology = Literal["none", "single", "replicated", "bidirectional"]


def list_roles(topology: Topology) -> tuple[Role, ...]:
    """Return the roles of a topology's servers, the primary first."""
    return ("primary",) if topology == "single" else ("primary", "replica")


DEPLOYMENT_VARIABLE: Final = "BENCHBOOK_DEPLOYMENT"
"""Environment variable with the file of the deployment that the runner announces."""

PATIENCE_S: Final = 5
"""Seconds that a server may take to answer a new client."""

LOCAL_NAMES: Final = ("127.0.0.1", "localhost", "::1")
"""This machine in an address."""

DATABASE_NAME: Final = "benchbook"
"""The database on servers that we start."""

FRESH_DATABASE_PATTERN: Final = re.compile(r"benchbook_[0-9a-f]{8}")
"""The name of a run's database on servers that a user gives."""

_DAY_S: Final = 86_400


def name_fresh_database() -> str:
    """Return a new database name: four hexadecimal digits are days since 1970, four are random."""
    return f"{DATABASE_NAME}_{int(time.time() // _DAY_S):04x}{secrets.token_hex(2)}"


def read_day(database: str) -> date:
    """Return the day (UTC) of a name by `name_fresh_database`."""
    day = int(database.removeprefix(f"{DATABASE_NAME}_")[:4], 16)
    return datetime.fromtimestamp(day * _DAY_S, UTC).date()


@dataclass(frozen=True)
class Node:
    """One running server."""

    role: Role  # ``primary`` or ``replica``; a single server is a primary.
    url: str  # With user and password.
    pid: int | None  # Its (first) process, where that is on this machine and known.
    version: str  # As the server says.
    # Where its process is in a virtual machine: its container engine's socket, a blank and its id.
    container: str = ""


@dataclass(frozen=True)
class Place:
    """An emulated machine of a network."""

    namespace: str  # The file of its network namespace.
    processors: tuple[int, ...] = ()  # Their numbers; empty: all.


@dataclass(frozen=True)
class Deployment:
    """The nodes that a cell uses: one product in one topology; ``none`` has no nodes."""

    product: str
    topology: Topology
    nodes: tuple[Node, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    # The place of each role, also the client's, in a network.
    places: dict[Role, Place] = field(default_factory=dict)
    database: str = DATABASE_NAME  # A database, a schema or a prefix of names.

    @property
    def network(self) -> str:
        """Their network, as `networks.Network` reads it; ``none`` is this machine's loopback."""
        return str(self.settings.get("network", "none"))

    @property
    def commit(self) -> str:
        """When its servers sync what they write: as they do (``each``), or ``later``."""
        return str(self.settings.get("commit", "each"))

    @property
    def is_given(self) -> bool:
        """Whether its servers are a user's, at given addresses."""
        return self.settings.get("source") == "address"

    def node(self, role: Role = "primary") -> Node:
        """Return the node of that role; `LookupError` when the deployment has none."""
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
        places = {
            role: Place(place["namespace"], tuple(place["processors"]))
            for role, place in fields.pop("places").items()
        }
        return cls(nodes=nodes, places=places, **fields)


def read_numbers(text: object) -> list[int]:
    """Return the numbers in a text, such as a version or a path."""
    return [int(digits) for digits in re.findall(r"\d+", str(text))]


def is_older(version: str, than: str) -> bool:
    """Return whether a version precedes another: ``8.0.15`` before ``8.0.23`` before ``10.2``."""
    return read_numbers(version) < read_numbers(than)


NO_DEPLOYMENT = Deployment(product="none", topology="none")


def load_deployment() -> Deployment | None:
    """Return the deployment in the file of ``BENCHBOOK_DEPLOYMENT``; None when that is not set."""
    path = os.environ.get(DEPLOYMENT_VARIABLE)
    return Deployment.from_json(Path(path).read_text()) if path else None
