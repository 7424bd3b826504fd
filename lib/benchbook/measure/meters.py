"""Meters of CPU and memory: of this process, of another with its children, of the whole machine; and who is idle.

The kernel's clock of another process (clock_getcpuclockid(3)) is exact to the nanosecond and keeps what its ended
threads used, which the sum over ``/proc/PID/task/*/schedstat`` loses; it holds user and system time together. The split
is kept in ticks of 10 ms. So ``cpu_total`` is what times are compared by: user and system time add up to it, and each
alone is good to two ticks (the kernel cuts both): over a window of a few milliseconds one may even come out below zero.
"""

import errno
import os
import resource
import sys
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from benchbook.measure.timing import CLOCK_RESOLUTION, CLOCK_SOURCE, Meter, clock

_LINUX: Final = sys.platform == "linux"
_TICK: Final = 1e9 / os.sysconf("SC_CLK_TCK")
"""The kernel's tick in nanoseconds."""

_CPU_SOURCE: Final = "/proc/stat" if _LINUX else "psutil.cpu_times"
_MEMORY_SOURCE: Final = "/proc/meminfo" if _LINUX else "psutil.virtual_memory"

_STATES: Final = [state for state in psutil.cpu_times()._fields if not state.startswith("guest")]
"""Of a processor; guests' time is in user and nice, too."""

_IDLE: Final = 0.02
_WINDOW_S: Final = 0.1


class NotIdle(RuntimeError):  # noqa: N818
    """A server kept its processor busy, or went away."""


class Cpu(NamedTuple):
    """CPU time since a process' start, in nanoseconds."""

    user: float
    system: float


def process_meters(pid: int, role: str) -> list[Meter]:
    """Return a process' ``cpu_total``, ``cpu_user``, ``cpu_system`` (ns), ``memory_rss``, and ``memory_pss`` (B).

    Its children count too: those that live, and the CPU of those it has reaped (in ticks: one that ends between two
    readings is good to two). RSS counts a page once for every process that maps it; PSS is told by Linux, to those who
    may read the process' maps.
    """
    clock, step = ("process clock", 1.0) if _LINUX else ("psutil.cpu_times", 1e3)
    split, split_step = (f"{clock}, split as in /proc/PID/stat", 2 * _TICK) if _LINUX else (clock, step)
    meters = [
        Meter("cpu_total", role, "ns", clock, step, lambda: sum(tree_cpu(pid))),
        Meter("cpu_user", role, "ns", split, split_step, lambda: tree_cpu(pid).user),
        Meter("cpu_system", role, "ns", split, split_step, lambda: tree_cpu(pid).system),
    ]
    memory = [("memory_rss", "psutil.memory_info", resource.getpagesize(), _rss)]
    with suppress(OSError, ValueError):
        _pss(pid)
        memory.append(("memory_pss", "/proc/PID/smaps_rollup", 1024, _pss))
    for metric, source, resolution, read in memory:
        meters.append(Meter(metric, role, "B", source, resolution, partial(_of_tree, pid, read), kind="after"))
    return meters


CLIENT: Final = ("memory_change", "cpu_user", "cpu_system")
"""What is read of this process."""


def client_meters(metrics: Collection[str] = CLIENT) -> list[Meter]:
    """Return those meters of this process: ``cpu_user`` and ``cpu_system`` (ns), ``memory_change`` of its RSS (B).

    The two times add up to the process' clock, each cut to a microsecond.
    """
    own, usage = psutil.Process(), partial(resource.getrusage, resource.RUSAGE_SELF)
    meters = [
        Meter(
            "memory_change", "client", "B", "psutil.memory_info", resource.getpagesize(), lambda: own.memory_info().rss
        ),
        Meter("cpu_user", "client", "ns", "getrusage", 1e3, lambda: usage().ru_utime * 1e9),
        Meter("cpu_system", "client", "ns", "getrusage", 1e3, lambda: usage().ru_stime * 1e9),
    ]
    return [meter for meter in meters if meter.metric in metrics]


def tree_cpu(pid: int) -> Cpu:
    """Return the CPU time of a process and all its children, the reaped ones too.

    Raises `psutil.Error` or `OSError` when the process is gone or hidden.
    """
    top = psutil.Process(pid)
    times = [process_cpu(top), reaped_cpu(top)]
    for child in _children(pid):
        with suppress(psutil.NoSuchProcess, ProcessLookupError, FileNotFoundError):
            times += [process_cpu(child), reaped_cpu(child)]
    return Cpu(sum(each.user for each in times), sum(each.system for each in times))


def process_cpu(process: psutil.Process) -> Cpu:
    """Return the CPU time of one process without its children; raises as `tree_cpu` does."""
    times = process.cpu_times()
    user, system = times.user * 1e9, times.system * 1e9
    if not _LINUX:
        return Cpu(user, system)
    try:
        exact = time.clock_gettime_ns((~process.pid << 3) | 2)
    except OSError as error:
        # The kernel knows no clock of a process that has just ended.
        if error.errno == errno.EINVAL:
            raise psutil.NoSuchProcess(process.pid) from error
        raise
    # The two are cut to whole ticks: what the exact clock has beyond them is shared out as they are.
    rest = max(0.0, exact - user - system)
    share = user / (user + system) if user + system else 1.0
    return Cpu(user + rest * share, system + rest * (1 - share))


def reaped_cpu(process: psutil.Process) -> Cpu:
    """Return the CPU time of the children that a process has reaped, in whole ticks; raises as `tree_cpu` does."""
    times = process.cpu_times()
    return Cpu(times.children_user * 1e9, times.children_system * 1e9) if _LINUX else Cpu(0.0, 0.0)


def machine_meters() -> list[Meter]:
    """Return the machine's ``cpu_user``, ``cpu_system``, ``cpu_capacity`` (ns), ``memory_used``, ``memory_total`` (B).

    User time holds niced processes, system time the serving of interrupts, capacity every state of every processor.
    Used memory is all that is not free, the page cache too: so did the SAR of 2009.
    """
    memory = psutil.virtual_memory

    def used() -> float:
        now = memory()
        return float(now.total - now.free)

    return [
        Meter("cpu_user", "machine", "ns", _CPU_SOURCE, _TICK, lambda: _machine_cpu("user", "nice")),
        Meter("cpu_system", "machine", "ns", _CPU_SOURCE, _TICK, lambda: _machine_cpu("system", "irq", "softirq")),
        Meter("cpu_capacity", "machine", "ns", _CPU_SOURCE, _TICK, lambda: _machine_cpu(*_STATES)),
        Meter("memory_used", "machine", "B", _MEMORY_SOURCE, 1024, used, kind="after"),
        Meter("memory_total", "machine", "B", _MEMORY_SOURCE, 1024, lambda: memory().total, kind="after"),
    ]


def capacity_meter(role: str, own: int = 0) -> Meter:
    """Return what the role's `own` processors, or all of this machine's, could have given in the window, in ns."""
    processors = own or psutil.cpu_count() or 1
    source = f"{CLOCK_SOURCE} times {processors} processors{' of its own' if own else ''}"
    return Meter("cpu_capacity", role, "ns", source, CLOCK_RESOLUTION * processors, lambda: clock() * processors)


def idle(pids: Iterable[int], patience_s: float = 10.0) -> None:
    """Wait until each server, a process with its children, uses less than 2 % of one processor over 100 ms.

    Raises `NotIdle` when patience ran out (says who used how much), or a process is gone.
    """
    servers = tuple(pids)
    deadline = time.monotonic() + patience_s
    while servers:
        before, start = _totals(servers), clock()
        time.sleep(_WINDOW_S)
        after, window = _totals(servers), clock() - start
        shares = {pid: (after[pid] - before[pid]) / window for pid in servers}
        if max(shares.values()) < _IDLE:
            return
        if time.monotonic() > deadline:
            used = ", ".join(f"process {pid} used {share:.1%}" for pid, share in shares.items())
            raise NotIdle(f"not below {_IDLE:.0%} of a processor within {patience_s:g} s: {used}")


def _children(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def _of_tree(pid: int, read: Callable[[int], float]) -> float:
    """Return what is read of a process and of all its children together."""
    total = read(pid)
    for child in _children(pid):
        with suppress(psutil.NoSuchProcess, ProcessLookupError, FileNotFoundError):
            total += read(child.pid)
    return total


def _rss(pid: int) -> float:
    return float(psutil.Process(pid).memory_info().rss)


def _pss(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return float(line.split()[1]) * 1024
    raise ValueError(f"/proc/{pid}/smaps_rollup has no Pss line")


def _machine_cpu(*states: str) -> float:
    times = psutil.cpu_times()
    return sum(getattr(times, state, 0.0) for state in states) * 1e9


def _totals(pids: tuple[int, ...]) -> dict[int, float]:
    try:
        return {pid: sum(tree_cpu(pid)) for pid in pids}
    except (psutil.Error, OSError) as error:
        raise NotIdle(f"a server cannot be watched: {error}") from error
