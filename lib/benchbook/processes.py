"""Child processes that never outlive their owner, however it dies, and find in their environment nothing of the user's.

Linux: the kernel sends the child a signal when the thread that forked it ends (``PR_SET_PDEATHSIG``); that is why only
the main thread may spawn. Elsewhere a small keeper process holds the read end of a pipe whose write end dies with the
owner.
"""

import ctypes
import fcntl
import os
import pwd
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

_PR_SET_PDEATHSIG: Final = 1
_SAME_START_S: Final = 2.0

_KEEPER: Final = """
import sys, psutil
child = psutil.Process(int(sys.argv[1]))  # knows when it started: a reused pid is not signalled
sys.stdin.read()  # ends with the owner, or when it has stopped the child itself
if child.is_running():
    child.send_signal(int(sys.argv[2]))
    child.resume()
"""

_WATCH: Final = 'read -r _; kill -s KILL -- "-$1"'
"""A shell's: its standard input, of which nothing is ever read, ends with the owner."""

LIBRARIES: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
"""Where the dynamic linker looks: programs may not start without, and what it finds there is measured."""

_PASSED: Final = ("PATH", *LIBRARIES, "SSL_CERT_FILE", "SSL_CERT_DIR")
"""What a child inherits: where programs and libraries lie, and whom TLS trusts on the way to given servers."""

PYTHON: Final = (sys.executable, "-I")
"""This Python, deaf to ``PYTHON*``, to packages in the user's home and to modules in the working folder."""

_KEEPERS: Final[dict[int, subprocess.Popen[bytes]]] = {}
"""The keeper of each child, by the child's process id: its open standard input tells it that we live."""

_LIFELINES: Final[dict[int, list[int]]] = {}
"""Our end of the pipe, if there is one, whose closing wakes a child; by the child's process id."""

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
    environment `env`, else in the least, as `environment` returns it. When the owner dies it is sent `death_signal`,
    and acts on it even when it was stopped (SIGSTOP). `RuntimeError` outside the main thread: the child would die with
    the thread.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("servers are started from the main thread only: they would die with the thread that did")
    death = _Death(death_signal) if sys.platform == "linux" else None
    try:
        child = subprocess.Popen(
            [str(part) for part in command],
            user=user,
            group=pwd.getpwnam(user).pw_gid if user is not None and group is None else group,
            extra_groups=None if user is None else [],
            cwd=cwd,
            env=environment() if env is None else env,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            pass_fds=death.theirs if death else (),
            preexec_fn=death,
        )
    except BaseException:
        if death:
            death.close()
        raise
    if death:
        death.hold(child.pid)
    else:
        keep(child.pid, death_signal)
    return child


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


def stop(process: subprocess.Popen[bytes], signal_: signal.Signals = signal.SIGTERM, patience_s: float = 5.0) -> int:
    """End a child by the signal it stops on, after so many seconds by SIGKILL, and reap it; return its exit status."""
    if process.poll() is None:
        process.send_signal(signal_)
        process.send_signal(signal.SIGCONT)  # one that was stopped could not act on it
    try:
        return process.wait(patience_s)
    except subprocess.TimeoutExpired:
        return _force(process, patience_s)
    finally:
        for end in _LIFELINES.pop(process.pid, []):
            os.close(end)
        if keeper := _KEEPERS.pop(process.pid, None):
            keeper.communicate()


@contextmanager
def group_ended(leader: int) -> Iterator[None]:
    """Have all of a child's process group end with this process: what the child alone knows of, even if it is stopped.

    A parent-death signal reaches the child alone, and of what it starts only what has asked for one already. What waits
    for our end is woken by it, too, should it have been stopped.
    """
    watch = spawn(["/bin/sh", "-c", _WATCH, "sh", str(leader)], stdin=subprocess.PIPE, death_signal=signal.SIGCONT)
    try:
        yield
    finally:
        stop(watch, signal.SIGKILL)  # before its standard input ends
        if watch.stdin is not None:
            watch.stdin.close()


def _force(process: subprocess.Popen[bytes], patience_s: float) -> int:
    """End a child that did not stop, and its own children: one of them may be what it waits for, stopped (SIGSTOP)."""
    import psutil  # only then: a fork server has no use for it

    family = psutil.Process(process.pid).children(recursive=True)
    if stopped := [child for child in family if child.is_running() and child.status() == psutil.STATUS_STOPPED]:
        for child in stopped:
            child.resume()
        with suppress(subprocess.TimeoutExpired):
            return process.wait(patience_s)
    process.kill()
    for child in family:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    return process.wait()


def runs(process: int, started: float) -> bool:
    """Return whether a process of that number runs that started then, in seconds since 1970.

    To `_SAME_START_S`: the kernel says in whole seconds when the machine began, which changes as its clock is set.
    """
    import psutil  # only then: a fork server has no use for it

    try:
        return psutil.pid_exists(process) and abs(psutil.Process(process).create_time() - started) < _SAME_START_S
    except psutil.NoSuchProcess:
        return False


def die_with(parent: int) -> None:
    """Have this process, which `parent` started without `spawn`, end when that one does."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:  # it died before the request
            os._exit(1)
    else:
        threading.Thread(target=watch, daemon=True).start()


def keep(pid: int, death_signal: signal.Signals) -> None:
    """Start a keeper that signals process `pid` once this one is gone: for systems without a parent-death signal."""
    _KEEPERS[pid] = subprocess.Popen(
        [*PYTHON, "-c", _KEEPER, str(pid), str(int(death_signal))],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )


class _Death:
    """What a child does between fork (and setuid, which would clear the request) and exec to die with its owner.

    One that was stopped (SIGSTOP) acts on SIGKILL alone; any other signal waits until it goes on. It then holds one end
    of a pipe, and has the kernel send it SIGCONT when the other, its owner's, closes.
    """

    def __init__(self, death_signal: signal.Signals) -> None:
        self._prctl = ctypes.CDLL(None, use_errno=True).prctl  # looked up here: nothing may be imported after the fork
        self._signal = int(death_signal)
        self._owner = os.getpid()
        ends = list(os.pipe()) if death_signal != signal.SIGKILL else []
        self.theirs, self._ours = ends[:1], ends[1:]

    def __call__(self) -> None:
        self._prctl(_PR_SET_PDEATHSIG, self._signal, 0, 0, 0)
        for end in self.theirs:
            fcntl.fcntl(end, fcntl.F_SETOWN, os.getpid())
            fcntl.fcntl(end, fcntl.F_SETSIG, int(signal.SIGCONT))
            fcntl.fcntl(end, fcntl.F_SETFL, os.O_ASYNC)
        if os.getppid() != self._owner:  # it died before the request
            os._exit(1)

    def hold(self, child: int) -> None:
        """Hold our end for as long as we live, or until the child is stopped."""
        _LIFELINES[child], self._ours = self._ours, []
        self.close()

    def close(self) -> None:
        """Close what is open here."""
        for end in (*self.theirs, *self._ours):
            os.close(end)
