"""A TCP proxy that counts what a server sends through it, for products that count no replicated bytes themselves.

It is a process of its own: none of its work is in the time or the CPU of who measures, nor of a server that is
measured. It ends with its owner, listens on 127.0.0.1 alone, and passes everything on as it came.
"""

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from benchbook import processes

_NUMBER_B: Final = 8
_CHUNK_B: Final = 1 << 18
_CONNECT_S: Final = 5


class CountingProxy:
    """A proxy that runs: `address` is the host and port at which it stands for the server."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self.address = f"127.0.0.1:{self._number()}"

    def received(self) -> int:
        """Return how many bytes the server has sent through it so far; `ConnectionError` when it has ended."""
        self._control.sendall(b"?")
        return self._number()

    def _number(self) -> int:
        if len(answer := self._control.recv(_NUMBER_B, socket.MSG_WAITALL)) < _NUMBER_B:
            raise ConnectionError("the proxy that counts what replication receives has ended")
        return int.from_bytes(answer)


@contextmanager
def counting_proxy(host: str, port: int) -> Iterator[CountingProxy]:
    """Yield a new proxy for the server at `host` and `port`; `RuntimeError` outside the main thread."""
    control, other_end = socket.socketpair()
    with control:
        with other_end:
            command = [*processes.PYTHON, __file__, host, str(port)]
            process = processes.spawn(command, stdin=other_end.fileno())
        try:
            yield CountingProxy(control)
        finally:
            processes.stop(process)


class _Counter:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.value = 0

    def add(self, number: int) -> None:
        with self._lock:
            self.value += number


def main(host: str, port: int) -> None:
    """Be a proxy: state the port to who asks at the socket on standard input, then the count each time it asks."""
    counter = _Counter()

    def serve() -> None:
        while True:
            client, _ = listener.accept()
            threading.Thread(target=_connect, args=(client, (host, port), counter), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener, socket.socket(fileno=os.dup(0)) as control:
        threading.Thread(target=serve, daemon=True).start()
        control.sendall(listener.getsockname()[1].to_bytes(_NUMBER_B))
        while control.recv(1):
            control.sendall(counter.value.to_bytes(_NUMBER_B))


def _connect(client: socket.socket, server: tuple[str, int], counter: _Counter) -> None:
    """Connect a client with the server until both have ended what they send."""
    with client, suppress(OSError), socket.create_connection(server, _CONNECT_S) as upstream:
        upstream.settimeout(None)
        for end in (client, upstream):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asking = threading.Thread(target=_pass, args=(client, upstream, None), daemon=True)
        asking.start()
        _pass(upstream, client, counter)
        asking.join()


def _pass(source: socket.socket, sink: socket.socket, counter: _Counter | None) -> None:
    """Pass on what comes until it ends, counted before the other side can have it; one that breaks breaks both."""
    buffer = memoryview(bytearray(_CHUNK_B))
    try:
        while length := source.recv_into(buffer):
            if counter:
                counter.add(length)
            sink.sendall(buffer[:length])
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
