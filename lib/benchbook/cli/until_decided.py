"""`benchbook run --until-decided` and its plan: undecided claims, and the next block."""

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from benchbook.analysis.block_means import load_block_means
from benchbook.analysis.claim_files import load_claims
from benchbook.analysis.runs import Analysis
from benchbook.analysis.verdicts import ClaimVerdict, VerdictCounts
from benchbook.cli import execution, output, selection
from benchbook.cli.command import DONE, NOTHING_RUNS
from benchbook.grid import Cell, Plan
from benchbook.grid.cells import list_judged_results
from benchbook.results.folder import open_results
from benchbook.runner.progress import Limits, estimate_time_left
from benchbook.runner.undecided_claims import (
    ComparisonCells,
    choose_next_block,
    find_comparison_cells,
    name_machine_day,
    run_until_decided,
    select_undecided,
)
from benchbook.text.number_format import format_count


def plan(options: argparse.Namespace) -> int:
    """Print the verdicts so far, and what a run until they are decided would do next."""
    cells = selection.load_plan(options).cells
    comparisons = find_comparison_cells(cells)
    state = ClaimState(cells, comparisons, _analyse(cells), repeats_noisy=True)
    print(output.format_json(state.list_rows()) if options.json else state.describe())
    return DONE


def run(prepared: Plan, limits: Limits) -> int:
    """Run until nothing is undecided, or time is up, and return the exit status.

    Parameters
    ----------
    prepared
        The plan, of all blocks.
    """
    # The state of the claims, and whether a block is left.
    cells, repeats_noisy = prepared.cells, limits.repeats_noisy
    comparisons = find_comparison_cells(cells)
    state = ClaimState(cells, comparisons, _analyse(cells), repeats_noisy)
    print(state.describe(), flush=True)
    if not state.next_block:
        can_run = any(comparison.cells for comparison in comparisons)
        return DONE if can_run else NOTHING_RUNS

    # Here, because it is slow to import, and a plan runs no cells.
    from benchbook.runner.batch import run_cells

    with execution.record_run(prepared) as summary:

        def run_block(block: Sequence[Cell]) -> list[Cell]:
            """Run a block, and return its cells that failed."""
            # The summary counts all blocks of the run.
            failed_before = len(summary.failed)
            run_cells(block, limits, summary)
            return [failure.cell for failure in summary.failed[failed_before:]]

        analysis = run_until_decided(
            cells,
            comparisons,
            lambda: _analyse(cells),
            run_block,
            lambda: limits.deadline_s - time.monotonic(),
            open_results().list_durations(),
            repeats_noisy=repeats_noisy,
        )
        if time.monotonic() >= limits.deadline_s:
            print("The time of --budget is over; the same command continues.")
        print(ClaimState(cells, comparisons, analysis, repeats_noisy).describe())
    execution.print_summary(prepared, summary)
    return execution.find_status(prepared, summary)


def _analyse(cells: Sequence[Cell]) -> Analysis:
    """Return the analysis of all finished cells, of this host and of others.

    It judges the claims of the plan's studies as a report does: cells beyond the plan count, and
    the passes of a block are found over all studies.
    """
    studies = {cell.study for cell in cells}
    claims = [claim for claim in load_claims() if claim.study in studies]
    return Analysis(load_block_means(open_results(), list_judged_results(cells)), claims)


@dataclass(frozen=True)
class ClaimState:
    """What is decided of the claims about a plan's studies, and what would run next."""

    cells: Sequence[Cell]  # the plan
    comparisons: Sequence[ComparisonCells]
    analysis: Analysis  # of the finished cells
    repeats_noisy: bool  # whether noisy cells are measured again

    @cached_property
    def undecided(self) -> list[ComparisonCells]:
        """The comparisons that needed more blocks before today."""
        before = self.analysis.exclude_machine_day(name_machine_day(pd.Timestamp.now("UTC")))
        return select_undecided(self.comparisons, before)

    @cached_property
    def next_block(self) -> list[Cell]:
        """The cells of the block that would run now."""
        return choose_next_block(
            self.cells,
            self.undecided,
            self.analysis.means,
            pd.Timestamp.now("UTC"),
            durations=open_results().list_durations(),
            repeats_noisy=self.repeats_noisy,
        )

    @cached_property
    def verdicts(self) -> list[ClaimVerdict]:
        """The verdicts on the claims that have comparisons."""
        claims = {comparison.claim.id for comparison in self.comparisons}
        return [verdict for verdict in self.analysis.verdicts if verdict.id in claims]

    def list_rows(self) -> list[dict[str, object]]:
        """Return one row per claim for JSON, with the comparisons that need blocks."""
        runnable = {comparison.claim.id for comparison in self.comparisons if comparison.cells}
        rows: list[dict[str, object]] = []
        for verdict in self.verdicts:
            needed = [one for one in self.undecided if one.claim.id == verdict.id]
            row = {
                "id": verdict.id,
                "study": verdict.study,
                "verdict": verdict.verdict,
                "words": verdict.words,
                "runs_here": verdict.id in runnable,
                "wanted": [{"language": one.language, "comparison": one.label} for one in needed],
                "cells": len(frozenset().union(*(one.cells for one in needed))),
            }
            rows.append(row)
        return rows

    def describe(self) -> str:
        """Return one line per study with its verdicts, and a line about the next block."""
        runnable = Counter(one.claim.study for one in self.comparisons if one.cells)
        undecided = Counter(one.claim.study for one in self.undecided)
        lines = []
        for study in dict.fromkeys(comparison.claim.study for comparison in self.comparisons):
            verdicts = [verdict for verdict in self.verdicts if verdict.study == study]
            counts = VerdictCounts.count(verdicts)
            total = format_count(runnable[study], "comparison")
            lines.append(f"{study}: {counts}; {undecided[study]} of {total} need more blocks")
        return "\n".join([*lines, self._describe_next_block()])

    def _describe_next_block(self) -> str:
        block = self.next_block
        if block:
            left = estimate_time_left(
                [cell.combination for cell in block], open_results().list_durations()
            )
            name = f"block {block[0].block + 1}"
            return f"next: {', '.join([name, format_count(len(block), 'cell'), *left])}"
        if self.undecided:
            return "no block is left: each cell has its blocks of today, or all of the profile"
        return "no claim that can run here is undecided"
