"""MySQL from 8.0.23 on through PyMySQL, as both models use it: the database ``benchbook``, one autocommit a statement.

PyMySQL is Python throughout and prepares nothing on the server: values are written into the statement. Durability is
set for the whole server, for a session cannot: ``default`` is the product's own (the redo log is flushed at each
commit; the binary log too since MySQL 5.7, not in 5.5 and MariaDB), ``relaxed`` writes the redo log at each commit and
flushes it once a second, the binary log never, ``strict`` flushes both at each commit. What was set before comes back
when the engine is closed. The user needs the right to set that, and to read the replication's status.

Texts compare by code point, blanks at the end included. A key has 191 characters at most, the most that every version
indexes. MySQL knows no checkpoint on demand: `create` flushes the redo log.
"""

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Final

import pymysql

from benchbook.datasets import Dataset, Schema
from benchbook.deployment import Deployment, Role
from benchbook.engines import mysql_errors, mysql_log
from benchbook.engines.base import Counter, Engine, Options, told
from benchbook.engines.errors import EngineError
from benchbook.engines.mysql_durability import Flushing
from benchbook.engines.mysql_session import Connection, connect, quoted

KEY: Final = "VARCHAR(191)"


class MySQL(Engine):
    """Connections, tables and log positions; a model adds the rows."""

    product = "mysql"
    driver = f"pymysql {'.'.join(str(part) for part in pymysql.VERSION[:3])}"
    raises: ClassVar[tuple[type[Exception], ...]] = (pymysql.Error,)
    wait_resolution_ns = 200_000.0  # the position's round trip and the wait's
    collation: ClassVar[str] = "utf8mb4_0900_bin"
    log: ClassVar[mysql_log.Log] = mysql_log.MYSQL

    def __init__(self, deployment: Deployment, options: Options) -> None:
        super().__init__(deployment, options)
        self._connections: dict[Role, Connection] = {}
        self._flushing: Flushing | None = None
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    @told
    def create(self, schema: Schema, *, parents: Sequence[Dataset] = ()) -> None:
        """Create the database anew, the table after its parents', fill those, and flush every node's log."""
        self._run("DROP DATABASE IF EXISTS benchbook")
        self._run(f"CREATE DATABASE benchbook CHARACTER SET utf8mb4 COLLATE {self.collation}")
        self._run("USE benchbook")
        for parent in parents:
            self._table(parent.schema)
            self.insert_many(parent.records)
        self._table(schema)
        for field in schema.fields:
            if field.name in self.options.index:
                self._index(schema.name, field.name)
        table, key = quoted(schema.name), quoted(schema.key)
        self._delete, self._delete_all = f"DELETE FROM {table} WHERE {key} = %s", f"DELETE FROM {table}"
        self._ids = f"SELECT {key} FROM {table}"
        self._follow()
        for connection in self._connections.values():
            connection.select_db("benchbook")
            connection.query("FLUSH LOCAL ENGINE LOGS")

    @told
    def delete(self, key: str) -> None:
        """Delete one row."""
        self._one(self._run(self._delete, (key,)), key)

    @told
    def delete_all(self) -> int:
        """Delete all rows with one DELETE: no TRUNCATE."""
        return self._run(self._delete_all)

    @told
    def ids(self) -> list[str]:
        """Return all keys."""
        return [key for (key,) in self._rows(self._ids)]

    @told
    def position(self) -> mysql_log.Position:
        """Return where the primary's binary log ends; empty when it keeps none."""
        return tuple(value for row in self._rows(self.log.end) for value in row[: self.log.width])

    @told
    def counters(self, role: Role) -> list[Counter]:
        """Return the bytes of the binary log that the replica has received."""
        if not self.replicated or role != "replica":
            return []
        read = partial(mysql_log.received, self.log, self._connections["primary"], self._connections["replica"])
        return [Counter("bytes_received", read, f"{self.log.status}: {self.log.offset} (binary log events)", 1.0)]

    def close(self) -> None:
        """Give the server its former settings back and close all connections."""
        if self._flushing is not None:
            self._flushing.restore()
        for connection in self._connections.values():
            if connection.open:
                connection.close()
        if self.replicated:
            self._replay.close()

    def kind(self, error: Exception) -> type[EngineError]:
        """Tell unreachable servers and refused rows apart."""
        return mysql_errors.kind(error)

    def text(self, error: Exception) -> str:
        """Return what the server said, with the error's number."""
        return mysql_errors.text(error)

    @abstractmethod
    def _table(self, schema: Schema) -> None:
        """Create a table and make its rows' statements the current ones."""

    @abstractmethod
    def _index(self, table: str, field: str) -> None:
        """Index a field."""

    @told
    def _reached(self, position: mysql_log.Position, deadline_s: float) -> bool:
        if not any(position):
            raise EngineError(f"{self.where}: its binary log has no GTIDs to wait for: set gtid_mode = ON")
        return self._replay.reaches(position, deadline_s)

    @told
    def _connect(self) -> None:
        if self.replicated:
            self._replay = mysql_log.Replay(self.log, partial(connect, self.deployment.node("replica").url))
        for node in self.deployment.nodes:
            self._connections[node.role] = connect(node.url)
        self._cursor = self._connections["primary"].cursor()
        self._run("CREATE DATABASE IF NOT EXISTS benchbook")
        self._flushing = Flushing(self._connections["primary"], self.options.durability)

    def _run(self, query: str, values: Sequence[Any] = ()) -> int:
        """Execute a statement and return how many rows it reached."""
        return self._cursor.execute(query, tuple(values))

    def _rows(self, query: str, values: Sequence[Any] = (), role: Role = "primary") -> Sequence[tuple[Any, ...]]:
        """Execute a query on a node and return all rows."""
        with self._connections[role].cursor() as cursor:
            cursor.execute(query, tuple(values))
            return cursor.fetchall()
