"""Start and stop the servers of a product, or use those at given addresses.

`open_deployment` gives a cell its servers as a `Deployment`. `provide_servers` takes those at given
addresses (`address`), else `start_servers` starts some. `programs` finds those that can run on this
machine. `fleet` has the processes, ports and folder of one deployment. How a product's servers are
started and asked is in `benchbook.databases.<product>.server`, which has the functions of
`Servers`.
"""

import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol, Self, TypeVar, cast

from benchbook.registry import products
from benchbook.registry.products import PRODUCTS
from benchbook.servers import containers, networks
from benchbook.servers.address import (
    ServerInfo,
    find_listener,
    list_other_urls,
    name_single_url_variable,
    name_url_variables,
    read_given_urls,
)
from benchbook.servers.deployment import (
    DEPLOYMENT_VARIABLE,
    NO_DEPLOYMENT,
    Deployment,
    Node,
    Role,
    Topology,
    list_roles,
    load_deployment,
    name_fresh_database,
)
from benchbook.servers.errors import ServerError, add_remedy, find_remedy, strip_login
from benchbook.servers.fleet import Fleet, RunAt
from benchbook.servers.programs import (
    AvailableServer,
    MissingServer,
    find_startable,
    find_unsynced_library,
    find_version_fault,
)

VERSION = 1

T = TypeVar("T")


class Servers(Protocol):
    """The functions of a product's module ``server``; where it is only used by address, just `ask`.

    There may be two more. ``fleet()`` returns an empty `Fleet` with other options than the usual
    ones. ``followers(url, others)`` is for servers that do not know who replicates from them: it
    asks the servers at the other given addresses, and returns `ServerInfo.followers`.
    """

    def ask(self, url: str) -> ServerInfo:
        """Return the information of the server at `url`; `ConnectionError` without an answer."""

    def launch(self, run_at: RunAt, topology: Topology) -> dict[Role, str]:
        """Start the servers of a topology until the replica follows, and return their URLs."""


@cache
def load_servers(product: str) -> Servers:
    """Return the functions that ask and start a product's servers; this imports its driver.

    `ServerError` when there is no such product, or its plug-in or driver is missing.
    """
    if product not in PRODUCTS:
        raise ServerError(f"there are no servers of {product!r}, only of {' and '.join(PRODUCTS)}")
    remedy = products.find_missing_plugin(product)
    if remedy:
        raise ServerError(remedy)
    try:
        module = importlib.import_module(products.name_server_module(product))
    except ModuleNotFoundError as error:
        raise ServerError(f"{product} needs the package {error.name!r}: install it") from error
    class_name = products.load_product(product).servers
    return cast(Servers, getattr(module, class_name)() if class_name else module)


def make_fleet(product: str) -> Fleet:
    """Return an empty fleet for a product's servers."""
    make: Callable[[], Fleet] | None = getattr(load_servers(product), "fleet", None)
    return make() if make else Fleet(product)


def name_product(database: str) -> str:
    """Return the product of a database, ``none`` for ``noop``; `ServerError` when it is unknown."""
    product = products.parse_name(database).product
    if product not in (*PRODUCTS, "none"):
        known = ", ".join(PRODUCTS)
        raise ServerError(f"the database {database!r} has no known product: there are {known}")
    return product


def list_topologies(product: str) -> tuple[Topology, ...]:
    """Return the topologies in which a product's servers can run."""
    if products.load_product(product).bidirectional:
        return ("single", "replicated", "bidirectional")
    return ("single", "replicated")


def find_server(product: str, topology: Topology = "single") -> AvailableServer | MissingServer:
    """Return the product at a given address, else as it can be started here, or why it cannot."""
    if product not in PRODUCTS:
        return MissingServer(product, f"no such product: there are {', '.join(PRODUCTS)}")
    try:
        urls = read_given_urls(product, topology)
        if urls is None:
            return find_startable(product, topology)
        infos = [_ask_once(product, topology, role, url) for role, url in urls.items()]
        return AvailableServer(product, infos[0].version, "address", {})
    except ServerError as error:
        return MissingServer(product, str(error))


@dataclass(frozen=True)
class RunningServers:
    """Servers that run; a context manager that stops those that were started for it."""

    deployment: Deployment  # What a cell needs to know about them.
    find_failures: Callable[
        [], str | None
    ]  # Returns which servers are gone and why; None while all run.
    # Stops started servers and removes their folder, leaves given ones; may be called twice.
    stop: Callable[[], None]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start_servers(
    product: str,
    topology: Topology,
    network: str = networks.NO_NETWORK,
    commit: str = "each",
) -> RunningServers:
    """Start servers on 127.0.0.1, in temporary folders, which end with this process.

    A ``replicated`` pair is a primary and a replica that follows it asynchronously. In a
    ``bidirectional`` pair both take writes, and each follows the other. In a network each server
    has its own network namespace and listens there; a client must enter its place, too. With
    ``commit: later`` servers answer before a write is on the disk.

    Raises
    ------
    ServerError
        When the product is missing, or a server does not start: with its last output and a remedy.
    RuntimeError
        Outside the main thread.
    """
    # Find programs that can run here, in this network.
    _check_topology(product, topology)
    installed = find_startable(product, topology)
    if isinstance(installed, MissingServer):
        raise ServerError(installed.why)
    fault = find_placement_fault(installed, network) or find_commit_fault(installed, commit)
    if fault:
        raise ServerError(fault)
    # Open the network, and start the servers in it; what fails undoes all of that.
    with ExitStack() as undo:
        emulated = undo.enter_context(
            networks.open_network(network, ("client", *list_roles(topology)))
        )
        fleets = _make_fleets(installed, topology, emulated, undo)
        for fleet in fleets.values():
            fleet.commits_later = commit == "later"

        def run_at(role: Role, function: Callable[..., T], *arguments: object) -> T:
            with emulated.enter(role):
                return function(fleets[role], installed, *arguments)

        def find_failures(patience_s: float = 0.0) -> str | None:
            # On the loopback all roles have the same fleet.
            failures = [fleet.find_failures(patience_s) for fleet in dict.fromkeys(fleets.values())]
            return "\n".join(failure for failure in failures if failure) or None

        with emulated.enter("client"):
            # A driver may fail a moment before its server has said why, and has ended.
            urls, infos = _launch(product, topology, run_at, lambda: find_failures(2.0))
        stop = undo.pop_all().close
    # Describe them.
    settings = _describe_source(installed, fleets["primary"])
    if network != networks.NO_NETWORK:
        settings["network"] = network
    if commit != "each":
        settings["commit"] = commit
    deployment = _describe_deployment(product, topology, urls, infos, settings)
    nodes = []
    for node in deployment.nodes:
        server = fleets[node.role].find_server(node.role)
        nodes.append(replace(node, pid=server.pid, container=server.container))
    deployment = replace(deployment, nodes=tuple(nodes), places=emulated.places)
    return RunningServers(deployment, find_failures, stop)


def _make_fleets(
    installed: AvailableServer,
    topology: Topology,
    emulated: networks.EmulatedNetwork,
    undo: ExitStack,
) -> dict[Role, Fleet]:
    """Return each role's empty fleet: one for all on the loopback, one per role in a network."""
    # Remove what killed runs left.
    if installed.image:
        containers.remove_orphans(installed.image.engine)
    by_address: dict[str, Fleet] = {}
    fleets: dict[Role, Fleet] = {}
    for role in list_roles(topology):
        address = emulated.addresses[role]
        if address not in by_address:
            try:
                fleet = make_fleet(installed.product)
            except OSError as error:
                raise ServerError(add_remedy(str(error))) from error
            undo.callback(fleet.stop)
            fleet.image = installed.image
            fleet.address = address
            fleet.place = emulated.places.get(role)
            by_address[address] = fleet
        fleets[role] = by_address[address]
    return fleets


def _describe_source(installed: AvailableServer, fleet: Fleet) -> dict[str, object]:
    """Return the settings that say where started servers come from."""
    settings: dict[str, object] = {"source": installed.source, "folder": str(fleet.folder.path)}
    if installed.image:
        settings["engine"] = installed.image.engine.name
        settings["image"] = installed.image.image.reference
        settings["image_digest"] = installed.image.digest
    return settings


def find_placement_fault(server: AvailableServer, network: str) -> str | None:
    """Return why a server cannot be in a network; None when it can, or there is no network."""
    if network == networks.NO_NETWORK:
        return None
    fault = networks.find_network_fault(network)
    if fault:
        return fault
    if server.source == "address":
        return (
            f"network {network}: servers are started for it, and those of {server.product}"
            " are given by their address"
        )
    if server.image:
        fault = containers.find_namespace_fault(server.image.engine)
        if fault:
            return (
                f"network {network}: no container of {server.product} can be in it, because {fault}"
            )
    return None


def find_commit_fault(server: AvailableServer, commit: str) -> str | None:
    """Return why a server cannot commit later; None when it can, or need not."""
    if commit == "each":
        return None
    if server.source in ("address", "container"):
        return (
            f"commit: {commit}: {server.product}'s own programs are started for it on this machine,"
            f" and here it is in a container or at an address"
        )
    if find_unsynced_library() is None:
        return f"commit: {commit}: no libeatmydata here: install it (Debian: libeatmydata1)"
    return None


def can_commit_later(product: str) -> bool:
    """Return whether a product's servers can be started here with ``commit: later``."""
    server = find_server(product)
    return isinstance(server, AvailableServer) and find_commit_fault(server, "later") is None


def provide_servers(
    product: str,
    topology: Topology,
    network: str = networks.NO_NETWORK,
    commit: str = "each",
) -> RunningServers:
    """Return the servers at given addresses, else start some.

    Raises the errors of `start_servers`, and `ServerError` about addresses. A given server with
    replicas is refused as ``single``, because replication would add to its times.
    """
    _check_topology(product, topology)
    urls = read_given_urls(product, topology)
    if urls is None:
        return start_servers(product, topology, network, commit)
    given = AvailableServer(product, "", "address", {})
    fault = find_placement_fault(given, network) or find_commit_fault(given, commit)
    if fault:
        raise ServerError(fault)
    # Ask each server now, and again whenever a cell has failed.
    infos = {role: _ask_given(product, topology, role, url) for role, url in urls.items()}

    def find_failures() -> str | None:
        failures = []
        for role, url in urls.items():
            try:
                _ask_given(product, topology, role, url)
            except ServerError as error:
                failures.append(str(error))
        return "\n".join(failures) or None

    # Describe them, with a database of this run's own.
    deployment = _describe_deployment(product, topology, urls, infos, {"source": "address"})
    nodes = tuple(replace(node, pid=find_listener(product, node.url)) for node in deployment.nodes)
    deployment = replace(deployment, nodes=nodes, database=name_fresh_database())
    return RunningServers(deployment, find_failures, lambda: None)


@contextmanager
def open_deployment(
    database: str,
    topology: Topology,
    network: str = networks.NO_NETWORK,
    commit: str = "each",
) -> Iterator[Deployment]:
    """Yield servers for a database: the runner's, else given ones, else new ones for this time.

    In a network this thread is meanwhile at the client's place, because nothing else reaches them.

    Raises
    ------
    ServerError
        When the runner's or given servers do not fit or answer, or new ones do not start.
    """
    product = name_product(database)
    if product == "none":
        yield NO_DEPLOYMENT
        return
    # The runner's.
    announced = load_deployment()
    if announced is not None:
        _check_announced(announced, product, topology, network, commit)
        with networks.enter_place(announced.places.get("client")):
            yield announced
        return
    # Given ones, or new ones.
    with (
        provide_servers(product, topology, network, commit) as running,
        networks.enter_place(running.deployment.places.get("client")),
    ):
        yield running.deployment


def _check_announced(
    announced: Deployment, product: str, topology: Topology, network: str, commit: str
) -> None:
    """Raise `ServerError` when the runner's deployment is not the one that a cell asks for."""
    asked = (product, topology, network, commit)
    if (announced.product, announced.topology, announced.network, announced.commit) == asked:
        return
    what = f"announces {announced.topology} {announced.product}, not {topology} {product}"
    if network != announced.network:
        what += f", and network {announced.network}, not {network}"
    if commit != announced.commit:
        what += f", and commit: {announced.commit}, not {commit}"
    file = os.environ[DEPLOYMENT_VARIABLE]
    raise ServerError(f"{DEPLOYMENT_VARIABLE} ({file}) {what}: unset it to start servers here")


def format_exports(deployment: Deployment) -> list[str]:
    """Return one line of shell per node, which exports its address, with a comment about it."""
    names = name_url_variables(deployment.product, deployment.topology)
    lines = []
    for node in deployment.nodes:
        process = f"process {node.pid}" if node.pid else "process unknown"
        export = f"export {names[node.role]}='{node.url}'"
        lines.append(f"{export}  # {node.version}, {node.role}, {process}")
    return lines


def _launch(
    product: str, topology: Topology, run_at: RunAt, find_failures: Callable[[], str | None]
) -> tuple[dict[Role, str], dict[Role, ServerInfo]]:
    """Start the servers and ask them; when a driver fails, raise the servers' own reason."""
    servers = load_servers(product)
    try:
        urls = servers.launch(run_at, topology)
        return urls, {role: servers.ask(url) for role, url in urls.items()}
    except RuntimeError:
        raise
    except Exception as error:
        why = find_failures() or f"{error}: {find_remedy(str(error), None)}"
        raise ServerError(f"{product} did not start: {why}") from error


def _check_topology(product: str, topology: Topology) -> None:
    load_servers(product)
    topologies = list_topologies(product)
    if topology not in topologies:
        raise ServerError(f"{product} runs {' or '.join(topologies)} here, not {topology!r}")


def _ask_given(product: str, topology: Topology, role: Role, url: str) -> ServerInfo:
    """Return the information of the server at a given address.

    `ServerError` when it does not answer, refuses the user, or does not fit the role or topology.
    """
    where = f"{name_url_variables(product, topology)[role]} ({strip_login(url)})"
    try:
        info = load_servers(product).ask(url)
    except (OSError, ValueError) as error:
        # Drivers raise a ValueError for an address that they cannot read.
        raise ServerError(f"{where} does not answer: {error}") from None
    # It must be new enough, have the role, and have no replicas where none are asked for.
    fault = find_version_fault(product, info.version)
    if fault:
        raise ServerError(f"{where} is {info.version}: {fault}")
    if info.role not in (role, None):
        raise ServerError(f"{where} is a {info.role}, not a {role}")
    if topology == "single":
        fault = _find_replica_fault(product, url, info)
        if fault:
            single = name_single_url_variable(product)
            raise ServerError(f"{where} {fault}, or give a server without replicas as {single}")
    return info


def _find_replica_fault(product: str, url: str, info: ServerInfo) -> str | None:
    """Return which servers replicate from a given one, or why that is unknown; else None."""
    ask_others: Callable[[str, Sequence[str]], tuple[str, ...]] | None = getattr(
        load_servers(product), "followers", None
    )
    followers = info.followers
    if ask_others:
        try:
            followers += ask_others(url, list_other_urls(product, url))
        except (OSError, ValueError) as error:
            return (
                f"may have replicas, but its replica's address does not answer ({error}):"
                " correct that"
            )
    if followers:
        names = " and ".join(followers)
        return f"is replicated to {names}, so it is no single server: end that replication"
    if info.unseen:
        return f"may have replicas that its user may not see: {info.unseen}"
    return None


_ask_once = cache(_ask_given)
"""Keeps answers; after an error it asks again."""


def _describe_deployment(
    product: str,
    topology: Topology,
    urls: Mapping[Role, str],
    infos: Mapping[Role, ServerInfo],
    settings: Mapping[str, object],
) -> Deployment:
    nodes = tuple(Node(role, url, None, infos[role].version) for role, url in urls.items())
    of_roles: dict[str, object] = {role: info.settings for role, info in infos.items()}
    return Deployment(product, topology, nodes, {**settings, **of_roles})
