"""Child processes that end with their owner, even if it is killed, without the user's settings.

On Linux the kernel signals the child when the thread that forked it ends (``PR_SET_PDEATHSIG``), so
only the main thread may start one. Elsewhere a shell in the child's process group reads a pipe that
ends with the owner.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, Final

# Only the lessons run on Windows, and they need none of it.
if sys.platform != "win32":
    import pwd

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

HAS_DEATH_SIGNAL: Final = sys.platform == "linux"
"""Whether the kernel can signal a process when its parent ends."""

_PR_SET_PDEATHSIG: Final = 1
_PRCTL: Final = getattr(ctypes.CDLL(None), "prctl", None)

_WATCHING_SHELL: Final = """
death_signal=$1
shift
{ read -r _; kill -s "$death_signal" -- -$$; } </dev/fd/"$0" >/dev/null 2>&1 &
exec "$@"
"""
"""A shell script that becomes a command.

It first starts a shell that waits for the end of a pipe (`_open_lifeline`) and signals the group.
"""

LIBRARIES: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
"""The dynamic linker's variables: programs may need them, and the libraries are measured."""

PYTHON: Final = (sys.executable, "-I")
"""This Python, without ``PYTHON*``, the user's own packages and modules of the working folder."""

File = int | IO[bytes] | None
"""A standard stream of a child, as `subprocess.Popen` takes it."""

SignalHandler = Callable[[int, FrameType | None], Any]
"""A handler of a signal, as `signal.signal` takes it."""


def make_environment(home: Path | None = None, **more: str) -> dict[str, str]:
    """Return the whole environment of a child: the variables it needs, and no other of the user's.

    Language and time zone are the same on every machine. Inherited variables that could change a
    measured value (`LIBRARIES`) belong to the cell's identity.

    Parameters
    ----------
    home
        An empty folder: programs read their configuration there. None: the child has no home.
    more
        Further variables.
    """
    language = "C.UTF-8" if sys.platform == "linux" else "en_US.UTF-8"
    environment = {"LC_ALL": language, "TZ": "UTC"}
    if home:
        environment["HOME"] = str(home)
    # Places of programs and libraries, and TLS' certificates.
    inherited = ("PATH", *LIBRARIES, "SSL_CERT_FILE", "SSL_CERT_DIR")
    return environment | read_inherited(inherited) | more


def read_inherited(names: Sequence[str] = LIBRARIES) -> dict[str, str]:
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
    """Start a child that ends with this process, in a new session: a Ctrl-C only reaches the owner.

    Parameters
    ----------
    user, group
        The child runs as this user, in this group only, else in the user's primary one (needs
        root). None: as the owner.
    env
        Its environment; None: that of `make_environment`.
    death_signal
        Sent to it when the owner ends.

    Raises
    ------
    RuntimeError
        Outside the main thread: the child would end with the thread.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError(
            "servers are started from the main thread only: they would die with the thread that did"
        )
    words = [str(part) for part in command]
    if user is not None and group is None:
        group = pwd.getpwnam(user).pw_gid
    # Let it end with this process: the kernel signals it, or else a shell in its group.
    lifelines: tuple[int, ...] = ()
    request_death_signal = None
    if HAS_DEATH_SIGNAL:
        # Called after the change of user, which would clear the request.
        request_death_signal = partial(end_with_owner, os.getpid(), death_signal)
    else:
        lifelines = (_open_lifeline(),)
        shell = ["/bin/sh", "-c", _WATCHING_SHELL, str(lifelines[0]), str(int(death_signal))]
        words = [*shell, *words]
    process = None
    try:
        with postpone_signals():
            process = subprocess.Popen(
                words,
                user=user,
                group=group,
                extra_groups=None if user is None else [],
                cwd=cwd,
                env=make_environment() if env is None else env,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                pass_fds=lifelines,
                preexec_fn=request_death_signal,
            )
    except BaseException:
        # The interrupt was postponed, and the caller does not get the process.
        if process:
            process.kill()
            process.wait()
        raise
    return process


@contextmanager
def postpone_signals() -> Iterator[None]:
    """Call the handlers of signals at the end of the context; it is for the main thread.

    Python forks with the lock of `logging` held. If a handler raised an interrupt meanwhile, Python
    would drop the interrupt and keep the lock, so that the next thread that logs waits for ever.
    """
    received: list[int] = []
    try:
        with replace_signal_handlers(lambda _: lambda number, _: received.append(number)):
            yield
    finally:
        for number in received:
            signal.raise_signal(number)


@contextmanager
def replace_signal_handlers(
    make_handler: Callable[[SignalHandler], SignalHandler],
) -> Iterator[None]:
    """Replace the handlers of the signals that stop a command; it is for the main thread.

    A signal that is ignored, or has the system's action, keeps it.

    Parameters
    ----------
    make_handler
        Returns the handler in place of another one.
    """
    handlers: dict[signal.Signals, SignalHandler] = {}
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        handler = signal.getsignal(number)
        if callable(handler):
            handlers[number] = handler
            signal.signal(number, make_handler(handler))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def run_command(
    command: Sequence[str | Path],
    *,
    user: str | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run a short command as `spawn` does, and return its exit status and output.

    `subprocess.TimeoutExpired` when it takes longer than `timeout_s`; it is killed.
    """
    process = spawn(
        command,
        user=user,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        streams = process.communicate(timeout=timeout_s)
    finally:
        status = stop(process, signal.SIGKILL)
    output, error_output = (stream.decode(errors="replace") for stream in streams)
    return subprocess.CompletedProcess(list(command), status, output, error_output)


def stop(
    process: subprocess.Popen[bytes],
    stop_signal: signal.Signals = signal.SIGTERM,
    patience_s: float = 5.0,
) -> int:
    """Stop a child by its signal, after `patience_s` seconds by SIGKILL; return its exit status.

    SIGKILL is sent to its process group, because the child can no longer end its own children.
    """
    if process.poll() is None and stop_signal != signal.SIGKILL:
        process.send_signal(stop_signal)
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
    # The shell that reads the owner's pipe is in the group, too: the number is still the group's.
    if process.poll() is None or not HAS_DEATH_SIGNAL:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


def end_with_owner(owner: int, death_signal: signal.Signals = signal.SIGKILL) -> None:
    """Let Linux signal this process when the process `owner`, which forked it, ends."""
    assert _PRCTL is not None
    _PRCTL(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
    # The owner may have ended before the request.
    if os.getppid() != owner:
        os._exit(1)


@cache
def _open_lifeline() -> int:
    """Return the read end of a pipe that is never written to, and ends with this process."""
    read_end, _ = os.pipe()
    return read_end


def start_worker_pool(
    count: int, prepare: Callable[..., object] | None = None, *arguments: object
) -> "ProcessPoolExecutor":
    """Start a pool of `count` new Python processes, which end with this one.

    Each first calls `prepare` with these arguments. Call it, and submit to it, in the main thread:
    on Linux a process ends with the thread that started it.
    """
    # Imported here: it takes 20 ms of each command's start.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    fresh = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(count, fresh, _prepare_worker, (os.getpid(), prepare, arguments))


def _prepare_worker(
    owner: int, prepare: Callable[..., object] | None, arguments: tuple[object, ...]
) -> None:
    # A Ctrl-C is for the owner, which then ends its processes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if HAS_DEATH_SIGNAL:
        end_with_owner(owner)
    else:
        threading.Thread(target=_await_owner_end, daemon=True).start()
    if prepare is not None:
        prepare(*arguments)


def _await_owner_end() -> None:
    import multiprocessing

    owner = multiprocessing.parent_process()
    assert owner is not None
    owner.join()
    os._exit(1)
