"""`benchbook run --until-decided` and its plan: what is undecided, and the block that would be run next."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from benchbook import cli, folders, grid, results
from benchbook.analysis import Analysis, Counts, stored_means
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.cli import output, selection
from benchbook.cli.execution import countdown, execute, patience_s
from benchbook.digits import plural
from benchbook.runner.batch import TIMEOUT_S, Batch
from benchbook.runner.progress import Progress, time_left
from benchbook.runner.undecided import (
    MOST_A_DAY,
    Reading,
    next_block,
    readings,
    run_until_decided,
    undecided,
)

if TYPE_CHECKING:
    from benchbook.runner.progress import Summary


def plan(asked: argparse.Namespace) -> int:
    """Print where the claims stand and what a run until they are decided would do next."""
    cells = selection.planned(asked).cells
    read, analysis = readings(cells), _analyse(cells)
    print(output.as_json(_rows(cells, read, analysis)) if asked.json else _words(cells, read, analysis))
    return cli.DONE


def run(asked: argparse.Namespace) -> int:
    """Run until nothing is undecided, or time is up."""
    left_s = countdown(asked.budget)
    folders.temporary()
    cells = selection.planned(asked).cells
    selection.at_networks(asked, cells)
    read, analysis = readings(cells), _analyse(cells)
    print(_words(cells, read, analysis), flush=True)
    if not _next(cells, undecided(read, analysis), analysis):
        return cli.DONE if any(reading.cells for reading in read) else cli.NOTHING_RUNS

    def work(summary: "Summary") -> None:
        def measure(chosen: Sequence[grid.Cell]) -> list[grid.Cell]:
            failed = len(summary.failed)
            with Progress(chosen, results.seconds()) as progress:
                timeout_s, quiet_s = asked.timeout or TIMEOUT_S, patience_s(asked)
                Batch(chosen, progress, timeout_s, summary, lambda: left_s() <= 0, quiet_s).run()
            return [failure.cell for failure in summary.failed[failed:]]

        ended = run_until_decided(cells, read, lambda: _analyse(cells), measure, left_s)
        if left_s() <= 0:
            print("The time of --budget is over; the same command continues.")
        print(_words(cells, read, ended))

    return execute(asked, cells, [], work)


def _analyse(cells: Sequence[grid.Cell]) -> Analysis:
    """Return the analysis of what is finished of a plan's cells, on this host and on others."""
    return Analysis(stored_means(grid.keys(cells)))


def _next(cells: Sequence[grid.Cell], wanted: Sequence[Reading], analysis: Analysis) -> list[grid.Cell]:
    """Return the cells of the block that would be run now."""
    return next_block(cells, wanted, analysis.means, pd.Timestamp.now("UTC"))


def _rows(cells: Sequence[grid.Cell], read: Sequence[Reading], analysis: Analysis) -> list[dict[str, object]]:
    """Return for JSON each claim about the plan's studies, and the comparisons of it that want blocks."""
    wanted = undecided(read, analysis)
    can_run = {reading.claim.id for reading in read if reading.cells}
    rows: list[dict[str, object]] = []
    for verdict in _verdicts(read, analysis):
        of_claim = [reading for reading in wanted if reading.claim.id == verdict.id]
        rows.append({
            "id": verdict.id,
            "study": verdict.study,
            "verdict": verdict.verdict,
            "words": verdict.words,
            "runs_here": verdict.id in can_run,
            "wanted": [{"language": reading.language, "comparison": reading.label} for reading in of_claim],
            "cells": len(frozenset().union(*(reading.cells for reading in of_claim))),
        })  # fmt: skip
    return rows


def _verdicts(read: Sequence[Reading], analysis: Analysis) -> list[ClaimVerdict]:
    """Return the verdicts on the claims about the plan's studies that cells can speak of."""
    named = {reading.claim.id for reading in read}
    return [verdict for verdict in ClaimVerdict.of(analysis.verdicts) if verdict.id in named]


def _words(cells: Sequence[grid.Cell], read: Sequence[Reading], analysis: Analysis) -> str:
    """Return in words where the claims stand, and which block comes next."""
    wanted, verdicts = undecided(read, analysis), _verdicts(read, analysis)
    lines = []
    for study in dict.fromkeys(reading.claim.study for reading in read):
        counts = Counts.of(ClaimVerdict.frame(verdict for verdict in verdicts if verdict.study == study))
        runnable = [reading for reading in read if reading.claim.study == study and reading.cells]
        of_study = [reading for reading in wanted if reading.claim.study == study]
        lines.append(f"{study}: {counts}; {len(of_study)} of {plural(len(runnable), 'comparison')} need more blocks")
    block = _next(cells, wanted, analysis)
    if block:
        left = time_left([cell.kind for cell in block], results.seconds())
        lines.append(f"next: {', '.join([f'block {block[0].block + 1}', plural(len(block), 'cell'), *left])}")
    elif wanted:
        lines.append(f"no block is left: each cell has {MOST_A_DAY} blocks of today, or all blocks of the profile")
    else:
        lines.append("no claim that can run here is undecided")
    return "\n".join(lines)
