"""SQL databases through their drivers' DB-API cursors: every verb is a statement that the current table has ready."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from benchbook.datasets import Schema
from benchbook.deployment import Role
from benchbook.engines.base import Record
from benchbook.engines.connected import Connected
from benchbook.engines.sql_documents import Documents
from benchbook.engines.sql_rows import Rows
from benchbook.engines.told import told


class SQL(Connected):
    """Each statement is a transaction of its own, but for bulk inserts, which are one: all or none.

    A product adds its sessions and its log, a model of it the table.

    Attributes
    ----------
    table
        What a schema is made into.
    """

    table: ClassVar[type[Rows] | type[Documents]]

    _cursors: Mapping[Role, Any]
    _cursor: Any  # the primary's

    @told
    def insert(self, record: Record) -> None:
        """Insert one row."""
        self._cursor.execute(self._insert, self._values(record))

    @told
    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert rows in one transaction, as the driver does what is to be executed many times."""
        with self._transaction():
            self._cursor.executemany(self._insert, [self._values(record) for record in records])

    @told
    def find(self, field: str, value: Any) -> Sequence[Record]:
        """Return the rows found."""
        current, cursor = self._current, self._cursor
        cursor.execute(current.find(field), (current.sought(field, value),))
        return current.records(cursor.fetchall())

    @told
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return the node's rows."""
        return self._current.records(self._rows(self._current.select, role=role))

    @told
    def update(self, key: str, changes: Record) -> None:
        """Change one row."""
        current = self._current
        self._one(self._run(current.update(changes), (*current.changed(changes), key)), key)

    @told
    def update_all(self, changes: Record) -> int:
        """Change all rows with one UPDATE."""
        return self._run(self._current.update_all(changes), self._current.changed(changes))

    @told
    def delete(self, key: str) -> None:
        """Delete one row."""
        self._one(self._run(self._current.delete, (key,)), key)

    @told
    def delete_all(self) -> int:
        """Delete all rows with one DELETE: no TRUNCATE."""
        return self._run(self._current.delete_all)

    @told
    def ids(self) -> list[str]:
        """Return all keys."""
        return [key for (key,) in self._rows(self._current.ids)]

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[Any]:
        """Make all that is done on the primary one transaction, undone when it fails."""

    @property
    def ending(self) -> str:
        """What a table's creation ends with."""
        return ""

    def _begin(self, schema: Schema) -> None:
        self._current = table = self.table(schema, self.options)
        self._insert, self._values = table.insert, table.values
        self._run(table.create + self.ending)

    def _index(self, field: str) -> None:
        self._run(self._current.index(field))

    def _run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Execute a statement and return how many rows it reached."""
        self._cursor.execute(statement, values)
        count: int = self._cursor.rowcount
        return count

    def _rows(self, query: str, values: Sequence[Any] = (), role: Role = "primary") -> Sequence[tuple[Any, ...]]:
        """Execute a query on a node and return all rows; without values too, doubled ``%`` are single again."""
        cursor = self._cursors[role]
        cursor.execute(query, values)
        rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
        return rows
