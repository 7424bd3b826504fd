"""Servers in containers of a real engine, Podman of the tests' own: started, measured, killed, swept."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pymongo
import pytest

import local_engine
from benchbook import databases, networks, registry, results, servers
from benchbook.cli import main
from benchbook.datasets import blog
from benchbook.deployment import Topology
from benchbook.grid import planning
from benchbook.measure.meters import process_meters
from benchbook.schemas import Field, Schema
from benchbook.servers import containers, programs
from benchbook.studies import replication
from benchbook.studies.cell_store import Store
from standing import outputs
from test_networks import OPTIONAL, holders
from waiting import comes_true, gone

SCHEMA = Schema("texts", (Field("_id", "string"), Field("text", "string")))
PRODUCTS = ["mongodb", "postgresql"]
ENGINES = {"mongodb": "mongodb", "postgresql": "postgresql+relational"}
OWNER = """
import sys, time
from benchbook import servers
with servers.start("mongodb", "replicated", sys.argv[1]) as running:
    print(*(node.pid for node in running.deployment.nodes), flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def podman() -> Iterator[local_engine.Podman]:
    """Yield an engine that has nothing but images of what is on this machine."""
    if os.geteuid() or not shutil.which("podman") or not shutil.which("runc"):
        pytest.skip("Podman, which tests start as root, is not installed with the suite")
    with local_engine.podman() as engine:
        for product in PRODUCTS:
            local_engine.add_product(engine.socket, product)
        yield engine


@pytest.fixture
def engine(podman: local_engine.Podman, monkeypatch: pytest.MonkeyPatch) -> Iterator[containers.Engine]:
    """The engine, which every product that is asked for is started by: plans made before knew of none."""
    planning._server.cache_clear()
    monkeypatch.setenv(containers.VARIABLE, podman.socket)
    for product in PRODUCTS:
        monkeypatch.setenv(programs.image_variable(product), "default")
    yield containers.engine()
    planning._server.cache_clear()


def left(engine: containers.Engine) -> list[str]:
    """Return what of ours is known to the engine."""
    client = containers.connected(engine.socket)
    found = client.containers(all=True, filters={"label": containers.LABEL})
    return [one["Id"] for one in found] + [volume["Name"] for volume in client.volumes()["Volumes"] or ()]


@pytest.mark.parametrize("topology", ["single", "replicated"])
@pytest.mark.parametrize("product", PRODUCTS)
def test_a_container_is_a_way_to_start_a_server(engine: containers.Engine, product: str, topology: Topology) -> None:
    data = blog.comments(60, 1, per_article=10)
    with servers.start(product, topology) as running:
        deployment = running.deployment
        about = deployment.settings
        assert (about["source"], about["image"]) == ("container", registry.images()[product].reference)
        assert about["engine"] == engine.name and about["image_digest"].startswith("sha256:")
        for node in deployment.nodes:
            assert node.pid is not None
            server = psutil.Process(node.pid)
            assert server.name() == {"mongodb": "mongod", "postgresql": "postgres"}[product]
            listening = [one.laddr.ip for one in server.net_connections() if one.status == psutil.CONN_LISTEN]
            assert set(listening) == {"127.0.0.1"}
            meters = {meter.metric: meter.read() for meter in process_meters(node.pid, node.role)}
            assert meters["cpu_total"] > 0 and meters["memory_pss"] > 1e6
        with databases.open(ENGINES[product], deployment) as store:
            store.create(data.schema, parents=data.parents)
            store.insert_many(data.records)
            assert store.wait_for(store.position(), 20) if topology == "replicated" else True
            role = deployment.nodes[-1].role
            assert len(store.read_all(role)) == len(data.records)
        assert running.alive() is None
    comes_true(lambda: not left(engine))
    assert not Path(str(about["folder"])).exists()
    assert not any(psutil.pid_exists(node.pid) for node in deployment.nodes if node.pid)


def test_a_cell_says_which_image_it_was_measured_in(
    engine: containers.Engine, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ("database=mongodb", "topology=single", "language=python", "arm=a")
    cells = ["crud", "--profile", "smoke", *(part for one in chosen for part in ("--where", one)), "--set", "n=50"]
    assert main(["run", *cells, "--noisy"]) == 0, capsys.readouterr().out
    with results.connect() as connection:
        rows = results.frame(connection, "SELECT * FROM observations")
    image = containers.find(registry.images()["mongodb"])
    assert image is not None
    assert set(rows["image"]) == {image.known.reference} and set(rows["image_digest"]) == {image.digest}
    capsys.readouterr()
    # the same product on this machine itself is another server: its cells are measured anew
    monkeypatch.delenv(programs.image_variable("mongodb"))
    planning._server.cache_clear()
    assert main(["plan", *cells, "--json"]) == 0
    assert {cell["state"] for cell in json.loads(capsys.readouterr().out)} == {"todo"}


def test_what_dies_is_told_and_leaves_nothing(engine: containers.Engine) -> None:
    with servers.start("mongodb", "single") as running:
        server = psutil.Process(running.deployment.node().pid)
        server.kill()
        assert comes_true(lambda: running.alive() is not None)
        assert "mongodb's primary" in (said := running.alive() or "") and "was ended by SIGKILL" in said
    assert not server.is_running() and not left(engine)


@pytest.mark.parametrize("network", ["none", "lan-100m"])
def test_the_next_start_ends_those_whose_owner_was_killed(engine: containers.Engine, network: str) -> None:
    if why := networks.lacking(network):
        pytest.skip(why)
    owner = subprocess.Popen([sys.executable, "-c", OWNER, network], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pids = [int(text) for text in owner.stdout.readline().split()]
    assert len(pids) == 2 and all(map(psutil.pid_exists, pids))
    namespaces = {Path(f"/proc/{pid}/ns/net").stat().st_ino for pid in pids}
    assert len(namespaces) == (1 if network == "none" else 2)
    owner.kill()
    owner.wait()
    owner.stdout.close()
    with servers.start("postgresql", "single"):
        assert comes_true(lambda: all(map(gone, pids)))
    assert not left(engine)
    assert network == "none" or comes_true(lambda: not holders(namespaces))


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_pair_of_containers_in_a_network_replicates_over_its_cards(engine: containers.Engine, product: str) -> None:
    if why := networks.lacking("lan-100m/1core"):
        pytest.skip(why)
    cell = replication.Parameters(
        database=ENGINES[product], network="lan-100m/1core", model="xml_fields", n=100, process="apart", repetitions=1
    )
    with servers.start(product, "replicated", cell.network) as running:
        for node in running.deployment.nodes:
            place = running.deployment.places[node.role]
            assert node.pid and psutil.Process(node.pid).cpu_affinity() == [*place.processors]
            assert Path(f"/proc/{node.pid}/ns/net").stat().st_ino == Path(place.namespace).stat().st_ino
    frame = replication.run(cell)
    assert outputs(frame, 0) - OPTIONAL == replication.expected(cell)
    counted = frame.set_index(["role", "metric"])["value"]
    assert counted["replica", "card_bytes_received"] > counted["replica", "bytes_received"] > 0
    assert comes_true(lambda: not left(engine))


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"name": "Docker 28.2.2"}, "Docker 28.2.2 knows its own networks alone"),
        ({"rootless": True}, "is not root's"),
        ({"shares_kernel": False}, "is in a virtual machine"),
    ],
)
def test_an_engine_whose_containers_join_no_network_is_told(
    engine: containers.Engine, other: dict[str, Any], why: str
) -> None:
    if lacking := networks.lacking("lan-100m"):
        pytest.skip(lacking)
    found = servers.here("mongodb")
    assert isinstance(found, servers.Found) and found.image and servers.unplaceable(found, "lan-100m") is None
    of_another = replace(found, image=replace(found.image, engine=replace(engine, **other)))
    assert why in str(servers.unplaceable(of_another, "lan-100m")) and not servers.unplaceable(of_another, "none")


def test_where_the_engine_hides_processes_it_tells_what_a_container_used(
    engine: containers.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as an engine in a virtual machine is, whose kernel is another
    monkeypatch.setattr(containers, "engine", lambda: replace(engine, shares_kernel=False))
    cell = replication.Parameters(
        database="postgresql+relational", model="xml_fields", n=50, process="apart", repetitions=1
    )
    with servers.start("postgresql", "replicated") as running:
        assert [node.pid for node in running.deployment.nodes] == [None, None]
        with databases.open("postgresql+relational", running.deployment) as store:
            before = {(meter.role, meter.metric): meter.read() for meter in Store(store, running.deployment).meters()}
            store.create(SCHEMA)
            for number in range(200):
                store.insert({"_id": str(number), "text": "a" * 100})
        after = {(meter.role, meter.metric): meter for meter in Store(store, running.deployment).meters()}
        for role in ("primary", "replica"):
            assert after[role, "cpu_total"].read() > before[role, "cpu_total"] > 0
            assert "container engine" in after[role, "cpu_total"].source
    owed = {metric for _, _, metric in replication.expected(cell)}
    assert "elapsed_time" in owed and not owed & {"cpu_total", "memory_rss"}


def test_the_engine_may_be_killed(engine: containers.Engine, podman: local_engine.Podman) -> None:
    with servers.start("postgresql", "single") as running:
        server = psutil.Process(running.deployment.node().pid)
        podman.kill()
        assert comes_true(lambda: running.alive() is not None)
        assert "does not answer" in (running.alive() or "")
    podman.start()
    with servers.start("postgresql", "single") as running:
        assert running.alive() is None
    # Its owner runs still, with which the next start would take it.
    assert server.is_running()
    (one,) = left(engine)
    containers.connected(engine.socket).remove_container(one, force=True, v=True)


def test_clean_removes_what_dead_owners_left_and_nothing_else(
    engine: containers.Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    client = containers.connected(engine.socket)
    reference, owned = registry.images()["mongodb"].reference, {}
    ended = subprocess.Popen(["true"])
    began = psutil.Process(ended.pid).create_time()
    ended.wait()
    for name, label in {"dead": f"{ended.pid} {began}", "alive": containers.owner()}.items():
        owned[name] = client.create_container(reference, ["sleep", "9"], labels={containers.LABEL: label})["Id"]
    stranger = client.create_container(reference, ["sleep", "9"])["Id"]
    network = client.create_network("benchbook-test", internal=True, labels={containers.LABEL: f"{ended.pid} {began}"})
    try:
        assert main(["servers", "clean"]) == 0
        assert capsys.readouterr().out.count("removed ") == 2
        assert main(["servers", "clean"]) == 0
        assert "no killed run left a container" in capsys.readouterr().out
        kept = {one["Id"] for one in client.containers(all=True)}
        assert {owned["alive"], stranger} <= kept and owned["dead"] not in kept
        assert network["Id"] not in {one["Id"] for one in client.networks()}
    finally:
        for one in (owned["alive"], stranger):
            client.remove_container(one, force=True, v=True)


def test_what_a_program_says_and_how_it_ends_is_told_as_of_any_other(engine: containers.Engine) -> None:
    installed = servers.here("mongodb")
    assert isinstance(installed, servers.Found)
    fleet = servers.fleet_of("mongodb")
    fleet.image = installed.image
    with ExitStack() as end:
        end.callback(fleet.stop)
        fleet.run(["sh", "-c", "exit 0"])
        with pytest.raises(servers.ServerError, match=r"(?s)mongodb's sh ended with status 3.*gone wrong"):
            fleet.run(["sh", "-c", "echo gone wrong; exit 3"])
    comes_true(lambda: not left(engine))


def test_what_listens_where_it_will_is_on_a_bridge_of_its_own(engine: containers.Engine) -> None:
    known = replace(registry.images()["mongodb"], port=27017)
    fleet = servers.fleet_of("mongodb")
    fleet.image = containers.find(known)
    with ExitStack() as end:
        end.callback(fleet.stop)
        script = 'mkdir /tmp/data && exec mongod --dbpath /tmp/data --bind_ip_all --nounixsocket "$@"'
        command = ["sh", "-c", script, "sh"]
        for role in ("primary", "replica"):
            fleet.serve(role, lambda _: [*command, "--setParameter", "ttlMonitorEnabled=false"], {"SECRET": role})
        for server in fleet.servers:
            server.await_line("Waiting for connections")
            with closing(pymongo.MongoClient[Any](server.host, server.port, directConnection=True)) as client:
                assert client.admin.command("hello")["isWritablePrimary"]
            assert server.pid and psutil.Process(server.pid).environ()["SECRET"] == server.role
        one, other = fleet.servers
        assert one.host != other.host and not one.host.startswith("127.")
        with socket.socket() as outside:
            assert outside.connect_ex(("127.0.0.1", known.port)), "it is published on no interface of this machine"
        (network,) = containers.connected(engine.socket).networks(filters={"label": containers.LABEL})
        assert network["Internal"]
    assert containers.connected(engine.socket).networks(filters={"label": containers.LABEL}) == []
    assert left(engine) == []
