"""MySQL and MariaDB: one server, or a primary and a replica that follows its row-based binary log.

Asynchronous: a commit on the primary waits for nobody. Both nodes begin as copies of one data folder, with their
accounts made outside the binary log, so that the log begins with the user's first write.
"""

import signal
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import ClassVar, Final

import pymysql
from pymysql.cursors import DictCursor

from benchbook.databases.mysql import FLAGS, INITIALISE
from benchbook.databases.mysql.log import NEW_WORDS, Connection, connect, limit
from benchbook.deployment import PATIENCE_S, Role, Topology, older
from benchbook.networks import LOOPBACK
from benchbook.servers.address import Answer, login
from benchbook.servers.fleet import USER, At, Fleet, await_true, new_password
from benchbook.servers.programs import Found, reachable, substitute

_READY: Final = "ready for connections"
_WAITS: Final = "Waiting for someone to free space"
_SCRATCH: Final = "scratch"
"""The folder of temporary files."""
_ACCESS_DENIED: Final = 1227
_SYSTEM_USERS: Final = "'mysql.sys', 'mysql.session', 'mysql.infoschema', 'mariadb.sys'"
_REPLICA_RIGHTS: Final = (  # all that an adapter needs but what would let it write to a read-only server
    "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, REFERENCES, RELOAD, PROCESS, REPLICATION CLIENT"
)
_CHANGE_MASTER: Final = (
    "CHANGE MASTER TO MASTER_HOST='{host}', MASTER_PORT={port}, MASTER_USER='{user}', MASTER_PASSWORD='{password}',"
    " MASTER_CONNECT_RETRY=1"
)
_NEW_WORDS: Final = {
    "CHANGE MASTER": "CHANGE REPLICATION SOURCE",
    "MASTER": "SOURCE",
    "SLAVE": "REPLICA",
    "Slave": "Replica",
}
_SETTINGS: Final = (
    *("innodb_buffer_pool_size", "innodb_flush_log_at_trx_commit", "sync_binlog", "innodb_flush_method"),
    *("innodb_log_file_size", "innodb_redo_log_capacity", "innodb_doublewrite", "innodb_file_per_table"),
    *("log_bin", "binlog_format", "binlog_row_image", "gtid_mode", "tls_version", "have_ssl", "performance_schema"),
    *("max_allowed_packet", "version_comment", "version_compile_machine"),
)


class MySQL:
    """Starts servers of MySQL from 8.0.15 on, which replicate by GTID."""

    product: ClassVar[str] = "mysql"
    server: ClassVar[str] = "mysqld"
    accounts: ClassVar[str] = "mysql.user"
    monitor: ClassVar[str] = ""  # what else a user needs to read the replication's status
    installer: ClassVar[tuple[str, ...]] = ("mysqld", *INITIALISE)  # fills an empty data folder
    flags: ClassVar[tuple[str, ...]] = FLAGS  # ``{home}`` is the folder that the program's own is in
    pair_flags: ClassVar[tuple[str, ...]] = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")
    origin: ClassVar[str] = (
        "MASTER_AUTO_POSITION=1, MASTER_SSL=0, GET_MASTER_PUBLIC_KEY=1"  # from where a replica reads
    )

    def fleet(self) -> Fleet:
        """Return an empty fleet for its servers; root's run as ``mysql`` or, without that user, as ``nobody``."""
        # SIGTERM would take up to 10 s, to keep the data.
        stop = signal.SIGKILL
        return Fleet(self.product, user=substitute(self.product, "mysql"), stop_signal=stop, waits=_WAITS)

    def launch(self, at: At, topology: Topology) -> dict[Role, str]:
        """Start the servers of `topology` and return their URLs."""
        password = new_password()
        if topology == "single":
            return {"primary": at("primary", self._primary, password, ())}
        flags = ("--log-bin=binlog", "--relay-log=relay", "--binlog-format=ROW", *self.pair_flags)
        urls: dict[Role, str] = {"primary": at("primary", self._primary, password, flags)}
        urls["replica"] = at("replica", self._replica, urls["primary"], flags)
        self._await_following(urls["replica"])
        return urls

    def ask(self, url: str) -> Answer:
        """Return what the server at `url` says of itself; who is read-only is a replica.

        `ConnectionError` when it cannot be reached, refuses the user, or is MariaDB in MySQL's place (or the reverse).
        """
        query = "SHOW GLOBAL VARIABLES WHERE Variable_name IN %s"
        try:
            with closing(_connect(url)) as connection, connection.cursor() as cursor:
                cursor.execute(query, (("version", "read_only", *_SETTINGS),))
                settings: dict[str, str] = dict(cursor.fetchall())
                followers, unseen = _followers(cursor) if settings["log_bin"] == "ON" else ((), "")
        except pymysql.Error as error:
            raise ConnectionError(" ".join(str(part) for part in reversed(error.args))) from None
        version, read_only = settings.pop("version"), settings.pop("read_only") != "OFF"
        if ("MariaDB" in version) != (self.product == "mariadb"):
            raise ConnectionError(f"it is {'MariaDB' if 'MariaDB' in version else 'MySQL'} {version}")
        role: Role = "replica" if read_only else "primary"
        return Answer(version.partition("-")[0], role, settings, followers=followers, unseen=unseen)

    def _primary(self, fleet: Fleet, installed: Found, password: str, flags: Sequence[str]) -> str:
        """Start a primary on new data and return its URL; with the `flags` of a pair make its replica's data, too."""
        data = self._data(fleet, installed, "primary")
        if flags:
            fleet.run(["cp", "-R", f"{data}/.", fleet.subfolder("replica")])
            # The replica's server makes an identity of its own.
            (fleet.folder.path / "replica" / "auto.cnf").unlink(missing_ok=True)
        rights = f"GRANT ALL ON *.* TO {_account(fleet)}"
        return self._serve(fleet, installed, "primary", data, password, [rights], ["--server-id=1", *flags])

    def _replica(self, fleet: Fleet, installed: Found, primary: str, flags: Sequence[str]) -> str:
        """Start a replica that follows the primary, on a copy of the data that this began with, and return its URL."""
        source = login(primary, 3306)
        password = source["password"].decode()
        data = fleet.folder.path / "replica"
        if not data.exists():
            # The primary runs on another machine.
            data = self._data(fleet, installed, "replica")
        rights = f"GRANT {_REPLICA_RIGHTS}{self.monitor} ON *.* TO {_account(fleet)}"
        follow = [
            self._spoken(words, installed.version).format(**{**source, "password": password})
            for words in (f"{_CHANGE_MASTER}, {self.origin}", "START SLAVE")
        ]
        own = ["--server-id=2", *flags, "--read-only=ON"]
        return self._serve(fleet, installed, "replica", data, password, [rights, *follow], own)

    def _data(self, fleet: Fleet, installed: Found, role: Role) -> Path:
        """Return a new data folder: a copy of the one that came with the programs, if one was made when fetched."""
        programs, data = reachable(installed, fleet.user), fleet.subfolder(role)
        if installed.source == "fetched":
            fleet.run(["cp", "-R", f"{self._home(programs)}/data/.", data])
        else:
            installer, *flags = self.installer
            fleet.run([programs[installer], *flags, f"--datadir={data}", f"--tmpdir={fleet.subfolder(_SCRATCH)}"])
        return data

    def _home(self, programs: dict[str, Path]) -> Path:
        return programs[self.server].parent.parent

    def _serve(
        self,
        fleet: Fleet,
        installed: Found,
        role: Role,
        data: Path,
        password: str,
        statements: Sequence[str],
        flags: Sequence[str],
    ) -> str:
        """Start a server, which executes `statements` before it is ready, and return its URL: our account is alone."""
        first = (
            "SET SESSION sql_log_bin = 0",
            f"DELETE FROM {self.accounts} WHERE User NOT IN ({_SYSTEM_USERS})",
            "FLUSH PRIVILEGES",
            f"CREATE USER {_account(fleet)} IDENTIFIED BY '{password}'",
        )
        start = fleet.secret(f"{role}.sql", "".join(f"{statement};\n" for statement in (*first, *statements)))
        programs = reachable(installed, fleet.user)
        own = (
            *("--no-defaults", f"--datadir={data}", f"--tmpdir={fleet.subfolder(_SCRATCH)}", f"--init-file={start}"),
            *("--socket=", f"--bind-address={fleet.address}", "--skip-name-resolve"),
            *(flag.format(home=self._home(programs)) for flag in self.flags),
            *flags,
        )
        server = fleet.serve(role, lambda port: [programs[self.server], *own, f"--port={port}"])
        server.await_line(_READY)
        return f"{self.product}://{USER}:{password}@{server.address}/"

    def _spoken(self, words: str, version: str) -> str:
        """Return words on replication as the version has them."""
        if self.product == "mysql" and not older(version, NEW_WORDS):
            for old, new in _NEW_WORDS.items():
                words = words.replace(old, new)
        return words

    def _await_following(self, url: str) -> None:
        status: dict[str, object] = {}

        def follows() -> bool:
            cursor.execute(query)
            status.update(cursor.fetchone() or {})
            return all(status.get(thread) == "Yes" for thread in (io, sql))

        def failure() -> str:
            why = status.get("Last_IO_Error") or status.get("Last_SQL_Error") or "it does not say why"
            return f"{self.product}'s replica did not follow ({why})"

        version = self.ask(url).version
        old_words = ("SHOW SLAVE STATUS", "Slave_IO_Running", "Slave_SQL_Running")
        query, io, sql = (self._spoken(words, version) for words in old_words)
        with closing(_connect(url)) as connection, connection.cursor(DictCursor) as cursor:
            await_true(follows, failure)


class MariaDB(MySQL):
    """From 10.5 on. Annotated rows are left out of the log, as MySQL's: they would count as replicated bytes."""

    product = "mariadb"
    server = "mariadbd"
    accounts = "mysql.global_priv"
    monitor = ", SLAVE MONITOR"
    installer = (
        *("mariadb-install-db", "--no-defaults", "--skip-test-db", "--skip-name-resolve"),
        *("--auth-root-authentication-method=normal", "--innodb-flush-method=nosync"),
    )
    flags = ("--skip-ssl",)
    pair_flags = ("--binlog-annotate-row-events=OFF",)
    origin = "MASTER_USE_GTID=slave_pos, MASTER_SSL=0"


def _account(fleet: Fleet) -> str:
    """Return our account: for this machine alone, unless others are to reach the server."""
    return f"'{USER}'@'{LOOPBACK if fleet.alone else '%'}'"


def _connect(url: str) -> Connection:
    connection = connect(url)
    limit(connection, PATIENCE_S)
    return connection


def _followers(cursor: "pymysql.cursors.Cursor") -> tuple[tuple[str, ...], str]:
    """Return from where the binary log is read, and why the user may not see all of that: others' threads are hidden.

    The members of a Galera cluster or of Group Replication read no binary log: they are not seen.
    """
    cursor.execute("SHOW PROCESSLIST")
    followers = tuple(str(row[2]) for row in cursor.fetchall() if str(row[4]).startswith("Binlog Dump"))
    try:
        # It is empty, or refused, without the right.
        sees_all = cursor.execute("SELECT 1 FROM information_schema.INNODB_CMP LIMIT 1")
    except pymysql.OperationalError as error:
        if error.args[0] != _ACCESS_DENIED:
            raise
        sees_all = 0
    return followers, "" if sees_all else "GRANT PROCESS ON *.* TO it"
