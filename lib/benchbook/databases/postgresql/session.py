"""A session with PostgreSQL, as adapters and those who start its servers open it."""

from typing import Any

import psycopg

from benchbook.deployment import PATIENCE_S
from benchbook.servers.address import as_addressed

Connection = psycopg.Connection[tuple[Any, ...]]


def connect(url: str) -> Connection:
    """Return a connection with one autocommit a statement; `psycopg.Error` when there is none in `PATIENCE_S`."""
    with as_addressed():
        return psycopg.connect(url, autocommit=True, connect_timeout=PATIENCE_S)
