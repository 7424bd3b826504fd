"""A session with a MySQL or MariaDB node: how it is opened, how names are quoted, how values come back."""

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import pymysql
from pymysql.constants import CLIENT, FIELD_TYPE
from pymysql.converters import conversions

from benchbook.deployment import login
from benchbook.engines.options import PATIENCE_S

Connection: TypeAlias = "pymysql.Connection[pymysql.cursors.Cursor]"

KEY: Final = "VARCHAR(191)"
"""The longest text that every version indexes."""

_MODE: Final = "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION"
"""The default of today's versions; MySQL 5.5 would cut what does not fit, and say nothing."""


def _moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)


_CONVERSIONS: Final[dict[Any, Any]] = {
    **conversions,
    FIELD_TYPE.TINY: "0".__ne__,
    FIELD_TYPE.DATE: datetime.date.fromisoformat,
    FIELD_TYPE.DATETIME: _moment,
}


def connect(url: str, patience_s: float = PATIENCE_S) -> Connection:
    """Return a connection in autocommit, without TLS, whose updates count the rows they match, changed or not.

    Parameters
    ----------
    url
        The node's.
    patience_s
        How long the server may take to let us in; afterwards an answer may take for ever (see `limit`).
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


def disconnect(connection: Connection) -> None:
    """Close a connection, if PyMySQL has not closed it itself: it refuses to do that twice."""
    if connection.open:
        connection.close()


def quoted(name: str) -> str:
    """Return a name as SQL, its ``%`` doubled: PyMySQL takes one for a placeholder."""
    return f"`{name.replace('`', '``').replace('%', '%%')}`"


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """Commit at the end, or take everything back."""
    connection.begin()
    try:
        yield
        connection.commit()
    except BaseException:
        if connection.open:
            connection.rollback()
        raise
