"""Servers that speak a product's protocol, for tests of its adapter where the product is not here.

PouchDB speaks CouchDB's, reqlite RethinkDB's, CouchbaseMock Couchbase's. `start` starts one and gives its address to
the library as a user does. What it cannot do is in `LACKS`, and no test asks it for that.
"""

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from benchbook import registry, servers
from benchbook.deployment import Role, Topology, roles
from benchbook.servers.address import variables
from benchbook.servers.errors import written
from benchbook.servers.fleet import USER, Fleet, new_password

FOLDER: Final = Path(__file__).parent

JAR: Final = FOLDER / "couchbase" / "CouchbaseMock-1.5.27.jar"

LACKS: Final[dict[str, dict[str, str]]] = {
    "couchdb": {
        "large_integers": "PouchDB is JavaScript: it rounds integers beyond 2^53",
        "doubles": "PouchDB keeps 5e-324, which CouchDB reads as 0",
        "large_records": "PouchDB takes 17 MB, which CouchDB refuses unless it is told otherwise",
    },
    "rethinkdb": {"durability": "reqlite keeps everything in memory: there is no choice"},
    "couchbase": {
        "find": "CouchbaseMock knows no SQL++: only the key finds a record",
        "durability": "CouchbaseMock refuses durable writes",
    },
}
"""What each cannot do, or does otherwise than its product, by capability, and why."""

REFUSED_KEYS: Final[dict[str, Callable[[str], bool]]] = {
    "couchdb": lambda key: key > "\xff",  # PouchDB loses those that begin with a later character
    "couchbase": lambda key: not key.isascii() or "\0" in key,
}
"""What tells the keys of records that a server does not take, and its product does."""

REFUSED_NAMES: Final[dict[str, tuple[str, ...]]] = {"rethinkdb": ("__proto__", "constructor", "hasOwnProperty")}
"""Names of fields that a server keeps for itself."""

NAMES: Final = tuple(LACKS)


def _pouchdb(fleet: Fleet, role: Role, password: str) -> str:
    folder = FOLDER / "couchdb"
    secret, data = fleet.secret(f"{role}.login", f"{USER}:{password}"), fleet.subfolder(role)
    server = fleet.serve(role, lambda port: ["node", folder / "server.js", str(port), data, secret])
    server.await_line('"port":')
    return f"http://{USER}:{password}@{server.address}/"


def _reqlite(fleet: Fleet, role: Role, password: str) -> str:
    secret = fleet.secret(f"{role}.login", password)
    server = fleet.serve(role, lambda port: ["node", FOLDER / "rethinkdb" / "server.js", str(port), secret])
    server.await_line("ready")
    return f"rethinkdb://admin:{password}@{server.address}"


def _couchbase_mock(fleet: Fleet, role: Role, password: str) -> str:
    secret, launcher = fleet.secret(f"{role}.login", password), FOLDER / "couchbase" / "Loopback.java"
    server = fleet.serve(role, lambda port: ["java", "-Xmx512m", "-cp", JAR, launcher, str(port), secret])
    said = "ready, data on port "
    server.await_line(said)
    data = written(server.log).partition(said)[2].split()[0]
    return f"couchbase://{USER}:{password}@{server.host}:{data}/benchbook?management={server.port}"


_START: Final[dict[str, Callable[[Fleet, Role, str], str]]] = {
    "couchdb": _pouchdb,
    "rethinkdb": _reqlite,
    "couchbase": _couchbase_mock,
}
_NEEDED: Final = {
    "couchdb": ("node", FOLDER / "couchdb" / "node_modules"),
    "rethinkdb": ("node", FOLDER / "rethinkdb" / "node_modules"),
    "couchbase": ("javac", JAR),
}
"""The program that runs each, and what set-up has fetched of it."""


@cache
def available(product: str, topology: Topology = "single") -> bool:
    """Return whether a server is here that speaks a product's protocol, and the product itself is not."""
    if product not in NAMES or (topology != "single" and product != "couchdb"):
        return False
    program, package = _NEEDED[product]
    if registry.missing_driver(product):
        return False
    is_here = isinstance(servers.here(product, topology), servers.Found)
    return not is_here and shutil.which(program) is not None and package.exists()


def lacks(engine: str, topology: Topology) -> dict[str, str]:
    """Return what the server that an engine is tested on cannot do, or does otherwise, and why."""
    return LACKS[engine] if available(engine, topology) else {}


def start(product: str, topology: Topology) -> servers.Running:
    """Start the servers of a topology and use them by their addresses, as a user's; `stop` ends them.

    The deployment also says their processes, which of a user's servers are not always known.
    """
    with ExitStack() as stack:
        if product == "couchbase":
            from products import view_bucket  # its driver need not be installed

            stack.enter_context(view_bucket.in_use())
        fleet, password = Fleet(product), new_password()
        stack.callback(fleet.stop)
        urls = {role: _START[product](fleet, role, password) for role in roles(topology)}
        with pytest.MonkeyPatch.context() as patch:
            for role, name in variables(product, topology).items():
                patch.setenv(name, urls[role])
            running = servers.up(product, topology)
        nodes = tuple(replace(node, pid=fleet.server(node.role).pid) for node in running.deployment.nodes)
        return replace(running, deployment=replace(running.deployment, nodes=nodes), stop=stack.pop_all().close)
