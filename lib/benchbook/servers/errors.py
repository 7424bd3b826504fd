"""What can be said of a server that does not run: what it wrote last, and what to do about it."""

import re
import signal
import subprocess
from pathlib import Path
from typing import Final

from benchbook.scrubbing import scrubbed

_LINES = 8
_TAIL_B = 65_536

_FULL: Final = (
    r"No space left on device|Disk quota exceeded|Disk is full writing|[Ee]rr(?:or|code:) 28\b|out of disk space"
    r"|\benospc\b"
)

TAKEN: Final = r"[Aa]ddress .*already in use|\beaddrinuse\b"
"""How a server says that another process has its port, the last in Erlang."""

_REMEDIES: Final = {
    _FULL: "the disk is full: free some of it, or point TMPDIR elsewhere",
    r"error while loading shared libraries: (?P<what>\S+?):": "a library is missing: install what provides {what}",
    TAKEN: "every port it tried was taken: start again",
    r"Permission denied|\beacces\b": (
        "the server's user must reach its folder and programs: check TMPDIR and their permissions"
    ),
    r"could not map anonymous shared memory|Cannot allocate memory": "memory ran out: end something, start again",
}


class ServerError(RuntimeError):
    """A server could not be found, started, reached or used; the message says why and what to do, and no password."""

    def __init__(self, message: str | None) -> None:
        super().__init__(scrubbed(message or "it ended"))


def written(log: Path) -> str:
    """Return the end of what was written to a log."""
    text = log.read_bytes().rstrip(b"\0") if log.exists() else b""  # space is reserved ahead
    return text[-_TAIL_B:].decode(errors="replace")


def last_words(text: str) -> str:
    """Return the last telling lines, indented: of MongoDB's leave-taking and MariaDB's good advice, none."""
    lines = text.strip().splitlines()
    errors = [line for line in lines if "[ERROR]" in line]
    telling = errors or [line for line in lines if '"s":"I"' not in line] or lines
    return "\n".join(f"    {line[:400]}" for line in telling[-_LINES:]) or "    (nothing)"


def advised(text: str) -> str:
    """Return an error's text, with what to do about it where that is known."""
    advice = _advice(text)
    return f"{text}: {advice}" if advice else text


def remedy(text: str, status: int | None) -> str:
    """Return what to do about a server that wrote `text` and ended with `status`."""
    if advice := _advice(text):
        return advice
    if status == -signal.SIGILL:
        return "this processor lacks instructions it needs (MongoDB from 5.0 on: AVX): give an address instead"
    if status == -signal.SIGKILL:
        return "something killed it: see whether memory ran out"
    return "what it said is all that is known"


def does_not_run(ended: subprocess.CompletedProcess[str]) -> str:
    """Return that a program does not run, what to do about it, and the last that it said."""
    lines = (ended.stderr or ended.stdout).strip().splitlines() or ["silent"]
    return f"does not run: {remedy(ended.stderr, ended.returncode)} ({lines[-1]})"


def _advice(text: str) -> str | None:
    for pattern, advice in _REMEDIES.items():
        if match := re.search(pattern, text):
            return advice.format(**match.groupdict())
    return None


def ending(status: int) -> str:
    """Return how a process ended, in words."""
    return f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
