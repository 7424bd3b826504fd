"""MariaDB from 10.5 on: as MySQL, but for its GTIDs and its collations; its JSON is a text that is checked."""

from typing import Final

from benchbook.engines import mysql_log
from benchbook.engines.mysql_json import JSONTable, MySQLDocuments
from benchbook.engines.mysql_relational import MySQLTables

_COLLATION: Final = "utf8mb4_nopad_bin"


class MariaDBTables(MySQLTables):
    """A record is a row."""

    name = "mariadb+relational"
    product = "mariadb"
    collation = _COLLATION
    log = mysql_log.MARIADB


class MariaDBTable(JSONTable):
    """A table of JSON texts."""

    collation = _COLLATION


class MariaDBDocuments(MySQLDocuments):
    """A record is a JSON text."""

    name = "mariadb+json"
    product = "mariadb"
    collation = _COLLATION
    log = mysql_log.MARIADB
    table = MariaDBTable
