"""Servers with one port in containers of a real Podman of the tests: each has its own address."""

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import psutil
import pymongo
import pytest

import container_engine
from benchbook.registry import products
from benchbook.servers import containers
from benchbook_more_databases.bridged_fleet import BridgedFleet, create_bridge, remove_bridge

PORT = 27017


@pytest.fixture(scope="module")
def podman() -> Iterator[container_engine.Podman]:
    if os.geteuid() or not shutil.which("podman") or not shutil.which("runc"):
        pytest.skip("Podman, which tests start as root, is not installed with the suite")
    with container_engine.run_podman() as engine:
        container_engine.add_product(engine.socket, "mongodb")
        yield engine


@pytest.fixture
def engine(
    podman: container_engine.Podman, monkeypatch: pytest.MonkeyPatch
) -> containers.ContainerEngine:
    monkeypatch.setenv(containers.CONTAINERS_VARIABLE, podman.socket)
    return containers.find_engine()


def list_bridges(engine: containers.ContainerEngine) -> list[Any]:
    return containers.connect(engine.socket).networks(filters={"label": containers.OWNER_LABEL})


def list_remains(engine: containers.ContainerEngine) -> list[Any]:
    client = containers.connect(engine.socket)
    return client.containers(all=True, filters={"label": containers.OWNER_LABEL})


def test_a_server_with_one_port_gets_a_bridge(engine: containers.ContainerEngine) -> None:
    fleet = BridgedFleet("mongodb", PORT)
    fleet.image = containers.find_image(products.load_images()["mongodb"])
    with ExitStack() as end:
        end.callback(fleet.stop)
        script = (
            'mkdir /tmp/data && exec mongod --dbpath /tmp/data --bind_ip_all --nounixsocket "$@"'
        )
        command = ["sh", "-c", script, "sh"]
        for role in ("primary", "replica"):
            fleet.start_server(
                role,
                lambda _: [*command, "--setParameter", "ttlMonitorEnabled=false"],
                {"SECRET": role},
            )
        for server in fleet.servers:
            server.await_line("Waiting for connections")
            with closing(
                pymongo.MongoClient[Any](server.host, server.port, directConnection=True)
            ) as client:
                assert client.admin.command("hello")["isWritablePrimary"]
            assert server.pid and psutil.Process(server.pid).environ()["SECRET"] == server.role
        one, other = fleet.servers
        assert one.host != other.host and not one.host.startswith("127.")
        with socket.socket() as outside:
            assert outside.connect_ex(("127.0.0.1", PORT)), (
                "it is published on no interface of this machine"
            )
        (network,) = list_bridges(engine)
        assert network["Internal"]
    assert list_bridges(engine) == []
    assert list_remains(engine) == []


def test_the_next_bridge_removes_those_of_processes_that_are_gone(
    engine: containers.ContainerEngine,
) -> None:
    labels = {containers.OWNER_LABEL: "1 0.0"}
    client = containers.connect(engine.socket)
    orphan = client.create_network("benchbook-test", internal=True, labels=labels)
    name = create_bridge(engine)
    try:
        assert orphan["Id"] not in {found["Id"] for found in client.networks()}
    finally:
        remove_bridge(engine, name)
