"""The machine of a measurement, and how much of its processors other processes use meanwhile.

That load is the processors' busy time (``/proc/stat``) without the exact times of the run's own
processes and of the kernel's threads, which write and send for it. Time that a host took from this
virtual machine (steal) is added.
"""

import os
import platform
import sys
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

from benchbook.measure.meters import read_process_cpu, read_reaped_cpu
from benchbook.measure.timing import clock
from benchbook.schema import Document

# Only the lessons run on Windows, and they need none of it.
if sys.platform != "win32":
    import resource

_RECORDED_LIBRARIES: Final = (
    "lxml", "mongoengine", "msgspec", "numpy", "orjson", "pandas", "psycopg", "pyarrow", "pydantic",
    "pymongo", "xsdata",
)  # fmt: skip
_PROBE_NS: Final = 50_000_000
_MEMORY_FILE_SYSTEMS: Final = frozenset({"tmpfs", "ramfs"})


def read_hostname() -> str:
    """Return this machine's name on its network."""
    return platform.node()


@cache
def name_host() -> str:
    """Return the name of this host in results: the machine's name and its processor's model.

    A virtual machine that is made anew keeps its name, but may run on another processor.
    """
    return f"{read_hostname()} ({_read_processor().replace('(R)', '').replace('(TM)', '')})"


def describe_environment(data_folder: Path) -> Document:
    """Return a description of this machine for JSON; unknown values are None.

    ``open_files`` is the limit per process, ``memory`` is in B, ``load`` over 1, 5 and 15 minutes.
    The file system of `data_folder`, where servers keep their data, is probed once per process for
    about 50 ms, if the disk has space.
    """
    affinity = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    # The control group of this process may have a quota of its processors' time.
    cores_usable = float(len(affinity) if affinity else os.cpu_count() or 1)
    quota, _, period = (_read_first_line("/sys/fs/cgroup/cpu.max") or "max").partition(" ")
    if quota != "max":
        cores_usable = min(cores_usable, int(quota) / int(period))
    libraries = {}
    for name in _RECORDED_LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            libraries[name] = metadata.version(name)
    return {
        "host": read_hostname(),
        "cpu": _read_processor(),
        "cores": psutil.cpu_count(),
        "cores_usable": cores_usable,
        "affinity": affinity,
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "governor": _read_first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "frequency_mhz": _read_frequency(),
        "memory": psutil.virtual_memory().total,
        "load": list(os.getloadavg()),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "clock": _read_first_line(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        **_describe_file_system(data_folder),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "libraries": libraries,
    }


def _describe_file_system(folder: Path) -> Document:
    mounts = {Path(each.mountpoint): each.fstype for each in psutil.disk_partitions(all=True)}
    resolved = folder.resolve()
    places = [place for place in (resolved, *resolved.parents) if place in mounts]
    kind = mounts[places[0]] if places else None
    try:
        fsyncs_per_s = measure_fsync_rate(folder)
    except OSError:
        fsyncs_per_s = None
    return {
        "file_system": kind,
        "file_system_in_memory": kind in _MEMORY_FILE_SYSTEMS,
        "fsyncs_per_s": fsyncs_per_s,
    }


@cache
def measure_fsync_rate(folder: Path) -> float:
    """Return how many appends of 4 KiB reach the folder's disk per second, one after the other."""
    page, count = bytes(4096), 0
    with tempfile.TemporaryFile(dir=folder) as file:
        start = clock()
        while clock() - start < _PROBE_NS:
            file.write(page)
            file.flush()
            os.fsync(file.fileno())
            count += 1
        return count * 1e9 / (clock() - start)


def _read_processor() -> str:
    return _read_cpuinfo("model name", "Model") or platform.processor() or platform.machine()


def _read_frequency() -> float | None:
    kilohertz = _read_first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq")
    if kilohertz:
        return int(kilohertz) / 1e3
    megahertz = _read_cpuinfo("cpu MHz")
    return float(megahertz) if megahertz else None


def _read_cpuinfo(*names: str) -> str | None:
    """Return the value of the first line of ``/proc/cpuinfo`` with one of these names."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(names)), None)


def _read_first_line(path: str) -> str | None:
    try:
        return Path(path).read_text().partition("\n")[0]
    except OSError:
        return None


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


@dataclass(frozen=True)
class Load:
    """The load of other processes between two snapshots."""

    seconds: float
    foreign: float
    """Processors that others used on average, including steal."""
    steal: float
    slowed: int
    others: Mapping[int, float]
    """Processors that each other visible process used, if it still runs."""

    @property
    def is_quiet(self) -> bool:
        """Whether the load is at most `MAX_QUIET_LOAD`, within the error of such a window."""
        return self.foreign <= MAX_QUIET_LOAD + _SAMPLING_ERROR_NS / 1e9 / self.seconds

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
        return f"other processes use {self.foreign:.2f} processors ({named})"


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
    return Snapshot(begun, busy * 1e9, steal * 1e9, processes, slowed)


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
        window / 1e9, foreign / window, steal / window, after.slowed - before.slowed, others
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
