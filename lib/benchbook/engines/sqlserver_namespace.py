"""SQL Server's namespace: the schema ``benchbook`` of the address's database. It has met no server yet."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from benchbook.engines.namespace import MARKER, Marker, Namespace
from benchbook.engines.sqlserver_tables import Table

CONTENTS: Final = """
SELECT name FROM sys.objects WHERE schema_id = SCHEMA_ID(N'benchbook') AND parent_object_id = 0
UNION ALL SELECT name FROM sys.types WHERE schema_id = SCHEMA_ID(N'benchbook')
"""
"""Tables, views, routines and types, without what belongs to a table."""

DURABILITY: Final = "SELECT delayed_durability_desc FROM sys.databases WHERE database_id = DB_ID()"


class SQLServerSchema(Namespace):
    """SQL Server drops no table that another refers to, and no schema that is not empty."""

    title = "the schema benchbook"

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def marker(self) -> Marker | None:
        """Return the marker's only row."""
        if not self._ask(f"SELECT 1 WHERE OBJECT_ID(N'benchbook.{MARKER}') IS NOT NULL"):
            return None
        rows = self._ask(f"SELECT text FROM benchbook.{MARKER}")
        return Marker.from_json(rows[0][0]) if rows else None

    def exists(self) -> bool:
        """Return whether there is such a schema."""
        return bool(self._ask("SELECT 1 WHERE SCHEMA_ID(N'benchbook') IS NOT NULL"))

    def contents(self) -> list[str]:
        """Return the names of what is in the schema."""
        return [name for (name,) in self._ask(CONTENTS) if name != MARKER]

    def mark(self, marker: Marker) -> None:
        """Write the only row; the table and, where it is not there, the schema are made before."""
        if not self.exists():
            self._cursor.execute("CREATE SCHEMA benchbook")
        if not self._ask(f"SELECT 1 WHERE OBJECT_ID(N'benchbook.{MARKER}') IS NOT NULL"):
            self._cursor.execute(f"CREATE TABLE benchbook.{MARKER} (text nvarchar(max) NOT NULL)")
        self._cursor.execute(f"DELETE FROM benchbook.{MARKER}")
        self._cursor.execute(f"INSERT INTO benchbook.{MARKER} VALUES (%s)", (marker.to_json(),))

    def drop(self, stores: Sequence[str]) -> None:
        """Drop tables, in this order: those that refer before those that are referred to."""
        for name in stores:
            self._cursor.execute(f"DROP TABLE IF EXISTS {Table.placed(name)}")

    def unmark(self, marker: Marker) -> None:
        """Drop the marker, and the schema when that was all."""
        self._cursor.execute(f"DROP TABLE benchbook.{MARKER}")
        if marker.made and not self.contents():
            self._cursor.execute("DROP SCHEMA benchbook")

    def before(self) -> dict[str, Any]:
        """Return when the database's commits are done."""
        rows = self._ask(DURABILITY)
        return {"delayed_durability": rows[0][0]} if rows else {}

    def restore(self, before: Mapping[str, Any]) -> None:
        """Set that."""
        if before and before != self.before():
            self._cursor.execute(f"ALTER DATABASE CURRENT SET DELAYED_DURABILITY = {before['delayed_durability']}")

    def _ask(self, query: str) -> Sequence[tuple[Any, ...]]:
        self._cursor.execute(query)
        rows: Sequence[tuple[Any, ...]] = self._cursor.fetchall()
        return rows
