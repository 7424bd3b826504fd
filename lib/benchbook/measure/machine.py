"""The machine that a number was measured on, described; and what other processes take of its processors meanwhile.

That is what the processors did (``/proc/stat``) less what the run's own processes and the kernel's threads, which write
and send for it, used by their exact clocks; and what a host took from this virtual machine (steal).
"""

import os
import platform
import resource
import tempfile
from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from benchbook.measure.meters import process_cpu, reaped_cpu
from benchbook.measure.timing import clock
from benchbook.schemas import Document

_LIBRARIES: Final = (
    "lxml", "mongoengine", "msgspec", "numpy", "orjson", "pandas", "psycopg", "pyarrow", "pydantic",
    "pymongo", "xsdata",
)  # fmt: skip
_PROBE_NS: Final = 50_000_000
_IN_MEMORY: Final = frozenset({"tmpfs", "ramfs"})


def hostname() -> str:
    """Return this machine's name on its network."""
    return platform.node()


@cache
def host() -> str:
    """Return what this machine's numbers are told apart by from any other's: its name and its processor's model.

    A virtual machine that is made anew keeps its name, and may run on another processor.
    """
    return f"{hostname()} ({_processor().replace('(R)', '').replace('(TM)', '')})"


def environment(data_folder: Path) -> Document:
    """Describe where and on what is measured, ready for JSON; None where the system is silent.

    The file system of `data_folder`, where the servers keep their data, is probed once a process, for about 50 ms, if
    the disk has room. ``open_files`` is how many a process may have, ``memory`` in B, ``load`` over 1, 5, 15 minutes.
    """
    affinity = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    # What the processors that it may run on are to this process: its control group may have a quota of their time.
    cores_usable = float(len(affinity) if affinity else os.cpu_count() or 1)
    quota, _, period = (_first_line("/sys/fs/cgroup/cpu.max") or "max").partition(" ")
    if quota != "max":
        cores_usable = min(cores_usable, int(quota) / int(period))
    mounts = {Path(each.mountpoint): each.fstype for each in psutil.disk_partitions(all=True)}
    folder = data_folder.resolve()
    kind = next((mounts[place] for place in (folder, *folder.parents) if place in mounts), None)
    try:
        fsyncs_per_s = fsync_rate(data_folder)
    except OSError:
        fsyncs_per_s = None
    libraries = {}
    for name in _LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            libraries[name] = metadata.version(name)
    return {
        "host": hostname(),
        "cpu": _processor(),
        "cores": psutil.cpu_count(),
        "cores_usable": cores_usable,
        "affinity": affinity,
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "governor": _first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "frequency_mhz": _frequency(),
        "memory": psutil.virtual_memory().total,
        "load": list(os.getloadavg()),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "clock": _first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "file_system": kind,
        "file_system_in_memory": kind in _IN_MEMORY,
        "fsyncs_per_s": fsyncs_per_s,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "libraries": libraries,
    }


@cache
def fsync_rate(folder: Path) -> float:
    """Return how often a second a 4 KiB append reaches the folder's disk, one after the other (probed once)."""
    page, count = bytes(4096), 0
    with tempfile.TemporaryFile(dir=folder) as file:
        start = clock()
        while clock() - start < _PROBE_NS:
            file.write(page)
            file.flush()
            os.fsync(file.fileno())
            count += 1
        return count * 1e9 / (clock() - start)


def _processor() -> str:
    return _of_cpu("model name", "Model") or platform.processor() or platform.machine()


def _frequency() -> float | None:
    if kilohertz := _first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"):
        return int(kilohertz) / 1e3
    megahertz = _of_cpu("cpu MHz")
    return float(megahertz) if megahertz else None


def _of_cpu(*names: str) -> str | None:
    """Return the first of these in ``/proc/cpuinfo``."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(names)), None)


def _first_line(path: str) -> str | None:
    try:
        return Path(path).read_text().partition("\n")[0]
    except OSError:
        return None


QUIET: Final = 0.1
"""Processors that others may use of a quiet machine. Of two processors it is a twentieth: no claim of time or processor
time has a smaller margin. A machine at rest uses less than half of it."""

_SAMPLED_NS: Final = 5e7
"""What a window may seem to hold too much: ``/proc/stat`` counts by samples of 4 to 10 ms. Of 40 windows of 1 s on two
busy processors it held at most 36 ms more than the clocks of all processes together."""

_LISTED: Final = 3
_LONGEST: Final = 20


class _Process(NamedTuple):
    """A process, and the nanoseconds of CPU that it has used, alone and with its children that ended."""

    parent: int
    alone: float
    used: float


@dataclass(frozen=True)
class Snapshot:
    """What the processors and all visible processes have done so far, in nanoseconds."""

    at: int
    busy: float
    steal: float
    processes: Mapping[int, _Process]
    slowed: int
    """How often processors were slowed down for heat, as far as ``/sys`` says."""


@dataclass(frozen=True)
class Load:
    """What others used between two snapshots."""

    seconds: float
    foreign: float
    """Processors, on average, steal among them."""
    steal: float
    slowed: int
    others: Mapping[int, float]
    """Processors that each other visible process used, if it still runs."""

    @property
    def quiet(self) -> bool:
        """Whether it is at most `QUIET`, as far as a window of that length can tell."""
        return self.foreign <= QUIET + _SAMPLED_NS / 1e9 / self.seconds

    def __str__(self) -> str:
        """Return it in words, with those that used most: names alone, without folders and arguments."""
        used = defaultdict[str, float](float)
        for pid, processors in self.others.items():
            try:
                name = psutil.Process(pid).name()[:_LONGEST]
            except psutil.Error:
                name = "a process that ended"
            used[name] += processors
        most = sorted(used.items(), key=itemgetter(1), reverse=True)[:_LISTED]
        shares = [(name, share) for name, share in most if share >= QUIET / 2]
        if self.steal >= QUIET / 2:
            shares.append(("the host of this virtual machine", self.steal))
        named = ", ".join(f"{name} {share:.2f}" for name, share in shares) or "none of which can be seen from here"
        return f"other processes use {self.foreign:.2f} processors ({named})"


def snapshot() -> Snapshot:
    """Return what has been done until now; it takes some milliseconds."""
    times = psutil.cpu_times()
    busy = times.user + getattr(times, "nice", 0.0) + times.system
    begun, steal = clock(), getattr(times, "steal", 0.0)
    processes, slowed = {}, 0
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError), process.oneshot():
            alone = sum(process_cpu(process))
            processes[process.pid] = _Process(process.ppid(), alone, alone + sum(reaped_cpu(process)))
    for file in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/thermal_throttle/core_throttle_count"):
        with suppress(OSError, ValueError):
            slowed += int(file.read_text())
    return Snapshot(begun, busy * 1e9, steal * 1e9, processes, slowed)


def load(before: Snapshot, after: Snapshot, own: Collection[int]) -> Load:
    """Return what others used between two snapshots.

    Parameters
    ----------
    own
        Processes that with all their descendants are no others: the run's, and its servers'.
    """
    window = after.at - before.at
    roots = {*own, *_kernel_threads()}
    run = _tree(before.processes, roots) | _tree(after.processes, roots)
    used = sum(process.used for pid, process in after.processes.items() if pid in run)
    used -= sum(process.used for pid, process in before.processes.items() if pid in run)
    steal = max(0.0, after.steal - before.steal)
    foreign = max(0.0, after.busy - before.busy - max(0.0, used)) + steal
    others = {}
    for pid, process in after.processes.items():
        if pid not in run:
            known = before.processes.get(pid)
            others[pid] = (process.alone - (known.alone if known else 0.0)) / window
    return Load(window / 1e9, foreign / window, steal / window, after.slowed - before.slowed, others)


@cache
def _kernel_threads() -> set[int]:
    """Return the process whose children are the kernel's threads; none in a container, which does not see them."""
    with suppress(OSError):
        return {2} if Path("/proc/2/comm").read_text() == "kthreadd\n" else set()
    return set()


def _tree(processes: Mapping[int, _Process], roots: Collection[int]) -> set[int]:
    """Return those processes with all their descendants."""
    tree, newest = set[int](), set(roots)
    while newest:
        tree |= newest
        newest = {pid for pid, process in processes.items() if process.parent in newest} - tree
    return tree
