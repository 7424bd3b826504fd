"""CouchDB, one node a server.

CouchDB syncs every commit (twice: before and after it writes the file's header). Replication is a database's: an
database's `create` sets it up, in both directions when the topology is ``bidirectional``. So nodes know nothing of each
other, and none needs Erlang's distribution, which would open two more ports: it is left off.
"""

import secrets
import signal
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from socket import getaddrinfo
from typing import Final
from urllib.parse import urlsplit

from urllib3.exceptions import HTTPError

from benchbook.databases.couchdb.node import AnswerError, Databases, HTTPNode
from benchbook.deployment import PATIENCE_S, Role, Topology
from benchbook.scrubbing import shown
from benchbook.servers.address import Answer
from benchbook.servers.fleet import USER, At, Fleet, await_true, new_password, served
from benchbook.servers.programs import Found

_READY: Final = "Apache CouchDB has started on http"
_OLDEST: Final = 2

_CONFIGURED: Final = {
    "shards": ("cluster", "q"),
    "copies": ("cluster", "n"),
    "max_document_size": ("couchdb", "max_document_size"),
    "log_level": ("log", "level"),
    "password_rounds": ("chttpd_auth", "iterations"),
}
"""Where CouchDB keeps what bears on performance."""

_SYSTEM: Final = ("_users", "_replicator")
"""The databases that a single node makes when it starts."""

_ARGUMENTS: Final = """\
-kernel error_logger silent
-sasl sasl_error_logger false
-kernel prevent_overlapping_partitions false
+SDio 16
+Bd -noinput
-ssl session_lifetime 300
-os_mon start_cpu_sup false
-os_mon start_memsup false
-os_mon disk_space_check_interval 5
-os_mon disk_almost_full_threshold 1.0
-env ERL_CRASH_DUMP_SECONDS 0
"""
"""Erlang's arguments: CouchDB's own (etc/vm.args), without a name, and so without distribution; and no crash dumps."""

_SETTINGS: Final = """\
[couchdb]
single_node = true
uuid = {uuid}
database_dir = {data}
view_index_dir = {data}
; for records of 17 MB: the default is 8,000,000
max_document_size = 67108864

[smoosh]
state_dir = {data}

[chttpd]
bind_address = {address}
port = {port}
; else "/" welcomes anybody
require_valid_user = true

; what CouchDB's set-up of a single node sets
[cluster]
n = 1

; a password that nobody guesses needs no 600,000 rounds: they take half a second at start, and in the first request
; after ten minutes without one (what was checked in between is kept)
[chttpd_auth]
iterations = 10

; else whoever on this machine gives five wrong passwords locks us out
[chttpd_auth_lockout]
mode = off

[admins]
{user} = {password}
"""


def fleet() -> Fleet:
    """Return an empty fleet for CouchDB's servers, which need no farewell: their files are whole at any moment."""
    return Fleet("couchdb", stop_signal=signal.SIGKILL)


def launch(at: At, topology: Topology) -> dict[Role, str]:
    """Start the servers of `topology` and return their URLs."""
    return served(at, topology, _serve, _ready, new_password())


def ask(url: str) -> Answer:
    """Return what the server at `url` says of itself."""
    try:
        with closing(HTTPNode(url)) as node:
            welcome = dict(node.ask("GET", "/", timeout_s=PATIENCE_S))
            if "couchdb" in welcome:
                # CouchDB welcomes anybody.
                node.check(PATIENCE_S)
                configured = {name: node.setting(*place) or "default" for name, place in _CONFIGURED.items()}
    except AnswerError as error:
        refused = error.status in (401, 403)
        why = f"Authentication failed: {error.reason}" if refused else f"no CouchDB: it answers {error.status}"
        raise ConnectionError(why) from None
    except (HTTPError, ValueError, TypeError) as error:
        raise ConnectionError(f"no CouchDB: {error}") from None
    if "couchdb" not in welcome:
        raise ConnectionError("no CouchDB: it does not say that it is")
    major = int(welcome["version"].partition(".")[0])
    if major < _OLDEST:
        raise ConnectionError(f"CouchDB {welcome['version']} has no Mango: {_OLDEST} or newer is needed")
    fsync = "every commit" if major > _OLDEST else "as delayed_commits says"
    settings = {"vendor": welcome.get("vendor", {}).get("name"), "fsync": fsync, **configured}
    # A node has no role but what replication gives it.
    return Answer(welcome["version"], None, settings)


def followers(url: str, others: Sequence[str]) -> tuple[str, ...]:
    """Return what replicates from the server at `url`, or into it, and on which node: there or on one of the others.

    A server knows what it replicates itself, and not who reads from it. `ConnectionError` when one of the nodes does
    not tell.
    """
    try:
        with ExitStack() as stack:
            node, *rest = [stack.enter_context(closing(HTTPNode(address))) for address in (url, *others)]
            pulls = [(node, pull) for pull in Databases(node, PATIENCE_S).replications()]
            places = _places(f"//{node.name}") | _places(node.peer)
            for other in rest:
                known = Databases(other, PATIENCE_S).replications()
                pulls += [(other, pull) for pull in known if places & (_places(pull.source) | _places(pull.target))]
    except (AnswerError, HTTPError) as error:
        raise ConnectionError(str(error)) from None
    return tuple(f"{shown(pull.target)} (from {shown(pull.source)}, {pull.name!r} on {at.name})" for at, pull in pulls)


def _places(url: str) -> set[tuple[str, int | None]]:
    """Return an address's host and port, the host by its name and by its addresses."""
    parts = urlsplit(url)
    with suppress(OSError):
        hosts = {str(place[0]) for *_, place in getaddrinfo(parts.hostname, None)}
        return {(host, parts.port) for host in (parts.hostname or "", *hosts)}
    return {(parts.hostname or "", parts.port)}


def _serve(fleet: Fleet, installed: Found, role: Role, password: str) -> None:
    data = fleet.subfolder(role)
    arguments = fleet.secret(f"{role}.args", _ARGUMENTS)
    uuid = secrets.token_hex(16)

    def command(port: int) -> Sequence[str | Path]:
        own = _SETTINGS.format(uuid=uuid, data=data, address=fleet.address, port=port, user=USER, password=password)
        settings = fleet.secret(f"{role}-{port}.ini", own)
        # CouchDB's program looks for what is not absolute in its own folder
        files = ("-couch_ini", "etc/default.ini", settings)
        return ["env", f"COUCHDB_ARGS_FILE={arguments}", installed.programs["couchdb"], *files]

    fleet.serve(role, command)


def _ready(fleet: Fleet, installed: Found, role: Role, password: str) -> str:
    """Return a server's URL, once it is ready, and let it be quiet from then on."""
    server = fleet.server(role)
    server.await_line(_READY)
    url = f"http://{USER}:{password}@{server.address}/"
    with closing(HTTPNode(url)) as node:
        await_true(
            lambda: all(node.ask("GET", f"/{name}", none=(404,), timeout_s=PATIENCE_S) for name in _SYSTEM),
            lambda: f"couchdb's {role} has not made {' and '.join(_SYSTEM)}",
        )
        # else it writes a line a request
        node.set("log", "level", "warning")
    return url
