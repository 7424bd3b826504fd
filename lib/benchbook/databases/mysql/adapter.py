"""MySQL from 8.0.15 on and MariaDB through PyMySQL: one autocommit a statement.

PyMySQL is Python throughout and prepares nothing on the server: values are written into the statement. Durability is
set for the whole server, for a session cannot: ``default`` is the product's own (the redo log is flushed at each
commit; MySQL's binary log too, not MariaDB's), ``relaxed`` writes the redo log at each commit and
flushes it once a second, the binary log never, ``strict`` flushes both at each commit. What was set before comes back
when the database is closed. The user needs the right to set that, and to read the replication's status.

A single server writes no binary log of the records: MySQL from 8.0 on keeps one by default, flushed at each commit,
which MariaDB does not. With the option ``binary_log`` it stands as the server has it.

Texts compare by code point, blanks at the end included (before MySQL 8.0.17: without them). A key has 191 characters at
most, the most that every version indexes. MySQL knows no checkpoint on demand: `create` flushes the redo log.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from string import whitespace
from typing import ClassVar, Final

import orjson
import pymysql
from pymysql.converters import escape_string
from typing_extensions import override

from benchbook.databases.adapter import (
    EXACT,
    AdapterError,
    DuplicateKeyError,
    Options,
    RefusedError,
    UnreachableError,
    scalars,
)
from benchbook.databases.mysql.log import (
    MARIADB,
    MYSQL,
    MYSQL_8_0,
    NEW_WORDS,
    Connection,
    Log,
    Position,
    Replay,
    connect,
    disconnect,
    leave_out_of_log,
    limit,
    received,
)
from benchbook.databases.sql import SQL, DocumentTable, Relational, Row, RowTable, json_text
from benchbook.deployment import PATIENCE_S, Node, older
from benchbook.measure import Meter
from benchbook.schemas import Field, Record, Schema

_STATEMENT_B: Final = 2**18
"""What a statement has beside a record's texts, at most: a thousand columns' names."""
_ESCAPED_B: Final = 8
"""Bytes of a character in a statement at most: four, once escaped as JSON's and once as SQL's."""

KEY_LENGTH: Final = 191
KEY: Final = f"VARCHAR({KEY_LENGTH})"
"""The longest text that every version indexes."""

PADDING: Final = "utf8mb4_bin"
"""The collation that compares by code point in every version, and does not see the blanks at a text's end."""


def quoted(name: str) -> str:
    """Return a name as SQL, its ``%`` doubled: PyMySQL takes one for a placeholder."""
    return f"`{name.replace('`', '``').replace('%', '%%')}`"


def _texts(record: Record) -> Iterator[str]:
    """Yield the texts of a record's statement: those of its fields, and JSON of what is inside."""
    for value in record.values():
        if type(value) is str:
            yield value
        elif isinstance(value, dict | list):
            yield json_text(value)


class MySQL(SQL):
    """Connections and log positions; a model adds the table."""

    product = "mysql"
    title = "MySQL"
    databases_query = "SELECT schema_name FROM information_schema.schemata"
    make_statement = "CREATE DATABASE IF NOT EXISTS {}"
    drop_statement = "DROP DATABASE IF EXISTS {}"
    grant = "GRANT ALL ON `benchbook\\_%`.* TO"
    driver = f"pymysql {'.'.join(str(part) for part in pymysql.VERSION[:3])}"
    raises = (pymysql.Error, orjson.JSONEncodeError)
    kinds: ClassVar = {
        DuplicateKeyError: (1062,),
        RefusedError: (  # too large, or not of its column's type
            *(139, 1118, 1153, 1292, 1366, 3140, 4025),
            *(pymysql.DataError, pymysql.IntegrityError, orjson.JSONEncodeError),
        ),
        UnreachableError: (  # no room, no rights, no server
            *(1040, 1044, 1045, 1053, 1129, 1130, 1142, 1227, 1927, 2003, 2006, 2013),
            pymysql.InterfaceError,
        ),
    }
    server_settings: ClassVar = {
        "default": ("DEFAULT", "DEFAULT"),
        "relaxed": (2, 0),  # 2: written at each commit, flushed once a second
        "strict": (1, 1),
    }
    wait_resolution_ns = 200_000.0  # the position's round trip and the wait's
    since: ClassVar[Mapping[str, tuple[str, str]]] = {
        "trailing_blanks": ("8.0.17", "MySQL's collations pad: a text equals itself with blanks at its end")
    }
    collation: str = "utf8mb4_0900_bin"
    log: Log = MYSQL
    packet: ClassVar[int] = 64 * 2**20
    """Bytes of the longest statement, as the server is set by itself (``max_allowed_packet``)."""

    @override
    @classmethod
    def unfit_record(cls, record: Record, gaps: Mapping[str, str]) -> str:
        if len(record["_id"]) > KEY_LENGTH:
            return f"a key of {len(record['_id']):,} characters: an index takes {KEY_LENGTH} in every version"
        room = cls.packet - _STATEMENT_B
        length = sum(map(len, _texts(record)))
        if length * _ESCAPED_B > room and (size := cls.sent_size(record)) > room:
            return f"{size:,} bytes: {cls.title} takes statements of {cls.packet:,} (max_allowed_packet)"
        return super().unfit_record(record, gaps)

    @classmethod
    def sent_size(cls, record: Record) -> int:
        """Return the bytes that a record's texts take in a statement."""
        return sum(len(escape_string(value).encode()) for value in _texts(record))

    @property
    def ending(self) -> str:
        """What says how tables are kept and compared, whatever the database's defaults are."""
        return f" ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE {self.collation}"

    def position(self) -> Position:
        """Return where the primary's binary log ends; empty when it keeps none."""
        return tuple(value for row in self._rows(self.log.end) for value in row[:1])

    @override
    def code(self, error: Exception) -> int | str | None:
        return error.args[0] if error.args else None

    def text(self, error: Exception) -> str:
        """Return what the server said, with the error's number."""
        code, *texts = error.args or ("",)
        return " ".join(f"{' '.join(map(str, texts)) or 'the connection is closed'} ({code})".split())

    def _reached(self, position: Position, deadline_s: float) -> bool:
        if not any(position):
            raise AdapterError(f"{self.where}: its binary log has no GTIDs to wait for: set gtid_mode = ON")
        return self._replay.reaches(position, deadline_s)

    def _connect(self) -> None:
        if "trailing_blanks" in self.gaps:
            self.collation = PADDING
        if self.replicated:
            if self.log is MYSQL and older(self.deployment.node("replica").version, NEW_WORDS):
                self.log = MYSQL_8_0
            replica = partial(connect, self.deployment.node("replica").url)
            self._replay = self._kept(Replay(self.log, replica))
        super()._connect()

    def _session(self, node: Node) -> Connection:
        connection = connect(node.url)
        self._closing.callback(disconnect, connection)
        return connection

    def _prepare(self, schemas: Sequence[Schema]) -> None:
        super()._prepare(schemas)
        if not (self.replicated or self.options.binary_log):
            leave_out_of_log(self._sessions["primary"])
        self._run(f"USE {self.deployment.database}")

    def _server_setting(self) -> Row:
        """Return at which commits the redo log is flushed, and the binary log."""
        query = "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.sync_binlog"
        return tuple(self._rows(query)[0])

    def _set_server(self, values: Row) -> None:
        if values != self._server_setting():
            redo, binary = values
            flushed = f"innodb_flush_log_at_trx_commit = {redo}, GLOBAL sync_binlog = {binary}"
            self._run(f"SET GLOBAL {flushed}")

    def _set_back(self, before: Row) -> None:
        limit(self._sessions["primary"], PATIENCE_S)
        super()._set_back(before)

    def _checkpoint(self) -> None:
        """Flush every node's log, which has the database by now."""
        for connection in self._sessions.values():
            connection.select_db(self.deployment.database)
            connection.query("FLUSH LOCAL ENGINE LOGS")

    def _received(self) -> list[Meter]:
        """Return the bytes of the binary log that the replica has received."""
        read = partial(received, self.log, self._sessions["primary"], self._sessions["replica"])
        source = f"{self.log.status}: {self.log.offset} (binary log events)"
        return [Meter("bytes_received", "replica", "B", source, 1.0, read)]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        connection = self._sessions["primary"]
        connection.begin()
        try:
            yield
            connection.commit()
        except BaseException:
            if connection.open:
                connection.rollback()
            raise


class _JSONTable(DocumentTable):
    """A table of JSON documents, or of JSON texts in MariaDB, whose texts compare as its `collation` says."""

    types = (KEY, "JSON")
    merged = "JSON_MERGE_PATCH(doc, %s)"
    quoted = staticmethod(quoted)

    def __init__(self, schema: Schema, options: Options, collation: str) -> None:
        self.collation = collation
        super().__init__(schema, options)

    def sought_in(self, field: str) -> str:
        names = [known.name for known in self.schema.fields]
        return quoted(field) if field in self.options.index and field in names else super().sought_in(field)

    def extracted(self, field: str) -> str:
        path = escape_string(f"$.{orjson.dumps(field).decode()}").replace("%", "%%")
        return f"JSON_UNQUOTE(JSON_EXTRACT(doc, '{path}')) COLLATE {self.collation}"

    def index(self, field: str) -> str:
        generated = f"{KEY} COLLATE {self.collation} GENERATED ALWAYS AS ({self.extracted(field)}) VIRTUAL"
        return f"ALTER TABLE {self.name} ADD {quoted(field)} {generated}, ADD INDEX ({quoted(field)})"


_POWER: Final = 22
"""The powers of ten up to which a double holds each."""


def _is_inexact(number: float) -> bool:
    """Return whether a float's digits, or the power of ten that they are multiplied by, are no doubles themselves."""
    _, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    is_exact = int("".join(map(str, digits))) <= EXACT and abs(int(exponent)) <= _POWER
    return type(number) is float and not is_exact


_NEIGHBOURS: Final = "MySQL reads some floating-point numbers in JSON as their neighbours"


class MySQLDocuments(MySQL):
    """A record is a document."""

    name = "mysql+json"
    model = "document"
    lacks: ClassVar[Mapping[str, str]] = {"constraints": "a JSON document has none to leave out"}
    since: ClassVar[Mapping[str, tuple[str, str]]] = {
        **MySQL.since,
        "doubles": ("9.7", _NEIGHBOURS),
    }
    refused_numbers: ClassVar = {**MySQL.refused_numbers, "doubles": _is_inexact}

    @override
    @classmethod
    def sent_size(cls, record: Record) -> int:
        return len(escape_string(orjson.dumps(record).decode()).encode())

    def _connect(self) -> None:
        super()._connect()
        self.table = partial(_JSONTable, collation=self.collation)


class _RowTable(RowTable):
    """A table of rows."""

    types: ClassVar[Mapping[str, str]] = {
        "string": "LONGTEXT",
        "integer": "BIGINT",
        "float": "DOUBLE",
        "date": "DATE",
        "datetime": "DATETIME(3)",
        "boolean": "BOOLEAN",
        "json": "JSON",
    }
    quoted = staticmethod(quoted)

    def kind(self, field: Field) -> str:
        """Return a column's type: a key's is short enough to be indexed."""
        return KEY if field.name in self.keys else super().kind(field)

    def index(self, field: str) -> str:
        return f"CREATE INDEX {quoted(f'by {field}')} ON {self.name} ({quoted(field)}(191))"


_ROW_B: Final = 8_100
"""What half a page of InnoDB's takes of a row's values."""


def _refused_names(title: str) -> dict[str, Callable[[str], bool]]:
    """Return which columns' names a product that is called so does not take."""
    return {
        f"{title}'s names hold no U+0000": lambda name: "\0" in name,
        f"{title}'s names hold no character beyond U+FFFF": lambda name: max(name) > "\uffff",
        f"{title}'s names have 64 characters at most": lambda name: len(name) > 64,
        f"{title}'s names do not end in a blank": lambda name: name[-1] in whitespace,
    }


class MySQLTables(Relational, MySQL):
    """A record is a row."""

    name = "mysql+relational"
    table = _RowTable
    columns = 1_017
    apart = "MySQL tells columns apart without regard to case"
    refused_names = _refused_names(MySQL.title)
    lacks: ClassVar[Mapping[str, str]] = {
        "reference_without_index": "InnoDB indexes a foreign key by itself: asked for or not, that index is there"
    }
    in_row: ClassVar[tuple[int, int, int]] = (41, 40, 22)
    """Bytes on its page that a text is counted with at least, up to which it lies there whole, and has there if not."""

    @staticmethod
    def folded(name: str) -> str:
        """Return a column's name as MySQL compares it: character by character, in lower case."""
        return "".join(character.lower()[0] for character in name)

    inexact: ClassVar[Callable[[float], bool]] = staticmethod(_is_inexact)  # of the numbers in a column of JSON

    @override
    @classmethod
    def unfit_record(cls, record: Record, gaps: Mapping[str, str]) -> str:
        for name, value in record.items():
            for number in scalars(value) if isinstance(value, dict | list) else ():
                if type(number) is float and cls.inexact(number):
                    return f"the number {number!r}, in the field {name!r}: {_NEIGHBOURS}"
        if (size := cls._row_size(record)) > _ROW_B:
            return f"{len(record)} values, a row of {size:,} bytes or so: {cls.title}'s pages take one of {_ROW_B:,}"
        return super().unfit_record(record, gaps)

    @classmethod
    def _row_size(cls, record: Record) -> int:
        """Return the bytes that a row takes on its page at most; 0 where so few values cannot be too many."""
        least, whole, rest = cls.in_row
        if len(record) * max(cls.in_row) < _ROW_B - 4 * KEY_LENGTH:
            return 0
        size = max(least, 2 + len(record["_id"].encode()))
        for name, value in record.items():
            if isinstance(value, str | dict | list) and name != "_id":
                length = len((value if isinstance(value, str) else json_text(value)).encode())
                size += max(least, 2 + length if length <= whole else rest)
            elif name != "_id":
                size += 8
        return size


class _MariaDB(MySQL):
    """MariaDB from 10.5 on: as MySQL, but for its GTIDs and its collations."""

    product = "mariadb"
    title = "MariaDB"
    since: ClassVar[Mapping[str, tuple[str, str]]] = {}
    collation = "utf8mb4_nopad_bin"
    log = MARIADB
    lacks: ClassVar[Mapping[str, str]] = {
        "large_records": "MariaDB takes packets of 16 MB unless it is told otherwise (max_allowed_packet)"
    }
    packet = 16 * 2**20


class MariaDBTables(_MariaDB, MySQLTables):
    """A record is a row."""

    name = "mariadb+relational"
    lacks: ClassVar[Mapping[str, str]] = {**MySQLTables.lacks, **_MariaDB.lacks}
    # It keeps the text.
    inexact: ClassVar[Callable[[float], bool]] = staticmethod(lambda _: False)
    apart = "MariaDB tells columns apart without regard to case"
    refused_names = _refused_names(_MariaDB.title)
    in_row = (22, 40, 22)


class MariaDBDocuments(_MariaDB, MySQLDocuments):
    """A record is a JSON text, which MariaDB checks."""

    name = "mariadb+json"
    lacks: ClassVar[Mapping[str, str]] = {**MySQLDocuments.lacks, **_MariaDB.lacks}
