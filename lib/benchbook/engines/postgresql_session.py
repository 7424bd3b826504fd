"""A session with a PostgreSQL node, and SQL with names that the data gives."""

from typing import Any, LiteralString

import orjson
import psycopg
from psycopg import sql
from psycopg.types.json import set_json_dumps, set_json_loads

from benchbook.engines.base import PATIENCE_S

Connection = psycopg.Connection[tuple[Any, ...]]


def connect(url: str) -> Connection:
    """Return a connection with one autocommit a statement, in the schema ``benchbook``, UTC, and orjson for JSON."""
    connection = psycopg.connect(url, autocommit=True, connect_timeout=PATIENCE_S)
    connection.execute("SET search_path = benchbook")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET client_min_messages = warning")
    set_json_dumps(orjson.dumps, connection)
    set_json_loads(orjson.loads, connection)
    return connection


def statement(template: LiteralString, *names: str, **texts: str) -> bytes:
    """Return an SQL statement with quoted names and texts, their ``%`` doubled: psycopg takes one for a placeholder."""
    quoted = [sql.Identifier(name.replace("%", "%%")) for name in names]
    literals = {key: sql.Literal(text.replace("%", "%%")) for key, text in texts.items()}
    return sql.SQL(template).format(*quoted, **literals).as_bytes()
