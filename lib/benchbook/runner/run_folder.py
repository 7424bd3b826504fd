"""The results' folder during a run: held by one run at a time, and how the run writes to it."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from errno import EACCES, EDQUOT, ENOSPC, EPERM, EROFS
from typing import Final

from benchbook import paths
from benchbook.results import folder

_PATIENCE_S: Final = 1.0
"""Another command that sets a damaged file aside has the folder for a moment."""

_FULL: Final = "the disk is full: free some of it"
_CLOSED: Final = "you may not write there: change its permissions or owner"
_REMEDIES: Final = {ENOSPC: _FULL, EDQUOT: _FULL, EACCES: _CLOSED, EPERM: _CLOSED, EROFS: "it is read-only: remount it"}


class UnwritableError(RuntimeError):
    """What was measured cannot be kept."""


@contextmanager
def run_lock() -> Iterator[None]:
    """Hold the results' folder for one run; the system lets go of it however the run ends.

    Raises `benchbook.results.folder.BusyError`, which says who holds it, or `UnwritableError` when it takes nothing.
    """
    with ExitStack() as up:
        with writing():
            file = up.enter_context(folder.locked(_PATIENCE_S))
            file.truncate(0)
            file.write(f"process {os.getpid()}, running since {datetime.now():%H:%M},")
            file.flush()
        yield
        file.truncate(0)


@contextmanager
def writing() -> Iterator[None]:
    """Write to the results' folder; what the system refuses is raised as `UnwritableError`: where, why, what to do."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "")
        advice = f": {remedy}, or point BENCHBOOK_RESULTS elsewhere" if remedy else ""
        raise UnwritableError(f"{paths.results()} cannot be written: {error}{advice}") from error
