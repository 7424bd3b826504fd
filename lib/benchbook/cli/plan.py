"""`benchbook plan`: the cells, their state, the time left."""

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from benchbook import cli, grid, results
from benchbook.cli import output, selection
from benchbook.runner.summary import Telling, described, telling, time_left

_HIDDEN: Final = {"parameters", "identity", "product", "topology", "why"}
"""What only JSON tells."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command can be asked."""
    selection.add_options(parser, until_decided=True)
    output.add_json(parser)


def main(asked: argparse.Namespace) -> int:
    """Print the plan."""
    if asked.until_decided:
        from benchbook.cli import until  # after the parser: it is slow to import

        return until.plan(asked)
    cells = grid.plan(asked.study, asked.profile, asked.where, asked.set)
    output.report_damage()
    known = results.seconds() if any(cell.state != "todo" for cell in cells) else {}
    apart = telling(cells)
    rows = [_row(cell, apart, known) for cell in cells]
    if asked.json:
        print(output.as_json(rows))
        return cli.DONE
    shown = [{name: value for name, value in row.items() if name not in _HIDDEN} for row in rows if not row["why"]]
    if shown:
        print(output.as_text([row | {"stand_in": "yes" if row["stand_in"] else None} for row in shown]))
    absent = grid.left_out(asked.study, asked.profile, asked.where, asked.set)
    output.print_absences((row["why"] for row in rows if row["why"]), absent)
    if not asked.where and not asked.set:
        output.print_hidden(asked.study, asked.profile)
    print(_summary(cells, known))
    return cli.DONE


def _row(cell: grid.Cell, apart: Telling, known: dict[tuple[str, str], float]) -> dict[str, Any]:
    seconds = known.get(cell.kind)
    return {
        "block": cell.block,
        "position": cell.position,
        "cell": described(cell, apart),
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
    counts = [f"{count} {state}" for state, count in states.items()]
    return ", ".join([f"cells: {len(cells)}", *counts, *time_left(left, known)])
