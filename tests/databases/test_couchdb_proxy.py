"""The proxy counts every byte that a server sends, and no others; it ends with its owner."""

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

from benchbook.databases.couchdb.proxy import CountingProxy, open_counting_proxy
from waiting import comes_true, is_gone

OWNER = """
import sys, time
from benchbook.databases.couchdb.proxy import open_counting_proxy
with open_counting_proxy("127.0.0.1", int(sys.argv[1])) as proxy:
    print(proxy.address, flush=True)
    time.sleep(600)
"""


@contextmanager
def answering() -> Iterator[int]:
    """Yield the port of a server that answers each connection with its bytes three times."""

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


def ask_proxy(proxy: CountingProxy, question: bytes) -> bytes:
    with socket.create_connection(place(proxy.address)) as client:
        client.sendall(question)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(65536), b""))


def test_it_forwards_all_bytes_and_counts_those_of_the_server() -> None:
    with answering() as port, open_counting_proxy("127.0.0.1", port) as proxy:
        assert proxy.count_received_bytes() == 0
        due = 0
        for size in (1, 1000, 3_000_001):
            question = os.urandom(size)
            assert ask_proxy(proxy, question) == question * 3
            due += 3 * size
            assert proxy.count_received_bytes() == due


def test_simultaneous_connections_are_counted_together() -> None:
    with answering() as port, open_counting_proxy("127.0.0.1", port) as proxy:
        workers = [
            threading.Thread(target=ask_proxy, args=(proxy, bytes(200_000))) for _ in range(20)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert proxy.count_received_bytes() == 20 * 3 * 200_000


def test_a_missing_server_ends_the_connection_and_not_the_proxy() -> None:
    with answering() as port, open_counting_proxy("127.0.0.1", port) as proxy:
        assert ask_proxy(proxy, b"x") == b"xxx"
        with socket.create_server(("127.0.0.1", 0)) as listener:
            nobody = listener.getsockname()[1]
        with open_counting_proxy("127.0.0.1", nobody) as other:
            with socket.create_connection(place(other.address)) as client:
                assert client.recv(1) == b""
            assert other.count_received_bytes() == 0
        assert ask_proxy(proxy, b"x") == b"xxx"


def test_it_listens_only_on_the_loopback_and_is_a_process_of_its_own() -> None:
    with answering() as port:
        before = set(psutil.Process().children())
        with open_counting_proxy("127.0.0.1", port) as proxy:
            (process,) = set(psutil.Process().children()) - before
            listening = [
                one.laddr for one in process.net_connections() if one.status == psutil.CONN_LISTEN
            ]
            assert [(one.ip, one.port) for one in listening] == [place(proxy.address)]
            assert listening[0].ip == "127.0.0.1"
        assert is_gone(process.pid)
        with pytest.raises(OSError):
            proxy.count_received_bytes()


def test_it_ends_with_its_owner_even_if_that_is_killed() -> None:
    with answering() as port:
        command = [sys.executable, "-c", OWNER, str(port)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
            assert owner.stdout is not None
            owner.stdout.readline()  # its proxy is up
            (proxy,) = psutil.Process(owner.pid).children()
            owner.send_signal(signal.SIGKILL)
        assert comes_true(lambda: is_gone(proxy.pid))
