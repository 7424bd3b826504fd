"""Databases, each behind one contract: `adapter.Adapter`, a store's verbs on running servers, without any timing.

In comes a database's name and a `Deployment` (what `benchbook.servers` has running), out comes the connected adapter:
`open`; records go in and come back as they were. An adapter, and its driver with it, is imported only when used. Begin
with `adapter`, then `connected` (what all with servers do alike) and one product's folder. `sql` is what SQL
databases share.
"""

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

from benchbook import registry, servers
from benchbook.databases.adapter import Adapter as Adapter
from benchbook.databases.adapter import AdapterError as AdapterError
from benchbook.databases.adapter import DocumentSchema as DocumentSchema
from benchbook.databases.adapter import DuplicateKeyError as DuplicateKeyError
from benchbook.databases.adapter import Durability as Durability
from benchbook.databases.adapter import GapError as GapError
from benchbook.databases.adapter import MissingRecordError as MissingRecordError
from benchbook.databases.adapter import Options as Options
from benchbook.databases.adapter import RefusedError as RefusedError
from benchbook.databases.adapter import UnreachableError as UnreachableError
from benchbook.databases.connected import Connected as Connected
from benchbook.deployment import FRESH_DATABASE, Deployment, Node, Topology, day_of
from benchbook.schemas import Record, Schema
from benchbook.servers.address import find_fault, variables

NAMES: Final = tuple(registry.DATABASES)

Arrays = Literal["json", "table"]
"""What a record's array is in a relational database: a column of JSON, or a table with a row for each element."""

if TYPE_CHECKING:
    Name = str
    StoreName = str
else:  # what pydantic checks, and names in its errors
    Name = Literal[NAMES]
    StoreName = Literal[registry.STORES]


@dataclass(frozen=True)
class Stored:
    """What a database is given on the servers of a topology: it keeps each record."""

    database: str
    topology: Topology = "single"
    arrays: Arrays = "json"

    def hold(self, schema: Schema, records: Sequence[Record]) -> None:
        """Raise `UnfitError` at the first record that the database does not take; nothing is asked of any server.

        What depends on servers is that of those which would be used; where there are none, nothing is held.
        """
        server = servers.find(registry.parsed(self.database).product, self.topology)
        if isinstance(server, servers.Found):
            adapter = load(self.database, self.arrays)
            gaps = {**adapter.lacks_in([server.version]), **adapter.lacks_on({})}
            adapter.hold(schema, records, gaps)


def load(name: str, arrays: Arrays = "json") -> type[Adapter]:
    """Import an adapter; `AdapterError` when there is none of that name, or its driver is not installed."""
    if name not in NAMES:
        near = get_close_matches(name, NAMES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(NAMES)}"
        raise AdapterError(f"there is no database {name!r}: {hint}")
    why = registry.missing_driver(name)
    if why:
        raise AdapterError(why)
    module, class_name = registry.adapter(name)
    try:
        adapter: type[Adapter] = getattr(importlib.import_module(module), class_name)
    except ModuleNotFoundError as error:
        raise AdapterError(f"{name} needs the package {error.name!r}, which is not installed here") from error
    if arrays == "json":
        return adapter
    # SQL is imported only when used.
    from benchbook.databases.child_tables import with_child_tables

    return with_child_tables(adapter)


def modules(name: str, arrays: Arrays = "json") -> tuple[str, ...]:
    """Return what using a database imports: the modules of its adapter and of its product's servers."""
    adapter, product = registry.adapter(name)[0], registry.parsed(name).product
    tables = () if arrays == "json" else ("benchbook.databases.child_tables",)
    return (adapter, *tables) if product == "none" else (adapter, registry.server_module(product), *tables)


def open(
    name: str,
    deployment: Deployment,
    *,
    durability: Durability = "default",
    constraints: bool = True,
    index: tuple[str, ...] = (),
    counted: bool = False,
    binary_log: bool = False,
    document_schema: DocumentSchema = "required",
    arrays: Arrays = "json",
    client_of: Adapter | None = None,
) -> Adapter:
    """Return a database that is connected to the deployment's nodes, with `Options`; a context manager that closes it.

    `UnreachableError` when a server does not answer, or refuses the user; `GapError` when the database cannot be had
    that way; `AdapterError` when the deployment is another product's.
    """
    adapter = load(name, arrays)
    if deployment.product != adapter.product:
        raise AdapterError(f"{name} runs on {adapter.product}, and this deployment is of {deployment.product}")
    return adapter(deployment, Options(durability, constraints, index, counted, binary_log, document_schema, client_of))


@contextmanager
def use_fresh_database(deployment: Deployment) -> Iterator[None]:
    """Make the deployment's database on servers that a user gives, and drop it at the end.

    On our own servers do nothing. The databases of other runs are listed on standard error.
    `AdapterError` when the user may not make one.
    """
    if not deployment.given:
        yield
        return
    name = deployment.database
    addresses = variables(deployment.product, deployment.topology).values()
    clean = f"benchbook servers clean {' '.join(addresses)}"
    with _open_any(deployment) as adapter:
        # Say what killed runs left.
        others = list_run_databases(adapter)
        if name in others:
            raise AdapterError(f"{adapter.where}: the database {name} exists: run again")
        if others:
            listed = ", ".join(f"{other} of {day_of(other)}" for other in others)
            found = f"{adapter.where}: databases of other runs: {listed}"
            _warn_once(f"{found}; if those were killed: {clean}")
        # Make ours.
        try:
            adapter.make_database()
        except AdapterError as error:
            raise type(error)(f"{error}; its user needs {adapter.grant}") from error
    try:
        yield
    finally:
        try:
            with _open_any(deployment) as adapter:
                adapter.drop_database(name)
        except AdapterError as error:
            _warn_once(f"the database {name} is still there: {error}; to remove it: {clean}")


@cache
def _warn_once(text: str) -> None:
    print(f"benchbook: {text}", file=sys.stderr)


def list_run_databases(adapter: Connected[Any]) -> list[str]:
    """Return the databases that runs made on a user's server, those in use too."""
    return [name for name in adapter.list_databases() if FRESH_DATABASE.fullmatch(name)]


def open_address(url: str) -> Connected[Any]:
    """Return a database at the address of a user's server.

    `AdapterError` when it is no address of a product, or nothing answers there.
    """
    scheme = url.partition("://")[0]
    products = [name for name in registry.PRODUCTS if scheme in registry.product(name).schemes]
    if not products:
        raise AdapterError("the address must begin with a product's scheme, such as postgresql://")
    fault = find_fault(products[0], url)
    if fault:
        raise AdapterError(f"the address {fault}")
    node = Node("primary", url, None, "")
    return _open_any(Deployment(products[0], "single", (node,), {"source": "address"}))


def _open_any(deployment: Deployment) -> Connected[Any]:
    """Return the first of a product's databases: they all share its databases."""
    name = next(name for name in NAMES if registry.parsed(name).product == deployment.product)
    database = load(name)(deployment, Options())
    assert isinstance(database, Connected)
    return database
