"""PostgreSQL through psycopg 3: documents or tables in a schema, one autocommit per statement.

Statements are prepared as psycopg does by itself: on the server, from a statement's sixth execution
on. Durability is ``synchronous_commit``: ``default`` leaves the server's (normally on: a commit
waits for the disk), ``relaxed`` turns it off, ``strict`` turns it on.

A position is the end of the primary's log after the last write. A connection of its own asks the
replica how much of the log it has replayed.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from select import select
from typing import ClassVar, Final

import orjson
import psycopg
from psycopg import errors, sql
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.types.json import Jsonb, set_json_dumps, set_json_loads
from typing_extensions import override

from benchbook.databases.adapter import (
    AdapterError,
    Decoders,
    DuplicateKeyError,
    Options,
    RefusedError,
    UnreachableError,
)
from benchbook.databases.postgresql.server import Connection, connect
from benchbook.databases.sql import DocumentTable, RelationalAdapter, Row, RowTable, SQLAdapter
from benchbook.measure import Meter
from benchbook.schema import NESTED_TYPES, Document, Schema
from benchbook.servers.deployment import Deployment, Node


def quote_name(name: str) -> str:
    """Return a name as SQL, its ``%`` doubled: psycopg takes one for a placeholder."""
    return sql.Identifier(name.replace("%", "%%")).as_string()


_REPLAYED_QUERY: Final = b"SELECT pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')"
"""Asks the replica how much of the log it has applied, in bytes."""

_POLL_S: Final = 0.0001


def find_record_end(position: int) -> int:
    """Return the end of the last log record before an insert position.

    At a page's start that position lies behind the page's header.
    """
    offset = position % 8192
    # The headers of a page, and of a file's first page.
    return position - offset if offset in (24, 40) else position


class _WalReplay:
    """Asks a replica how much of the log it has applied, on a connection of its own.

    It sends a query and awaits the answer by hand, because psycopg's calls have no deadline. The
    next wait reads an answer that came too late: the position only grows, so it is still true.
    """

    def __init__(self, connection: Connection) -> None:
        self._link = connection.pgconn

    def wait_for(self, position: int, deadline_s: float) -> bool:
        """Poll until the replica has applied the log up to `position`; False after the deadline."""
        deadline = time.monotonic() + deadline_s
        while True:
            replayed = self._read_position(deadline)
            if replayed is None:
                return False
            if replayed >= position:
                return True
            time.sleep(_POLL_S)
            if time.monotonic() > deadline:
                return False

    def _read_position(self, deadline: float) -> int | None:
        """Return the position; None without an answer by `deadline` (s, monotonic)."""
        # Send the question, unless the last one is not answered yet.
        if self._link.transaction_status != TransactionStatus.ACTIVE:
            self._link.send_query(_REPLAYED_QUERY)
            self._link.flush()
        # Wait for the answer.
        while self._link.is_busy():
            ready, _, _ = select([self._link.socket], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None
            self._link.consume_input()
        # Read it to its end: then the connection is free again.
        result = self._link.get_result()
        while self._link.get_result() is not None:
            pass
        if result is None or result.status != ExecStatus.TUPLES_OK:
            raise psycopg.OperationalError(self._link.get_error_message())
        return int(result.get_value(0, 0) or b"0")


_NO_NUL: Final = "PostgreSQL's text holds no U+0000"


_DURABILITY_STATEMENTS: Final = {
    "default": "",
    "relaxed": "SET synchronous_commit = off",
    "strict": "SET synchronous_commit = on",
}


class PostgreSQLAdapter(SQLAdapter):
    """Connections and log positions; a model adds the table."""

    product = "postgresql"
    title = "PostgreSQL"
    databases_query = "SELECT nspname FROM pg_namespace"
    make_statement = "CREATE SCHEMA IF NOT EXISTS {}"
    drop_statement = "DROP SCHEMA IF EXISTS {} CASCADE"
    grant = "GRANT CREATE ON DATABASE"
    driver = f"psycopg {psycopg.__version__}"
    driver_errors = (psycopg.Error, orjson.JSONEncodeError)
    error_types: ClassVar = {
        DuplicateKeyError: (errors.UniqueViolation,),
        RefusedError: (
            psycopg.DataError,
            psycopg.IntegrityError,
            psycopg.NotSupportedError,
            orjson.JSONEncodeError,
            # Too many columns, or too large for a row, an index or a statement.
            *(errors.ProgramLimitExceeded, errors.TooManyColumns, errors.StatementTooComplex),
        ),
        UnreachableError: (
            psycopg.OperationalError,
            psycopg.InterfaceError,
            errors.InsufficientPrivilege,
        ),
    }
    # The position's round trip, a poll, and the sleep before it.
    wait_resolution_ns = 400_000.0

    def __init__(self, deployment: Deployment, options: Options) -> None:
        self._schemas: dict[str, Schema] = {}
        super().__init__(deployment, options)

    def position(self) -> int:
        """Return the end of the log on the disk.

        Where a commit does not wait for the disk, return the end of the log in memory.
        """
        return find_record_end(self._read_number(self._log_end_query))

    def describe_error(self, error: Exception) -> str:
        """Return the server's message without its advice on dropping what others made."""
        return super().describe_error(error).partition(" HINT: ")[0]

    def _await_replica(self, position: int, deadline_s: float) -> bool:
        return self._replay.wait_for(position, deadline_s)

    def _connect(self) -> None:
        super()._connect()
        statement = _DURABILITY_STATEMENTS[self.options.durability]
        if statement:
            self._cursor.execute(statement)
        # The end of the log, in bytes: on the disk, or in memory if a commit does not wait for it.
        row = self._cursor.execute("SHOW synchronous_commit").fetchone()
        self._log_end_query = b"SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')"
        if row == ("off",):
            self._log_end_query = b"SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"
        if self.is_replicated:
            self._replay = _WalReplay(self._open_session(self.deployment.node("replica")))

    def _open_session(self, node: Node) -> Connection:
        """Return a connection in the deployment's schema, in UTC, with orjson for JSON."""
        connection = self._close_at_end(connect(node.url))
        connection.execute(f"SET search_path = {self.deployment.database}")
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET client_min_messages = warning")
        set_json_dumps(orjson.dumps, connection)
        set_json_loads(orjson.loads, connection)
        return connection

    def _prepare_stores(self, schemas: Sequence[Schema]) -> None:
        """Make the schema anew; reconnect when a table comes back with other columns.

        Prepared statements keep the former columns.
        """
        if any(self._schemas.get(schema.name, schema) != schema for schema in schemas):
            self.close()
            self._connect()
        self._schemas |= {schema.name: schema for schema in schemas}
        super()._prepare_stores(schemas)

    def _checkpoint(self) -> None:
        for cursor in self._cursors.values():
            cursor.execute("CHECKPOINT")

    def _list_receive_counters(self) -> list[Meter]:
        """Return the bytes of the log that the primary has sent to the replica."""
        query = (
            b"SELECT pg_wal_lsn_diff(max(sent_lsn), '0/0') FROM pg_stat_replication "
            b"WHERE state = 'streaming'"
        )

        def read() -> float:
            return float(self._read_number(query))

        source = "pg_stat_replication.sent_lsn of the primary"
        return [Meter("bytes_received", "replica", "B", source, 1.0, read)]

    def _transaction(self) -> AbstractContextManager[object]:
        transaction: AbstractContextManager[object] = self._sessions["primary"].transaction()
        return transaction

    def _read_number(self, query: bytes) -> int:
        row = self._cursor.execute(query).fetchone()
        if row is None or row[0] is None:
            raise AdapterError(f"{self.location}: no replica is streaming from it")
        return int(row[0])


class PostgreSQLDocumentTable(DocumentTable):
    """A table of JSONB documents, which psycopg encodes and decodes.

    `PostgreSQLAdapter._open_session` sets the functions that it uses.
    """

    column_types = ("text", "jsonb")
    merge_expression = "doc || %s"
    quote = staticmethod(quote_name)
    encode_document = staticmethod(Jsonb)

    @override
    @staticmethod
    def decode_documents(rows: Sequence[Row]) -> list[Document]:
        return [document for (document,) in rows]

    @override
    def extract_field(self, field: str) -> str:
        return f"doc->>{sql.Literal(field.replace('%', '%%')).as_string()}"

    @override
    def build_index(self, field: str) -> str:
        return f"CREATE INDEX ON {self.name} (({self.extract_field(field)}))"


class PostgreSQLDocuments(PostgreSQLAdapter):
    """A record is a document."""

    name = "postgresql+jsonb"
    model = "document"
    make_table = PostgreSQLDocumentTable
    limitations: Mapping[str, str] = {
        "constraints": "a JSONB document has none to leave out",
        "nul_characters": _NO_NUL,
    }


class PostgreSQLRowTable(RowTable):
    """A table of rows."""

    column_types: ClassVar[Mapping[str, str]] = {
        "string": "text",
        "integer": "bigint",
        "float": "double precision",
        "date": "date",
        "datetime": "timestamptz",
        "boolean": "boolean",
        "json": "jsonb",
    }
    encoders: ClassVar[Decoders] = dict.fromkeys(NESTED_TYPES, Jsonb)
    # psycopg has decoded them already.
    decoders: ClassVar[Decoders] = dict.fromkeys(NESTED_TYPES, lambda value: value)
    quote = staticmethod(quote_name)

    @override
    def build_index(self, field: str) -> str:
        return f"CREATE INDEX ON {self.name} ({quote_name(field)})"


class PostgreSQLTables(RelationalAdapter, PostgreSQLAdapter):
    """A record is a row."""

    name = "postgresql+relational"
    make_table = PostgreSQLRowTable
    limitations: Mapping[str, str] = {"nul_characters": _NO_NUL}
