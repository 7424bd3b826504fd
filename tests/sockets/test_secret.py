"""An account without the secret can do nothing to the servers of Python and Java."""

import json
import multiprocessing
import os
import secrets
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil
import pytest
from test_trials import reply

import hostile
from benchbook import codecs
from benchbook.datasets import persons
from benchbook.measure import wait_until_idle
from benchbook.servers import processes
from benchbook.sockets.client import SocketServer, start_receiver
from benchbook.sockets.protocol import (
    ACK,
    END,
    ERROR,
    HEADER,
    OBJECT,
    READY,
    REPORT,
    START,
    pack_frame,
    pack_message,
    unpack_message,
)
from benchbook.studies import harness, tcp
from shared_servers import list_outputs, skip_without_language

PEOPLE = persons.generate_people(3, 7)
OBJECTS = [codecs.load_codec("orjson").encode_record(record) for record in PEOPLE.records]
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
NOBODY = 65534

CODECS: dict[int, str] = {}
"""What each server decodes, by its process."""


@contextmanager
def java(codec: str) -> Iterator[SocketServer]:
    """Run the Java language's server as its client does."""
    jar = skip_without_language("java", "mvn", "javac").command[-1]
    command = ["java", "-cp", jar, "org.benchbook.tcp.Server"]
    process = processes.spawn(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin and process.stdout
    try:
        with process.stdin as owner, process.stdout as said:
            secret = secrets.token_bytes(16)
            owner.write(json.dumps({"secret": secret.hex(), "codecs": [codec]}).encode() + b"\n")
            owner.flush()
            CODECS[process.pid] = codec
            yield SocketServer(int(said.readline()), process.pid, secret)
    finally:
        processes.stop(process)


@contextmanager
def python() -> Iterator[SocketServer]:
    with start_receiver(["orjson"], PEOPLE.schema) as server:
        CODECS[server.pid] = "orjson"
        yield server


SERVERS: dict[str, Callable[[], Any]] = {"python": python, "java": lambda: java("jackson")}


@pytest.fixture(scope="module")
def started() -> Iterator[Callable[[str], SocketServer]]:
    with ExitStack() as stack:
        yield cache(lambda name: stack.enter_context(SERVERS[name]()))


@pytest.fixture(params=SERVERS)
def server(started: Callable[[str], SocketServer], request: pytest.FixtureRequest) -> SocketServer:
    """Each server, started once."""
    return started(request.param)


def open_connection(server: SocketServer, said: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port), 20)
    connection.sendall(said)
    return connection


def answer(connection: socket.socket) -> bytes:
    """Return all that a server says until it closes; it may reset what it has not read."""
    got = b""
    with suppress(ConnectionResetError):
        while True:
            some = connection.recv(1000)
            if not some:
                break
            got += some
    return got


def pack_start(server: SocketServer, *, acknowledge: bool = False) -> bytes:
    """Return the command that starts a trial with a server, in the codec that it was given."""
    codec = CODECS[server.pid]
    return server.secret + pack_message(START, codec=codec, acknowledge=acknowledge, check=False)


def serves(server: SocketServer) -> None:
    """Hold that who knows the secret is served."""
    with open_connection(server, pack_start(server)) as connection:
        assert reply(connection)[0] == READY
        connection.sendall(
            b"".join(pack_frame(OBJECT, data) for data in OBJECTS)
            + pack_message(END, objects=len(OBJECTS))
        )
        kind, payload = reply(connection)
    assert (kind, unpack_message(payload).get("objects")) == (REPORT, len(OBJECTS)), payload


def old_start(codec: str) -> bytes:
    """Return the start command of the protocol that knew no secret: the client chose the codec."""
    schema = {"name": "people", "fields": [(each.name, each.type) for each in PEOPLE.schema.fields]}
    return pack_message(START, codec=codec, schema=schema, acknowledge=True, check=False)


UNKNOWN = {
    "the old protocol": old_start("orjson") + pack_frame(OBJECT, OBJECTS[0]),
    "another secret": bytes(16)
    + pack_message(START, codec="orjson", acknowledge=False, check=False),
    "a long frame": HEADER.pack(START, 2**31) + bytes(1000),
    "no protocol": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + bytes(100),
    "deep JSON": pack_frame(START, b"[" * 100_000),
}


@pytest.mark.parametrize("said", UNKNOWN)
def test_a_connection_without_the_secret_gets_no_answer(server: SocketServer, said: str) -> None:
    with open_connection(server) as connection:
        with suppress(ConnectionResetError, BrokenPipeError):
            connection.sendall(UNKNOWN[said])
        assert answer(connection) == b""
    serves(server)


def test_a_wrong_or_incomplete_secret_gets_no_answer(server: SocketServer) -> None:
    *rest, last = server.secret
    for said in (bytes([*rest, last ^ 1]), server.secret[1:] + b"\0", b"\0" + server.secret):
        with open_connection(server, said) as connection:
            assert answer(connection) == b""
    with open_connection(server, server.secret[:-1]) as connection:
        connection.shutdown(socket.SHUT_WR)
        assert answer(connection) == b""


def test_the_secret_is_not_in_arguments_or_environment(server: SocketServer) -> None:
    process, secret = psutil.Process(server.pid), server.secret.hex()
    assert secret not in " ".join([*process.cmdline(), *process.environ().values(), repr(server)])


def test_the_start_command_can_only_name_the_servers_codecs(
    server: SocketServer,
) -> None:
    with open_connection(server, server.secret + old_start("xmldecoder")) as connection:
        kind, said = reply(connection)
    assert kind == ERROR
    assert b"not a start command" in said
    serves(server)


@ROOT
@pytest.mark.parametrize(
    "cell",
    [{}, {"json_codec": "jackson", "xml_codec": "jaxb", "language": "java"}],
    ids=["python", "java"],
)
def test_another_user_cannot_connect_to_a_running_cell(
    cell: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "language" in cell:
        skip_without_language("java", "mvn", "javac")
    writable = tmp_path / "writable"
    writable.mkdir()
    writable.chmod(0o777)
    program = hostile.programs(str(writable / "marker"), 9, version())["object"]
    said = [
        *UNKNOWN.values(),
        old_start("xmldecoder") + pack_frame(OBJECT, program),
        secrets.token_bytes(500),
        b"",
    ]
    parameters = tcp.Parameters(n=100, repetitions=2, transport="connection", **cell)
    with another_user(said) as (attacked, stop):
        # The Java harness waits itself.
        def wait_for_attack(pids: list[int]) -> None:
            attacked.wait(30)
            wait_until_idle(pids)

        monkeypatch.setattr(tcp, "wait_until_idle", wait_for_attack)
        rows = tcp.run(parameters)
        rounds = stop()
    assert attacked.is_set() and not any(map(any, rounds)) and not list(writable.iterdir())
    assert set(rows["codec"]) == set(parameters.codecs())
    for _, some in rows.groupby("codec"):
        for repetition in range(2):
            assert list_outputs(some, repetition) == tcp.expected(parameters)


@contextmanager
def another_user(
    said: Sequence[bytes],
) -> Iterator[tuple[threading.Event, Callable[[], list[list[bytes]]]]]:
    """Let another user say this, again and again, to the next server that this process starts.

    Yields what is set after the first round, and what stops it and returns each round's answers.
    """
    fork, before, attacked = multiprocessing.get_context("fork"), ports(), threading.Event()
    ours, theirs = fork.Pipe()
    socket.getaddrinfo("127.0.0.1", 0)  # imports what the other user may not be able to read
    other = fork.Process(target=attacks, args=(theirs, said))
    other.start()
    theirs.close()

    def begin() -> None:
        ours.send(new_port(before))
        ours.poll(30)
        attacked.set()

    def stop() -> list[list[bytes]]:
        ours.send(0)
        return list(iter(ours.recv, None))

    threading.Thread(target=begin, daemon=True).start()
    try:
        yield attacked, stop
    finally:
        other.kill()
        other.join()


def ports() -> set[int]:
    """Return the ports of the servers that this process and its children have started."""
    found = set()
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if {"benchbook.sockets.receiver", "org.benchbook.tcp.Server"} & set(child.cmdline()):
                found |= {
                    each.laddr.port
                    for each in child.net_connections("tcp")
                    if each.status == "LISTEN"
                }
    return found


def new_port(before: set[int]) -> int:
    new = ports() - before
    while not new:
        time.sleep(0.02)
        new = ports() - before
    return new.pop()


def attacks(orders: Connection, said: Sequence[bytes]) -> None:
    """As another user, send this to a server until told to stop; return the answers, then None."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    server = SocketServer(orders.recv(), 0, b"")
    while True:
        got = [b""] * len(said)
        for number, each in enumerate(said):
            with suppress(OSError), open_connection(server, each) as connection:
                connection.settimeout(0.1)
                got[number] = connection.recv(1000)
        orders.send(got)
        if orders.poll(0.7):  # a pause in which the server rests, for which the cell waits
            return orders.send(None)


def version() -> str:
    """Return Java's, as its documents name it."""
    found = harness.find_harness("java")
    return found.version.split()[1].rstrip(",") if isinstance(found, harness.Harness) else "17"


def test_xmldecoder_only_builds_persons(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    with java("xmldecoder") as server, socket.create_server(("127.0.0.1", 0)) as asked:
        asked.setblocking(False)
        made = hostile.programs(str(marker), asked.getsockname()[1], version())
        honest = hostile.beans(hostile.PERSON.replace("{more}", ""), version())
        accepted = [name for name, document in made.items() if can_decode(server, document)]
        assert (accepted, can_decode(server, honest)) == ([], True)
        time.sleep(0.2)  # a command that was started makes its file
        assert not marker.exists()
        with pytest.raises(BlockingIOError):
            asked.accept()


@pytest.mark.parametrize("codec", ["jaxb", "dom"])
def test_java_refuses_doctypes(codec: str) -> None:
    with java(codec) as server, socket.create_server(("127.0.0.1", 0)) as asked:
        asked.setblocking(False)
        made = hostile.documents(asked.getsockname()[1])
        assert [name for name, document in made.items() if can_decode(server, document)] == []
        with pytest.raises(BlockingIOError):
            asked.accept()


def can_decode(server: SocketServer, document: bytes) -> bool:
    """Return whether a server decodes a document; it says so, or that it does not."""
    with open_connection(server, pack_start(server, acknowledge=True)) as connection:
        assert reply(connection)[0] == READY
        connection.sendall(pack_frame(OBJECT, document))
        kind, _ = reply(connection)
    assert kind in (ACK, ERROR)
    return kind == ACK
