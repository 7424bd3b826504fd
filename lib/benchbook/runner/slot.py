"""One timing slot: two runs on the same results never overlap."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from benchbook import paths
from benchbook.runner.storing import storing


class BusyError(RuntimeError):
    """Another run has the timing slot."""


@contextmanager
def slot() -> Iterator[None]:
    """Hold the results' folder for one run; the system lets go of it however the run ends.

    Raises
    ------
    BusyError
        When another run holds it: says which.
    UnwritableError
        When the folder takes nothing.
    """
    folder = paths.results()
    with storing():
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".running").open("a+")
    with lock as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise BusyError(f"{file.read() or 'another run'} writes to {folder}: wait for it, or stop it") from None
        file.truncate(0)
        with storing():
            file.write(f"process {os.getpid()}, running since {datetime.now():%H:%M},")
            file.flush()
        yield
        file.truncate(0)
