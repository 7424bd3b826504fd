"""MySQL and MariaDB: one server, or a primary and a replica that follows its row-based binary log.

Replication is asynchronous: a commit on the primary does not wait. Both nodes begin as copies of
one data folder, with their accounts made outside the binary log, so that the log begins with the
user's first write.
"""

import datetime
import signal
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar, Final, TypeAlias

import pymysql
from pymysql.constants import CLIENT, FIELD_TYPE
from pymysql.converters import conversions
from pymysql.cursors import DictCursor

from benchbook.databases.mysql import INSTALLER_FLAGS, SERVER_FLAGS
from benchbook.servers.address import ServerInfo, read_login
from benchbook.servers.deployment import PATIENCE_S, Role, Topology, is_older
from benchbook.servers.fleet import USER_NAME, Fleet, RunAt, await_condition, make_password
from benchbook.servers.networks import LOOPBACK
from benchbook.servers.programs import AvailableServer, choose_user, make_runnable

Connection: TypeAlias = "pymysql.Connection[pymysql.cursors.Cursor]"

_CONVERSIONS: Final[dict[Any, Any]] = {
    **conversions,
    FIELD_TYPE.TINY: "0".__ne__,
    FIELD_TYPE.DATE: datetime.date.fromisoformat,
    FIELD_TYPE.DATETIME: lambda text: datetime.datetime.fromisoformat(text).replace(
        tzinfo=datetime.UTC
    ),
}

_TEMPORARY_FOLDER: Final = "scratch"

_REPLICA_WORDS: Final = {
    "CHANGE MASTER": "CHANGE REPLICATION SOURCE",
    "MASTER": "SOURCE",
    "SLAVE": "REPLICA",
    "Slave": "Replica",
}
"""The new words of replication by the old ones."""

FIRST_WITH_REPLICA_WORDS: Final = "8.0.23"
"""MySQL calls a master a source and a slave a replica from here on; 8.4 has only the new words."""

_SETTINGS: Final = (
    *("innodb_buffer_pool_size", "innodb_flush_log_at_trx_commit", "sync_binlog"),
    *("innodb_flush_method", "innodb_log_file_size", "innodb_redo_log_capacity"),
    *("innodb_doublewrite", "innodb_file_per_table", "log_bin", "binlog_format"),
    *("binlog_row_image", "gtid_mode", "tls_version", "have_ssl", "performance_schema"),
    *("max_allowed_packet", "version_comment", "version_compile_machine"),
)


def connect(url: str, patience_s: float = PATIENCE_S) -> Connection:
    """Return a connection in autocommit, without TLS, whose updates count all matching rows.

    The server may take `patience_s` seconds to accept it. Later answers have no time limit
    (`limit_answer_time`).
    """
    connection = pymysql.connect(
        **read_login(url, 3306),
        charset="utf8mb4",
        # The default, stated: without it the server would cut a value that does not fit.
        sql_mode="STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION",
        autocommit=True,
        ssl_disabled=True,
        client_flag=CLIENT.FOUND_ROWS,
        conv=_CONVERSIONS,
        connect_timeout=patience_s,
        read_timeout=patience_s,
    )
    limit_answer_time(connection, None)
    return connection


def limit_answer_time(connection: Connection, timeout_s: float | None) -> None:
    """Set how long the next answers may take, in seconds; after that the connection is closed.

    PyMySQL itself takes the limit only before a connection opens, for all of its answers.
    """
    connection._read_timeout = timeout_s  # type: ignore[attr-defined]


def close_connection(connection: Connection) -> None:
    """Close a connection, unless PyMySQL has closed it: it refuses to do that twice."""
    if connection.open:
        connection.close()


class MySQLServers:
    """Starts servers of MySQL from 8.0.15 on, which replicate by GTID."""

    product: ClassVar[str] = "mysql"
    server: ClassVar[str] = "mysqld"
    accounts: ClassVar[str] = "mysql.user"

    status_rights: ClassVar[str] = ""
    """More rights that a user needs to read the replication's status."""

    installer: ClassVar[tuple[str, ...]] = ("mysqld", *INSTALLER_FLAGS)
    """The program that fills an empty data folder, and its flags."""

    flags: ClassVar[tuple[str, ...]] = SERVER_FLAGS
    """A server's flags; ``{home}`` is the folder above the program's."""

    pair_flags: ClassVar[tuple[str, ...]] = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")

    source_options: ClassVar[str] = "MASTER_AUTO_POSITION=1, MASTER_SSL=0, GET_MASTER_PUBLIC_KEY=1"
    """How a replica reads from its primary."""

    def fleet(self) -> Fleet:
        """Return an empty fleet; root's servers run as ``mysql`` or, without it, as ``nobody``."""
        return Fleet(
            self.product,
            user=choose_user(self.product, "mysql"),
            # SIGTERM would take up to 10 s, to keep the data.
            stop_signal=signal.SIGKILL,
            waiting_text="Waiting for someone to free space",
        )

    def launch(self, run_at: RunAt, topology: Topology) -> dict[Role, str]:
        """Start the servers of `topology` and return their URLs."""
        # A single server has no flags of replication.
        password = make_password()
        if topology == "single":
            return {"primary": run_at("primary", self._start_primary, password, ())}
        flags = ("--log-bin=binlog", "--relay-log=relay", "--binlog-format=ROW", *self.pair_flags)
        primary = run_at("primary", self._start_primary, password, flags)
        replica = run_at("replica", self._start_replica, primary, flags)
        self._await_replication(replica)
        return {"primary": primary, "replica": replica}

    def ask(self, url: str) -> ServerInfo:
        """Return version, role and settings of the server at `url`; a read-only one is a replica.

        Raises `ConnectionError` when it cannot be reached, refuses the user, or is MariaDB in
        MySQL's place (or the reverse).
        """
        # Ask the server.
        query = "SHOW GLOBAL VARIABLES WHERE Variable_name IN %s"
        followers: tuple[str, ...] = ()
        unseen = ""
        try:
            with closing(_connect_with_limit(url)) as connection, connection.cursor() as cursor:
                cursor.execute(query, (("version", "read_only", *_SETTINGS),))
                settings: dict[str, str] = dict(cursor.fetchall())
                if settings["log_bin"] == "ON":
                    followers, unseen = _list_followers(cursor)
        except pymysql.Error as error:
            raise ConnectionError(" ".join(str(part) for part in reversed(error.args))) from None
        # Refuse the other of the two products.
        version = settings.pop("version")
        role: Role = "primary" if settings.pop("read_only") == "OFF" else "replica"
        product = "mariadb" if "MariaDB" in version else "mysql"
        if product != self.product:
            title = "MariaDB" if product == "mariadb" else "MySQL"
            raise ConnectionError(f"it is {title} {version}")
        number = version.partition("-")[0]
        return ServerInfo(number, role, settings, followers=followers, unseen=unseen)

    def _start_primary(
        self, fleet: Fleet, installed: AvailableServer, password: str, flags: Sequence[str]
    ) -> str:
        """Start a primary on new data and return its URL.

        With the flags of a pair it also makes the replica's data.
        """
        data = self._make_data(fleet, installed, "primary")
        if flags:
            fleet.run(["cp", "-R", f"{data}/.", fleet.make_folder("replica")])
            # The replica's server makes an identity of its own.
            (fleet.folder.path / "replica" / "auto.cnf").unlink(missing_ok=True)
        grant = f"GRANT ALL ON *.* TO {_name_account(fleet)}"
        return self._start_server(
            fleet, installed, "primary", data, password, [grant], ["--server-id=1", *flags]
        )

    def _start_replica(
        self, fleet: Fleet, installed: AvailableServer, primary: str, flags: Sequence[str]
    ) -> str:
        """Start a replica that follows the primary, on a copy of its first data; return its URL."""
        source = read_login(primary, 3306)
        password = source["password"].decode()
        data = fleet.folder.path / "replica"
        if not data.exists():
            # The primary runs on another machine.
            data = self._make_data(fleet, installed, "replica")
        # All rights that an adapter needs, except those to write to a read-only server.
        rights = (
            "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, REFERENCES, RELOAD, "
            f"PROCESS, REPLICATION CLIENT{self.status_rights}"
        )
        grant = f"GRANT {rights} ON *.* TO {_name_account(fleet)}"
        # Follow the primary. The login comes last: a password is not to be translated.
        change_source = self._translate(
            "CHANGE MASTER TO MASTER_HOST='{host}', MASTER_PORT={port}, MASTER_USER='{user}',"
            f" MASTER_PASSWORD='{{password}}', MASTER_CONNECT_RETRY=1, {self.source_options}",
            installed.version,
        ).format(**{**source, "password": password})
        start = self._translate("START SLAVE", installed.version)
        statements = [grant, change_source, start]
        own_flags = ["--server-id=2", *flags, "--read-only=ON"]
        return self._start_server(
            fleet, installed, "replica", data, password, statements, own_flags
        )

    def _make_data(self, fleet: Fleet, installed: AvailableServer, role: Role) -> Path:
        """Return a new data folder; fetched programs come with one to copy."""
        programs = make_runnable(installed, fleet.user)
        data = fleet.make_folder(role)
        if installed.source == "fetched":
            fleet.run(["cp", "-R", f"{self._find_home(programs)}/data/.", data])
        else:
            installer, *flags = self.installer
            temporary = fleet.make_folder(_TEMPORARY_FOLDER)
            fleet.run([programs[installer], *flags, f"--datadir={data}", f"--tmpdir={temporary}"])
        return data

    def _find_home(self, programs: dict[str, Path]) -> Path:
        return programs[self.server].parent.parent

    def _start_server(
        self,
        fleet: Fleet,
        installed: AvailableServer,
        role: Role,
        data: Path,
        password: str,
        statements: Sequence[str],
        flags: Sequence[str],
    ) -> str:
        """Start a server whose only account is ours, and return its URL.

        It executes `statements` before it is ready.
        """
        # The accounts come first, outside the binary log.
        system_users = "'mysql.sys', 'mysql.session', 'mysql.infoschema', 'mariadb.sys'"
        account_statements = (
            "SET SESSION sql_log_bin = 0",
            f"DELETE FROM {self.accounts} WHERE User NOT IN ({system_users})",
            "FLUSH PRIVILEGES",
            f"CREATE USER {_name_account(fleet)} IDENTIFIED BY '{password}'",
        )
        script = "".join(f"{line};\n" for line in (*account_statements, *statements))
        script_file = fleet.write_secret(f"{role}.sql", script)
        # Start the server, which reads no files of options.
        programs = make_runnable(installed, fleet.user)
        home = self._find_home(programs)
        arguments = (
            *("--no-defaults", f"--datadir={data}"),
            *(f"--tmpdir={fleet.make_folder(_TEMPORARY_FOLDER)}", f"--init-file={script_file}"),
            *("--socket=", f"--bind-address={fleet.address}", "--skip-name-resolve"),
            *(flag.format(home=home) for flag in self.flags),
            *flags,
        )
        server = fleet.start_server(
            role, lambda port: [programs[self.server], *arguments, f"--port={port}"]
        )
        server.await_line("ready for connections")
        return f"{self.product}://{USER_NAME}:{password}@{server.address}/"

    def _translate(self, statement: str, version: str) -> str:
        """Return a statement on replication in the words of the version."""
        if self.product == "mysql" and not is_older(version, FIRST_WITH_REPLICA_WORDS):
            for old, new in _REPLICA_WORDS.items():
                statement = statement.replace(old, new)
        return statement

    def _await_replication(self, url: str) -> None:
        version = self.ask(url).version
        query = self._translate("SHOW SLAVE STATUS", version)
        threads = [
            self._translate(thread, version) for thread in ("Slave_IO_Running", "Slave_SQL_Running")
        ]
        status: dict[str, object] = {}

        def is_running() -> bool:
            cursor.execute(query)
            status.update(cursor.fetchone() or {})
            return all(status.get(thread) == "Yes" for thread in threads)

        def describe_failure() -> str:
            reason = (
                status.get("Last_IO_Error") or status.get("Last_SQL_Error") or "it does not say why"
            )
            return f"{self.product}'s replica did not follow ({reason})"

        with (
            closing(_connect_with_limit(url)) as connection,
            connection.cursor(DictCursor) as cursor,
        ):
            await_condition(is_running, describe_failure)


class MariaDBServers(MySQLServers):
    """Starts servers of MariaDB from 10.5 on.

    Annotated rows are left out of the log, as MySQL does: they would count as replicated bytes.
    """

    product = "mariadb"
    server = "mariadbd"
    accounts = "mysql.global_priv"
    status_rights = ", SLAVE MONITOR"
    installer = (
        *("mariadb-install-db", "--no-defaults", "--skip-test-db", "--skip-name-resolve"),
        *("--auth-root-authentication-method=normal", "--innodb-flush-method=nosync"),
    )
    flags = ("--skip-ssl",)
    pair_flags = ("--binlog-annotate-row-events=OFF",)
    source_options = "MASTER_USE_GTID=slave_pos, MASTER_SSL=0"


def _name_account(fleet: Fleet) -> str:
    """Return our account: for this machine only, unless other machines are to reach the server."""
    return f"'{USER_NAME}'@'{LOOPBACK if fleet.is_on_loopback else '%'}'"


def _connect_with_limit(url: str) -> Connection:
    connection = connect(url)
    limit_answer_time(connection, PATIENCE_S)
    return connection


def _list_followers(cursor: "pymysql.cursors.Cursor") -> tuple[tuple[str, ...], str]:
    """Return the readers of the binary log, and why the user may not see all of them.

    A user without the right sees only its own threads. Members of a Galera cluster or of Group
    Replication read no binary log, so they are not seen.
    """
    cursor.execute("SHOW PROCESSLIST")
    followers = tuple(
        str(row[2]) for row in cursor.fetchall() if str(row[4]).startswith("Binlog Dump")
    )
    try:
        # It is empty, or refused, without the right.
        sees_all = cursor.execute("SELECT 1 FROM information_schema.INNODB_CMP LIMIT 1")
    except pymysql.OperationalError as error:
        # 1227: access denied.
        if error.args[0] != 1227:
            raise
        sees_all = 0
    return followers, "" if sees_all else "GRANT PROCESS ON *.* TO it"
