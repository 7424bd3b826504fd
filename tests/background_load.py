"""A simulated load of other programs, for runs on any machine."""

import os

import pytest

from benchbook.measure.load import Load
from benchbook.runner import load_monitor


def make_load(seconds: float, foreign: float) -> Load:
    return Load(seconds, foreign, 0.0, 0, 0, {os.getpid(): foreign})


class Others:
    """A simulated load of other programs while each cell runs, and no load between cells."""

    def __init__(self, *while_cells: float) -> None:
        self._while_cells = iter(while_cells)
        self._end = False

    def load(self, *_: object) -> Load:
        return make_load(2.0, next(self._while_cells)) if self._end else make_load(2.0, 0.0)

    def install(self, patch: pytest.MonkeyPatch) -> None:
        end = load_monitor.LoadMonitor.end_cell

        def end_cell(watch: load_monitor.LoadMonitor, own: set[int]) -> Load:
            self._end = True
            try:
                return end(watch, own)
            finally:
                self._end = False

        patch.setattr(load_monitor, "compute_load", self.load)
        patch.setattr(load_monitor.LoadMonitor, "end_cell", end_cell)
