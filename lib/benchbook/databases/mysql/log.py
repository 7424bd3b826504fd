"""A session with a MySQL or MariaDB node, and its binary log: its end, and what a replica received and applied."""

import datetime
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import pymysql
from pymysql.constants import CLIENT, FIELD_TYPE
from pymysql.converters import conversions
from pymysql.cursors import DictCursor

from benchbook.deployment import PATIENCE_S
from benchbook.servers.address import login

Connection: TypeAlias = "pymysql.Connection[pymysql.cursors.Cursor]"

_MODE: Final = "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION"
"""The default: without it what does not fit would be cut."""


_CONVERSIONS: Final[dict[Any, Any]] = {
    **conversions,
    FIELD_TYPE.TINY: "0".__ne__,
    FIELD_TYPE.DATE: datetime.date.fromisoformat,
    FIELD_TYPE.DATETIME: lambda text: datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC),
}


def connect(url: str, patience_s: float = PATIENCE_S) -> Connection:
    """Return a connection in autocommit, without TLS, whose updates count the rows they match, changed or not.

    The server may take so long to let us in, in seconds; afterwards an answer may take for ever (see `limit`).
    """
    connection = pymysql.connect(
        **login(url, 3306),
        charset="utf8mb4",
        sql_mode=_MODE,
        autocommit=True,
        ssl_disabled=True,
        client_flag=CLIENT.FOUND_ROWS,
        conv=_CONVERSIONS,
        connect_timeout=patience_s,
        read_timeout=patience_s,
    )
    limit(connection, None)
    return connection


def limit(connection: Connection, timeout_s: float | None) -> None:
    """Say how long the next answers may take, which PyMySQL lets one say of a whole connection only, before it opens.

    When the time runs out the connection is closed.
    """
    connection._read_timeout = timeout_s  # type: ignore[attr-defined]


def leave_out_of_log(connection: Connection) -> None:
    """Keep what a session writes out of the binary log, where the server keeps one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@GLOBAL.log_bin")
        if cursor.fetchone() == (1,):
            # Who may not set it is refused even where there is no log.
            cursor.execute("SET SESSION sql_log_bin = 0")


def disconnect(connection: Connection) -> None:
    """Close a connection, if PyMySQL has not closed it itself: it refuses to do that twice."""
    if connection.open:
        connection.close()


Position = tuple[str, ...]
"""A set of GTIDs."""

_POLL_S: Final = 0.01


@dataclass(frozen=True)
class Log:
    """What a version of the server calls its log.

    `wait` waits on the replica for a position, for so many seconds at most: 1 when it was reached, 0 when the time ran
    out, NULL when the replica does not replicate at all.
    """

    end: str  # asks the primary where its log ends
    wait: str
    status: str = "SHOW SLAVE STATUS"  # asks the replica how far it received the log, and the columns that say so
    file: str = "Master_Log_File"
    offset: str = "Read_Master_Log_Pos"


NEW_WORDS: Final = "8.0.23"
"""The MySQL from which on a master is a source and a slave a replica; from 8.4 on the old words are gone."""

MYSQL_8_0: Final = Log("SELECT @@GLOBAL.gtid_executed", "SELECT WAIT_FOR_EXECUTED_GTID_SET(%s, %s) = 0")
MYSQL: Final = replace(MYSQL_8_0, status="SHOW REPLICA STATUS", file="Source_Log_File", offset="Read_Source_Log_Pos")
MARIADB: Final = Log("SELECT @@GLOBAL.gtid_binlog_pos", "SELECT MASTER_GTID_WAIT(%s, %s) = 0")


def received(log: Log, primary: Connection, replica: Connection) -> float:
    """Return how many bytes of the primary's log the replica has received, since the log's first file."""
    with replica.cursor(DictCursor) as cursor:
        cursor.execute(log.status)
        (status,) = cursor.fetchall()
    with primary.cursor() as plain:
        plain.execute("SHOW BINARY LOGS")
        before = sum(size for name, size, *_ in plain.fetchall() if name < status[log.file])
    return float(before + status[log.offset])


class Replay:
    """Watches how far a replica has applied the log, on a connection of its own, and gives up when it must.

    The server waits; a server that does not answer in time is left alone with its answer, and asked on a new
    connection, which `connect` makes within so many seconds, the next time.
    """

    def __init__(self, log: Log, connect: Callable[[float], Connection]) -> None:
        self._log = log
        self._connect = connect
        self._connection: Connection | None = None

    def reaches(self, position: Position, deadline_s: float) -> bool:
        """Wait until the replica has applied the log up to `position`; False when the time ran out."""
        deadline = time.monotonic() + deadline_s
        while (left := deadline - time.monotonic()) > 0:
            try:
                connection = self._connection = self._connection or self._connect(left)
                limit(connection, left)
                with connection.cursor() as cursor:
                    cursor.execute(self._log.wait, (*position, math.ceil(left)))
                    if cursor.fetchone() == (1,):
                        return True
            except pymysql.OperationalError:
                self.close()
                if time.monotonic() < deadline - _POLL_S:
                    raise
            time.sleep(_POLL_S)
        return False

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            disconnect(self._connection)
        self._connection = None
