"""The grid: from a study's YAML file to cells, checked, identified and in the order of the run.

Begin with `make_plan` in `plan`. `grid_file` reads a grid, `expansion` multiplies it out, and
`cell_id` says which results are of the same experiment.
"""

from benchbook.grid.cells import Cell, SkippedCells
from benchbook.grid.plan import NoneFitsError, Plan, make_plan

__all__ = ["Cell", "NoneFitsError", "Plan", "SkippedCells", "make_plan"]
