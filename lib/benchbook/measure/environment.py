"""What a number was measured on: the machine, its load, the data folder's disk, the libraries."""

import os
import platform
import resource
import tempfile
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import psutil

from benchbook.measure.timing import clock

_LIBRARIES: Final = (
    "beanie", "lxml", "mongoengine", "msgspec", "numpy", "orjson", "pandas", "psycopg", "pyarrow", "pydantic",
    "pydantic-xml", "pymongo", "xsdata",
)  # fmt: skip
_PROBE_NS: Final = 50_000_000
_IN_MEMORY: Final = frozenset({"tmpfs", "ramfs"})


def host() -> str:
    """Return this machine's name."""
    return platform.node()


def environment(data_folder: Path) -> dict[str, Any]:
    """Describe where and on what is measured, ready for JSON; None where the system is silent.

    The file system of `data_folder`, where the servers keep their data, is probed once a process, for about 50 ms, if
    the disk has room. ``open_files`` is how many a process may have, ``memory`` in B, ``load`` over 1, 5, 15 minutes.
    """
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
        "host": host(),
        "cpu": _of_cpu("model name", "Model") or platform.processor() or platform.machine(),
        "cores": psutil.cpu_count(),
        "cores_usable": _usable_cores(),
        "affinity": sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
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


def _usable_cores() -> float:
    """Return the processors this process may use: its affinity, and its control group's quota."""
    cores = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    quota, _, period = (_first_line("/sys/fs/cgroup/cpu.max") or "max").partition(" ")
    return cores if quota == "max" else min(cores, int(quota) / int(period))


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
