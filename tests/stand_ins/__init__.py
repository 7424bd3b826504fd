"""Servers that speak a product's protocol, for tests of its adapter where the product is not here.

PouchDB speaks CouchDB's, reqlite RethinkDB's. `start` starts one and gives its address to the
library as a user does. No test asks it for what is in `LIMITATIONS`. A plug-in of pytest may add
more to `LIMITATIONS`, `STARTERS` and `NEEDED`.
"""

import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from benchbook.registry import products
from benchbook.servers import launcher
from benchbook.servers.address import (
    name_single_url_variable,
    name_url_variable,
    name_url_variables,
)
from benchbook.servers.deployment import Role, Topology, list_roles
from benchbook.servers.fleet import USER_NAME, Fleet, make_password
from benchbook.servers.programs import AvailableServer, find_startable

FOLDER: Final = Path(__file__).parent

LIMITATIONS: Final[dict[str, dict[str, str]]] = {
    "couchdb": {
        "large_integers": "PouchDB is JavaScript: it rounds integers beyond 2^53",
        "doubles": "PouchDB keeps 5e-324, which CouchDB reads as 0",
        "large_records": "PouchDB takes 17 MB, which CouchDB refuses unless it is told otherwise",
    },
    "rethinkdb": {"durability": "reqlite keeps everything in memory: there is no choice"},
}
"""What each cannot do, or does otherwise than its product, by capability, and why."""


def _list_variables(product: str) -> tuple[str, ...]:
    """Return the variables that may have the addresses of a product's servers."""
    return name_url_variable(product), name_single_url_variable(product)


def _pouchdb(fleet: Fleet, role: Role, password: str) -> str:
    folder = FOLDER / "couchdb"
    secret, data = (
        fleet.write_secret(f"{role}.login", f"{USER_NAME}:{password}"),
        fleet.make_folder(role),
    )
    server = fleet.start_server(
        role, lambda port: ["node", folder / "server.js", str(port), data, secret]
    )
    server.await_line('"port":')
    return f"http://{USER_NAME}:{password}@{server.address}/"


def _reqlite(fleet: Fleet, role: Role, password: str) -> str:
    secret = fleet.write_secret(f"{role}.login", password)
    server = fleet.start_server(
        role, lambda port: ["node", FOLDER / "rethinkdb" / "server.js", str(port), secret]
    )
    server.await_line("ready")
    return f"rethinkdb://admin:{password}@{server.address}"


STARTERS: Final[dict[str, Callable[[Fleet, Role, str], str]]] = {
    "couchdb": _pouchdb,
    "rethinkdb": _reqlite,
}
"""Each starts a product's server in a fleet, with a password, and returns its address."""

NEEDED: Final[dict[str, tuple[str, Path]]] = {
    "couchdb": ("node", FOLDER / "couchdb" / "node_modules"),
    "rethinkdb": ("node", FOLDER / "rethinkdb" / "node_modules"),
}
"""The program that runs each, and what set-up has fetched of it."""

# Tests hide the variables later.
_GIVEN_VARIABLES: Final = {name for name, value in os.environ.items() if value}


def is_given(product: str) -> bool:
    """Return whether the test run was given a product's servers: then no stand-in is tested."""
    return not _GIVEN_VARIABLES.isdisjoint(_list_variables(product))


@cache
def available(product: str, topology: Topology = "single") -> bool:
    """Return whether such a server is here, and the product itself is not."""
    if product not in NEEDED or is_given(product):
        return False
    if topology != "single" and product != "couchdb":
        return False
    program, package = NEEDED[product]
    if products.find_missing_plugin(product):
        return False
    is_here = isinstance(find_startable(product, topology), AvailableServer)
    return not is_here and shutil.which(program) is not None and package.exists()


def find_limitations(product: str, topology: Topology) -> dict[str, str]:
    """Return the gaps of the server that a database is tested on, with reasons."""
    return LIMITATIONS[product] if available(product, topology) else {}


def start(product: str, topology: Topology) -> launcher.RunningServers:
    """Start the servers of a topology and use them as a user's; `stop` ends them.

    The deployment also says their processes, which of a user's servers are not always known.
    """
    with ExitStack() as stack:
        fleet, password = Fleet(product), make_password()
        stack.callback(fleet.stop)
        urls = {role: STARTERS[product](fleet, role, password) for role in list_roles(topology)}
        with pytest.MonkeyPatch.context() as patch:
            for role, name in name_url_variables(product, topology).items():
                patch.setenv(name, urls[role])
            running = launcher.provide_servers(product, topology)
        nodes = tuple(
            replace(node, pid=fleet.find_server(node.role).pid) for node in running.deployment.nodes
        )
        return replace(
            running, deployment=replace(running.deployment, nodes=nodes), stop=stack.pop_all().close
        )
