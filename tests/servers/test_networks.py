"""Networks: one network namespace per role, its traffic and counters, and its end."""

import contextlib
import itertools
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchbook import cli, grid
from benchbook.analysis.block_means import compute_block_means
from benchbook.cli.command import DONE, USAGE
from benchbook.grid.cells import find_server
from benchbook.registry.products import STORES
from benchbook.results.files import build_inferred_table
from benchbook.results.views import connect, fetch_frame
from benchbook.servers import launcher, namespaces, networks, processes
from benchbook.servers.deployment import Deployment, Role
from benchbook.servers.errors import ServerError
from benchbook.servers.networks import EmulatedNetwork, Network
from benchbook.servers.programs import MissingServer
from benchbook.studies import crud, harness, replication, tcp
from benchbook.studies.catalogue import SLUGS, load_study
from cases import REAL
from checkout import ROOT, copy_environment
from shared_servers import list_outputs, needs_root
from waiting import comes_true, is_gone

SECOND = 10.0
ACCOUNT = 64_999
"""An unused account."""
IN_NETWORKS = [name for name in SLUGS if "network" in load_study(name).Parameters.model_fields]
"""The studies whose cells can run in a network."""
OPTIONAL = {("insert", role, "memory_pss") for role in ("primary", "replica")}


IMPORT = "import sys; from benchbook.servers import networks"


HOLDER = """
import sys, time
from benchbook.servers import launcher
running = launcher.start_servers("postgresql", "replicated", sys.argv[1])
print(*(node.pid for node in running.deployment.nodes), flush=True)
places = running.deployment.places.values()
print(*(__import__("os").stat(place.namespace).st_ino for place in places), flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("lan-100m", Network(rate=1e8)),
        ("lan-1g", Network(rate=1e9)),
        ("wan", Network(rate=2e7, delay=0.02)),
        ("2.5mbit", Network(rate=2.5e6)),
        ("lan-100m/1core", Network(rate=1e8, cores=1)),
        ("10mbit/300us/2cores", Network(rate=1e7, delay=3e-4, cores=2)),
    ],
)
def test_a_network_is_read_from_its_name_or_its_parts(text: str, network: Network):
    read = Network.parse(text)
    assert read.rate == network.rate and read.cores == network.cores
    assert read.delay == pytest.approx(network.delay)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("lan-100m", "lan-100m"),
        ({"rate": "100mbit"}, "lan-100m"),
        ({"delay": "20ms", "rate": "0.02gbit"}, "wan"),
        ({"delay": "0ms"}, "0s"),
        ({"rate": "100mbit", "delay": "0.3ms", "cores": 2}, "lan-100m/300us/2cores"),
        ({"cores": "1core", "rate": "0.0123456789gbit"}, "12.3456789mbit/1core"),
    ],
)
def test_a_network_has_one_name_however_it_is_written(written: Any, name: str):
    assert str(Network.parse(written)) == name and Network.parse(name) == Network.parse(
        str(Network.parse(name))
    )
    parameters = tcp.Parameters.model_validate({"network": written})
    assert parameters == tcp.Parameters(network=name) and parameters.network == name


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ({"rat": "1mbit"}, "no 'rat': did you mean 'rate'"),
        ({"loss": "1%"}, "no 'loss'"),
        ({"memory": "2g"}, "no 'memory'"),
        ({"rate": "100mbits"}, "rate 100kbit to 100gbit, not '100mbits'.*did you mean 'mbit'"),
        ({"rate": 100}, "rate .* not '100'"),
        ({"cores": True}, "cores a whole number, .* not 'True'"),
        ({}, "at least one of"),
    ],
)
def test_a_wrong_part_of_a_network_is_named(named: Any, why: str):
    with pytest.raises(ValueError, match=why):
        tcp.Parameters.model_validate({"network": named})


def test_a_network_may_be_written_by_its_parts_in_a_grid_and_after_set(
    home: Path, capsys: pytest.CaptureFixture[str]
):
    file = home / "papermill_params" / "tcp.yaml"
    file.write_text(file.read_text().replace("network: [lan-100m]", "network: [{rate: 100mbit}]"))
    for text, name in (
        ("{rate: 100mbit, cores: 1}", "lan-100m/1core"),
        ("{rate: 100mbit}", "lan-100m"),
    ):
        cells = grid.make_plan(
            ["tcp"], "quick", ["language=python"], [f"network={text},none"]
        ).cells
        assert {cell.network for cell in cells} == {name, "none"}
    by_name = grid.make_plan(["tcp"], "decide", ["network=lan-100m"], ["blocks=1"]).cells
    assert by_name and {cell.identity for cell in by_name} == {
        cell.identity
        for cell in grid.make_plan(
            ["tcp"], "decide", ["network={rate: 100mbit}"], ["blocks=1"]
        ).cells
    }
    for wrong in ("{rat: 1mbit}", "{rate: 1mbit", "{rate}", "{rate: 1mbit, rate: 2mbit}"):
        assert cli.main(["plan", "tcp", "--set", f"network={wrong}"]) == USAGE
        assert f"--set network={wrong}: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        *("lan", "", "100", "100mbit/10mbit", "10mbit/lan-100m", "lan-1g/wan"),
        *("1tbit", "1%", "11s", "1kbit", "0cores", "1.5cores", "-1mbit", "1mbit/"),
    ],
)
def test_a_wrong_network_is_refused_with_the_possible_forms(text: str):
    with pytest.raises(ValueError, match=r"lan-100m|has as its"):
        Network.parse(text)
    with pytest.raises(ValueError, match="network"):
        tcp.Parameters(network=text)


def test_without_a_network_all_roles_are_on_the_loopback():
    with networks.open_network("none", ("client", "primary")) as network, network.enter("client"):
        assert network.addresses == {"client": "127.0.0.1", "primary": "127.0.0.1"}
        assert not network.places and not networks.make_card_meters(network.places)


@pytest.fixture
def network(request: pytest.FixtureRequest) -> Iterator[EmulatedNetwork]:
    with networks.open_network(
        getattr(request, "param", "lan-100m"), ("client", "server")
    ) as standing:
        yield standing


@contextlib.contextmanager
def connect_roles(network: EmulatedNetwork) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Connect the client's place with the server's."""
    with network.enter("server"):
        listener = socket.create_server((network.addresses["server"], 0))
    with listener:
        with network.enter("client"):
            near = socket.create_connection(listener.getsockname(), SECOND)
        with near, listener.accept()[0] as far:
            yield near, far


def count_received_bytes(near: socket.socket, far: socket.socket, size: int) -> int:
    """Send so many bytes, and return how many came."""
    thread = threading.Thread(
        target=lambda: (near.sendall(b"x" * size), near.shutdown(socket.SHUT_WR))
    )
    thread.start()
    came = 0
    part = far.recv(1 << 18)
    while part:
        came += len(part)
        part = far.recv(1 << 18)
    thread.join()
    return came


@needs_root
def test_roles_reach_only_each_other_and_the_machine_sees_no_packet():
    before = psutil.net_if_addrs().keys()
    with (
        networks.open_network("lan-100m", ("client", "server")) as network,
        connect_roles(network) as (near, far),
    ):
        assert psutil.net_if_addrs().keys() == before
        assert (
            near.getpeername()[0] == network.addresses["server"]
            and far.getpeername()[0] == network.addresses["client"]
        )
        listening = {
            connection.laddr.ip for connection in psutil.net_connections("tcp") if connection.laddr
        }
        assert not {*network.addresses.values()} & listening
        with network.enter("client"):
            assert {*psutil.net_if_addrs()} == {"lo", namespaces.CARD}
            routes = Path("/proc/thread-self/net/route").read_text().splitlines()[1:]
            assert [route.split()[1] for route in routes] != ["00000000"] and len(routes) == 1, (
                "no way out"
            )
        assert count_received_bytes(near, far, 10_000) == 10_000
    assert psutil.net_if_addrs().keys() == before


@needs_root
@pytest.mark.parametrize("network", ["lan-100m", "1core"], indirect=True)
def test_a_card_counts_every_frame_with_its_headers(network: EmulatedNetwork):
    size = 1_000_000
    with connect_roles(network) as (near, far):
        meters = {
            (meter.role, meter.metric): meter for meter in networks.make_card_meters(network.places)
        }
        before = {name: meter.read() for name, meter in meters.items()}
        assert count_received_bytes(near, far, size) == size
        counted = {name: meter.read() - before[name] for name, meter in meters.items()}
    # 1,448 bytes of 1,514 are the sender's, where a frame is full
    assert 1.04 * size < counted["client", "card_bytes_sent"] < 1.2 * size
    for way, back in (("client", "server"), ("server", "client")):
        received, out = counted[back, "card_bytes_received"], counted[way, "card_bytes_sent"]
        assert received == pytest.approx(out, abs=4 * 1514), (
            "what one card sends the other receives"
        )
    assert counted["server", "card_bytes_sent"] < 0.2 * size


@needs_root
@pytest.mark.parametrize("network", ["100mbit/1core"], indirect=True)
def test_each_role_and_its_children_have_their_processors(network: EmulatedNetwork):
    everywhere = os.sched_getaffinity(0)
    for role, place in network.places.items():
        with network.enter(role):
            own = processes.run_command(
                [sys.executable, "-c", "import os; print(*os.sched_getaffinity(0))"]
            ).stdout
        assert {int(number) for number in own.split()} == {*place.processors} and len(
            place.processors
        ) == 1
        by_command = processes.run_command([*networks.make_prefix(place), "nproc"])
        assert by_command.stdout.strip() == "1", by_command.stderr
    assert os.sched_getaffinity(0) == everywhere
    assert len({place.processors for place in network.places.values()}) == 2


@pytest.fixture
def account(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> list[str | Path]:
    """Return the arguments before a command that run it without root, with its own results.

    Root's Python and checkout may lie where no other account reads: they are mounted where that
    does, and nowhere else.
    """
    monkeypatch.setenv("HOME", str(temporary))
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(temporary / "results"))
    if os.geteuid():
        return []
    os.chown(temporary, ACCOUNT, ACCOUNT)
    needed = [path.resolve() for path in (Path(sys.base_prefix), ROOT)]
    closed = {}
    for path in needed:
        for outer in path.parents:
            if not outer.stat().st_mode & stat.S_IXOTH:
                closed[path] = outer
    stages = {path: temporary / f"stage{number}" for number, path in enumerate(closed)}
    steps = [f"mkdir -p {stage} && mount --rbind {path} {stage}" for path, stage in stages.items()]
    steps += [f"mount -t tmpfs -o mode=755 tmpfs {outer}" for outer in {*closed.values()}]
    steps += [f"mkdir -p {path} && mount --rbind {stage} {path}" for path, stage in stages.items()]
    account = ["setpriv", f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--clear-groups", '"$@"']
    before = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        " && ".join([*steps, f"exec {' '.join(account)}"]),
        "sh",
    ]
    tried = subprocess.run([*before, "true"], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"another account's folders cannot be mounted: {tried.stderr.strip()}")
    return [*before]


@pytest.fixture
def guest(account: list[str | Path]) -> list[str | Path]:
    """Return the arguments before a command that run it as an account with networks."""
    code = f"{IMPORT}; print(networks.find_network_fault('lan-100m') or '')"
    asked = subprocess.run(
        [*account, *processes.PYTHON, "-c", code], capture_output=True, text=True
    )
    assert not asked.returncode, asked.stderr
    why = asked.stdout.strip()
    if why:
        pytest.skip(why)
    return account


def test_an_account_that_is_not_root_gets_the_same_networks(
    guest: list[str | Path], temporary: Path
):
    # That servers replicate there too is the next test.
    tests = "reach_only_each_other or counts_every_frame or have_their_processors"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        f"--basetemp={temporary}/pytest",
        "-k",
        tests,
    ]
    code = f"{IMPORT}; networks.enter_user_namespace(sys.argv[1:])"
    done = subprocess.run(
        [*guest, *processes.PYTHON, "-c", code, *command, __file__],
        env=copy_environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout + done.stderr


def test_a_run_without_root_has_networks_and_a_loopback(
    guest: list[str | Path],
):
    asked = ["replication", "--profile=smoke", "--noisy", "--set=network=lan-100m,none"]
    asked += ["--where=database=mongodb", "--where=arm=a"]
    done = subprocess.run(
        [*guest, *processes.PYTHON, "-m", "benchbook.cli", "run", *asked],
        capture_output=True,
        text=True,
    )
    assert done.returncode == DONE, done.stdout + done.stderr
    with connect() as connection:
        rows = fetch_frame(connection, "SELECT metric, network FROM observations")
    assert set(rows["network"]) == {"lan-100m", "none"}
    assert set(rows["network"][rows["metric"] == "card_bytes_sent"]) == {"lan-100m"}


def test_forbidden_user_namespaces_are_reported_with_the_remedy(guest: list[str | Path]):
    forbid = "echo 0 >/proc/sys/user/max_user_namespaces"
    without = f"{forbid}; exec setpriv --ambient-caps=-all --inh-caps=-all"
    code = f"{IMPORT}; print(networks.find_network_fault('lan-100m'))"
    command = [
        *guest,
        *namespaces.UNSHARE_COMMAND,
        "sh",
        "-c",
        f'{without} "$@"',
        "sh",
        *processes.PYTHON,
        "-c",
        code,
    ]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    assert "run as root" in said and "sysctl user.max_user_namespaces=" in said


@needs_root
def test_a_part_that_this_machine_cannot_emulate_is_refused():
    there = len(os.sched_getaffinity(0))
    why = f"network {there}cores: 2 roles need {2 * there} processors, here are {there}"
    network = f"{there}cores"
    if there == 1:
        why, network = why.replace("1cores", "1core"), "1core"
    assert networks.find_network_fault(network) == why
    with (
        pytest.raises(networks.NetworkError, match=why),
        networks.open_network(network, ("client", "server")),
    ):
        pass


def test_cells_of_a_network_that_cannot_be_made_are_skipped_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(
        networks,
        "find_network_fault",
        lambda text: None if text == "none" else f"network {text}: not here",
    )
    find_server.cache_clear()
    for study in IN_NETWORKS:
        assert (
            cli.main(["plan", study, "--profile", "smoke", "--set", "network=lan-1g", "--json"])
            == DONE
        )
        planned = json.loads(capsys.readouterr().out)
        assert planned and all("network lan-1g: not here" in str(cell["why"]) for cell in planned)
    find_server.cache_clear()


def test_a_network_that_is_set_applies_to_every_cell():
    for study in IN_NETWORKS:
        cells = grid.make_plan([study], "quick", changes=["network=10mbit"]).cells
        assert {cell.parameters.model_dump()["network"] for cell in cells} == {"10mbit"}


@needs_root
def test_servers_given_by_address_have_no_network(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BENCHBOOK_MONGODB_URL", "mongodb://127.0.0.1:1/")
    with pytest.raises(ServerError, match="given by their address"):
        launcher.provide_servers("mongodb", "single", "lan-100m")


@needs_root
@pytest.mark.parametrize(
    "database", [name for name in REAL if name in STORES and not name.endswith("+relational")]
)
def test_a_pair_in_a_network_replicates_over_its_cards(database: Any):
    parameters = replication.Parameters(
        database=database, network="lan-100m", model="document+xml_text", n=50, repetitions=2
    )
    why = explain_missing_cells("replication", parameters)
    if why:
        pytest.skip(why)
    frame = replication.run(parameters)
    for _, rows in frame.groupby("model"):
        for repetition in range(2):
            assert list_outputs(rows, repetition) - OPTIONAL == replication.expected(parameters)
        counted = rows.groupby(["role", "metric"])["value"].sum()
        assert counted["replica", "card_bytes_received"] > counted["replica", "bytes_received"]
        assert counted["primary", "card_bytes_sent"] > counted["replica", "bytes_received"]
        assert counted["client", "card_bytes_sent"] > 2 * 50 * 100


@needs_root
def test_the_cpu_share_of_a_node_is_of_its_own_processors(monkeypatch: pytest.MonkeyPatch):
    # Two processors stand in for three: the replica has the client's.
    processors = sorted(os.sched_getaffinity(0))
    monkeypatch.setattr(networks, "find_shortage", lambda text, roles: None)
    monkeypatch.setattr(
        networks, "_choose_processors", lambda number, cores: (processors[number % 2],)
    )
    parameters = replication.Parameters(
        network="lan-100m/1core", process="apart", model="document", n=100
    )
    why = explain_missing_cells("replication", parameters)
    if why:
        pytest.skip(why)
    means = compute_block_means(build_inferred_table(replication.run(parameters)).to_pandas())
    values = means.set_index(["role", "metric"])["value"]
    sources = means.set_index(["role", "metric"])["source"]
    for role in ("primary", "replica"):
        capacity = values[role, "cpu_capacity"]
        assert values["client", "elapsed_time"] <= capacity
        assert sources[role, "cpu_capacity"].endswith("times 1 processors of its own")
        assert values[role, "cpu_percent"] == pytest.approx(
            100 * values[role, "cpu_total"] / capacity
        )
        assert 0 < values[role, "cpu_percent"] <= 101, "it has no other processor"


def explain_missing_cells(study: str, parameters: Any) -> str | None:
    product, topology = load_study(study).deployment(parameters)
    found = launcher.find_server(product, topology)
    return (
        found.why
        if isinstance(found, MissingServer)
        else launcher.find_placement_fault(found, parameters.network)
    )


@needs_root
@pytest.mark.parametrize("language", ["python", "java"])
def test_objects_travel_between_two_cards(language: Any):
    if language == "java":
        java = harness.find_harness(language)
        if isinstance(java, harness.MissingHarness):
            pytest.skip(java.why)
    parameters = tcp.Parameters(language=language, network="lan-100m/1core", n=2_000, repetitions=1)
    frame = tcp.run(parameters)
    for _, rows in frame.groupby("format"):
        assert list_outputs(rows, 0) == tcp.expected(parameters)
        server = rows[rows["role"] == "server"].set_index("metric")["value"]
        assert server["cpu_capacity"] == server["wall_time"], "its share is of its own processor"
    card = frame[frame["metric"] == "card_bytes_sent"].set_index("format")["value"]
    # The names of elements travel twice.
    assert 2_000 * 200 < card["json"] < card["xml"] < 2_000 * 400


@needs_root
def test_a_batch_runs_its_cells_in_the_network(
    results_folder: Path, capsys: pytest.CaptureFixture[str]
):
    asked = ["crud", "--profile=smoke", "--noisy", "--set=network=lan-100m,none"]
    asked += ["--where=database=mongodb", "--where=language=python", "--where=arm=a"]
    assert cli.main(["run", *asked]) == DONE, capsys.readouterr().out
    capsys.readouterr()
    sql = "SELECT DISTINCT network, topology, operation FROM observations"
    assert cli.main(["results", "--sql", sql, "--json"]) == DONE
    rows = json.loads(capsys.readouterr().out)
    operations: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        operations.setdefault((row["network"], row["topology"]), set()).add(row["operation"])
    assert {*operations} == {*itertools.product(("lan-100m", "none"), ("single", "replicated"))}
    assert operations["lan-100m", "replicated"] == {*crud.WRITES}


@needs_root
def test_a_notebook_without_servers_passes_the_network_on(
    results_folder: Path, capsys: pytest.CaptureFixture[str]
):
    asked = ["bookstore", "--profile=smoke", "--noisy"]
    asked += ["--set=language=python", "--set=network=lan-100m"]
    assert cli.main(["run", *asked]) == DONE, capsys.readouterr().out
    capsys.readouterr()
    sql = "SELECT DISTINCT operation FROM observations"
    assert cli.main(["results", "--sql", sql, "--json"]) == DONE
    operations = {row["operation"] for row in json.loads(capsys.readouterr().out)}
    assert operations == {"marshal", "send", "unmarshal", "round_trip"}


@needs_root
def test_servers_of_another_network_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "deployment.json"
    file.write_text(Deployment("mongodb", "single").to_json())
    monkeypatch.setenv("BENCHBOOK_DEPLOYMENT", str(file))
    parameters = crud.Parameters(network="lan-100m", repetitions=1, n=10)
    with pytest.raises(ServerError, match="network none, not lan-100m"):
        crud.run(parameters)


@needs_root
@pytest.mark.parametrize("victim", ["owner", "primary"])
def test_a_network_ends_when_its_owner_is_killed(victim: str):
    command = [sys.executable, "-c", HOLDER, "lan-100m"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pids = [int(pid) for pid in owner.stdout.readline().split()]
        inodes = {int(inode) for inode in owner.stdout.readline().split()}
        assert len(inodes) == 3 and list_holders(inodes)
        os.kill(owner.pid if victim == "owner" else pids[0], signal.SIGKILL)
        if victim == "primary":
            assert comes_true(lambda: is_gone(pids[0]))
            assert not is_gone(pids[1]) and list_holders(inodes), (
                "the replica stays, and so does its machine"
            )
            owner.kill()
        owner.wait()
    assert comes_true(lambda: all(is_gone(pid) for pid in pids) and not list_holders(inodes))


def list_holders(inodes: set[int]) -> set[int]:
    """Return the processes that are in one of these network namespaces, or have its file open."""
    held = set()
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            for link in (process / "ns/net", *(process / "fd").iterdir()):
                with contextlib.suppress(OSError):
                    if link.readlink().name.startswith("net:[") and link.stat().st_ino in inodes:
                        held.add(int(process.name))
    return held


def test_the_roles_of_a_network_are_those_of_deployments():
    roles: tuple[Role, ...] = ("client", "primary", "replica")
    with networks.open_network("none", roles) as network:
        assert [*network.addresses] == [*roles]
