"""When MySQL's and MariaDB's logs go to the disk: what a durability means there, set for the whole server."""

from contextlib import suppress
from typing import Any, Final

import pymysql

from benchbook.engines.mysql_session import Connection, limit
from benchbook.engines.options import PATIENCE_S, Durability

_FLUSHED: Final[dict[Durability, tuple[Any, Any]]] = {
    "default": ("DEFAULT", "DEFAULT"),
    "relaxed": (2, 0),
    "strict": (1, 1),
}
"""At which commits the redo log is flushed (2: written at each, flushed once a second) and the binary log is."""


class Flushing:
    """Sets a server's durability, for a session has none of its own; a session that died and left its own is no harm.

    Raises
    ------
    pymysql.Error
        When the user may not.
    """

    def __init__(self, connection: Connection, durability: Durability) -> None:
        self._connection = connection
        self._before = flushed(connection)
        flush(connection, *_FLUSHED[durability])

    def restore(self) -> None:
        """Bring back what was set before; a server that is gone, or does not answer, has nothing to get back."""
        limit(self._connection, PATIENCE_S)
        with suppress(pymysql.Error):
            flush(self._connection, *self._before)


def flushed(connection: Connection) -> tuple[Any, Any]:
    """Return when the server flushes its redo log and its binary log."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.sync_binlog")
        ((redo, binary),) = cursor.fetchall()
    return redo, binary


def flush(connection: Connection, redo: Any, binary: Any) -> None:
    """Set when the server flushes them."""
    connection.query(f"SET GLOBAL innodb_flush_log_at_trx_commit = {redo}, GLOBAL sync_binlog = {binary}")
