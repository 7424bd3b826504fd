"""Networks measured: their rate, their cost, what killed ones leave, and bytes at the card.

``python benchmarks/networks.py rate`` holds the rate at the card against the one that was asked
for, by a stream over TCP and by iperf3 where that is on PATH, and the delay where the kernel has
netem. ``cost`` has a byte go to and fro, and a stream flow, over the loopback, in a network that
shapes nothing and over lan-100m. ``kills`` makes networks one after the other, kills a quarter of
their owners at a random moment, and counts what is left. ``bytes`` replicates smartphones in
lan-100m on each database that is here, and says of which frames the bytes at both cards were.

Run it on an idle machine, as root: networks of others would be counted as left.
"""

import argparse
import json
import random
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from math import exp, isnan, nan
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Final, cast

import numpy as np
import pandas as pd
import psutil
import pytest

from benchbook.analysis.intervals import compute_interval
from benchbook.measure import Meter
from benchbook.servers import deployment, launcher, namespaces, networks, processes
from benchbook.servers.deployment import Place, Role
from benchbook.servers.networks import EmulatedNetwork, Network
from benchbook.servers.programs import MissingServer
from benchbook.studies import replication
from benchbook.text.number_format import format_estimate

ROLES: Final[tuple[Role, ...]] = ("client", "primary", "replica")
FRAME: Final = 1514
SEGMENT: Final = 1448
"""Bytes of a full frame at a card, and of its payload: Ethernet, IP and TCP take 66."""

SHAPED: Final = ("10mbit", "100mbit", "1gbit")
GOAL: Final = 0.03
DELAYS: Final = ("300us", "1ms", "20ms")

UNSHAPED: Final = "0s"
"""A network without a rate and a delay: namespaces and their cards."""

ARMS: Final = {
    "loopback": networks.NO_NETWORK,
    "network, unshaped": UNSHAPED,
    "network, lan-100m": "lan-100m",
}
WARM_UP_S: Final = 0.5
PART: Final = 1 << 18

FORK: Final = get_context("fork")


def run_in_process(work: Callable[[], object]) -> Any:
    """Run work in another process that has this one's open sockets."""
    child = FORK.Process(target=work, daemon=True)
    child.start()
    return child


@contextmanager
def connect_ends(network: EmulatedNetwork) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Yield the client's and the primary's end of a connection, that waits for no more to send."""
    with network.enter("primary"):
        listener = socket.create_server((network.addresses["primary"], 0))
    with listener:
        with network.enter("client"):
            near = socket.create_connection(listener.getsockname(), 10)
        with near, listener.accept()[0] as far:
            for end in (near, far):
                end.settimeout(None)
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield near, far


def pour(near: socket.socket) -> None:
    """Send without end."""
    part = bytes(PART)
    with suppress(OSError):
        while True:
            near.sendall(part)


def echo_bytes(far: socket.socket) -> None:
    """Send back received bytes, one by one."""
    byte = far.recv(1)
    while byte:
        far.send(byte)
        byte = far.recv(1)


@dataclass(frozen=True)
class Flow:
    """A stream's bytes per second, at the receiver's card (0 without one) and of its payload."""

    card: float
    payload: float


def measure_flow(text: str, seconds: float) -> Flow:
    """Return the rate of a stream in a network, or over the loopback, once it flows."""
    with (
        networks.open_network(text, ("client", "primary")) as network,
        connect_ends(network) as (near, far),
    ):
        meters = {
            meter.metric: meter
            for meter in networks.make_card_meters(network.places)
            if meter.role == "primary"
        }

        def read_card() -> float:
            return meters["card_bytes_received"].read() if meters else 0.0

        sender = run_in_process(lambda: pour(near))
        try:
            flowing(far, WARM_UP_S)
            before, start = read_card(), perf_counter_ns()
            payload = flowing(far, seconds)
            card, taken = read_card() - before, (perf_counter_ns() - start) / 1e9
        finally:
            sender.kill()
            sender.join()
        return Flow(card / taken, payload / taken)


def flowing(far: socket.socket, seconds: float) -> int:
    """Take what comes for so long, and return how many bytes that were."""
    end, came = perf_counter_ns() + round(seconds * 1e9), 0
    while perf_counter_ns() < end:
        came += len(far.recv(PART))
    return came


def run_iperf3(text: str, seconds: int) -> float | None:
    """Return iperf3's bits per second with headers; None without iperf3."""
    if shutil.which("iperf3") is None:
        return None
    with networks.open_network(text, ("client", "primary")) as network:
        at = network.addresses["primary"]
        with network.enter("primary"):
            server = subprocess.Popen(
                ["iperf3", "-s", "-1", "-B", at, "--forceflush"], stdout=subprocess.PIPE, text=True
            )
        try:
            assert server.stdout is not None
            next(line for line in server.stdout if "listening" in line)
            with network.enter("client"):
                asked = ["iperf3", "-c", at, "-t", str(seconds), "-O", "1", "-J"]
                told = json.loads(
                    subprocess.run(asked, check=True, capture_output=True, text=True).stdout
                )
        finally:
            server.kill()
            server.communicate()
    return float(told["end"]["sum_received"]["bits_per_second"]) * FRAME / SEGMENT


def rate(repeats: int) -> bool:
    """Print the rates and delays, and return whether all were as asked."""
    good = True
    print("| asked | at the card, bit/s | off by | by iperf3 | off by |\n|---|--:|--:|--:|--:|")
    for text in SHAPED:
        asked = Network.parse(text).rate or 0.0
        probes = [8 * measure_flow(text, 3).card for _ in range(repeats)]
        runs = [run_iperf3(text, 4) for _ in range(repeats)]
        others = [value for value in runs if value is not None]
        said = []
        for values in (probes, others):
            off = [value / asked - 1 for value in values]
            good &= all(abs(share) <= GOAL for share in off)
            said.append(
                f"{statistics.median(values):,.0f} | {min(off):+.2%} to {max(off):+.2%}"
                if values
                else "not here | "
            )
        print(f"| {text} | {' | '.join(said)} |", flush=True)
    for delay in DELAYS:
        why = networks.find_network_fault(delay)
        if why:
            print(f"delay {delay}: not measured, {why}")
            continue
        way_s = (
            statistics.median(round_trips(delay, 200))
            - statistics.median(round_trips(UNSHAPED, 200))
        ) / 2
        off_s = way_s - Network.parse(delay).delay
        good &= abs(off_s) <= 1e-4
        print(f"delay {delay}: {way_s * 1e3:.3f} ms, off by {off_s * 1e3:+.3f} ms")
    return good


def round_trips(text: str, count: int) -> list[float]:
    """Return how long a byte took to and fro, in seconds, so many times."""
    with (
        networks.open_network(text, ("client", "primary")) as network,
        connect_ends(network) as (near, far),
    ):
        other = run_in_process(lambda: echo_bytes(far))
        try:
            times = []
            for _ in range(count + count // 10):
                start = perf_counter_ns()
                near.send(b"x")
                near.recv(1)
                times.append((perf_counter_ns() - start) / 1e9)
        finally:
            other.kill()
            other.join()
    return times[count // 10 :]


def print_costs(blocks: int) -> None:
    """Print the round trip of a byte and the rate of a stream on each arm."""
    trips, flows = defaultdict(list), defaultdict(list)
    for _ in range(blocks):
        for arm in random.sample([*ARMS], len(ARMS)):
            trips[arm].append(statistics.median(round_trips(ARMS[arm], 2_000)) * 1e6)
            flows[arm].append(measure_flow(ARMS[arm], 1).payload * 8 / 1e6)
    print(f"{blocks} blocks; the unshaped network is {UNSHAPED}: no rate and no delay")
    print("| | round trip of a byte, median | a stream's own bytes |\n|---|--:|--:|")
    for arm in ARMS:
        said = []
        for values, unit in ((trips[arm], "µs"), (flows[arm], "Mbit/s")):
            mean = compute_interval(np.log(values), ["today"] * len(values))
            said.append(format_estimate(exp(mean.estimate), exp(mean.low), exp(mean.high), unit))
        print(f"| {arm} | {' | '.join(said)} |")


HOLDER: Final = """
import subprocess, sys, time
import pyroute2
from benchbook.servers import networks, processes
roles = ("client", "primary", "replica")
print("begun", flush=True)
start = time.perf_counter_ns()
with networks.open_network(sys.argv[1], roles) as network:
    made = time.perf_counter_ns()
    started = []
    for role in roles:
        with network.enter(role):
            started.append(processes.spawn(["sleep", "600"]))
    print(made - start, flush=True)
    sys.stdin.read()
    for one in started:
        one.kill()
        one.wait()
    end = time.perf_counter_ns()
print(time.perf_counter_ns() - end, flush=True)
"""
"""Makes a network with a process for each role; ends with its standard input, or is killed."""

GRACE_S: Final = 10.0


def list_namespaces(process: psutil.Process) -> set[str]:
    """Return the network namespaces that a process is in, or has a file open on."""
    folder, names = Path("/proc", str(process.pid)), set()
    with suppress(OSError):
        for link in (*folder.glob("task/*/ns/net"), *(folder / "fd").iterdir()):
            with suppress(OSError):
                names.add(str(link.readlink()))
    return {name for name in names if name.startswith("net:[")}


def list_interfaces() -> set[str]:
    """Return the interfaces of this machine itself."""
    return {f"interface {name}" for name in psutil.net_if_addrs()}


def count_namespaces() -> str:
    """Return how many network namespaces the kernel has memory for, where it is known."""
    with suppress(OSError):
        for line in Path("/proc/slabinfo").read_text(encoding="ascii").splitlines():
            if line.startswith("net_namespace "):
                return line.split()[1]
    return "not told"


def find_leftovers(own: set[str], started: Sequence[psutil.Process], before: set[str]) -> set[str]:
    """Return a network's namespaces and processes that are left after a while."""
    end = time.monotonic() + GRACE_S
    while True:
        held = set[str]()
        for process in psutil.process_iter():
            held |= list_namespaces(process) & own
        running = {f"process {process.pid}" for process in started if process.is_running()}
        left = held | running | (list_interfaces() - before)
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.1)


def kills(count: int, seed: int) -> bool:
    """Make and remove networks, a quarter by killing their owners; print leftovers and times."""
    chance = random.Random(seed)
    killed = {*chance.sample(range(count), count // 4)}
    machines, before, kept = (
        list_namespaces(psutil.Process()),
        list_interfaces(),
        count_namespaces(),
    )
    made: list[float] = []
    gone: list[float] = []
    midway, untidy = 0, 0
    for number in range(count):
        command = [*processes.PYTHON, "-c", HOLDER, "lan-100m"]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as owner:
            assert owner.stdout is not None
            owner.stdout.readline()
            if number in killed:
                typical = statistics.median(made) / 1e9 if made else 0.1
                time.sleep(chance.uniform(0, 2 * typical))
            else:
                made.append(float(owner.stdout.readline()))
            # Stopped, it makes no more of what is then looked for.
            owner.send_signal(signal.SIGSTOP)
            process = psutil.Process(owner.pid)
            own, started = (
                list_namespaces(process) - machines,
                [process, *process.children(recursive=True)],
            )
            owner.send_signal(signal.SIGKILL if number in killed else signal.SIGCONT)
            told = owner.communicate()[0]
            if number in killed:
                midway += not told
            else:
                gone.append(float(told))
        left = find_leftovers(own, started, before)
        if left:
            print(
                f"network {number}, {'killed' if number in killed else 'removed'}, leaves"
                f" {', '.join(sorted(left))}"
            )
            untidy += 1
            before |= left
    print(
        f"{count} networks, {len(killed)} killed, {midway} of them before they were ready;"
        f" {untidy or 'none'} left anything"
    )
    print(
        f"the kernel had {kept} network namespaces in memory before and {count_namespaces()} after"
    )
    ready, over = (statistics.median(times) / 1e6 for times in (made, gone))
    worst = max(made) / 1e6
    print(f"three roles: stands in {ready:.0f} ms (at most {worst:.0f}), closed in {over:.1f} ms")
    return not untidy


DATABASES: Final = (
    "mongodb",
    "postgresql+jsonb",
    "mysql+json",
    "mariadb+json",
    "couchdb",
    "rethinkdb",
)


@dataclass(frozen=True)
class Frame:
    """A frame at a card: moment (ns), direction, peer, bytes, and bytes of data."""

    at: int
    sent: bool
    peer: str
    size: int
    data: int


class Capture:
    """Keeps every frame of a role's card, by a packet socket in the role's namespace."""

    def __init__(self, place: Place) -> None:
        self.frames: list[Frame] = []
        with networks.enter_place(place):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_EVERY))
        self._socket.bind((namespaces.CARD, _EVERY))
        self._socket.setsockopt(socket.SOL_SOCKET, _FORCED_BUFFER, 1 << 25)
        self._socket.setsockopt(socket.SOL_SOCKET, _TIMES, 1)
        self._socket.settimeout(0.2)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep)

    def __enter__(self) -> "Capture":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        # Frames that the kernel dropped since the last request.
        self.lost = struct.unpack("II", self._socket.getsockopt(_PACKET, 6, 8))[1]
        self._socket.close()

    def _keep(self) -> None:
        while not self._over.is_set():
            with suppress(TimeoutError):
                start, about, _, address = self._socket.recvmsg(128, 128)
                seconds, ns = struct.unpack("qq", about[0][2])
                self.frames.append(
                    _frame(start, seconds * 10**9 + ns, address[2] == socket.PACKET_OUTGOING)
                )


_EVERY: Final = 0x0003
"""``ETH_P_ALL``."""
_PACKET: Final = 263
"""``SOL_PACKET``, whose option 6 is ``PACKET_STATISTICS``."""
_FORCED_BUFFER: Final = 33
_TIMES: Final = 35
"""``SO_RCVBUFFORCE`` and ``SO_TIMESTAMPNS``, which Python does not name."""


def _frame(start: bytes, at: int, sent: bool) -> Frame:
    """Return a frame by its first bytes."""
    if start[12:14] != b"\x08\x00":
        return Frame(at, sent, "", 42, 0)
    whole, protocol = int.from_bytes(start[16:18]), start[23]
    source, target = socket.inet_ntoa(start[26:30]), socket.inet_ntoa(start[30:34])
    ip = 4 * (start[14] & 15)
    headers = ip + 4 * (start[14 + ip + 12] >> 4) if protocol == socket.IPPROTO_TCP else whole
    return Frame(at, sent, target if sent else source, 14 + whole, whole - headers)


COLUMNS: Final = (
    "database's counter",
    "replica's card, received",
    "card / database",
    "from primary: its bytes",
    "its frames",
    "without data",
    "from client",
    "primary's card, sent",
    "to replica",
    "to client",
)
IDLE_S: Final = 5.0


def bytes_at_the_cards(database: str, records: int, repetitions: int) -> None:
    """Print a database's lines of the table: a model each, bytes and frames a record."""
    asked: dict[str, Any] = {
        "database": database,
        "network": "lan-100m",
        "model": "document+xml_fields",
    }
    parameters = replication.Parameters(**asked, n=records, repetitions=repetitions)
    product, topology = replication.deployment(parameters)
    found = launcher.find_server(product, topology)
    if isinstance(found, MissingServer):
        why: str | None = found.why
    else:
        why = launcher.find_placement_fault(found, parameters.network)
    if why:
        print(f"{database}: {why}")
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        launcher.provide_servers(product, topology, parameters.network) as running,
    ):
        file = Path(folder, "deployment.json")
        file.write_text(running.deployment.to_json(), encoding="utf-8")
        places = running.deployment.places
        with (
            Capture(places["primary"]) as primary,
            Capture(places["replica"]) as replica,
            pytest.MonkeyPatch.context() as patch,
        ):
            patch.setenv(deployment.DEPLOYMENT_VARIABLE, str(file))
            moments = note_reads(patch)
            rows = replication.run(parameters)
        with Capture(places["replica"]) as idle:
            time.sleep(IDLE_S)
    of_cards = {"primary": primary, "replica": replica}
    lines = defaultdict(list)
    for number, (_, of_window) in enumerate(rows.groupby("started_at")):
        (model,) = {*of_window["model"]}
        edges = {role: moments[role][2 * number : 2 * number + 2] for role in of_cards}
        lines[model].append(window(of_window, of_cards, edges, records))
    for model, each in lines.items():
        medians = [statistics.median(column) for column in zip(*each, strict=True)]
        middle = ["" if isnan(median) else f"{median:,.2f}" for median in medians]
        print(f"| {database} {found.version} | {model} | {' | '.join(middle)} |", flush=True)
    asked_nothing = count_traffic(
        idle.frames, namespaces.choose_card_address(ROLES.index("primary")), sent=False
    )
    size, count = asked_nothing.size / IDLE_S, asked_nothing.frames / IDLE_S
    print(
        f"{database}: an idle primary sends its replica {size:,.0f} bytes in {count:.1f} frames a"
        " second"
    )
    lost = sum(capture.lost for capture in (idle, primary, replica))
    if lost:
        print(f"{database}: {lost:,} frames came faster than they were kept")


def note_reads(patch: pytest.MonkeyPatch) -> dict[Role, list[int]]:
    """Note the moments of reading a card's sent bytes, in ns: before and after each window."""
    moments, meters = defaultdict[Role, list[int]](list), networks.make_card_meters

    def note_read(meter: Meter) -> float:
        moments[cast(Role, meter.role)].append(time.time_ns())
        return meter.read()

    def noting(places: Any) -> list[Meter]:
        return [
            (
                replace(meter, read=partial(note_read, meter))
                if meter.metric == "card_bytes_sent"
                else meter
            )
            for meter in meters(places)
        ]

    patch.setattr(networks, "make_card_meters", noting)
    return moments


@dataclass(frozen=True)
class Traffic:
    """Frames of one direction between two cards: counts, those without data, bytes, data bytes."""

    frames: int
    empty: int
    size: int
    data: int


def count_traffic(frames: Iterable[Frame], peer: str, *, sent: bool) -> Traffic:
    """Count the frames that a card exchanged with another in one direction."""
    chosen = [frame for frame in frames if frame.sent == sent and frame.peer == peer]
    data = [frame.data for frame in chosen]
    return Traffic(len(chosen), data.count(0), sum(frame.size for frame in chosen), sum(data))


def window(
    rows: pd.DataFrame,
    captures: Mapping[Role, Capture],
    edges: Mapping[Role, Sequence[int]],
    records: int,
) -> list[float]:
    """Return the columns of a window, a record: what its rows say, and of which frames that was."""
    frames = {
        role: [frame for frame in capture.frames if edges[role][0] <= frame.at <= edges[role][1]]
        for role, capture in captures.items()
    }
    client, first, second = (namespaces.choose_card_address(number) for number in range(len(ROLES)))
    from_primary = count_traffic(frames["replica"], first, sent=False)
    from_client = count_traffic(frames["replica"], client, sent=False)
    to_replica = count_traffic(frames["primary"], second, sent=True)
    to_client = count_traffic(frames["primary"], client, sent=True)
    values = rows.set_index(["role", "metric"])["value"]
    received = values["replica", "card_bytes_received"]
    # In a network CouchDB and RethinkDB have none.
    database = values.get(("replica", "bytes_received"), nan)
    sent = values["primary", "card_bytes_sent"]
    for card, seen in (
        (received, from_primary.size + from_client.size),
        (sent, to_replica.size + to_client.size),
    ):
        if abs(seen / card - 1) > 0.01:
            print(f"captured were {seen:,} bytes of the {card:,.0f} that the card counted")
    parts = (from_primary.data, from_primary.frames, from_primary.empty, from_client.size)
    a_record = [value / records for value in (*parts, sent, to_replica.size, to_client.size)]
    return [database / records, received / records, received / database, *a_record]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", help="rate, cost, kills or bytes (default: all)")
    parser.add_argument(
        "--repeats", type=int, default=5, help="streams a rate, and rounds of what a network costs"
    )
    parser.add_argument("--networks", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--records", type=int, default=500)
    parser.add_argument(
        "--database", action="append", help="of bytes: such as couchdb (default: each that is here)"
    )
    options = parser.parse_args()
    good = True
    for what in options.what or ("rate", "cost", "kills", "bytes"):
        if what == "rate":
            good &= rate(options.repeats)
        elif what == "cost":
            print_costs(options.repeats)
        elif what == "kills":
            good &= kills(options.networks, options.seed)
        elif what == "bytes":
            print(f"| database | model | {' | '.join(COLUMNS)} |\n|---|---|{'--:|' * len(COLUMNS)}")
            for database in options.database or DATABASES:
                bytes_at_the_cards(database, options.records, options.repeats)
        else:
            parser.error(f"no such part: {what}")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
