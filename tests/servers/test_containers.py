"""Servers in containers of a real Podman of the tests: started, measured, killed, removed."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from docker import APIClient
from docker.errors import APIError
from test_networks import OPTIONAL, list_holders

import container_engine
from benchbook.cli import main
from benchbook.databases import catalogue
from benchbook.datasets import blog
from benchbook.grid.cells import find_server
from benchbook.measure.meters import make_process_meters
from benchbook.registry import products
from benchbook.results.views import connect, fetch_frame
from benchbook.schema import Field, Schema
from benchbook.servers import containers, launcher, networks, programs
from benchbook.servers.deployment import Topology
from benchbook.servers.errors import ServerError
from benchbook.servers.programs import AvailableServer, find_startable
from benchbook.studies import replication
from benchbook.studies.cell_database import CellDatabase
from shared_servers import list_outputs
from waiting import comes_true, is_gone

SCHEMA = Schema("texts", (Field("_id", "string"), Field("text", "string")))
PRODUCTS = ["mongodb", "postgresql"]
ENGINES = {"mongodb": "mongodb", "postgresql": "postgresql+relational"}
OWNER = """
import sys, time
from benchbook.servers import launcher
with launcher.start_servers("mongodb", "replicated", sys.argv[1]) as running:
    print(*(node.pid for node in running.deployment.nodes), flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def podman() -> Iterator[container_engine.Podman]:
    """Yield a container engine that only has images of this machine's programs."""
    if os.geteuid() or not shutil.which("podman") or not shutil.which("runc"):
        pytest.skip("Podman, which tests start as root, is not installed with the suite")
    with container_engine.run_podman() as engine:
        for product in PRODUCTS:
            container_engine.add_product(engine.socket, product)
        yield engine


@pytest.fixture
def engine(
    podman: container_engine.Podman, monkeypatch: pytest.MonkeyPatch
) -> Iterator[containers.ContainerEngine]:
    """Use the container engine for every product; plans from before did not know it."""
    find_server.cache_clear()
    monkeypatch.setenv(containers.CONTAINERS_VARIABLE, podman.socket)
    for product in PRODUCTS:
        monkeypatch.setenv(programs.name_image_variable(product), "default")
    yield containers.find_engine()
    find_server.cache_clear()


def list_remains(engine: containers.ContainerEngine) -> list[str]:
    """Return our containers and networks of the container engine."""
    client = containers.connect(engine.socket)
    found = client.containers(all=True, filters={"label": containers.OWNER_LABEL})
    return [one["Id"] for one in found] + [
        volume["Name"] for volume in client.volumes()["Volumes"] or ()
    ]


@pytest.mark.parametrize("topology", ["single", "replicated"])
@pytest.mark.parametrize("product", PRODUCTS)
def test_a_container_is_a_way_to_start_a_server(
    engine: containers.ContainerEngine, product: str, topology: Topology
) -> None:
    data = blog.generate_comments(60, 1, per_article=10)
    with launcher.start_servers(product, topology) as running:
        deployment = running.deployment
        about = deployment.settings
        assert (about["source"], about["image"]) == (
            "container",
            products.load_images()[product].reference,
        )
        assert about["engine"] == engine.name and about["image_digest"].startswith("sha256:")
        for node in deployment.nodes:
            assert node.pid is not None
            server = psutil.Process(node.pid)
            assert server.name() == {"mongodb": "mongod", "postgresql": "postgres"}[product]
            listening = [
                one.laddr.ip for one in server.net_connections() if one.status == psutil.CONN_LISTEN
            ]
            assert set(listening) == {"127.0.0.1"}
            meters = {
                meter.metric: meter.read() for meter in make_process_meters(node.pid, node.role)
            }
            assert meters["cpu_total"] > 0 and meters["memory_pss"] > 1e6
        with catalogue.open_adapter(ENGINES[product], deployment) as store:
            store.create(data.schema, parents=data.parents)
            store.insert_many(data.records)
            assert store.wait_for(store.position(), 20) if topology == "replicated" else True
            role = deployment.nodes[-1].role
            assert len(store.read_all(role)) == len(data.records)
        assert running.find_failures() is None
    comes_true(lambda: not list_remains(engine))
    assert not Path(str(about["folder"])).exists()
    assert not any(psutil.pid_exists(node.pid) for node in deployment.nodes if node.pid)


def test_a_cell_states_the_image_of_its_servers(
    engine: containers.ContainerEngine,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    chosen = ("database=mongodb", "topology=single", "language=python", "arm=a")
    cells = ["crud", "--profile", "smoke", "--set", "n=50"]
    for condition in chosen:
        cells += ["--where", condition]
    assert main(["run", *cells, "--noisy"]) == 0, capsys.readouterr().out
    with connect() as connection:
        rows = fetch_frame(connection, "SELECT * FROM observations")
    image = containers.find_image(products.load_images()["mongodb"])
    assert image is not None
    assert set(rows["image"]) == {image.image.reference} and set(rows["image_digest"]) == {
        image.digest
    }
    capsys.readouterr()
    # the same product on this machine itself is another server: its cells are measured anew
    monkeypatch.delenv(programs.name_image_variable("mongodb"))
    find_server.cache_clear()
    assert main(["plan", *cells, "--json"]) == 0
    assert {cell["state"] for cell in json.loads(capsys.readouterr().out)} == {"todo"}


def test_a_container_that_ends_is_reported_and_removed(engine: containers.ContainerEngine) -> None:
    with launcher.start_servers("mongodb", "single") as running:
        server = psutil.Process(running.deployment.node().pid)
        server.kill()
        assert comes_true(lambda: running.find_failures() is not None)
        failures = running.find_failures() or ""
        assert "mongodb's primary" in failures and "was ended by SIGKILL" in failures
    assert not server.is_running() and not list_remains(engine)


@pytest.mark.parametrize("network", ["none", "lan-100m"])
def test_the_next_start_removes_containers_whose_owner_was_killed(
    engine: containers.ContainerEngine, network: str
) -> None:
    why = networks.find_network_fault(network)
    if why:
        pytest.skip(why)
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, network], stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    pids = [int(text) for text in owner.stdout.readline().split()]
    assert len(pids) == 2 and all(map(psutil.pid_exists, pids))
    namespaces = {Path(f"/proc/{pid}/ns/net").stat().st_ino for pid in pids}
    assert len(namespaces) == (1 if network == "none" else 2)
    owner.kill()
    owner.wait()
    owner.stdout.close()
    with launcher.start_servers("postgresql", "single"):
        assert comes_true(lambda: all(map(is_gone, pids)))
    assert not list_remains(engine)
    assert network == "none" or comes_true(lambda: not list_holders(namespaces))


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_pair_of_containers_in_a_network_replicates_over_its_cards(
    engine: containers.ContainerEngine, product: str
) -> None:
    network = "lan-100m/1core"
    if networks.find_shortage(network, roles=3):
        network = "lan-100m"
    fault = networks.find_network_fault(network)
    if fault:
        pytest.skip(fault)
    cell = replication.Parameters(
        database=ENGINES[product],
        network=network,
        model="xml_fields",
        n=100,
        process="apart",
        repetitions=1,
    )
    with launcher.start_servers(product, "replicated", cell.network) as running:
        for node in running.deployment.nodes:
            place = running.deployment.places[node.role]
            assert node.pid
            affinity = psutil.Process(node.pid).cpu_affinity()
            assert not place.processors or affinity == [*place.processors]
            assert (
                Path(f"/proc/{node.pid}/ns/net").stat().st_ino
                == Path(place.namespace).stat().st_ino
            )
    frame = replication.run(cell)
    assert list_outputs(frame, 0) - OPTIONAL == replication.expected(cell)
    counted = frame.set_index(["role", "metric"])["value"]
    assert counted["replica", "card_bytes_received"] > counted["replica", "bytes_received"] > 0
    assert comes_true(lambda: not list_remains(engine))


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"name": "Docker 28.2.2"}, "Docker 28.2.2 only has its own networks"),
        ({"rootless": True}, "is not root's"),
        ({"shares_kernel": False}, "is in a virtual machine"),
    ],
)
def test_containers_that_cannot_join_a_network_are_refused_with_the_reason(
    engine: containers.ContainerEngine, other: dict[str, Any], why: str
) -> None:
    fault = networks.find_network_fault("lan-100m")
    if fault:
        pytest.skip(fault)
    found = find_startable("mongodb")
    assert (
        isinstance(found, AvailableServer)
        and found.image
        and launcher.find_placement_fault(found, "lan-100m") is None
    )
    of_another = replace(found, image=replace(found.image, engine=replace(engine, **other)))
    assert why in str(
        launcher.find_placement_fault(of_another, "lan-100m")
    ) and not launcher.find_placement_fault(of_another, "none")


def test_hidden_processes_are_measured_by_the_containers_statistics(
    engine: containers.ContainerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Like a container engine in a virtual machine, with another kernel
    monkeypatch.setattr(containers, "find_engine", lambda: replace(engine, shares_kernel=False))
    cell = replication.Parameters(
        database="postgresql+relational", model="xml_fields", n=50, process="apart", repetitions=1
    )
    with launcher.start_servers("postgresql", "replicated") as running:
        assert [node.pid for node in running.deployment.nodes] == [None, None]
        with catalogue.open_adapter("postgresql+relational", running.deployment) as store:
            before = {
                (meter.role, meter.metric): meter.read()
                for meter in CellDatabase(store, running.deployment).meters()
            }
            store.create(SCHEMA)
            for number in range(200):
                store.insert({"_id": str(number), "text": "a" * 100})
        after = {
            (meter.role, meter.metric): meter
            for meter in CellDatabase(store, running.deployment).meters()
        }
        for role in ("primary", "replica"):
            assert after[role, "cpu_total"].read() > before[role, "cpu_total"] > 0
            assert "container engine" in after[role, "cpu_total"].source
    owed = {metric for _, _, metric in replication.expected(cell)}
    assert "elapsed_time" in owed and not owed & {"cpu_total", "memory_rss"}


def test_servers_survive_or_report_a_killed_container_service(
    engine: containers.ContainerEngine, podman: container_engine.Podman
) -> None:
    with launcher.start_servers("postgresql", "single") as running:
        server = psutil.Process(running.deployment.node().pid)
        podman.kill()
        assert comes_true(lambda: running.find_failures() is not None)
        assert "does not answer" in (running.find_failures() or "")
    podman.start()
    with launcher.start_servers("postgresql", "single") as running:
        assert running.find_failures() is None
    # Its owner runs still, with which the next start would take it.
    assert server.is_running()
    (one,) = list_remains(engine)
    containers.connect(engine.socket).remove_container(one, force=True, v=True)


def test_clean_removes_only_containers_whose_owner_has_ended(
    engine: containers.ContainerEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    client = containers.connect(engine.socket)
    reference, owned = products.load_images()["mongodb"].reference, {}
    ended = subprocess.Popen(["true"])
    began = psutil.Process(ended.pid).create_time()
    ended.wait()
    for name, label in {
        "dead": f"{ended.pid} {began}",
        "alive": containers.describe_owner(),
    }.items():
        owned[name] = client.create_container(
            reference, ["sleep", "9"], labels={containers.OWNER_LABEL: label}
        )["Id"]
    stranger = client.create_container(reference, ["sleep", "9"])["Id"]
    try:
        assert main(["servers", "clean"]) == 0
        assert capsys.readouterr().out.count("removed ") == 1
        assert main(["servers", "clean"]) == 0
        assert "no killed run left a container" in capsys.readouterr().out
        kept = {one["Id"] for one in client.containers(all=True)}
        assert {owned["alive"], stranger} <= kept and owned["dead"] not in kept
    finally:
        for one in (owned["alive"], stranger):
            client.remove_container(one, force=True, v=True)


def test_a_refused_removal_is_asked_for_again(
    engine: containers.ContainerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove, refused = APIClient.remove_container, []

    def refuse_once(client: APIClient, container: str, **options: bool) -> None:
        if not refused:
            refused.append(container)
            raise APIError("its processes did not end")
        remove(client, container, **options)

    monkeypatch.setattr(APIClient, "remove_container", refuse_once)
    with launcher.start_servers("postgresql", "single"):
        pass
    assert refused and not list_remains(engine)


@pytest.mark.parametrize("request_of", ["Podman", "Docker"])
def test_a_containers_program_reports_its_output_and_end(
    engine: containers.ContainerEngine, request_of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if request_of == "Docker":
        # Podman answers Docker's request, too.
        headers = {"API-Version": containers._ping(engine.socket)["API-Version"]}
        monkeypatch.setattr(containers, "_ping", lambda socket: headers)
    installed = find_startable("mongodb")
    assert isinstance(installed, AvailableServer)
    fleet = launcher.make_fleet("mongodb")
    fleet.image = installed.image
    with ExitStack() as end:
        end.callback(fleet.stop)
        fleet.run(["sh", "-c", "exit 0"])
        with pytest.raises(ServerError, match=r"(?s)mongodb's sh ended with status 3.*gone wrong"):
            fleet.run(["sh", "-c", "echo gone wrong; exit 3"])
    comes_true(lambda: not list_remains(engine))
