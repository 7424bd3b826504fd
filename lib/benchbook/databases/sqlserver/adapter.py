"""SQL Server through pymssql: a table with a typed column for each field, in a schema of its own.

Texts compare as the papers' other databases compare them, by code point (SQL Server's default ignores case). A text
that is a key, refers to one or has an index holds 450 characters, as much as an index takes; another's length is
free.

Durability is the database's delayed durability: ``default`` leaves it (normally disabled: a commit waits for the log),
``relaxed`` forces it, ``strict`` disables it; what was set before comes back when the database is closed. A pair is an
availability group with asynchronous commit, whose secondary can be read; its log's positions are those of the last
commit.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import ClassVar, Final

import pymssql
from typing_extensions import override

from benchbook.databases.adapter import Decoders, DuplicateKeyError, Options, RefusedError, UnreachableError
from benchbook.databases.connected import Polled
from benchbook.databases.sql import Cursor, Relational, Row, RowTable
from benchbook.databases.sqlserver.server import connect, numbered
from benchbook.deployment import DATABASE, Node, Role
from benchbook.measure import Meter
from benchbook.schemas import Field, Record, Schema

_BINARY: Final = "COLLATE Latin1_General_100_BIN2"
_KEY_LENGTH: Final = 450
_KEY: Final = f"nvarchar({_KEY_LENGTH}) {_BINARY}"


def encoded(value: object) -> object:
    """Return a moment without its zone, which is UTC."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def quoted(name: str) -> str:
    """Return a name in brackets, with a full-width ``%``: the driver takes ``%s`` for a placeholder, doubled or not."""
    return "[" + name.replace("]", "]]").replace("%", "\N{FULLWIDTH PERCENT SIGN}") + "]"


class Table(RowTable):
    """A table of rows."""

    types: ClassVar[Mapping[str, str]] = {
        "string": f"nvarchar(max) {_BINARY}",
        "integer": "bigint",
        "float": "float(53)",
        "date": "date",
        "datetime": "datetime2(3)",
        "boolean": "bit",
        "json": f"nvarchar(max) {_BINARY}",
    }
    sent: ClassVar[Decoders] = {"datetime": encoded}
    received: ClassVar[Decoders] = {"datetime": lambda moment: moment.replace(tzinfo=UTC)}
    quoted = staticmethod(quoted)

    def __init__(self, schema: Schema, options: Options, database: str = DATABASE) -> None:
        self._database = database
        super().__init__(schema, options)

    @override
    def placed(self, table: str) -> str:
        return f"{self._database}.{quoted(table)}"

    def kind(self, field: Field) -> str:
        """Return a column's type: a text that is indexed has a limit."""
        short = field.type == "string" and field.name in (*self.keys, *self.options.index)
        return _KEY if short else super().kind(field)

    @override
    def index(self, field: str) -> str:
        return f"CREATE INDEX {quoted(f'{self.schema.name} by {field}')} ON {self.name} ({quoted(field)})"


COMMITTED: Final = """
SELECT CAST(last_commit_lsn AS decimal(25, 0)) FROM sys.dm_hadr_database_replica_states
WHERE is_local = 1 AND database_id = DB_ID()
"""
"""On either node: where its last commit, made or redone, stands."""

RECEIVED: Final = """
SELECT SUM(cntr_value) FROM sys.dm_os_performance_counters
WHERE object_name LIKE N'%Availability Replica%' AND counter_name = N'Bytes Received from Replica/sec'
  AND instance_name <> N'_Total'
"""
"""A counter named after a rate that only grows, as such counters do."""

_COUNTER: Final = "sys.dm_os_performance_counters, Bytes Received from Replica/sec, of the secondary"


def _number(cursor: Cursor, query: str) -> int:
    """Return the whole number that a query answers; 0 for nothing."""
    cursor.execute(query)
    row = cursor.fetchone()
    return int(row[0] or 0) if row else 0


FOREIGN_KEYS: Final = """
SELECT OBJECT_NAME(parent_object_id), name FROM sys.foreign_keys WHERE schema_id = SCHEMA_ID(N'{}')
"""
"""In a schema: the table that has one, and the key's name."""

TABLES: Final = "SELECT name FROM sys.tables WHERE schema_id = SCHEMA_ID(N'{}')"
"""In a schema."""


class SQLServer(Polled[pymssql.Connection], Relational):
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
    raises = (pymssql.Error,)
    kinds: ClassVar = {
        DuplicateKeyError: (2601, 2627),
        RefusedError: (241, 515, 547, 2628, 8114, 8152, pymssql.DataError),
        UnreachableError: (18456, 20002, 20003, 20004, 20006, 20009, 20047, pymssql.InterfaceError),
    }
    lacks: ClassVar[Mapping[str, str]] = {
        "nul_characters": "pymssql puts values into the statement's text, which ends at U+0000",
        "trailing_blanks": "SQL Server compares texts without the blanks at their end",
    }

    columns = 1_024
    apart = "SQL Server tells columns apart without regard to case"
    refused_names: ClassVar = {
        lacks["nul_characters"]: lambda name: "\0" in name,
        "SQL Server's names have 128 characters at most": lambda name: len(name) > 128,
    }
    server_settings: ClassVar = {
        "relaxed": ("FORCED",),
        "strict": ("DISABLED",),
    }

    @staticmethod
    def folded(name: str) -> str:
        """Return a column's name without regard to case."""
        return quoted(name).casefold()

    @override
    @classmethod
    def unfit_record(cls, record: Record, gaps: Mapping[str, str]) -> str:
        if len(record["_id"]) > _KEY_LENGTH:
            return f"a key of {len(record['_id']):,} characters: SQL Server's index takes {_KEY_LENGTH}"
        return super().unfit_record(record, gaps)

    def code(self, error: Exception) -> int | str | None:
        """Return SQL Server's or FreeTDS's number."""
        return numbered(error)[0]

    def text(self, error: Exception) -> str:
        """Return what FreeTDS or the server said, in one line."""
        return " ".join(numbered(error)[1].split())

    @override
    def drop_database(self, name: str) -> None:
        """Drop foreign keys, then tables, then the schema: SQL Server takes no other order."""
        for table, constraint in self._rows(FOREIGN_KEYS.format(name)):
            self._run(f"ALTER TABLE {name}.{quoted(table)} DROP CONSTRAINT {quoted(constraint)}")
        for (table,) in self._rows(TABLES.format(name)):
            self._run(f"DROP TABLE {name}.{quoted(table)}")
        super().drop_database(name)

    def _server_setting(self) -> Row:
        rows = self._rows("SELECT delayed_durability_desc FROM sys.databases WHERE database_id = DB_ID()")
        return tuple(rows[0]) if rows else ()

    def _set_server(self, values: Row) -> None:
        if values != self._server_setting():
            self._run(f"ALTER DATABASE CURRENT SET DELAYED_DURABILITY = {values[0]}")

    def _connect(self) -> None:
        super()._connect()
        self.table = partial(Table, database=self.deployment.database)

    def _session(self, node: Node) -> pymssql.Connection:
        connection = connect(node.url, read_only=node.role == "replica", autocommit=True, use_datetime2=True)
        return self._kept(connection)

    def _checkpoint(self) -> None:
        self._run("CHECKPOINT")

    def _position_of(self, role: Role) -> int:
        """Return the log sequence number of the node's last commit."""
        return _number(self._cursors[role], COMMITTED)

    def _received(self) -> list[Meter]:
        def read() -> float:
            return float(_number(self._cursors["replica"], RECEIVED))

        return [Meter("bytes_received", "replica", "B", _COUNTER, 1.0, read)]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._cursor.execute("BEGIN TRANSACTION")
        try:
            yield
            self._cursor.execute("COMMIT TRANSACTION")
        except pymssql.Error:
            self._cursor.execute("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION")
            raise
