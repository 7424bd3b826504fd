"""SQL databases through their drivers' DB-API cursors: every verb is a statement that a schema's table has ready.

A model says what the table's columns are (`RowTable`: one a field; `DocumentTable`: the key and the record as JSON), a
product what it spells in its own way. Values come where ``%s`` stands.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cache
from operator import itemgetter
from typing import Any, ClassVar, TypeAlias

import orjson
from typing_extensions import override

from benchbook.databases.adapter import Decoders, Durability, Options, TypeDecoder, listed
from benchbook.databases.connected import Connected
from benchbook.deployment import Role
from benchbook.schemas import NESTED, Document, Field, Record, Schema

VERSION = 1

Row = tuple[Any, ...]

Cursor: TypeAlias = Any
"""A driver's DB-API cursor: its own methods are used beside those that all have."""


def json_text(value: object) -> str:
    """Return a document or an array as a column of JSON takes it."""
    return orjson.dumps(value).decode()


class Table(ABC):
    """A schema's statements, made once: `find` one a field; `values` returns a record as a new row."""

    values: Callable[[Record], Row]

    def __init__(self, schema: Schema, options: Options, columns: Sequence[str], read: Sequence[str]) -> None:
        self.schema, self.options = schema, options
        self.name = self.placed(schema.name)
        marks = ", ".join(["%s"] * len(columns))
        self.where_key = f" WHERE {self.quoted(schema.key)} = %s"
        self.create = f"CREATE TABLE {self.name} ({', '.join(self.definitions())})"
        self.insert = f"INSERT INTO {self.name} ({self._listed(columns)}) VALUES ({marks})"
        self.select = f"SELECT {self._listed(read)} FROM {self.name}"
        self.find = cache(lambda field: f"{self.select} WHERE {self.sought_in(field)} = %s")
        self.ids = f"SELECT {self.quoted(schema.key)} FROM {self.name}"
        self.delete = f"DELETE FROM {self.name}{self.where_key}"
        self.delete_all = f"DELETE FROM {self.name}"

    @staticmethod
    @abstractmethod
    def quoted(name: str) -> str:
        """Return a name as the product's SQL has it, and as its driver leaves it alone."""

    def placed(self, table: str) -> str:
        """Return a table's name, quoted."""
        return self.quoted(table)

    @abstractmethod
    def definitions(self) -> list[str]:
        """Return the columns and constraints."""

    @abstractmethod
    def index(self, field: str) -> str:
        """Return the statement that indexes a field."""

    @abstractmethod
    def sought_in(self, field: str) -> str:
        """Return the expression that `find` compares."""

    def _listed(self, columns: Sequence[str]) -> str:
        return ", ".join(map(self.quoted, columns))


class RowTable(Table):
    """A column has its field's name; `keys` are the fields that are the key, or refer to one.

    Documents and arrays, and what differs in kind from record to record, are one column of JSON each.
    """

    types: ClassVar[Mapping[str, str]]  # a column's, by its field's type
    sent: ClassVar[Decoders] = {}  # by a field's type, what the driver is given in place of a value
    received: ClassVar[Decoders] = {}  # by a field's type, what makes the value of what the driver gives

    def __init__(self, schema: Schema, options: Options) -> None:
        self._fields = [field.name for field in schema.fields]
        self._optional = any(field.optional for field in schema.fields)
        ordered: Callable[[Record], Row] = itemgetter(*self._fields)
        if self._optional or len(self._fields) == 1:
            # What is absent is NULL; of one field itemgetter makes no row.

            def ordered(record: Record) -> Row:
                return tuple(map(record.get, self._fields))

        sent: Decoders = {**dict.fromkeys(NESTED, json_text), **self.sent}
        self._sent = {field.name: sent[field.type] for field in schema.fields if field.type in sent}
        self._restored = TypeDecoder(schema, {**dict.fromkeys(NESTED, orjson.loads), **self.received})
        self.keys = {schema.key, schema.parent.field if schema.parent else schema.key}
        super().__init__(schema, options, self._fields, self._fields)
        self.values = (lambda record: ordered(self._encoded(record))) if self._sent else ordered
        self._set = cache(self._setting)

    @override
    def definitions(self) -> list[str]:
        schema, strict = self.schema, self.options.constraints
        keys = (schema.key, *schema.beside_key)
        needed = {field.name for field in schema.fields if not field.optional} if strict else {*keys}
        columns = [
            f"{self.quoted(field.name)} {self.kind(field)} {'NOT NULL' if field.name in needed else 'NULL'}"
            for field in schema.fields
        ]
        columns.append(f"PRIMARY KEY ({self._listed(keys)})")
        if strict and (parent := schema.parent):
            referred = f"{self.placed(parent.schema.name)} ({self.quoted(parent.schema.key)})"
            columns.append(f"FOREIGN KEY ({self.quoted(parent.field)}) REFERENCES {referred}")
        return columns

    def kind(self, field: Field) -> str:
        """Return a column's type."""
        return self.types["json" if field.type in NESTED else field.type]

    def update(self, changes: Record) -> str:
        """Return the statement that sets columns of one row: its values are those of `changed`, and the key."""
        return self._set(tuple(changes), self.where_key)

    def update_all(self, changes: Record) -> str:
        """Return the statement that sets columns of all rows."""
        return self._set(tuple(changes), "")

    @override
    def sought_in(self, field: str) -> str:
        return self.quoted(field)

    def sought(self, field: str, value: object) -> object:
        """Return the value as the column holds it."""
        return self._sent[field](value) if field in self._sent else value

    def changed(self, changes: Record) -> Row:
        """Return the changes' values."""
        return tuple((self._encoded(changes) if self._sent else changes).values())

    def records(self, rows: Sequence[Row]) -> list[Document]:
        """Return rows as records."""
        if self._optional:
            pairs = (zip(self._fields, row, strict=True) for row in rows)
            return self._restored([{name: value for name, value in pair if value is not None} for pair in pairs])
        return self._restored([dict(zip(self._fields, row, strict=True)) for row in rows])

    def _encoded(self, record: Record) -> Record:
        return {name: self._sent[name](value) if name in self._sent else value for name, value in record.items()}

    def _setting(self, fields: tuple[str, ...], which: str) -> str:
        changes = ", ".join(f"{self.quoted(field)} = %s" for field in fields)
        return f"UPDATE {self.name} SET {changes}{which}"


class DocumentTable(Table):
    """A document's fields are found by their text."""

    types: ClassVar[tuple[str, str]]  # the key's and the document's
    merged: ClassVar[str]  # the expression for a document with changes

    def __init__(self, schema: Schema, options: Options) -> None:
        super().__init__(schema, options, ["_id", "doc"], ["doc"])
        self._update_all = f"UPDATE {self.name} SET doc = {self.merged}"
        self._update = f"UPDATE {self.name} SET doc = {self.merged}{self.where_key}"
        self._restored = TypeDecoder(schema)

    @override
    def definitions(self) -> list[str]:
        key, document = self.types
        return [f"_id {key} PRIMARY KEY", f"doc {document} NOT NULL"]

    @staticmethod
    def encoded(document: Record, /) -> object:
        """Return a document as the driver takes it."""
        return orjson.dumps(document).decode()

    @staticmethod
    def decoded(rows: Sequence[Row]) -> list[Document]:
        """Return the documents of rows as the driver gives them."""
        return [orjson.loads(text) for (text,) in rows]

    def update(self, changes: Record) -> str:
        """Return the statement that merges changes into one document."""
        return self._update

    def update_all(self, changes: Record) -> str:
        """Return the statement that merges changes into all documents."""
        return self._update_all

    @override
    def sought_in(self, field: str) -> str:
        return "_id" if field == "_id" else self.extracted(field)

    @abstractmethod
    def extracted(self, field: str) -> str:
        """Return the expression for a field's text."""

    def sought(self, field: str, value: object) -> str:
        """Return a value's text, as JSON has it."""
        return value if isinstance(value, str) else orjson.dumps(value).decode().strip('"')

    @override
    def values(self, record: Record) -> Row:
        return record["_id"], self.encoded(record)

    def changed(self, changes: Record) -> Row:
        """Return the changes as one document."""
        return (self.encoded(changes),)

    def records(self, rows: Sequence[Row]) -> list[Document]:
        """Return the rows' documents."""
        return self._restored(self.decoded(rows))


class SQL(Connected[Any]):
    """Each statement is a transaction of its own, but for bulk inserts, which are one: all or none.

    A product adds its sessions and its log, a model of it the table.
    """

    table: Callable[[Schema, Options], RowTable | DocumentTable]  # what a schema is made into
    title: ClassVar[str]  # the product's name in sentences
    databases_query: ClassVar[str]  # the query for the names of all databases
    make_statement: ClassVar[str]  # makes the database of this name, unless it is there
    drop_statement: ClassVar[str]  # drops it, if it is there
    server_settings: ClassVar[Mapping[Durability, Row]] = {}
    """For a durability that is the whole server's: the values that `_set_server` gives it."""

    _cursors: Mapping[Role, Cursor]
    _cursor: Cursor  # the primary's
    _has_set_server = False

    @override
    def insert(self, record: Record) -> None:
        self._cursor.execute(self._insert, self._values(record))

    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert rows in one transaction, as the driver does what is to be executed many times."""
        with self._transaction():
            self._cursor.executemany(self._insert, [self._values(record) for record in records])

    @override
    def find(self, field: str, value: object) -> Sequence[Record]:
        current, cursor = self._current, self._cursor
        cursor.execute(current.find(field), (current.sought(field, value),))
        return current.records(cursor.fetchall())

    @override
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        return self._current.records(self._rows(self._current.select, role=role))

    @override
    def update(self, key: str, changes: Record) -> None:
        current = self._current
        self._expect_one(self._run(current.update(changes), (*current.changed(changes), key)), key)

    @override
    def update_all(self, changes: Record) -> int:
        return self._run(self._current.update_all(changes), self._current.changed(changes))

    @override
    def delete(self, key: str) -> None:
        self._expect_one(self._run(self._current.delete, (key,)), key)

    def delete_all(self) -> int:
        """Delete all rows with one DELETE: no TRUNCATE."""
        return self._run(self._current.delete_all)

    @override
    def ids(self) -> list[str]:
        return [key for (key,) in self._rows(self._current.ids)]

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[object]:
        """Make all that is done on the primary one transaction, undone when it fails."""

    @override
    def list_databases(self) -> list[str]:
        return [name for (name,) in self._rows(self.databases_query)]

    @override
    def make_database(self) -> None:
        self._run(self.make_statement.format(self.deployment.database))

    @override
    def drop_database(self, name: str) -> None:
        self._run(self.drop_statement.format(name))

    @property
    def ending(self) -> str:
        """What a table's creation ends with."""
        return ""

    def _connect(self) -> None:
        super()._connect()
        self._cursors = {role: session.cursor() for role, session in self._sessions.items()}
        self._cursor = self._cursors["primary"]

    def _prepare(self, schemas: Sequence[Schema]) -> None:
        """Make the database anew, and set the server's durability until the database is closed."""
        self.drop_database(self.deployment.database)
        self.make_database()
        setting = self.server_settings.get(self.options.durability)
        if setting and not self._has_set_server:
            self._has_set_server = True
            self._closing.callback(self._set_back, self._server_setting())
            self._set_server(setting)

    def _server_setting(self) -> Row:
        """Return the values to which the server's durability is set."""
        return ()

    def _set_server(self, values: Row) -> None:
        """Set the server's durability to such values."""

    def _set_back(self, before: Row) -> None:
        """Set the server as it was; one that is gone, or does not answer, has nothing to get back."""
        with suppress(*self.raises):
            self._set_server(before)

    def _begin(self, schema: Schema) -> None:
        self._current = table = self.table(schema, self.options)
        self._insert, self._values = table.insert, table.values
        self._run(table.create + self.ending)

    def _index(self, field: str) -> None:
        self._run(self._current.index(field))

    def _run(self, statement: str, values: Row = ()) -> int:
        """Execute a statement and return how many rows it reached."""
        self._cursor.execute(statement, values)
        count: int = self._cursor.rowcount
        return count

    def _rows(self, query: str, values: Row = (), role: Role = "primary") -> Sequence[Row]:
        """Execute a query on a node and return all rows; without values too, doubled ``%`` are single again."""
        cursor = self._cursors[role]
        cursor.execute(query, values)
        rows: Sequence[Row] = cursor.fetchall()
        return rows


class Relational(SQL):
    """A record is a row of a table with a column for each field."""

    model = "relational"
    columns: ClassVar[int]  # that a table has at most
    apart: ClassVar[str]  # `folded` in words

    @override
    @classmethod
    def unfit_fields(cls, schema: Schema) -> str:
        names = [field.name for field in schema.fields]
        if len(names) > cls.columns:
            return f"{len(names):,} fields: a table of {cls.title}'s has {cls.columns:,} columns at most"
        count = Counter(map(cls.folded, names))
        twins = (name for name in names if count[cls.folded(name)] > 1)
        return super().unfit_fields(schema) or listed(twins, cls.apart)

    @staticmethod
    @abstractmethod
    def folded(name: str) -> str:
        """Return what the database tells a column of that name from others by."""
