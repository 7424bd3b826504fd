"""The lock of the results' folder: whoever replaces or moves a result's file holds it."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from benchbook import paths

NAME: Final = ".running"
_SAYS: Final = 200
"""Characters that its holder may say of itself."""

_GLANCE_S: Final = 0.05


class BusyError(RuntimeError):
    """Another run has the results' folder."""


@contextmanager
def held(patience_s: float = 0.0) -> Iterator[TextIO]:
    """Hold the lock; the system lets go of it however the process ends.

    Parameters
    ----------
    patience_s
        How long to wait for another that holds it.

    Yields
    ------
    TextIO
        Where its holder says who it is.

    Raises
    ------
    BusyError
        When another holds it: says who.
    OSError
        When the folder takes nothing.
    """
    file = _opened()
    with file:
        deadline = time.monotonic() + patience_s
        while not _taken(file):
            if time.monotonic() >= deadline:
                file.seek(0)
                who = file.read(_SAYS) or "another run"
                raise BusyError(f"{who} writes to {paths.results()}: wait for it, or stop it")
            time.sleep(_GLANCE_S)
        yield file


def _opened() -> TextIO:
    """Open its file; nothing that waits when it is opened, and nothing elsewhere that a link leads to."""
    folder = paths.results()
    folder.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(folder / NAME, flags, 0o666)
    return os.fdopen(descriptor, "r+", errors="replace")


def _taken(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
