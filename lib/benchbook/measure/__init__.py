"""The timed section and what is read around it: a clock, meters of CPU and memory; the machine and its other load.

In come an action and meters; out go the action's result and a `Reading` of each. Begin with `timed` in `timing`, whose
few lines are all that stands between the two readings of the clock. `meters` reads processes and the machine,
`machine` describes what a number was measured on, and says what other processes use of it.
"""

from benchbook.measure.meters import NotIdle, capacity_meter, client_meters, idle, machine_meters, process_meters
from benchbook.measure.timing import Meter, MeterError, Reading, clock, timed

VERSION = 1

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
