"""Records as documents: a table of a text key and a JSON document, the whole record, key and all.

Documents are encoded and decoded by orjson, as BSON is by the MongoDB driver's C code.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import orjson

from benchbook.datasets import Schema
from benchbook.engines.base import Record
from benchbook.engines.options import Options
from benchbook.engines.restorer import Restorer
from benchbook.engines.sql_table import Row, Table


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
        self._restored = Restorer(schema)

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
