"""The execution of a run: it locks the results, works until it ends or is stopped, and reports."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Final, TextIO

from benchbook import paths
from benchbook.cli import output
from benchbook.cli.command import DONE, FAILED, NOTHING_RUNS, UsageError, find_stop_status
from benchbook.files import suite_files
from benchbook.grid import Plan
from benchbook.grid.cells import read_states
from benchbook.measure.machine import check_limits
from benchbook.results.folder import BusyError
from benchbook.runner.errors import RunError
from benchbook.runner.noisy_cells import find_noisy_cells, reopen_noisy_cells
from benchbook.runner.progress import (
    Factors,
    Failure,
    Limits,
    Progress,
    Summary,
    describe_cell,
    find_factors,
    write_rerun_command,
)
from benchbook.text.control_characters import escape_controls
from benchbook.text.number_format import format_count, format_duration

MIN_WAIT_S: Final = 3.0
"""Seconds of waiting, in all, of which a summary speaks."""


def prepare_plan(plan: Plan, limits: Limits) -> Plan:
    """Return a plan with the noisy cells to do again that its run measures again.

    Raises the errors of a missing temporary folder and of a low limit of the system, which would
    fail each cell.
    """
    suite_files.find_temporary_folder()
    check_limits()
    return replace(plan, cells=reopen_noisy_cells(plan.cells)) if limits.repeats_noisy else plan


def has_work(plan: Plan) -> bool:
    """Return whether a cell of a plan can run, or has no row yet that says why it cannot."""
    todo = [cell for cell in plan.cells if cell.state != "done"]
    return any(cell.state != "skipped" or not cell.missing for cell in todo)


def run_plan(
    plan: Plan,
    limits: Limits,
    out: TextIO | None = None,
    show_first_block: Callable[[Progress], None] = lambda progress: None,
) -> Summary:
    """Measure the cells of a plan that are not done on this machine, and print what was done.

    Raises `benchbook.cli.command.UsageError` when another run has locked the results' folder,
    or it cannot be written.

    Parameters
    ----------
    plan
        As `prepare_plan` returns it.
    out
        Where to print; None: on standard output.
    show_first_block
        Called after the first block, if others follow.
    """
    noisy = [] if limits.repeats_noisy else find_noisy_cells(plan.cells)
    if has_work(plan):
        # Here, because it is slow to import, and a run in which nothing is left does without.
        from benchbook.runner.batch import run_cells

        with record_run(plan) as summary:
            run_cells(plan.cells, limits, summary, out=out, show_first_block=show_first_block)
        print_summary(plan, summary, out)
    else:
        summary = _print_nothing_left(plan, out)
    if noisy:
        count = format_count(len(noisy), "cell")
        print(f"{count} of those done before: noisy (--again measures them again)", file=out)
    return summary


def _print_nothing_left(plan: Plan, out: TextIO | None) -> Summary:
    """Print that nothing is left that can run here, and return the summary of no run."""
    todo = [cell for cell in plan.cells if cell.state != "done"]
    summary = Summary(skipped=[Failure(cell, cell.missing or "") for cell in todo])
    before = len(plan.cells) - len(todo)
    count = format_count(len(plan.cells), "cell")
    if plan.cells and not todo:
        print(f"{count}: all done before", file=out)
    else:
        print(f"{count}: {before} done before, and nothing else can run here:", file=out)
    reasons = (failure.reason for failure in summary.skipped)
    output.print_absences(reasons, plan.skipped, in_full=not before, out=out)
    return summary


@contextmanager
def record_run(plan: Plan | None = None) -> Iterator[Summary]:
    """Yield the summary of a run, which has locked the results; it records what ends it early.

    Raises `benchbook.cli.command.UsageError` when another run has locked the results' folder,
    or it cannot be written.

    Parameters
    ----------
    plan
        Of cells of this machine, whose results are looked for afterwards.
    """
    # Here, as in `run_plan`.
    from benchbook.runner.batch import lock_results

    summary = Summary()
    try:
        with lock_results(), summary.record_end():
            yield summary
    except (BusyError, RunError) as error:
        raise UsageError(str(error)) from error
    if summary.done:
        # What it spent its time on. A full disk has been reported where rows are written.
        with suppress(OSError):
            (paths.results() / "run.json").write_text(summary.to_json() + "\n")
    if plan:
        still_done = sum(cell.state == "done" for cell in read_states(plan.cells))
        before = sum(cell.state == "done" for cell in plan.cells)
        summary.removed = max(0, summary.done + before - still_done)


def find_status(plan: Plan, summary: Summary) -> int:
    """Return the exit status of a run whose summary was printed."""
    if isinstance(summary.ended_by, KeyboardInterrupt):
        return find_stop_status(summary.ended_by)
    if summary.ended_by or summary.failed or summary.removed:
        return FAILED
    return NOTHING_RUNS if len(summary.skipped) == len(plan.cells) else DONE


def print_summary(
    plan: Plan, summary: Summary, out: TextIO | None = None, *, on_hosts: bool = False
) -> None:
    """Print a run's summary: its cells, times, and cells that were not measured.

    Parameters
    ----------
    out
        Where to print; None: on standard output. Why it ended early is printed on stderr.
    on_hosts
        Whether several hosts measured.
    """
    show = partial(print, file=out)
    # What it did.
    counts = {
        "done": summary.done,
        "done before": sum(cell.state == "done" for cell in plan.cells),
        "failed": len(summary.failed),
        "skipped": len(summary.skipped),
    }
    parts = [f"{count} {name}" for name, count in counts.items() if count or name == "done"]
    of_hosts = ", the time of all hosts together" if on_hosts else ""
    took = f"in {format_duration(summary.wall_s)}{of_hosts}"
    show(f"{format_count(len(plan.cells), 'cell')}: {', '.join(parts)}, {took}")
    shares = summary.list_shares()
    # Parts that took less than a twentieth of the time are not named.
    named = [f"{share:.0%} {part}" for part, share in shares if share >= 0.05]
    if named:
        show(f"Time: {', '.join(named)}")

    # What was not measured, or not well.
    factors = find_factors(plan.cells)
    for line in _describe_flags(summary, factors):
        show(line)
    reasons = (failure.reason for failure in summary.skipped)
    output.print_absences(reasons, plan.skipped, in_full=not plan.cells, out=out)
    for failure in summary.failed:
        show(f"\nfailed: {describe_cell(failure.cell, factors)} (block {failure.cell.block + 1})")
        show("  " + escape_controls(failure.reason).replace("\n", "\n  "))
        again = write_rerun_command(failure.cell, factors, plan.options)
        show(escape_controls(f"  again: {again}"))

    # What disturbed the run.
    if summary.removed:
        show(
            f"{summary.removed} of the cells that were done are no longer in {paths.results()}: "
            "something removed them during the run; the same command measures them again"
        )
    if summary.ended_by:
        is_stopped = isinstance(summary.ended_by, KeyboardInterrupt)
        reason = "stopped" if is_stopped else f"stopped: {summary.ended_by}"
        advice = "Finished cells are kept: the same command continues"
        print(escape_controls(f"{reason}. {advice}"), file=sys.stderr)


def _describe_flags(summary: Summary, factors: Factors) -> list[str]:
    """Return the waits for a quiet machine, how many cells are noisy, and which are timed out."""
    lines = []
    waited_s = summary.spent_s["waiting"]
    # A wait of a second or two tells nothing.
    if waited_s >= MIN_WAIT_S:
        waited = f"It waited {format_duration(waited_s)} for a quiet machine"
        lines.append(f"{waited}; at the most, {summary.heaviest[1]}.")
    if summary.beside_others:
        count = format_count(summary.beside_others, "cell")
        again = f"; {summary.repeated} measured again" if summary.repeated else ""
        lines.append(
            f"{count} ran while other programs were busy{again}. "
            f"{len(summary.noisy)} noisy: no claim is judged on them."
        )
    if summary.noisy:
        lines.append("The same command with --again measures noisy cells again.")
    if summary.timed_out:
        count = format_count(len(summary.timed_out), "cell")
        lines.append(f"In {count} a wait for the replica ran out; those times are timed out:")
    cells = [(describe_cell(cell, factors), cell.block + 1) for cell in summary.timed_out]
    return [*lines, *(f"  {cell} (block {block})" for cell, block in cells)]
