"""`benchbook plan`: the cells, their state, the time left."""

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Any

from benchbook import grid, results
from benchbook.cli import absences, damage, status, tables
from benchbook.runner.durations import time_left
from benchbook.runner.failures import described


def cells_of(asked: argparse.Namespace) -> list[grid.Cell]:
    """Return the plan that was asked for.

    Raises
    ------
    status.UsageError
        When the grid or what was asked of it is wrong.
    """
    try:
        cells = grid.plan(asked.study, asked.profile, asked.where, asked.set)
    except grid.GridError as error:
        raise status.UsageError(str(error)) from error
    damage.tell()
    return cells


def main(asked: argparse.Namespace) -> int:
    """Print the plan."""
    cells = cells_of(asked)
    known = results.seconds() if any(cell.state != "todo" for cell in cells) else {}
    rows = [_row(cell, cells, known) for cell in cells]
    if asked.json:
        print(tables.as_json(rows))
        return status.DONE
    hidden = {"parameters", "identity", "product", "topology", "why"}
    shown = [{name: value for name, value in row.items() if name not in hidden} for row in rows if not row["why"]]
    if shown:
        print(tables.as_text([row | {"stand_in": "yes" if row["stand_in"] else None} for row in shown]))
    for line in absences.lines((row["why"] for row in rows if row["why"]), absences.left_out(asked)):
        print(line)
    print(_summary(cells, known))
    return status.DONE


def _row(cell: grid.Cell, cells: Sequence[grid.Cell], known: dict[tuple[str, str], float]) -> dict[str, Any]:
    seconds = known.get(cell.kind)
    return {
        "block": cell.block,
        "position": cell.position,
        "cell": described(cell, cells),
        "study": cell.study,
        "parameters": cell.parameters.model_dump(mode="json"),
        "identity": cell.identity,
        "product": cell.product,
        "topology": cell.topology,
        "state": "skipped" if cell.missing else cell.state,
        "stand_in": cell.stand_in,
        "seconds": None if seconds is None else round(seconds, 2),
        "why": (cell.missing or "").partition("\n")[0] or None,
    }


def _summary(cells: Sequence[grid.Cell], known: dict[tuple[str, str], float]) -> str:
    states = Counter("skipped" if cell.missing else cell.state for cell in cells)
    left = [cell.kind for cell in cells if cell.state != "done" and not cell.missing]
    return ", ".join(
        [f"cells: {len(cells)}", *(f"{count} {state}" for state, count in states.items()), *time_left(left, known)]
    )
