"""Labels: the names in print of databases, networks, languages, codecs, formats and metrics.

A label of a database goes with its caveat: a plug-in's adapter is marked until it was checked.
"""

import re
from typing import Final

import pandas as pd

from benchbook.analysis.study_means import find_unchecked
from benchbook.registry import products
from benchbook.servers import networks

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
"""Databases in the order of the papers' tables; others are next to the one that they resemble."""

LANGUAGES: Final = {"python": "Python", "java": "Java", "node": "Node.js"}
FORMATS: Final = {"json": "JSON", "xml": "XML"}

CODECS: Final = {
    "json": "json (standard library)",
    "etree": "etree (standard library)",
    "jackson": "Jackson",
    "jaxb": "JAXB",
    "moxy": "MOXy",
    "jaxb_context": "JAXB, one context per object",
    "dom": "DOM",
    "xmldecoder": "XMLDecoder",
}
"""Libraries whose names in print are not those of their codecs."""

NETWORKS: Final = {
    networks.NO_NETWORK: "loopback",
    "lan-100m": "100 Mbit/s",
    "lan-1g": "1 Gbit/s",
    "wan": "20 Mbit/s",
}

METRICS: Final = {
    "wall_time": "time",
    "elapsed_time": "time",
    "cpu_time": "CPU time",
    "size": "size",
    "bandwidth": "bandwidth",
    "bytes_received": "bytes",
    "card_bytes_sent": "bytes at the card, sent",
    "card_bytes_received": "bytes at the card, received",
    "cpu_percent": "share of the CPU",
    "cpu_user_percent": "user CPU share",
    "cpu_system_percent": "system CPU share",
    "memory_percent": "memory share",
    "memory_rss_mb": "resident memory",
    "memory_change_kb": "new memory",
}
"""Metrics that are compared as a ratio.

Times per object are not: their ratio is that of the times.
"""

UNCHECKED: Final = "not checked"
"""The mark of a plug-in's database whose server was not checked."""


def name_database(name: str) -> str:
    """Return the database's name in print."""
    return DATABASES.get(name) or products.format_title(name)


def name_network(name: str) -> str:
    """Return a network's name in print."""
    return NETWORKS.get(name, name)


def name_codec(name: str) -> str:
    """Return the codec's name in print: its library's."""
    return CODECS.get(name, name)


def write_settings(text: str) -> str:
    """Return settings as they are printed: ``case=1, n=10000`` as ``case = 1, n = 10,000``."""
    grouped = re.sub(r"\d{4,}", lambda digits: f"{int(digits[0]):,}", text)
    return grouped.replace("=", " = ")


def sort_databases(names: set[str]) -> list[str]:
    """Return databases' printed names in the papers' order, unknown ones last."""
    known = [name for name in DATABASES.values() if name in names]
    return known + sorted(names - set(known))


def list_caveats(rows: pd.DataFrame) -> dict[str, str]:
    """Return the caveat of each database in the column ``database`` that has one."""
    caveats = {}
    for name in sorted(rows["database"][find_unchecked(rows)].astype(str).unique()):
        product = products.parse_name(name).product
        remedy = f"benchbook servers check {product}"
        caveats[name] = f"{name_database(name)} is {UNCHECKED} on its server ({remedy})"
    return caveats


def list_versions(rows: pd.DataFrame) -> dict[str, str]:
    """Return the versions of each database's servers, those that were not checked marked."""
    rows = rows.dropna(subset=["database", "database_version"])
    rows = rows[rows["database_version"] != ""]
    by_database = {}
    for name, group in rows.groupby("database"):
        text = ", ".join(sorted(set(group["database_version"])))
        if find_unchecked(group).any() and UNCHECKED not in text:
            text = f"{text} ({UNCHECKED})"
        by_database[str(name)] = text
    return by_database
