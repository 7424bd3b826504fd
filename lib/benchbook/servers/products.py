"""The products, what each one's module offers, and where a product would come from."""

import importlib
import re
from functools import cache
from typing import Protocol, cast

from benchbook import registry
from benchbook.deployment import Role, Topology
from benchbook.registry import PRODUCTS
from benchbook.scrubbing import shown
from benchbook.servers.absent import absent
from benchbook.servers.address import Answer, given, variable
from benchbook.servers.errors import ServerError
from benchbook.servers.fleet import Fleet
from benchbook.servers.programs import Found, Missing, installed


class Servers(Protocol):
    """What the module of a product's servers offers; by address alone, nothing but `ask`."""

    def ask(self, url: str) -> Answer:
        """Return what the server at `url` says of itself; `ConnectionError` when it does not."""

    def fleet(self) -> Fleet:
        """Return an empty fleet for its servers."""

    def launch(self, fleet: Fleet, found: Found, topology: Topology) -> dict[Role, str]:
        """Start the servers of a topology, each ready and the replica following, and return their URLs."""


def module(product: str) -> Servers:
    """Import a product's module, and its driver with it: only when used.

    Raises
    ------
    ServerError
        When there is no such product.
    """
    if product not in PRODUCTS:
        raise ServerError(f"there are no servers of {product!r}, only of {' and '.join(PRODUCTS)}")
    return cast(Servers, importlib.import_module(registry.product(product).server))


def product_of(engine: str) -> str:
    """Return the product that an engine runs on: ``mongodb`` for ``mongodb+mongoengine``, ``none`` for ``noop``.

    Raises
    ------
    ServerError
        When there is none.
    """
    product = "none" if engine == "noop" else engine.partition("+")[0]
    if product not in (*PRODUCTS, "none"):
        raise ServerError(f"the engine {engine!r} runs on no product that is known here: {', '.join(PRODUCTS)}")
    return product


def topologies(product: str) -> tuple[Topology, ...]:
    """Return the topologies that a product's servers can be run in."""
    return (
        ("single", "replicated", "bidirectional")
        if registry.product(product).bidirectional
        else ("single", "replicated")
    )


def find(product: str, topology: Topology = "single") -> Found | Missing:
    """Return where `product` would come from: a given address, else what can be started here; or why it is missing."""
    if product not in PRODUCTS:
        return Missing(product, f"no such product: there are {', '.join(PRODUCTS)}")
    try:
        urls = given(product, topology)
        if urls is None:
            return here(product, topology)
        answers = [_answer(product, role, url) for role, url in urls.items()]
        return Found(product, answers[0].version, "address", {}, answers[0].stand_in)
    except ServerError as error:
        return Missing(product, str(error))


def here(product: str, topology: Topology = "single") -> Found | Missing:
    """Return what can be started of a product on this machine: itself, or what stands in for it, or why neither."""
    return installed(product) if registry.product(product).package else absent(product, topology)


def ask(product: str, role: Role, url: str) -> Answer:
    """Return what the server at a given address says of itself.

    Raises
    ------
    ServerError
        When it does not answer, refuses the user, or is not what the role says.
    """
    try:
        answer = module(product).ask(url)
    except (OSError, ValueError) as error:  # what a driver says of an address that it cannot read is a ValueError
        raise ServerError(f"{variable(product, role)} ({shown(url)}) does not answer: {error}") from None
    if why := _misfit(product, answer):
        raise ServerError(f"{variable(product, role)} ({shown(url)}) is {answer.version}: {why}")
    if answer.role not in (role, None):
        raise ServerError(f"{variable(product, role)} ({shown(url)}) is a {answer.role}, not a {role}")
    return answer


def _misfit(product: str, answer: Answer) -> str | None:
    """Return why a server's version is not one that the product's engines can use; a stand-in counts its own."""
    name, _, version = product.partition("@")
    if version:
        return None if f"{answer.version}.".startswith(f"{version}.") else f"{product} is {version}"
    oldest = registry.product(product).oldest
    if not oldest or answer.stand_in or _numbers(answer.version) >= _numbers(oldest):
        return None
    old = [known for known in PRODUCTS if known.startswith(f"{name}@")]
    return f"{product} is {oldest} or newer" + "".join(f" ({known}: {variable(known)})" for known in old)


def _numbers(version: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", version)]


_answer = cache(ask)  # answers only: what was raised is asked again
