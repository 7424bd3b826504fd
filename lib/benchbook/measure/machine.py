"""CPU and memory of the whole machine, as the System Activity Reporter of the ``tcp`` study's paper reads them."""

from typing import Final

import psutil

from benchbook.measure.process import LINUX, TICK
from benchbook.measure.timing import CLOCK_RESOLUTION, CLOCK_SOURCE, Meter, clock

CPU_SOURCE: Final = "/proc/stat" if LINUX else "psutil.cpu_times"
MEMORY_SOURCE: Final = "/proc/meminfo" if LINUX else "psutil.virtual_memory"


def machine_meters() -> list[Meter]:
    """Return the machine's ``cpu_user``, ``cpu_system``, ``cpu_capacity`` (ns), ``memory_used``, ``memory_total`` (B).

    User time holds niced processes, system time the serving of interrupts, capacity every state of every processor.
    Used memory is all that is not free, the page cache too: so did the SAR of 2009.
    """
    return [
        *(
            Meter(metric, "machine", "ns", CPU_SOURCE, TICK, read)
            for metric, read in (("cpu_user", _user), ("cpu_system", _system), ("cpu_capacity", _capacity))
        ),
        Meter("memory_used", "machine", "B", MEMORY_SOURCE, 1024, _used, kind="after"),
        Meter("memory_total", "machine", "B", MEMORY_SOURCE, 1024, _total, kind="after"),
    ]


def capacity_meter(role: str) -> Meter:
    """Return what all processors of this machine could have given in the window, in ns, on the monotonic clock."""
    processors = psutil.cpu_count() or 1
    source = f"{CLOCK_SOURCE} times {processors} processors"
    return Meter("cpu_capacity", role, "ns", source, CLOCK_RESOLUTION * processors, lambda: clock() * processors)


def _user() -> float:
    times = psutil.cpu_times()
    return float((times.user + getattr(times, "nice", 0.0)) * 1e9)


def _system() -> float:
    times = psutil.cpu_times()
    return float((times.system + getattr(times, "irq", 0.0) + getattr(times, "softirq", 0.0)) * 1e9)


def _capacity() -> float:
    times = psutil.cpu_times()
    guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)  # the kernel counts them in user and nice
    return float((sum(times) - guests) * 1e9)


def _used() -> float:
    memory = psutil.virtual_memory()
    return float(memory.total - memory.free)


def _total() -> float:
    return float(psutil.virtual_memory().total)
