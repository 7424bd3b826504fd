"""CouchDB's stand-in: PouchDB's server on Node, one process a node, its LevelDB on disk.

It answers before the disk has what was written (LevelDB without sync), where CouchDB syncs every commit. Replication is
a database's: an engine's `create` sets it up, in both directions when the topology is ``bidirectional``.
"""

from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from socket import getaddrinfo
from urllib.parse import urlsplit

from urllib3.exceptions import HTTPError

from benchbook.databases.couchdb.node import AnswerError, Databases, HTTPNode
from benchbook.deployment import PATIENCE_S, Role, Topology
from benchbook.scrubbing import shown
from benchbook.servers.address import Answer
from benchbook.servers.fleet import USER, At, Fleet, new_password
from benchbook.servers.programs import Found

_READY = '"port":'
_OLDEST = 2


def fleet() -> Fleet:
    """Return an empty fleet for the stand-in's servers."""
    return Fleet("couchdb")


def launch(at: At, topology: Topology) -> dict[Role, str]:
    """Start the servers of `topology` and return their URLs."""
    login = f"{USER}:{new_password()}"
    roles: tuple[Role, ...] = ("primary",) if topology == "single" else ("primary", "replica")
    for role in roles:
        at(role, _serve, role, login)
    return {role: at(role, _ready, role, login) for role in roles}


def ask(url: str) -> Answer:
    """Return what the server at `url` says of itself."""
    try:
        with closing(HTTPNode(url)) as node:
            welcome = dict(node.ask("GET", "/", timeout_s=PATIENCE_S))
            if "couchdb" in welcome:
                # CouchDB welcomes anybody.
                node.check(PATIENCE_S)
    except AnswerError as error:
        refused = error.status in (401, 403)
        why = f"Authentication failed: {error.reason}" if refused else f"no CouchDB: it answers {error.status}"
        raise ConnectionError(why) from None
    except (HTTPError, ValueError, TypeError) as error:
        raise ConnectionError(f"no CouchDB: {error}") from None
    if "couchdb" not in welcome and not welcome.get("stand_in"):
        raise ConnectionError("no CouchDB: it does not say that it is")
    # A node has no role but what replication gives it.
    if welcome.get("stand_in"):
        fsync = "never: writes are left to the operating system"
        settings = {"storage": "LevelDB", "fsync": fsync, "node": welcome["node"]}
        return Answer(f"{welcome['vendor']['name']} {welcome['version']} (stand-in)", None, settings, stand_in=True)
    major = int(welcome["version"].partition(".")[0])
    if major < _OLDEST:
        raise ConnectionError(f"CouchDB {welcome['version']} has no Mango: {_OLDEST} or newer is needed")
    fsync = "every commit" if major > _OLDEST else "as delayed_commits says"
    return Answer(welcome["version"], None, {"vendor": welcome.get("vendor", {}).get("name"), "fsync": fsync})


def followers(url: str, others: Sequence[str]) -> tuple[str, ...]:
    """Return what replicates from the server at `url`, or into it, and on which node: there or on one of the others.

    A server knows what it replicates itself, and not who reads from it. The suite's own pulls are left out: they end
    before a cell begins. `ConnectionError` when one of the nodes does not tell.
    """
    try:
        with ExitStack() as stack:
            node, *rest = [stack.enter_context(closing(HTTPNode(address))) for address in (url, *others)]
            pulls = [(node, pull) for pull in Databases(node, PATIENCE_S).others()]
            places = _places(f"//{node.name}") | _places(node.peer)
            for other in rest:
                known = Databases(other, PATIENCE_S).others()
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


def _serve(fleet: Fleet, installed: Found, role: Role, login: str) -> None:
    data, secret = fleet.subfolder(role), fleet.secret(f"{role}.login", login)
    node, launcher = (installed.programs[name] for name in ("node", "launcher"))
    fleet.serve(role, lambda port: [node, launcher, str(port), data, secret])


def _ready(fleet: Fleet, installed: Found, role: Role, login: str) -> str:
    server = fleet.server(role)
    server.await_line(_READY)
    return f"http://{login}@{server.address}/"
