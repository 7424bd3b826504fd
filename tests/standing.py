"""Servers that many tests share, at given addresses or our own, and adapters that lie."""

import atexit
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any, Final

import pandas as pd
import pytest

import products
from benchbook import databases, languages, registry, servers
from benchbook.databases import Adapter
from benchbook.deployment import Deployment, Topology
from benchbook.servers.address import single_variable, variable
from benchbook.studies import cell_store

WHEELS = ("mongodb", "postgresql")
"""Products whose servers are installed with the suite; what else there is is used where it is found."""

UNMET = ("arangodb",)
"""Products that nobody could start yet: what tests do past their adapters is not written for them."""

PASSWORDS = ("p%ss", "p@ss:w/rd", "p%41ss", "pässwörd 漢", "with  two blanks", "o'clock\"\\n", "#?&=+[]", "s3cret")
"""What users may have for a password, and what quotes it: a driver, Python, JSON, an address."""

Outputs = set[tuple[str, str, str]]


ADDRESSES: Final = {
    product: (variable(product), variable(product, "replica"), single_variable(product))
    for product in registry.PRODUCTS
}
"""The variables with the addresses of each product's servers."""

GIVEN: Final = {name: os.environ[name] for names in ADDRESSES.values() for name in names if os.environ.get(name)}
"""The addresses that the test run was given; tests find none in their environment."""

Announce = Callable[..., Deployment]
"""Lets the next study find a product's servers of a topology (our own ones, with ``own=True``)."""


def is_given(product: str) -> bool:
    """Return whether the test run was given an address of a product: then the tests that share servers use no other."""
    return any(name in GIVEN for name in ADDRESSES.get(product, ()))


@contextmanager
def addresses() -> Iterator[None]:
    """Let the library see the addresses that the test run was given."""
    with pytest.MonkeyPatch.context() as patch:
        for name, url in GIVEN.items():
            patch.setenv(name, url)
        yield


@cache
def found(product: str, topology: Topology) -> servers.Found | servers.Missing:
    """Return where a product's servers come from in this test run: its addresses, else what can be started here."""
    with addresses():
        one = servers.find(product, topology)
    if is_given(product) and isinstance(one, servers.Found) and one.source != "address":
        return servers.Missing(product, f"{variable(product)} is not set")
    return one


def present(product: str, topology: Topology = "single") -> servers.Found:
    """Return where a product's servers come from now."""
    server = servers.find(product, topology)
    assert isinstance(server, servers.Found), server
    return server


def why_missing(product: str, topology: Topology = "single") -> str:
    """Return what is said now of a product's servers, which are missing."""
    server = servers.find(product, topology)
    assert isinstance(server, servers.Missing), server
    return server.why


def check() -> None:
    """Refuse addresses at which no test could run: a server that does not answer is not taken for one to skip."""
    for product in filter(is_given, registry.PRODUCTS):
        sought = [found(product, topology) for topology in servers.topologies(product)]
        if not any(isinstance(one, servers.Found) for one in sought):
            raise pytest.UsageError("; ".join(dict.fromkeys(one.why for one in sought)))


def describe_products() -> list[str]:
    """Return a line per product that is here, or was given by its address: its version, and where it is."""
    lines = []
    for product in registry.PRODUCTS:
        if is_given(product):
            lines.append(_describe_given(product))
            continue
        one = found(product, "single")
        if isinstance(one, servers.Found):
            lines.append(f"{product} {one.version}, started here")
    return lines


def _describe_given(product: str) -> str:
    topologies = []
    for topology in servers.topologies(product):
        one = found(product, topology)
        said = one.version if isinstance(one, servers.Found) else f"skipped ({one.why})"
        topologies.append(f"{topology} {said}")
    names = ", ".join(name for name in ADDRESSES[product] if name in GIVEN)
    return f"{product} at {names}: {'; '.join(topologies)}"


@cache
def here(product: str, topology: Topology = "single") -> bool:
    """Return whether a product runs here, or must: one that is installed with the suite is never left out."""
    return product in ("none", *WHEELS) or isinstance(servers.here(product, topology), servers.Found)


def _local(product: str) -> bool:
    if product in products.NAMES:
        return here(product, "replicated")
    return product not in UNMET and registry.product(product).package is not None


LOCAL = tuple(filter(_local, registry.PRODUCTS))
"""Products that run here single and as pairs, or would if they were installed."""


def needed(product: str, topology: Topology = "single") -> None:
    """Skip a test with servers of its own where there are none; never for what is installed with the suite."""
    if product not in ("none", *WHEELS) and isinstance(missing := servers.here(product, topology), servers.Missing):
        pytest.skip(f"{product} is not installed with the suite: {missing.why}")


def driver_needed(database: str) -> None:
    """Skip a test of a database whose driver no extra has brought."""
    why = registry.missing_driver(database)
    if why:
        pytest.skip(f"{database} is not installed with the suite: {why}")


class Given:
    """Deployments on the servers that the test run was given: of a product one at a time, for topologies share servers.

    The suite has a database of its own there, which is dropped when a deployment ends. One process at a time has them.
    """

    def __init__(self) -> None:
        self._deployments: dict[str, Deployment] = {}
        self._made: dict[str, ExitStack] = {}

    def deployment(self, product: str, topology: Topology) -> Deployment:
        """Return the deployment in that topology; the test is skipped where no address fits it."""
        if isinstance(missing := found(product, topology), servers.Missing):
            pytest.skip(f"no address that was given fits a {topology} {product}: {missing.why}")
        if (now := self._deployments.get(product)) is None or now.topology != topology:
            self.release(product)
            with addresses():
                now = servers.up(product, topology).deployment
            self._made[product] = ExitStack()
            self._made[product].enter_context(databases.use_fresh_database(now))
            self._deployments[product] = now
        return now

    def release(self, *products: str) -> None:
        """End these products' deployments."""
        for product in products:
            if self._deployments.pop(product, None):
                self._made.pop(product).close()

    def end(self) -> None:
        """End every deployment."""
        self.release(*self._deployments)


class Turn:
    """One process's turn with the servers that the test run was given, which all its processes share."""

    def __init__(self) -> None:
        self._file: IO[str] | None = None

    def take(self) -> None:
        """Wait until no other process of this checkout has them."""
        if self._file is None:
            lock = Path(__file__).parents[1] / ".cache" / "given-servers.lock"
            lock.parent.mkdir(exist_ok=True)
            self._file = lock.open("w")
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def end(self) -> None:
        """Let another process have them."""
        if self._file is not None:
            self._file.close()
            self._file = None


def language_needed(language: str, *tools: str) -> languages.Found:
    """Skip the test where a language cannot be built; where what builds it is on PATH, its lack is a failure."""
    if isinstance(found := languages.find(language), languages.Missing):
        if "make setup" in found.why and all(map(shutil.which, tools)):
            pytest.fail(f"set-up has {' and '.join(tools)}, and built no language {language}: {found.why}")
        pytest.skip(f"language {language} is not installed with the suite: {found.why}")
    return found


_OWN: Final[dict[tuple[str, Topology], servers.Running]] = {}


def started(product: str, topology: Topology) -> servers.Running:
    """Start a product's servers, or those that speak its protocol where it is not here; skip the test without both."""
    if products.available(product, topology):
        return products.start(product, topology)
    needed(product, topology)
    return servers.start(product, topology)


def own(product: str, topology: Topology) -> Deployment:
    """Return a deployment on servers that tests start, which run until a file's tests share none."""
    if (product, topology) not in _OWN:
        _OWN[product, topology] = started(product, topology)
    return _OWN[product, topology].deployment


def end_own() -> None:
    """Stop the servers of our own."""
    while _OWN:
        _OWN.popitem()[1].stop()


atexit.register(end_own)
"""What is interrupted, or ends at its first failure, has a next test for which servers are kept."""


def tamper(monkeypatch: pytest.MonkeyPatch, change: Callable[[Adapter], None]) -> None:
    """Let a study open a database that `change` has laid its hand on."""
    real = cell_store.databases.open

    @contextmanager
    def opened(*arguments: Any, **options: Any) -> Iterator[Adapter]:
        with real(*arguments, **options) as adapter:
            change(adapter)
            yield adapter

    monkeypatch.setattr(cell_store.databases, "open", opened)


def outputs(frame: pd.DataFrame, repetition: int) -> Outputs:
    rows = frame[frame["repetition"] == repetition]
    assert not rows.duplicated(["operation", "role", "metric"]).any()
    return set(rows[["operation", "role", "metric"]].itertuples(index=False, name=None))
