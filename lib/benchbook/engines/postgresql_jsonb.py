"""PostgreSQL as a document store: a table of a text key and a JSONB document, the whole record, key and all."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

import orjson
from psycopg.types.json import Jsonb

from benchbook.datasets import Schema
from benchbook.deployment import Role
from benchbook.engines.base import Record, told
from benchbook.engines.errors import EngineError, RefusedError
from benchbook.engines.json_records import Restorer
from benchbook.engines.postgresql import PostgreSQL
from benchbook.engines.postgresql_session import statement


@cache
def _find(table: str, field: str) -> bytes:
    return statement("SELECT doc FROM {} WHERE doc->>{text} = %s", table, text=field)


def _text(value: Any) -> str:
    """Return a value as ``->>`` gives it."""
    return value if isinstance(value, str) else orjson.dumps(value).decode().strip('"')


class PostgreSQLDocuments(PostgreSQL):
    """Documents are encoded and decoded by orjson, as BSON is by the MongoDB driver's C code."""

    name = "postgresql+jsonb"
    model = "document"
    raises = (*PostgreSQL.raises, orjson.JSONEncodeError)
    lacks: ClassVar[Mapping[str, str]] = {
        "constraints": "a JSONB document has none to leave out",
        "nul_characters": "PostgreSQL's text holds no U+0000",
    }

    @told
    def insert(self, record: Record) -> object:
        """Insert one document."""
        return self._cursor.execute(self._insert, (record["_id"], Jsonb(record)))

    @told
    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert documents in one pipeline and transaction: all or none."""
        with self._connections[0].transaction():
            self._cursor.executemany(self._insert, [(record["_id"], Jsonb(record)) for record in records])

    @told
    def find(self, field: str, value: Any) -> Sequence[Record]:
        """Return the documents found by a field's text, or by the key."""
        query = self._find_key if field == "_id" else _find(self._name, field)
        return self._restored(self._rows(query, (_text(value),)))

    @told
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return the node's documents."""
        return self._restored(self._rows(self._documents, role=role))

    @told
    def update(self, key: str, changes: Record) -> None:
        """Merge changes into one document."""
        self._one(self._run(self._update, (Jsonb(changes), key)), key)

    @told
    def update_all(self, changes: Record) -> int:
        """Merge changes into all documents."""
        return self._run(self._update_all, (Jsonb(changes),))

    def kind(self, error: Exception) -> type[EngineError]:
        """Tell what JSON cannot hold, too."""
        return RefusedError if isinstance(error, orjson.JSONEncodeError) else super().kind(error)

    def _table(self, schema: Schema) -> None:
        name = self._name = schema.name
        self._run(statement("CREATE TABLE {} (_id text PRIMARY KEY, doc jsonb NOT NULL)", name))
        self._insert = statement("INSERT INTO {} (_id, doc) VALUES (%s, %s)", name)
        self._documents = statement("SELECT doc FROM {}", name)
        self._find_key = statement("SELECT doc FROM {} WHERE _id = %s", name)
        self._update = statement("UPDATE {} SET doc = doc || %s WHERE _id = %s", name)
        self._update_all = statement("UPDATE {} SET doc = doc || %s", name)
        self._restore = Restorer(schema)

    def _index(self, table: str, field: str) -> None:
        self._run(statement("CREATE INDEX ON {} ((doc->>{text}))", table, text=field))

    def _restored(self, rows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
        documents: list[dict[str, Any]] = [document for (document,) in rows]
        self._restore(documents)
        return documents
