"""Servers that many tests share: at given addresses, or started by tests."""

import atexit
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import chain
from typing import IO, Any, Final

import pandas as pd
import pytest

import stand_ins
from benchbook.databases import catalogue
from benchbook.databases.adapter import Adapter
from benchbook.registry import products
from benchbook.servers import launcher, networks
from benchbook.servers.address import name_single_url_variable, name_url_variable
from benchbook.servers.deployment import Deployment, Topology
from benchbook.servers.programs import AvailableServer, MissingServer, find_startable
from benchbook.studies import cell_database, harness
from checkout import ROOT

WHEELS = ("mongodb", "postgresql")
"""Products whose servers are installed with the suite; others are used where they are found."""

UNMET = ("arangodb",)
"""Products that no test could start yet; only their adapters are tested."""

PASSWORDS = (
    "p%ss",
    "p@ss:w/rd",
    "p%41ss",
    "pässwörd 漢",
    "with  two blanks",
    "o'clock\"\\n",
    "#?&=+[]",
    "s3cret",
)
"""What users may have for a password, and what quotes it: a driver, Python, JSON, an address."""

Outputs = set[tuple[str, str, str]]


ADDRESSES: Final = {
    product: (
        name_url_variable(product),
        name_url_variable(product, "replica"),
        name_single_url_variable(product),
    )
    for product in products.PRODUCTS
}
"""The variables with the addresses of each product's servers."""

GIVEN: Final = {
    name: os.environ[name]
    for name in chain.from_iterable(ADDRESSES.values())
    if os.environ.get(name)
}
"""The addresses that the test run was given; tests find none in their environment."""

Announce = Callable[..., Deployment]
"""Lets the next study find a product's servers of a topology (our own ones, with ``own=True``)."""


def is_given(product: str) -> bool:
    """Return whether the test run was given an address of a product, which tests then use."""
    return any(name in GIVEN for name in ADDRESSES.get(product, ()))


@contextmanager
def set_given_addresses() -> Iterator[None]:
    """Let the library see the addresses that the test run was given."""
    with pytest.MonkeyPatch.context() as patch:
        for name, url in GIVEN.items():
            patch.setenv(name, url)
        yield


@cache
def find_server(product: str, topology: Topology) -> AvailableServer | MissingServer:
    """Find a product's servers for this test run: at its addresses, else startable ones."""
    with set_given_addresses():
        one = launcher.find_server(product, topology)
    if is_given(product) and isinstance(one, AvailableServer) and one.source != "address":
        return MissingServer(product, f"{name_url_variable(product)} is not set")
    return one


def find_present_server(product: str, topology: Topology = "single") -> AvailableServer:
    """Find a product's servers now, which are there."""
    server = launcher.find_server(product, topology)
    assert isinstance(server, AvailableServer), server
    return server


def explain_missing(product: str, topology: Topology = "single") -> str:
    """Return why a product's servers are missing now."""
    server = launcher.find_server(product, topology)
    assert isinstance(server, MissingServer), server
    return server.why


def check_given_addresses() -> None:
    """Refuse addresses of servers that do not answer, instead of skipping their tests."""
    for product in filter(is_given, products.PRODUCTS):
        sought = [find_server(product, topology) for topology in launcher.list_topologies(product)]
        if not any(isinstance(one, AvailableServer) for one in sought):
            raise pytest.UsageError("; ".join(dict.fromkeys(one.why for one in sought)))


def describe_products() -> list[str]:
    """Return one line per product that is here or given, with its version and address."""
    lines = []
    for product in products.PRODUCTS:
        if is_given(product):
            lines.append(_describe_given(product))
            continue
        one = find_server(product, "single")
        if isinstance(one, AvailableServer):
            lines.append(f"{product} {one.version}, started here")
    return lines


def _describe_given(product: str) -> str:
    topologies = []
    for topology in launcher.list_topologies(product):
        one = find_server(product, topology)
        said = one.version if isinstance(one, AvailableServer) else f"skipped ({one.why})"
        topologies.append(f"{topology} {said}")
    names = ", ".join(name for name in ADDRESSES[product] if name in GIVEN)
    return f"{product} at {names}: {'; '.join(topologies)}"


@cache
def is_here(product: str, topology: Topology = "single") -> bool:
    """Return whether a product runs here, or must, because it is installed with the suite."""
    return product in ("none", *WHEELS) or isinstance(
        find_startable(product, topology), AvailableServer
    )


def _is_local(product: str) -> bool:
    if product in stand_ins.LIMITATIONS:
        return is_here(product, "replicated")
    return product not in UNMET and products.load_product(product).package is not None


LOCAL = tuple(filter(_is_local, products.PRODUCTS))
"""Products that run here single and as pairs, or would if they were installed."""


def skip_without(product: str, topology: Topology = "single") -> None:
    """Skip a test where a product is missing, unless it is installed with the suite."""
    if product in ("none", *WHEELS):
        return
    server = find_startable(product, topology)
    if isinstance(server, MissingServer):
        pytest.skip(f"{product} is not installed with the suite: {server.why}")


def skip_without_plugin(database: str) -> None:
    """Skip a test of a database whose driver no extra has brought."""
    why = products.find_missing_plugin(database)
    if why:
        pytest.skip(f"{database} is not installed with the suite: {why}")


class GivenDeployments:
    """Deployments on given servers: one per product at a time, because topologies share servers.

    The suite has a database of its own there, which is dropped when a deployment ends. One process
    at a time has them.
    """

    def __init__(self, *, must_fit: bool = False) -> None:
        self._skip_or_fail = pytest.fail if must_fit else pytest.skip
        self._deployments: dict[str, Deployment] = {}
        self._made: dict[str, ExitStack] = {}

    def deployment(self, product: str, topology: Topology) -> Deployment:
        """Return the deployment in that topology; the test is skipped where no address fits it.

        With ``must_fit`` it fails there.
        """
        server = find_server(product, topology)
        if isinstance(server, MissingServer):
            why = f"no address that was given fits a {topology} {product}: {server.why}"
            self._skip_or_fail(why)
        now = self._deployments.get(product)
        if now is None or now.topology != topology:
            self.release(product)
            with set_given_addresses():
                now = launcher.provide_servers(product, topology).deployment
            self._made[product] = ExitStack()
            self._made[product].enter_context(catalogue.use_fresh_database(now))
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
    """One process's turn with the given servers, which all processes share."""

    def __init__(self) -> None:
        self._file: IO[str] | None = None

    def take(self) -> None:
        """Wait until no other process of this checkout has them."""
        if self._file is None:
            lock = ROOT / ".cache" / "given-servers.lock"
            lock.parent.mkdir(exist_ok=True)
            self._file = lock.open("w")
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def end(self) -> None:
        """Let another process have them."""
        if self._file is not None:
            self._file.close()
            self._file = None


def skip_without_language(language: str, *tools: str) -> harness.Harness:
    """Skip the test without a language; fail it when the language's `tools` are on PATH."""
    found = harness.find_harness(language)
    if isinstance(found, harness.MissingHarness):
        if "make setup" in found.why and all(map(shutil.which, tools)):
            pytest.fail(
                f"set-up has {' and '.join(tools)}, and built no language {language}: {found.why}"
            )
        pytest.skip(f"language {language} is not installed with the suite: {found.why}")
    return found


_OWN: Final[dict[tuple[str, Topology], launcher.RunningServers]] = {}


def start_servers(product: str, topology: Topology) -> launcher.RunningServers:
    """Start a product's servers or their stand-ins; skip the test without both."""
    if stand_ins.available(product, topology):
        return stand_ins.start(product, topology)
    skip_without(product, topology)
    return launcher.start_servers(product, topology)


def start_own(product: str, topology: Topology) -> Deployment:
    """Return a deployment on servers that tests start and share until `stop_own`."""
    if (product, topology) not in _OWN:
        _OWN[product, topology] = start_servers(product, topology)
    return _OWN[product, topology].deployment


def stop_own() -> None:
    """Stop the servers that tests share."""
    while _OWN:
        _OWN.popitem()[1].stop()


atexit.register(stop_own)
"""An interrupted run has not stopped them, because a next test was to use them."""


def tamper(monkeypatch: pytest.MonkeyPatch, change: Callable[[Adapter], None]) -> None:
    """Let a study open adapters that `change` has changed."""
    real = cell_database.catalogue.open_adapter

    @contextmanager
    def open_changed(*arguments: Any, **options: Any) -> Iterator[Adapter]:
        with real(*arguments, **options) as adapter:
            change(adapter)
            yield adapter

    monkeypatch.setattr(cell_database.catalogue, "open_adapter", open_changed)


def list_outputs(frame: pd.DataFrame, repetition: int) -> Outputs:
    rows = frame[frame["repetition"] == repetition]
    assert not rows.duplicated(["operation", "role", "metric"]).any()
    return set(rows[["operation", "role", "metric"]].itertuples(index=False, name=None))


needs_root = pytest.mark.skipif(
    networks.find_network_fault("lan-100m") is not None,
    reason=str(networks.find_network_fault("lan-100m")),
)
"""A test that makes networks."""
