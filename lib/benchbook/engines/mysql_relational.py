"""MySQL as a relational store: a table with a typed column for each field.

Every column is NOT NULL, and a field that refers to a parent is a foreign key; ``constraints=False`` leaves both out
and keeps the primary key. Texts are LONGTEXT, but for keys.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, ClassVar, Final

from benchbook.datasets import Schema
from benchbook.deployment import Role
from benchbook.engines.base import Record, told
from benchbook.engines.mysql import KEY, MySQL
from benchbook.engines.mysql_session import quoted, transaction

INDEXES_REFERENCES: Final = "InnoDB indexes a foreign key by itself: asked for or not, that index is there"


@cache
def _set(table: str, fields: tuple[str, ...]) -> str:
    return f"UPDATE {quoted(table)} SET " + ", ".join(f"{quoted(field)} = %s" for field in fields)


class MySQLTables(MySQL):
    """A record is a row."""

    name = "mysql+relational"
    model = "relational"
    lacks: ClassVar[Mapping[str, str]] = {"reference_without_index": INDEXES_REFERENCES}
    columns: ClassVar[Mapping[str, str]] = {
        "string": "LONGTEXT",
        "integer": "BIGINT",
        "float": "DOUBLE",
        "date": "DATE",
        "datetime": "DATETIME(3)",
        "boolean": "BOOLEAN",
    }

    @told
    def insert(self, record: Record) -> object:
        """Insert one row."""
        return self._cursor.execute(self._insert, self._values(record))

    @told
    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert rows in one transaction, all or none, in the driver's batches of 1 MB."""
        with transaction(self._connections["primary"]):
            self._cursor.executemany(self._insert, [self._values(record) for record in records])

    @told
    def find(self, field: str, value: Any) -> Sequence[Record]:
        """Return the rows found."""
        return self._records(self._rows(f"{self._select} WHERE {quoted(field)} = %s", (value,)))

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
        columns = ", ".join(quoted(name) for name in self._fields)
        self._select = f"SELECT {columns} FROM {quoted(schema.name)}"
        marks = ", ".join(["%s"] * len(self._fields))
        self._insert = f"INSERT INTO {quoted(schema.name)} ({columns}) VALUES ({marks})"
        self._by_key = f" WHERE {quoted(schema.key)} = %s"
        self._run(f"CREATE TABLE {quoted(schema.name)} ({', '.join(self._definitions(schema))}) ENGINE = InnoDB")

    def _definitions(self, schema: Schema) -> list[str]:
        """Return each column's type, then the key, then what constrains the columns."""
        strict = self.options.constraints
        null = "NOT NULL" if strict else "NULL"
        short = {schema.key, schema.parent.field if schema.parent else schema.key}
        types = {field.name: KEY if field.name in short else self.columns[field.type] for field in schema.fields}
        columns = [
            f"{quoted(name)} {type_} {'NOT NULL' if name == schema.key else null}" for name, type_ in types.items()
        ]
        columns.append(f"PRIMARY KEY ({quoted(schema.key)})")
        if strict and (parent := schema.parent):
            of = f"{quoted(parent.schema.name)} ({quoted(parent.schema.key)})"
            columns.append(f"FOREIGN KEY ({quoted(parent.field)}) REFERENCES {of}")
        return columns

    def _index(self, table: str, field: str) -> None:
        self._run(f"CREATE INDEX {quoted(f'by {field}')} ON {quoted(table)} ({quoted(field)}(191))")

    def _records(self, rows: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
        return [dict(zip(self._fields, row, strict=True)) for row in rows]
