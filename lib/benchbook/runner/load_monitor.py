"""The load of other programs: a run waits until the machine is quiet, and records it per cell.

The load is the processors' busy time (``/proc/stat``) without the exact times of the run's own
processes and of the kernel's threads, which write and send for it. Time that a host took from this
virtual machine (steal) is added.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from benchbook.measure import clock
from benchbook.measure.control_groups import count_throttled
from benchbook.measure.meters import read_process_cpu, read_reaped_cpu
from benchbook.text.number_format import format_duration

MAX_QUIET_LOAD: Final = 0.1
"""Processors that others may use on a quiet machine.

It is a twentieth of two processors; no claim of time or processor time has a smaller margin. An
idle machine uses less than half of it.
"""

_SAMPLING_ERROR_NS: Final = 5e7
"""How much too much a window can show, because ``/proc/stat`` counts samples of 4 to 10 ms.

In 40 windows of 1 s on two busy processors it had at most 36 ms more than the clocks of all
processes together.
"""

PATIENCE_S: Final = 300.0
"""Seconds that a run waits for a quiet machine: the system's own updates are over by then."""

LONG_WAIT_S: Final = 30.0
"""Seconds after which the run says how to continue without waiting."""

_MIN_WINDOW_S: Final = 0.5
"""Seconds of the shortest window that can tell a quiet machine from a busy one."""

_POLL_S: Final = 1.0

_ADVICE: Final = (
    "stop them, or add --noisy, which measures all the same but judges no claim on these cells"
)


class NotQuietError(RuntimeError):
    """Other processes kept the machine busy: says which, for how long, and what to do."""


class _ProcessUsage(NamedTuple):
    """The parent of a process, and its CPU time in ns: its own, and with its ended children's."""

    parent: int
    alone: float
    used: float


@dataclass(frozen=True)
class Snapshot:
    """The CPU times of the processors and of all visible processes so far, in nanoseconds."""

    at: int
    busy: float
    steal: float
    processes: Mapping[int, _ProcessUsage]
    slowed: int
    """How often processors were slowed down because of heat, where ``/sys`` has it."""
    throttled: int
    """In how many periods a CPU quota stopped the run's processes."""


@dataclass(frozen=True)
class Load:
    """The load of other processes between two snapshots."""

    seconds: float
    foreign: float
    """Processors that others used on average, including steal."""
    steal: float
    slowed: int
    throttled: int
    others: Mapping[int, float]
    """Processors that each other visible process used, if it still runs."""

    @property
    def is_quiet(self) -> bool:
        """Whether the load is at most `MAX_QUIET_LOAD`, within the error of such a window.

        A window in which a CPU quota stopped the run's processes is not quiet.
        """
        limit = MAX_QUIET_LOAD + _SAMPLING_ERROR_NS / 1e9 / self.seconds
        return self.foreign <= limit and not self.throttled

    def __str__(self) -> str:
        """Return the load in words, with the names of the processes that used most."""
        used = defaultdict[str, float](float)
        for pid, processors in self.others.items():
            try:
                name = psutil.Process(pid).name()[:20]
            except psutil.Error:
                name = "a process that ended"
            used[name] += processors
        most = sorted(used.items(), key=itemgetter(1), reverse=True)[:3]
        shares = [(name, share) for name, share in most if share >= MAX_QUIET_LOAD / 2]
        if self.steal >= MAX_QUIET_LOAD / 2:
            shares.append(("the host of this virtual machine", self.steal))
        named = (
            ", ".join(f"{name} {share:.2f}" for name, share in shares)
            or "none of which can be seen from here"
        )
        words = f"other processes use {self.foreign:.2f} processors ({named})"
        if self.throttled:
            words += f"; a CPU quota stopped this run {self.throttled} times"
        return words


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
        self, report_wait: Callable[[str, str], None], patience_s: float | None = PATIENCE_S
    ) -> None:
        self._report_wait = report_wait
        self._patience_s = patience_s
        self._last: Snapshot | None = None
        self._newest: Load | None = None
        self.waited_s = 0.0

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
            waited_s = time.monotonic() - start
            self.waited_s = before_s + waited_s
            waited = format_duration(waited_s)
            if waited_s >= self._patience_s:
                raise NotQuietError(f"{latest}. The machine was not quiet for {waited}: {_ADVICE}")
            most = format_duration(self._patience_s)
            advice = f"for {waited} now, and for {most} at most: {_ADVICE}"
            reason = f"waiting until others use less than {MAX_QUIET_LOAD:g} processors: {latest}"
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


def take_snapshot() -> Snapshot:
    """Return the reading until now; it takes some milliseconds."""
    times = psutil.cpu_times()
    busy = times.user + getattr(times, "nice", 0.0) + times.system
    begun, steal = clock(), getattr(times, "steal", 0.0)
    processes, slowed = {}, 0
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError), process.oneshot():
            alone = sum(read_process_cpu(process))
            processes[process.pid] = _ProcessUsage(
                process.ppid(), alone, alone + sum(read_reaped_cpu(process))
            )
    for file in Path("/sys/devices/system/cpu").glob(
        "cpu[0-9]*/thermal_throttle/core_throttle_count"
    ):
        with suppress(OSError, ValueError):
            slowed += int(file.read_text())
    return Snapshot(begun, busy * 1e9, steal * 1e9, processes, slowed, count_throttled())


def compute_load(before: Snapshot, after: Snapshot, own: Collection[int]) -> Load:
    """Return the load of other processes between two snapshots.

    Parameters
    ----------
    own
        The run's processes and its servers': they and their descendants do not count as others.
    """
    window = after.at - before.at
    roots = {*own, *_find_kernel_threads()}
    run = _find_descendants(before.processes, roots) | _find_descendants(after.processes, roots)
    used = sum(process.used for pid, process in after.processes.items() if pid in run)
    used -= sum(process.used for pid, process in before.processes.items() if pid in run)
    steal = max(0.0, after.steal - before.steal)
    foreign = max(0.0, after.busy - before.busy - max(0.0, used)) + steal
    others = {}
    for pid, process in after.processes.items():
        if pid not in run:
            known = before.processes.get(pid)
            others[pid] = (process.alone - (known.alone if known else 0.0)) / window
    return Load(
        window / 1e9,
        foreign / window,
        steal / window,
        after.slowed - before.slowed,
        after.throttled - before.throttled,
        others,
    )


@cache
def _find_kernel_threads() -> set[int]:
    """Return the parent process of the kernel's threads, which is hidden in a container."""
    with suppress(OSError):
        return {2} if Path("/proc/2/comm").read_text() == "kthreadd\n" else set()
    return set()


def _find_descendants(processes: Mapping[int, _ProcessUsage], roots: Collection[int]) -> set[int]:
    """Return these processes with all their descendants."""
    tree, newest = set[int](), set(roots)
    while newest:
        tree |= newest
        newest = {pid for pid, process in processes.items() if process.parent in newest} - tree
    return tree
