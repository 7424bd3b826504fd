"""MySQL from 8.0.15 on and MariaDB through PyMySQL: one autocommit per statement.

PyMySQL is Python throughout and prepares nothing on the server: values are written into the
statement. Durability is set for the whole server, because a session cannot set it: ``default`` is
the product's own (the redo log is flushed at each commit; MySQL's binary log too, not MariaDB's),
``relaxed`` writes the redo log at each commit and flushes it once a second, the binary log never,
``strict`` flushes both at each commit. The settings are restored when the adapter is closed. The
user needs the right to set them, and to read the replication's status.

A single server writes no binary log of the records: MySQL from 8.0 on keeps one by default, flushed
at each commit, which MariaDB does not. With the option ``binary_log`` the server's setting stays.

Texts compare by code point, blanks at the end included (before MySQL 8.0.17: without them). A key
has 191 characters at most, the most that every version indexes. MySQL has no checkpoint on demand:
`create` flushes the redo log.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import ClassVar, Final

import orjson
import pymysql
from pymysql.converters import escape_string
from typing_extensions import override

from benchbook.databases.adapter import (
    AdapterError,
    DuplicateKeyError,
    Options,
    RefusedError,
    UnreachableError,
)
from benchbook.databases.mysql.binary_log import (
    MARIADB_LOG,
    MYSQL_8_0_LOG,
    MYSQL_LOG,
    BinaryLog,
    GtidReplay,
    Position,
    count_received_bytes,
    disable_binary_log,
)
from benchbook.databases.mysql.server import (
    FIRST_WITH_REPLICA_WORDS,
    Connection,
    close_connection,
    connect,
    limit_answer_time,
)
from benchbook.databases.sql import (
    DocumentTable,
    RelationalAdapter,
    Row,
    RowTable,
    SQLAdapter,
)
from benchbook.measure import Meter
from benchbook.schema import Field, Schema
from benchbook.servers.deployment import PATIENCE_S, Node, is_older

KEY_LENGTH: Final = 191
"""Characters of the longest text that every version indexes."""

KEY_TYPE: Final = f"VARCHAR({KEY_LENGTH})"


def quote_name(name: str) -> str:
    """Return a name as SQL, its ``%`` doubled: PyMySQL takes one for a placeholder."""
    return f"`{name.replace('`', '``').replace('%', '%%')}`"


class MySQLAdapter(SQLAdapter):
    """Connections and log positions; a model adds the table."""

    product = "mysql"
    title = "MySQL"
    databases_query = "SELECT schema_name FROM information_schema.schemata"
    make_statement = "CREATE DATABASE IF NOT EXISTS {}"
    drop_statement = "DROP DATABASE IF EXISTS {}"
    grant = "GRANT ALL ON `benchbook\\_%`.* TO"
    driver = f"pymysql {'.'.join(str(part) for part in pymysql.VERSION[:3])}"
    driver_errors = (pymysql.Error, orjson.JSONEncodeError)
    error_types: ClassVar = {
        DuplicateKeyError: (1062,),
        # Too large, or not of its column's type.
        RefusedError: (
            *(139, 1118, 1153, 1292, 1366, 3140, 4025),
            *(pymysql.DataError, pymysql.IntegrityError, orjson.JSONEncodeError),
        ),
        # No space, no rights, no server.
        UnreachableError: (
            *(1021, 1026, 1114),
            *(1040, 1044, 1045, 1053, 1129, 1130, 1142, 1227, 1927, 2003, 2006, 2013),
            pymysql.InterfaceError,
        ),
    }
    server_settings: ClassVar = {
        "default": ("DEFAULT", "DEFAULT"),
        # 2: written at each commit, flushed once a second.
        "relaxed": (2, 0),
        "strict": (1, 1),
    }
    # The position's round trip and the wait's.
    wait_resolution_ns = 200_000.0
    first_versions: ClassVar[Mapping[str, tuple[str, str]]] = {
        "trailing_blanks": (
            "8.0.17",
            "MySQL's collations pad: a text equals itself with blanks at its end",
        )
    }
    collation: str = "utf8mb4_0900_bin"
    log: BinaryLog = MYSQL_LOG

    @property
    def table_options(self) -> str:
        """How tables are kept and compared, whatever the database's defaults are."""
        return f" ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE {self.collation}"

    def position(self) -> Position:
        """Return where the primary's binary log ends; empty when it keeps none."""
        return tuple(row[0] for row in self._fetch_rows(self.log.end_query))

    @override
    def read_error_code(self, error: Exception) -> int | str | None:
        return error.args[0] if error.args else None

    def describe_error(self, error: Exception) -> str:
        """Return the server's message with the error's number."""
        code, *texts = error.args or ("",)
        message = " ".join(map(str, texts)) or "the connection is closed"
        return " ".join(f"{message} ({code})".split())

    def _await_replica(self, position: Position, deadline_s: float) -> bool:
        if not any(position):
            raise AdapterError(
                f"{self.location}: its binary log has no GTIDs to wait for: set gtid_mode = ON"
            )
        return self._replay.wait_for(position, deadline_s)

    def _connect(self) -> None:
        if "trailing_blanks" in self.limitations:
            # Every version has this one, which ignores the blanks at a text's end.
            self.collation = "utf8mb4_bin"
        if self.is_replicated:
            replica = self.deployment.node("replica")
            if self.log is MYSQL_LOG and is_older(replica.version, FIRST_WITH_REPLICA_WORDS):
                self.log = MYSQL_8_0_LOG
            replay = GtidReplay(self.log, partial(connect, replica.url))
            self._replay = self._close_at_end(replay)
        super()._connect()

    def _open_session(self, node: Node) -> Connection:
        connection = connect(node.url)
        self._closing.callback(close_connection, connection)
        return connection

    def _prepare_stores(self, schemas: Sequence[Schema]) -> None:
        super()._prepare_stores(schemas)
        # By default MySQL keeps a log that MariaDB does not.
        if not (self.is_replicated or self.options.binary_log):
            disable_binary_log(self._sessions["primary"])
        self._execute(f"USE {self.deployment.database}")

    def _read_server_settings(self) -> Row:
        """Return at which commits the redo log is flushed, and the binary log."""
        query = "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.sync_binlog"
        return tuple(self._fetch_rows(query)[0])

    def _set_server_settings(self, values: Row) -> None:
        if values != self._read_server_settings():
            redo_log, binary_log = values
            self._execute(
                f"SET GLOBAL innodb_flush_log_at_trx_commit = {redo_log}, "
                f"GLOBAL sync_binlog = {binary_log}"
            )

    def _restore_server_settings(self, before: Row) -> None:
        limit_answer_time(self._sessions["primary"], PATIENCE_S)
        super()._restore_server_settings(before)

    def _checkpoint(self) -> None:
        """Flush every node's log, which has the database by now."""
        for connection in self._sessions.values():
            connection.select_db(self.deployment.database)
            connection.query("FLUSH LOCAL ENGINE LOGS")

    def _list_receive_counters(self) -> list[Meter]:
        """Return the bytes of the binary log that the replica has received."""
        nodes = self._sessions
        read = partial(count_received_bytes, self.log, nodes["primary"], nodes["replica"])
        source = f"{self.log.status_query}: {self.log.offset_column} (binary log events)"
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


class MySQLDocumentTable(DocumentTable):
    """A table of JSON documents, or of JSON texts in MariaDB, compared by `collation`."""

    column_types = (KEY_TYPE, "JSON")
    merge_expression = "JSON_MERGE_PATCH(doc, %s)"
    quote = staticmethod(quote_name)

    def __init__(self, schema: Schema, options: Options, collation: str) -> None:
        self.collation = collation
        super().__init__(schema, options)

    @override
    def express_field(self, field: str) -> str:
        # An indexed field has a column of its own.
        names = [known.name for known in self.schema.fields]
        if field in self.options.index and field in names:
            return quote_name(field)
        return super().express_field(field)

    @override
    def extract_field(self, field: str) -> str:
        path = escape_string(f"$.{orjson.dumps(field).decode()}").replace("%", "%%")
        return f"JSON_UNQUOTE(JSON_EXTRACT(doc, '{path}')) COLLATE {self.collation}"

    @override
    def build_index(self, field: str) -> str:
        name = quote_name(field)
        column = (
            f"{KEY_TYPE} COLLATE {self.collation} "
            f"GENERATED ALWAYS AS ({self.extract_field(field)}) VIRTUAL"
        )
        return f"ALTER TABLE {self.name} ADD {name} {column}, ADD INDEX ({name})"


class MySQLDocuments(MySQLAdapter):
    """A record is a document."""

    name = "mysql+json"
    model = "document"
    limitations: Mapping[str, str] = {"constraints": "a JSON document has none to leave out"}
    first_versions: ClassVar[Mapping[str, tuple[str, str]]] = {
        **MySQLAdapter.first_versions,
        "doubles": (
            "9.7",
            "MySQL reads some floating-point numbers in JSON as their neighbours",
        ),
    }

    def _connect(self) -> None:
        super()._connect()
        self.make_table = partial(MySQLDocumentTable, collation=self.collation)


class MySQLRowTable(RowTable):
    """A table of rows."""

    column_types: ClassVar[Mapping[str, str]] = {
        "string": "LONGTEXT",
        "integer": "BIGINT",
        "float": "DOUBLE",
        "date": "DATE",
        "datetime": "DATETIME(3)",
        "boolean": "BOOLEAN",
        "json": "JSON",
    }
    quote = staticmethod(quote_name)

    def choose_type(self, field: Field) -> str:
        """Return a column's type: a key's is short enough for an index."""
        return KEY_TYPE if field.name in self.keys else super().choose_type(field)

    @override
    def build_index(self, field: str) -> str:
        index = quote_name(f"by {field}")
        return f"CREATE INDEX {index} ON {self.name} ({quote_name(field)}({KEY_LENGTH}))"


class MySQLTables(RelationalAdapter, MySQLAdapter):
    """A record is a row."""

    name = "mysql+relational"
    make_table = MySQLRowTable
    limitations: Mapping[str, str] = {
        "reference_without_index": (
            "InnoDB indexes a foreign key by itself: asked for or not, that index is there"
        )
    }


class MariaDBAdapter(MySQLAdapter):
    """MariaDB from 10.5 on: as MySQL, except for its GTIDs and collations."""

    product = "mariadb"
    title = "MariaDB"
    first_versions: ClassVar[Mapping[str, tuple[str, str]]] = {}
    collation = "utf8mb4_nopad_bin"
    log = MARIADB_LOG
    limitations: Mapping[str, str] = {
        "large_records": (
            "MariaDB takes packets of 16 MB unless it is told otherwise (max_allowed_packet)"
        )
    }


class MariaDBTables(MariaDBAdapter, MySQLTables):
    """A record is a row."""

    name = "mariadb+relational"
    limitations: Mapping[str, str] = {**MySQLTables.limitations, **MariaDBAdapter.limitations}
    # MariaDB keeps the text.


class MariaDBDocuments(MariaDBAdapter, MySQLDocuments):
    """A record is a JSON text, which MariaDB checks."""

    name = "mariadb+json"
    limitations: Mapping[str, str] = {**MySQLDocuments.limitations, **MariaDBAdapter.limitations}
