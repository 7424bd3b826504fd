"""MySQL 5.5, the crud paper's: no JSON, no GTIDs, no fractions of a second and no texts that end in a blank.

A moment is therefore kept as whole milliseconds since 1970.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final

from benchbook.databases.engine import Decoders
from benchbook.databases.mysql.adapter import MySQLRows, MySQLTables
from benchbook.databases.mysql.log import MYSQL_5_5

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)


def _milliseconds(moment: Any) -> Any:
    """Return a moment's; what is none is left to the server to refuse."""
    return (moment - _EPOCH) // _MS if isinstance(moment, datetime) else moment


class OldMySQLRows(MySQLRows):
    """A table of rows."""

    types: ClassVar[Mapping[str, str]] = {**MySQLRows.types, "datetime": "BIGINT"}
    sent: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"datetime": _milliseconds}
    received: ClassVar[Decoders] = {"datetime": lambda milliseconds: _EPOCH + milliseconds * _MS}


class OldMySQLTables(MySQLTables):
    """A record is a row."""

    name = "mysql@5.5+relational"
    product = "mysql@5.5"
    collation = "utf8mb4_bin"
    log = MYSQL_5_5
    table = OldMySQLRows
    lacks: ClassVar[Mapping[str, str]] = {
        **MySQLTables.lacks,
        "large_records": "MySQL 5.5 takes packets of 1 MB unless it is told otherwise (max_allowed_packet)",
        "trailing_blanks": "its collations pad: a text equals itself with blanks at its end",
    }
