"""PostgreSQL through psycopg 3, as both models use it: tables in the schema ``benchbook``, one autocommit a statement.

Statements are prepared as psycopg does by itself: on the server, from a statement's sixth execution on. Durability
is ``synchronous_commit``: ``default`` leaves the server's (normally on: a commit waits for the disk), ``relaxed`` turns
it off, ``strict`` turns it on.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import psycopg
from psycopg import errors

from benchbook.datasets import Dataset, Schema
from benchbook.deployment import Deployment, Role
from benchbook.engines import postgresql_log
from benchbook.engines.base import Counter, Engine, Options, told
from benchbook.engines.errors import DuplicateKeyError, EngineError, RefusedError, UnreachableError
from benchbook.engines.postgresql_session import Connection, connect, statement

_SET: Final = {"default": "", "relaxed": "SET synchronous_commit = off", "strict": "SET synchronous_commit = on"}
_UNREACHABLE: Final = (psycopg.OperationalError, psycopg.InterfaceError, errors.InsufficientPrivilege)
_REFUSED: Final = (psycopg.DataError, psycopg.IntegrityError, psycopg.NotSupportedError)


class PostgreSQL(Engine):
    """Connections, tables and log positions; a model adds the rows."""

    product = "postgresql"
    driver = f"psycopg {psycopg.__version__}"
    raises: ClassVar[tuple[type[Exception], ...]] = (psycopg.Error,)
    log: ClassVar[postgresql_log.Log] = postgresql_log.SINCE_10
    wait_resolution_ns = 400_000.0  # the position's round trip, a poll, and the sleep before it

    def __init__(self, deployment: Deployment, options: Options) -> None:
        super().__init__(deployment, options)
        self._connections: list[Connection] = []
        self._schemas: dict[str, Schema] = {}
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    @told
    def create(self, schema: Schema, *, parents: Sequence[Dataset] = ()) -> None:
        """Create the table after its parents', fill those, and checkpoint every node."""
        self._renew({each.name: each for each in (schema, *(parent.schema for parent in parents))})
        for parent in parents:
            self._table(parent.schema)
            self.insert_many(parent.records)
        self._table(schema)
        for field in schema.fields:
            if field.name in self.options.index:
                self._index(schema.name, field.name)
        self._delete = statement("DELETE FROM {} WHERE {} = %s", schema.name, schema.key)
        self._delete_all = statement("DELETE FROM {}", schema.name)
        self._ids = statement("SELECT {} FROM {}", schema.key, schema.name)
        self._follow()
        for cursor in self._cursors.values():
            cursor.execute("CHECKPOINT")

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
    def position(self) -> int:
        """Return the end of the log that is flushed, or inserted where a commit does not wait for the disk."""
        return postgresql_log.record_end(self._number(self._log_end))

    @told
    def counters(self, role: Role) -> list[Counter]:
        """Return the bytes of the log that the primary has sent to the replica."""
        if not self.replicated or role != "replica":
            return []
        source = "pg_stat_replication.sent_lsn of the primary"
        return [Counter("bytes_received", lambda: float(self._number(self.log.sent)), source, 1.0)]

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections:
            connection.close()

    def kind(self, error: Exception) -> type[EngineError]:
        """Tell unreachable servers and refused rows apart."""
        if isinstance(error, errors.UniqueViolation):
            return DuplicateKeyError
        if isinstance(error, _REFUSED):
            return RefusedError
        return UnreachableError if isinstance(error, _UNREACHABLE) else EngineError

    @abstractmethod
    def _table(self, schema: Schema) -> None:
        """Create a table and make its rows' statements the current ones."""

    @abstractmethod
    def _index(self, table: str, field: str) -> None:
        """Index a field."""

    @told
    def _reached(self, position: int, deadline_s: float) -> bool:
        return self._replay.reaches(position, deadline_s)

    def _renew(self, schemas: dict[str, Schema]) -> None:
        """Drop tables; when one returns with other columns, reconnect: prepared statements keep to the former ones."""
        if any(self._schemas.get(name, schema) != schema for name, schema in schemas.items()):
            self.close()
            self._connect()
        self._schemas |= schemas
        for name in schemas:
            self._run(statement("DROP TABLE IF EXISTS {} CASCADE", name))

    @told
    def _connect(self) -> None:
        self._connections = []
        self._cursors = {node.role: self._connection(node.url).cursor() for node in self.deployment.nodes}
        self._cursor = self._cursors["primary"]
        self._cursor.execute("CREATE SCHEMA IF NOT EXISTS benchbook")
        if setting := _SET[self.options.durability]:
            self._cursor.execute(setting)
        waits = self._cursor.execute("SHOW synchronous_commit").fetchone() != ("off",)
        self._log_end = self.log.flushed if waits else self.log.inserted
        if self.replicated:
            self._replay = postgresql_log.Replay(self.log, self._connection(self.deployment.node("replica").url))

    def _connection(self, url: str) -> Connection:
        self._connections.append(connect(url))
        return self._connections[-1]

    def _run(self, query: bytes, values: Sequence[Any] = ()) -> int:
        """Execute a statement and return how many rows it reached."""
        return self._cursor.execute(query, values).rowcount

    def _rows(self, query: bytes, values: Sequence[Any] = (), role: Role = "primary") -> list[tuple[Any, ...]]:
        """Execute a query on a node and return all rows; without values too, doubled ``%`` are single again."""
        return self._cursors[role].execute(query, values).fetchall()

    def _number(self, query: bytes) -> int:
        row = self._cursor.execute(query).fetchone()
        if row is None or row[0] is None:
            raise EngineError(f"{self.where}: no replica is streaming from it")
        return int(row[0])
