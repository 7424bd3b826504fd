"""Measuring: the timed section, meters of CPU and memory, and the machine.

Begin with `time_action` in `timing`. `meters` reads processes and the machine; `machine` describes
the machine, and checks the limits of this account there.
"""

from benchbook.measure.meters import (
    NotIdleError,
    make_capacity_meter,
    make_client_meters,
    make_machine_meters,
    make_process_meters,
    wait_until_idle,
)
from benchbook.measure.timing import Meter, MeterError, Reading, clock, time_action

VERSION = 1

__all__ = [
    "Meter",
    "MeterError",
    "NotIdleError",
    "Reading",
    "clock",
    "make_capacity_meter",
    "make_client_meters",
    "make_machine_meters",
    "make_process_meters",
    "time_action",
    "wait_until_idle",
]
