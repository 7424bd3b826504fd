"""MariaDB from 10.5 on: as MySQL, but for its GTIDs and its collations; its JSON is a text that is checked."""

from collections.abc import Mapping
from typing import ClassVar, Final

from benchbook.databases.mysql.adapter import JSONTable, MySQLDocuments, MySQLTables
from benchbook.databases.mysql.log import MARIADB

_COLLATION: Final = "utf8mb4_nopad_bin"
_PACKET: Final = {"large_records": "MariaDB takes packets of 16 MB unless it is told otherwise (max_allowed_packet)"}


class MariaDBTables(MySQLTables):
    """A record is a row."""

    name = "mariadb+relational"
    product = "mariadb"
    collation = _COLLATION
    log = MARIADB
    lacks: ClassVar[Mapping[str, str]] = {**MySQLTables.lacks, **_PACKET}


class MariaDBTable(JSONTable):
    """A table of JSON texts."""

    collation = _COLLATION


class MariaDBDocuments(MySQLDocuments):
    """A record is a JSON text."""

    name = "mariadb+json"
    product = "mariadb"
    collation = _COLLATION
    log = MARIADB
    table = MariaDBTable
    lacks: ClassVar[Mapping[str, str]] = {**MySQLDocuments.lacks, **_PACKET}
