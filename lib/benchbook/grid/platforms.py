"""What a cell runs on: its servers, its network and its language, or why one of them is missing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from benchbook.grid.cell_id import write_server_version
from benchbook.languages import harness
from benchbook.servers import launcher, networks
from benchbook.servers.deployment import Topology
from benchbook.servers.programs import MissingServer
from benchbook.studies.catalogue import load_study
from benchbook.studies.cell import CellParameters


@dataclass(frozen=True)
class Platform:
    """The versions of servers and language, or why they are missing here."""

    version: str
    missing: str | None = None


def find_platform(study: str, parameters: CellParameters) -> Platform:
    """Return the servers of a cell, and its language's harness."""
    product, topology = find_deployment(study, parameters)
    platform = find_server(product, topology, read_network(parameters))
    for other in list_own_products(study, parameters):
        second = find_server(other, topology)
        missing = platform.missing or second.missing
        platform = Platform(f"{platform.version}, {second.version}", missing)
    if parameters.language == "python":
        return platform
    found = harness.find_harness(parameters.language)
    if isinstance(found, harness.MissingHarness):
        return replace(platform, missing=platform.missing or found.why)
    return replace(platform, version=f"{platform.version}, {found.version}")


def read_network(parameters: CellParameters) -> str:
    """Return the network of a cell; ``none`` for a study that has no such parameter."""
    return getattr(parameters, "network", networks.NO_NETWORK)


def find_deployment(study: str, parameters: CellParameters) -> tuple[str, Topology]:
    """Return the product and the topology that a cell needs."""
    deployment: tuple[str, Topology] = load_study(study).deployment(parameters)
    return deployment


def list_own_products(study: str, parameters: CellParameters) -> Sequence[str]:
    """Return the products whose servers a cell starts itself; few studies have them."""
    module = load_study(study)
    products: Sequence[str] = (
        module.other_products(parameters) if hasattr(module, "other_products") else ()
    )
    return products


@cache
def find_server(product: str, topology: Topology, network: str = networks.NO_NETWORK) -> Platform:
    """Return the server that would be used, in that network."""
    if product == "none":
        return Platform("none", missing=networks.find_network_fault(network))
    server = launcher.find_server(product, topology)
    if isinstance(server, MissingServer):
        return Platform("missing", missing=server.why)
    return Platform(write_server_version(server), launcher.find_placement_fault(server, network))


def name_missing(study: str, parameters: CellParameters) -> str:
    """Return the missing product, network or language of a cell."""
    first, topology = find_deployment(study, parameters)
    for product in (first, *list_own_products(study, parameters)):
        if find_server(product, topology).missing:
            return product
    network = read_network(parameters)
    if networks.find_network_fault(network):
        return f"network {network}"
    return f"language {parameters.language}"


def is_available(name: str) -> bool:
    """Return whether a network or a language can be used here."""
    if name in networks.NAMED_NETWORKS:
        return networks.find_network_fault(name) is None
    return not isinstance(harness.find_harness(name), harness.MissingHarness)
