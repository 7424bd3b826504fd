"""MongoDB: a standalone ``mongod``, or a replica set of a primary and a secondary that never votes.

The votes are the primary's alone, so that an acknowledged write never waits for the secondary: asynchronous
replication, whatever the write concern.
"""

import secrets
from contextlib import closing
from typing import Final
from urllib.parse import urlsplit

from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError

from benchbook.deployment import PATIENCE_S, Role, Topology, roles
from benchbook.networks import LOOPBACK
from benchbook.schemas import Document
from benchbook.servers.address import Answer
from benchbook.servers.errors import ServerError
from benchbook.servers.fleet import USER, At, Fleet, await_true, new_password
from benchbook.servers.programs import Found

Client = MongoClient[Document]

_FLAGS: Final = (
    "--nounixsocket",
    *("--wiredTigerCacheSizeGB", "0.25"),
    *("--wiredTigerEngineConfigString", "log=(prealloc=false,file_max=10MB)"),
    *("--setParameter", "shutdownTimeoutMillisForSignaledShutdown=100"),
    *("--setParameter", "diagnosticDataCollectionEnabled=false"),
    *("--setParameter", "enableLocalhostAuthBypass=false"),  # else anybody here could make the first user
)
_MEMBER_FLAGS: Final = (
    *("--replSet", "rs0", "--oplogSize", "990"),
    *("--setParameter", "writePeriodicNoops=false"),
)

_READY = "Waiting for connections"
_UNAUTHORIZED = 13


def launch(at: At, topology: Topology) -> dict[Role, str]:
    """Start the servers of `topology` and return their URLs."""
    password, key, member = new_password(), secrets.token_hex(96), topology != "single"
    for role in roles(topology):
        at(role, _serve, role, key, member)
    urls: dict[Role, str] = {"primary": at("primary", _owned, password, key, member)}
    if not member:
        return urls
    urls["replica"] = at("replica", _ready, password)
    # The quick way to one set of two fresh members: the first has been elected alone, at once.
    first, second = (urlsplit(url).netloc.rpartition("@")[2] for url in urls.values())
    config = _set(first, {"_id": 1, "host": second, "priority": 0, "votes": 0})
    with closing(_client(urls["primary"])) as client:
        client.admin.command("replSetReconfig", config)
    with closing(_client(_url(second))) as client:
        _await(client, "secondary", "replica")
    return urls


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


def _serve(fleet: Fleet, installed: Found, role: Role, key: str, member: bool) -> None:
    """Start a server, of a set if it is a member, that lets in who has the key: other members, and us."""
    flags = ("--keyFile", str(fleet.secret(f"{role}.key", key)), *(_MEMBER_FLAGS if member else ()))
    data, bound = fleet.subfolder(role), ",".join(dict.fromkeys([LOOPBACK, fleet.address]))
    own = ("--bind_ip", bound, *_FLAGS, *flags)
    fleet.serve(role, lambda port: [installed.programs["mongod"], "--dbpath", data, "--port", str(port), *own])


def _owned(fleet: Fleet, installed: Found, password: str, key: str, member: bool) -> str:
    """Give the primary its user, once it is ready, as the first of a set if it is a member; return its URL."""
    server = fleet.server("primary")
    server.await_line(_READY)
    with closing(_client(_url(f"{LOOPBACK}:{server.port}", key, "__system", "local"))) as client:
        if member:
            client.admin.command("replSetInitiate", _set(server.address))
            _await(client, "isWritablePrimary", "primary")
        client.admin.command("createUser", USER, pwd=password, roles=["root"], mechanisms=["SCRAM-SHA-256"])
        users = client.admin.command("usersInfo", {"forAllDBs": True})["users"]
    if strangers := [user["_id"] for user in users if user["_id"] != f"admin.{USER}"]:
        raise ServerError(f"mongodb's primary has users that are not ours: {', '.join(strangers)}")
    return _url(server.address, password)


def _ready(fleet: Fleet, installed: Found, password: str) -> str:
    """Return the replica's URL, once it is ready; its users come with the primary's data."""
    server = fleet.server("replica")
    server.await_line(_READY)
    return _url(server.address, password)


def _set(first: str, *others: Document) -> Document:
    """Return the configuration of a set of these members."""
    members = [{"_id": 0, "host": first}, *others]
    return {"_id": "rs0", "version": len(members), "members": members, "settings": {"heartbeatIntervalMillis": 200}}


def _await(client: Client, state: str, role: Role) -> None:
    """Wait until a server says that it is in a state."""
    await_true(
        lambda: client.admin.command("hello").get(state, False),
        lambda: f"mongodb's {role} joined no replica set",
    )


def _url(address: str, password: str | None = None, user: str = USER, source: str = "admin") -> str:
    login, where = (f"{user}:{password}@", f"&authSource={source}") if password else ("", "")
    return f"mongodb://{login}{address}/?directConnection=true{where}"


def _client(url: str) -> Client:
    limit_ms = PATIENCE_S * 1000
    return MongoClient(url, serverSelectionTimeoutMS=limit_ms, connectTimeoutMS=limit_ms, socketTimeoutMS=limit_ms)


def _followers(client: Client, hello: Document) -> tuple[tuple[str, ...], str]:
    """Return the other members of its replica set that keep data, and why its user may not see all of them.

    Everybody may see those that are not hidden.
    """
    if hello.get("msg") == "isdbgrid":
        # The manual says so of a mongos: none has been met.
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
    others = (member for member in members if not member.get("self"))
    return tuple(member["name"] for member in others if member["stateStr"] != "ARBITER"), ""


def _settings(client: Client, hello: Document) -> dict[str, object]:
    """Return what bears on performance, as far as the user may ask."""
    settings: dict[str, object] = {"replica_set": hello.get("setName")}
    try:
        status = client.admin.command("serverStatus")
        options = client.admin.command("getCmdLineOpts")["parsed"]
    except OperationFailure as error:
        return settings | {"not_told": error.details.get("codeName") if error.details else str(error)}
    options.get("storage", {}).pop("dbPath", None)
    return settings | {
        "storage_engine": status["storageEngine"]["name"],
        "cache_bytes": status.get("wiredTiger", {}).get("cache", {}).get("maximum bytes configured"),
        "options": {name: options[name] for name in ("replication", "setParameter", "storage") if name in options},
    }
