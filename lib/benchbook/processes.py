"""Child processes that never outlive their owner, however it dies.

Linux: the kernel sends the child a signal when the thread that forked it ends (``PR_SET_PDEATHSIG``); that is why only
the main thread may spawn. Elsewhere a small keeper process holds the read end of a pipe whose write end dies with the
owner.
"""

import ctypes
import os
import pwd
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

_PR_SET_PDEATHSIG: Final = 1

_KEEPER: Final = """
import sys, psutil
child = psutil.Process(int(sys.argv[1]))  # knows when it started: a reused pid is not signalled
sys.stdin.read()  # ends with the owner, or when it has stopped the child itself
if child.is_running():
    child.send_signal(int(sys.argv[2]))
"""

_KEEPERS: Final[dict[int, subprocess.Popen[bytes]]] = {}
"""The keeper of each child, by the child's process id: its open standard input tells it that we live."""

File = int | IO[bytes] | None
"""What a standard stream of a child may be: as `subprocess.Popen` takes it."""


def spawn(
    command: Sequence[str | Path],
    *,
    user: str | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: File = None,
    stdout: File = None,
    stderr: File = None,
    death_signal: signal.Signals = signal.SIGKILL,
) -> subprocess.Popen[bytes]:
    """Start a child that ends with this process, in a session of its own (a Ctrl-C in the terminal is the owner's).

    Parameters
    ----------
    command
        The program and its arguments.
    user
        Run as this user, in its primary group only (needs root); None: as the owner.
    cwd, env, stdin, stdout, stderr
        As for `subprocess.Popen`.
    death_signal
        What the child is sent when the owner dies.

    Raises
    ------
    RuntimeError
        Outside the main thread: the child would die with the thread.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("servers are started from the main thread only: they would die with the thread that did")
    child = subprocess.Popen(
        [str(part) for part in command],
        user=user,
        group=None if user is None else pwd.getpwnam(user).pw_gid,
        extra_groups=None if user is None else [],
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        preexec_fn=_dying_with_owner(death_signal) if sys.platform == "linux" else None,
    )
    if sys.platform != "linux":
        keep(child.pid, death_signal)
    return child


def stop(process: subprocess.Popen[bytes], signal_: signal.Signals = signal.SIGTERM, patience_s: float = 5.0) -> int:
    """End a child and reap it; return its exit status.

    Parameters
    ----------
    process
        The child; one that has ended already is only reaped.
    signal_
        The signal it stops on.
    patience_s
        Seconds until it is sent SIGKILL instead.
    """
    if process.poll() is None:
        process.send_signal(signal_)
    try:
        return process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
    finally:
        if keeper := _KEEPERS.pop(process.pid, None):
            keeper.communicate()


def keep(pid: int, death_signal: signal.Signals) -> None:
    """Start a keeper that signals process `pid` once this one is gone: for systems without a parent-death signal."""
    _KEEPERS[pid] = subprocess.Popen(
        [sys.executable, "-c", _KEEPER, str(pid), str(int(death_signal))],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )


def _dying_with_owner(death_signal: signal.Signals) -> Callable[[], None]:
    """Return what the child does between fork (and setuid, which would clear the request) and exec."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl  # looked up here: nothing may be imported after the fork
    owner = os.getpid()

    def request() -> None:
        prctl(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
        if os.getppid() != owner:  # it died before the request
            os._exit(1)

    return request
