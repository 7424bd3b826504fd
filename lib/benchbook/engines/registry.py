"""Engines by name; an adapter, and its driver with it, is imported only when used."""

import importlib
from difflib import get_close_matches
from typing import Final

from benchbook.deployment import Deployment
from benchbook.engines.base import Durability, Engine, Options
from benchbook.engines.errors import EngineError

_ADAPTERS: Final = {
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
"""A name's module and class; another engine adds a line here and a module beside this one."""

NAMES: Final = tuple(_ADAPTERS)


def load(name: str) -> type[Engine]:
    """Import an adapter.

    Raises
    ------
    EngineError
        When there is none of that name, or its driver is not installed.
    """
    if name not in _ADAPTERS:
        near = get_close_matches(name, NAMES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(NAMES)}"
        raise EngineError(f"there is no engine {name!r}: {hint}")
    module, adapter = _ADAPTERS[name]
    try:
        found: type[Engine] = getattr(importlib.import_module(f"benchbook.engines.{module}"), adapter)
    except ModuleNotFoundError as error:
        raise EngineError(f"{name} needs the package {error.name!r}, which is not installed here") from error
    return found


def open(
    name: str,
    deployment: Deployment,
    *,
    durability: Durability = "default",
    constraints: bool = True,
    index: tuple[str, ...] = (),
) -> Engine:
    """Return an engine that is connected to the deployment's nodes; a context manager that closes it.

    Parameters
    ----------
    name
        One of `NAMES`.
    deployment
        Where it runs.
    durability, constraints, index
        As for `Options`.

    Raises
    ------
    UnreachableError
        When a server does not answer, or refuses the user.
    GapError
        When the engine cannot be had that way.
    EngineError
        When the deployment is another product's.
    """
    adapter = load(name)
    if deployment.product != adapter.product:
        raise EngineError(f"{name} runs on {adapter.product}, and this deployment is of {deployment.product}")
    return adapter(deployment, Options(durability, constraints, index))
