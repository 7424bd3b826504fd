"""Servers that run already: their addresses, and what they say of themselves."""

import importlib
import os
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import psutil

from benchbook.deployment import Role, Topology
from benchbook.registry import server
from benchbook.servers.errors import ServerError


@dataclass(frozen=True)
class Answer:
    """What a server says of itself; its role is None where every server is like any other."""

    version: str
    role: Role | None
    settings: dict[str, Any]
    stand_in: bool = False


def variable(product: str, role: Role = "primary") -> str:
    """Return the environment variable for the address of a product's primary or replica."""
    name = product.upper().replace("@", "_").replace(".", "_")
    return f"BENCHBOOK_{name}_{'REPLICA_' if role == 'replica' else ''}URL"


def given(product: str, topology: Topology) -> dict[Role, str] | None:
    """Return the addresses given for a topology; None when the environment has none.

    Raises
    ------
    ServerError
        When one is given and the other is not, or one is no address of that product.
    """
    roles: tuple[Role, ...] = ("primary", "replica")
    urls = {role: url for role in roles if (url := os.environ.get(variable(product, role)))}
    wanted: tuple[Role, ...] = ("primary",) if topology == "single" else roles
    if not urls:
        return None
    if absent := [variable(product, role) for role in wanted if role not in urls]:
        present = " and ".join(variable(product, role) for role in urls)
        raise ServerError(
            f"{present} is set: a {topology} {product} also needs {' and '.join(absent)} (or set neither)"
        )
    schemes = importlib.import_module(server(product)).SCHEMES
    for role in wanted:
        if urlsplit(urls[role]).scheme not in schemes:  # not shown: it may hold a password
            raise ServerError(f"{variable(product, role)} must start with {schemes[0]}://")
    return {role: urls[role] for role in wanted}


def shown(url: str) -> str:
    """Return an address without its password, for errors and logs."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()


def listener(product: str, url: str) -> int | None:
    """Return the process that listens at a loopback address, when it is a server's own and we may know."""
    try:
        host, port = urlsplit(url).hostname, urlsplit(url).port
        if host not in ("127.0.0.1", "localhost", "::1") or port is None:
            return None
        sockets = [socket for socket in psutil.net_connections("tcp") if socket.status == psutil.CONN_LISTEN]
        pids = [socket.pid for socket in sockets if socket.pid and socket.laddr and socket.laddr.port == port]
        processes = [psutil.Process(pid) for pid in pids]
        programs = importlib.import_module(server(product)).PROGRAMS
        oldest = min(processes, key=psutil.Process.create_time, default=None)
        return oldest.pid if oldest is not None and oldest.name() in programs else None  # else a container's proxy
    except (ValueError, psutil.Error):  # several hosts in one address; another user's process
        return None
