"""Bare code that inserts and finds comments with each driver, as a careful user writes it.

What is stored, what is waited for, what is read, drained and decoded is the same as the adapter's;
an answer is looked at where the driver does not do that itself. The store is the database's own,
made by its `create`.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from bare import documents, sql
from bare.base import Bare
from benchbook.servers.deployment import Deployment

__all__ = ["BARE", "Bare", "opened"]

BARE: Final[dict[str, type[Bare]]] = {
    "mongodb": documents.PyMongo,
    "mongodb+mongoengine": documents.MongoEngine,
    "postgresql+jsonb": sql.PsycopgDocuments,
    "postgresql+relational": sql.PsycopgRows,
    "mysql+json": sql.PyMySQLDocuments,
    "mysql+relational": sql.PyMySQLRows,
    "mariadb+json": sql.PyMySQLDocuments,
    "mariadb+relational": sql.PyMySQLRows,
    "couchdb": documents.Urllib3,
    "rethinkdb": documents.RethinkDB,
    "couchbase": documents.Couchbase,
}
"""Not SQL Server and ArangoDB, which have no server here."""


@contextmanager
def open_bare(name: str, deployment: Deployment, durability: str) -> Iterator[Bare]:
    """Yield bare code for a database's primary, closed at the end."""
    with ExitStack() as closing:
        yield BARE[name](deployment.node().url, durability, closing)
