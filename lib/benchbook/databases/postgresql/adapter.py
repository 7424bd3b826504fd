"""PostgreSQL through psycopg 3, documents and tables, in a schema: one autocommit a statement.

Statements are prepared as psycopg does by itself: on the server, from a statement's sixth execution on. Durability
is ``synchronous_commit``: ``default`` leaves the server's (normally on: a commit waits for the disk), ``relaxed`` turns
it off, ``strict`` turns it on.

Its log ends where the primary's last write does, and a replica on a connection of its own is asked how far it is.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
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
from benchbook.databases.sql import SQL, DocumentTable, Relational, Row, RowTable
from benchbook.deployment import Deployment, Node
from benchbook.measure import Meter
from benchbook.schemas import NESTED, Document, Record, Schema


def _quoted(name: str) -> str:
    """Return a name as SQL, its ``%`` doubled: psycopg takes one for a placeholder."""
    return sql.Identifier(name.replace("%", "%%")).as_string()


# Each asks for a position in the log, in bytes: where the primary's log ends, on the disk and in memory; how much of it
# the primary has sent to its replica; and how much of it the replica has applied.
_FLUSHED: Final = b"SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')"
_INSERTED: Final = b"SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"
_SENT: Final = b"SELECT pg_wal_lsn_diff(max(sent_lsn), '0/0') FROM pg_stat_replication WHERE state = 'streaming'"
_REPLAYED: Final = b"SELECT pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')"

_POLL_S: Final = 0.0001
_PAGE: Final = 8192
_HEADERS: Final = (24, 40)  # of a page, and of a file's first page


def record_end(position: int) -> int:
    """Return the end of the last record before an insert position, which at a page's start lies behind its header."""
    offset = position % _PAGE
    return position - offset if offset in _HEADERS else position


class _Replay:
    """Watches how far a replica has applied the log, on a connection of its own, and gives up when it must.

    A query is sent and its answer awaited by hand, for psycopg's calls know no deadline. An answer that came too late
    is read by the next wait: the position only grows, so it is still true.
    """

    def __init__(self, connection: Connection) -> None:
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
            self._link.send_query(_REPLAYED)
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


_NO_NUL: Final = "PostgreSQL's text holds no U+0000"
_KEY_B: Final = 2_692
"""Bytes of the longest key that an index takes as it is."""

_SET: Final = {"default": "", "relaxed": "SET synchronous_commit = off", "strict": "SET synchronous_commit = on"}


class PostgreSQL(SQL):
    """Connections and log positions; a model adds the table."""

    product = "postgresql"
    title = "PostgreSQL"
    databases_query = "SELECT nspname FROM pg_namespace"
    make_statement = "CREATE SCHEMA IF NOT EXISTS {}"
    drop_statement = "DROP SCHEMA IF EXISTS {} CASCADE"
    grant = "GRANT CREATE ON DATABASE"
    driver = f"psycopg {psycopg.__version__}"
    raises = (psycopg.Error, orjson.JSONEncodeError)
    kinds: ClassVar = {
        DuplicateKeyError: (errors.UniqueViolation,),
        RefusedError: (psycopg.DataError, psycopg.IntegrityError, psycopg.NotSupportedError, orjson.JSONEncodeError),
        UnreachableError: (psycopg.OperationalError, psycopg.InterfaceError, errors.InsufficientPrivilege),
    }
    refused_names: ClassVar = {_NO_NUL: lambda name: "\0" in name}
    refused_inside: ClassVar = refused_names
    wait_resolution_ns = 400_000.0  # the position's round trip, a poll, and the sleep before it

    def __init__(self, deployment: Deployment, options: Options) -> None:
        self._schemas: dict[str, Schema] = {}
        super().__init__(deployment, options)

    @override
    @classmethod
    def unfit_record(cls, record: Record, gaps: Mapping[str, str]) -> str:
        if (size := len(record["_id"].encode())) > _KEY_B:
            return f"a key of {size:,} bytes: PostgreSQL's index takes {_KEY_B:,} of any text"
        return super().unfit_record(record, gaps)

    def position(self) -> int:
        """Return the end of the log that is flushed, or inserted where a commit does not wait for the disk."""
        return record_end(self._number(self._log_end))

    def text(self, error: Exception) -> str:
        """Return what the server said, without its advice on dropping what others made."""
        return super().text(error).partition(" HINT: ")[0]

    def _reached(self, position: int, deadline_s: float) -> bool:
        return self._replay.reaches(position, deadline_s)

    def _connect(self) -> None:
        super()._connect()
        if setting := _SET[self.options.durability]:
            self._cursor.execute(setting)
        waits = self._cursor.execute("SHOW synchronous_commit").fetchone() != ("off",)
        self._log_end = _FLUSHED if waits else _INSERTED
        if self.replicated:
            self._replay = _Replay(self._session(self.deployment.node("replica")))

    def _session(self, node: Node) -> Connection:
        """Return a connection in the deployment's schema, UTC, and orjson for JSON."""
        connection = self._kept(connect(node.url))
        connection.execute(f"SET search_path = {self.deployment.database}")
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET client_min_messages = warning")
        set_json_dumps(orjson.dumps, connection)
        set_json_loads(orjson.loads, connection)
        return connection

    def _prepare(self, schemas: Sequence[Schema]) -> None:
        """Make the schema anew; when a table returns with other columns, reconnect.

        Prepared statements keep to the former columns.
        """
        if any(self._schemas.get(schema.name, schema) != schema for schema in schemas):
            self.close()
            self._connect()
        self._schemas |= {schema.name: schema for schema in schemas}
        super()._prepare(schemas)

    def _checkpoint(self) -> None:
        for cursor in self._cursors.values():
            cursor.execute("CHECKPOINT")

    def _received(self) -> list[Meter]:
        """Return the bytes of the log that the primary has sent to the replica."""
        source = "pg_stat_replication.sent_lsn of the primary"
        return [Meter("bytes_received", "replica", "B", source, 1.0, lambda: float(self._number(_SENT)))]

    def _transaction(self) -> AbstractContextManager[object]:
        transaction: AbstractContextManager[object] = self._sessions["primary"].transaction()
        return transaction

    def _number(self, query: bytes) -> int:
        row = self._cursor.execute(query).fetchone()
        if row is None or row[0] is None:
            raise AdapterError(f"{self.where}: no replica is streaming from it")
        return int(row[0])


class _JsonbTable(DocumentTable):
    """A table of JSONB documents, which psycopg encodes and decodes as it is told (see `PostgreSQL._session`)."""

    types = ("text", "jsonb")
    merged = "doc || %s"
    quoted = staticmethod(_quoted)
    encoded = staticmethod(Jsonb)

    @staticmethod
    def decoded(rows: Sequence[Row]) -> list[Document]:
        return [document for (document,) in rows]

    def extracted(self, field: str) -> str:
        return f"doc->>{sql.Literal(field.replace('%', '%%')).as_string()}"

    def index(self, field: str) -> str:
        return f"CREATE INDEX ON {self.name} (({self.extracted(field)}))"


class PostgreSQLDocuments(PostgreSQL):
    """A record is a document."""

    name = "postgresql+jsonb"
    model = "document"
    table = _JsonbTable
    lacks: ClassVar[Mapping[str, str]] = {
        "constraints": "a JSONB document has none to leave out",
        "nul_characters": _NO_NUL,
    }


def _as_it_is(value: object) -> object:
    """Return what psycopg has decoded."""
    return value


class _RowTable(RowTable):
    """A table of rows."""

    types: ClassVar[Mapping[str, str]] = {
        "string": "text",
        "integer": "bigint",
        "float": "double precision",
        "date": "date",
        "datetime": "timestamptz",
        "boolean": "boolean",
        "json": "jsonb",
    }
    sent: ClassVar[Decoders] = dict.fromkeys(NESTED, Jsonb)
    received: ClassVar[Decoders] = dict.fromkeys(NESTED, _as_it_is)
    quoted = staticmethod(_quoted)

    def index(self, field: str) -> str:
        return f"CREATE INDEX ON {self.name} ({_quoted(field)})"


_SYSTEM: Final = ("tableoid", "xmin", "cmin", "xmax", "cmax", "ctid")
_NAME_B: Final = 63
_ROW_B: Final = 8_160 - 24
"""What a page takes of a row, without the row's header."""
_VALUE_B: Final = 24
"""What a value takes of it at most: a long text is compressed or lies elsewhere."""


def _row_size(values: Iterable[object]) -> int:
    """Return the bytes that a row takes on its page, when all of its texts are as short there as they get."""
    size = 0
    for value in values:
        if isinstance(value, dict | list):
            size += _VALUE_B
        elif isinstance(value, str):
            size += min(1 + len(value.encode()), _VALUE_B)
        elif isinstance(value, bool):
            size += 1
        else:
            # A date takes 4 of them.
            size += -size % 8 + 8
    return size


class PostgreSQLTables(Relational, PostgreSQL):
    """A record is a row."""

    name = "postgresql+relational"
    table = _RowTable
    columns = 1_600
    apart = f"PostgreSQL tells columns apart by the first {_NAME_B} bytes of their names"
    refused_names: ClassVar = {
        **PostgreSQL.refused_names,
        "every table of PostgreSQL's has such a column": lambda name: name in _SYSTEM,
    }
    lacks: ClassVar[Mapping[str, str]] = {"nul_characters": _NO_NUL}

    @staticmethod
    def folded(name: str) -> str:
        """Return as much of a column's name as PostgreSQL keeps."""
        return name.encode()[:_NAME_B].decode(errors="ignore")

    @override
    @classmethod
    def unfit_record(cls, record: Record, gaps: Mapping[str, str]) -> str:
        if len(record) * _VALUE_B > _ROW_B and (size := _row_size(record.values())) > _ROW_B:
            return f"{len(record)} values, a row of {size:,} bytes or so: PostgreSQL's pages take one of {_ROW_B:,}"
        return super().unfit_record(record, gaps)
