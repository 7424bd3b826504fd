"""The proxy that counts what a server sends: every byte of it, and no others; it ends with its owner."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import psutil
import pytest

from benchbook.databases.couchdb.proxy import CountingProxy, counting_proxy
from waiting import comes_true, gone

OWNER = """
import sys, time
from benchbook.databases.couchdb.proxy import counting_proxy
with counting_proxy("127.0.0.1", int(sys.argv[1])) as proxy:
    print(proxy.address, flush=True)
    time.sleep(600)
"""


@contextmanager
def answering() -> Iterator[int]:
    """Yield the port of a server that answers each connection, at its end, with three times what came."""

    def answer(peer: socket.socket) -> None:
        with peer:
            asked = b"".join(iter(lambda: peer.recv(65536), b""))
            peer.sendall(asked * 3)

    def accept() -> None:
        while True:
            try:
                threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def place(address: str) -> tuple[str, int]:
    parts = urlsplit(f"//{address}")
    return parts.hostname or "", parts.port or 0


def asked(proxy: CountingProxy, question: bytes) -> bytes:
    with socket.create_connection(place(proxy.address)) as client:
        client.sendall(question)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(65536), b""))


def test_it_passes_on_what_comes_and_counts_what_the_server_sends_to_the_byte() -> None:
    with answering() as port, counting_proxy("127.0.0.1", port) as proxy:
        assert proxy.received() == 0
        due = 0
        for size in (1, 1000, 3_000_001):
            question = os.urandom(size)
            assert asked(proxy, question) == question * 3
            due += 3 * size
            assert proxy.received() == due


def test_connections_that_are_open_at_once_are_counted_together() -> None:
    with answering() as port, counting_proxy("127.0.0.1", port) as proxy:
        workers = [threading.Thread(target=asked, args=(proxy, bytes(200_000))) for _ in range(20)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert proxy.received() == 20 * 3 * 200_000


def test_a_server_that_is_gone_ends_the_connection_and_the_proxy_goes_on() -> None:
    with answering() as port, counting_proxy("127.0.0.1", port) as proxy:
        assert asked(proxy, b"x") == b"xxx"
        with socket.create_server(("127.0.0.1", 0)) as listener:
            nobody = listener.getsockname()[1]
        with counting_proxy("127.0.0.1", nobody) as other:
            with socket.create_connection(place(other.address)) as client:
                assert client.recv(1) == b""
            assert other.received() == 0
        assert asked(proxy, b"x") == b"xxx"


def test_it_listens_on_the_loopback_alone_and_is_no_thread_of_its_owner() -> None:
    with answering() as port:
        before = set(psutil.Process().children())
        with counting_proxy("127.0.0.1", port) as proxy:
            (process,) = set(psutil.Process().children()) - before
            listening = [one.laddr for one in process.net_connections() if one.status == psutil.CONN_LISTEN]
            assert [(one.ip, one.port) for one in listening] == [place(proxy.address)]
            assert listening[0].ip == "127.0.0.1"
        assert gone(process.pid)
        with pytest.raises(OSError):
            proxy.received()


def test_it_ends_with_its_owner_also_when_that_is_killed() -> None:
    with answering() as port:
        command = [sys.executable, "-c", OWNER, str(port)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
            assert owner.stdout is not None
            owner.stdout.readline()  # its proxy is up
            (proxy,) = psutil.Process(owner.pid).children()
            owner.send_signal(signal.SIGKILL)
        assert comes_true(lambda: gone(proxy.pid))
