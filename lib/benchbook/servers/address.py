"""Addresses of running servers: their environment variables, their parts, and HTTP requests."""

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

from benchbook.registry import products
from benchbook.servers.deployment import LOCAL_NAMES, PATIENCE_S, Role, Topology
from benchbook.servers.errors import ServerError


@dataclass(frozen=True)
class ServerInfo:
    """What a server says about itself; its role is None where all servers are alike."""

    version: str
    role: Role | None
    settings: Mapping[str, object]
    followers: tuple[str, ...] = ()  # Servers that replicate from it, by its names for them.
    unseen: str = ""  # Why its user may not see all of them, and the remedy.


def name_variable(product: str, name: str) -> str:
    """Return the environment variable of a product's setting."""
    return f"BENCHBOOK_{product.upper()}_{name}"


def name_url_variable(product: str, role: Role = "primary") -> str:
    """Return the environment variable with the address of a product's primary or replica."""
    return name_variable(product, "REPLICA_URL" if role == "replica" else "URL")


def name_single_url_variable(product: str) -> str:
    """Return the environment variable with a single server's address, which precedes a pair's."""
    return name_variable(product, "SINGLE_URL")


def name_url_variables(product: str, topology: Topology) -> dict[Role, str]:
    """Return the environment variables with the addresses of a topology's servers."""
    if topology == "single":
        single = name_single_url_variable(product)
        return {"primary": single if os.environ.get(single) else name_url_variable(product)}
    return {
        "primary": name_url_variable(product),
        "replica": name_url_variable(product, "replica"),
    }


def read_given_urls(product: str, topology: Topology) -> dict[Role, str] | None:
    """Return the addresses that the environment gives for a topology; None when it gives none.

    `ServerError` when only one of two is given, or one is not an address of that product.
    """
    names = name_url_variables(product, topology)
    urls = {role: os.environ[name] for role, name in names.items() if os.environ.get(name)}
    pair = name_url_variables(product, "replicated").values()
    present = [name for name in pair if os.environ.get(name)]
    if not urls and not present:
        return None
    # Refuse half of a pair.
    absent = [name for role, name in names.items() if role not in urls]
    if absent:
        needed = f"a {topology} {product} also needs {' and '.join(absent)}"
        raise ServerError(f"{' and '.join(present)} is set: {needed} (or set neither)")
    # Refuse an address that no driver of the product can read.
    schemes = products.load_product(product).schemes
    for role, url in urls.items():
        # Messages do not show the address, because it may have a password.
        if url.partition("://")[0] not in schemes:
            raise ServerError(f"{names[role]} must start with {schemes[0]}://")
        fault = find_fault(product, url)
        if fault:
            raise ServerError(f"{names[role]} {fault}")
    return urls


def list_other_urls(product: str, url: str) -> list[str]:
    """Return the other addresses that are given for the product's servers."""
    pair = name_url_variables(product, "replicated").values()
    names = (name_single_url_variable(product), *pair)
    addresses = [os.environ[name] for name in names if os.environ.get(name)]
    return [address for address in addresses if address != url]


def find_fault(product: str, url: str) -> str | None:
    """Return why a driver cannot read an address, without any part of it; None when it can."""
    if re.search(r"[\s\x00-\x1f\x7f]", url):
        return "has a blank or a line break: write a blank in a password as %20"
    # Check user and password.
    text = url.partition("://")[2]
    authority = re.split(r"[/?#]", text, maxsplit=1)[0]
    rest = text.removeprefix(authority)
    login, _, hosts = authority.rpartition("@")
    if "@" in rest or re.search(r"[@\[\]]|%(?![0-9A-Fa-f]{2})", login):
        return (
            "has characters that user and password must escape:"
            " write % as %25, @ as %40, / as %2F, ? as %3F, # as %23"
        )
    # Check hosts and ports.
    facts = products.load_product(product)
    if "," in hosts and not facts.several_hosts:
        return f"names several hosts: {product} takes one"
    if not hosts and facts.host_option and facts.host_option in rest:
        return None
    for host in hosts.split(","):
        fault = _find_host_fault(host)
        if fault:
            return fault
    return None


def _find_host_fault(host: str) -> str | None:
    """Return the fault of a host and its port; None when they are right."""
    name, port = re.match(r"(\[[^\]]*\]|[^:\[\]]*)(.*)", host).groups()  # type: ignore[union-attr]
    if name.startswith("["):
        try:
            IPv6Address(name[1:-1])
        except ValueError:
            return "has no IPv6 address in its brackets"
    if port.startswith("[") or ":" in port[1:]:
        return "has an IPv6 address without brackets: write it as [::1]"
    if not name:
        return "names no host"
    if port and not (re.fullmatch(r":[0-9]{1,5}", port) and 1 <= int(port[1:]) <= 65535):
        return "has a port that is not a number from 1 to 65535"
    return None


class Login(TypedDict):
    """The parts of an address, for drivers that take no URL."""

    host: str | None
    port: int
    user: str
    password: bytes


def read_login(url: str, port: int) -> Login:
    """Return host, port, user and password of a URL, for drivers that take no URL.

    Parameters
    ----------
    port
        The port of a URL without one.

    Returns
    -------
    Login
        Its password is in UTF-8, as servers have it: PyMySQL would encode a text as Latin-1.
    """
    parts = urlsplit(url)
    user, password = unquote(parts.username or ""), unquote(parts.password or "").encode()
    return {"host": parts.hostname, "port": parts.port or port, "user": user, "password": password}


def format_host_port(url: str, port: int) -> str:
    """Return host and port (else this one) of a URL, an IPv6 address in brackets."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    return f"{host}:{parts.port or port}"


def make_authorization(url: str, user: str = "") -> dict[str, str]:
    """Return the header of HTTP's basic authentication for an address's user, else this one."""
    parts = urlsplit(url)
    login = f"{unquote(parts.username or user)}:{unquote(parts.password or '')}"
    if login == ":":
        return {}
    return {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}


def request_json(
    url: str,
    path: str,
    headers: dict[str, str],
    *,
    method: str = "GET",
    body: bytes | None = None,
    unknown: Container[int] = (),
    patience_s: float = PATIENCE_S,
) -> Any:
    """Return the JSON that a server answers.

    Parameters
    ----------
    unknown
        Statuses for which the answer is an empty object, as for an empty answer to a body.
    patience_s
        Seconds until the request fails.

    Raises
    ------
    PermissionError
        When the user may not ask that.
    ConnectionError
        When there is no answer, or another error.
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
        if body is not None:
            # The answer says what is wrong with the body.
            refusal = error.read(500).decode(errors="replace")
            why = f"{why}: {' '.join(refusal.split())}"
        kind = PermissionError if error.code == 403 else ConnectionError
        raise kind(f"{path}: {why} ({error.code})") from None
    except (OSError, ValueError, HTTPException) as error:
        raise ConnectionError(f"{path}: {error}") from None


def find_listener(product: str, url: str) -> int | None:
    """Return the server process that listens at a loopback address; None when it is unknown."""
    try:
        host, port = urlsplit(url).hostname, urlsplit(url).port
        if host not in LOCAL_NAMES or port is None:
            return None
        # Find who listens at the port: a server and perhaps its children.
        pids = set()
        for socket in psutil.net_connections("tcp"):
            if socket.status == psutil.CONN_LISTEN and socket.laddr and socket.laddr.port == port:
                pids.add(socket.pid)
        processes = [psutil.Process(pid) for pid in pids if pid]
        oldest = min(processes, key=psutil.Process.create_time, default=None)
        # Another program is a container's proxy.
        names = products.load_product(product).processes
        return oldest.pid if oldest is not None and oldest.name() in names else None
    except (ValueError, psutil.Error):
        # The address has several hosts, or the process is another user's.
        return None
