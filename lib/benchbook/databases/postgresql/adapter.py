"""PostgreSQL through psycopg 3, documents and tables, in the schema ``benchbook``: one autocommit a statement.

Statements are prepared as psycopg does by itself: on the server, from a statement's sixth execution on. Durability
is ``synchronous_commit``: ``default`` leaves the server's (normally on: a commit waits for the disk), ``relaxed`` turns
it off, ``strict`` turns it on.

Its log ends where the primary's last write does, and a replica on a connection of its own is asked how far it is.
Version 9.6, nearest to the crud paper's 9.1, differs in its log's words alone.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from select import select
from typing import Any, ClassVar, Final

import orjson
import psycopg
from psycopg import errors, sql
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.types.json import Jsonb, set_json_dumps, set_json_loads

from benchbook.databases.connected import MARKER, Marker, Namespace
from benchbook.databases.engine import (
    PATIENCE_S,
    Counter,
    DuplicateKeyError,
    EngineError,
    OccupiedError,
    Options,
    RefusedError,
    UnreachableError,
)
from benchbook.databases.sql import SQL, Documents, Row, Rows
from benchbook.deployment import Deployment, Role, as_addressed
from benchbook.schemas import Schema

Connection = psycopg.Connection[tuple[Any, ...]]


def connect(url: str) -> Connection:
    """Return a connection with one autocommit a statement, in the schema ``benchbook``, UTC, and orjson for JSON."""
    with as_addressed():
        connection = psycopg.connect(url, autocommit=True, connect_timeout=PATIENCE_S)
    connection.execute("SET search_path = benchbook")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET client_min_messages = warning")
    set_json_dumps(orjson.dumps, connection)
    set_json_loads(orjson.loads, connection)
    return connection


def quoted(name: str) -> str:
    """Return a name as SQL, its ``%`` doubled: psycopg takes one for a placeholder."""
    return sql.Identifier(name.replace("%", "%%")).as_string()


def literal(text: str) -> str:
    """Return a text as SQL, its ``%`` doubled."""
    return sql.Literal(text.replace("%", "%%")).as_string()


@dataclass(frozen=True)
class Log:
    """What a version of the server calls its log; each asks for a position in bytes.

    Parameters
    ----------
    flushed, inserted
        Where the primary's log ends: on the disk, and in memory.
    sent
        How much of it the primary has sent to its replica.
    replayed
        How much of it the replica has applied.
    """

    flushed: bytes
    inserted: bytes
    sent: bytes
    replayed: bytes


SINCE_10: Final = Log(
    b"SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')",
    b"SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')",
    b"SELECT pg_wal_lsn_diff(max(sent_lsn), '0/0') FROM pg_stat_replication WHERE state = 'streaming'",
    b"SELECT pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')",
)
BEFORE_10: Final = Log(
    b"SELECT pg_xlog_location_diff(pg_current_xlog_flush_location(), '0/0')",
    b"SELECT pg_xlog_location_diff(pg_current_xlog_insert_location(), '0/0')",
    b"SELECT max(pg_xlog_location_diff(sent_location, '0/0')) FROM pg_stat_replication WHERE state = 'streaming'",
    b"SELECT pg_xlog_location_diff(pg_last_xlog_replay_location(), '0/0')",
)

_POLL_S: Final = 0.0001
_PAGE: Final = 8192
_HEADERS: Final = (24, 40)  # of a page, and of a file's first page


def record_end(position: int) -> int:
    """Return the end of the last record before an insert position, which at a page's start lies behind its header."""
    offset = position % _PAGE
    return position - offset if offset in _HEADERS else position


class Replay:
    """Watches how far a replica has applied the log, on a connection of its own, and gives up when it must.

    A query is sent and its answer awaited by hand, for psycopg's calls know no deadline. An answer that came too late
    is read by the next wait: the position only grows, so it is still true.
    """

    def __init__(self, log: Log, connection: psycopg.Connection[Any]) -> None:
        self._query = log.replayed
        self._link = connection.pgconn

    def reaches(self, position: int, deadline_s: float) -> bool:
        """Poll until the replica has applied the log up to `position`; False when the time ran out."""
        deadline = time.monotonic() + deadline_s
        while (replayed := self._replayed(deadline)) is not None and replayed < position:
            time.sleep(_POLL_S)
            if time.monotonic() > deadline:
                return False
        return replayed is not None

    def _replayed(self, deadline: float) -> int | None:
        """Return the position; None when the replica has not answered by `deadline` (s, monotonic)."""
        if self._link.transaction_status != TransactionStatus.ACTIVE:
            self._link.send_query(self._query)
            self._link.flush()
        while self._link.is_busy():
            ready, _, _ = select([self._link.socket], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None
            self._link.consume_input()
        result = self._link.get_result()
        while self._link.get_result() is not None:
            pass
        if result is None or result.status != ExecStatus.TUPLES_OK:
            raise psycopg.OperationalError(self._link.get_error_message())
        return int(result.get_value(0, 0) or b"0")


_CONTENTS: Final = """
SELECT coalesce((SELECT relname FROM pg_class WHERE oid = objid), pg_describe_object(classid, objid, 0))
FROM pg_depend WHERE refclassid = 'pg_namespace'::regclass AND refobjid = to_regnamespace('benchbook')
"""
"""All that is in the schema, of whatever kind: each object depends on it."""


class PostgreSQLSchema(Namespace):
    """Whatever is dropped is dropped only where nothing else depends on it: never with CASCADE."""

    title = "the schema benchbook"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._marker = sql.Identifier("benchbook", MARKER)

    def marker(self) -> Marker | None:
        """Return the marker's only row; one that we may not read is not ours."""
        try:
            row = self._connection.execute(sql.SQL("SELECT text FROM {}").format(self._marker)).fetchone()
        except (errors.UndefinedTable, errors.InvalidSchemaName, errors.InsufficientPrivilege):
            return None
        return Marker.from_json(row[0]) if row else None

    def exists(self) -> bool:
        """Return whether there is such a schema."""
        return self._connection.execute("SELECT to_regnamespace('benchbook') IS NOT NULL").fetchone() == (True,)

    def contents(self) -> list[str]:
        """Return what depends on the schema."""
        return [name for (name,) in self._connection.execute(_CONTENTS).fetchall() if name != MARKER]

    def mark(self, marker: Marker) -> None:
        """Make schema and marker in one transaction."""
        with self._connection.transaction():
            if not self.exists():
                self._connection.execute("CREATE SCHEMA benchbook")
            self._connection.execute(sql.SQL("CREATE TABLE IF NOT EXISTS {} (text text NOT NULL)").format(self._marker))
            self._connection.execute(sql.SQL("DELETE FROM {}").format(self._marker))
            self._connection.execute(sql.SQL("INSERT INTO {} VALUES (%s)").format(self._marker), [marker.to_json()])

    def drop(self, stores: Sequence[str]) -> None:
        """Drop tables at once: they may refer to one another."""
        if stores:
            names = sql.SQL(", ").join(sql.Identifier("benchbook", name) for name in stores)
            self._connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(names))

    def unmark(self, marker: Marker) -> None:
        """Drop the marker, and the schema when that was all."""
        with self._connection.transaction():
            self._connection.execute(sql.SQL("DROP TABLE {}").format(self._marker))
            if marker.made and not self.contents():
                self._connection.execute("DROP SCHEMA benchbook")


_SET: Final = {"default": "", "relaxed": "SET synchronous_commit = off", "strict": "SET synchronous_commit = on"}
_UNREACHABLE: Final = (psycopg.OperationalError, psycopg.InterfaceError, errors.InsufficientPrivilege)
_REFUSED: Final = (psycopg.DataError, psycopg.IntegrityError, psycopg.NotSupportedError, orjson.JSONEncodeError)


class PostgreSQL(SQL):
    """Connections and log positions; a model adds the table."""

    product = "postgresql"
    driver = f"psycopg {psycopg.__version__}"
    raises: ClassVar[tuple[type[Exception], ...]] = (psycopg.Error, orjson.JSONEncodeError)
    log: ClassVar[Log] = SINCE_10
    wait_resolution_ns = 400_000.0  # the position's round trip, a poll, and the sleep before it

    def __init__(self, deployment: Deployment, options: Options) -> None:
        self._schemas: dict[str, Schema] = {}
        super().__init__(deployment, options)

    def position(self) -> int:
        """Return the end of the log that is flushed, or inserted where a commit does not wait for the disk."""
        return record_end(self._number(self._log_end))

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

    def _reached(self, position: int, deadline_s: float) -> bool:
        return self._replay.reaches(position, deadline_s)

    def _connect(self) -> None:
        self._connections = {node.role: self._connection(node.url) for node in self.deployment.nodes}
        self._cursors = {role: connection.cursor() for role, connection in self._connections.items()}
        self._cursor = self._cursors["primary"]
        if setting := _SET[self.options.durability]:
            self._cursor.execute(setting)
        waits = self._cursor.execute("SHOW synchronous_commit").fetchone() != ("off",)
        self._log_end = self.log.flushed if waits else self.log.inserted
        if self.replicated:
            self._replay = Replay(self.log, self._connection(self.deployment.node("replica").url))

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


class JsonbTable(Documents):
    """A table of JSONB documents, which psycopg encodes and decodes as it is told (see `connect`)."""

    types = ("text", "jsonb")
    merged = "doc || %s"
    quoted = staticmethod(quoted)
    encoded = staticmethod(Jsonb)

    @staticmethod
    def decoded(rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Return the rows' documents."""
        return [document for (document,) in rows]

    def extracted(self, field: str) -> str:
        """Return the expression for a field's text."""
        return f"doc->>{literal(field)}"

    def index(self, field: str) -> str:
        """Return the statement that indexes a field's text."""
        return f"CREATE INDEX ON {self.name} (({self.extracted(field)}))"


class PostgreSQLDocuments(PostgreSQL):
    """A record is a document."""

    name = "postgresql+jsonb"
    model = "document"
    table = JsonbTable
    lacks: ClassVar[Mapping[str, str]] = {
        "constraints": "a JSONB document has none to leave out",
        "nul_characters": "PostgreSQL's text holds no U+0000",
    }


class PostgreSQLRows(Rows):
    """A table of rows."""

    types: ClassVar[Mapping[str, str]] = {
        "string": "text",
        "integer": "bigint",
        "float": "double precision",
        "date": "date",
        "datetime": "timestamptz",
        "boolean": "boolean",
    }
    quoted = staticmethod(quoted)

    def index(self, field: str) -> str:
        """Return the statement that indexes a column."""
        return f"CREATE INDEX ON {self.name} ({quoted(field)})"


class PostgreSQLTables(PostgreSQL):
    """A record is a row."""

    name = "postgresql+relational"
    model = "relational"
    table = PostgreSQLRows
    lacks: ClassVar[Mapping[str, str]] = {"nul_characters": "PostgreSQL's text holds no U+0000"}


class OldPostgreSQLTables(PostgreSQLTables):
    """A record is a row; floats come in full, as later versions send them unasked."""

    name = "postgresql@9.6+relational"
    product = "postgresql@9.6"
    log = BEFORE_10

    def _connection(self, url: str) -> Connection:
        connection = super()._connection(url)
        connection.execute("SET extra_float_digits = 3")
        return connection


class OldPostgreSQLDocuments(PostgreSQLDocuments):
    """A record is a document."""

    name = "postgresql@9.6+jsonb"
    product = "postgresql@9.6"
    log = BEFORE_10
