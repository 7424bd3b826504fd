"""What connections of this machine have received, as the kernel counts it for each socket (``TCP_INFO``).

For products that count no replicated bytes themselves. ``ss`` (iproute2) shows it, to every user. A byte of the
stream counts once: what the product sends with its own framing, without TCP's headers and what was sent again.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

_COMMAND: Final = ("ss", "--tcp", "--info", "--numeric", "--no-header", "--oneline", "state", "established")
_ENDS: Final = re.compile(r"^\S+\s+\S+\s+(\S+):(\d+)\s+(\S+):(\d+)\s")
_RECEIVED: Final = re.compile(r"\bbytes_received:(\d+)")
_PATIENCE_S: Final = 10.0


class Ends(NamedTuple):
    """A connection as one of its sockets sees it: its own address and port, and the other end's."""

    address: str
    port: int
    peer_address: str
    peer_port: int


def missing() -> str | None:
    """Return why sockets cannot be read here; None where they can."""
    if sys.platform != "linux":
        return "only Linux says what a socket has received"
    if shutil.which("ss") is None:
        return "ss, which says what a socket has received, is not on PATH: install iproute2"
    return None


def received() -> dict[Ends, int]:
    """Return the bytes that each socket of this machine has received on an established connection."""
    said = subprocess.run(_COMMAND, capture_output=True, text=True, check=True, timeout=_PATIENCE_S).stdout
    found = {}
    for line in said.splitlines():
        if ends := _ENDS.match(line):
            count = _RECEIVED.search(line)  # a socket that has received nothing says nothing
            found[Ends(ends[1], int(ends[2]), ends[3], int(ends[4]))] = int(count[1]) if count else 0
    return found


class Received:
    """The bytes that some connections have received, which `what` names in messages."""

    def __init__(self, wanted: Callable[[Ends], bool], what: str) -> None:
        self._wanted = wanted
        self._what = what
        self._seen: Mapping[Ends, int] = {}

    def __call__(self) -> float:
        """Return their sum, which only grows.

        Raises `ConnectionError` when no such connection is there, or one has gone since the last call: what it had
        received is not known then.
        """
        now = {ends: count for ends, count in received().items() if self._wanted(ends)}
        if not now:
            raise ConnectionError(f"there is no {self._what} on this machine to read")
        if gone := self._seen.keys() - now.keys():
            raise ConnectionError(
                f"{self._what}: {len(gone)} closed since it was read, and with it what it had counted"
            )
        self._seen = now
        return float(sum(now.values()))
