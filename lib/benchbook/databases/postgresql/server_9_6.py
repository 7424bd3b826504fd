"""PostgreSQL 9.6, nearest to the crud paper's 9.1: as today's, but its package has no ``pg_basebackup``.

The standby's data folder is a copy of the primary's before that serves, told to follow by ``recovery.conf``.
"""

import secrets
from contextlib import closing
from pathlib import Path

import psycopg

from benchbook.databases.postgresql import server
from benchbook.databases.postgresql.server import (
    SLOT,
    USER,
    address,
    ask,
    await_streaming,
    initialised,
    serve,
)
from benchbook.deployment import Role, Topology, as_addressed
from benchbook.servers.fleet import Fleet
from benchbook.servers.programs import Found
from benchbook.servers.reachable import reachable

__all__ = ["ask", "fleet", "launch"]

_PAIR = "wal_level = replica\nmax_wal_senders = 4\nmax_replication_slots = 4\nhot_standby = on\n"
"""The defaults of later versions."""


def fleet() -> Fleet:
    """Return an empty fleet for its servers."""
    return server.fleet("postgresql@9.6")


def launch(fleet: Fleet, found: Found, topology: Topology) -> dict[Role, str]:
    """Start the servers of `topology` and return their URLs."""
    programs = reachable(found, fleet.user)
    password = secrets.token_urlsafe(24)
    data = initialised(fleet, programs, password, "-A", "md5", "--nosync")
    if topology == "replicated":
        _append(data / "postgresql.conf", _PAIR)
        _append(data / "pg_hba.conf", f"host replication {USER} 127.0.0.1/32 md5\n")
        fleet.run([programs["postgres"], "--single", "-D", data, "postgres"])  # else its log says wal_level = minimal
        copy = fleet.subfolder("replica")
        fleet.run(["cp", "-R", f"{data}/.", copy])
    primary = serve(fleet, programs, "primary", data)
    urls: dict[Role, str] = {"primary": address(primary, password)}
    if topology == "replicated":
        with as_addressed(), closing(psycopg.connect(urls["primary"], autocommit=True)) as connection:
            connection.execute("SELECT pg_create_physical_replication_slot(%s)", [SLOT])
        source = f"host=127.0.0.1 port={primary.port} user={USER} password={password}"
        recovery = f"standby_mode = on\nprimary_conninfo = '{source}'\nprimary_slot_name = '{SLOT}'\n"
        fleet.secret("replica/recovery.conf", recovery)
        urls["replica"] = address(serve(fleet, programs, "replica", copy), password)
        await_streaming(urls["primary"])
    return urls


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)
