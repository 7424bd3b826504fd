"""SQL Server through pymssql: a table with a typed column for each field, in the schema ``benchbook``.

Texts compare as the papers' other engines compare them, by code point (SQL Server's default ignores case). A text that
is a key, refers to one or has an index holds 450 characters, as much as an index takes; another's length is free.

Durability is the database's delayed durability: ``default`` leaves it (normally disabled: a commit waits for the log),
``relaxed`` forces it, ``strict`` disables it. A pair is an availability group with asynchronous commit, whose secondary
can be read; its log's positions are those of the last commit.
"""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, ClassVar, Final

import pymssql

from benchbook.datasets import Dataset, Schema
from benchbook.deployment import Deployment, Role
from benchbook.engines import sqlserver_errors
from benchbook.engines import sqlserver_log as log
from benchbook.engines import sqlserver_tables as tables
from benchbook.engines.base import Counter, Engine, Options, Record, told
from benchbook.engines.errors import EngineError
from benchbook.engines.question import Question

_DURABILITY: Final = {"relaxed": "FORCED", "strict": "DISABLED"}
_POLL_S: Final = 0.0005


class SQLServer(Engine):
    """A record is a row; values are put into statements by the driver, as it does."""

    name = "sqlserver+relational"
    product = "sqlserver"
    model = "relational"
    driver = f"pymssql {version('pymssql')}"
    raises: ClassVar[tuple[type[Exception], ...]] = (pymssql.Error,)
    untested = "all of it (its SQL is parsed as T-SQL, no more)"
    lacks: ClassVar[Mapping[str, str]] = {
        "nul_characters": "pymssql puts values into the statement's text, which ends at U+0000",
        "trailing_blanks": "SQL Server compares texts without the blanks at their end",
    }

    def __init__(self, deployment: Deployment, options: Options) -> None:
        super().__init__(deployment, options)
        self._cursors: dict[Role, Any] = {}
        self._connect()

    @told
    def create(self, schema: Schema, *, parents: Sequence[Dataset] = ()) -> None:
        """Create the table after its parents', fill those, and checkpoint."""
        for name in (schema.name, *(parent.schema.name for parent in parents)):
            self._run(tables.dropped(name))
        for parent in parents:
            self._begin(parent.schema)
            self.insert_many(parent.records)
        self._begin(schema)
        for field in schema.fields:
            if field.name in self.options.index:
                self._run(tables.index(schema.name, field.name))
        self._run("CHECKPOINT")
        self._follow()

    @told
    def insert(self, record: Record) -> None:
        """Insert one row."""
        self._run(self._table.insert, self._table.values(record))

    @told
    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert rows in one transaction: all or none."""
        with tables.transaction(self._cursor):
            self._cursor.executemany(self._table.insert, [self._table.values(record) for record in records])

    @told
    def find(self, field: str, value: Any) -> Sequence[Record]:
        """Return the rows found."""
        self._cursor.execute(self._table.find(field), (tables.encoded(value),))
        return self._table.records(self._cursor.fetchall())

    @told
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return the node's rows."""
        self._cursors[role].execute(self._table.select)
        return self._table.records(self._cursors[role].fetchall())

    @told
    def update(self, key: str, changes: Record) -> None:
        """Set columns of one row."""
        values = (*map(tables.encoded, changes.values()), key)
        self._one(self._run(self._table.update(changes) + self._table.by_key, values), key)

    @told
    def update_all(self, changes: Record) -> int:
        """Set columns of all rows."""
        return self._run(self._table.update(changes), tuple(map(tables.encoded, changes.values())))

    @told
    def delete(self, key: str) -> None:
        """Delete one row."""
        self._one(self._run(self._table.delete + self._table.by_key, (key,)), key)

    @told
    def delete_all(self) -> int:
        """Delete all rows with one DELETE: no TRUNCATE."""
        return self._run(self._table.delete)

    @told
    def ids(self) -> list[str]:
        """Return all keys."""
        self._cursor.execute(self._table.keys)
        return [key for (key,) in self._cursor.fetchall()]

    @told
    def position(self) -> int:
        """Return the log sequence number of the primary's last commit."""
        return log.committed(self._cursor) if self.replicated else 0

    @told
    def counters(self, role: Role) -> list[Counter]:
        """Return the bytes that the secondary has received of the log."""
        counter = Counter("bytes_received", lambda: log.received(self._cursors["replica"]), log.COUNTER, 1.0)
        return [counter] if role == "replica" and self.replicated else []

    def close(self) -> None:
        """Close all connections."""
        for cursor in self._cursors.values():
            cursor.connection.close()

    def kind(self, error: Exception) -> type[EngineError]:
        """Tell by SQL Server's or FreeTDS's number."""
        return sqlserver_errors.kind(error)

    def text(self, error: Exception) -> str:
        """Return what FreeTDS or the server said, in one line."""
        return " ".join(sqlserver_errors.told(error)[1].split())[:500]

    @told
    def _reached(self, position: int, deadline_s: float) -> bool:
        reached = self._replica.until(lambda committed: committed >= position, deadline_s, _POLL_S)
        self.wait_resolution_ns = self._replica.resolution_ns
        return reached

    @told
    def _connect(self) -> None:
        try:
            for node in self.deployment.nodes:
                self._cursors[node.role] = tables.cursor(node.url, read_only=node.role == "replica")
        except BaseException:
            self.close()
            raise
        self._cursor = self._cursors["primary"]
        self._replica = Question(lambda: log.committed(self._cursors["replica"]))
        self._run(tables.PREPARE)
        if setting := _DURABILITY.get(self.options.durability):
            self._run(f"ALTER DATABASE CURRENT SET DELAYED_DURABILITY = {setting}")

    def _begin(self, schema: Schema) -> None:
        """Create a table and make it the current one."""
        self._table = tables.Table(schema, self.options)
        self._run(self._table.create)

    def _run(self, statement: str, values: tuple[Any, ...] | None = None) -> int:
        """Execute a statement and return how many rows it reached."""
        self._cursor.execute(statement, values)
        return int(self._cursor.rowcount)
