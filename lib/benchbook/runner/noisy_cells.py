"""Noisy cells: measured while other programs were busy, so a run may measure them again."""

import itertools
from collections.abc import Iterable
from dataclasses import replace

from benchbook.grid import Cell
from benchbook.results.folder import open_results


def find_noisy_cells(cells: Iterable[Cell]) -> list[Cell]:
    """Return the finished cells of a plan that are noisy and can run here again."""
    finished = [cell for cell in cells if cell.state == "done" and not cell.missing]
    # Read the result of an earlier version if today's version has none.
    keys_of = {}
    for cell in finished:
        keys_of[cell.key] = [cell.key] if cell.path.is_file() else cell.earlier_keys
    noisy = open_results().list_noisy_cells(itertools.chain(*keys_of.values()))
    return [cell for cell in finished if any(key in noisy for key in keys_of[cell.key])]


def reopen_noisy_cells(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells of a plan, with noisy ones to do again.

    Their values stay until a run has less noisy ones.
    """
    cells = list(cells)
    noisy = {cell.key for cell in find_noisy_cells(cells)}
    return [replace(cell, state="todo") if cell.key in noisy else cell for cell in cells]
