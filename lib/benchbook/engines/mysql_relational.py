"""MySQL as a relational store. Texts are LONGTEXT, but for keys."""

from collections.abc import Mapping
from typing import ClassVar, Final

from benchbook.datasets import Field
from benchbook.engines.mysql import MySQL
from benchbook.engines.mysql_session import KEY, quoted
from benchbook.engines.sql_rows import Rows

INDEXES_REFERENCES: Final = "InnoDB indexes a foreign key by itself: asked for or not, that index is there"


class MySQLRows(Rows):
    """A table of rows."""

    types: ClassVar[Mapping[str, str]] = {
        "string": "LONGTEXT",
        "integer": "BIGINT",
        "float": "DOUBLE",
        "date": "DATE",
        "datetime": "DATETIME(3)",
        "boolean": "BOOLEAN",
    }
    quoted = staticmethod(quoted)

    def kind(self, field: Field) -> str:
        """Return a column's type: a key's is short enough to be indexed."""
        return KEY if field.name in self.keys else super().kind(field)

    def index(self, field: str) -> str:
        """Return the statement that indexes a column's beginning."""
        return f"CREATE INDEX {quoted(f'by {field}')} ON {self.name} ({quoted(field)}(191))"


class MySQLTables(MySQL):
    """A record is a row."""

    name = "mysql+relational"
    model = "relational"
    table = MySQLRows
    lacks: ClassVar[Mapping[str, str]] = {"reference_without_index": INDEXES_REFERENCES}
