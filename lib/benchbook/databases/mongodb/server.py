"""MongoDB: a standalone ``mongod``, or a replica set of a primary and a secondary without a vote.

Only the primary votes, so that an acknowledged write never waits for the secondary: replication is
asynchronous, whatever the write concern.
"""

import secrets
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final
from urllib.parse import urlsplit

from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError

from benchbook.schema import Document
from benchbook.servers.address import ServerInfo
from benchbook.servers.deployment import PATIENCE_S, Role, Topology, list_roles
from benchbook.servers.errors import ServerError
from benchbook.servers.fleet import USER_NAME, Fleet, RunAt, await_condition, make_password
from benchbook.servers.networks import LOOPBACK
from benchbook.servers.programs import AvailableServer

Client = MongoClient[Document]

_FLAGS: Final = (
    "--nounixsocket",
    *("--wiredTigerCacheSizeGB", "0.25"),
    *("--wiredTigerEngineConfigString", "log=(prealloc=false,file_max=10MB)"),
    *("--setParameter", "shutdownTimeoutMillisForSignaledShutdown=100"),
    *("--setParameter", "diagnosticDataCollectionEnabled=false"),
    # Otherwise any user of this machine could make the first user.
    *("--setParameter", "enableLocalhostAuthBypass=false"),
)
_MEMBER_FLAGS: Final = (
    *("--replSet", "rs0", "--oplogSize", "990"),
    *("--setParameter", "writePeriodicNoops=false"),
)

_READY_LINE: Final = "Waiting for connections"


@contextmanager
def _shorten_errors() -> Iterator[None]:
    """Raise the driver's errors as a `ConnectionError` without its description of the topology."""
    try:
        yield
    except PyMongoError as error:
        raise ConnectionError(str(error).partition(" (configured timeouts")[0]) from None


def fleet() -> Fleet:
    """Return an empty fleet, whose servers are killed when it stops.

    Their data are not kept, and a pair that is not killed takes 1.6 s to stop.
    """
    return Fleet("mongodb", stop_signal=signal.SIGKILL)


@_shorten_errors()
def launch(run_at: RunAt, topology: Topology) -> dict[Role, str]:
    """Start the servers of `topology` and return their URLs."""
    # Start all servers, and let the primary have its user.
    password = make_password()
    key = secrets.token_hex(96)
    is_member = topology != "single"
    for role in list_roles(topology):
        run_at(role, _start_server, role, key, is_member)
    urls: dict[Role, str] = {
        "primary": run_at("primary", _prepare_primary, password, key, is_member)
    }
    if not is_member:
        return urls
    urls["replica"] = run_at("replica", _await_replica_server, password)
    # The quick way to a set of two new members: the first has been elected alone, at once.
    first, second = (urlsplit(url).netloc.rpartition("@")[2] for url in urls.values())
    config = _configure_set(first, {"_id": 1, "host": second, "priority": 0, "votes": 0})
    with closing(_connect(urls["primary"])) as client:
        client.admin.command("replSetReconfig", config)
    with closing(_connect(_make_url(second))) as client:
        _await_state(client, "secondary", "replica")
    return urls


@_shorten_errors()
def ask(url: str) -> ServerInfo:
    """Return version, role and settings of the server at `url`."""
    with closing(_connect(url)) as client:
        hello = client.admin.command("hello")
        version = str(client.admin.command("buildInfo")["version"])
        followers, unseen = _list_followers(client, hello)
        role: Role = "replica" if hello.get("secondary") else "primary"
        settings = _read_settings(client, hello)
        return ServerInfo(version, role, settings, followers=followers, unseen=unseen)


def _start_server(
    fleet: Fleet, installed: AvailableServer, role: Role, key: str, is_member: bool
) -> None:
    """Start a server, of a set if it is a member.

    It accepts who has the key: other members, and us.
    """
    key_file = fleet.write_secret(f"{role}.key", key)
    data = fleet.make_folder(role)
    addresses = ",".join(dict.fromkeys([LOOPBACK, fleet.address]))
    flags = ["--bind_ip", addresses, *_FLAGS, "--keyFile", str(key_file)]
    if is_member:
        flags += _MEMBER_FLAGS
    fleet.start_server(
        role,
        lambda port: [installed.programs["mongod"], "--dbpath", data, "--port", str(port), *flags],
    )


def _prepare_primary(
    fleet: Fleet, installed: AvailableServer, password: str, key: str, is_member: bool
) -> str:
    """Give the primary its user, once it is ready, and return its URL.

    A member becomes the first of its set.
    """
    server = fleet.find_server("primary")
    server.await_line(_READY_LINE)
    url = _make_url(f"{LOOPBACK}:{server.port}", key, "__system", "local")
    # Make the user, in the set's only member if there is a set.
    with closing(_connect(url)) as client:
        if is_member:
            client.admin.command("replSetInitiate", _configure_set(server.address))
            _await_state(client, "isWritablePrimary", "primary")
        client.admin.command(
            "createUser", USER_NAME, pwd=password, roles=["root"], mechanisms=["SCRAM-SHA-256"]
        )
        users = client.admin.command("usersInfo", {"forAllDBs": True})["users"]
    # Another program must not have made users before.
    strangers = [user["_id"] for user in users if user["_id"] != f"admin.{USER_NAME}"]
    if strangers:
        raise ServerError(f"mongodb's primary has users that are not ours: {', '.join(strangers)}")
    return _make_url(server.address, password)


def _await_replica_server(fleet: Fleet, installed: AvailableServer, password: str) -> str:
    """Return the replica's URL, once it is ready; its users come with the primary's data."""
    server = fleet.find_server("replica")
    server.await_line(_READY_LINE)
    return _make_url(server.address, password)


def _configure_set(first: str, *others: Document) -> Document:
    """Return the configuration of a replica set with these members."""
    members = [{"_id": 0, "host": first}, *others]
    return {
        "_id": "rs0",
        "version": len(members),
        "members": members,
        "settings": {"heartbeatIntervalMillis": 200},
    }


def _await_state(client: Client, state: str, role: Role) -> None:
    """Wait until a server says that it is in a state."""
    await_condition(
        lambda: client.admin.command("hello").get(state, False),
        lambda: f"mongodb's {role} joined no replica set",
    )


def _make_url(
    address: str, password: str | None = None, user: str = USER_NAME, source: str = "admin"
) -> str:
    if password is None:
        return f"mongodb://{address}/?directConnection=true"
    return f"mongodb://{user}:{password}@{address}/?directConnection=true&authSource={source}"


def _connect(url: str) -> Client:
    limit_ms = PATIENCE_S * 1000
    return MongoClient(
        url, serverSelectionTimeoutMS=limit_ms, connectTimeoutMS=limit_ms, socketTimeoutMS=limit_ms
    )


def _list_followers(client: Client, hello: Document) -> tuple[tuple[str, ...], str]:
    """Return the other members that keep data, and why the user may not see all of them.

    Every user may see those that are not hidden.
    """
    if hello.get("msg") == "isdbgrid":
        # The manual says so of a mongos; the suite was never run with one.
        return (), "it is a mongos, which is not told its shards' members: give a mongod's address"
    if "setName" not in hello:
        return (), ""
    try:
        members = client.admin.command("replSetGetStatus")["members"]
    except OperationFailure as error:
        # 13: the user may not ask.
        if error.code != 13:
            raise
        seen = (*hello.get("hosts", ()), *hello.get("passives", ()))
        visible = tuple(name for name in seen if name != hello.get("me"))
        return visible, "grant it the role clusterMonitor"
    others = [member for member in members if not member.get("self")]
    return tuple(other["name"] for other in others if other["stateStr"] != "ARBITER"), ""


def _read_settings(client: Client, hello: Document) -> dict[str, object]:
    """Return the settings that matter for performance, as far as the user may read them."""
    settings: dict[str, object] = {"replica_set": hello.get("setName")}
    try:
        status = client.admin.command("serverStatus")
        options = client.admin.command("getCmdLineOpts")["parsed"]
    except OperationFailure as error:
        settings["not_told"] = error.details.get("codeName") if error.details else str(error)
        return settings
    options.get("storage", {}).pop("dbPath", None)
    cache = status.get("wiredTiger", {}).get("cache", {})
    settings["storage_engine"] = status["storageEngine"]["name"]
    settings["cache_bytes"] = cache.get("maximum bytes configured")
    names = ("replication", "setParameter", "storage")
    settings["options"] = {name: options[name] for name in names if name in options}
    return settings
