"""The registry: every database's name and adapter, and what is known of a product before any of its servers runs.

What is true of a product alone stands in its folder, `benchbook.databases.<folder>`: in the folder's own module what is
known of it, beside that its adapters and servers. Whoever adds a database adds its folder there, a line here and a unit
to `benchbook.grid.units`. Nothing is imported until it is used, and nothing that stands here changes what is measured.

An installed package may announce more of them (`benchbook.plugins`, group ``benchbook.databases``): its own package
is then what a folder is here.
"""

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

from benchbook import plugins

_OWN: Final[dict[str, str]] = {
    "mongodb": "mongodb.adapter:MongoDB",
    "mongodb+mongoengine": "mongodb.mongoengine:MongoEngine",
    "postgresql+jsonb": "postgresql.adapter:PostgreSQLDocuments",
    "postgresql+relational": "postgresql.adapter:PostgreSQLTables",
    "mysql+json": "mysql.adapter:MySQLDocuments",
    "mysql+relational": "mysql.adapter:MySQLTables",
    "mariadb+json": "mysql.adapter:MariaDBDocuments",
    "mariadb+relational": "mysql.adapter:MariaDBTables",
    "couchdb": "couchdb.adapter:CouchDB",
    "rethinkdb": "rethinkdb.adapter:RethinkDB",
    "couchbase": "couchbase.adapter:Couchbase",
    "sqlserver+relational": "sqlserver.adapter:SQLServer",
    "arangodb": "arangodb.adapter:ArangoDB",
    "noop": "noop:NoOp",
}
"""A database's module in `benchbook.databases` and its class there."""

DATABASES: Final[dict[str, str]] = {
    **{name: f"benchbook.databases.{where}" for name, where in _OWN.items()},
    **{name: f"{entry.module}:{entry.attribute}" for name, entry in plugins.added("databases", tuple(_OWN)).items()},
}
"""A database's module and its class there, those of other packages last."""

_MODES: Final = {"relational": "tables", "json": "JSON", "jsonb": "JSONB"}

STORES: Final = tuple(name for name in DATABASES if name not in ("mongodb+mongoengine", "noop"))
"""Databases that are a database by itself, not a mapper over one and not `noop`."""


class DatabaseName(NamedTuple):
    """A database's name in its parts.

    ``mysql+relational`` runs on the product ``mysql`` in the mode ``relational``.
    ``noop`` runs on the product ``none``.
    """

    product: str
    mode: str


def parsed(name: str) -> DatabaseName:
    """Return a database's or a product's name in its parts."""
    product, _, mode = name.partition("+")
    return DatabaseName("none" if product == "noop" else product, mode)


PRODUCTS: Final = tuple(dict.fromkeys(parsed(name).product for name in DATABASES if parsed(name).product != "none"))
"""What databases run on."""


@dataclass(frozen=True)
class Artefact:
    """A jar with a server in it."""

    coordinates: str  # Maven's
    sha256: str


@dataclass(frozen=True)
class Package:
    """How a product's own servers are had on this machine."""

    programs: tuple[str, ...]  # what it takes, the server itself first
    get: str  # how to get them, for who has not and gives no address
    wheel: str = ""  # the wheel that may hold them
    folder: str = ""  # where in the wheel
    places: tuple[str, ...] = ()  # folders that are searched after PATH, the highest version first
    release: str = ""  # what, beside a server that does not say its version, has that at the end of its name
    excludes: str = ""  # another product that goes by the same program's name
    artefact: Artefact | None = None  # what set-up fetches: taken last


@dataclass(frozen=True)
class Image:
    """A product's own image, by its makers or in Docker's official library. A run never fetches one."""

    reference: str  # where a container engine fetches it from, and its default tag; each row has the digest
    licence: str
    folder: str = ""  # where its programs lie in it, if not on its PATH
    port: int = 0  # at which alone its server listens, on a bridge of its own; 0: where it is told, on loopback
    memory_gb: float = 0  # without which free a server of it does not start
    terms: bool = False  # whether its maker's are its user's to accept: then `ACCEPTED` must be exported


ACCEPTED: Final = ("ACCEPT_EULA", "Y")
"""The environment variable by which a user, and nobody else, accepts the terms of a maker, and its value."""


@dataclass(frozen=True)
class Product:
    """What is known of a product before a server of it runs."""

    title: str  # its name in print
    schemes: tuple[str, ...]  # how its addresses begin
    processes: tuple[str, ...]  # what its servers are called among processes
    servers: str = ""  # the class in its folder's ``server.py`` that asks and starts them, if not the module itself
    package: Package | None = None  # how a server is had here: itself, or where that is absent
    image: Image | None = None  # whose programs are started in containers; with neither, it is used by its address
    oldest: str = ""  # the version from which on a server knows all that we ask of it: log positions, functions
    lacks: Mapping[str, str] = field(default_factory=dict)  # of `Adapter.lacks`, what must be known without its driver
    bidirectional: bool = False  # whether each of two nodes can replicate from the other
    several_hosts: bool = False  # whether its driver finds the right one among several hosts in one address
    host_option: str = ""  # the option by which an address may name its host, too
    extra_driver: str = ""  # the package of its driver that the extra of its name brings; empty: always installed
    tested_on: str | None = None  # the versions that its adapters passed all tests on; None: experimental


EXPERIMENTAL: Final = "experimental: never run against the product"
"""What is said of a database whose product has no ``tested_on``."""


def adapter(database: str) -> tuple[str, str]:
    """Return the module and the name of a database's adapter; `KeyError` when there is no such database."""
    module, _, name = DATABASES[database].partition(":")
    return module, name


def product(name: str) -> Product:
    """Return what is known of a product; `KeyError` when there is none of that name."""
    known: Product = importlib.import_module(_folder(name)).PRODUCTS[name]
    return known


def images() -> dict[str, Image]:
    """Return the images that products have, by product."""
    return {name: image for name in PRODUCTS if (image := product(name).image)}


def server_module(product: str) -> str:
    """Return the module that asks and starts a product's servers."""
    return f"{_folder(product)}.server"


def known(database: str) -> Product:
    """Return what is known of a database's product: nothing where it has none, or there is no such database."""
    name = parsed(database).product
    return product(name) if name in PRODUCTS else Product("", (), ())


def lacks(database: str, capability: str) -> bool:
    """Return whether a product is known to lack something in every way that it is used."""
    return capability in known(database).lacks


def is_experimental(database: str) -> bool:
    """Return whether a database's adapter never ran against its product: then it decides no claim."""
    name = parsed(database).product
    return name in PRODUCTS and product(name).tested_on is None


def missing_driver(name: str) -> str:
    """Return which extra brings the driver of a database or a product; empty when it is installed."""
    of_product = known(name)
    driver = of_product.extra_driver
    if not driver or importlib.util.find_spec(driver):
        return ""
    return f"{of_product.title}'s driver is not installed: install benchbook[{parsed(name).product}]"


def title(database: str) -> str:
    """Return a database's name in print: ``MySQL (tables)``; ``CouchDB``, which has one model only; ``noop``."""
    name = parsed(database)
    if not (printed := known(database).title):
        return database
    alone = sum(parsed(store).product == name.product for store in STORES) == 1
    return printed if alone or not name.mode else f"{printed} ({_MODES.get(name.mode, name.mode)})"


@cache
def _folder(product: str) -> str:
    """Return the folder of a product's adapters, as a package; `KeyError` when there is none."""
    databases = [database for database in DATABASES if parsed(database).product == product]
    if product == "none" or not databases:
        raise KeyError(product)
    return adapter(databases[0])[0].rpartition(".")[0]
