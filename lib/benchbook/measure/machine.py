"""The machine of a measurement: its name, its description, and the limits of this account there."""

import hmac
import os
import platform
import sys
import tempfile
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Final

import psutil

from benchbook.files.inputs import InputError
from benchbook.measure.control_groups import read_cpu_quota
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

MIN_OPEN_FILES: Final = 256
"""Open files that a run needs: the largest fork server, kernel or server among the five studies."""

MIN_FREE_THREADS: Final = 100
"""Processes and threads that a run needs for one server and a kernel."""

_MAX_CHECKED_THREADS: Final = 1000
"""A larger limit is not compared with what runs, because counting that takes time."""


def read_hostname() -> str:
    """Return this machine's name on its network."""
    return platform.node()


@cache
def name_host() -> str:
    """Return the name of this host in results: the machine's name and its processor's model.

    A virtual machine that is made anew keeps its name, but may run on another processor.
    """
    return f"{read_hostname()} ({read_processor().replace('(R)', '').replace('(TM)', '')})"


@cache
def digest_machine_id() -> str | None:
    """Return a digest of this machine's id, which differs where two have one name; None: unknown.

    The id itself is confidential: it is the key of the digest, as systemd's machine-id(5) asks for.
    """
    return _digest_id("/etc/machine-id")


@cache
def digest_boot_id() -> str | None:
    """Return a digest of the id that this start of the machine has; None: unknown."""
    return _digest_id("/proc/sys/kernel/random/boot_id")


def _digest_id(path: str) -> str | None:
    text = (_read_first_line(path) or "").strip()
    return hmac.digest(text.encode(), b"benchbook", "sha256").hex()[:16] if text else None


def describe_environment(data_folder: Path) -> Document:
    """Return a description of this machine for JSON; unknown values are None.

    ``open_files`` is the limit per process, ``memory`` is in B, ``load`` over 1, 5 and 15 minutes.
    The file system of `data_folder`, where servers keep their data, is probed once per process for
    about 50 ms, if the disk has space.
    """
    affinity = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    cores_usable = float(len(affinity) if affinity else os.cpu_count() or 1)
    cores_usable = min(cores_usable, read_cpu_quota())
    libraries = {}
    for name in _RECORDED_LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            libraries[name] = metadata.version(name)
    return {
        "host": read_hostname(),
        "cpu": read_processor(),
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


def read_processor() -> str:
    """Return the model of this machine's processor."""
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


def check_limits() -> None:
    """Allow enough open files, and check that enough processes may start.

    Raises `benchbook.files.inputs.InputError` when this account may not have as many.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < MIN_OPEN_FILES:
        if hard < MIN_OPEN_FILES:
            reason = f"{hard} open files are too few for servers and kernels"
            raise InputError("ulimit -n", f"{reason}: ulimit -n 1024, before this command")
        resource.setrlimit(resource.RLIMIT_NOFILE, (MIN_OPEN_FILES, hard))

    # Only Linux counts threads; it does not limit root's.
    limit, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if sys.platform != "linux" or os.getuid() == 0 or not 0 <= limit <= _MAX_CHECKED_THREADS:
        return
    used = _count_threads()
    if limit - used < MIN_FREE_THREADS:
        reason = f"{used} of {limit} processes and threads run already, a run needs "
        remedy = "end some, or raise the limit before this command"
        raise InputError("ulimit -u", f"{reason}{MIN_FREE_THREADS} more: {remedy}")


def _count_threads() -> int:
    """Return how many threads this account's processes have."""
    count = 0
    for process in psutil.process_iter(["uids", "num_threads"]):
        if process.info["uids"] and process.info["uids"].real == os.getuid():
            count += process.info["num_threads"] or 1
    return count
