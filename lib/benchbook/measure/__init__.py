"""A clock, meters of CPU and memory, and the timed section between their readings; the machine's description."""

from benchbook.measure.meters import NotIdle, capacity_meter, client_meters, idle, machine_meters, process_meters
from benchbook.measure.timing import Meter, MeterError, Reading, clock, timed

__all__ = [
    "Meter",
    "MeterError",
    "NotIdle",
    "Reading",
    "capacity_meter",
    "client_meters",
    "clock",
    "idle",
    "machine_meters",
    "process_meters",
    "timed",
]
