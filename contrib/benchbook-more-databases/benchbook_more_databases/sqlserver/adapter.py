"""SQL Server through pymssql: a table with a typed column per field, in a schema of its own.

Texts compare as in the papers' other databases, by code point (SQL Server's default ignores case).
A text that is a key, refers to one or has an index holds 450 characters, the most that an index
takes; other texts have no limit.

Durability is the database's delayed durability: ``default`` leaves it (normally disabled: a commit
waits for the log), ``relaxed`` forces it, ``strict`` disables it. The setting is restored when the
adapter is closed. A pair is an availability group with asynchronous commit, whose secondary can be
read; its log's positions are those of the last commit.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import ClassVar, Final

import pymssql
from typing_extensions import override

from benchbook.databases.adapter import (
    Decoders,
    DuplicateKeyError,
    Options,
    RefusedError,
    UnreachableError,
)
from benchbook.databases.server_adapter import PollingAdapter
from benchbook.databases.sql import Cursor, RelationalAdapter, Row, RowTable
from benchbook.measure import Meter
from benchbook.schema import Field, Schema
from benchbook.servers.deployment import DATABASE_NAME, Node, Role
from benchbook_more_databases.sqlserver.server import connect, read_error

_BINARY_COLLATION: Final = "COLLATE Latin1_General_100_BIN2"
_KEY_TYPE: Final = f"nvarchar(450) {_BINARY_COLLATION}"


def strip_time_zone(value: object) -> object:
    """Return a moment without its time zone, which is UTC."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def quote_name(name: str) -> str:
    """Return a name in brackets, with a full-width ``%``.

    The driver takes ``%s`` for a placeholder, doubled or not.
    """
    return "[" + name.replace("]", "]]").replace("%", "\N{FULLWIDTH PERCENT SIGN}") + "]"


class SQLServerTable(RowTable):
    """A table of rows."""

    column_types: ClassVar[Mapping[str, str]] = {
        "string": f"nvarchar(max) {_BINARY_COLLATION}",
        "integer": "bigint",
        "float": "float(53)",
        "date": "date",
        "datetime": "datetime2(3)",
        "boolean": "bit",
        "json": f"nvarchar(max) {_BINARY_COLLATION}",
    }
    encoders: ClassVar[Decoders] = {"datetime": strip_time_zone}
    decoders: ClassVar[Decoders] = {"datetime": lambda moment: moment.replace(tzinfo=UTC)}
    quote = staticmethod(quote_name)

    def __init__(self, schema: Schema, options: Options, database: str = DATABASE_NAME) -> None:
        self._database = database
        super().__init__(schema, options)

    @override
    def qualify(self, table: str) -> str:
        return f"{self._database}.{quote_name(table)}"

    def choose_type(self, field: Field) -> str:
        """Return a column's type: a text that is indexed has a limit."""
        is_indexed = field.name in (*self.keys, *self.options.index)
        if field.type == "string" and is_indexed:
            return _KEY_TYPE
        return super().choose_type(field)

    @override
    def build_index(self, field: str) -> str:
        index = quote_name(f"{self.schema.name} by {field}")
        return f"CREATE INDEX {index} ON {self.name} ({quote_name(field)})"


LAST_COMMIT_QUERY: Final = """
SELECT CAST(last_commit_lsn AS decimal(25, 0)) FROM sys.dm_hadr_database_replica_states
WHERE is_local = 1 AND database_id = DB_ID()
"""
"""On either node: the position of its last commit, made or redone."""

RECEIVED_BYTES_QUERY: Final = """
SELECT SUM(cntr_value) FROM sys.dm_os_performance_counters
WHERE object_name LIKE N'%Availability Replica%'
  AND counter_name = N'Bytes Received from Replica/sec' AND instance_name <> N'_Total'
"""
"""A counter named after a rate, which only grows, as such counters do."""

FOREIGN_KEYS_QUERY: Final = """
SELECT OBJECT_NAME(parent_object_id), name FROM sys.foreign_keys WHERE schema_id = SCHEMA_ID(N'{}')
"""
"""In a schema: the table that has a key, and the key's name."""

TABLES_QUERY: Final = "SELECT name FROM sys.tables WHERE schema_id = SCHEMA_ID(N'{}')"
"""In a schema: the tables."""


def _fetch_number(cursor: Cursor, query: str) -> int:
    """Return the whole number that a query answers; 0 for nothing."""
    cursor.execute(query)
    row = cursor.fetchone()
    return int(row[0] or 0) if row else 0


class SQLServer(PollingAdapter[pymssql.Connection], RelationalAdapter):
    """A record is a row; values are put into statements by the driver, as it does."""

    name = "sqlserver+relational"
    product = "sqlserver"
    title = "SQL Server"
    databases_query = "SELECT name FROM sys.schemas"
    make_statement = "IF SCHEMA_ID(N'{0}') IS NULL EXEC(N'CREATE SCHEMA {0}')"
    drop_statement = "DROP SCHEMA IF EXISTS {}"
    grant = "GRANT CREATE SCHEMA, CREATE TABLE TO"
    driver = f"pymssql {version('pymssql')}"
    poll_s = 0.0005
    driver_errors = (pymssql.Error,)
    error_types: ClassVar = {
        DuplicateKeyError: (2601, 2627),
        RefusedError: (241, 515, 547, 2628, 8114, 8152, pymssql.DataError),
        UnreachableError: (18456, 20002, 20003, 20004, 20006, 20009, 20047, pymssql.InterfaceError),
    }
    limitations: Mapping[str, str] = {
        "nul_characters": ("pymssql puts values into the statement's text, which ends at U+0000"),
        "trailing_blanks": "SQL Server compares texts without the blanks at their end",
    }

    server_settings: ClassVar = {
        "relaxed": ("FORCED",),
        "strict": ("DISABLED",),
    }

    def read_error_code(self, error: Exception) -> int | str | None:
        """Return SQL Server's or FreeTDS's number."""
        return read_error(error)[0]

    def describe_error(self, error: Exception) -> str:
        """Return the message of FreeTDS or the server in one line."""
        return " ".join(read_error(error)[1].split())

    @override
    def drop_database(self, name: str) -> None:
        """Drop foreign keys, then tables, then the schema: SQL Server takes no other order."""
        for table, constraint in self._fetch_rows(FOREIGN_KEYS_QUERY.format(name)):
            self._execute(
                f"ALTER TABLE {name}.{quote_name(table)} DROP CONSTRAINT {quote_name(constraint)}"
            )
        for (table,) in self._fetch_rows(TABLES_QUERY.format(name)):
            self._execute(f"DROP TABLE {name}.{quote_name(table)}")
        super().drop_database(name)

    def _read_server_settings(self) -> Row:
        rows = self._fetch_rows(
            "SELECT delayed_durability_desc FROM sys.databases WHERE database_id = DB_ID()"
        )
        return tuple(rows[0]) if rows else ()

    def _set_server_settings(self, values: Row) -> None:
        if values != self._read_server_settings():
            self._execute(f"ALTER DATABASE CURRENT SET DELAYED_DURABILITY = {values[0]}")

    def _connect(self) -> None:
        super()._connect()
        self.make_table = partial(SQLServerTable, database=self.deployment.database)

    def _open_session(self, node: Node) -> pymssql.Connection:
        connection = connect(
            node.url, read_only=node.role == "replica", autocommit=True, use_datetime2=True
        )
        return self._close_at_end(connection)

    def _checkpoint(self) -> None:
        self._execute("CHECKPOINT")

    def _read_position(self, role: Role) -> int:
        """Return the log sequence number of the node's last commit."""
        return _fetch_number(self._cursors[role], LAST_COMMIT_QUERY)

    def _list_receive_counters(self) -> list[Meter]:
        def read() -> float:
            return float(_fetch_number(self._cursors["replica"], RECEIVED_BYTES_QUERY))

        source = "sys.dm_os_performance_counters, Bytes Received from Replica/sec, of the secondary"
        return [Meter("bytes_received", "replica", "B", source, 1.0, read)]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._cursor.execute("BEGIN TRANSACTION")
        try:
            yield
            self._cursor.execute("COMMIT TRANSACTION")
        except pymssql.Error:
            self._cursor.execute("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION")
            raise
