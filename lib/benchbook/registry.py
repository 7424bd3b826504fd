"""The registry: every engine's name with its adapter. Products, and what studies take, follow from it."""

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

_MODES: Final = ("mongodb+mongoengine", "mongodb+async", "mongodb+beanie")

STORES: Final = tuple(name for name in ENGINES if name not in (*_MODES, "noop"))
"""Engines that are a database by itself: no mapper over one or second client of one, nor none."""

PRODUCTS: Final = tuple(dict.fromkeys(name.partition("+")[0] for name in ENGINES if name != "noop"))
"""What engines run on. An old version, ``product@version``, is a product of its own: a grid may compare the two."""


def server(product: str) -> str:
    """Return the module of a product's servers: ``benchbook.servers.mysql_5_5`` for ``mysql@5.5``."""
    return f"benchbook.servers.{product.replace('@', '_').replace('.', '_')}"
