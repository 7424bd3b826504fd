"""Names as tables and figures print them."""

from typing import Final

from benchbook import registry

ENGINES: Final[dict[str, str]] = {
    "sqlserver+relational": "Microsoft SQL Server",
    "mysql+relational": "MySQL",  # the papers' MySQL and PostgreSQL are relational
    "mysql@5.5+relational": "MySQL 5.5",
    "mysql+json": "MySQL, JSON",
    "mariadb+relational": "MariaDB",
    "mariadb+json": "MariaDB, JSON",
    "postgresql+relational": "PostgreSQL",
    "postgresql@9.6+relational": "PostgreSQL 9.6",
    "postgresql+jsonb": "PostgreSQL, JSONB",
    "postgresql@9.6+jsonb": "PostgreSQL 9.6, JSONB",
    "mongodb": "MongoDB",
    "mongodb+mongoengine": "MongoDB, mongoengine",
    "mongodb+async": "MongoDB, asynchronous",
    "mongodb+beanie": "MongoDB, beanie",
    "couchdb": "CouchDB",
    "couchbase": "Couchbase",
    "rethinkdb": "RethinkDB",
    "arangodb": "ArangoDB",
    "noop": "no database (the loop alone)",
}
"""Engines in the order of the papers' tables, what they do not have beside what it resembles."""

FORMATS: Final = {"json": "JSON", "xml": "XML"}

MODELS: Final = {
    "document": "JSON, a document",
    "json_text": "JSON as text",
    "xml_fields": "XML, field by field",
    "xml_text": "XML as text",
}


def engine(name: str) -> str:
    """Return the engine's name in print."""
    return ENGINES.get(name) or (registry.title(name) if name in registry.ENGINES else name)


def ordered(labels: set[str]) -> list[str]:
    """Return engines' printed names in the papers' order, unknown ones last."""
    known = [label for label in ENGINES.values() if label in labels]
    return known + sorted(labels - set(known))
