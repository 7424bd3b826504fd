"""A TCP proxy that counts what a server sends, for products that do not count replicated bytes.

It is a process of its own, so that none of its work is in the time or CPU of what is measured. It
ends with its owner, listens on 127.0.0.1 only, and changes nothing.
"""

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from benchbook.servers import processes

_COUNT_B: Final = 8


class CountingProxy:
    """A running proxy; `address` is the host and port to use in place of the server's."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self.address = f"127.0.0.1:{self._receive_number()}"

    def count_received_bytes(self) -> int:
        """Return how many bytes the server has sent through it; `ConnectionError` when it ended."""
        self._control.sendall(b"?")
        return self._receive_number()

    def _receive_number(self) -> int:
        answer = self._control.recv(_COUNT_B, socket.MSG_WAITALL)
        if len(answer) < _COUNT_B:
            raise ConnectionError("the proxy that counts what replication receives has ended")
        return int.from_bytes(answer)


@contextmanager
def open_counting_proxy(host: str, port: int) -> Iterator[CountingProxy]:
    """Yield a new proxy for a server; raise `RuntimeError` outside the main thread."""
    control, other_end = socket.socketpair()
    with control:
        with other_end:
            command = [*processes.PYTHON, __file__, host, str(port)]
            process = processes.spawn(command, stdin=other_end.fileno())
        try:
            yield CountingProxy(control)
        finally:
            processes.stop(process)


class _ByteCount:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.value = 0

    def add(self, number: int) -> None:
        with self._lock:
            self.value += number


def main(host: str, port: int) -> None:
    """Run a proxy: send its port, then the count at each question.

    Its owner asks at the socket on standard input.
    """
    count = _ByteCount()

    def serve() -> None:
        while True:
            client, _ = listener.accept()
            threading.Thread(
                target=_connect, args=(client, (host, port), count), daemon=True
            ).start()

    with (
        socket.create_server(("127.0.0.1", 0), backlog=64) as listener,
        socket.socket(fileno=os.dup(0)) as control,
    ):
        # Forward in threads; answer the owner here, until its end of the socket is closed.
        threading.Thread(target=serve, daemon=True).start()
        control.sendall(listener.getsockname()[1].to_bytes(_COUNT_B))
        while control.recv(1):
            control.sendall(count.value.to_bytes(_COUNT_B))


def _connect(client: socket.socket, server: tuple[str, int], count: _ByteCount) -> None:
    """Connect a client with the server until both have ended what they send."""
    with (
        client,
        suppress(OSError),
        socket.create_connection(server, timeout=5) as upstream,
    ):
        upstream.settimeout(None)
        for end in (client, upstream):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        requests = threading.Thread(target=_forward, args=(client, upstream, None), daemon=True)
        requests.start()
        _forward(upstream, client, count)
        requests.join()


def _forward(source: socket.socket, sink: socket.socket, count: _ByteCount | None) -> None:
    """Forward bytes until they end, counted before the sink can have them.

    A connection that breaks also breaks the other.
    """
    buffer = memoryview(bytearray(1 << 18))
    try:
        while True:
            length = source.recv_into(buffer)
            if not length:
                break
            if count:
                count.add(length)
            sink.sendall(buffer[:length])
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
