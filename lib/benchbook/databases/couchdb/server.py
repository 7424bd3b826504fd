"""CouchDB: one node per server.

CouchDB syncs every commit (twice: before and after it writes the file's header). With ``commit:
later`` its own syncs do nothing (libeatmydata), and a thread here syncs its files once a second, as
1.5 did by default; unlike 1.5's syncs, these do not hold up writers. Each database has
its own replication: the adapter's `create` sets it up, in both directions when the topology is
``bidirectional``. So nodes know nothing of each other, and none needs Erlang's distribution, which
would open two more ports: it is off.
"""

import os
import secrets
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from socket import getaddrinfo
from typing import Final
from urllib.parse import urlsplit

from urllib3.exceptions import HTTPError

from benchbook.databases.couchdb.node import AnswerError, Databases, HTTPNode
from benchbook.servers.address import ServerInfo
from benchbook.servers.deployment import PATIENCE_S, Role, Topology
from benchbook.servers.errors import strip_login
from benchbook.servers.fleet import (
    USER_NAME,
    Fleet,
    RunAt,
    ServerProcess,
    await_condition,
    make_password,
    start_roles,
)
from benchbook.servers.programs import AvailableServer, find_unsynced_library

_OLDEST_MAJOR: Final = 2

_SETTINGS: Final = {
    "shards": ("cluster", "q"),
    "copies": ("cluster", "n"),
    "max_document_size": ("couchdb", "max_document_size"),
    "log_level": ("log", "level"),
    "password_rounds": ("chttpd_auth", "iterations"),
}
"""Section and key of the settings that matter for performance."""

_SYSTEM_DATABASES: Final = ("_users", "_replicator")
"""The databases that a single node makes when it starts."""

# CouchDB's own (etc/vm.args), but without a name, and so without distribution, and without crash
# dumps.
_ERLANG_ARGUMENTS: Final = """\
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

_CONFIGURATION: Final = """\
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
; otherwise "/" welcomes any user
require_valid_user = true

; what CouchDB's set-up of a single node sets
[cluster]
n = 1

; a random password needs no 600,000 rounds: they take half a second at start, and in the first
; request after ten minutes without one (what was checked in between is kept)
[chttpd_auth]
iterations = 10

; otherwise any program on this machine that gives five wrong passwords locks us out
[chttpd_auth_lockout]
mode = off

[admins]
{user} = {password}
"""


def fleet() -> Fleet:
    """Return an empty fleet; CouchDB's files are whole at any moment, so servers are killed."""
    return Fleet("couchdb", stop_signal=signal.SIGKILL)


def launch(run_at: RunAt, topology: Topology) -> dict[Role, str]:
    """Start the servers of `topology` and return their URLs."""
    return start_roles(run_at, topology, _start_server, _await_server, make_password())


def ask(url: str) -> ServerInfo:
    """Return version, role and settings of the server at `url`."""
    # Ask the server.
    settings: dict[str, object] = {}
    try:
        with closing(HTTPNode(url)) as node:
            welcome = dict(node.ask("GET", "/", timeout_s=PATIENCE_S))
            if "couchdb" in welcome:
                # CouchDB welcomes any user.
                node.check_login(PATIENCE_S)
                for name, (section, key) in _SETTINGS.items():
                    settings[name] = node.read_setting(section, key) or "default"
    except AnswerError as error:
        reason = f"no CouchDB: it answers {error.status}"
        if error.status in (401, 403):
            reason = f"Authentication failed: {error.reason}"
        raise ConnectionError(reason) from None
    except (HTTPError, ValueError, TypeError) as error:
        raise ConnectionError(f"no CouchDB: {error}") from None
    # Refuse other programs, and versions without Mango.
    if "couchdb" not in welcome:
        raise ConnectionError("no CouchDB: it does not say that it is")
    version = welcome["version"]
    major = int(version.partition(".")[0])
    if major < _OLDEST_MAJOR:
        raise ConnectionError(f"CouchDB {version} has no Mango: {_OLDEST_MAJOR} or newer is needed")
    fsync = "every commit" if major > _OLDEST_MAJOR else "as delayed_commits says"
    settings = {"vendor": welcome.get("vendor", {}).get("name"), "fsync": fsync, **settings}
    # A node has no role but what replication gives it.
    return ServerInfo(version, None, settings)


def followers(url: str, others: Sequence[str]) -> tuple[str, ...]:
    """Return the replications from or into the server at `url`, which run there or on the others.

    A server knows what it replicates itself, and not who reads from it. Raises `ConnectionError`
    when one of the nodes does not answer.
    """
    # All pulls of this node count; of the others only those from it or into it.
    pulls = []
    try:
        with ExitStack() as stack:
            node = stack.enter_context(closing(HTTPNode(url)))
            hosts = _list_hosts(f"//{node.name}") | _list_hosts(node.peer)
            pulls += [(node, pull) for pull in Databases(node, PATIENCE_S).list_pulls()]
            for address in others:
                other = stack.enter_context(closing(HTTPNode(address)))
                for pull in Databases(other, PATIENCE_S).list_pulls():
                    if hosts & (_list_hosts(pull.source) | _list_hosts(pull.target)):
                        pulls.append((other, pull))
    except (AnswerError, HTTPError) as error:
        raise ConnectionError(str(error)) from None
    return tuple(
        f"{strip_login(pull.target)} "
        f"(from {strip_login(pull.source)}, {pull.name!r} on {node.name})"
        for node, pull in pulls
    )


def _list_hosts(url: str) -> set[tuple[str, int | None]]:
    """Return an address's host and port, with the host's name and its addresses."""
    parts = urlsplit(url)
    name = parts.hostname or ""
    hosts = {name}
    with suppress(OSError):
        hosts |= {str(address[0]) for *_, address in getaddrinfo(parts.hostname, None)}
    return {(host, parts.port) for host in hosts}


def _start_server(fleet: Fleet, installed: AvailableServer, role: Role, password: str) -> None:
    data = fleet.make_folder(role)
    arguments = fleet.write_secret(f"{role}.args", _ERLANG_ARGUMENTS)
    uuid = secrets.token_hex(16)

    def list_command(port: int) -> Sequence[str | Path]:
        configuration = _CONFIGURATION.format(
            uuid=uuid,
            data=data,
            address=fleet.address,
            port=port,
            user=USER_NAME,
            password=password,
        )
        file = fleet.write_secret(f"{role}-{port}.ini", configuration)
        # CouchDB's program looks for a relative path in its own folder.
        files = ("-couch_ini", "etc/default.ini", file)
        return ["env", *variables, installed.programs["couchdb"], *files]

    variables = [f"COUCHDB_ARGS_FILE={arguments}"]
    if fleet.commits_later:
        variables.append(f"LD_PRELOAD={find_unsynced_library()}")
    fleet.start_server(role, list_command)


def _await_server(fleet: Fleet, installed: AvailableServer, role: Role, password: str) -> str:
    """Return a server's URL, once it is ready, and make it log less."""
    server = fleet.find_server(role)
    server.await_line("Apache CouchDB has started on http")
    url = f"http://{USER_NAME}:{password}@{server.address}/"
    with closing(HTTPNode(url)) as node:

        def has_system_databases() -> bool:
            return all(
                node.ask("GET", f"/{name}", ignored=(404,), timeout_s=PATIENCE_S)
                for name in _SYSTEM_DATABASES
            )

        await_condition(
            has_system_databases,
            lambda: f"couchdb's {role} has not made {' and '.join(_SYSTEM_DATABASES)}",
        )
        # Otherwise it writes one line per request.
        node.write_setting("log", "level", "warning")
    if fleet.commits_later:
        sync = threading.Thread(
            target=sync_files, args=(server, fleet.make_folder(role)), daemon=True
        )
        sync.start()
    return url


def sync_files(server: ServerProcess, folder: Path) -> None:
    """Sync a server's database files once a second, until it ends."""
    while server.process.poll() is None:
        # A file may be removed meanwhile.
        with suppress(OSError):
            for path in folder.rglob("*.couch"):
                with path.open("rb") as file:
                    os.fsync(file.fileno())
        time.sleep(1)
