"""Child processes that end with their owner, however it ends, and find no setting of the user's in their environment.

On Linux the kernel signals the child when the thread that forked it ends (``PR_SET_PDEATHSIG``): so only the main
thread may start one. Elsewhere a shell in the child's process group reads a pipe that ends with the owner.
"""

import ctypes
import os
import pwd
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import IO, Final

HAS_DEATH_SIGNAL: Final = sys.platform == "linux"
"""Whether the kernel can signal a process when its parent ends."""

_PR_SET_PDEATHSIG: Final = 1
_PRCTL: Final = getattr(ctypes.CDLL(None), "prctl", None)

_WATCHED: Final = """
death_signal=$1
shift
{ read -r _; kill -s "$death_signal" -- -$$; } </dev/fd/"$0" >/dev/null 2>&1 &
exec "$@"
"""
"""A shell that becomes a command. It first starts another, which reads a pipe (`_lifeline`) and ends with the owner."""

LIBRARIES: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
"""Where the dynamic linker looks: programs may not start without, and what it finds there is measured."""

_PASSED: Final = ("PATH", *LIBRARIES, "SSL_CERT_FILE", "SSL_CERT_DIR")
"""What a child inherits: where programs and libraries lie, and whom TLS trusts on the way to given servers."""

PYTHON: Final = (sys.executable, "-I")
"""This Python, deaf to ``PYTHON*``, to packages in the user's home and to modules in the working folder."""

File = int | IO[bytes] | None
"""What a standard stream of a child may be: as `subprocess.Popen` takes it."""


def environment(home: Path | None = None, **more: str) -> dict[str, str]:
    """Return the whole environment of a child: what it cannot do without, and nothing else of the user's.

    Language and time zone are the same on every machine; what a child inherits that could change a measured value
    (`LIBRARIES`) belongs to the cell's identity. Its home, in which programs look for files that configure them, is an
    empty folder, or None: it has none.
    """
    own = {"LC_ALL": "C.UTF-8" if sys.platform == "linux" else "en_US.UTF-8", "TZ": "UTC"}
    return own | ({"HOME": str(home)} if home else {}) | inherited(_PASSED) | more


def inherited(names: Sequence[str] = LIBRARIES) -> dict[str, str]:
    """Return those of the variables that are set here."""
    return {name: os.environ[name] for name in names if os.environ.get(name)}


def spawn(
    command: Sequence[str | Path],
    *,
    user: str | None = None,
    group: int | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: File = None,
    stdout: File = None,
    stderr: File = None,
    death_signal: signal.Signals = signal.SIGKILL,
) -> subprocess.Popen[bytes]:
    """Start a child that ends with this process, in a session of its own (a Ctrl-C in the terminal is the owner's).

    It runs as `user`, in one group only: `group`, else its primary one (needs root); or as the owner; in the
    environment `env`, else in the least, as `environment` returns it. When the owner ends it is sent `death_signal`.
    `RuntimeError` outside the main thread: the child would end with the thread.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("servers are started from the main thread only: they would die with the thread that did")
    words = [str(part) for part in command]
    if not HAS_DEATH_SIGNAL:
        words = ["/bin/sh", "-c", _WATCHED, str(_lifeline()), str(int(death_signal)), *words]
    return subprocess.Popen(
        words,
        user=user,
        group=pwd.getpwnam(user).pw_gid if user is not None and group is None else group,
        extra_groups=None if user is None else [],
        cwd=cwd,
        env=environment() if env is None else env,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        pass_fds=() if HAS_DEATH_SIGNAL else (_lifeline(),),
        # Called after the change of user, which would clear the request.
        preexec_fn=partial(die_with, os.getpid(), death_signal) if HAS_DEATH_SIGNAL else None,
    )


def answer(
    command: Sequence[str | Path],
    *,
    user: str | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run a short command, which ends with this process as what `spawn` starts does, and return what it said.

    `subprocess.TimeoutExpired` when it takes longer than that; it is ended.
    """
    process = spawn(
        command, user=user, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        outputs = [stream.decode(errors="replace") for stream in process.communicate(timeout=timeout_s)]
    finally:
        status = stop(process, signal.SIGKILL)
    return subprocess.CompletedProcess(list(command), status, *outputs)


def stop(
    process: subprocess.Popen[bytes], stop_signal: signal.Signals = signal.SIGTERM, patience_s: float = 5.0
) -> int:
    """End a child by the signal it stops on, after so many seconds by SIGKILL, and reap it; return its exit status.

    SIGKILL is sent to its process group: what the child started can no longer be ended by it.
    """
    if process.poll() is None and stop_signal != signal.SIGKILL:
        process.send_signal(stop_signal)
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
    # The shell that reads the owner's pipe is in the group, too, so that the number is still the group's.
    if process.poll() is None or not HAS_DEATH_SIGNAL:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


def die_with(owner: int, death_signal: signal.Signals = signal.SIGKILL) -> None:
    """Have this process, which the process `owner` has just forked, get a signal when that one ends; on Linux only."""
    assert _PRCTL is not None
    _PRCTL(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
    # It may have ended before the request.
    if os.getppid() != owner:
        os._exit(1)


@cache
def _lifeline() -> int:
    """Return the read end of a pipe to which nothing is written, and which ends with this process."""
    read_end, _ = os.pipe()
    return read_end
