"""PostgreSQL as a document store, its JSON kept in binary."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from psycopg.types.json import Jsonb

from benchbook.engines.postgresql import PostgreSQL
from benchbook.engines.postgresql_session import literal, quoted
from benchbook.engines.sql_documents import Documents
from benchbook.engines.sql_table import Row


class JsonbTable(Documents):
    """A table of JSONB documents, which psycopg encodes and decodes as it is told (see `connect`)."""

    types = ("text", "jsonb")
    merged = "doc || %s"
    quoted = staticmethod(quoted)
    encoded = staticmethod(Jsonb)

    @staticmethod
    def decoded(rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Return the rows' documents."""
        return [document for (document,) in rows]

    def extracted(self, field: str) -> str:
        """Return the expression for a field's text."""
        return f"doc->>{literal(field)}"

    def index(self, field: str) -> str:
        """Return the statement that indexes a field's text."""
        return f"CREATE INDEX ON {self.name} (({self.extracted(field)}))"


class PostgreSQLDocuments(PostgreSQL):
    """A record is a document."""

    name = "postgresql+jsonb"
    model = "document"
    table = JsonbTable
    lacks: ClassVar[Mapping[str, str]] = {
        "constraints": "a JSONB document has none to leave out",
        "nul_characters": "PostgreSQL's text holds no U+0000",
    }
