"""PostgreSQL's namespace: the schema ``benchbook``."""

from collections.abc import Sequence
from typing import Final

from psycopg import errors, sql

from benchbook.engines.namespace import MARKER, Marker, Namespace
from benchbook.engines.postgresql_session import Connection

_CONTENTS: Final = """
SELECT coalesce((SELECT relname FROM pg_class WHERE oid = objid), pg_describe_object(classid, objid, 0))
FROM pg_depend WHERE refclassid = 'pg_namespace'::regclass AND refobjid = to_regnamespace('benchbook')
"""
"""All that is in the schema, of whatever kind: each object depends on it."""


class PostgreSQLSchema(Namespace):
    """Whatever is dropped is dropped only where nothing else depends on it: never with CASCADE."""

    title = "the schema benchbook"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._marker = sql.Identifier("benchbook", MARKER)

    def marker(self) -> Marker | None:
        """Return the marker's only row; one that we may not read is not ours."""
        try:
            row = self._connection.execute(sql.SQL("SELECT text FROM {}").format(self._marker)).fetchone()
        except (errors.UndefinedTable, errors.InvalidSchemaName, errors.InsufficientPrivilege):
            return None
        return Marker.from_json(row[0]) if row else None

    def exists(self) -> bool:
        """Return whether there is such a schema."""
        return self._connection.execute("SELECT to_regnamespace('benchbook') IS NOT NULL").fetchone() == (True,)

    def contents(self) -> list[str]:
        """Return what depends on the schema."""
        return [name for (name,) in self._connection.execute(_CONTENTS).fetchall() if name != MARKER]

    def mark(self, marker: Marker) -> None:
        """Make schema and marker in one transaction."""
        with self._connection.transaction():
            if not self.exists():
                self._connection.execute("CREATE SCHEMA benchbook")
            self._connection.execute(sql.SQL("CREATE TABLE IF NOT EXISTS {} (text text NOT NULL)").format(self._marker))
            self._connection.execute(sql.SQL("DELETE FROM {}").format(self._marker))
            self._connection.execute(sql.SQL("INSERT INTO {} VALUES (%s)").format(self._marker), [marker.to_json()])

    def drop(self, stores: Sequence[str]) -> None:
        """Drop tables at once: they may refer to one another."""
        if stores:
            names = sql.SQL(", ").join(sql.Identifier("benchbook", name) for name in stores)
            self._connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(names))

    def unmark(self, marker: Marker) -> None:
        """Drop the marker, and the schema when that was all."""
        with self._connection.transaction():
            self._connection.execute(sql.SQL("DROP TABLE {}").format(self._marker))
            if marker.made and not self.contents():
                self._connection.execute("DROP SCHEMA benchbook")
