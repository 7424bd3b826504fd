"""The execution of a run: it locks the results, works until it ends or is stopped, and reports."""

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from benchbook import grid, paths
from benchbook.cli import output, selection
from benchbook.cli.command import DONE, FAILED, INTERRUPTED, NOTHING_RUNS, UsageError
from benchbook.cli.stop_signals import StoppedError
from benchbook.cluster.child_process import HostsError
from benchbook.files import suite_files
from benchbook.grid.cells import read_states
from benchbook.results.folder import BusyError
from benchbook.runner import load_monitor
from benchbook.runner.batch import UnwritableError, lock_results
from benchbook.runner.load_monitor import NotQuietError
from benchbook.runner.progress import (
    Factors,
    Failure,
    Summary,
    describe_cell,
    find_factors,
    write_rerun_command,
)
from benchbook.text.control_characters import escape_controls
from benchbook.text.number_format import format_count, format_duration

SPENT: Final = "run.json"
"""The file in the results' folder that says what the newest run spent its time on."""


MIN_WAIT_S: Final = 3.0
"""Seconds of waiting, in all, of which a summary speaks."""


@dataclass(frozen=True)
class _EarlyEnd:
    """Why a run ended before its work was done, and its exit status."""

    status: int
    reason: str


def execute(
    options: argparse.Namespace,
    cells: Sequence[grid.Cell],
    left_out: Sequence[grid.SkippedCells],
    work: Callable[[Summary], None],
) -> int:
    """Do the work of a run, print what it did, and return the exit status.

    Raises `benchbook.cli.command.UsageError` when another run has locked the results' folder,
    or it cannot be written.

    Parameters
    ----------
    options
        Those of the command; the command that measures a failed cell again repeats them.
    cells, left_out
        The plan, to which the work may still add cells, and what it leaves out.
    work
        Runs the cells, and counts them in the summary.
    """
    summary = Summary()
    try:
        with lock_results():
            early_end = _do_work(work, summary)
    except (BusyError, UnwritableError) as error:
        raise UsageError(str(error)) from error
    if summary.done:
        # A full disk has been reported where rows are written, and the parts are printed below.
        with suppress(OSError):
            (paths.results() / SPENT).write_text(summary.to_json() + "\n")
    _print_summary(options, cells, summary, left_out)

    # Something else may have removed results during the run.
    removed = 0
    if not options.scheduler:
        still_done = sum(cell.state == "done" for cell in read_states(cells))
        removed = summary.done + sum(cell.state == "done" for cell in cells) - still_done
    if removed > 0:
        print(
            f"{removed} of the cells that were done are no longer in {paths.results()}: "
            "something removed them during the run; the same command measures them again"
        )
    if early_end:
        advice = "Finished cells are kept: the same command continues"
        print(escape_controls(f"{early_end.reason}. {advice}"), file=sys.stderr)
        return early_end.status

    if summary.failed or removed > 0:
        return FAILED
    is_all_skipped = len(summary.skipped) == len(cells) or all(cell.missing for cell in cells)
    return NOTHING_RUNS if is_all_skipped else DONE


def start_countdown(budget_s: float | None) -> Callable[[], float]:
    """Return a function that returns the seconds left of a budget that begins now.

    Parameters
    ----------
    budget_s
        Seconds; None for a budget without end.
    """
    end = time.monotonic() + (budget_s or math.inf)
    return lambda: end - time.monotonic()


def choose_patience(options: argparse.Namespace) -> float | None:
    """Return how many seconds a run waits for a quiet machine; None: it only records the load."""
    return load_monitor.PATIENCE_S if selection.waits_until_quiet(options) else None


def _do_work(work: Callable[[Summary], None], summary: Summary) -> _EarlyEnd | None:
    """Do the work, and return what stopped it before its end."""
    try:
        work(summary)
    except StoppedError as error:
        return _EarlyEnd(error.status, "stopped")
    except KeyboardInterrupt:
        return _EarlyEnd(INTERRUPTED, "stopped")
    except (UnwritableError, NotQuietError, HostsError, suite_files.FolderError) as error:
        return _EarlyEnd(FAILED, f"stopped: {error}")
    return None


def _print_summary(
    options: argparse.Namespace,
    cells: Sequence[grid.Cell],
    summary: Summary,
    left_out: Sequence[grid.SkippedCells],
) -> None:
    """Print a run's summary: its cells, times, and cells that were not measured."""
    # What it did.
    counts = {
        "done": summary.done,
        "done before": sum(cell.state == "done" for cell in cells),
        "failed": len(summary.failed),
        "skipped": len(summary.skipped),
    }
    parts = [f"{count} {name}" for name, count in counts.items() if count or name == "done"]
    of_hosts = ", the time of all hosts together" if options.scheduler else ""
    took = f"in {format_duration(summary.wall_s)}{of_hosts}"
    print(f"{format_count(len(cells), 'cell')}: {', '.join(parts)}, {took}")
    shares = summary.list_shares()
    # Parts that took less than a twentieth of the time are not named.
    named = [f"{share:.0%} {part}" for part, share in shares if share >= 0.05]
    if named:
        print(f"Time: {', '.join(named)}")

    factors = find_factors(cells)
    _print_flags(summary, factors)
    reasons = (failure.reason for failure in summary.skipped)
    output.print_absences(reasons, left_out, in_full=not cells)
    for failure in summary.failed:
        _print_failure(options, failure, factors)


def _print_flags(summary: Summary, factors: Factors) -> None:
    """Print the waits for a quiet machine, how many cells are noisy, and which are timed out."""
    waited_s = summary.spent_s["waiting"]
    # A wait of a second or two tells nothing.
    if waited_s >= MIN_WAIT_S:
        most = summary.heaviest[1]
        print(f"It waited {format_duration(waited_s)} for a quiet machine; at the most, {most}.")
    if summary.beside_others:
        count = format_count(summary.beside_others, "cell")
        again = f"; {summary.repeated} measured again" if summary.repeated else ""
        print(
            f"{count} ran while other programs were busy{again}. "
            f"{len(summary.noisy)} noisy: no claim is judged on them."
        )
    if summary.noisy:
        print("The same command with --again measures noisy cells again.")
    if summary.timed_out:
        count = format_count(len(summary.timed_out), "cell")
        print(f"In {count} a wait for the replica ran out; those times are timed out:")
        for cell in summary.timed_out:
            print(f"  {describe_cell(cell, factors)} (block {cell.block + 1})")


def _print_failure(options: argparse.Namespace, failure: Failure, factors: Factors) -> None:
    """Print which cell failed, why, and the command that measures it again."""
    print(f"\nfailed: {describe_cell(failure.cell, factors)} (block {failure.cell.block + 1})")
    print("  " + escape_controls(failure.reason).replace("\n", "\n  "))
    again = write_rerun_command(failure.cell, factors, options.profile, options.where, options.set)
    if options.scheduler:
        again += f" --scheduler {options.scheduler}"
    if options.unprotected:
        again += " --unprotected"
    print(escape_controls(f"  again: {again}"))
