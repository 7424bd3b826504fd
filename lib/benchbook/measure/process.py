"""CPU and memory of processes: of this one, of another, or of another with all its children.

The kernel's clock of another process is exact to the nanosecond but holds user and system time together; the split is
kept in ticks of 10 ms. So a process' user and system times add up to its clock, and each alone is good to two ticks
(the kernel cuts both): over a window of a few milliseconds one may even come out below zero, never their sum.
"""

import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from benchbook.measure.timing import Meter

LINUX: Final = sys.platform == "linux"
TICK: Final = 1e9 / os.sysconf("SC_CLK_TCK")
"""The kernel's tick in nanoseconds."""


class Cpu(NamedTuple):
    """CPU time since a process' start, in nanoseconds."""

    user: float
    system: float


def process_meters(pid: int, role: str, *, tree: bool = False) -> list[Meter]:
    """Return the meters of another process.

    Parameters
    ----------
    pid
        The process.
    role
        Whose readings these are.
    tree
        Also count its children: those that live, and the CPU of those it has reaped.

    Returns
    -------
    list of Meter
        ``cpu_user`` and ``cpu_system`` in ns, ``memory_rss`` in B, and ``memory_pss`` in B where the kernel tells
        (Linux, with the right to read the process' maps). RSS counts a page once for every process that maps it.
    """

    def cpu() -> Cpu:
        return tree_cpu(pid) if tree else _cpu(pid)

    cpu_source = "process clock, split as in /proc/PID/stat" if LINUX else "psutil.cpu_times"
    cpu_step = 2 * TICK if LINUX else 1e3
    meters = [
        Meter("cpu_user", role, "ns", cpu_source, cpu_step, lambda: cpu().user),
        Meter("cpu_system", role, "ns", cpu_source, cpu_step, lambda: cpu().system),
        _memory_meter("memory_rss", pid, role, tree, _rss, "psutil.memory_info"),
    ]
    if _tells_pss(pid):
        meters.append(_memory_meter("memory_pss", pid, role, tree, _pss, "/proc/PID/smaps_rollup"))
    return meters


def client_meters() -> list[Meter]:
    """Return the meters of this process: ``cpu_user`` and ``cpu_system`` (ns), ``memory_change`` of its RSS (B)."""
    own = psutil.Process()
    return [
        Meter(
            "memory_change", "client", "B", "psutil.memory_info", resource.getpagesize(), lambda: own.memory_info().rss
        ),
        Meter("cpu_user", "client", "ns", "getrusage", 1e3, lambda: _own_cpu().user),
        Meter("cpu_system", "client", "ns", "getrusage", 1e3, lambda: _own_cpu().system),
    ]


def tree_cpu(pid: int) -> Cpu:
    """Return the CPU time of a process and all its children, the reaped ones too.

    Raises
    ------
    psutil.Error, OSError
        When the process is gone or hidden.
    """
    top = _cpu(pid)
    times = [top, _reaped(psutil.Process(pid))]
    for child in _children(pid):
        with suppress(psutil.NoSuchProcess, ProcessLookupError, FileNotFoundError):
            times += [_cpu(child.pid), _reaped(child)]
    return Cpu(sum(each.user for each in times), sum(each.system for each in times))


def _children(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def _own_cpu() -> Cpu:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return Cpu(usage.ru_utime * 1e9, usage.ru_stime * 1e9)


def _cpu(pid: int) -> Cpu:
    times = psutil.Process(pid).cpu_times()
    user, system = times.user * 1e9, times.system * 1e9
    if not LINUX:
        return Cpu(user, system)
    # The two are cut to whole ticks: what the exact clock has beyond them is shared out as they are.
    rest = max(0.0, time.clock_gettime_ns((~pid << 3) | 2) - user - system)
    share = user / (user + system) if user + system else 1.0
    return Cpu(user + rest * share, system + rest * (1 - share))


def _reaped(process: psutil.Process) -> Cpu:
    times = process.cpu_times()
    return Cpu(times.children_user * 1e9, times.children_system * 1e9) if LINUX else Cpu(0.0, 0.0)


def _memory_meter(metric: str, pid: int, role: str, tree: bool, read: Callable[[int], float], source: str) -> Meter:
    def memory() -> float:
        return sum(_living(read, pid)) if tree else read(pid)

    step = resource.getpagesize() if metric == "memory_rss" else 1024
    return Meter(metric, role, "B", source, step, memory, kind="after")


def _living(read: Callable[[int], float], pid: int) -> Iterator[float]:
    yield read(pid)
    for child in _children(pid):
        with suppress(psutil.NoSuchProcess, ProcessLookupError, FileNotFoundError):
            yield read(child.pid)


def _rss(pid: int) -> float:
    return float(psutil.Process(pid).memory_info().rss)


def _pss(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return float(line.split()[1]) * 1024
    raise ValueError(f"/proc/{pid}/smaps_rollup has no Pss line")


def _tells_pss(pid: int) -> bool:
    try:
        _pss(pid)
    except (OSError, ValueError):
        return False
    return True
