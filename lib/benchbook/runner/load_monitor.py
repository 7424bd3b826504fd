"""The load of other programs: a run waits until the machine is quiet, and records it per cell."""

import time
from collections.abc import Callable, Collection
from typing import Final

from benchbook.measure.load import (
    MAX_QUIET_LOAD,
    Load,
    Snapshot,
    compute_load,
    take_snapshot,
)
from benchbook.runner.errors import RunError
from benchbook.text.number_format import format_duration

QUIET_PATIENCE_S: Final = 300.0
"""Seconds that a run waits for a quiet machine: the system's own updates are over by then."""

LONG_WAIT_S: Final = 30.0
"""Seconds after which the run says how to continue without waiting."""

_MIN_WINDOW_S: Final = 0.5
"""Seconds of the shortest window that can tell a quiet machine from a busy one."""

_POLL_S: Final = 1.0

_ADVICE: Final = (
    "stop them, or add --noisy, which measures all the same but judges no claim on these cells"
)


class NotQuietError(RunError):
    """Other processes kept the machine busy: says which, for how long, and what to do."""


class LoadMonitor:
    """Measures what processes other than the run's use, before its cells and while they run.

    Parameters
    ----------
    report_wait
        Called with the reason every second of a wait, and with advice once the wait is long.
    patience_s
        The longest wait, in seconds; None records the load and never waits.
    """

    def __init__(
        self, report_wait: Callable[[str, str], None], patience_s: float | None = QUIET_PATIENCE_S
    ) -> None:
        self._report_wait = report_wait
        self._patience_s = patience_s
        self._last: Snapshot | None = None
        self._newest: Load | None = None
        self.waited_s = 0.0
        self.heaviest = (0.0, "")
        """The processors that others used when it waited for most of them, and that in words."""

    def begin_cell(self, own: Collection[int]) -> None:
        """Wait until the machine is quiet, unless it was since the last cell, and begin a cell.

        Parameters
        ----------
        own
            Processes of the run and its servers; their descendants count as the run's, too.

        Raises
        ------
        NotQuietError
            When the machine was not quiet at any time within the patience.
        """
        start, before_s = time.monotonic(), self.waited_s
        latest = self._read_window(own, 0.0)
        while self._patience_s is not None and (latest is None or not latest.is_quiet):
            if latest is None:
                latest = self._read_window(own, _MIN_WINDOW_S)
                continue
            load = str(latest)
            self.heaviest = max(self.heaviest, (latest.foreign, load))
            waited_s = time.monotonic() - start
            self.waited_s = before_s + waited_s
            waited = format_duration(waited_s)
            if waited_s >= self._patience_s:
                raise NotQuietError(f"{load}. The machine was not quiet for {waited}: {_ADVICE}")
            most = format_duration(self._patience_s)
            advice = f"for {waited} now, and for {most} at most: {_ADVICE}"
            reason = f"waiting until others use less than {MAX_QUIET_LOAD:g} processors: {load}"
            self._report_wait(reason, advice if waited_s >= LONG_WAIT_S else "")
            latest = self._read_window(own, _POLL_S)

    def end_cell(self, own: Collection[int]) -> Load:
        """Return the load of other processes since the cell began."""
        assert self._last is not None, "a cell has begun"
        now = take_snapshot()
        self._newest, self._last = compute_load(self._last, now, own), now
        return self._newest

    def _read_window(self, own: Collection[int], seconds: float) -> Load | None:
        """Return the load of others since the last snapshot and during `seconds` more.

        If this is too short to tell, as between two cells, return the previous load if it was
        quiet, otherwise None.
        """
        time.sleep(seconds)
        last, self._last = self._last, take_snapshot()
        if last is None:
            return None
        since = compute_load(last, self._last, own)
        if since.seconds < _MIN_WINDOW_S:
            return self._newest if self._newest and self._newest.is_quiet else None
        self._newest = since
        return since
