"""MongoDB: a standalone ``mongod``, or a replica set of a primary and a secondary that never votes.

The votes are the primary's alone, so that an acknowledged write never waits for the secondary: asynchronous
replication, whatever the write concern.
"""

import secrets
from contextlib import closing
from typing import Any, Final

from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError

from benchbook.deployment import Role, Topology
from benchbook.servers.address import Answer
from benchbook.servers.fleet import Command, Fleet, Server, await_true
from benchbook.servers.programs import Found

Client = MongoClient[dict[str, Any]]

_FLAGS: Final = (
    *("--bind_ip", "127.0.0.1", "--nounixsocket"),
    *("--wiredTigerCacheSizeGB", "0.25"),
    *("--wiredTigerEngineConfigString", "log=(prealloc=false,file_max=10MB)"),
    *("--setParameter", "shutdownTimeoutMillisForSignaledShutdown=100"),
    *("--setParameter", "diagnosticDataCollectionEnabled=false"),
)
_MEMBER_FLAGS: Final = (
    *("--replSet", "rs0", "--oplogSize", "990"),
    *("--setParameter", "writePeriodicNoops=false"),
)

_USER = "benchbook"
_READY = "Waiting for connections"
_ANSWER_MS = 5000
_UNAUTHORIZED = 13


def fleet() -> Fleet:
    """Return an empty fleet for MongoDB's servers."""
    return Fleet("mongodb")


def launch(fleet: Fleet, found: Found, topology: Topology) -> dict[Role, str]:
    """Start the servers of `topology` and return their URLs."""
    password = secrets.token_urlsafe(24)
    if topology == "single":
        server = fleet.serve("primary", _command(fleet, found, "primary", ["--auth"]))
        server.await_line(_READY)
        _create_user(server, password)
        return {"primary": _url(server, password)}
    key = fleet.secret("members.key", secrets.token_hex(96))
    roles: tuple[Role, ...] = ("primary", "replica")
    flags = ["--keyFile", str(key), *_MEMBER_FLAGS]
    primary, replica = (fleet.serve(role, _command(fleet, found, role, flags)) for role in roles)
    for server in (primary, replica):
        server.await_line(_READY)
    _unite(primary, replica, password)
    return {"primary": _url(primary, password), "replica": _url(replica, password)}


def ask(url: str) -> Answer:
    """Return what the server at `url` says of itself."""
    try:
        with closing(_client(url)) as client:
            hello = client.admin.command("hello")
            version = str(client.admin.command("buildInfo")["version"])
            followers, unseen = _followers(client, hello)
            role: Role = "replica" if hello.get("secondary") else "primary"
            return Answer(version, role, _settings(client, hello), followers=followers, unseen=unseen)
    except PyMongoError as error:
        raise ConnectionError(str(error).partition(" (configured timeouts")[0]) from None


def _command(fleet: Fleet, found: Found, role: Role, flags: list[str]) -> Command:
    data = fleet.subfolder(role)
    return lambda port: [found.programs["mongod"], "--dbpath", data, "--port", str(port), *_FLAGS, *flags]


def _unite(primary: Server, replica: Server, password: str) -> None:
    """Make one replica set of two fresh members: the quick way, for the first is elected alone, at once."""
    members = [{"_id": 0, "host": f"127.0.0.1:{primary.port}"}]
    config = {"_id": "rs0", "version": 1, "members": members, "settings": {"heartbeatIntervalMillis": 200}}
    with closing(_client(_url(primary))) as client:
        client.admin.command("replSetInitiate", config)
        _await(client, "isWritablePrimary", primary)
    _create_user(primary, password)
    with closing(_client(_url(primary, password))) as client:
        second = {"_id": 1, "host": f"127.0.0.1:{replica.port}", "priority": 0, "votes": 0}
        client.admin.command("replSetReconfig", config | {"version": 2, "members": [*members, second]})
    with closing(_client(_url(replica))) as client:
        _await(client, "secondary", replica)


def _await(client: Client, state: str, server: Server) -> None:
    """Wait until a server says that it is in a state."""
    await_true(
        lambda: client.admin.command("hello").get(state, False),
        lambda: f"mongodb's {server.role} joined no replica set",
    )


def _create_user(server: Server, password: str) -> None:
    """Create the first user, which MongoDB allows without one from this machine."""
    with closing(_client(_url(server))) as client:
        client.admin.command("createUser", _USER, pwd=password, roles=["root"], mechanisms=["SCRAM-SHA-256"])


def _url(server: Server, password: str | None = None) -> str:
    user, source = (f"{_USER}:{password}@", "&authSource=admin") if password else ("", "")
    return f"mongodb://{user}127.0.0.1:{server.port}/?directConnection=true{source}"


def _client(url: str) -> Client:
    return MongoClient(
        url, serverSelectionTimeoutMS=_ANSWER_MS, connectTimeoutMS=_ANSWER_MS, socketTimeoutMS=_ANSWER_MS
    )


def _followers(client: Client, hello: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    """Return the other members of its replica set that keep data, and why its user may not see all of them.

    Everybody may see those that are not hidden.
    """
    if hello.get("msg") == "isdbgrid":  # as the manual says of a mongos: none has been met
        return (), "it is a mongos, which is not told its shards' members: give a mongod's address"
    if "setName" not in hello:
        return (), ""
    try:
        members = client.admin.command("replSetGetStatus")["members"]
    except OperationFailure as error:
        if error.code != _UNAUTHORIZED:
            raise
        seen = (*hello.get("hosts", ()), *hello.get("passives", ()))
        return tuple(name for name in seen if name != hello.get("me")), "grant it the role clusterMonitor"
    return tuple(one["name"] for one in members if not one.get("self") and one["stateStr"] != "ARBITER"), ""


def _settings(client: Client, hello: dict[str, Any]) -> dict[str, Any]:
    """Return what bears on performance, as far as the user may ask."""
    settings: dict[str, Any] = {"replica_set": hello.get("setName")}
    try:
        status = client.admin.command("serverStatus")
        options = client.admin.command("getCmdLineOpts")["parsed"]
    except OperationFailure as error:
        return settings | {"not_told": error.details.get("codeName") if error.details else str(error)}
    settings["storage_engine"] = status["storageEngine"]["name"]
    settings["cache_bytes"] = status.get("wiredTiger", {}).get("cache", {}).get("maximum bytes configured")
    settings["options"] = {
        name: options[name] for name in ("replication", "setParameter", "storage") if name in options
    }
    settings["options"].get("storage", {}).pop("dbPath", None)
    return settings
