"""Networks: a network namespace a role, what it lets through, what is counted there, and that nothing of it stays."""

import contextlib
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

from benchbook import analysis, cli, grid, languages, networks, processes, results, servers
from benchbook.deployment import Deployment, Role
from benchbook.networks import Network, Standing, namespaces, switch
from benchbook.results.files import typed_with_parameters
from benchbook.studies import crud, replication, tcp
from standing import outputs
from waiting import comes_true, gone

SECOND = 10.0
ACCOUNT = 64_999
"""Nobody's."""
OPTIONAL = {("insert", role, "memory_pss") for role in ("primary", "replica")}

needs_root = pytest.mark.skipif(networks.lacking("lan-100m") is not None, reason=str(networks.lacking("lan-100m")))

HOLDER = """
import sys, time
from benchbook import servers
running = servers.start("postgresql", "replicated", sys.argv[1])
print(*(node.pid for node in running.deployment.nodes), flush=True)
print(*(__import__("os").stat(place.namespace).st_ino for place in running.deployment.places.values()), flush=True)
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
def test_a_network_is_told_by_its_name_or_by_what_it_is_like(text: str, network: Network):
    read = Network.of(text)
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
    assert str(Network.of(written)) == name and Network.of(name) == Network.of(str(Network.of(name)))
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
        ({}, "not nothing"),
    ],
)
def test_what_is_wrong_of_a_networks_parts_is_said_by_name(named: Any, why: str):
    with pytest.raises(ValueError, match=why):
        tcp.Parameters.model_validate({"network": named})


def test_a_network_may_be_written_by_its_parts_in_a_grid_and_after_set(home: Path, capsys: pytest.CaptureFixture[str]):
    file = home / "papermill_params" / "tcp.yaml"
    file.write_text(file.read_text().replace("network: [lan-100m]", "network: [{rate: 100mbit}]"))
    for text, name in (("{rate: 100mbit, cores: 1}", "lan-100m/1core"), ("{rate: 100mbit}", "lan-100m")):
        cells = grid.plan(["tcp"], "quick", ["language=python"], [f"network={text},none"]).cells
        assert {cell.network for cell in cells} == {name, "none"}
    by_name = grid.plan(["tcp"], "decide", ["network=lan-100m"], ["blocks=1"]).cells
    assert by_name and {cell.identity for cell in by_name} == {
        cell.identity for cell in grid.plan(["tcp"], "decide", ["network={rate: 100mbit}"], ["blocks=1"]).cells
    }
    for wrong in ("{rat: 1mbit}", "{rate: 1mbit", "{rate}", "{rate: 1mbit, rate: 2mbit}"):
        assert cli.main(["plan", "tcp", "--set", f"network={wrong}"]) == cli.USAGE
        assert f"--set network={wrong}: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        *("lan", "", "100", "100mbit/10mbit", "10mbit/lan-100m", "lan-1g/wan"),
        *("1tbit", "1%", "11s", "1kbit", "0cores", "1.5cores", "-1mbit", "1mbit/"),
    ],
)
def test_what_is_no_network_is_refused_with_what_can_be_written(text: str):
    with pytest.raises(ValueError, match=r"lan-100m|has as its"):
        Network.of(text)
    with pytest.raises(ValueError, match="network"):
        tcp.Parameters(network=text)


def test_without_a_network_everybody_is_on_the_loopback():
    with networks.standing("none", ("client", "primary")) as network, network.entered("client"):
        assert network.addresses == {"client": "127.0.0.1", "primary": "127.0.0.1"}
        assert not network.places and not networks.card_meters(network.places)


@pytest.fixture
def network(request: pytest.FixtureRequest) -> Iterator[Standing]:
    with networks.standing(getattr(request, "param", "lan-100m"), ("client", "server")) as standing:
        yield standing


@contextlib.contextmanager
def connected(network: Standing) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Connect the client's place with the server's."""
    with network.entered("server"):
        listener = socket.create_server((network.addresses["server"], 0))
    with listener:
        with network.entered("client"):
            near = socket.create_connection(listener.getsockname(), SECOND)
        with near, listener.accept()[0] as far:
            yield near, far


def sent(near: socket.socket, far: socket.socket, size: int) -> int:
    """Send so many bytes, and return how many came."""
    thread = threading.Thread(target=lambda: (near.sendall(b"x" * size), near.shutdown(socket.SHUT_WR)))
    thread.start()
    came = 0
    while part := far.recv(1 << 18):
        came += len(part)
    thread.join()
    return came


@needs_root
def test_roles_reach_each_other_alone_and_the_machine_sees_none_of_it():
    before = psutil.net_if_addrs().keys()
    with networks.standing("lan-100m", ("client", "server")) as network, connected(network) as (near, far):
        assert psutil.net_if_addrs().keys() == before
        assert (
            near.getpeername()[0] == network.addresses["server"] and far.getpeername()[0] == network.addresses["client"]
        )
        listening = {connection.laddr.ip for connection in psutil.net_connections("tcp") if connection.laddr}
        assert not {*network.addresses.values()} & listening
        with network.entered("client"):
            assert {*psutil.net_if_addrs()} == {"lo", switch.CARD}
            routes = Path("/proc/thread-self/net/route").read_text().splitlines()[1:]
            assert [route.split()[1] for route in routes] != ["00000000"] and len(routes) == 1, "no way out"
        assert sent(near, far, 10_000) == 10_000
    assert psutil.net_if_addrs().keys() == before


@needs_root
@pytest.mark.parametrize("network", ["lan-100m", "1core"], indirect=True)
def test_a_card_counts_every_frame_with_its_headers(network: Standing):
    size = 1_000_000
    with connected(network) as (near, far):
        meters = {(meter.role, meter.metric): meter for meter in networks.card_meters(network.places)}
        before = {name: meter.read() for name, meter in meters.items()}
        assert sent(near, far, size) == size
        counted = {name: meter.read() - before[name] for name, meter in meters.items()}
    # 1,448 bytes of 1,514 are the sender's, where a frame is full
    assert 1.04 * size < counted["client", "card_bytes_sent"] < 1.2 * size
    for way, back in (("client", "server"), ("server", "client")):
        received, out = counted[back, "card_bytes_received"], counted[way, "card_bytes_sent"]
        assert received == pytest.approx(out, abs=4 * 1514), "what one card sends the other receives"
    assert counted["server", "card_bytes_sent"] < 0.2 * size


@needs_root
@pytest.mark.parametrize("network", ["100mbit/1core"], indirect=True)
def test_each_role_has_its_processor_and_what_it_starts_too(network: Standing):
    everywhere = os.sched_getaffinity(0)
    for role, place in network.places.items():
        with network.entered(role):
            own = processes.answer([sys.executable, "-c", "import os; print(*os.sched_getaffinity(0))"]).stdout
        assert {int(number) for number in own.split()} == {*place.processors} and len(place.processors) == 1
        by_command = processes.answer([*networks.command(place), "nproc"])
        assert by_command.stdout.strip() == "1", by_command.stderr
    assert os.sched_getaffinity(0) == everywhere
    assert len({place.processors for place in network.places.values()}) == min(2, len(everywhere))


@pytest.fixture
def account(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> list[str | Path]:
    """Return what goes before a command so that an account runs it that is not root; its results and files lie apart.

    Root's Python and checkout may lie where no other account reads: they are mounted where that does, for it alone.
    """
    monkeypatch.setenv("HOME", str(temporary))
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(temporary / "results"))
    if os.geteuid():
        return []
    os.chown(temporary, ACCOUNT, ACCOUNT)
    needed = [path.resolve() for path in (Path(sys.base_prefix), Path(__file__).parents[1])]
    closed = {path: outer for path in needed for outer in path.parents if not outer.stat().st_mode & stat.S_IXOTH}
    stages = {path: temporary / f"stage{number}" for number, path in enumerate(closed)}
    steps = [f"mkdir -p {stage} && mount --rbind {path} {stage}" for path, stage in stages.items()]
    steps += [f"mount -t tmpfs -o mode=755 tmpfs {outer}" for outer in {*closed.values()}]
    steps += [f"mkdir -p {path} && mount --rbind {stage} {path}" for path, stage in stages.items()]
    account = ["setpriv", f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--clear-groups", '"$@"']
    before = ["unshare", "--mount", "sh", "-c", " && ".join([*steps, f"exec {' '.join(account)}"]), "sh"]
    tried = subprocess.run([*before, "true"], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"another account's folders cannot be mounted: {tried.stderr.strip()}")
    return [*before]


@pytest.fixture
def guest(account: list[str | Path]) -> list[str | Path]:
    """Return what goes before a command of an account that gets networks."""
    code = "from benchbook import networks; print(networks.lacking('lan-100m') or '')"
    asked = subprocess.run([*account, *processes.PYTHON, "-c", code], capture_output=True, text=True)
    assert not asked.returncode, asked.stderr
    if why := asked.stdout.strip():
        pytest.skip(why)
    return account


def test_an_account_that_is_not_root_gets_the_same_networks(guest: list[str | Path], temporary: Path):
    tests = "reach_each_other or counts_every_frame or has_its_processor or (pair and mongodb)"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--basetemp={temporary}/pytest", "-k", tests]
    code = "import sys; from benchbook import networks; networks.at_home(sys.argv[1:])"
    done = subprocess.run([*guest, *processes.PYTHON, "-c", code, *command, __file__], capture_output=True, text=True)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout + done.stderr


def test_a_run_of_an_account_that_is_not_root_has_networks_beside_the_loopback(guest: list[str | Path]):
    asked = ["replication", "--profile=smoke", "--noisy", "--where=database=mongodb", "--set=network=lan-100m,none"]
    done = subprocess.run(
        [*guest, *processes.PYTHON, "-m", "benchbook.cli", "run", *asked], capture_output=True, text=True
    )
    assert done.returncode == cli.DONE, done.stdout + done.stderr
    with results.connect() as connection:
        rows = results.frame(connection, "SELECT metric, network FROM observations")
    assert set(rows["network"]) == {"lan-100m", "none"}
    assert set(rows["network"][rows["metric"] == "card_bytes_sent"]) == {"lan-100m"}


def test_where_user_namespaces_are_forbidden_it_is_said_what_allows_them(guest: list[str | Path]):
    without = "echo 0 >/proc/sys/user/max_user_namespaces; exec setpriv --ambient-caps=-all --inh-caps=-all"
    code = "from benchbook import networks; print(networks.lacking('lan-100m'))"
    command = [*guest, *namespaces.AT_HOME, "sh", "-c", f'{without} "$@"', "sh", *processes.PYTHON, "-c", code]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    assert "run as root" in said and "sysctl user.max_user_namespaces=" in said


@needs_root
def test_what_this_machine_cannot_do_is_a_reason_and_not_a_network_without_it():
    networks.lacking.cache_clear()
    many = f"{(os.cpu_count() or 1) + 1}cores"
    assert "this machine has" in str(networks.lacking(many))
    networks.lacking.cache_clear()


def test_cells_of_a_network_that_cannot_be_made_are_skipped_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(networks, "lacking", lambda text: None if text == "none" else f"network {text}: not here")
    grid.planning._server.cache_clear()
    for study in ("tcp", "crud", "replication"):
        assert cli.main(["plan", study, "--profile", "smoke", "--set", "network=lan-1g", "--json"]) == cli.DONE
        planned = json.loads(capsys.readouterr().out)
        assert planned and all("network lan-1g: not here" in str(cell["why"]) for cell in planned)
    grid.planning._server.cache_clear()


def test_a_network_that_is_asked_for_is_every_cells():
    for study in ("bookstore", "tcp", "crud", "replication"):
        cells = grid.plan([study], "quick", changes=["network=10mbit"]).cells
        assert {cell.parameters.model_dump()["network"] for cell in cells} == {"10mbit"}


@needs_root
def test_servers_given_by_address_have_no_network(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BENCHBOOK_MONGODB_URL", "mongodb://127.0.0.1:1/")
    with pytest.raises(servers.ServerError, match="given by their address"):
        servers.up("mongodb", "single", "lan-100m")


@needs_root
@pytest.mark.parametrize("database", ["mongodb", "postgresql+jsonb", "mysql+json", "mariadb+json"])
def test_a_pair_in_a_network_replicates_over_its_cards(database: Any):
    parameters = replication.Parameters(
        database=database, network="lan-100m", model="document+xml_text", n=100, repetitions=2
    )
    if why := cells_missing("replication", parameters):
        pytest.skip(why)
    frame = replication.run(parameters)
    for _, rows in frame.groupby("model"):
        for repetition in range(2):
            assert outputs(rows, repetition) - OPTIONAL == replication.expected(parameters)
        counted = rows.groupby(["role", "metric"])["value"].sum()
        assert counted["replica", "card_bytes_received"] > counted["replica", "bytes_received"]
        assert counted["primary", "card_bytes_sent"] > counted["replica", "bytes_received"]
        assert counted["client", "card_bytes_sent"] > 2 * 100 * 100


@needs_root
def test_a_nodes_share_is_of_its_own_processors():
    parameters = replication.Parameters(network="lan-100m/1core", process="apart", model="document", n=300)
    if why := cells_missing("replication", parameters):
        pytest.skip(why)
    means = analysis.measures(typed_with_parameters(replication.run(parameters)).to_pandas())
    values = means.set_index(["role", "metric"])["value"]
    sources = means.set_index(["role", "metric"])["source"]
    for role in ("primary", "replica"):
        capacity = values[role, "cpu_capacity"]
        assert values["client", "elapsed_time"] <= capacity
        assert sources[role, "cpu_capacity"].endswith("times 1 processors of its own")
        assert values[role, "cpu_percent"] == pytest.approx(100 * values[role, "cpu_total"] / capacity)
        assert 0 < values[role, "cpu_percent"] <= 101, "it has no other processor"


def cells_missing(study: str, parameters: Any) -> str | None:
    product, topology = sys.modules[f"benchbook.studies.{study}"].deployment(parameters)
    found = servers.find(product, topology)
    return found.why if isinstance(found, servers.Missing) else servers.unplaceable(found, parameters.network)


@needs_root
@pytest.mark.parametrize("language", ["python", "java"])
def test_objects_travel_between_two_cards(language: Any):
    if language == "java" and isinstance(missing := languages.find(language), languages.Missing):
        pytest.skip(missing.why)
    parameters = tcp.Parameters(language=language, network="lan-100m/1core", n=2_000, repetitions=1)
    frame = tcp.run(parameters)
    for _, rows in frame.groupby("format"):
        assert outputs(rows, 0) == tcp.expected(parameters)
        server = rows[rows["role"] == "server"].set_index("metric")["value"]
        assert server["cpu_capacity"] == server["wall_time"], "its share is of its own processor"
    card = frame[frame["metric"] == "card_bytes_sent"].set_index("format")["value"]
    # The names of elements travel twice.
    assert 2_000 * 200 < card["json"] < card["xml"] < 2_000 * 400


@needs_root
def test_a_batch_runs_its_cells_in_the_network(results_folder: Path, capsys: pytest.CaptureFixture[str]):
    asked = ["crud", "--profile", "smoke", "--noisy", "--where", "database=mongodb", "--where", "language=python"]
    assert cli.main(["run", *asked, "--set", "network=lan-100m,none"]) == cli.DONE, capsys.readouterr().out
    capsys.readouterr()
    sql = "SELECT DISTINCT network, topology FROM observations"
    assert cli.main(["results", "--sql", sql, "--json"]) == cli.DONE
    ran = {(row["network"], row["topology"]) for row in json.loads(capsys.readouterr().out)}
    assert ran == {(network, topology) for network in ("lan-100m", "none") for topology in ("single", "replicated")}


@needs_root
@pytest.mark.parametrize(
    ("study", "asked", "operations"),
    [
        ("bookstore", ["language=python", "network=lan-100m"], {"marshal", "send", "unmarshal", "round_trip"}),
        ("crud", ["database=mongodb", "topology=replicated", "network=lan-100m"], {*crud.WRITES}),
    ],
)
def test_a_notebook_hands_on_the_network(
    study: str, asked: list[str], operations: set[str], results_folder: Path, capsys: pytest.CaptureFixture[str]
):
    changes = [word for change in asked for word in ("--set", change)]
    assert cli.main(["run", study, "--profile", "smoke", "--noisy", *changes]) == cli.DONE, capsys.readouterr().out
    capsys.readouterr()
    assert cli.main(["results", "--sql", "SELECT DISTINCT operation FROM observations", "--json"]) == cli.DONE
    assert {row["operation"] for row in json.loads(capsys.readouterr().out)} == operations


@needs_root
def test_another_networks_servers_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "deployment.json"
    file.write_text(Deployment("mongodb", "single").to_json())
    monkeypatch.setenv("BENCHBOOK_DEPLOYMENT", str(file))
    parameters = crud.Parameters(network="lan-100m", repetitions=1, n=10)
    with pytest.raises(servers.ServerError, match="network none, not lan-100m"):
        crud.run(parameters)


@needs_root
@pytest.mark.parametrize("victim", ["owner", "primary"])
def test_nothing_of_a_network_outlives_who_is_killed(victim: str):
    command = [sys.executable, "-c", HOLDER, "lan-100m"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pids = [int(pid) for pid in owner.stdout.readline().split()]
        inodes = {int(inode) for inode in owner.stdout.readline().split()}
        assert len(inodes) == 3 and holders(inodes)
        os.kill(owner.pid if victim == "owner" else pids[0], signal.SIGKILL)
        if victim == "primary":
            assert comes_true(lambda: gone(pids[0]))
            assert not gone(pids[1]) and holders(inodes), "the replica stays, and so does its machine"
            owner.kill()
        owner.wait()
    assert comes_true(lambda: all(gone(pid) for pid in pids) and not holders(inodes))


def holders(inodes: set[int]) -> set[int]:
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
    with networks.standing("none", roles) as network:
        assert [*network.addresses] == [*roles]
