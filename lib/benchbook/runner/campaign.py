"""Which campaign a cell belongs to: all runs on one machine without a pause of an hour or a restart.

Runs of another day differ by more than blocks of one do: days are a level of their own when results are judged.
"""

import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import psutil
from pydantic import BaseModel

from benchbook import atomic, paths
from benchbook.measure.environment import host
from benchbook.runner.run_lock import writing

PAUSE_S: Final = 3600.0
"""A pause of so many seconds ends a campaign."""

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


class _Kept(BaseModel):
    """What the results' folder keeps of the newest campaign."""

    start: str
    machine: tuple[str, str]  # its name and its boot
    last: float  # when a cell last began or ended, as `_now` says it


def begun() -> str:
    """Return the UTC start of the campaign that a cell which starts now belongs to, such as ``2026-11-22T21:14:00Z``.

    The results' folder keeps it with the time at which a cell last began or ended there: a run within the hour, on the
    same machine since the same boot, continues it. Raises `benchbook.runner.run_lock.UnwritableError`.
    """
    known, here, now = _kept(), machine(), _now()
    if known is None or known.machine != here or now - known.last >= PAUSE_S:
        known = _Kept(start=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", machine=here, last=now)
    _keep(known, now)
    return known.start


def ended() -> None:
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
