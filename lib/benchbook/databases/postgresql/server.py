"""PostgreSQL: one server, or a primary with a streaming physical standby (asynchronous, through a slot).

PostgreSQL refuses to run as root: then it runs as ``postgres`` or, without that user, as ``nobody``.
"""

import os
import signal
from contextlib import closing
from pathlib import Path
from typing import ClassVar, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

from benchbook.deployment import PATIENCE_S, Role, Topology
from benchbook.servers.address import Answer
from benchbook.servers.fleet import USER, At, Fleet, await_true, new_password
from benchbook.servers.programs import Found, reachable, substitute

Connection = psycopg.Connection[TupleRow]

_SLOT: Final = "benchbook_replica"
_READY: Final = "database system is ready to accept"
_SETTINGS: Final = (
    *("shared_buffers", "fsync", "synchronous_commit", "full_page_writes", "wal_level", "wal_sync_method"),
    *("max_wal_size", "checkpoint_timeout", "data_checksums", "io_method", "server_encoding", "lc_collate"),
)
_FOLLOWERS: Final = """
SELECT coalesce(nullif(application_name, ''), 'process ' || pid)
       || coalesce(' at ' || host(client_addr) || ':' || client_port, '')
FROM pg_stat_replication
"""
"""Standbys, subscribers, backups: every user may see that they are there and their names, few where they come from."""


def connect(url: str) -> Connection:
    """Return a connection with one autocommit a statement; `psycopg.Error` when there is none in `PATIENCE_S`."""
    # To an address libpq adds what the user's ``PG*`` variables, and files in the user's home, say.
    before = {name: value for name, value in os.environ.items() if name == "HOME" or name.startswith("PG")}
    for name in before:
        del os.environ[name]
    os.environ["HOME"] = os.devnull
    try:
        return psycopg.connect(url, autocommit=True, connect_timeout=PATIENCE_S)
    finally:
        del os.environ["HOME"]
        os.environ.update(before)


class PostgreSQL:
    """Starts servers of PostgreSQL from 10 on."""

    product: ClassVar[str] = "postgresql"
    flags: ClassVar[tuple[str, ...]] = ("-A", "scram-sha-256", "--no-sync")  # of initdb

    def fleet(self) -> Fleet:
        """Return an empty fleet for its servers."""
        # SIGINT disconnects clients, SIGTERM would wait for them; SIGQUIT takes the server's children along.
        user = substitute("PostgreSQL", "postgres")
        return Fleet(self.product, user=user, stop_signal=signal.SIGINT, death_signal=signal.SIGQUIT)

    def launch(self, at: At, topology: Topology) -> dict[Role, str]:
        """Start the servers of `topology` and return their URLs."""
        password = new_password()
        urls: dict[Role, str] = {"primary": at("primary", self._primary, password)}
        if topology == "replicated":
            urls["replica"] = at("replica", self._replica, urls["primary"])
            with closing(connect(urls["primary"])) as connection:
                await_true(
                    lambda: connection.execute("SELECT state FROM pg_stat_replication").fetchone() == ("streaming",),
                    lambda: "postgresql's replica did not follow its primary",
                )
        return urls

    def ask(self, url: str) -> Answer:
        """Return what the server at `url` says; `ConnectionError` when it cannot be reached or refuses the user."""
        query = "SELECT name, current_setting(name) FROM pg_settings WHERE name = 'server_version' OR name = ANY(%s)"
        try:
            with closing(connect(url)) as connection:
                settings: dict[str, str] = dict(connection.execute(query, [list(_SETTINGS)]).fetchall())
                replays = connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,)
                followers = tuple(name for (name,) in connection.execute(_FOLLOWERS))
        except psycopg.Error as error:
            raise ConnectionError(" ".join(str(error).split())) from None
        role: Role = "replica" if replays else "primary"
        return Answer(settings.pop("server_version").split()[0], role, settings, followers=followers)

    def _primary(self, fleet: Fleet, installed: Found, password: str) -> str:
        """Start a primary on new data and return its URL."""
        programs = reachable(installed, fleet.user)
        data, secret = fleet.subfolder("primary"), fleet.secret("password", password)
        flags = ("-U", USER, "-E", "UTF8", "--no-locale", *self.flags)
        fleet.run([programs["initdb"], "-D", data, "--pwfile", secret, *flags])
        if not fleet.alone:
            lines = [f"host {of} {USER} all {self.flags[1]}\n" for of in ("all", "replication")]
            _append(data / "pg_hba.conf", "".join(lines))
        return _serve(fleet, programs, "primary", data, password)

    def _replica(self, fleet: Fleet, installed: Found, primary: str) -> str:
        """Start a standby on a copy of the primary's data that is told to follow it; return its URL."""
        programs, source = reachable(installed, fleet.user), conninfo_to_dict(primary)
        password = source.pop("password")
        copy = fleet.subfolder("replica")
        passwords = fleet.secret("pgpass", f"*:*:*:{USER}:{password}\n")
        where = make_conninfo(host=source["host"], port=source["port"], user=USER, passfile=str(passwords))
        flags = ("-R", "-X", "stream", "-c", "fast", "-C", "-S", _SLOT, "--no-sync", "--no-manifest")
        fleet.run([programs["pg_basebackup"], "-d", where, "-D", copy, *flags])
        return _serve(fleet, programs, "replica", copy, str(password))


def _serve(fleet: Fleet, programs: dict[str, Path], role: Role, data: Path, password: str) -> str:
    """Start a server on its data folder, wait until it is ready, and return its URL."""
    options = [f"cluster_name={role}", f"listen_addresses={fleet.address}", "unix_socket_directories="]
    flags = [part for option in options for part in ("-c", option)]
    server = fleet.serve(role, lambda port: [programs["postgres"], "-D", data, "-p", str(port), *flags])
    server.await_line(_READY)
    return f"postgresql://{USER}:{password}@{server.address}/postgres"


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)
