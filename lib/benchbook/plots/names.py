"""Names in print of engines, models, codecs and stacks, and what must be said of an engine wherever it is shown."""

from typing import Final

import pandas as pd

from benchbook import registry, rooms

ENGINES: Final[dict[str, str]] = {
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
"""Engines as the papers print them and in the order of their tables, what they do not have beside what it resembles."""

STACKS: Final = {"python": "Python", "java": "Java", "node": "Node.js"}
"""The stack that did the work, by its lane."""

FORMATS: Final = {"json": "JSON", "xml": "XML"}

CODECS: Final = {
    "json": "json (standard library)",
    "etree": "etree (standard library)",
    "jackson": "Jackson",
    "jaxb": "JAXB",
    "jaxb_context": "JAXB, a context an object",
    "dom": "DOM",
    "xmldecoder": "XMLDecoder",
}
"""Libraries whose names in print are not those of their codecs."""

EXPERIMENTAL: Final = "experimental"
"""The mark in a table's cells."""


def engine(name: str) -> str:
    """Return the engine's name in print."""
    return ENGINES.get(name) or registry.title(name)


def room(name: str) -> str:
    """Return a room's name in print, that of having none too."""
    return "loopback" if name == rooms.NONE else name


def codec(name: str) -> str:
    """Return the codec's name in print: its library's."""
    return CODECS.get(name, name)


def ordered(labels: set[str]) -> list[str]:
    """Return engines' printed names in the papers' order, unknown ones last."""
    known = [label for label in ENGINES.values() if label in labels]
    return known + sorted(labels - set(known))


def caveats(rows: pd.DataFrame) -> dict[str, str]:
    """Return what must be said of each engine that these rows (column ``engine``) hold."""
    engines = sorted(rows["engine"].dropna().astype(str).unique())
    return {name: _caveat(name) for name in engines if _caveat(name)}


def _caveat(name: str) -> str:
    return f"{engine(name)} is {registry.EXPERIMENTAL}" if registry.is_experimental(name) else ""


def mark(caveat: str) -> str:
    """Return the mark of a number, to stand behind it in a table; empty when nothing must be said of it."""
    return EXPERIMENTAL if caveat else ""


def versions(rows: pd.DataFrame) -> dict[str, str]:
    """Return the versions of each engine's servers, those of experimental adapters marked as such."""
    rows = rows.dropna(subset=["engine", "engine_version"])
    by_engine = {}
    for name, group in rows[rows["engine_version"] != ""].groupby("engine"):
        text = ", ".join(sorted(set(group["engine_version"])))
        word = mark(_caveat(str(name)))
        by_engine[str(name)] = text if not word or word in text else f"{text} ({word})"
    return by_engine
