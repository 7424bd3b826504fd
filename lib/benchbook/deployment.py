"""What a cell finds running: frozen nodes, to and from JSON, so that a kernel can be told of them in a file."""

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


def roles(topology: Topology) -> tuple[Role, ...]:
    """Return the roles of a topology's servers, the primary first."""
    return ("primary",) if topology == "single" else ("primary", "replica")


VARIABLE: Final = "BENCHBOOK_DEPLOYMENT"
"""Environment variable that names the file with the runner's deployment."""

PATIENCE_S: Final = 5
"""How long a server may take to answer a newcomer, in seconds."""

LOCAL_NAMES: Final = ("127.0.0.1", "localhost", "::1")
"""What an address calls this machine."""


DATABASE: Final = "benchbook"
"""The database on servers that we start."""

FRESH_DATABASE: Final = re.compile(r"benchbook_[0-9a-f]{8}")
"""What a run calls its database on servers that a user gives."""

_DAY_S: Final = 86_400


def fresh_database() -> str:
    """Return a new name for a database: four digits are the day since 1970, four are random."""
    return f"{DATABASE}_{int(time.time() // _DAY_S):04x}{secrets.token_hex(2)}"


def day_of(database: str) -> date:
    """Return the day, in UTC, on which `fresh_database` made a name."""
    day = int(database.removeprefix(f"{DATABASE}_")[:4], 16)
    return datetime.fromtimestamp(day * _DAY_S, UTC).date()


@dataclass(frozen=True)
class Node:
    """One running server."""

    role: Role  # ``primary`` or ``replica`` (a single server is a primary)
    url: str  # where it listens, with user and password
    pid: int | None  # its (top) process when it runs on this machine and is known
    version: str  # as the server states it
    container: str = ""  # where its process is out of reach, in a virtual machine: its database's socket and its own id


@dataclass(frozen=True)
class Place:
    """A machine of a network, within this one."""

    namespace: str  # the file of its network namespace
    processors: tuple[int, ...] = ()  # those that it has, by their numbers; none: all


@dataclass(frozen=True)
class Deployment:
    """The nodes a cell uses: one product in one topology; ``none`` has no nodes."""

    product: str
    topology: Topology
    nodes: tuple[Node, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    places: dict[Role, Place] = field(default_factory=dict)  # where each role is, the client too, in a network
    database: str = DATABASE  # where all records are kept: a database, a schema, or a prefix

    @property
    def network(self) -> str:
        """The network in which they stand, as `benchbook.networks` reads it; ``none``: on this machine's loopback."""
        return str(self.settings.get("network", "none"))

    @property
    def given(self) -> bool:
        """Whether its servers are a user's, given by their addresses, and not started for it."""
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
            role: Place(**{**at, "processors": tuple(at["processors"])}) for role, at in fields.pop("places").items()
        }
        return cls(nodes=nodes, places=places, **fields)


def numbers(text: object) -> list[int]:
    """Return the numbers in a text: a version's, or a path's."""
    return [int(digits) for digits in re.findall(r"\d+", str(text))]


def older(version: str, than: str) -> bool:
    """Return whether a version comes before another, by their numbers: ``8.0.15`` before ``8.0.23`` before ``10.2``."""
    return numbers(version) < numbers(than)


NONE = Deployment(product="none", topology="none")


def announced() -> Deployment | None:
    """Return the deployment in the file that ``BENCHBOOK_DEPLOYMENT`` names; None when the variable is not set."""
    path = os.environ.get(VARIABLE)
    return Deployment.from_json(Path(path).read_text()) if path else None
