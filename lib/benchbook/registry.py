"""The registry: every engine's name with its adapter, and which met no real server.

Products, and what studies take, follow from it.
"""

from typing import Final

ENGINES: Final[dict[str, tuple[str, str]]] = {
    "mongodb": ("mongodb", "MongoDB"),
    "mongodb+mongoengine": ("mongoengine", "MongoEngine"),
    "mongodb+async": ("mongodb_async", "AsyncMongoDB"),
    "mongodb+beanie": ("beanie", "Beanie"),
    "postgresql+jsonb": ("postgresql_jsonb", "PostgreSQLDocuments"),
    "postgresql+relational": ("postgresql_relational", "PostgreSQLTables"),
    "mysql+json": ("mysql_json", "MySQLDocuments"),
    "mysql+relational": ("mysql_relational", "MySQLTables"),
    "mariadb+json": ("mariadb", "MariaDBDocuments"),
    "mariadb+relational": ("mariadb", "MariaDBTables"),
    "mysql@5.5+relational": ("mysql_5_5", "OldMySQLTables"),
    "postgresql@9.6+jsonb": ("postgresql_9_6", "OldPostgreSQLDocuments"),
    "postgresql@9.6+relational": ("postgresql_9_6", "OldPostgreSQLTables"),
    "couchdb": ("couchdb", "CouchDB"),
    "rethinkdb": ("rethinkdb", "RethinkDB"),
    "couchbase": ("couchbase", "Couchbase"),
    "sqlserver+relational": ("sqlserver", "SQLServer"),
    "arangodb": ("arangodb", "ArangoDB"),
    "noop": ("noop", "NoOp"),
}
"""An engine's module in `benchbook.engines` and its class there. A name is its product, after ``+`` the mode of it."""

UNTESTED: Final[dict[str, str]] = {
    "couchdb": "CouchDB itself (what ran here was PouchDB's server, its stand-in)",
    "rethinkdb": "replication (what ran here was a stand-in without it)",
    "couchbase": "XDCR, queries and durability (what ran here was a stand-in without them)",
    "sqlserver": "all of it (its SQL is parsed as T-SQL, no more)",
    "arangodb": "all of it (nothing stands in for ArangoDB)",
}
"""What of a product's adapter never met a real server while it was written: told wherever results are read."""

_MODES: Final = ("mongodb+mongoengine", "mongodb+async", "mongodb+beanie")

STORES: Final = tuple(name for name in ENGINES if name not in (*_MODES, "noop"))
"""Engines that are a database by itself: no mapper over one or second client of one, nor none."""

PRODUCTS: Final = tuple(dict.fromkeys(name.partition("+")[0] for name in ENGINES if name != "noop"))
"""What engines run on. An old version, ``product@version``, is a product of its own: a grid may compare the two."""


def untested(engine: str) -> str:
    """Return what of an engine's adapter never met a real server; empty when all did, or when there is no adapter."""
    return UNTESTED.get(engine.partition("+")[0], "")


def server(product: str) -> str:
    """Return the module of a product's servers: ``benchbook.servers.mysql_5_5`` for ``mysql@5.5``."""
    return f"benchbook.servers.{product.replace('@', '_').replace('.', '_')}"
