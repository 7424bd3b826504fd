"""PostgreSQL: one server, or a primary with an asynchronous streaming standby (by a slot).

PostgreSQL refuses to run as root: then it runs as ``postgres`` or, without that user, as
``nobody``.
"""

import os
import signal
from contextlib import closing
from pathlib import Path
from typing import ClassVar, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

from benchbook.servers.address import ServerInfo
from benchbook.servers.deployment import PATIENCE_S, Role, Topology
from benchbook.servers.fleet import USER_NAME, Fleet, RunAt, await_condition, make_password
from benchbook.servers.programs import AvailableServer, choose_user, make_runnable

Connection = psycopg.Connection[TupleRow]

_SETTINGS: Final = (
    *("shared_buffers", "fsync", "synchronous_commit", "full_page_writes", "wal_level"),
    *("wal_sync_method", "max_wal_size", "checkpoint_timeout", "data_checksums", "io_method"),
    *("server_encoding", "lc_collate"),
)

# Standbys, subscribers, backups. Every user may see that they exist and their names, few users
# where they come from.
_FOLLOWERS_QUERY: Final = """
SELECT coalesce(nullif(application_name, ''), 'process ' || pid)
       || coalesce(' at ' || host(client_addr) || ':' || client_port, '')
FROM pg_stat_replication
"""
_SETTINGS_QUERY: Final = """
SELECT name, current_setting(name) FROM pg_settings
WHERE name = 'server_version' OR name = ANY(%s)
"""


def connect(url: str) -> Connection:
    """Return a connection with one autocommit per statement.

    Raises `psycopg.Error` without one after `PATIENCE_S`.
    """
    # libpq adds to an address what the user's ``PG*`` variables and files in the home say.
    before = {
        name: value for name, value in os.environ.items() if name == "HOME" or name.startswith("PG")
    }
    for name in before:
        del os.environ[name]
    os.environ["HOME"] = os.devnull
    try:
        return psycopg.connect(url, autocommit=True, connect_timeout=PATIENCE_S)
    finally:
        del os.environ["HOME"]
        os.environ.update(before)


class PostgreSQLServers:
    """Starts servers of PostgreSQL from 10 on."""

    product: ClassVar[str] = "postgresql"
    authentication: ClassVar[str] = "scram-sha-256"

    def fleet(self) -> Fleet:
        """Return an empty fleet for its servers."""
        # SIGINT disconnects clients; SIGTERM would wait for them. SIGQUIT takes the server's
        # children along.
        user = choose_user("PostgreSQL", "postgres")
        return Fleet(
            self.product, user=user, stop_signal=signal.SIGINT, death_signal=signal.SIGQUIT
        )

    def launch(self, run_at: RunAt, topology: Topology) -> dict[Role, str]:
        """Start the servers of `topology` and return their URLs."""
        primary = run_at("primary", self._start_primary, make_password())
        if topology != "replicated":
            return {"primary": primary}
        replica = run_at("replica", self._start_replica, primary)
        with closing(connect(primary)) as connection:

            def is_streaming() -> bool:
                row = connection.execute("SELECT state FROM pg_stat_replication").fetchone()
                return row == ("streaming",)

            await_condition(is_streaming, lambda: "postgresql's replica did not follow its primary")
        return {"primary": primary, "replica": replica}

    def ask(self, url: str) -> ServerInfo:
        """Return version, role and settings of the server at `url`.

        Raises `ConnectionError` when it cannot be reached or refuses the user.
        """
        try:
            with closing(connect(url)) as connection:
                rows = connection.execute(_SETTINGS_QUERY, [list(_SETTINGS)]).fetchall()
                settings: dict[str, str] = dict(rows)
                recovery = connection.execute("SELECT pg_is_in_recovery()").fetchone()
                followers = tuple(name for (name,) in connection.execute(_FOLLOWERS_QUERY))
        except psycopg.Error as error:
            raise ConnectionError(" ".join(str(error).split())) from None
        role: Role = "replica" if recovery == (True,) else "primary"
        version = settings.pop("server_version").split()[0]
        return ServerInfo(version, role, settings, followers=followers)

    def _start_primary(self, fleet: Fleet, installed: AvailableServer, password: str) -> str:
        """Start a primary on new data and return its URL."""
        # Make the data, with one user who has a password.
        programs = make_runnable(installed, fleet.user)
        data = fleet.make_folder("primary")
        password_file = fleet.write_secret("password", password)
        flags = ("-U", USER_NAME, "-E", "UTF8", "--no-locale", "-A", self.authentication)
        fleet.run([programs["initdb"], "-D", data, "--pwfile", password_file, *flags, "--no-sync"])
        if not fleet.is_on_loopback:
            # Let other machines in, for queries and for replication.
            with (data / "pg_hba.conf").open("a") as file:
                for database in ("all", "replication"):
                    file.write(f"host {database} {USER_NAME} all {self.authentication}\n")
        return _start_server(fleet, programs, "primary", data, password)

    def _start_replica(self, fleet: Fleet, installed: AvailableServer, primary: str) -> str:
        """Start a standby on a copy of the primary's data that follows it; return its URL."""
        # Keep the password in a file: a command line can be seen by others.
        programs = make_runnable(installed, fleet.user)
        source = conninfo_to_dict(primary)
        password = str(source.pop("password"))
        data = fleet.make_folder("replica")
        password_file = fleet.write_secret("pgpass", f"*:*:*:{USER_NAME}:{password}\n")
        address = make_conninfo(
            host=source["host"], port=source["port"], user=USER_NAME, passfile=str(password_file)
        )
        # Write the standby's settings (-R), stream the log (-X) and make the slot (-C, -S).
        flags = ("-R", "-X", "stream", "-c", "fast", "-C", "-S", "benchbook_replica", "--no-sync")
        fleet.run([programs["pg_basebackup"], "-d", address, "-D", data, *flags, "--no-manifest"])
        return _start_server(fleet, programs, "replica", data, password)


def _start_server(
    fleet: Fleet, programs: dict[str, Path], role: Role, data: Path, password: str
) -> str:
    """Start a server on its data folder, wait until it is ready, and return its URL."""
    flags = (
        *("-c", f"cluster_name={role}"),
        *("-c", f"listen_addresses={fleet.address}"),
        *("-c", "unix_socket_directories="),
    )
    server = fleet.start_server(
        role, lambda port: [programs["postgres"], "-D", data, "-p", str(port), *flags]
    )
    server.await_line("database system is ready to accept")
    return f"postgresql://{USER_NAME}:{password}@{server.address}/postgres"
