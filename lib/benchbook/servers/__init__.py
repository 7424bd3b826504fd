"""Servers of a product, found, started, paired, watched and stopped, or used at given addresses.

In come a product and a topology, and what the environment says of addresses (`address`); out comes a `Deployment`,
which cells and databases use: `session`, `up`, `start`. Begin with `start` here, then `programs` (what can run on this
machine) and `fleet` (processes, ports and folder of one deployment); how a product's own are started and asked stands
in its module `benchbook.databases.<product>.server`, which offers `Servers`.
"""

import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol, Self, TypeVar, cast

from benchbook import networks, registry
from benchbook.deployment import (
    NONE,
    VARIABLE,
    Deployment,
    Node,
    Role,
    Topology,
    announced,
    fresh_database,
    roles,
)
from benchbook.registry import PRODUCTS as PRODUCTS
from benchbook.scrubbing import shown
from benchbook.servers import containers
from benchbook.servers.address import Answer, given, listener, others, single_variable, variables
from benchbook.servers.errors import ServerError as ServerError
from benchbook.servers.errors import advised, remedy
from benchbook.servers.fleet import At, Fleet
from benchbook.servers.programs import Found as Found
from benchbook.servers.programs import Missing as Missing
from benchbook.servers.programs import here as here
from benchbook.servers.programs import misfit

VERSION = 1

_LAST_WORDS_S = 2.0

T = TypeVar("T")


class Servers(Protocol):
    """What a product's module ``server`` offers; by address alone, nothing but `ask`.

    It may offer more: ``fleet()`` returns an empty fleet, where its servers run otherwise than `Fleet` has them by
    itself; ``followers(url, others)``, where a server does not know who replicates from it, returns who does, as
    ``Answer.followers``, by what the servers at the other given addresses say.
    """

    def ask(self, url: str) -> Answer:
        """Return what the server at `url` says of itself, its followers too; `ConnectionError` when it does not."""

    def launch(self, at: At, topology: Topology) -> dict[Role, str]:
        """Start the servers of a topology, each ready and the replica following, and return their URLs."""


@cache
def servers_of(product: str) -> Servers:
    """Return what asks and starts a product's servers, its driver imported.

    `ServerError` when there is no such product, or its driver is not installed.
    """
    if product not in PRODUCTS:
        raise ServerError(f"there are no servers of {product!r}, only of {' and '.join(PRODUCTS)}")
    why = registry.missing_driver(product)
    if why:
        raise ServerError(why)
    module, name = importlib.import_module(registry.server_module(product)), registry.product(product).servers
    return cast(Servers, getattr(module, name)() if name else module)


def fleet_of(product: str) -> Fleet:
    """Return an empty fleet for a product's servers."""
    make: Callable[[], Fleet] | None = getattr(servers_of(product), "fleet", None)
    return make() if make else Fleet(product)


def product_of(database: str) -> str:
    """Return the product that a database runs on, ``none`` for ``noop``; `ServerError` when it is unknown."""
    product = registry.parsed(database).product
    if product not in (*PRODUCTS, "none"):
        raise ServerError(f"the database {database!r} runs on no product that is known here: {', '.join(PRODUCTS)}")
    return product


def topologies(product: str) -> tuple[Topology, ...]:
    """Return the topologies that a product's servers can be run in."""
    both: tuple[Topology, ...] = ("bidirectional",) if registry.product(product).bidirectional else ()
    return ("single", "replicated", *both)


def find(product: str, topology: Topology = "single") -> Found | Missing:
    """Return where `product` would come from: a given address, else what can be started here; or why it is missing."""
    if product not in PRODUCTS:
        return Missing(product, f"no such product: there are {', '.join(PRODUCTS)}")
    try:
        urls = given(product, topology)
        if urls is None:
            return here(product, topology)
        answers = [_answer(product, topology, role, url) for role, url in urls.items()]
        return Found(product, answers[0].version, "address", {})
    except ServerError as error:
        return Missing(product, str(error))


@dataclass(frozen=True)
class Running:
    """Servers that run; a context manager that stops those that were started for it."""

    deployment: Deployment  # what a cell needs to know of them
    alive: Callable[[], str | None]  # returns which servers are gone and why; None while all run
    stop: Callable[[], None]  # stops them and removes their folder, leaves given ones alone; may be called twice

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(product: str, topology: Topology, network: str = networks.NONE) -> Running:
    """Start servers on 127.0.0.1, in temporary folders, with generated passwords; they end with this process.

    In a network each has a network namespace of its own and listens there; so does a client, whoever enters its.

    A ``replicated`` pair is a primary and a replica that follows it asynchronously; of a ``bidirectional`` one, where
    the product has it, both take writes and each follows the other. `ServerError` when the product is missing, or a
    server does not start: with what it wrote last and what to do; `RuntimeError` outside the main thread.
    """
    _check(product, topology)
    installed = here(product, topology)
    if isinstance(installed, Missing):
        raise ServerError(installed.why)
    if why := unplaceable(installed, network):
        raise ServerError(why)
    with ExitStack() as undo:
        standing = undo.enter_context(networks.standing(network, ("client", *roles(topology))))
        fleets = _fleets(installed, topology, standing, undo)

        def at(role: Role, function: Callable[..., T], *arguments: object) -> T:
            with standing.entered(role):
                return function(fleets[role], installed, *arguments)

        def failure(patience_s: float = 0.0) -> str | None:
            why = [why for fleet in dict.fromkeys(fleets.values()) if (why := fleet.failure(patience_s))]
            return "\n".join(why) or None

        with standing.entered("client"):
            urls, answers = _launched(product, topology, at, lambda: failure(_LAST_WORDS_S))
        stop = undo.pop_all().close
    servers = {role: fleet.server(role) for role, fleet in fleets.items()}
    pids = {role: pid for role, server in servers.items() if (pid := server.pid) is not None}
    settings = {"source": installed.source, "folder": str(fleets["primary"].folder.path)}
    if image := installed.image:
        settings |= {"engine": image.engine.name, "image": image.known.reference, "image_digest": image.digest}
    if network != networks.NONE:
        settings["network"] = network
    deployment = _deployment(product, topology, urls, answers, pids, settings)
    nodes = tuple(replace(node, container=servers[node.role].container) for node in deployment.nodes)
    return Running(replace(deployment, nodes=nodes, places=standing.places), failure, stop)


def _fleets(installed: Found, topology: Topology, standing: networks.Standing, undo: ExitStack) -> dict[Role, Fleet]:
    """Return each role's empty fleet: the same for all on the loopback, one per role in a network."""
    if installed.image:
        containers.sweep(installed.image.engine)
    by_address: dict[str, Fleet] = {}
    for address, role in {standing.addresses[role]: role for role in roles(topology)}.items():
        try:
            fleet = fleet_of(installed.product)
        except OSError as error:
            raise ServerError(advised(str(error))) from error
        undo.callback(fleet.stop)
        fleet.image, fleet.address, fleet.place = installed.image, address, standing.places.get(role)
        by_address[address] = fleet
    return {role: by_address[standing.addresses[role]] for role in roles(topology)}


def unplaceable(found: Found, network: str) -> str | None:
    """Return why servers that were found cannot stand in a network; None when they can, or need not."""
    if network == networks.NONE:
        return None
    if why := networks.lacking(network):
        return why
    if found.source == "address":
        return f"network {network}: servers are started for it, and those of {found.product} are given by their address"
    if found.image and (why := containers.outside(found.image.engine)):
        return f"network {network}: no container of {found.product} can be in it, for {why}"
    return None


def up(product: str, topology: Topology, network: str = networks.NONE) -> Running:
    """Return the servers at given addresses, else start some: what `start` raises, and errors about addresses.

    A server that others replicate from is refused as ``single``: that would be in its times.
    """
    _check(product, topology)
    urls = given(product, topology)
    if urls is None:
        return start(product, topology, network)
    if network != networks.NONE and (why := unplaceable(Found(product, "", "address", {}), network)):
        raise ServerError(why)
    answers = {role: _ask(product, topology, role, url) for role, url in urls.items()}
    pids = {role: pid for role, url in urls.items() if (pid := listener(product, url)) is not None}

    def silent() -> str | None:
        """Return which of them do not answer, and why."""
        complaints = []
        for role, url in urls.items():
            try:
                _ask(product, topology, role, url)
            except ServerError as error:
                complaints.append(str(error))
        return "\n".join(complaints) or None

    deployment = _deployment(product, topology, urls, answers, pids, {"source": "address"})
    return Running(replace(deployment, database=fresh_database()), silent, lambda: None)


@contextmanager
def session(database: str, topology: Topology, network: str = networks.NONE) -> Iterator[Deployment]:
    """Yield servers for a database: the runner's, else those at given addresses, else our own, stopped at the end.

    Those in a network are reached from its client's place alone, where this thread is meanwhile.

    `ServerError` when the runner's or the given servers do not fit or do not answer, or ours do not start.
    """
    product = product_of(database)
    if product == "none":
        yield NONE
    elif (deployment := announced()) is not None:
        if (deployment.product, deployment.topology, deployment.network) != (product, topology, network):
            what = f"announces {deployment.topology} {deployment.product}, not {topology} {product}"
            if network != deployment.network:
                what += f", and network {deployment.network}, not {network}"
            raise ServerError(f"{VARIABLE} ({os.environ[VARIABLE]}) {what}: unset it to start servers here")
        with networks.entered(deployment.places.get("client")):
            yield deployment
    else:
        with up(product, topology, network) as running, networks.entered(running.deployment.places.get("client")):
            yield running.deployment


def describe(deployment: Deployment) -> list[str]:
    """Return a line a node, which a shell takes as it is: the variable that attaches to it, and what it is."""
    names = variables(deployment.product, deployment.topology)
    return [
        f"export {names[node.role]}='{node.url}'"
        f"  # {node.version}, {node.role}, {f'process {node.pid}' if node.pid else 'process unknown'}"
        for node in deployment.nodes
    ]


def _launched(
    product: str, topology: Topology, at: At, failure: Callable[[], str | None]
) -> tuple[dict[Role, str], dict[Role, Answer]]:
    """Start the servers; when it is the driver or the system that fails, say what the servers say of it."""
    try:
        urls = servers_of(product).launch(at, topology)
        return urls, {role: servers_of(product).ask(url) for role, url in urls.items()}
    except RuntimeError:
        raise
    except Exception as error:
        why = failure() or f"{error}: {remedy(str(error), None)}"
        raise ServerError(f"{product} did not start: {why}") from error


def _check(product: str, topology: Topology) -> None:
    servers_of(product)
    if topology not in (ways := topologies(product)):
        raise ServerError(f"{product} runs {' or '.join(ways)} here, not {topology!r}")


def _ask(product: str, topology: Topology, role: Role, url: str) -> Answer:
    """Return what the server at a given address says of itself.

    `ServerError` when it does not answer, refuses the user, or is not what the role or the topology says.
    """
    where = f"{variables(product, topology)[role]} ({shown(url)})"
    try:
        answer = servers_of(product).ask(url)
    except (OSError, ValueError) as error:
        # A ValueError is what a driver says of an address that it cannot read.
        raise ServerError(f"{where} does not answer: {error}") from None
    if why := misfit(product, answer.version):
        raise ServerError(f"{where} is {answer.version}: {why}")
    if answer.role not in (role, None):
        raise ServerError(f"{where} is a {answer.role}, not a {role}")
    if topology == "single" and (why := _followed(product, url, answer)):
        raise ServerError(f"{where} {why}, or give a server without replicas as {single_variable(product)}")
    return answer


def _followed(product: str, url: str, answer: Answer) -> str | None:
    """Return who replicates from a given server, or why that cannot be seen, and what to do; None when nobody does."""
    ask: Callable[[str, Sequence[str]], tuple[str, ...]] | None = getattr(servers_of(product), "followers", None)
    try:
        followers = answer.followers + (ask(url, others(product, url)) if ask else ())
    except (OSError, ValueError) as error:
        return f"may have replicas, for its replica's address does not say ({error}): correct that"
    if followers:
        return f"is replicated to {' and '.join(followers)}, so it is no single server: end that replication"
    return f"may have replicas that its user may not see: {answer.unseen}" if answer.unseen else None


_answer = cache(_ask)  # answers only: what was raised is asked again


def _deployment(
    product: str,
    topology: Topology,
    urls: dict[Role, str],
    answers: dict[Role, Answer],
    pids: dict[Role, int],
    settings: Mapping[str, object],
) -> Deployment:
    nodes = tuple(Node(role, url, pids.get(role), answers[role].version) for role, url in urls.items())
    return Deployment(
        product, topology, nodes, {**settings, **{role: answer.settings for role, answer in answers.items()}}
    )
