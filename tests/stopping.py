"""A server's processes stopped (SIGSTOP), as one that its network cuts off, and made to go on."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from waiting import comes_true


def processes(pid: int | None) -> list[psutil.Process]:
    """Return a server's process and those that it started."""
    assert pid is not None
    return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]


def stop(pid: int | None) -> None:
    """Stop a server; when this returns none of its threads runs, to which a busy machine comes after the signal."""
    found = processes(pid)
    for process in found:
        with suppress(psutil.NoSuchProcess):
            process.suspend()
    assert comes_true(lambda: not any(state in "RSD" for process in found for state in _states(process.pid)))


def go_on(pid: int | None) -> None:
    """Let a stopped server go on."""
    for process in processes(pid):
        with suppress(psutil.NoSuchProcess):
            process.resume()


@contextmanager
def stopped(pid: int | None) -> Iterator[None]:
    """Keep a server stopped while the body runs."""
    try:
        stop(pid)
        yield
    finally:
        go_on(pid)


def _states(pid: int) -> Iterator[str]:
    """Give the state of each thread, as the kernel letters it; none of a process that is gone."""
    for thread in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):
            yield thread.read_text().rpartition(")")[2].split()[0]
