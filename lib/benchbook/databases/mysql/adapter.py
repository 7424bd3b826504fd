"""MySQL from 8.0.23 on through PyMySQL, documents and tables: the database ``benchbook``, one autocommit a statement.

PyMySQL is Python throughout and prepares nothing on the server: values are written into the statement. Durability is
set for the whole server, for a session cannot: ``default`` is the product's own (the redo log is flushed at each
commit; the binary log too since MySQL 5.7, not in 5.5 and MariaDB), ``relaxed`` writes the redo log at each commit and
flushes it once a second, the binary log never, ``strict`` flushes both at each commit. What was set before comes back
when the engine is closed. The user needs the right to set that, and to read the replication's status.

Texts compare by code point, blanks at the end included. A key has 191 characters at most, the most that every version
indexes. MySQL knows no checkpoint on demand: `create` flushes the redo log.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Any, ClassVar, Final

import orjson
import pymysql
from pymysql.converters import escape_string

from benchbook.databases.connected import MARKER, Marker, Namespace
from benchbook.databases.engine import (
    PATIENCE_S,
    Counter,
    DuplicateKeyError,
    Durability,
    EngineError,
    RefusedError,
    UnreachableError,
)
from benchbook.databases.mysql.log import (
    KEY,
    MYSQL,
    Connection,
    Log,
    Position,
    Replay,
    connect,
    disconnect,
    limit,
    quoted,
    received,
    transaction,
)
from benchbook.databases.sql import SQL, Documents, Rows
from benchbook.deployment import Role
from benchbook.schemas import Field, Schema

_DUPLICATE: Final = 1062
_UNREACHABLE: Final = {1040, 1044, 1045, 1053, 1129, 1130, 1142, 1227, 1927, 2003, 2006, 2013}
"""No room, no rights, no server."""
_REFUSED: Final = {139, 1118, 1153, 1292, 1366, 3140, 4025}
"""Too large, or not of its column's type."""


def kind(error: Exception) -> type[EngineError]:
    """Tell unreachable servers and refused rows apart."""
    code = error.args[0] if error.args else None
    if code == _DUPLICATE:
        return DuplicateKeyError
    if code in _REFUSED or isinstance(error, pymysql.DataError | pymysql.IntegrityError | orjson.JSONEncodeError):
        return RefusedError
    unreachable = code in _UNREACHABLE or isinstance(error, pymysql.InterfaceError)
    return UnreachableError if unreachable else EngineError


def text(error: Exception) -> str:
    """Return what the server said, with the error's number, in one line."""
    code, *said = error.args or ("",)
    return " ".join(f"{' '.join(map(str, said)) or 'the connection is closed'} ({code})".split())


_FLUSHED: Final[dict[Durability, tuple[Any, Any]]] = {
    "default": ("DEFAULT", "DEFAULT"),
    "relaxed": (2, 0),
    "strict": (1, 1),
}
"""At which commits the redo log is flushed (2: written at each, flushed once a second) and the binary log is."""


class Flushing:
    """Sets a server's durability, for a session has none of its own; a session that died and left its own is no harm.

    Raises
    ------
    pymysql.Error
        When the user may not.
    """

    def __init__(self, connection: Connection, durability: Durability) -> None:
        self._connection = connection
        self._before = flushed(connection)
        flush(connection, *_FLUSHED[durability])

    def restore(self) -> None:
        """Bring back what was set before; a server that is gone, or does not answer, has nothing to get back."""
        limit(self._connection, PATIENCE_S)
        with suppress(pymysql.Error):
            flush(self._connection, *self._before)


def flushed(connection: Connection) -> tuple[Any, Any]:
    """Return when the server flushes its redo log and its binary log."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.sync_binlog")
        ((redo, binary),) = cursor.fetchall()
    return redo, binary


def flush(connection: Connection, redo: Any, binary: Any) -> None:
    """Set when the server flushes them."""
    connection.query(f"SET GLOBAL innodb_flush_log_at_trx_commit = {redo}, GLOBAL sync_binlog = {binary}")


_CONTENTS: Final = " UNION ALL ".join(
    f"SELECT {name} FROM information_schema.{kind} WHERE {schema} = 'benchbook'"
    for kind, name, schema in (
        ("tables", "table_name", "table_schema"),
        ("routines", "routine_name", "routine_schema"),
        ("events", "event_name", "event_schema"),
    )
)
_ABSENT: Final = (1044, 1049, 1142, 1146)
"""No such database, no such table; or none for us."""


class MySQLDatabase(Namespace):
    """Dropped whole only when it is empty: DROP DATABASE would take along whatever is in it."""

    title = "the database benchbook"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def marker(self) -> Marker | None:
        """Return the marker's only row; one that we may not read is not ours."""
        try:
            rows = self._ask(f"SELECT text FROM benchbook.{MARKER}")
        except pymysql.Error as error:
            if error.args and error.args[0] in _ABSENT:
                return None
            raise
        return Marker.from_json(rows[0][0]) if rows else None

    def exists(self) -> bool:
        """Return whether there is such a database."""
        return bool(self._ask("SELECT 1 FROM information_schema.schemata WHERE schema_name = 'benchbook'"))

    def contents(self) -> list[str]:
        """Return its tables, views, routines and events."""
        return [name for (name,) in self._ask(_CONTENTS) if name != MARKER]

    def mark(self, marker: Marker) -> None:
        """Write the only row; the table and, where it is not there, the database are made before."""
        if not self.exists():
            self._ask("CREATE DATABASE benchbook")
        self._ask(
            f"CREATE TABLE IF NOT EXISTS benchbook.{MARKER} (id INT PRIMARY KEY, text LONGTEXT)"
            " ENGINE = InnoDB CHARACTER SET utf8mb4"
        )
        self._ask(f"REPLACE INTO benchbook.{MARKER} VALUES (0, %s)", [marker.to_json()])

    def drop(self, stores: Sequence[str]) -> None:
        """Drop tables, in this order: those that refer before those that are referred to."""
        if stores:
            self._ask(f"DROP TABLE IF EXISTS {', '.join(f'benchbook.{quoted(name)}' for name in stores)}", ())

    def unmark(self, marker: Marker) -> None:
        """Drop the marker, and the database when that was all."""
        self._ask(f"DROP TABLE benchbook.{MARKER}")
        if marker.made and not self.contents():
            self._ask("DROP DATABASE benchbook")

    def before(self) -> dict[str, Any]:
        """Return when the server flushes its logs."""
        return {"flushed": flushed(self._connection)}

    def restore(self, before: Mapping[str, Any]) -> None:
        """Let the server flush its logs as before, if a run that was killed has left it otherwise."""
        if list(flushed(self._connection)) != list(before["flushed"]):
            flush(self._connection, *before["flushed"])

    def _ask(self, statement: str, values: Sequence[Any] | None = None) -> Sequence[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall() or ()


class MySQL(SQL):
    """Connections and log positions; a model adds the table."""

    product = "mysql"
    driver = f"pymysql {'.'.join(str(part) for part in pymysql.VERSION[:3])}"
    raises: ClassVar[tuple[type[Exception], ...]] = (pymysql.Error, orjson.JSONEncodeError)
    wait_resolution_ns = 200_000.0  # the position's round trip and the wait's
    collation: ClassVar[str] = "utf8mb4_0900_bin"
    log: ClassVar[Log] = MYSQL

    @property
    def ending(self) -> str:
        """What says how tables are kept and compared, whatever the database's defaults are."""
        return f" ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE {self.collation}"

    def position(self) -> Position:
        """Return where the primary's binary log ends; empty when it keeps none."""
        return tuple(value for row in self._rows(self.log.end) for value in row[: self.log.width])

    def kind(self, error: Exception) -> type[EngineError]:
        """Tell unreachable servers and refused rows apart."""
        return kind(error)

    def text(self, error: Exception) -> str:
        """Return what the server said, with the error's number."""
        return text(error)

    def _reached(self, position: Position, deadline_s: float) -> bool:
        if not any(position):
            raise EngineError(f"{self.where}: its binary log has no GTIDs to wait for: set gtid_mode = ON")
        return self._replay.reaches(position, deadline_s)

    def _connect(self) -> None:
        if self.replicated:
            replica = partial(connect, self.deployment.node("replica").url)
            self._replay = self._kept(Replay(self.log, replica))
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
        read = partial(received, self.log, self._connections["primary"], self._connections["replica"])
        return [Counter("bytes_received", read, f"{self.log.status}: {self.log.offset} (binary log events)", 1.0)]

    def _transaction(self) -> AbstractContextManager[Any]:
        return transaction(self._connections["primary"])


class JSONTable(Documents):
    """A table of JSON documents, whose texts compare as the database's do."""

    types = (KEY, "JSON")
    merged = "JSON_MERGE_PATCH(doc, %s)"
    collation: ClassVar[str] = MySQL.collation
    quoted = staticmethod(quoted)

    def sought_in(self, field: str) -> str:
        """Return the key's or an indexed field's column, or the expression for a field's text."""
        indexed = field in self.options.index and field in {each.name for each in self.schema.fields}
        return quoted(field) if indexed else super().sought_in(field)

    def extracted(self, field: str) -> str:
        """Return the expression for a field's text."""
        path = escape_string(f"$.{orjson.dumps(field).decode()}").replace("%", "%%")
        return f"JSON_UNQUOTE(JSON_EXTRACT(doc, '{path}')) COLLATE {self.collation}"

    def index(self, field: str) -> str:
        """Return the statement that adds a field's column, indexed."""
        generated = f"{KEY} COLLATE {self.collation} GENERATED ALWAYS AS ({self.extracted(field)}) VIRTUAL"
        return f"ALTER TABLE {self.name} ADD {quoted(field)} {generated}, ADD INDEX ({quoted(field)})"


class MySQLDocuments(MySQL):
    """A record is a document."""

    name = "mysql+json"
    model = "document"
    table = JSONTable
    lacks: ClassVar[Mapping[str, str]] = {"constraints": "a JSON document has none to leave out"}


INDEXES_REFERENCES: Final = "InnoDB indexes a foreign key by itself: asked for or not, that index is there"


class MySQLRows(Rows):
    """A table of rows."""

    types: ClassVar[Mapping[str, str]] = {
        "string": "LONGTEXT",
        "integer": "BIGINT",
        "float": "DOUBLE",
        "date": "DATE",
        "datetime": "DATETIME(3)",
        "boolean": "BOOLEAN",
    }
    quoted = staticmethod(quoted)

    def kind(self, field: Field) -> str:
        """Return a column's type: a key's is short enough to be indexed."""
        return KEY if field.name in self.keys else super().kind(field)

    def index(self, field: str) -> str:
        """Return the statement that indexes a column's beginning."""
        return f"CREATE INDEX {quoted(f'by {field}')} ON {self.name} ({quoted(field)}(191))"


class MySQLTables(MySQL):
    """A record is a row."""

    name = "mysql+relational"
    model = "relational"
    table = MySQLRows
    lacks: ClassVar[Mapping[str, str]] = {"reference_without_index": INDEXES_REFERENCES}
