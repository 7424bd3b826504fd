"""The load of other programs: processors that they use beside the processes that measure.

It is the processors' busy time (``/proc/stat``) without the exact times of the run's own processes
and of the kernel's threads, which write and send for it. Time that a host took from this virtual
machine (steal) is added.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from benchbook.measure.control_groups import count_throttled
from benchbook.measure.meters import read_process_cpu, read_reaped_cpu
from benchbook.measure.timing import clock

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
