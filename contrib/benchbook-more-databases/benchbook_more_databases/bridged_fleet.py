"""Servers in containers that only listen at one port: each has its own address on a bridge.

The bridge is a network that only this machine reaches. It has the label of our containers, so that
the next fleet removes it when its process is gone.
"""

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from typing_extensions import override

from benchbook.servers import containers
from benchbook.servers.deployment import read_numbers
from benchbook.servers.errors import ServerError
from benchbook.servers.fleet import Fleet, Process


class BridgedFleet(Fleet):
    """Servers of an image with a fixed port.

    Parameters
    ----------
    product
        Its name in errors.
    port
        The port at which every server of the image listens.
    """

    def __init__(self, product: str, port: int) -> None:
        super().__init__(product)
        self._port = port
        # It is made for the first server that is not in an emulated network.
        self._bridge: str | None = None
        self._hosts: dict[Process, str] = {}

    @override
    def choose_port(self) -> int:
        return self._port

    @override
    def find_host(self, process: Process) -> str:
        return self._hosts.get(process, self.address)

    @override
    def start_container(
        self,
        image: containers.LocalImage,
        command: Sequence[str | Path],
        log: Path,
        more: Mapping[str, str],
    ) -> containers.Container:
        """Start a container that keeps the image's user and shares nothing but its log."""
        container, host = containers.describe_container(image, command, log, self.place, more)
        container["hostname"] = log.stem
        # In an emulated network it has the address of its place.
        if self.place is not None:
            return containers.create_container(image.engine, container, host, log)
        if self._bridge is None:
            self._bridge = create_bridge(image.engine)
        host["network_mode"] = self._bridge
        started = containers.create_container(image.engine, container, host, log)
        with containers.open_client(image.engine.socket, image.engine.name) as client:
            about = client.inspect_container(started.container_id)
        self._hosts[started] = about["NetworkSettings"]["Networks"][self._bridge]["IPAddress"]
        return started

    @override
    def stop(self) -> None:
        super().stop()
        if self.image is not None and self._bridge is not None:
            remove_bridge(self.image.engine, self._bridge)
            self._bridge = None


def create_bridge(engine: containers.ContainerEngine) -> str:
    """Create a network that only this machine reaches, and return its name.

    `ServerError` when the container engine's closed networks do not reach this machine either:
    packets to one would leave the machine.
    """
    remove_orphaned_bridges(engine)
    name = f"benchbook-{secrets.token_hex(6)}"
    labels = {containers.OWNER_LABEL: containers.describe_owner()}
    with containers.open_client(engine.socket, engine.name) as client:
        client.create_network(name, driver="bridge", internal=True, labels=labels)
        subnets = client.inspect_network(name)["IPAM"]["Config"]
    if not any(read_numbers(subnet.get("Gateway") or "") for subnet in subnets):
        remove_bridge(engine, name)
        raise ServerError(
            f"{engine.name}'s closed networks are out of this machine's reach: install netavark"
        )
    return name


def remove_bridge(engine: containers.ContainerEngine, name: str) -> None:
    """Remove a network whose containers have ended.

    Where the container engine refuses, the next call of `create_bridge` removes it.
    """
    with (
        suppress(containers.NoEngineError),
        containers.open_client(engine.socket, engine.name) as client,
    ):
        client.remove_network(name)


def remove_orphaned_bridges(engine: containers.ContainerEngine) -> None:
    """Remove the networks of processes that are gone."""
    from docker.errors import APIError

    # Podman cannot list networks while another run removes one: the next start tries again.
    with containers.open_client(engine.socket, engine.name) as client, suppress(APIError):
        for network in client.networks(filters={"label": containers.OWNER_LABEL}):
            if not containers.is_owner_running(network["Labels"][containers.OWNER_LABEL]):
                client.remove_network(network["Id"])
