"""`benchbook plan`: how many cells there are, in which state, and the time left."""

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence

from benchbook.cli import output, own_files, selection
from benchbook.cli.command import DONE
from benchbook.grid import Cell
from benchbook.grid.cells import find_counted_results
from benchbook.results.folder import open_results
from benchbook.runner.noisy_cells import find_noisy_cells
from benchbook.runner.progress import (
    Durations,
    Factors,
    describe_cell,
    estimate_time_left,
    find_factors,
)
from benchbook.text.names import CELL_STATES
from benchbook.text.number_format import format_count


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    selection.add_cells_options(parser)
    text = "list the cells, and why the missing parts are missing"
    parser.add_argument("--cells", action="store_true", help=text)
    output.add_json_option(parser)


def main(options: argparse.Namespace) -> int:
    """Print the totals of the plan, and its cells with ``--cells``."""
    if options.until_decided:
        # Here, because it is slow to import, and other plans do without.
        from benchbook.cli import until_decided

        return until_decided.plan(options)
    plan = selection.load_plan(options)
    cells = plan.cells
    known = open_results().list_durations() if any(cell.state != "todo" for cell in cells) else {}
    factors = find_factors(cells)
    if options.json:
        print(output.format_json([_to_json_row(cell, factors, known) for cell in cells]))
        return DONE

    # The totals, and those by study.
    blocks = format_count(len({cell.block for cell in cells}), "block")
    counts = Counter(CELL_STATES[cell.state_here] for cell in cells)
    parts = [f"{counts[state]} {state}" for state in CELL_STATES.values() if counts[state]]
    parts += _estimate_time_left(cells, known)
    print(f"{format_count(len(cells), 'cell')} in {blocks}: {', '.join(parts) or 'none'}")
    noisy = find_noisy_cells(cells)
    if noisy:
        print(f"{len(noisy)} of them noisy: benchbook run --again measures them again")
    names = list(dict.fromkeys(cell.study for cell in cells))
    if len(names) > 1:
        print("\n" + output.format_table([_make_study_row(name, cells, known) for name in names]))
    if options.cells and cells:
        print("\n" + _list_cells(cells, factors, known))

    # The users' files, and what the plan does not have.
    print()
    own_files.print_files(cells)
    earlier = sum(result.is_earlier for result in find_counted_results(cells))
    if earlier:
        count = "counts" if earlier == 1 else "count"
        print(f"{format_count(earlier, 'block')} of an earlier version {count}")
    reasons = [cell.missing.partition("\n")[0] for cell in cells if cell.missing]
    output.print_absences(reasons, plan.skipped, in_full=options.cells or not cells)
    selection.print_hidden_levels(options, in_full=options.cells)
    if not options.cells:
        is_done = all(cell.state == "done" or cell.missing for cell in cells)
        advice = "" if is_done else "; benchbook run measures those to do"
        print(f"benchbook plan --cells lists the cells{advice}.")
    return DONE


def _estimate_time_left(cells: Sequence[Cell], known: Durations) -> list[str]:
    todo = [cell.combination for cell in cells if cell.state != "done" and not cell.missing]
    return estimate_time_left(todo, known)


def _make_study_row(study: str, cells: Sequence[Cell], known: Durations) -> dict[str, object]:
    """Return a study's number of cells, in all and by state, and the time left."""
    of_study = [cell for cell in cells if cell.study == study]
    counts = Counter(CELL_STATES[cell.state_here] for cell in of_study)
    states = {state: counts[state] or "" for state in CELL_STATES.values()}
    left = (
        _estimate_time_left(of_study, known)
        if any(cell.combination in known for cell in of_study)
        else []
    )
    return {"study": study, "cells": len(of_study), **states, "time left": "".join(left)}


def _list_cells(cells: Sequence[Cell], factors: Factors, known: Durations) -> str:
    """Return each cell on one line, below how many there are in how many blocks."""
    blocks_of: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        if not cell.missing:
            blocks_of[cell.identity].append(cell)

    # One table for all cells with the same number of blocks.
    rows_by_count: dict[int, list[dict[str, object]]] = defaultdict(list)
    for blocks in blocks_of.values():
        counts = Counter(CELL_STATES[cell.state_here] for cell in blocks)
        states = [*counts]
        if len(counts) > 1:
            states = [f"{count} {state}" for state, count in counts.items()]
        seconds = known.get(blocks[0].combination)
        row: dict[str, object] = {
            "cell": describe_cell(blocks[0], factors),
            "state": ", ".join(states),
            "seconds": "" if seconds is None else f"{seconds:.2f}",
        }
        rows_by_count[len(blocks)].append(row)

    texts = []
    for count, rows in rows_by_count.items():
        table = output.format_table(sorted(rows, key=lambda row: str(row["cell"])))
        heading = f"{format_count(len(rows), 'cell')} x {format_count(count, 'block')}"
        texts.append(f"{heading}\n{table}")
    return "\n\n".join(texts)


def _to_json_row(cell: Cell, factors: Factors, known: Durations) -> dict[str, object]:
    seconds = known.get(cell.combination)
    return {
        "block": cell.block,
        "position": cell.position,
        "cell": describe_cell(cell, factors),
        "study": cell.study,
        "parameters": cell.parameters.model_dump(mode="json"),
        "identity": cell.identity,
        "product": cell.product,
        "topology": cell.topology,
        "state": cell.state_here,
        "seconds": None if seconds is None else round(seconds, 2),
        "why": (cell.missing or "").partition("\n")[0] or None,
    }
