"""`benchbook plan`: the cells, their state, the time left."""

import argparse
from collections import Counter
from typing import Final

from benchbook import cli, grid, results
from benchbook.cli import output, selection
from benchbook.datasets import own_records
from benchbook.runner.progress import Durations, Factors, described, factors_of, time_left

_HIDDEN: Final = {"parameters", "identity", "product", "topology", "why"}
"""What only JSON tells."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command can be asked."""
    selection.add_cells_options(parser, until_decided=True)
    output.add_json(parser)


def main(asked: argparse.Namespace) -> int:
    """Print the plan."""
    if asked.until_decided:
        from benchbook.cli import until  # after the parser: it is slow to import

        return until.plan(asked)
    plan = selection.planned(asked)
    cells = plan.cells
    known = results.seconds() if any(cell.state != "todo" for cell in cells) else {}
    factors = factors_of(cells)
    rows = [_row(cell, factors, known) for cell in cells]
    if asked.json:
        print(output.as_json(rows))
        return cli.DONE
    shown = [{name: value for name, value in row.items() if name not in _HIDDEN} for row in rows if not row["why"]]
    if shown:
        print(output.as_text(shown))
    for file in dict.fromkeys(cell.parameters.dataset_file for cell in cells if cell.parameters.dataset_file):
        known_file = own_records.understood(file)
        print("\n".join([f"{file}: {known_file.words}", *known_file.notes]))
    output.print_absences((str(row["why"]) for row in rows if row["why"]), plan.skipped)
    selection.print_hidden(asked)
    states = Counter(row["state"] for row in rows)
    left = [cell.kind for cell in cells if cell.state != "done" and not cell.missing]
    counts = [f"{count} {state}" for state, count in states.items()]
    print(", ".join([f"cells: {len(cells)}", *counts, *time_left(left, known)]))
    return cli.DONE


def _row(cell: grid.Cell, factors: Factors, known: Durations) -> dict[str, object]:
    seconds = known.get(cell.kind)
    return {
        "block": cell.block,
        "position": cell.position,
        "cell": described(cell, factors),
        "study": cell.study,
        "parameters": cell.parameters.model_dump(mode="json"),
        "identity": cell.identity,
        "product": cell.product,
        "topology": cell.topology,
        "state": "skipped" if cell.missing else cell.state,
        "seconds": None if seconds is None else round(seconds, 2),
        "why": (cell.missing or "").partition("\n")[0] or None,
    }
