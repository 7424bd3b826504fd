"""Own processors: how many a role had to itself, as the kernel granted them."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchbook import cli, grid
from benchbook.cli.command import DONE
from benchbook.grid.cells import find_platform, find_server
from benchbook.results.views import connect, fetch_frame
from benchbook.servers import networks
from benchbook.servers.deployment import Deployment, Node, Role
from benchbook.servers.own_processors import (
    count_deployment_processors,
    count_own_processors,
    read_place,
)
from benchbook.studies import crud, harness, tcp
from shared_servers import needs_root

Start = Any


@pytest.fixture
def start() -> Iterator[Start]:
    """Yield a function that starts a process on some processors, as a role's server."""
    running: list[subprocess.Popen[bytes]] = []

    def start_server(role: Role, processors: set[int]) -> Node:
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        running.append(process)
        os.sched_setaffinity(process.pid, processors)
        return Node(role, "", process.pid, "")

    yield start_server
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def processors() -> list[int]:
    """Return the processors of this process, which has two at least."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        pytest.skip("two processors are needed")
    return usable


@pytest.mark.parametrize(
    ("granted", "own"),
    [
        ([{0}, {1}], 1),
        ([{0, 1}, {2, 3, 4}], 2),
        ([{0, 1}, {0, 1}], 0),
        ([{0, 1}, {1}], 0),
        ([{1}, {0}, {1}], 0),
        ([{0}, {1}, {2}], 1),
        # One role only, and a server whose process is not here.
        ([{0, 1}], None),
        ([{0, 1}, set()], None),
    ],
)
def test_a_cell_has_the_fewest_own_processors_of_its_roles(granted: list[set[int]], own: int):
    assert count_own_processors(granted) == own


def test_processes_that_are_pinned_apart_have_a_processor_each(processors: list[int], start: Start):
    first, second = processors[:2]
    here = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {first})
    try:
        apart = Deployment("mongodb", "single", (start("primary", {second}),))
        assert count_deployment_processors(apart) == 1
        third = start("replica", {second})
        shared = Deployment("mongodb", "replicated", (*apart.nodes, third))
        assert count_deployment_processors(shared) == 0
    finally:
        os.sched_setaffinity(0, here)
    assert count_deployment_processors(apart) == 0, "the client may use the server's processor"


def test_servers_without_a_process_here_are_unknown():
    elsewhere = Deployment("mongodb", "single", (Node("primary", "", None, ""),))
    assert count_deployment_processors(elsewhere) is None
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    gone = Deployment("mongodb", "single", (Node("primary", "", ended.pid, ""),))
    assert count_deployment_processors(gone) is None


@needs_root
def test_the_roles_of_a_network_with_cores_have_own_processors(processors: list[int]):
    for text, own in (("1core", 1), ("lan-1g", 0)):
        with networks.open_network(text, ("client", "server")) as network:
            granted = [read_place(place) for place in network.places.values()]
            assert count_own_processors(granted) == own


def list_missing(study: str, *where: str) -> set[str | None]:
    cells = grid.make_plan([study], "smoke", where, ["network=1core"]).cells
    assert cells
    return {cell.missing for cell in cells}


@needs_root
def test_a_network_whose_roles_need_more_processors_is_refused_with_the_sum(
    processors: list[int], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {*processors[:2]})
    find_server.cache_clear()
    where = ("database=mongodb", "arm=a", "language=python")
    why = "network 1core: 3 roles need 3 processors, here are 2"
    assert list_missing("crud", *where, "topology=replicated") == {why}
    assert list_missing("crud", *where, "topology=single") == {None}
    assert list_missing("tcp", "language=python") == {None}
    replicated = crud.Parameters(topology="replicated", network="1core")
    assert find_platform("crud", replicated).part == "network 1core"
    with (
        pytest.raises(networks.NetworkError, match=why),
        networks.open_network("1core", ("client", "primary", "replica")),
    ):
        pass
    find_server.cache_clear()


def read_own(study: str) -> dict[str, set[int | None]]:
    with connect() as connection:
        columns = "SELECT DISTINCT network, own_processors FROM observations"
        rows = fetch_frame(connection, f"{columns} WHERE study = '{study}'")
    own: dict[str, set[int | None]] = {}
    for network, count in zip(rows["network"], rows["own_processors"], strict=True):
        own.setdefault(network, set()).add(None if count != count else int(count))
    return own


@needs_root
def test_cells_say_how_many_own_processors_their_roles_had(
    processors: list[int], results_folder: Path, capsys: pytest.CaptureFixture[str]
):
    # Too few cores for the study to pin client and server on the loopback.
    here = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors[:2])
    find_server.cache_clear()
    try:
        for study, chosen in (
            ("tcp", ["--where=language=python", "--set=n=500"]),
            ("crud", ["--where=database=mongodb", "--where=topology=single"]),
        ):
            asked = [study, "--profile=smoke", "--noisy", "--where=arm=a", *chosen]
            networks_set = "--set=network=1core,none"
            assert cli.main(["run", *asked, networks_set]) == DONE, capsys.readouterr().out
            assert read_own(study) == {"1core": {1}, "none": {0}}, study
    finally:
        os.sched_setaffinity(0, here)
        find_server.cache_clear()


@needs_root
def test_java_servers_and_clients_have_a_processor_each_in_a_network_with_cores(
    processors: list[int],
):
    java = harness.find_harness("java")
    if isinstance(java, harness.MissingHarness):
        pytest.skip(java.why)
    frame = tcp.run(tcp.Parameters(language="java", network="1core", n=500, repetitions=1))
    assert set(frame["own_processors"]) == {1}
    # The server's JVM has asked the kernel, too.
    is_capacity = frame["metric"].eq("cpu_capacity") & frame["role"].eq("server")
    assert all("times 1 processors" in source for source in frame["source"][is_capacity])
