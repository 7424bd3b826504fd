"""Rows and JSON documents on psycopg and PyMySQL."""

# ruff: noqa: D102, what a method does is said in the base class

from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any, Final

import orjson
import psycopg
import pymysql
from psycopg.types.json import Jsonb, set_json_dumps, set_json_loads
from pymysql.constants import FIELD_TYPE
from pymysql.converters import conversions

from bare.base import Bare, Record, Records
from benchbook.servers.address import read_login

COLUMNS: Final = ("_id", "article_id", "author", "email", "created_at", "title", "content")
INSERT_ROW: Final = (
    f"INSERT INTO comments ({', '.join(COLUMNS)}) VALUES (%s, %s, %s, %s, %s, %s, %s)"
)
FIND_ROWS: Final = f"SELECT {', '.join(COLUMNS)} FROM comments WHERE article_id = %s"
INSERT_DOCUMENT: Final = "INSERT INTO comments (_id, doc) VALUES (%s, %s)"


class Rows(Bare):
    """Rows are made dictionaries."""

    cursor: Any

    def insert(self, records: Records) -> None:
        cursor = self.cursor
        for record in records:
            cursor.execute(INSERT_ROW, tuple(record.values()))

    def find(self, values: Sequence[str]) -> list[list[Record]]:
        cursor, found = self.cursor, []
        for value in values:
            cursor.execute(FIND_ROWS, (value,))
            found.append([dict(zip(COLUMNS, row, strict=True)) for row in cursor.fetchall()])
        return found


class PsycopgRows(Rows):
    """Bulk inserts are one pipeline."""

    COMMIT: Final = {
        "default": (),
        "relaxed": ("SET synchronous_commit = off",),
        "strict": ("SET synchronous_commit = on",),
    }

    def connect(self) -> None:
        self.connection = self.closing.enter_context(
            closing(psycopg.connect(self.url, autocommit=True))
        )
        for setting in (
            "SET search_path = benchbook",
            "SET TimeZone = 'UTC'",
            *self.COMMIT[self.durability],
        ):
            self.connection.execute(setting)
        self.cursor = self.connection.cursor()

    def insert_many(self, records: Records) -> None:
        with self.connection.transaction():
            self.cursor.executemany(INSERT_ROW, [tuple(record.values()) for record in records])


class PsycopgDocuments(PsycopgRows):
    """Documents go through orjson."""

    def connect(self) -> None:
        super().connect()
        set_json_dumps(orjson.dumps, self.connection)
        set_json_loads(orjson.loads, self.connection)
        # A cursor keeps to what its connection was told before.
        self.cursor = self.connection.cursor()

    def insert(self, records: Records) -> None:
        cursor = self.cursor
        for record in records:
            cursor.execute(INSERT_DOCUMENT, (record["_id"], Jsonb(record)))

    def insert_many(self, records: Records) -> None:
        rows = [(record["_id"], Jsonb(record)) for record in records]
        with self.connection.transaction():
            self.cursor.executemany(INSERT_DOCUMENT, rows)

    def find(self, values: Sequence[str]) -> list[list[Record]]:
        cursor, found = self.cursor, []
        for value in values:
            cursor.execute("SELECT doc FROM comments WHERE doc->>'article_id' = %s", (value,))
            documents = [document for (document,) in cursor.fetchall()]
            for document in documents:
                document["created_at"] = datetime.fromisoformat(document["created_at"])
            found.append(documents)
        return found


class PyMySQLRows(Rows):
    """Moments are read as such, in UTC, without PyMySQL's regular expression."""

    def connect(self) -> None:
        moment: Any = {
            FIELD_TYPE.DATETIME: lambda text: datetime.fromisoformat(text).replace(tzinfo=UTC)
        }
        settings: dict[str, Any] = {
            "database": "benchbook",
            "charset": "utf8mb4",
            "autocommit": True,
            "ssl_disabled": True,
        }
        connection = pymysql.connect(
            **read_login(self.url, 3306), **settings, conv=conversions | moment
        )
        self.connection = self.closing.enter_context(closing(connection))
        self.cursor = self.connection.cursor()

    def insert_many(self, records: Records) -> None:
        self.commit_rows(INSERT_ROW, [tuple(record.values()) for record in records])

    def commit_rows(self, statement: str, rows: list[Any]) -> None:
        self.connection.begin()
        try:
            self.cursor.executemany(statement, rows)
            self.connection.commit()
        except BaseException:
            self.connection.rollback()
            raise


class PyMySQLDocuments(PyMySQLRows):
    """What the database searches is the column that it adds for an index."""

    def insert(self, records: Records) -> None:
        cursor = self.cursor
        for record in records:
            cursor.execute(INSERT_DOCUMENT, (record["_id"], orjson.dumps(record).decode()))

    def insert_many(self, records: Records) -> None:
        self.commit_rows(
            INSERT_DOCUMENT, [(record["_id"], orjson.dumps(record).decode()) for record in records]
        )

    def find(self, values: Sequence[str]) -> list[list[Record]]:
        cursor, found = self.cursor, []
        for value in values:
            cursor.execute("SELECT doc FROM comments WHERE article_id = %s", (value,))
            documents = [orjson.loads(text) for (text,) in cursor.fetchall()]
            for document in documents:
                document["created_at"] = datetime.fromisoformat(document["created_at"])
            found.append(documents)
        return found
