"""SQL databases through their drivers' DB-API cursors: each verb executes a table's statement.

A model defines a table's columns: `RowTable` has one per field, `DocumentTable` has the key and the
record as JSON. A product defines what it spells in its own way. Values replace ``%s``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cache
from operator import itemgetter
from typing import Any, ClassVar, TypeAlias

import orjson
from typing_extensions import override

from benchbook.databases.adapter import (
    Decoders,
    Durability,
    Options,
    TypeDecoder,
)
from benchbook.databases.server_adapter import ServerAdapter
from benchbook.schema import NESTED_TYPES, Document, Field, Record, Schema
from benchbook.servers.deployment import Role

VERSION = 1

Row = tuple[Any, ...]

Cursor: TypeAlias = Any
"""A driver's DB-API cursor, with methods of the driver's own."""


def encode_json(value: object) -> str:
    """Return a document or an array as the text for a column of JSON."""
    return orjson.dumps(value).decode()


class SQLTable(ABC):
    """A schema's statements, built once; `build_find` returns one per field."""

    make_row: Callable[[Record], Row]
    """Returns a record as the values of `insert_statement`."""

    def __init__(
        self, schema: Schema, options: Options, columns: Sequence[str], read: Sequence[str]
    ) -> None:
        self.schema = schema
        self.options = options
        self.name = self.qualify(schema.name)
        # The statements are built here, not while a verb is timed.
        key = self.quote(schema.key)
        marks = ", ".join(["%s"] * len(columns))
        self.where_key = f" WHERE {key} = %s"
        self.create_statement = f"CREATE TABLE {self.name} ({', '.join(self.define_columns())})"
        self.insert_statement = (
            f"INSERT INTO {self.name} ({self._list_columns(columns)}) VALUES ({marks})"
        )
        self.select_statement = f"SELECT {self._list_columns(read)} FROM {self.name}"
        self.build_find = cache(
            lambda field: f"{self.select_statement} WHERE {self.express_field(field)} = %s"
        )
        self.select_keys_statement = f"SELECT {key} FROM {self.name}"
        self.delete_statement = f"DELETE FROM {self.name}{self.where_key}"
        self.delete_all_statement = f"DELETE FROM {self.name}"

    @staticmethod
    @abstractmethod
    def quote(name: str) -> str:
        """Return a name as the product's SQL has it, in a form that its driver does not change."""

    def qualify(self, table: str) -> str:
        """Return a table's quoted name."""
        return self.quote(table)

    @abstractmethod
    def define_columns(self) -> list[str]:
        """Return the columns and constraints of ``CREATE TABLE``."""

    @abstractmethod
    def build_index(self, field: str) -> str:
        """Return the statement that indexes a field."""

    @abstractmethod
    def express_field(self, field: str) -> str:
        """Return the expression that `build_find` compares."""

    def _list_columns(self, columns: Sequence[str]) -> str:
        return ", ".join(map(self.quote, columns))


class RowTable(SQLTable):
    """A table with a column per field, of the same name.

    A document, an array, or a field whose type differs between records is one column of JSON.
    `keys` are the fields that are the key or refer to one.
    """

    column_types: ClassVar[Mapping[str, str]]
    """A column's type by its field's type."""

    encoders: ClassVar[Decoders] = {}
    """A function by a field's type; it makes the driver's value from a field's."""

    decoders: ClassVar[Decoders] = {}
    """A function by a field's type; it makes a field's value from the driver's."""

    def __init__(self, schema: Schema, options: Options) -> None:
        self._fields = [field.name for field in schema.fields]
        self._optional = any(field.optional for field in schema.fields)
        # A record's values in the columns' order.
        order: Callable[[Record], Row] = itemgetter(*self._fields)
        if self._optional or len(self._fields) == 1:
            # A missing field is NULL; and for one field itemgetter returns no tuple.

            def order(record: Record) -> Row:
                return tuple(map(record.get, self._fields))

        # What the driver takes and returns in another type than the record's.
        encoders: Decoders = {**dict.fromkeys(NESTED_TYPES, encode_json), **self.encoders}
        self._encoders = {
            field.name: encoders[field.type] for field in schema.fields if field.type in encoders
        }
        decoders: Decoders = {**dict.fromkeys(NESTED_TYPES, orjson.loads), **self.decoders}
        self._decode_types = TypeDecoder(schema, decoders)
        self.keys = {schema.key, schema.parent.field if schema.parent else schema.key}
        super().__init__(schema, options, self._fields, self._fields)
        self.make_row = order
        if self._encoders:
            self.make_row = lambda record: order(self._encode_fields(record))
        # Built once per set of changed fields.
        self._build_set = cache(self._build_update)

    @override
    def define_columns(self) -> list[str]:
        schema = self.schema
        keys = (schema.key, *schema.key_parts)
        if self.options.constraints:
            required = {field.name for field in schema.fields if not field.optional}
        else:
            required = {*keys}
        # Columns, the primary key, and the foreign key.
        columns = []
        for field in schema.fields:
            null = "NOT NULL" if field.name in required else "NULL"
            columns.append(f"{self.quote(field.name)} {self.choose_type(field)} {null}")
        columns.append(f"PRIMARY KEY ({self._list_columns(keys)})")
        parent = schema.parent
        if parent and self.options.constraints:
            target = f"{self.qualify(parent.schema.name)} ({self.quote(parent.schema.key)})"
            columns.append(f"FOREIGN KEY ({self.quote(parent.field)}) REFERENCES {target}")
        return columns

    def choose_type(self, field: Field) -> str:
        """Return the type of a field's column."""
        return self.column_types["json" if field.type in NESTED_TYPES else field.type]

    def build_update(self, changes: Record) -> str:
        """Return the statement that sets columns of one row.

        Its values are those of `encode_changes`, then the key.
        """
        return self._build_set(tuple(changes), self.where_key)

    def build_update_all(self, changes: Record) -> str:
        """Return the statement that sets columns of all rows."""
        return self._build_set(tuple(changes), "")

    @override
    def express_field(self, field: str) -> str:
        return self.quote(field)

    def encode_value(self, field: str, value: object) -> object:
        """Return a value as the column holds it."""
        return self._encoders[field](value) if field in self._encoders else value

    def encode_changes(self, changes: Record) -> Row:
        """Return the changes' values."""
        return tuple((self._encode_fields(changes) if self._encoders else changes).values())

    def decode_rows(self, rows: Sequence[Row]) -> list[Document]:
        """Return rows as records."""
        if self._optional:
            pairs = (zip(self._fields, row, strict=True) for row in rows)
            return self._decode_types(
                [{name: value for name, value in pair if value is not None} for pair in pairs]
            )
        return self._decode_types([dict(zip(self._fields, row, strict=True)) for row in rows])

    def _encode_fields(self, record: Record) -> Record:
        return {
            name: self._encoders[name](value) if name in self._encoders else value
            for name, value in record.items()
        }

    def _build_update(self, fields: tuple[str, ...], condition: str) -> str:
        changes = ", ".join(f"{self.quote(field)} = %s" for field in fields)
        return f"UPDATE {self.name} SET {changes}{condition}"


class DocumentTable(SQLTable):
    """A table with the key and the document; a document's field is found by its text."""

    column_types: ClassVar[tuple[str, str]]
    """The key's type and the document's."""

    merge_expression: ClassVar[str]
    """The expression for a document with changes."""

    def __init__(self, schema: Schema, options: Options) -> None:
        super().__init__(schema, options, ["_id", "doc"], ["doc"])
        self._update_all = f"UPDATE {self.name} SET doc = {self.merge_expression}"
        self._update = f"{self._update_all}{self.where_key}"
        self._decode_types = TypeDecoder(schema)

    @override
    def define_columns(self) -> list[str]:
        key, document = self.column_types
        return [f"_id {key} PRIMARY KEY", f"doc {document} NOT NULL"]

    @staticmethod
    def encode_document(document: Record, /) -> object:
        """Return a document as the driver takes it."""
        return orjson.dumps(document).decode()

    @staticmethod
    def decode_documents(rows: Sequence[Row]) -> list[Document]:
        """Return the documents of the driver's rows."""
        return [orjson.loads(text) for (text,) in rows]

    def build_update(self, changes: Record) -> str:
        """Return the statement that merges changes into one document."""
        return self._update

    def build_update_all(self, changes: Record) -> str:
        """Return the statement that merges changes into all documents."""
        return self._update_all

    @override
    def express_field(self, field: str) -> str:
        return "_id" if field == "_id" else self.extract_field(field)

    @abstractmethod
    def extract_field(self, field: str) -> str:
        """Return the expression for a field's text."""

    def encode_value(self, field: str, value: object) -> str:
        """Return a value's text, as JSON has it."""
        return value if isinstance(value, str) else orjson.dumps(value).decode().strip('"')

    @override
    def make_row(self, record: Record) -> Row:
        return record["_id"], self.encode_document(record)

    def encode_changes(self, changes: Record) -> Row:
        """Return the changes as one document."""
        return (self.encode_document(changes),)

    def decode_rows(self, rows: Sequence[Row]) -> list[Document]:
        """Return the rows' documents."""
        return self._decode_types(self.decode_documents(rows))


class SQLAdapter(ServerAdapter[Any]):
    """A SQL database: every statement is its own transaction, but a bulk insert is all or nothing.

    A product adds its sessions and its log; a model of it adds the table.
    """

    make_table: Callable[[Schema, Options], RowTable | DocumentTable]

    title: ClassVar[str]
    """The product's name in sentences."""

    databases_query: ClassVar[str]
    """The query for the names of all databases."""

    make_statement: ClassVar[str]
    """Makes the database of the name that replaces ``{}``, unless it exists."""

    drop_statement: ClassVar[str]
    """Drops it, if it exists."""

    server_settings: ClassVar[Mapping[Durability, Row]] = {}
    """What `_set_server_settings` sets, for a durability that is the whole server's."""

    _cursors: Mapping[Role, Cursor]
    _cursor: Cursor  # the primary's
    _has_set_server = False

    @override
    def insert(self, record: Record) -> None:
        self._cursor.execute(self._insert_statement, self._make_row(record))

    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert rows in one transaction, by the driver's call for many executions."""
        with self._transaction():
            rows = [self._make_row(record) for record in records]
            self._cursor.executemany(self._insert_statement, rows)

    @override
    def find(self, field: str, value: object) -> Sequence[Record]:
        table, cursor = self._table, self._cursor
        cursor.execute(table.build_find(field), (table.encode_value(field, value),))
        return table.decode_rows(cursor.fetchall())

    @override
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        return self._table.decode_rows(self._fetch_rows(self._table.select_statement, role=role))

    @override
    def update(self, key: str, changes: Record) -> None:
        table = self._table
        statement = table.build_update(changes)
        self._expect_one(self._execute(statement, (*table.encode_changes(changes), key)), key)

    @override
    def update_all(self, changes: Record) -> int:
        table = self._table
        return self._execute(table.build_update_all(changes), table.encode_changes(changes))

    @override
    def delete(self, key: str) -> None:
        self._expect_one(self._execute(self._table.delete_statement, (key,)), key)

    def delete_all(self) -> int:
        """Delete all rows with one DELETE, not with TRUNCATE."""
        return self._execute(self._table.delete_all_statement)

    @override
    def list_ids(self) -> list[str]:
        return [key for (key,) in self._fetch_rows(self._table.select_keys_statement)]

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[object]:
        """Make all that the body does on the primary one transaction, undone when it fails."""

    @override
    def list_databases(self) -> list[str]:
        return [name for (name,) in self._fetch_rows(self.databases_query)]

    @override
    def make_database(self) -> None:
        self._execute(self.make_statement.format(self.deployment.database))

    @override
    def drop_database(self, name: str) -> None:
        self._execute(self.drop_statement.format(name))

    @property
    def table_options(self) -> str:
        """The end of ``CREATE TABLE``."""
        return ""

    def _connect(self) -> None:
        super()._connect()
        self._cursors = {role: session.cursor() for role, session in self._sessions.items()}
        self._cursor = self._cursors["primary"]

    def _prepare_stores(self, schemas: Sequence[Schema]) -> None:
        """Make the database anew; set the server's durability until the adapter is closed."""
        self.drop_database(self.deployment.database)
        self.make_database()
        settings = self.server_settings.get(self.options.durability)
        if settings and not self._has_set_server:
            self._has_set_server = True
            before = self._read_server_settings()
            self._closing.callback(self._restore_server_settings, before)
            self._set_server_settings(settings)

    def _read_server_settings(self) -> Row:
        """Return the server's settings of durability."""
        return ()

    def _set_server_settings(self, values: Row) -> None:
        """Set the server's durability."""

    def _restore_server_settings(self, before: Row) -> None:
        # A server that is gone, or does not answer, has nothing to restore.
        with suppress(*self.driver_errors):
            self._set_server_settings(before)

    def _create_store(self, schema: Schema) -> None:
        table = self.make_table(schema, self.options)
        self._table = table
        self._insert_statement = table.insert_statement
        self._make_row = table.make_row
        self._execute(table.create_statement + self.table_options)

    def _create_index(self, field: str) -> None:
        self._execute(self._table.build_index(field))

    def _execute(self, statement: str, values: Row = ()) -> int:
        """Execute a statement and return how many rows it reached."""
        self._cursor.execute(statement, values)
        count: int = self._cursor.rowcount
        return count

    def _fetch_rows(self, query: str, values: Row = (), role: Role = "primary") -> Sequence[Row]:
        """Execute a query on a node and return all rows.

        Values are passed even if there are none, so that doubled ``%`` become single.
        """
        cursor = self._cursors[role]
        cursor.execute(query, values)
        rows: Sequence[Row] = cursor.fetchall()
        return rows


class RelationalAdapter(SQLAdapter):
    """A SQL database where a record is a row with a column per field."""

    model = "relational"
