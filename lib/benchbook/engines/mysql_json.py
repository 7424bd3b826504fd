"""MySQL as a document store.

A field with an index has a virtual column of its own, which MySQL and MariaDB both index.
"""

from collections.abc import Mapping
from typing import ClassVar

import orjson
from pymysql.converters import escape_string

from benchbook.engines.mysql import MySQL
from benchbook.engines.mysql_session import KEY, quoted
from benchbook.engines.sql_documents import Documents


class JSONTable(Documents):
    """A table of JSON documents, whose texts compare as the database's do."""

    types = (KEY, "JSON")
    merged = "JSON_MERGE_PATCH(doc, %s)"
    collation: ClassVar[str] = MySQL.collation
    quoted = staticmethod(quoted)

    def sought_in(self, field: str) -> str:
        """Return the key's or an indexed field's column, or the expression for a field's text."""
        indexed = field in self.options.index and field in {each.name for each in self.schema.fields}
        return quoted(field) if indexed else super().sought_in(field)

    def extracted(self, field: str) -> str:
        """Return the expression for a field's text."""
        path = escape_string(f"$.{orjson.dumps(field).decode()}").replace("%", "%%")
        return f"JSON_UNQUOTE(JSON_EXTRACT(doc, '{path}')) COLLATE {self.collation}"

    def index(self, field: str) -> str:
        """Return the statement that adds a field's column, indexed."""
        generated = f"{KEY} COLLATE {self.collation} GENERATED ALWAYS AS ({self.extracted(field)}) VIRTUAL"
        return f"ALTER TABLE {self.name} ADD {quoted(field)} {generated}, ADD INDEX ({quoted(field)})"


class MySQLDocuments(MySQL):
    """A record is a document."""

    name = "mysql+json"
    model = "document"
    table = JSONTable
    lacks: ClassVar[Mapping[str, str]] = {"constraints": "a JSON document has none to leave out"}
