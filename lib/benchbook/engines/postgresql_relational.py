"""PostgreSQL as a relational store."""

from collections.abc import Mapping
from typing import ClassVar

from benchbook.engines.postgresql import PostgreSQL
from benchbook.engines.postgresql_session import quoted
from benchbook.engines.sql_rows import Rows


class PostgreSQLRows(Rows):
    """A table of rows."""

    types: ClassVar[Mapping[str, str]] = {
        "string": "text",
        "integer": "bigint",
        "float": "double precision",
        "date": "date",
        "datetime": "timestamptz",
        "boolean": "boolean",
    }
    quoted = staticmethod(quoted)

    def index(self, field: str) -> str:
        """Return the statement that indexes a column."""
        return f"CREATE INDEX ON {self.name} ({quoted(field)})"


class PostgreSQLTables(PostgreSQL):
    """A record is a row."""

    name = "postgresql+relational"
    model = "relational"
    table = PostgreSQLRows
    lacks: ClassVar[Mapping[str, str]] = {"nul_characters": "PostgreSQL's text holds no U+0000"}
