"""The server as a child process that never outlives this one."""

import json
import selectors
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Final

from benchbook import processes
from benchbook.wire.framing import LIMIT, WireError

PATIENCE_S: Final = 30.0


@dataclass(frozen=True)
class Server:
    """A running server."""

    port: int
    pid: int


@contextmanager
def serving(limit: int = LIMIT) -> Iterator[Server]:
    """Run a server in its own process for the time of the context; from the main thread only.

    Parameters
    ----------
    limit
        Bytes of the largest frame that it takes.

    Raises
    ------
    WireError
        When it does not come up.
    """
    command = [*processes.PYTHON, "-m", "benchbook.wire.server", "--limit", str(limit)]
    process = processes.spawn(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        with process.stdout as announcement:
            port = json.loads(_line(announcement))["port"]
        yield Server(port, process.pid)
    finally:
        processes.stop(process)


def _line(stream: IO[bytes]) -> bytes:
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        line = stream.readline() if selector.select(PATIENCE_S) else b""
    if not line:
        raise WireError("the server did not come up; what it said stands on the error output")
    return line
