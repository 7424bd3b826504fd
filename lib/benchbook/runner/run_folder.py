"""The results' folder during a run: held by one at a time, how it is written to, and the campaign of what is measured.

A campaign is all runs on one machine without a pause of an hour or a restart. Runs of another day differ by more than
blocks of one do: days are a level of their own when results are judged.
"""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from errno import EACCES, EDQUOT, ENOSPC, EPERM, EROFS
from pathlib import Path
from typing import Final

import psutil
from pydantic import BaseModel

from benchbook import atomic, paths
from benchbook.measure.machine import host
from benchbook.results import folder

_PATIENCE_S: Final = 1.0
"""Another command that sets a damaged file aside has the folder for a moment."""

PAUSE_S: Final = 3600.0
"""A pause of so many seconds ends a campaign."""

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")

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


class _Kept(BaseModel):
    """What the results' folder keeps of the newest campaign."""

    start: str
    machine: tuple[str, str]  # its name and its boot
    last: float  # when a cell last began or ended, as `_now` says it


def cell_begun() -> str:
    """Return the UTC start of the campaign that a cell which starts now belongs to, such as ``2026-11-22T21:14:00Z``.

    The results' folder keeps it with the time at which a cell last began or ended there: a run within the hour, on the
    same machine since the same boot, continues it. Raises `UnwritableError`.
    """
    known, here, now = _kept(), machine(), _now()
    if known is None or known.machine != here or now - known.last >= PAUSE_S:
        known = _Kept(start=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", machine=here, last=now)
    _keep(known, now)
    return known.start


def cell_ended() -> None:
    """Keep that a cell has ended now: a pause begins."""
    if known := _kept():
        _keep(known, _now())


def _file() -> Path:
    return paths.results() / ".campaign"


def _kept() -> _Kept | None:
    """Return what the folder keeps; None when it keeps nothing that can be read."""
    with suppress(OSError, ValueError):
        return _Kept.model_validate_json(_file().read_text())
    return None


def _keep(known: _Kept, now: float) -> None:
    with writing():
        atomic.write(_file(), known.model_copy(update={"last": now}).model_dump_json())


def machine() -> tuple[str, str]:
    """Return what tells this machine since its last start from any other: its name and its boot."""
    return host(), _BOOT.read_text().strip() if _BOOT.exists() else str(round(psutil.boot_time()))


def _now() -> float:
    """Return seconds on a clock that goes on while the machine sleeps and that nobody sets, where there is one."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.time()
