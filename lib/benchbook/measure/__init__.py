"""Clocks, process CPU and memory, and the environment's description; counters reach `timed` as callables."""

from benchbook.measure.environment import environment, host
from benchbook.measure.idleness import NotIdle, idle
from benchbook.measure.machine import capacity_meter, machine_meters
from benchbook.measure.process import client_meters, process_meters
from benchbook.measure.timing import Meter, MeterError, Reading, clock, timed

__all__ = [
    "Meter",
    "MeterError",
    "NotIdle",
    "Reading",
    "capacity_meter",
    "client_meters",
    "clock",
    "environment",
    "host",
    "idle",
    "machine_meters",
    "process_meters",
    "timed",
]
