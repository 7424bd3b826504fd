"""MySQL from 8.0.23 on through PyMySQL, as both models use it: the database ``benchbook``, one autocommit a statement.

PyMySQL is Python throughout and prepares nothing on the server: values are written into the statement. Durability is
set for the whole server, for a session cannot: ``default`` is the product's own (the redo log is flushed at each
commit; the binary log too since MySQL 5.7, not in 5.5 and MariaDB), ``relaxed`` writes the redo log at each commit and
flushes it once a second, the binary log never, ``strict`` flushes both at each commit. What was set before comes back
when the engine is closed. The user needs the right to set that, and to read the replication's status.

Texts compare by code point, blanks at the end included. A key has 191 characters at most, the most that every version
indexes. MySQL knows no checkpoint on demand: `create` flushes the redo log.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, ClassVar

import orjson
import pymysql

from benchbook.datasets import Schema
from benchbook.deployment import Role
from benchbook.engines import mysql_errors, mysql_log
from benchbook.engines.counter import Counter
from benchbook.engines.errors import EngineError
from benchbook.engines.mysql_durability import Flushing
from benchbook.engines.mysql_namespace import MySQLDatabase
from benchbook.engines.mysql_session import Connection, connect, disconnect, transaction
from benchbook.engines.namespace import Marker
from benchbook.engines.sql import SQL
from benchbook.engines.told import told


class MySQL(SQL):
    """Connections and log positions; a model adds the table."""

    product = "mysql"
    driver = f"pymysql {'.'.join(str(part) for part in pymysql.VERSION[:3])}"
    raises: ClassVar[tuple[type[Exception], ...]] = (pymysql.Error, orjson.JSONEncodeError)
    wait_resolution_ns = 200_000.0  # the position's round trip and the wait's
    collation: ClassVar[str] = "utf8mb4_0900_bin"
    log: ClassVar[mysql_log.Log] = mysql_log.MYSQL

    @property
    def ending(self) -> str:
        """What says how tables are kept and compared, whatever the database's defaults are."""
        return f" ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE {self.collation}"

    @told
    def position(self) -> mysql_log.Position:
        """Return where the primary's binary log ends; empty when it keeps none."""
        return tuple(value for row in self._rows(self.log.end) for value in row[: self.log.width])

    def kind(self, error: Exception) -> type[EngineError]:
        """Tell unreachable servers and refused rows apart."""
        return mysql_errors.kind(error)

    def text(self, error: Exception) -> str:
        """Return what the server said, with the error's number."""
        return mysql_errors.text(error)

    @told
    def _reached(self, position: mysql_log.Position, deadline_s: float) -> bool:
        if not any(position):
            raise EngineError(f"{self.where}: its binary log has no GTIDs to wait for: set gtid_mode = ON")
        return self._replay.reaches(position, deadline_s)

    @told
    def _connect(self) -> None:
        if self.replicated:
            replica = partial(connect, self.deployment.node("replica").url)
            self._replay = self._kept(mysql_log.Replay(self.log, replica))
        self._connections: dict[Role, Connection] = {}
        for node in self.deployment.nodes:
            self._connections[node.role] = connection = connect(node.url)
            self._closing.callback(disconnect, connection)
        self._cursors = {role: connection.cursor() for role, connection in self._connections.items()}
        self._cursor = self._cursors["primary"]
        self._flushing: Flushing | None = None

    def _namespaces(self) -> dict[Role, MySQLDatabase]:
        return {role: MySQLDatabase(connection) for role, connection in self._connections.items()}

    def _prepare(self, schemas: Sequence[Schema], marker: Marker) -> None:
        """Drop our tables; set the durability once it is known that nobody's data are in the way."""
        self._namespaces()["primary"].drop(tuple(reversed(marker.stores)))
        self._run("USE benchbook")
        if self._flushing is None:
            self._flushing = Flushing(self._connections["primary"], self.options.durability)
            self._closing.callback(self._flushing.restore)

    def _checkpoint(self) -> None:
        """Flush every node's log, which has the database by now."""
        for connection in self._connections.values():
            connection.select_db("benchbook")
            connection.query("FLUSH LOCAL ENGINE LOGS")

    def _received(self) -> list[Counter]:
        """Return the bytes of the binary log that the replica has received."""
        read = partial(mysql_log.received, self.log, self._connections["primary"], self._connections["replica"])
        return [Counter("bytes_received", read, f"{self.log.status}: {self.log.offset} (binary log events)", 1.0)]

    def _transaction(self) -> AbstractContextManager[Any]:
        return transaction(self._connections["primary"])
