"""A quiet machine: a run waits until others rest, and says of each cell what they used while it ran."""

import time
from collections.abc import Callable, Collection
from typing import Final

from benchbook.digits import duration
from benchbook.measure.machine import QUIET, Load, Snapshot, load, snapshot

PATIENCE_S: Final = 300.0
"""How long a run waits for a quiet machine: an update that the system makes by itself is over by then."""

LONG_S: Final = 30.0
"""After which a wait is said on a line of its own, with how to go on without it."""

_LONG_ENOUGH_S: Final = 0.5
"""A window that tells quiet from busy."""

_GLANCE_S: Final = 1.0


class NotQuietError(RuntimeError):
    """Other processes kept the machine busy: says which, for how long, and what to do."""


class Watch:
    """Watches what other processes than the run's use, before its cells and while they run.

    Every second of a wait it has `say` tell what it is for, and once it is long what else can be done. No wait is
    longer than `patience_s`; with None nothing is waited for, the load is only recorded.
    """

    def __init__(self, say: Callable[[str, str], None], patience_s: float | None = PATIENCE_S) -> None:
        self._say = say
        self._patience_s = patience_s
        self._last: Snapshot | None = None
        self._newest: Load | None = None
        self.waited_s = 0.0

    def begin(self, own: Collection[int]) -> None:
        """Wait until the machine is quiet, if it was not since the last cell began, and note that the next begins.

        The run's are its `own` processes, its servers' among them, with their descendants. Raises `NotQuietError` when
        the machine never was quiet while patience lasted.
        """
        start, before_s = time.monotonic(), self.waited_s
        latest = self._window(own, 0.0)
        while self._patience_s is not None and (latest is None or not latest.quiet):
            if latest is not None:
                waited_s = time.monotonic() - start
                self.waited_s = before_s + waited_s
                waited = duration(waited_s)
                if waited_s >= self._patience_s:
                    raise NotQuietError(
                        f"{latest}. The machine was not quiet for {waited}: stop them, or add --noisy,"
                        " which measures all the same but judges no claim on these cells"
                    )
                advice = f"for {waited} now, and for {duration(self._patience_s)} at most: stop them, or add --noisy,"
                advice += " which measures all the same but judges no claim on these cells"
                why = f"waiting until others use less than {QUIET:g} processors: {latest}"
                self._say(why, advice if waited_s >= LONG_S else "")
            latest = self._window(own, _LONG_ENOUGH_S if latest is None else _GLANCE_S)

    def end(self, own: Collection[int]) -> Load:
        """Return what others used since the cell began."""
        assert self._last is not None, "a cell has begun"
        now = snapshot()
        self._newest, self._last = load(self._last, now, own), now
        return self._newest

    def _window(self, own: Collection[int], seconds: float) -> Load | None:
        """Return what others used since the last reading and in so many seconds more.

        Where that is too short to tell, as between two cells, what was found before stands if it was quiet; else None.
        """
        time.sleep(seconds)
        last, self._last = self._last, snapshot()
        if last is None:
            return None
        since = load(last, self._last, own)
        if since.seconds < _LONG_ENOUGH_S:
            return self._newest if self._newest and self._newest.quiet else None
        self._newest = since
        return since
