"""The binary log of MySQL and MariaDB: where it ends, and what a replica received and applied."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import pymysql
from pymysql.cursors import DictCursor

from benchbook.databases.mysql.server import Connection, close_connection, limit_answer_time

Position = tuple[str, ...]
"""A set of GTIDs."""

_POLL_S: Final = 0.01


@dataclass(frozen=True)
class BinaryLog:
    """How a version of the server names its log."""

    # Asks the primary where its log ends.
    end_query: str
    # Waits on the replica for a position, at most so many seconds: 1 when it was reached, 0 when
    # the time is over, NULL when the replica does not replicate at all.
    wait_query: str
    # Asks the replica how much of the log it received, and the columns of the answer.
    status_query: str = "SHOW SLAVE STATUS"
    file_column: str = "Master_Log_File"
    offset_column: str = "Read_Master_Log_Pos"


MYSQL_8_0_LOG: Final = BinaryLog(
    "SELECT @@GLOBAL.gtid_executed", "SELECT WAIT_FOR_EXECUTED_GTID_SET(%s, %s) = 0"
)
MYSQL_LOG: Final = replace(
    MYSQL_8_0_LOG,
    status_query="SHOW REPLICA STATUS",
    file_column="Source_Log_File",
    offset_column="Read_Source_Log_Pos",
)
MARIADB_LOG: Final = BinaryLog(
    "SELECT @@GLOBAL.gtid_binlog_pos", "SELECT MASTER_GTID_WAIT(%s, %s) = 0"
)


def disable_binary_log(connection: Connection) -> None:
    """Keep what a session writes out of the binary log, where the server keeps one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@GLOBAL.log_bin")
        if cursor.fetchone() == (1,):
            # Without a log there is nothing to set, and the user may not have the right to.
            cursor.execute("SET SESSION sql_log_bin = 0")


def count_received_bytes(log: BinaryLog, primary: Connection, replica: Connection) -> float:
    """Return the bytes of the primary's log that the replica received, from the first file on."""
    with replica.cursor(DictCursor) as cursor:
        cursor.execute(log.status_query)
        (status,) = cursor.fetchall()
    with primary.cursor() as plain:
        plain.execute("SHOW BINARY LOGS")
        files = plain.fetchall()
    earlier = sum(size for name, size, *_ in files if name < status[log.file_column])
    return float(earlier + status[log.offset_column])


class GtidReplay:
    """Waits until a replica has applied the log, on a connection of its own.

    The server itself waits. A server that does not answer in time is asked on a new connection the
    next time; `connect` makes it within so many seconds.
    """

    def __init__(self, log: BinaryLog, connect: Callable[[float], Connection]) -> None:
        self._log = log
        self._connect = connect
        self._connection: Connection | None = None

    def wait_for(self, position: Position, deadline_s: float) -> bool:
        """Wait until the replica has applied the log up to `position`; False after the deadline."""
        deadline = time.monotonic() + deadline_s
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            try:
                connection = self._connection = self._connection or self._connect(left)
                limit_answer_time(connection, left)
                with connection.cursor() as cursor:
                    cursor.execute(self._log.wait_query, (*position, math.ceil(left)))
                    if cursor.fetchone() == (1,):
                        return True
            except pymysql.OperationalError:
                self.close()
                if time.monotonic() < deadline - _POLL_S:
                    raise
            time.sleep(_POLL_S)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            close_connection(self._connection)
        self._connection = None
