"""Wait in tests for a condition, for as long as a busy machine may take; and suspend servers."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

import psutil

T = TypeVar("T")
PATIENCE_S: Final = 300.0
"""How long a test waits for a condition; only a test that fails waits as long."""

_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 0.2


def comes_true(condition: Callable[[], object], within_s: float = PATIENCE_S) -> bool:
    """Return whether a condition holds before the time runs out; it is asked once more at the end.

    A condition that takes long to ask is asked less often, so that it slows nothing down.
    """
    deadline = time.monotonic() + within_s
    start = time.monotonic()
    while start < deadline:
        if condition():
            return True
        spent = time.monotonic() - start
        time.sleep(min(max(_PAUSE_S, 5 * spent), _LONGEST_PAUSE_S))
        start = time.monotonic()
    return bool(condition())


def ask_each(processes: Iterable[psutil.Process], asked: Callable[[psutil.Process], T]) -> list[T]:
    """Ask each process, except those that have just ended, as some of PostgreSQL's do."""
    answers = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            answers.append(asked(process))
    return answers


def is_gone(pid: int) -> bool:
    """Return whether a process has ended, reaped or not."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def list_processes(pid: int | None) -> list[psutil.Process]:
    """Return a server's process and those that it started."""
    assert pid is not None
    return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]


def suspend(pid: int | None) -> None:
    """Suspend a server, and wait until none of its threads runs."""
    found = list_processes(pid)
    for process in found:
        with suppress(psutil.NoSuchProcess):
            process.suspend()

    def has_stopped() -> bool:
        states = "".join(map(_read_states, (process.pid for process in found)))
        return not {*states} & {*"RSD"}

    assert comes_true(has_stopped)


def resume(pid: int | None) -> None:
    """Resume a suspended server."""
    for process in list_processes(pid):
        with suppress(psutil.NoSuchProcess):
            process.resume()


@contextmanager
def hold_suspended(pid: int | None) -> Iterator[None]:
    """Keep a server suspended while the body runs."""
    try:
        suspend(pid)
        yield
    finally:
        resume(pid)


def _read_states(pid: int) -> str:
    """Return the letters of its threads' states; none for a process that has ended."""
    letters = ""
    for thread in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):
            letters += thread.read_text().rpartition(")")[2].split()[0]
    return letters
