"""SQL databases through their drivers' DB-API cursors: every verb is a statement that a schema's table has ready.

A model says what the table's columns are (`Rows`: one a field; `Documents`: the key and the record as JSON), a product
what it spells in its own way. Values come where ``%s`` stands.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from operator import itemgetter
from typing import Any, ClassVar

import orjson

from benchbook.databases.connected import Connected
from benchbook.databases.engine import Decoders, Options, TypeDecoder
from benchbook.deployment import Role
from benchbook.schemas import Field, Record, Schema

Row = tuple[Any, ...]


class Table(ABC):
    """Its statements, made once.

    Parameters
    ----------
    schema, options
        The records', and how they are kept.
    columns
        Of a new row, in the order of `values`.
    read
        What is read of a row.

    Attributes
    ----------
    name
        The table's, quoted.
    create, insert, select, find, ids, delete, delete_all
        Statements; `find` is one a field.
    values
        Returns a record as a new row.
    """

    values: Callable[[Record], Row]

    def __init__(self, schema: Schema, options: Options, columns: Sequence[str], read: Sequence[str]) -> None:
        self.schema, self.options = schema, options
        self.name = self.placed(schema.name)
        marks = ", ".join(["%s"] * len(columns))
        self.one = f" WHERE {self.quoted(schema.key)} = %s"
        self.create = f"CREATE TABLE {self.name} ({', '.join(self.definitions())})"
        self.insert = f"INSERT INTO {self.name} ({self._listed(columns)}) VALUES ({marks})"
        self.select = f"SELECT {self._listed(read)} FROM {self.name}"
        self.find = cache(lambda field: f"{self.select} WHERE {self.sought_in(field)} = %s")
        self.ids = f"SELECT {self.quoted(schema.key)} FROM {self.name}"
        self.delete = f"DELETE FROM {self.name}{self.one}"
        self.delete_all = f"DELETE FROM {self.name}"

    @staticmethod
    @abstractmethod
    def quoted(name: str) -> str:
        """Return a name as the product's SQL has it, and as its driver leaves it alone."""

    @classmethod
    def placed(cls, table: str) -> str:
        """Return a table's name, quoted."""
        return cls.quoted(table)

    @abstractmethod
    def definitions(self) -> list[str]:
        """Return the columns and constraints."""

    @abstractmethod
    def index(self, field: str) -> str:
        """Return the statement that indexes a field."""

    @abstractmethod
    def update(self, changes: Record) -> str:
        """Return the statement that changes one row: its values are those of `changed`, and the key."""

    @abstractmethod
    def update_all(self, changes: Record) -> str:
        """Return the statement that changes all rows: its values are those of `changed`."""

    @abstractmethod
    def sought_in(self, field: str) -> str:
        """Return the expression that `find` compares."""

    @abstractmethod
    def sought(self, field: str, value: Any) -> Any:
        """Return what `find` compares it with."""

    @abstractmethod
    def changed(self, changes: Record) -> Row:
        """Return an update's values."""

    @abstractmethod
    def records(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Return rows as records."""

    def _listed(self, columns: Sequence[str]) -> str:
        return ", ".join(map(self.quoted, columns))


class Rows(Table):
    """A column has its field's name.

    Attributes
    ----------
    types
        A column's, by its field's type.
    sent, received
        By a field's type, what the driver is given in place of a value, and what makes the value of what it gives.
    keys
        The fields that are the key, or refer to one.
    """

    types: ClassVar[Mapping[str, str]]
    sent: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    received: ClassVar[Decoders] = {}

    def __init__(self, schema: Schema, options: Options) -> None:
        self._fields = [field.name for field in schema.fields]
        ordered: Callable[[Record], Row] = itemgetter(*self._fields)
        self._sent = {field.name: self.sent[field.type] for field in schema.fields if field.type in self.sent}
        self._restored = TypeDecoder(schema, self.received)
        self.keys = {schema.key, schema.parent.field if schema.parent else schema.key}
        super().__init__(schema, options, self._fields, self._fields)
        self.values = (lambda record: ordered(self._encoded(record))) if self._sent else ordered
        self._set = cache(self._setting)

    def definitions(self) -> list[str]:
        """Return each column's type, then the key, then what constrains the columns."""
        schema, strict = self.schema, self.options.constraints
        needed = set(self._fields) if strict else {schema.key}
        columns = [
            f"{self.quoted(field.name)} {self.kind(field)} {'NOT NULL' if field.name in needed else 'NULL'}"
            for field in schema.fields
        ]
        columns.append(f"PRIMARY KEY ({self.quoted(schema.key)})")
        if strict and (parent := schema.parent):
            referred = f"{self.placed(parent.schema.name)} ({self.quoted(parent.schema.key)})"
            columns.append(f"FOREIGN KEY ({self.quoted(parent.field)}) REFERENCES {referred}")
        return columns

    def kind(self, field: Field) -> str:
        """Return a column's type."""
        return self.types[field.type]

    def update(self, changes: Record) -> str:
        """Return the statement that sets columns of one row."""
        return self._set(tuple(changes), self.one)

    def update_all(self, changes: Record) -> str:
        """Return the statement that sets columns of all rows."""
        return self._set(tuple(changes), "")

    def sought_in(self, field: str) -> str:
        """Return the field's column."""
        return self.quoted(field)

    def sought(self, field: str, value: Any) -> Any:
        """Return the value as the column holds it."""
        return self._sent[field](value) if field in self._sent else value

    def changed(self, changes: Record) -> Row:
        """Return the changes' values."""
        return tuple((self._encoded(changes) if self._sent else changes).values())

    def records(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Return rows as records."""
        return self._restored([dict(zip(self._fields, row, strict=True)) for row in rows])

    def _encoded(self, record: Record) -> Record:
        return {name: self._sent[name](value) if name in self._sent else value for name, value in record.items()}

    def _setting(self, fields: tuple[str, ...], which: str) -> str:
        changes = ", ".join(f"{self.quoted(field)} = %s" for field in fields)
        return f"UPDATE {self.name} SET {changes}{which}"


class Documents(Table):
    """A document's fields are found by their text.

    Attributes
    ----------
    types
        The key's and the document's.
    merged
        The expression for a document with changes.
    """

    types: ClassVar[tuple[str, str]]
    merged: ClassVar[str]

    def __init__(self, schema: Schema, options: Options) -> None:
        super().__init__(schema, options, ["_id", "doc"], ["doc"])
        self._update_all = f"UPDATE {self.name} SET doc = {self.merged}"
        self._update = f"UPDATE {self.name} SET doc = {self.merged}{self.one}"
        self._restored = TypeDecoder(schema)

    def definitions(self) -> list[str]:
        """Return the two columns."""
        key, document = self.types
        return [f"_id {key} PRIMARY KEY", f"doc {document} NOT NULL"]

    @staticmethod
    def encoded(document: Record, /) -> Any:
        """Return a document as the driver takes it."""
        return orjson.dumps(document).decode()

    @staticmethod
    def decoded(rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Return the documents of rows as the driver gives them."""
        return [orjson.loads(text) for (text,) in rows]

    def update(self, changes: Record) -> str:
        """Return the statement that merges changes into one document."""
        return self._update

    def update_all(self, changes: Record) -> str:
        """Return the statement that merges changes into all documents."""
        return self._update_all

    def sought_in(self, field: str) -> str:
        """Return the key's column, or the expression for a field's text."""
        return "_id" if field == "_id" else self.extracted(field)

    @abstractmethod
    def extracted(self, field: str) -> str:
        """Return the expression for a field's text."""

    def sought(self, field: str, value: Any) -> str:
        """Return a value's text, as JSON has it."""
        return value if isinstance(value, str) else orjson.dumps(value).decode().strip('"')

    def values(self, record: Record) -> Row:
        """Return a record's key and document."""
        return record["_id"], self.encoded(record)

    def changed(self, changes: Record) -> Row:
        """Return the changes as one document."""
        return (self.encoded(changes),)

    def records(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Return the rows' documents."""
        return self._restored(self.decoded(rows))


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

    def insert(self, record: Record) -> None:
        """Insert one row."""
        self._cursor.execute(self._insert, self._values(record))

    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert rows in one transaction, as the driver does what is to be executed many times."""
        with self._transaction():
            self._cursor.executemany(self._insert, [self._values(record) for record in records])

    def find(self, field: str, value: Any) -> Sequence[Record]:
        """Return the rows found."""
        current, cursor = self._current, self._cursor
        cursor.execute(current.find(field), (current.sought(field, value),))
        return current.records(cursor.fetchall())

    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return the node's rows."""
        return self._current.records(self._rows(self._current.select, role=role))

    def update(self, key: str, changes: Record) -> None:
        """Change one row."""
        current = self._current
        self._one(self._run(current.update(changes), (*current.changed(changes), key)), key)

    def update_all(self, changes: Record) -> int:
        """Change all rows with one UPDATE."""
        return self._run(self._current.update_all(changes), self._current.changed(changes))

    def delete(self, key: str) -> None:
        """Delete one row."""
        self._one(self._run(self._current.delete, (key,)), key)

    def delete_all(self) -> int:
        """Delete all rows with one DELETE: no TRUNCATE."""
        return self._run(self._current.delete_all)

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
