"""MySQL's and MariaDB's namespace: the database ``benchbook``."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pymysql

from benchbook.engines.mysql_durability import flush, flushed
from benchbook.engines.mysql_session import Connection, quoted
from benchbook.engines.namespace import MARKER, Marker, Namespace

_CONTENTS: Final = " UNION ALL ".join(
    f"SELECT {name} FROM information_schema.{kind} WHERE {schema} = 'benchbook'"
    for kind, name, schema in (
        ("tables", "table_name", "table_schema"),
        ("routines", "routine_name", "routine_schema"),
        ("events", "event_name", "event_schema"),
    )
)
_ABSENT: Final = (1044, 1049, 1142, 1146)
"""No such database, no such table; or none for us."""


class MySQLDatabase(Namespace):
    """Dropped whole only when it is empty: DROP DATABASE would take along whatever is in it."""

    title = "the database benchbook"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def marker(self) -> Marker | None:
        """Return the marker's only row; one that we may not read is not ours."""
        try:
            rows = self._ask(f"SELECT text FROM benchbook.{MARKER}")
        except pymysql.Error as error:
            if error.args and error.args[0] in _ABSENT:
                return None
            raise
        return Marker.from_json(rows[0][0]) if rows else None

    def exists(self) -> bool:
        """Return whether there is such a database."""
        return bool(self._ask("SELECT 1 FROM information_schema.schemata WHERE schema_name = 'benchbook'"))

    def contents(self) -> list[str]:
        """Return its tables, views, routines and events."""
        return [name for (name,) in self._ask(_CONTENTS) if name != MARKER]

    def mark(self, marker: Marker) -> None:
        """Write the only row; the table and, where it is not there, the database are made before."""
        if not self.exists():
            self._ask("CREATE DATABASE benchbook")
        self._ask(
            f"CREATE TABLE IF NOT EXISTS benchbook.{MARKER} (id INT PRIMARY KEY, text LONGTEXT)"
            " ENGINE = InnoDB CHARACTER SET utf8mb4"
        )
        self._ask(f"REPLACE INTO benchbook.{MARKER} VALUES (0, %s)", [marker.to_json()])

    def drop(self, stores: Sequence[str]) -> None:
        """Drop tables, in this order: those that refer before those that are referred to."""
        if stores:
            self._ask(f"DROP TABLE IF EXISTS {', '.join(f'benchbook.{quoted(name)}' for name in stores)}", ())

    def unmark(self, marker: Marker) -> None:
        """Drop the marker, and the database when that was all."""
        self._ask(f"DROP TABLE benchbook.{MARKER}")
        if marker.made and not self.contents():
            self._ask("DROP DATABASE benchbook")

    def before(self) -> dict[str, Any]:
        """Return when the server flushes its logs."""
        return {"flushed": flushed(self._connection)}

    def restore(self, before: Mapping[str, Any]) -> None:
        """Let the server flush its logs as before, if a run that was killed has left it otherwise."""
        if list(flushed(self._connection)) != list(before["flushed"]):
            flush(self._connection, *before["flushed"])

    def _ask(self, statement: str, values: Sequence[Any] | None = None) -> Sequence[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall() or ()
