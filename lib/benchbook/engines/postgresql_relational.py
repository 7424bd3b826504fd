"""PostgreSQL as a relational store: a table with a typed column for each field.

Every column is NOT NULL, and a field that refers to a parent is a foreign key; ``constraints=False`` leaves both out
and keeps the primary key: without it an update by key would scan the table.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, ClassVar, Final

from benchbook.datasets import Schema
from benchbook.deployment import Role
from benchbook.engines.base import Record, told
from benchbook.engines.postgresql import PostgreSQL
from benchbook.engines.postgresql_session import statement

_COLUMN: Final = {
    "string": b"text",
    "integer": b"bigint",
    "float": b"double precision",
    "date": b"date",
    "datetime": b"timestamptz",
    "boolean": b"boolean",
}


@cache
def _find(table: str, columns: bytes, field: str) -> bytes:
    return b"SELECT " + columns + statement(" FROM {} WHERE {} = %s", table, field)


@cache
def _set(table: str, fields: tuple[str, ...]) -> bytes:
    return statement("UPDATE {} SET ", table) + b", ".join(statement("{} = %s", field) for field in fields)


class PostgreSQLTables(PostgreSQL):
    """A record is a row."""

    name = "postgresql+relational"
    model = "relational"
    lacks: ClassVar[Mapping[str, str]] = {"nul_characters": "PostgreSQL's text holds no U+0000"}

    @told
    def insert(self, record: Record) -> object:
        """Insert one row."""
        return self._cursor.execute(self._insert, self._values(record))

    @told
    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert rows in one pipeline and transaction: all or none."""
        with self._connections[0].transaction():
            self._cursor.executemany(self._insert, [self._values(record) for record in records])

    @told
    def find(self, field: str, value: Any) -> Sequence[Record]:
        """Return the rows found."""
        query = _find(self._name, self._columns, field)
        return self._records(self._rows(query, (value,)))

    @told
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return the node's rows."""
        return self._records(self._rows(self._select, role=role))

    @told
    def update(self, key: str, changes: Record) -> None:
        """Set columns of one row."""
        query = _set(self._name, tuple(changes)) + self._by_key
        self._one(self._run(query, (*changes.values(), key)), key)

    @told
    def update_all(self, changes: Record) -> int:
        """Set columns of all rows."""
        return self._run(_set(self._name, tuple(changes)), tuple(changes.values()))

    def _table(self, schema: Schema) -> None:
        self._name = schema.name
        self._fields = [field.name for field in schema.fields]
        self._values = itemgetter(*self._fields)
        self._columns = b", ".join(statement("{}", name) for name in self._fields)
        self._select = b"SELECT " + self._columns + statement(" FROM {}", schema.name)
        marks = b", ".join([b"%s"] * len(self._fields))
        self._insert = statement("INSERT INTO {} (", schema.name) + self._columns + b") VALUES (" + marks + b")"
        self._by_key = statement(" WHERE {} = %s", schema.key)
        self._run(statement("CREATE TABLE {} (", schema.name) + b", ".join(self._definitions(schema)) + b")")

    def _definitions(self, schema: Schema) -> list[bytes]:
        """Return each column's type, then the key, then what constrains the columns."""
        strict = self.options.constraints
        null = b" NOT NULL" if strict else b""
        columns = [statement("{} ", field.name) + _COLUMN[field.type] + null for field in schema.fields]
        columns.append(statement("PRIMARY KEY ({})", schema.key))
        if strict and (parent := schema.parent):
            foreign = "FOREIGN KEY ({}) REFERENCES {} ({})"
            columns.append(statement(foreign, parent.field, parent.schema.name, parent.schema.key))
        return columns

    def _index(self, table: str, field: str) -> None:
        self._run(statement("CREATE INDEX ON {} ({})", table, field))

    def _records(self, rows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
        return [dict(zip(self._fields, row, strict=True)) for row in rows]
