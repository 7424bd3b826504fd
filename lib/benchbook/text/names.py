"""Names in print: of databases, models, networks, codecs, quantities, factors and their levels.

Every page, figure and command takes them from here, so that a thing has one name. Begin with
`name_level` and `name_metric`. A database of another package is not here:
`benchbook.registry.products.name_database` knows it, too.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

DATABASES: Final[dict[str, str]] = {
    "sqlserver+relational": "SQL Server",
    "mysql+relational": "MySQL (tables)",
    "mysql+json": "MySQL (JSON)",
    "mariadb+relational": "MariaDB (tables)",
    "mariadb+json": "MariaDB (JSON)",
    "postgresql+relational": "PostgreSQL (tables)",
    "postgresql+jsonb": "PostgreSQL (JSONB)",
    "mongodb": "MongoDB",
    "mongodb+mongoengine": "MongoDB (mongoengine)",
    "couchdb": "CouchDB",
    "couchbase": "Couchbase",
    "rethinkdb": "RethinkDB",
    "arangodb": "ArangoDB",
    "noop": "no database (the loop alone)",
}
"""Databases in the order of the papers' tables; others are next to the one that they resemble."""

MODES: Final = {"relational": "tables", "json": "JSON", "jsonb": "JSONB"}
"""How a database keeps records, by the end of its name."""

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

DRIVERS: Final = {"mongoclient": "MongoClient", "mongoose": "Mongoose"}

MODELS: Final = {
    "document": "JSON (document)",
    "json_text": "JSON (text)",
    "xml_fields": "XML (fields)",
    "xml_text": "XML (text)",
}
"""How a replicated document is kept."""

NETWORKS: Final = {
    "none": "loopback",
    "lan-100m": "100 Mbit/s",
    "lan-1g": "1 Gbit/s",
    "wan": "20 Mbit/s",
    "1core": "one core each",
}

METRICS: Final = {
    "wall_time": "time",
    "elapsed_time": "elapsed time",
    "catch_up_time": "catch-up time",
    "cpu_total": "CPU time",
    "cpu_time": "CPU time",
    "cpu_user": "user CPU time",
    "cpu_user_time": "user CPU time",
    "cpu_system": "system CPU time",
    "cpu_system_time": "system CPU time",
    "cpu_percent": "CPU share",
    "cpu_user_percent": "user CPU share",
    "cpu_system_percent": "system CPU share",
    "cpu_capacity": "time of all processors",
    "idle_percent": "idle share",
    "card_bytes_sent": "bytes at the card, sent",
    "card_bytes_received": "bytes at the card, received",
    "memory_rss": "resident memory",
    "memory_rss_mb": "resident memory",
    "memory_pss": "proportional memory (PSS)",
    "memory_pss_mb": "proportional memory (PSS)",
    "memory_change": "new memory",
    "memory_change_kb": "new memory",
    "heap_change": "new memory on the heap",
    "memory_percent": "memory share",
    "memory_used": "memory in use",
    "memory_total": "all memory",
    "memory_peak": "peak memory",
    "markup_size": "markup",
    "markup_percent": "markup share",
}
"""Metrics whose names in print are not theirs; one quantity in two units has one name."""

FACTORS: Final = {
    "json_codec": "JSON codec",
    "xml_codec": "XML codec",
    "held_mb": "held memory (MB)",
    "article_index": "index on articles",
}
"""Factors whose names in print are not theirs."""

LEVELS: Final[dict[str, Mapping[str, str]]] = {
    "language": LANGUAGES,
    "database": DATABASES,
    "format": FORMATS,
    "codec": CODECS,
    "json_codec": CODECS,
    "xml_codec": CODECS,
    "driver": DRIVERS,
    "model": MODELS,
    "arrays": {"json": "arrays in a column of JSON", "table": "arrays in tables of their own"},
    "topology": {"single": "one node", "replicated": "two nodes, replicated"},
    "process": {
        "together": "both in one process",
        "apart": "each in a process of its own",
        "operation": "each operation in a process of its own",
        "warm": "both in one process, warmed up",
    },
}
"""Levels whose names in print are not theirs, by factor; `name_network` names networks."""

SELF_EXPLAINING: Final = (
    *("operation", "role", "database", "driver", "format", "codec", "json_codec", "xml_codec"),
    *("topology", "process", "network"),
)
"""Factors whose levels are understood without the factor's name."""

CELL_STATES: Final = {"done": "done", "todo": "to do", "failed": "failed", "skipped": "skipped"}
"""The states of a cell, as they are printed."""

_SIDES: Final = (
    LANGUAGES
    | FORMATS
    | DRIVERS
    | MODELS
    | {name: CODECS[name] for name in ("jackson", "jaxb", "moxy", "xmldecoder", "dom")}
)
"""Levels that a claim's terms and titles name without their factors."""


def name_metric(metric: str) -> str:
    """Return the name of a metric's quantity."""
    return METRICS.get(metric, metric.replace("_", " "))


def name_factor(factor: str) -> str:
    """Return the name of a factor."""
    return FACTORS.get(factor, factor.replace("_", " "))


def name_level(factor: str, level: object) -> str:
    """Return the name of a factor's level."""
    if level is None:
        return "none"
    if isinstance(level, bool):
        return "yes" if level else "no"
    if isinstance(level, int | float):
        return f"{level:,}"
    text = str(level)
    if factor == "network":
        return name_network(text)
    if factor == "dataset_file":
        return Path(text).name
    return LEVELS.get(factor, {}).get(text, text)


def name_network(network: str) -> str:
    """Return the name of a network, whose own has its parts: ``lan-100m/1core``."""
    return ", ".join(NETWORKS.get(part, part) for part in network.split("/"))


def sort_databases(printed: Iterable[str]) -> list[str]:
    """Return the printed names of databases in the papers' order, others last."""
    names = {*printed}
    known = [name for name in DATABASES.values() if name in names]
    return known + sorted(names - {*known})


def write_settings(text: str) -> str:
    """Return settings as they are printed: ``case=1, n=10000`` as ``case = 1, n = 10,000``."""
    coded = r"\b(database|network)=([^\s,]+)"
    named = re.sub(coded, lambda match: f"{match[1]}={name_level(match[1], match[2])}", text)
    grouped = re.sub(r"(?<==)\d{4,}(?![\w.])", lambda digits: f"{int(digits[0]):,}", named)
    return grouped.replace("=", " = ")


def write_terms(text: str) -> str:
    """Return a claim's terms or titles as they are printed: ``xml / json`` as ``XML / JSON``."""
    named = re.sub(r"[a-z_]+", lambda word: _SIDES.get(word[0], word[0]), text)
    return write_settings(named)
