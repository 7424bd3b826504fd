"""Waiting in tests: on a condition, for as long as a slow and busy machine may take, never a number of polls."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final, TypeVar

import psutil

T = TypeVar("T")
PATIENCE_S: Final = 60.0
"""How long a test waits for what must come; only a test that fails waits as long."""

_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 0.2


def comes_true(condition: Callable[[], object], within_s: float = PATIENCE_S) -> bool:
    """Return whether a condition holds before the time runs out; it is asked once more at the end.

    What takes long to ask, such as which processes there are, is asked less often: it would slow what it waits for.
    """
    deadline = time.monotonic() + within_s
    while (begun := time.monotonic()) < deadline:
        if condition():
            return True
        time.sleep(min(max(_PAUSE_S, 5 * (time.monotonic() - begun)), _LONGEST_PAUSE_S))
    return bool(condition())


def of_each(processes: Iterable[psutil.Process], asked: Callable[[psutil.Process], T]) -> list[T]:
    """Return an answer of each process but those that have just ended, as some of PostgreSQL's do."""
    answers = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            answers.append(asked(process))
    return answers


def gone(pid: int) -> bool:
    """Return whether a process has ended, reaped or not."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
