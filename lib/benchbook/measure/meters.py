"""Meters of CPU and memory: of this process, of another with its children, of the whole machine.

The kernel's clock of another process (clock_getcpuclockid(3)) is exact to the nanosecond. It
includes ended threads, which the sum over ``/proc/PID/task/*/schedstat`` does not. It has the sum
of user and system time; their split is known in ticks of 10 ms. So times are compared by
``cpu_total``. User and system time add up to it, and each is exact to two ticks, because the kernel
cuts both. Over a few milliseconds one can even be negative.
"""

import errno
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from benchbook.measure.timing import CLOCK_RESOLUTION, CLOCK_SOURCE, Meter, clock

# Only the lessons run on Windows, and they need none of it.
if sys.platform != "win32":
    import resource

    _TICK_NS: Final = 1e9 / os.sysconf("SC_CLK_TCK")
    """The kernel's tick in nanoseconds."""

_LINUX: Final = sys.platform == "linux"
_CPU_SOURCE: Final = "/proc/stat" if _LINUX else "psutil.cpu_times"
_MEMORY_SOURCE: Final = "/proc/meminfo" if _LINUX else "psutil.virtual_memory"

_CPU_STATES: Final = [
    state for state in psutil.cpu_times()._fields if not state.startswith("guest")
]
"""States of a processor; the time of guests is already in user and nice."""

_MAX_IDLE_SHARE: Final = 0.02
_IDLE_WINDOW_S: Final = 0.1


class NotIdleError(RuntimeError):
    """A server kept its processor busy, or ended."""


class Cpu(NamedTuple):
    """CPU time since the start of a process, in nanoseconds."""

    user: float
    system: float


def make_process_meters(pid: int, role: str) -> list[Meter]:
    """Return meters of a process with its children: CPU times in ns and memory in B.

    They are ``cpu_total``, ``cpu_user``, ``cpu_system``, ``memory_rss`` and, where it can be read,
    ``memory_pss``. Running children count, and so does the CPU of reaped ones, in ticks: a child
    that ends between two readings is exact to two. RSS counts a page once per process that maps it.
    PSS needs Linux and the permission to read the process' maps.
    """
    # On Linux the sum of both times is exact, and their split is known in ticks.
    clock, step = ("process clock", 1.0) if _LINUX else ("psutil.cpu_times", 1e3)
    split, split_step = (
        (f"{clock}, split as in /proc/PID/stat", 2 * _TICK_NS) if _LINUX else (clock, step)
    )
    meters = [
        Meter("cpu_total", role, "ns", clock, step, lambda: sum(read_tree_cpu(pid))),
        Meter("cpu_user", role, "ns", split, split_step, lambda: read_tree_cpu(pid).user),
        Meter("cpu_system", role, "ns", split, split_step, lambda: read_tree_cpu(pid).system),
    ]
    memory = [("memory_rss", "psutil.memory_info", resource.getpagesize(), _read_rss)]
    # PSS is metered only if it can be read now.
    with suppress(OSError, ValueError):
        _read_pss(pid)
        memory.append(("memory_pss", "/proc/PID/smaps_rollup", 1024, _read_pss))
    for metric, source, resolution, read in memory:
        meters.append(
            Meter(
                metric,
                role,
                "B",
                source,
                resolution,
                partial(_sum_over_tree, pid, read),
                kind="after",
            )
        )
    return meters


CLIENT_METRICS: Final = ("memory_change", "cpu_user", "cpu_system")
"""The meters of this process."""


def make_client_meters(metrics: Collection[str] = CLIENT_METRICS) -> list[Meter]:
    """Return meters of this process: ``cpu_user``, ``cpu_system`` (ns), ``memory_change`` (B).

    The two times add up to the process' clock, each cut to a microsecond. The memory is RSS.
    """
    own, usage = psutil.Process(), partial(resource.getrusage, resource.RUSAGE_SELF)
    meters = [
        Meter(
            "memory_change",
            "client",
            "B",
            "psutil.memory_info",
            resource.getpagesize(),
            lambda: own.memory_info().rss,
        ),
        Meter("cpu_user", "client", "ns", "getrusage", 1e3, lambda: usage().ru_utime * 1e9),
        Meter("cpu_system", "client", "ns", "getrusage", 1e3, lambda: usage().ru_stime * 1e9),
    ]
    return [meter for meter in meters if meter.metric in metrics]


def read_tree_cpu(pid: int) -> Cpu:
    """Return the CPU time of a process and all its children, including reaped ones.

    Raises `psutil.Error` or `OSError` when the process has ended or is hidden.
    """
    top = psutil.Process(pid)
    times = [read_process_cpu(top), read_reaped_cpu(top)]
    for child in _list_children(pid):
        with suppress(psutil.NoSuchProcess, ProcessLookupError, FileNotFoundError):
            times += [read_process_cpu(child), read_reaped_cpu(child)]
    return Cpu(sum(each.user for each in times), sum(each.system for each in times))


def read_process_cpu(process: psutil.Process) -> Cpu:
    """Return the CPU time of one process without its children; raises as `read_tree_cpu`."""
    times = process.cpu_times()
    user, system = times.user * 1e9, times.system * 1e9
    if not _LINUX:
        return Cpu(user, system)
    try:
        exact = time.clock_gettime_ns((~process.pid << 3) | 2)
    except OSError as error:
        # A process that has just ended has no clock any more.
        if error.errno == errno.EINVAL:
            raise psutil.NoSuchProcess(process.pid) from error
        raise
    # Both are cut to whole ticks: the rest of the exact clock is split in the same ratio.
    rest = max(0.0, exact - user - system)
    share = user / (user + system) if user + system else 1.0
    return Cpu(user + rest * share, system + rest * (1 - share))


def read_reaped_cpu(process: psutil.Process) -> Cpu:
    """Return the CPU time of a process' reaped children, in ticks; raises as `read_tree_cpu`."""
    times = process.cpu_times()
    return Cpu(times.children_user * 1e9, times.children_system * 1e9) if _LINUX else Cpu(0.0, 0.0)


def make_machine_meters() -> list[Meter]:
    """Return the machine's meters: CPU times in ns and memory in B.

    They are ``cpu_user`` (with niced processes), ``cpu_system`` (with interrupts), ``cpu_capacity``
    (all states of all processors), ``memory_used`` and ``memory_total``. Used memory includes the
    page cache, as in the SAR of 2009.
    """
    memory = psutil.virtual_memory

    def read_used_memory() -> float:
        now = memory()
        return float(now.total - now.free)

    def make_cpu_meter(metric: str, *states: str) -> Meter:
        read = partial(_read_machine_cpu, *states)
        return Meter(metric, "machine", "ns", _CPU_SOURCE, _TICK_NS, read)

    def make_memory_meter(metric: str, read: Callable[[], float]) -> Meter:
        return Meter(metric, "machine", "B", _MEMORY_SOURCE, 1024, read, kind="after")

    return [
        make_cpu_meter("cpu_user", "user", "nice"),
        make_cpu_meter("cpu_system", "system", "irq", "softirq"),
        make_cpu_meter("cpu_capacity", *_CPU_STATES),
        make_memory_meter("memory_used", read_used_memory),
        make_memory_meter("memory_total", lambda: memory().total),
    ]


def make_capacity_meter(role: str, own: int = 0) -> Meter:
    """Return the meter ``cpu_capacity`` of a role: the time in ns that its processors could give.

    Those are its `own`, as many as given, or all of this machine's.
    """
    processors = own or psutil.cpu_count() or 1
    source = f"{CLOCK_SOURCE} times {processors} processors{' of its own' if own else ''}"
    return Meter(
        "cpu_capacity",
        role,
        "ns",
        source,
        CLOCK_RESOLUTION * processors,
        lambda: clock() * processors,
    )


def wait_until_idle(pids: Iterable[int], patience_s: float = 10.0) -> None:
    """Wait until each server uses less than 2 % of one processor over 100 ms.

    A server is a process with its children. Raises `NotIdleError`, with the use of each, when
    `patience_s` is over, or when a process has ended.
    """
    servers = tuple(pids)
    deadline = time.monotonic() + patience_s
    while servers:
        before, start = _read_totals(servers), clock()
        time.sleep(_IDLE_WINDOW_S)
        after, window = _read_totals(servers), clock() - start
        shares = {pid: (after[pid] - before[pid]) / window for pid in servers}
        if max(shares.values()) < _MAX_IDLE_SHARE:
            return
        if time.monotonic() > deadline:
            used = ", ".join(f"process {pid} used {share:.1%}" for pid, share in shares.items())
            raise NotIdleError(
                f"not below {_MAX_IDLE_SHARE:.0%} of a processor within {patience_s:g} s: {used}"
            )


def _list_children(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def _sum_over_tree(pid: int, read: Callable[[int], float]) -> float:
    """Return the sum of a quantity over a process and all its children."""
    total = read(pid)
    for child in _list_children(pid):
        with suppress(psutil.NoSuchProcess, ProcessLookupError, FileNotFoundError):
            total += read(child.pid)
    return total


def _read_rss(pid: int) -> float:
    return float(psutil.Process(pid).memory_info().rss)


def _read_pss(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return float(line.split()[1]) * 1024
    raise ValueError(f"/proc/{pid}/smaps_rollup has no Pss line")


def _read_machine_cpu(*states: str) -> float:
    times = psutil.cpu_times()
    return sum(getattr(times, state, 0.0) for state in states) * 1e9


def _read_totals(pids: tuple[int, ...]) -> dict[int, float]:
    try:
        return {pid: sum(read_tree_cpu(pid)) for pid in pids}
    except (psutil.Error, OSError) as error:
        raise NotIdleError(f"a server cannot be watched: {error}") from error
