"""One timed section: the clock around an action, and every other meter read outside it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

T = TypeVar("T")

clock = time.perf_counter_ns
"""The monotonic clock of every measurement, in nanoseconds."""

CLOCK_SOURCE: Final = "perf_counter_ns"
CLOCK_RESOLUTION: Final = max(1.0, time.get_clock_info("perf_counter").resolution * 1e9)
"""Resolution of `clock` in nanoseconds."""


class MeterError(RuntimeError):
    """A meter could not be read: says which, and why."""


@dataclass(frozen=True)
class Meter:
    """A quantity that can be read outside a timed section.

    Parameters
    ----------
    metric, role, source
        What is read, of whom and where, in the words of the results' schema.
    unit
        Unit of what `read` returns (``ns`` or ``B``).
    resolution
        Smallest step of the number, in `unit`.
    read
        Returns the present value; may raise.
    kind
        ``delta``: the value after the action minus the value before; ``after``: the value after it.
    """

    metric: str
    role: str
    unit: str
    source: str
    resolution: float
    read: Callable[[], float]
    kind: Literal["delta", "after"] = "delta"


@dataclass(frozen=True)
class Reading:
    """What one meter said about one timed section."""

    metric: str
    role: str
    value: float
    unit: str
    source: str
    resolution: float


def timed(action: Callable[[], T], meters: Sequence[Meter] = ()) -> tuple[T, list[Reading]]:
    """Run an action between two readings of the clock, with the meters read outside them.

    The client's own meters are read nearest to the action, so that reading the others costs it nothing.

    Parameters
    ----------
    action
        The whole loop to measure; what it raises passes through.
    meters
        What to read before and after; raises `MeterError` when one cannot be read.

    Returns
    -------
    tuple
        The action's result, and the readings: the client's ``wall_time`` first, then one a meter in the given order.
    """
    inward = sorted(range(len(meters)), key=lambda index: meters[index].role == "client")
    deltas = [index for index in inward if meters[index].kind == "delta"]
    before = {index: _read(meters[index]) for index in deltas}
    start = clock()
    result = action()
    duration = clock() - start
    outward = [*reversed(deltas), *(index for index in inward if index not in before)]
    after = {index: _read(meters[index]) for index in outward}
    readings = [Reading("wall_time", "client", duration, "ns", CLOCK_SOURCE, CLOCK_RESOLUTION)]
    for index, meter in enumerate(meters):
        value = after[index] - before.get(index, 0)
        readings.append(Reading(meter.metric, meter.role, value, meter.unit, meter.source, meter.resolution))
    return result, readings


def _read(meter: Meter) -> float:
    try:
        return meter.read()
    except Exception as error:
        raise MeterError(f"{meter.metric} of the {meter.role} from {meter.source}: {error}") from error
