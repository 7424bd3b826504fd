"""The databases by their names: loads and opens adapters, and makes a run's own database.

`open_adapter` connects an adapter to a deployment. `use_fresh_database` makes a database of a new
name on a user's server and drops it at the end.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

from benchbook.databases.adapter import Adapter, AdapterError, Options
from benchbook.databases.server_adapter import ServerAdapter
from benchbook.registry import products
from benchbook.servers.address import find_fault, name_url_variables
from benchbook.servers.deployment import (
    FRESH_DATABASE_PATTERN,
    Deployment,
    Node,
    read_day,
)
from benchbook.text.suggestions import suggest_name

DATABASE_NAMES: Final = tuple(products.ADAPTERS)

Arrays = Literal["json", "table"]
"""How a relational database keeps an array: a column of JSON, or a table with a row per element."""

# pydantic checks the names and lists them in its errors.
if TYPE_CHECKING:
    StoreName = str
else:
    StoreName = Literal[products.STORES]


def load_adapter(name: str, arrays: Arrays = "json") -> type[Adapter]:
    """Import the adapter of a database.

    Raises `AdapterError` for an unknown name, or when its plug-in or driver is not installed.
    """
    if name not in DATABASE_NAMES:
        advice = suggest_name(name, DATABASE_NAMES)
        raise AdapterError(f"there is no database {name!r}: {advice}")
    remedy = products.find_missing_plugin(name)
    if remedy:
        raise AdapterError(f"{name}: {remedy}")
    module, class_name = products.find_adapter(name)
    try:
        adapter: type[Adapter] = getattr(importlib.import_module(module), class_name)
    except ModuleNotFoundError as error:
        raise AdapterError(
            f"{name} needs the package {error.name!r}, which is not installed here"
        ) from error
    if arrays == "json":
        return adapter
    # SQL is imported only when used: a cell of another database has no code of its unit.
    from benchbook.databases.child_tables import add_child_tables

    return add_child_tables(adapter)


def list_modules(name: str, arrays: Arrays = "json") -> tuple[str, ...]:
    """Return the modules that measure with a database: of its adapter and its servers."""
    if products.find_missing_plugin(name):
        return ()
    modules = [products.find_adapter(name)[0]]
    product = products.parse_name(name).product
    if product != "none":
        modules.append(products.name_server_module(product))
    if arrays != "json":
        modules.append("benchbook.databases.child_tables")
    return tuple(modules)


def open_adapter(
    name: str, deployment: Deployment, *, arrays: Arrays = "json", **options: Any
) -> Adapter:
    """Return an adapter that is connected to the deployment's nodes; a context manager closes it.

    `options` are the fields of `Options`. Raises `UnreachableError` when a server does not answer
    or refuses the user, `UnsupportedError` when the database does not have such an option,
    `AdapterError` when the deployment belongs to another product.
    """
    adapter = load_adapter(name, arrays)
    if deployment.product != adapter.product:
        raise AdapterError(
            f"{name} runs on {adapter.product}, and this deployment is of {deployment.product}"
        )
    return adapter(deployment, Options(**options))


@contextmanager
def use_fresh_database(deployment: Deployment) -> Iterator[None]:
    """Make the deployment's database on a user's servers, and drop it at the end.

    It does nothing on our own servers. It lists the databases of other runs on standard error.
    Raises `AdapterError` when the user may not make one.
    """
    if not deployment.is_given:
        yield
        return
    name = deployment.database
    addresses = name_url_variables(deployment.product, deployment.topology).values()
    clean = f"benchbook servers clean {' '.join(addresses)}"
    with _open_any_adapter(deployment) as adapter:
        # List what killed runs left.
        others = list_run_databases(adapter)
        if name in others:
            raise AdapterError(f"{adapter.location}: the database {name} exists: run again")
        if others:
            names = ", ".join(f"{other} of {read_day(other)}" for other in others)
            text = f"{adapter.location}: databases of other runs: {names}"
            _warn_once(f"{text}; if those were killed: {clean}")
        # Make this run's.
        try:
            adapter.make_database()
        except AdapterError as error:
            raise type(error)(f"{error}; its user needs {adapter.grant}") from error
    try:
        yield
    finally:
        try:
            with _open_any_adapter(deployment) as adapter:
                adapter.drop_database(name)
        except AdapterError as error:
            _warn_once(f"the database {name} is still there: {error}; to remove it: {clean}")


@cache
def _warn_once(text: str) -> None:
    print(f"benchbook: {text}", file=sys.stderr)


def list_run_databases(adapter: ServerAdapter[Any]) -> list[str]:
    """Return the databases that runs made on a user's server, including those in use."""
    return [name for name in adapter.list_databases() if FRESH_DATABASE_PATTERN.fullmatch(name)]


def open_address(url: str) -> ServerAdapter[Any]:
    """Return an adapter for the product at the address of a user's server.

    Raises `AdapterError` when no product has such addresses, or nothing answers there.
    """
    scheme = url.partition("://")[0]
    matching = [name for name in products.PRODUCTS if scheme in products.load_product(name).schemes]
    if not matching:
        raise AdapterError("the address must begin with a product's scheme, such as postgresql://")
    fault = find_fault(matching[0], url)
    if fault:
        raise AdapterError(f"the address {fault}")
    node = Node("primary", url, None, "")
    return _open_any_adapter(Deployment(matching[0], "single", (node,), {"source": "address"}))


def _open_any_adapter(deployment: Deployment) -> ServerAdapter[Any]:
    """Return the first adapter of the deployment's product: any of them lists all databases."""
    names = (
        name for name in DATABASE_NAMES if products.parse_name(name).product == deployment.product
    )
    adapter = load_adapter(next(names))(deployment, Options())
    assert isinstance(adapter, ServerAdapter)
    return adapter
