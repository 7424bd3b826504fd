"""One timing slot: two runs on the same results never overlap."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import Final

from benchbook.results import lock
from benchbook.results.lock import BusyError
from benchbook.runner.storing import storing

__all__ = ["BusyError", "slot"]

_PATIENCE_S: Final = 1.0
"""Another command that sets a damaged file aside has the folder for a moment."""


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
    with ExitStack() as up:
        with storing():
            file = up.enter_context(lock.held(_PATIENCE_S))
            file.truncate(0)
            file.write(f"process {os.getpid()}, running since {datetime.now():%H:%M},")
            file.flush()
        yield
        file.truncate(0)
