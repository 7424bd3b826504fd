"""Count who gets in while servers start: ``python benchmarks/knocks.py [--starts 20] [PRODUCT...]``.

A stranger, who is ``nobody`` where this runs as root, knows each port before its server does and knocks there, without
a password, from before the server listens until a moment after it is ready: of MongoDB it asks to be made a user and
to begin a replica set, at the others it logs in as each user that they may begin with. Each product that is here is
started so often as a single server, and as a pair; ``lab`` is a scheduler and a worker, of which it asks to run a
function, and which it asks by HTTP, at all of this machine's addresses. Printed are starts, knocks (those that were
answered) and entries; with any entry, or a start that failed, the exit status is 1.
"""

import argparse
import asyncio
import http.client
import json
import os
import pwd
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

import bson
import psutil
import psycopg
import pymysql
from rethinkdb import r
from rethinkdb.errors import ReqlError

from benchbook import servers
from benchbook.processes import spawn
from benchbook.servers import fleet
from benchbook.servers.address import basic_authorization

AFTERWARDS_S: Final = 0.5
"""For how long a server is knocked at once it is ready; and"""

LAB_AFTERWARDS_S: Final = 3.0
"""a lab, at each of whose ports Dask tries for a while."""

HANDS: Final = 4
"""With how many a stranger knocks at once."""

PAUSE_S: Final = 0.001
"""How long each rests after a round of all ports."""

ANSWER_S: Final = 5.0
"""How long an answer may take."""

LAB_S: Final = 0.5
"""How long Dask tries to connect, again and again where it is refused, and then waits for an answer."""

LAB_READY_S: Final = 120.0
READY: Final = {"scheduler": "benchbook run --hosts ", "worker": "waits for blocks"}
"""What the parts of a lab print when they are ready."""

CLOSED: Final[set[int]] = set()
"""Ports at which nobody listens, which are knocked at all the same."""

USERS: Final = ("benchbook", "root", "postgres", "mysql", "nobody", "admin", "anybody")
SYSTEM_USERS: Final = ("mysql.sys", "mysql.session", "mysql.infoschema", "mariadb.sys")

COMMANDS: Final[tuple[dict[str, Any], ...]] = (
    {"createUser": "stranger", "pwd": "stranger", "roles": ["root"]},
    {"replSetInitiate": {"_id": "rs0", "members": [{"_id": 0, "host": "127.0.0.1:9"}]}},
    {"listDatabases": 1},
)
"""What MongoDB lets anybody on its own machine do before it has a user, if it lets them do anything."""


def in_mongodb(port: int) -> Iterator[str | None]:
    with socket.create_connection(("127.0.0.1", port), ANSWER_S) as link, link.makefile("rb") as answers:
        for command in COMMANDS:
            body = bytes(5) + bson.encode(command | {"$db": "admin"})  # no flags, and a section of one document
            link.sendall(struct.pack("<iiii", 16 + len(body), 1, 0, 2013) + body)
            (length,) = struct.unpack("<i12x", answers.read(16) or bytes(16))
            if not length:
                return
            yield next(iter(command)) if bson.decode(answers.read(length - 16)[5:])["ok"] else None


def in_mysql(port: int) -> Iterator[str | None]:
    for user in (*USERS, *SYSTEM_USERS):
        try:
            pymysql.connect(host="127.0.0.1", port=port, user=user, connect_timeout=ANSWER_S).close()
            yield user
        except pymysql.err.OperationalError as error:
            if "refused" not in str(error):
                yield None


def in_postgresql(port: int) -> Iterator[str | None]:
    for user in USERS:
        for kind in ("false", "true"):
            at = f"host=127.0.0.1 port={port} user={user} dbname=postgres connect_timeout={ANSWER_S:.0f}"
            try:
                psycopg.connect(f"{at} replication={kind}").close()
                yield user
            except psycopg.OperationalError as error:
                if "refused" not in str(error):
                    yield None


def over_http(*asked: tuple[str, str]) -> Callable[[int], Iterator[str | None]]:
    """Return what asks a server that, without a login and with users' empty passwords."""
    known = basic_authorization("http://Administrator:password@")  # CouchbaseMock's
    logins = [known, *(basic_authorization("", user) for user in ("", *USERS))]

    def knock(port: int) -> Iterator[str | None]:
        for method, path in asked:
            for login in logins:
                with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_S)) as link:
                    link.request(method, path, headers=login)
                    yield f"{method} {path}" if link.getresponse().status < 400 else None

    return knock


def in_rethinkdb(port: int) -> Iterator[str | None]:
    for user in ("admin", "anybody"):
        try:
            with r.connect("127.0.0.1", port, user=user, timeout=int(ANSWER_S)) as link:
                r.db_create("stranger").run(link)
            yield user
        except ReqlError as error:
            if "refused" not in str(error):
                yield None


def in_lab(port: int) -> Iterator[str | None]:
    from distributed import Security

    ways = [("tcp", Security(require_encryption=False).get_connection_args("client")), ("tls", own_credentials())]
    addresses = [one.address for each in psutil.net_if_addrs().values() for one in each if one.family == socket.AF_INET]
    for address in addresses:
        try:
            socket.create_connection((address, port), ANSWER_S).close()
        except ConnectionRefusedError:
            if port not in CLOSED:
                continue
        try:
            with closing(http.client.HTTPConnection(address, port, timeout=ANSWER_S)) as link:
                link.request("GET", "/health")
                yield f"HTTP {link.getresponse().status}"
            continue  # Dask would take that answer for the length of its own
        except (OSError, http.client.HTTPException):
            yield None
        for kind, arguments in ways:
            for call in ("run", "run_function"):
                yield call if asyncio.run(ran(f"{kind}://{address}:{port}", call, arguments)) else None


@cache
def own_credentials() -> dict[str, Any]:
    """Return how a lab is spoken to by who has made credentials for one."""
    from benchbook.hosts import scheduler

    with tempfile.TemporaryDirectory() as folder:
        scheduler.make(file := Path(folder) / "lab.pem")
        found: dict[str, Any] = scheduler.secured("127.0.0.1", file)[1].get_connection_args("client")
        return found


async def ran(address: str, call: str, arguments: dict[str, Any]) -> bool:
    """Return whether a scheduler or a worker runs what a stranger sends it."""
    from distributed.comm import connect
    from distributed.core import send_recv
    from distributed.protocol.pickle import dumps

    try:
        link = await connect(address, timeout=LAB_S, **arguments)
        asked = {"function": dumps(os.getuid), "args": dumps(()), "kwargs": dumps({})}
        answer = await asyncio.wait_for(send_recv(link, op=call, **asked), LAB_S)
        link.abort()
        return isinstance(answer, dict) and answer.get("status") == "OK"
    except (OSError, TimeoutError, KeyError, AttributeError, ValueError):
        return False


KNOCKS: Final[dict[str, Callable[[int], Iterator[str | None]]]] = {
    "mongodb": in_mongodb,
    "postgresql": in_postgresql,
    "mysql": in_mysql,
    "mariadb": in_mysql,
    "couchdb": over_http(("GET", "/"), ("GET", "/_all_dbs"), ("PUT", "/stranger")),
    "rethinkdb": in_rethinkdb,
    "lab": in_lab,
    "couchbase": over_http(
        ("GET", "/pools"), ("GET", "/pools/default/buckets/benchbook"), ("GET", "/mock/get_mcports")
    ),
}
"""How each brand's servers are knocked at; yields for each answer what was done, or None: it was refused."""


def stranger(brand: str) -> None:
    """Knock at the ports that come in on standard input, until that ends; then print the knocks and the entries."""
    knock = KNOCKS[brand]
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        CLOSED.add(closed.getsockname()[1])
        knocked(knock, *CLOSED, Counter())  # what it takes is imported now: nobody may not read it later
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.setgroups([])
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)
    ports: list[int] = []
    over = threading.Event()

    def loop() -> Counter[str]:
        counts: Counter[str] = Counter()
        while not over.is_set():
            for port in [*ports]:
                knocked(knock, port, counts)
            time.sleep(PAUSE_S)
        return counts

    with ThreadPoolExecutor(HANDS) as pool:
        print("ready", flush=True)
        hands = [pool.submit(loop) for _ in range(HANDS)]
        for line in sys.stdin:
            ports.append(int(line))  # noqa: PERF401 (each is knocked at as soon as it is known)
        over.set()
    print(json.dumps(sum((hand.result() for hand in hands), Counter[str]())))


def knocked(knock: Callable[[int], Iterator[str | None]], port: int, counts: Counter[str]) -> None:
    """Count what becomes of one round of knocks."""
    try:
        for entered in knock(port):
            counts[f"entered: {entered}" if entered else "refused"] += 1
    except (OSError, http.client.HTTPException):  # nobody listens yet, or no longer
        pass


@contextmanager
def knocking(brand: str, counts: Counter[str]) -> Iterator[Callable[[int], None]]:
    """Have a stranger knock at all servers that are started meanwhile, and count what becomes of it.

    Yields what tells it of another port.
    """
    command = [sys.executable, __file__, "--stranger", brand]
    free_port = fleet.free_port

    def tell(port: int) -> None:
        print(port, file=process.stdin, flush=True)

    def known_port(address: str) -> int:
        port = free_port(address)
        tell(port)
        return port

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        fleet.free_port = known_port
        try:
            yield tell
        finally:
            fleet.free_port = free_port
            counts.update(json.loads(process.communicate()[0]))


def entries(counts: Counter[str]) -> str:
    """Return in words how often what was done without a password."""
    done = {what.removeprefix("entered: "): count for what, count in counts.items() if what != "refused"}
    return ", ".join(f"{count} {what}" for what, count in done.items())


@contextmanager
def lab(tell: Callable[[int], None]) -> Iterator[None]:
    """Run a scheduler and a worker, and tell of each port as soon as it is open."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        over = threading.Event()
        processes: list[subprocess.Popen[bytes]] = []

        def start(part: str, *words: str) -> str:
            log = folder / f"{part}.log"
            command = [sys.executable, "-m", "benchbook.cli", part, *words, "--credentials", str(folder / "lab.pem")]
            with log.open("w") as file:
                # it ends with the benchmark, however that ends
                process = spawn(command, env=os.environ, stdout=file, stderr=file, death_signal=signal.SIGTERM)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            processes.append(process)
            deadline = time.monotonic() + LAB_READY_S
            while READY[part] not in (said := log.read_text()):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise servers.ServerError(f"the {part} was not ready: {said}")
                time.sleep(0.05)
            return said

        def watch() -> None:
            known: set[int] = set()
            while not over.wait(0.01):
                open_now = {
                    one.laddr.port
                    for one in psutil.net_connections("tcp")
                    if one.status == psutil.CONN_LISTEN and one.pid in {process.pid for process in processes}
                }
                for port in open_now - known:
                    tell(port)
                known |= open_now

        watching = threading.Thread(target=watch)
        watching.start()
        stack.callback(watching.join)
        stack.callback(over.set)
        said = start("scheduler", "127.0.0.1:0")
        start("worker", said.partition(READY["scheduler"])[2].split()[0])
        yield


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--stranger", choices=KNOCKS, help=argparse.SUPPRESS)
    parser.add_argument("product", nargs="*", help="or lab (default: all that is here)")
    asked = parser.parse_args()
    if asked.stranger:
        stranger(asked.stranger)
        return 0
    ended = 0
    print("| product | servers | starts | failed | knocks | entries |\n|---|---|---|---|---|---|")
    for product in asked.product or [*servers.PRODUCTS, "lab"]:
        for topology in ("single", "replicated"):
            if product == "lab":
                if topology == "replicated":
                    continue
            elif isinstance(servers.find(product, topology), servers.Missing):
                continue
            failed, counts = 0, Counter[str]()
            for _ in range(asked.starts):
                try:
                    with knocking(product.partition("@")[0], counts) as tell, ExitStack() as stack:
                        stack.enter_context(lab(tell) if product == "lab" else servers.start(product, topology))
                        time.sleep(LAB_AFTERWARDS_S if product == "lab" else AFTERWARDS_S)
                except servers.ServerError as error:
                    failed += 1
                    print(error, file=sys.stderr)
            what = entries(counts)
            print(
                f"| {product} | {topology} | {asked.starts} | {failed} | {counts.total()} | {what or 0} |", flush=True
            )
            ended |= bool(what or failed)
    return ended


if __name__ == "__main__":
    sys.exit(main())
