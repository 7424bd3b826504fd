"""A session with a PostgreSQL node, and names and texts of the data as SQL."""

from typing import Any

import orjson
import psycopg
from psycopg import sql
from psycopg.types.json import set_json_dumps, set_json_loads

from benchbook.deployment import as_addressed
from benchbook.engines.options import PATIENCE_S

Connection = psycopg.Connection[tuple[Any, ...]]


def connect(url: str) -> Connection:
    """Return a connection with one autocommit a statement, in the schema ``benchbook``, UTC, and orjson for JSON."""
    with as_addressed():
        connection = psycopg.connect(url, autocommit=True, connect_timeout=PATIENCE_S)
    connection.execute("SET search_path = benchbook")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET client_min_messages = warning")
    set_json_dumps(orjson.dumps, connection)
    set_json_loads(orjson.loads, connection)
    return connection


def quoted(name: str) -> str:
    """Return a name as SQL, its ``%`` doubled: psycopg takes one for a placeholder."""
    return sql.Identifier(name.replace("%", "%%")).as_string()


def literal(text: str) -> str:
    """Return a text as SQL, its ``%`` doubled."""
    return sql.Literal(text.replace("%", "%%")).as_string()
