"""`benchbook plan`: how many cells there are, in which state, and the time left."""

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from benchbook import cli, grid, results
from benchbook.cli import output, selection
from benchbook.datasets import own_records
from benchbook.digits import plural
from benchbook.runner.progress import Durations, Factors, described, factors_of, time_left

STATES: Final = {"done": "done", "todo": "to do", "failed": "failed", "skipped": "skipped"}
"""The states of cells, in words."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    selection.add_cells_options(parser, until_decided=True)
    text = "list the cells, and why the missing parts are missing"
    parser.add_argument("--cells", action="store_true", help=text)
    output.add_json(parser)


def main(asked: argparse.Namespace) -> int:
    """Print the totals of the plan, and its cells where they are asked for."""
    if asked.until_decided:
        from benchbook.cli import until  # after the parser: it is slow to import

        return until.plan(asked)
    plan = selection.planned(asked)
    cells = plan.cells
    known = results.seconds() if any(cell.state != "todo" for cell in cells) else {}
    factors = factors_of(cells)
    if asked.json:
        print(output.as_json([_row(cell, factors, known) for cell in cells]))
        return cli.DONE

    # The totals, of all and by study.
    blocks = len({cell.block for cell in cells})
    print(f"{plural(len(cells), 'cell')} in {plural(blocks, 'block')}: {_count_states(cells, known)}")
    names = list(dict.fromkeys(cell.study for cell in cells))
    if len(names) > 1:
        print("\n" + output.as_text([_study_row(name, cells, known) for name in names]))
    if asked.cells and cells:
        print("\n" + _list_cells(cells, factors, known))

    # What to know of it.
    print()
    for file in dict.fromkeys(cell.parameters.dataset_file for cell in cells if cell.parameters.dataset_file):
        known_file = own_records.understood(file)
        print("\n".join([f"{file}: {known_file.words}", *known_file.notes]))
    reasons = [cell.missing.partition("\n")[0] for cell in cells if cell.missing]
    output.print_absences(reasons, plan.skipped, in_full=asked.cells or not cells)
    selection.print_hidden(asked, in_full=asked.cells)
    if not asked.cells:
        is_done = all(cell.state == "done" or cell.missing for cell in cells)
        run = "" if is_done else "; benchbook run measures those to do"
        print(f"benchbook plan --cells lists the cells{run}.")
    return cli.DONE


def _state(cell: grid.Cell) -> str:
    return STATES["skipped" if cell.missing else cell.state]


def _count_states(cells: Sequence[grid.Cell], known: Durations) -> str:
    """Return how many cells are in which state, and how long the rest will take."""
    counts = Counter(_state(cell) for cell in cells)
    listed = [f"{counts[state]} {state}" for state in STATES.values() if counts[state]]
    return ", ".join([*listed, *_time_left(cells, known)]) or "none"


def _time_left(cells: Sequence[grid.Cell], known: Durations) -> list[str]:
    return time_left([cell.kind for cell in cells if cell.state != "done" and not cell.missing], known)


def _study_row(study: str, cells: Sequence[grid.Cell], known: Durations) -> dict[str, object]:
    """Return a study's line: its cells, how many are in which state, and the time left."""
    of_study = [cell for cell in cells if cell.study == study]
    counts = Counter(_state(cell) for cell in of_study)
    states = {state: counts[state] or "" for state in STATES.values()}
    left = _time_left(of_study, known) if any(cell.kind in known for cell in of_study) else []
    return {"study": study, "cells": len(of_study), **states, "time left": "".join(left)}


def _list_cells(cells: Sequence[grid.Cell], factors: Factors, known: Durations) -> str:
    """Return each cell once, below how many there are in how many blocks."""
    blocks: dict[str, list[grid.Cell]] = defaultdict(list)
    for cell in cells:
        if not cell.missing:
            blocks[cell.identity].append(cell)
    by_count: dict[int, list[dict[str, object]]] = defaultdict(list)
    for of_cell in blocks.values():
        counts = Counter(map(_state, of_cell))
        states = [state if len(counts) == 1 else f"{count} {state}" for state, count in counts.items()]
        seconds = known.get(of_cell[0].kind)
        row = {"cell": described(of_cell[0], factors), "state": ", ".join(states)}
        row["seconds"] = "" if seconds is None else f"{seconds:.2f}"
        by_count[len(of_cell)].append(dict(row))
    texts = []
    for count, rows in by_count.items():
        listed = output.as_text(sorted(rows, key=lambda row: str(row["cell"])))
        texts.append(f"{plural(len(rows), 'cell')} x {plural(count, 'block')}\n{listed}")
    return "\n\n".join(texts)


def _row(cell: grid.Cell, factors: Factors, known: Durations) -> dict[str, object]:
    """Return a cell as JSON has it."""
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
