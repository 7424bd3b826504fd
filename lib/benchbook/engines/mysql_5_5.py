"""MySQL 5.5, the crud paper's: no JSON, no GTIDs, no fractions of a second and no texts that end in a blank.

A moment is therefore kept as whole milliseconds since 1970.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final

from benchbook.datasets import Schema
from benchbook.engines import mysql_log
from benchbook.engines.mysql_relational import MySQLTables

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)


class OldMySQLTables(MySQLTables):
    """A record is a row."""

    name = "mysql@5.5+relational"
    product = "mysql@5.5"
    collation = "utf8mb4_bin"
    log = mysql_log.MYSQL_5_5
    columns: ClassVar[Mapping[str, str]] = {**MySQLTables.columns, "datetime": "BIGINT"}
    lacks: ClassVar[Mapping[str, str]] = {
        **MySQLTables.lacks,
        "large_records": "MySQL 5.5 takes packets of 1 MB unless it is told otherwise (max_allowed_packet)",
        "trailing_blanks": "its collations pad: a text equals itself with blanks at its end",
    }

    def _connect(self) -> None:
        super()._connect()
        for connection in self._connections.values():
            connection.encoders[datetime] = _milliseconds

    def _table(self, schema: Schema) -> None:
        super()._table(schema)
        self._moments = [field.name for field in schema.fields if field.type == "datetime"]

    def _records(self, rows: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
        records = super()._records(rows)
        for record in records if self._moments else ():
            record.update({name: _EPOCH + record[name] * _MS for name in self._moments})
        return records


def _milliseconds(moment: datetime, mapping: object = None) -> str:
    return str((moment - _EPOCH) // _MS)
