"""Servers on other machines than the one that measures: here two by name and address, on this machine's loopback."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from benchbook import cli, databases, grid, results, servers
from benchbook.datasets import phones
from benchbook.grid import planning
from benchbook.hosts.places import Places
from benchbook.servers import ServerError
from benchbook.servers.address import PLACE, placement
from labs import PYTHON, Lab
from standing import needed, stood_in
from waiting import comes_true, gone, of_each

pytestmark = pytest.mark.xdist_group("placing")  # one lab serves all products
PLACES = "primary=lab2,replica=lab3"
ADDRESSES = {"lab2": "127.0.0.2", "lab3": "127.0.0.3"}
REPLICATED = ("replication", "--profile", "smoke", "--where", "engine=mongodb", "--where", "arm=a")
ENGINES = {"mongodb": "mongodb", "postgresql": "postgresql+jsonb", "mysql": "mysql+json", "couchdb": "couchdb"}
"""RethinkDB can be placed, too, but not at these addresses: it listens only at those that an interface has."""
CALLED = """\
import os, socket, sys
socket.sethostname(sys.argv[1])
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    if subprocess.run(["unshare", "--uts", "true"], capture_output=True).returncode:
        pytest.skip("two machines' names on one take the right to unshare")
    lab = Lab(tmp_path_factory.mktemp("lab"))
    lab.ready({name: worker(lab, name) for name in ADDRESSES})
    yield lab
    lab.end()


@pytest.fixture
def lab(standing: Lab, results_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setenv(PLACE, PLACES)
    planning._server.cache_clear()
    standing.results = results_folder
    return standing


def worker(lab: Lab, name: str) -> list[str]:
    """Return the command of a worker on a machine of that name."""
    own = lab.worker("--listen", ADDRESSES[name])
    return ["unshare", "--uts", *PYTHON[:1], "-c", CALLED, name, "-m", *own]


def held(lab: Lab) -> list[psutil.Process]:
    """Return the processes that the workers have started."""
    workers = [psutil.Process(process.pid) for process in lab.processes if process.poll() is None]
    children = [child for one in workers for child in one.children(recursive=True)]
    named = of_each(children, lambda child: (child, child.name()))
    return [child for child, name in named if "python" not in name]


@pytest.mark.parametrize("product", ENGINES)
def test_a_pair_on_two_machines_replicates_and_lets_nobody_in_without_its_password(lab: Lab, product: str) -> None:
    needed(product, "replicated")
    found = servers.here(product, "replicated")
    if isinstance(found, servers.Found) and found.stand_in:
        pytest.skip(f"{product} itself is not installed with the suite: what stands in for it cannot be placed")
    data = phones.smartphones(5, 1)
    with Places(*lab.secured) as places, places.up(product, "replicated") as running:
        urls = [node.url for node in running.deployment.nodes]
        assert [urlsplit(url).hostname for url in urls] == [*ADDRESSES.values()]
        sockets = of_each(held(lab), lambda process: process.net_connections("tcp"))
        listening = {one.laddr.ip for of_one in sockets for one in of_one if not one.raddr}
        assert listening <= {"127.0.0.1", *ADDRESSES.values()} and {*ADDRESSES.values()} <= listening
        for url in urls:
            with pytest.raises(ConnectionError):
                servers.servers_of(product).ask(url.replace(str(urlsplit(url).password), "wrong"))
        with databases.open(ENGINES[product], running.deployment) as engine:
            engine.create(data.schema)
            engine.insert_many(data.records)
            assert engine.wait_for(engine.position(), 30)
            assert len(engine.read_all("replica")) == 5
        assert running.alive() is None
    assert not held(lab)


def test_a_run_measures_here_what_runs_there_and_says_so(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lab.run(*REPLICATED, "--place", PLACES).wait(120) == cli.DONE, lab.said("run")
    rows = results.observations()
    assert {*rows["metric"]} == {"wall_time", "catch_up_time", "elapsed_time", "bytes_received"}
    told = json.loads(rows["environment"].iloc[0])["servers"]["settings"]
    assert told["source"] == "placed" and told["hosts"] == {"primary": "lab2", "replica": "lab3"}
    asked = (["replication"], "smoke", ["engine=mongodb", "arm=a"])
    assert {cell.state for cell in grid.plan(*asked)} == {"done"}
    monkeypatch.delenv(PLACE)
    planning._server.cache_clear()
    assert {cell.state for cell in grid.plan(*asked)} == {"todo"}  # on this machine nothing was measured
    assert not held(lab)


def test_servers_end_with_a_run_that_is_killed(lab: Lab) -> None:
    run = lab.run(*REPLICATED, "--place", PLACES, "--set", "n=200000")
    assert comes_true(lambda: len(held(lab)) >= 2), lab.said("run")
    processes = held(lab)
    run.kill()
    run.wait()
    assert comes_true(lambda: all(gone(process.pid) for process in processes))


def test_a_machine_that_is_lost_fails_the_cell_and_is_named(lab: Lab) -> None:
    run = lab.run(*REPLICATED, "--place", PLACES, "--set", "n=200000")
    assert comes_true(lambda: len(held(lab)) >= 2), lab.said("run")
    lost = next(process for process in reversed(lab.processes) if "127.0.0.3" in process.args)
    lost.kill()
    lost.wait()
    assert run.wait(120) == cli.FAILED, lab.said("run")
    assert "lab3 was lost" in lab.said("run")
    assert comes_true(lambda: not held(lab))
    lab.ready({"lab3": worker(lab, "lab3")})


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ("primary=lab9,replica=lab3", "no worker is called lab9: there are lab2, lab3"),
        ("primary", "BENCHBOOK_PLACE is primary=HOST,replica=HOST, not 'primary'"),
        ("replica=lab3", "BENCHBOOK_PLACE names no host for the primary"),
    ],
)
def test_a_place_that_is_none_is_refused_before_anything_starts(
    lab: Lab, capfd: pytest.CaptureFixture[str], places: str, said: str
) -> None:
    assert cli.main(["run", *REPLICATED, *lab.hosts, "--place", places]) == cli.USAGE
    assert said in capfd.readouterr().err


def test_a_role_without_a_place_leaves_out_the_cells_that_need_it(lab: Lab) -> None:
    assert lab.run(*REPLICATED, "--place", "primary=lab2").wait(60) == cli.NOTHING_RUNS
    assert "names no host for the replica" in lab.said("run")


def test_what_stands_in_for_a_product_is_placed_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLACE, PLACES)
    with stood_in():
        found = servers.find("rethinkdb")
    assert isinstance(found, servers.Missing) and ("placed" in found.why or "no " in found.why)


def test_places_are_read_as_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLACE, "primary=a,replica=b")
    assert placement("single") == {"primary": "a"} and placement("replicated") == {"primary": "a", "replica": "b"}
    monkeypatch.setenv(PLACE, "primary=,replica=b")
    with pytest.raises(ServerError, match="is primary=HOST"):
        placement("single")
    monkeypatch.delenv(PLACE)
    assert placement("replicated") == {}
