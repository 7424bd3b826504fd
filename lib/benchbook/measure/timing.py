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
    """A meter could not be read; the message says which, and why."""


@dataclass(frozen=True)
class Meter:
    """A quantity that can be read outside a timed section.

    Parameters
    ----------
    metric, role, source
        The quantity, its owner and where it is read, in the words of the results' schema.
    unit
        Unit of what `read` returns (``ns`` or ``B``).
    resolution
        Smallest step of the number, in `unit`.
    read
        Returns the current value; may raise.
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
    """The value of one meter for one timed section."""

    metric: str
    role: str
    value: float
    unit: str
    source: str
    resolution: float


def time_action(action: Callable[[], T], meters: Sequence[Meter] = ()) -> tuple[T, list[Reading]]:
    """Run an action between two readings of the clock; read the meters outside of them.

    The client's own meters are read closest to the action, so that they do not include the reading
    of the others.

    Parameters
    ----------
    action
        The whole loop to measure; its exceptions pass through.
    meters
        The meters to read; raises `MeterError` when one cannot be read.

    Returns
    -------
    tuple
        The action's result, and the readings: the client's ``wall_time``, then one per meter in the
        given order.
    """
    inward = sorted(range(len(meters)), key=lambda index: meters[index].role == "client")
    deltas = [index for index in inward if meters[index].kind == "delta"]
    before = {index: _read_meter(meters[index]) for index in deltas}
    start = clock()
    result = action()
    duration = clock() - start
    outward = [*reversed(deltas), *(index for index in inward if index not in before)]
    after = {index: _read_meter(meters[index]) for index in outward}
    readings = [Reading("wall_time", "client", duration, "ns", CLOCK_SOURCE, CLOCK_RESOLUTION)]
    for index, meter in enumerate(meters):
        value = after[index] - before.get(index, 0)
        readings.append(
            Reading(meter.metric, meter.role, value, meter.unit, meter.source, meter.resolution)
        )
    return result, readings


def _read_meter(meter: Meter) -> float:
    try:
        return meter.read()
    except Exception as error:
        raise MeterError(
            f"{meter.metric} of the {meter.role} from {meter.source}: {error}"
        ) from error
