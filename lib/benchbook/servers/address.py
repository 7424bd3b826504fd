"""Addresses of servers that run: as a user gives them, and as drivers take them; and what answers there."""

import base64
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Container, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from ipaddress import IPv6Address
from typing import Any, TypedDict
from urllib.parse import unquote, urlsplit

import psutil

from benchbook import registry
from benchbook.deployment import LOCAL_NAMES, PATIENCE_S, Role, Topology
from benchbook.servers.errors import ServerError

_REFUSAL_B = 500


@dataclass(frozen=True)
class Answer:
    """What a server says of itself; its role is None where every server is like any other."""

    version: str
    role: Role | None
    settings: Mapping[str, object]
    followers: tuple[str, ...] = ()  # who replicates from it, by the names that it has for them
    unseen: str = ""  # why its user may not see all of them, and what to do


def setting(product: str, name: str) -> str:
    """Return the environment variable by which something is said of a product."""
    return f"BENCHBOOK_{product.upper()}_{name}"


def variable(product: str, role: Role = "primary") -> str:
    """Return the environment variable for the address of a product's primary or replica."""
    return setting(product, "REPLICA_URL" if role == "replica" else "URL")


def single_variable(product: str) -> str:
    """Return the environment variable for the address of a single server, beside a pair's: it goes before theirs."""
    return setting(product, "SINGLE_URL")


def variables(product: str, topology: Topology) -> dict[Role, str]:
    """Return the environment variables that the addresses of a topology's servers are taken from."""
    if topology == "single":
        alone = single_variable(product)
        return {"primary": alone if os.environ.get(alone) else variable(product)}
    return {"primary": variable(product), "replica": variable(product, "replica")}


def given(product: str, topology: Topology) -> dict[Role, str] | None:
    """Return the addresses given for a topology; None when the environment has none.

    `ServerError` when one is given and the other is not, or one is no address of that product.
    """
    names = variables(product, topology)
    urls = {role: url for role, name in names.items() if (url := os.environ.get(name))}
    present = [name for name in variables(product, "replicated").values() if os.environ.get(name)]
    if not urls and not present:
        return None
    if absent := [name for role, name in names.items() if role not in urls]:
        raise ServerError(
            f"{' and '.join(present)} is set: a {topology} {product} also needs {' and '.join(absent)} (or set neither)"
        )
    schemes = registry.product(product).schemes
    for role, url in urls.items():
        if url.partition("://")[0] not in schemes:
            # The address is not shown, for it may hold a password.
            raise ServerError(f"{names[role]} must start with {schemes[0]}://")
        if fault := find_fault(product, url):
            raise ServerError(f"{names[role]} {fault}")
    return urls


def others(product: str, url: str) -> list[str]:
    """Return the addresses given for the product's servers, but this one."""
    names = (single_variable(product), *variables(product, "replicated").values())
    addresses = [os.environ[name] for name in names if os.environ.get(name)]
    return [address for address in addresses if address != url]


def find_fault(product: str, url: str) -> str | None:
    """Return what is wrong with an address, without showing any of it; None when a driver can read it."""
    if re.search(r"[\s\x00-\x1f\x7f]", url):
        return "holds a blank or a line's end: a blank in a password is written %20"
    authority, rest = re.match(r"([^/?#]*)(.*)", url.partition("://")[2], re.DOTALL).groups()  # type: ignore[union-attr]
    login, _, hosts = authority.rpartition("@")
    if "@" in rest or re.search(r"[@\[\]]|%(?![0-9A-Fa-f]{2})", login):
        return "holds signs that user and password must escape: write % as %25, @ as %40, / as %2F, ? as %3F, # as %23"
    known = registry.product(product)
    if "," in hosts and not known.several_hosts:
        return f"names several hosts: {product} takes one"
    if not hosts and known.host_option and known.host_option in rest:
        return None
    return next(filter(None, map(_host_fault, hosts.split(","))), None)


def _host_fault(host: str) -> str | None:
    """Return what is wrong with a host and its port."""
    name, port = re.match(r"(\[[^\]]*\]|[^:\[\]]*)(.*)", host).groups()  # type: ignore[union-attr]
    if name.startswith("["):
        try:
            IPv6Address(name[1:-1])
        except ValueError:
            return "names no IPv6 address in its brackets"
    if port.startswith("[") or ":" in port[1:]:
        return "has an IPv6 address that must stand in brackets, as [::1] does"
    if not name:
        return "names no host"
    if port and not (re.fullmatch(r":[0-9]{1,5}", port) and 1 <= int(port[1:]) <= 65535):
        return "has a port that is no number from 1 to 65535"
    return None


class Login(TypedDict):
    """What drivers that take no URL are given in its place."""

    host: str | None
    port: int
    user: str
    password: bytes


def login(url: str, port: int) -> Login:
    """Return a URL's ``host``, ``port`` (or this one), ``user`` and ``password``, for drivers that take no URL.

    The password is in UTF-8, as servers keep it: PyMySQL would make Latin-1 of a text, or fail.
    """
    parts = urlsplit(url)
    user, password = unquote(parts.username or ""), unquote(parts.password or "").encode()
    return {"host": parts.hostname, "port": parts.port or port, "user": user, "password": password}


def location(url: str, port: int) -> str:
    """Return a URL's host and port (or this one) as a URL has them: an IPv6 address in brackets."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return f"{f'[{host}]' if ':' in host else host}:{parts.port or port}"


def basic_authorization(url: str, user: str = "") -> dict[str, str]:
    """Return the header of HTTP's basic authentication, in UTF-8, for an address's user, or for this one."""
    parts = urlsplit(url)
    login = f"{unquote(parts.username or user)}:{unquote(parts.password or '')}"
    return {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"} if login != ":" else {}


def http_json(
    url: str,
    path: str,
    headers: dict[str, str],
    *,
    method: str = "GET",
    body: bytes | None = None,
    unknown: Container[int] = (),
    patience_s: float = PATIENCE_S,
) -> Any:
    """Return the JSON that a server answers; empty for a status in `unknown`, or where a body is answered by nothing.

    `PermissionError` when the user may not ask that, `ConnectionError` when there is no answer, or another one.
    """
    request = urllib.request.Request(url + path, body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=patience_s) as answer:
            text = answer.read()
            return {} if body is not None and not text else json.loads(text)
    except urllib.error.HTTPError as error:
        if error.code in unknown:
            return {}
        why = "authentication failed" if error.code in (401, 403) else error.reason
        if body is not None:  # what was wrong with it
            why = f"{why}: {' '.join(error.read(_REFUSAL_B).decode(errors='replace').split())}"
        kind = PermissionError if error.code == 403 else ConnectionError
        raise kind(f"{path}: {why} ({error.code})") from None
    except (OSError, ValueError, HTTPException) as error:
        raise ConnectionError(f"{path}: {error}") from None


def listener(product: str, url: str) -> int | None:
    """Return the process that listens at a loopback address, when it is a server's own and we may know."""
    try:
        host, port = urlsplit(url).hostname, urlsplit(url).port
        if host not in LOCAL_NAMES or port is None:
            return None
        pids = set()
        for socket in psutil.net_connections("tcp"):
            if socket.status == psutil.CONN_LISTEN and socket.laddr and socket.laddr.port == port:
                pids.add(socket.pid)
        processes = [psutil.Process(pid) for pid in pids if pid]
        programs = registry.product(product).processes
        oldest = min(processes, key=psutil.Process.create_time, default=None)
        # Another program is a container's proxy.
        return oldest.pid if oldest is not None and oldest.name() in programs else None
    except (ValueError, psutil.Error):
        # The address has several hosts, or the process is another user's.
        return None
