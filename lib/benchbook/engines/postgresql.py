"""PostgreSQL through psycopg 3, as both models use it: tables in the schema ``benchbook``, one autocommit a statement.

Statements are prepared as psycopg does by itself: on the server, from a statement's sixth execution on. Durability
is ``synchronous_commit``: ``default`` leaves the server's (normally on: a commit waits for the disk), ``relaxed`` turns
it off, ``strict`` turns it on.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Final

import orjson
import psycopg
from psycopg import errors

from benchbook.datasets import Schema
from benchbook.deployment import Deployment, Role
from benchbook.engines import postgresql_log
from benchbook.engines.counter import Counter
from benchbook.engines.errors import DuplicateKeyError, EngineError, OccupiedError, RefusedError, UnreachableError
from benchbook.engines.namespace import Marker
from benchbook.engines.options import Options
from benchbook.engines.postgresql_namespace import PostgreSQLSchema
from benchbook.engines.postgresql_session import Connection, connect
from benchbook.engines.sql import SQL
from benchbook.engines.told import told

_SET: Final = {"default": "", "relaxed": "SET synchronous_commit = off", "strict": "SET synchronous_commit = on"}
_UNREACHABLE: Final = (psycopg.OperationalError, psycopg.InterfaceError, errors.InsufficientPrivilege)
_REFUSED: Final = (psycopg.DataError, psycopg.IntegrityError, psycopg.NotSupportedError, orjson.JSONEncodeError)


class PostgreSQL(SQL):
    """Connections and log positions; a model adds the table."""

    product = "postgresql"
    driver = f"psycopg {psycopg.__version__}"
    raises: ClassVar[tuple[type[Exception], ...]] = (psycopg.Error, orjson.JSONEncodeError)
    log: ClassVar[postgresql_log.Log] = postgresql_log.SINCE_10
    wait_resolution_ns = 400_000.0  # the position's round trip, a poll, and the sleep before it

    def __init__(self, deployment: Deployment, options: Options) -> None:
        self._schemas: dict[str, Schema] = {}
        super().__init__(deployment, options)

    @told
    def position(self) -> int:
        """Return the end of the log that is flushed, or inserted where a commit does not wait for the disk."""
        return postgresql_log.record_end(self._number(self._log_end))

    def kind(self, error: Exception) -> type[EngineError]:
        """Tell unreachable servers and refused rows apart."""
        if isinstance(error, errors.UniqueViolation):
            return DuplicateKeyError
        if isinstance(error, errors.DependentObjectsStillExist):
            return OccupiedError
        if isinstance(error, _REFUSED):
            return RefusedError
        return UnreachableError if isinstance(error, _UNREACHABLE) else EngineError

    def text(self, error: Exception) -> str:
        """Return what the server said, without its advice on dropping what others made."""
        return super().text(error).partition(" HINT: ")[0]

    @told
    def _reached(self, position: int, deadline_s: float) -> bool:
        return self._replay.reaches(position, deadline_s)

    @told
    def _connect(self) -> None:
        self._connections = {node.role: self._connection(node.url) for node in self.deployment.nodes}
        self._cursors = {role: connection.cursor() for role, connection in self._connections.items()}
        self._cursor = self._cursors["primary"]
        if setting := _SET[self.options.durability]:
            self._cursor.execute(setting)
        waits = self._cursor.execute("SHOW synchronous_commit").fetchone() != ("off",)
        self._log_end = self.log.flushed if waits else self.log.inserted
        if self.replicated:
            self._replay = postgresql_log.Replay(self.log, self._connection(self.deployment.node("replica").url))

    def _connection(self, url: str) -> Connection:
        return self._kept(connect(url))

    def _namespaces(self) -> dict[Role, PostgreSQLSchema]:
        return {role: PostgreSQLSchema(connection) for role, connection in self._connections.items()}

    def _prepare(self, schemas: Sequence[Schema], marker: Marker) -> None:
        """Drop our tables; when one returns with other columns, reconnect: prepared statements keep to the former."""
        if any(self._schemas.get(schema.name, schema) != schema for schema in schemas):
            self.close()
            self._connect()
        self._schemas |= {schema.name: schema for schema in schemas}
        self._namespaces()["primary"].drop(marker.stores)

    def _checkpoint(self) -> None:
        for cursor in self._cursors.values():
            cursor.execute("CHECKPOINT")

    def _received(self) -> list[Counter]:
        """Return the bytes of the log that the primary has sent to the replica."""
        source = "pg_stat_replication.sent_lsn of the primary"
        return [Counter("bytes_received", lambda: float(self._number(self.log.sent)), source, 1.0)]

    def _transaction(self) -> AbstractContextManager[Any]:
        return self._connections["primary"].transaction()

    def _number(self, query: bytes) -> int:
        row = self._cursor.execute(query).fetchone()
        if row is None or row[0] is None:
            raise EngineError(f"{self.where}: no replica is streaming from it")
        return int(row[0])
