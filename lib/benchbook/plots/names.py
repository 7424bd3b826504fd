"""Names in print of databases, models, codecs and stacks, and what must be said of a database wherever it is shown."""

from typing import Final

import pandas as pd

from benchbook import networks, registry

DATABASES: Final[dict[str, str]] = {
    "sqlserver+relational": "Microsoft SQL Server",
    "mysql+relational": "MySQL",  # the papers' MySQL and PostgreSQL are relational
    "mysql+json": "MySQL, JSON",
    "mariadb+relational": "MariaDB",
    "mariadb+json": "MariaDB, JSON",
    "postgresql+relational": "PostgreSQL",
    "postgresql+jsonb": "PostgreSQL, JSONB",
    "mongodb": "MongoDB",
    "mongodb+mongoengine": "MongoDB, mongoengine",
    "couchdb": "CouchDB",
    "couchbase": "Couchbase",
    "rethinkdb": "RethinkDB",
    "arangodb": "ArangoDB",
    "noop": "no database (the loop alone)",
}
"""Databases as the papers print them, in the order of their tables; others stand beside the one they resemble."""

STACKS: Final = {"python": "Python", "java": "Java", "node": "Node.js"}
"""The stack that did the work, by its language."""

FORMATS: Final = {"json": "JSON", "xml": "XML"}

CODECS: Final = {
    "json": "json (standard library)",
    "etree": "etree (standard library)",
    "jackson": "Jackson",
    "jaxb": "JAXB",
    "moxy": "MOXy",
    "jaxb_context": "JAXB, a context an object",
    "dom": "DOM",
    "xmldecoder": "XMLDecoder",
}
"""Libraries whose names in print are not those of their codecs."""

EXPERIMENTAL: Final = "experimental"
"""The mark in a table's cells."""


def database(name: str) -> str:
    """Return the database's name in print."""
    return DATABASES.get(name) or registry.title(name)


NETWORKS: Final = {networks.NONE: "loopback", "lan-100m": "100 Mbit/s", "lan-1g": "1 Gbit/s", "wan": "20 Mbit/s"}
"""Networks in print; that of having none, too."""


def network(name: str) -> str:
    """Return a network's name in print."""
    return NETWORKS.get(name, name)


def codec(name: str) -> str:
    """Return the codec's name in print: its library's."""
    return CODECS.get(name, name)


def ordered(labels: set[str]) -> list[str]:
    """Return databases' printed names in the papers' order, unknown ones last."""
    known = [label for label in DATABASES.values() if label in labels]
    return known + sorted(labels - set(known))


def caveats(rows: pd.DataFrame) -> dict[str, str]:
    """Return what must be said of each database that these rows (column ``database``) hold."""
    databases = sorted(rows["database"].dropna().astype(str).unique())
    return {name: _caveat(name) for name in databases if _caveat(name)}


def _caveat(name: str) -> str:
    return f"{database(name)} is {registry.EXPERIMENTAL}" if registry.is_experimental(name) else ""


def mark(caveat: str) -> str:
    """Return the mark of a number, to stand behind it in a table; empty when nothing must be said of it."""
    return EXPERIMENTAL if caveat else ""


def versions(rows: pd.DataFrame) -> dict[str, str]:
    """Return the versions of each database's servers, those of experimental adapters marked as such."""
    rows = rows.dropna(subset=["database", "database_version"])
    by_database = {}
    for name, group in rows[rows["database_version"] != ""].groupby("database"):
        text = ", ".join(sorted(set(group["database_version"])))
        word = mark(_caveat(str(name)))
        by_database[str(name)] = text if not word or word in text else f"{text} ({word})"
    return by_database
