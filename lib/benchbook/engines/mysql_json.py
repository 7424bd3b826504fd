"""MySQL as a document store: a table of a text key and a JSON document, the whole record, key and all.

A field with an index has a virtual column of its own, which MySQL and MariaDB both index.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, ClassVar, Final

import orjson
from pymysql.converters import escape_string

from benchbook.datasets import Schema
from benchbook.deployment import Role
from benchbook.engines.base import Record, told
from benchbook.engines.errors import EngineError, RefusedError
from benchbook.engines.mysql import KEY, MySQL
from benchbook.engines.mysql_session import quoted, transaction

_RESTORE: Final[dict[str, Callable[[Any], Any]]] = {
    "float": float,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
}
"""JSON has no dates, and a whole number may be what became of a float."""


def _encoded(document: Record) -> str:
    return orjson.dumps(document).decode()


def _text(value: Any) -> str:
    """Return a value as JSON_UNQUOTE gives it."""
    return value if isinstance(value, str) else orjson.dumps(value).decode().strip('"')


class MySQLDocuments(MySQL):
    """Documents are encoded and decoded by orjson, as BSON is by the MongoDB driver's C code."""

    name = "mysql+json"
    model = "document"
    raises = (*MySQL.raises, orjson.JSONEncodeError)
    lacks: ClassVar[Mapping[str, str]] = {"constraints": "a JSON document has none to leave out"}

    @told
    def insert(self, record: Record) -> object:
        """Insert one document."""
        return self._cursor.execute(self._insert, (record["_id"], _encoded(record)))

    @told
    def insert_many(self, records: Sequence[Record]) -> None:
        """Insert documents in one transaction, all or none, in the driver's batches of 1 MB."""
        with transaction(self._connections["primary"]):
            self._cursor.executemany(self._insert, [(record["_id"], _encoded(record)) for record in records])

    @told
    def find(self, field: str, value: Any) -> Sequence[Record]:
        """Return the documents found by a field's text, or by the key."""
        column = quoted(field) if field in self._columns else self._extracted(field)
        return self._restored(self._rows(f"{self._documents} WHERE {column} = %s", (_text(value),)))

    @told
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return the node's documents."""
        return self._restored(self._rows(self._documents, role=role))

    @told
    def update(self, key: str, changes: Record) -> None:
        """Merge changes into one document."""
        self._one(self._run(self._update, (_encoded(changes), key)), key)

    @told
    def update_all(self, changes: Record) -> int:
        """Merge changes into all documents."""
        return self._run(self._update_all, (_encoded(changes),))

    def kind(self, error: Exception) -> type[EngineError]:
        """Tell what JSON cannot hold, too."""
        return RefusedError if isinstance(error, orjson.JSONEncodeError) else super().kind(error)

    def _table(self, schema: Schema) -> None:
        table = quoted(schema.name)
        self._columns = {"_id"}
        self._run(f"CREATE TABLE {table} (_id {KEY} PRIMARY KEY, doc JSON NOT NULL) ENGINE = InnoDB")
        self._insert = f"INSERT INTO {table} (_id, doc) VALUES (%s, %s)"
        self._documents = f"SELECT doc FROM {table}"
        self._update_all = f"UPDATE {table} SET doc = JSON_MERGE_PATCH(doc, %s)"
        self._update = f"{self._update_all} WHERE _id = %s"
        self._restore = [(field.name, _RESTORE[field.type]) for field in schema.fields if field.type in _RESTORE]

    def _index(self, table: str, field: str) -> None:
        column = (
            f"{quoted(field)} {KEY} COLLATE {self.collation} GENERATED ALWAYS AS ({self._extracted(field)}) VIRTUAL"
        )
        self._run(f"ALTER TABLE {quoted(table)} ADD {column}, ADD INDEX ({quoted(field)})")
        self._columns.add(field)

    def _extracted(self, field: str) -> str:
        """Return the expression for a field's text."""
        path = escape_string(f"$.{orjson.dumps(field).decode()}").replace("%", "%%")
        return f"JSON_UNQUOTE(JSON_EXTRACT(doc, '{path}')) COLLATE {self.collation}"

    def _restored(self, rows: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
        documents: list[dict[str, Any]] = [orjson.loads(text) for (text,) in rows]
        for document in documents if self._restore else ():
            document.update({name: restore(document[name]) for name, restore in self._restore})
        return documents
