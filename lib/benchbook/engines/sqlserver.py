"""SQL Server through pymssql: a table with a typed column for each field, in the schema ``benchbook``.

Texts compare as the papers' other engines compare them, by code point (SQL Server's default ignores case). A text that
is a key, refers to one or has an index holds 450 characters, as much as an index takes; another's length is free.

Durability is the database's delayed durability: ``default`` leaves it (normally disabled: a commit waits for the log),
``relaxed`` forces it, ``strict`` disables it; what was set before comes back when the engine is closed. A pair is an
availability group with asynchronous commit, whose secondary can be read; its log's positions are those of the last
commit.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from importlib.metadata import version
from typing import Any, ClassVar, Final

import pymssql

from benchbook.datasets import Schema
from benchbook.deployment import Role
from benchbook.engines import sqlserver_errors
from benchbook.engines import sqlserver_log as log
from benchbook.engines import sqlserver_tables as tables
from benchbook.engines.counter import Counter
from benchbook.engines.errors import EngineError
from benchbook.engines.namespace import Marker
from benchbook.engines.polled import Polled
from benchbook.engines.sql import SQL
from benchbook.engines.sqlserver_namespace import SQLServerSchema
from benchbook.engines.told import told

_DURABILITY: Final = {"relaxed": "FORCED", "strict": "DISABLED"}


class SQLServer(Polled, SQL):
    """A record is a row; values are put into statements by the driver, as it does."""

    name = "sqlserver+relational"
    product = "sqlserver"
    model = "relational"
    driver = f"pymssql {version('pymssql')}"
    table = tables.Table
    poll_s = 0.0005
    raises: ClassVar[tuple[type[Exception], ...]] = (pymssql.Error,)
    lacks: ClassVar[Mapping[str, str]] = {
        "nul_characters": "pymssql puts values into the statement's text, which ends at U+0000",
        "trailing_blanks": "SQL Server compares texts without the blanks at their end",
    }

    def kind(self, error: Exception) -> type[EngineError]:
        """Tell by SQL Server's or FreeTDS's number."""
        return sqlserver_errors.kind(error)

    def text(self, error: Exception) -> str:
        """Return what FreeTDS or the server said, in one line."""
        return " ".join(sqlserver_errors.told(error)[1].split())

    @told
    def _connect(self) -> None:
        self._cursors: dict[Role, Any] = {}
        for node in self.deployment.nodes:
            self._cursors[node.role] = cursor = tables.cursor(node.url, read_only=node.role == "replica")
            self._kept(cursor.connection)
        self._cursor = self._cursors["primary"]

    def _namespaces(self) -> dict[Role, SQLServerSchema]:
        return {role: SQLServerSchema(cursor) for role, cursor in self._cursors.items()}

    def _prepare(self, schemas: Sequence[Schema], marker: Marker) -> None:
        """Drop our tables; set the durability once it is known that nobody's data are in the way."""
        namespace = self._namespaces()["primary"]
        namespace.drop(tuple(reversed(marker.stores)))
        if setting := _DURABILITY.get(self.options.durability):
            self._closing.callback(_restore, namespace, namespace.before())
            namespace.restore({"delayed_durability": setting})

    def _checkpoint(self) -> None:
        self._run("CHECKPOINT")

    def _stands(self, role: Role) -> int:
        """Return the log sequence number of the node's last commit."""
        return log.committed(self._cursors[role])

    def _received(self) -> list[Counter]:
        return [Counter("bytes_received", lambda: log.received(self._cursors["replica"]), log.COUNTER, 1.0)]

    def _transaction(self) -> AbstractContextManager[None]:
        return tables.transaction(self._cursor)


def _restore(namespace: SQLServerSchema, before: Mapping[str, Any]) -> None:
    """Set the durability as before; a server that is gone has nothing to get back."""
    with suppress(pymssql.Error):
        namespace.restore(before)
