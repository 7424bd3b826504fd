"""The server as a child process that never outlives this one."""

import json
import secrets
import selectors
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, Final

from benchbook import processes
from benchbook.schemas import Schema
from benchbook.wire.framing import LIMIT, WireError, greeting

PATIENCE_S: Final = 30.0


@dataclass(frozen=True)
class Server:
    """A running server.

    Parameters
    ----------
    port
        On the loopback.
    pid
        Of its process.
    greeting
        What each connection to it begins with: the secret, in a frame.
    """

    port: int
    pid: int
    greeting: bytes = field(repr=False)


@contextmanager
def serving(codec: str, schema: Schema, limit: int = LIMIT) -> Iterator[Server]:
    """Run a server in its own process for the time of the context; from the main thread only.

    It is given a secret of its own on its standard input, for arguments and environment can be seen by others.

    Parameters
    ----------
    codec, schema
        How it decodes, and to what.
    limit
        Bytes of the largest frame that it takes.

    Raises
    ------
    WireError
        When it does not come up.
    """
    secret, shape = secrets.token_bytes(32), [(each.name, each.type) for each in schema.fields]
    order = {"secret": secret.hex(), "codec": codec, "limit": limit, "schema": {"name": schema.name, "fields": shape}}
    command = [*processes.PYTHON, "-m", "benchbook.wire.server"]
    process = processes.spawn(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    try:
        with process.stdout as announcement:
            with suppress(BrokenPipeError), process.stdin as stdin:  # one that has died is told of below
                stdin.write(json.dumps(order).encode() + b"\n")
            port = json.loads(_line(announcement))["port"]
        yield Server(port, process.pid, greeting(secret))
    finally:
        processes.stop(process)


def _line(stream: IO[bytes]) -> bytes:
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        line = stream.readline() if selector.select(PATIENCE_S) else b""
    if not line:
        raise WireError("the server did not come up; what it said stands on the error output")
    return line
