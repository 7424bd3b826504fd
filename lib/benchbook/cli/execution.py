"""How a run is carried out, whatever it runs: its results' folder to itself, until it ends or is stopped; then told."""

import argparse
import math
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from benchbook import cli, folders, grid, paths
from benchbook.cli import output
from benchbook.digits import duration, plural
from benchbook.hosts import HostsError
from benchbook.results.folder import BusyError
from benchbook.runner import quiet
from benchbook.runner.progress import Factors, Failure, Summary, described, factors_of, rerun_command
from benchbook.runner.quiet import NotQuietError
from benchbook.runner.run_folder import UnwritableError, run_lock

SPENT: Final = "run.json"
"""Where the results' folder keeps what the newest run spent its time on."""

_SHOWN: Final = 0.05
"""Of the time: smaller parts are not named."""


class _Terminated(KeyboardInterrupt):
    """SIGTERM: handled as Ctrl-C is, with an exit status of its own."""


@dataclass(frozen=True)
class _Stop:
    """Why a run ended before its work was done, and the exit status that says so."""

    status: int
    why: str


def execute(
    asked: argparse.Namespace,
    cells: Sequence[grid.Cell],
    absent: Sequence[grid.LeftOut],
    work: Callable[[Summary], None],
) -> int:
    """Do the work of a run with the results' folder to itself, print what it did, and return the exit status.

    Parameters
    ----------
    asked
        The command's arguments: those of the run are repeated in the command that measures a failed cell again.
    cells, absent
        The plan, which the work may still fill; and what it leaves out.
    work
        Runs the cells, and counts them in the summary.

    Raises
    ------
    benchbook.cli.UsageError
        When another run has the results' folder, or it cannot be written.
    """
    summary = Summary()
    try:
        with run_lock(), _terminable():
            stop = _worked(work, summary)
    except (BusyError, UnwritableError) as error:
        raise cli.UsageError(str(error)) from error
    if summary.done:
        # a disk that is full was told of by who writes the rows; the parts are printed too
        with suppress(OSError):
            (paths.results() / SPENT).write_text(summary.spent_as_json() + "\n")
    _print_summary(asked, cells, summary, absent)
    gone = 0
    if not asked.scheduler:
        still_done = sum(cell.state == "done" for cell in grid.in_their_states(cells))
        gone = max(0, summary.done + sum(cell.state == "done" for cell in cells) - still_done)
    if gone:
        print(
            f"{gone} of the cells that were done are no longer in {paths.results()}: something removed them while the"
            " run went on; the same command measures them again"
        )
    if stop:
        print(f"{stop.why}. Finished cells are kept: the same command continues", file=sys.stderr)
        return stop.status
    if summary.failed or gone:
        return cli.FAILED
    return cli.NOTHING_RUNS if all(cell.missing for cell in cells) else cli.DONE


def countdown(budget_s: float | None) -> Callable[[], float]:
    """Return a function that returns the seconds left of a budget that begins now: infinity where there is none."""
    end = time.monotonic() + (budget_s or math.inf)
    return lambda: end - time.monotonic()


def patience_s(asked: argparse.Namespace) -> float | None:
    """Return how long a run waits for a quiet machine; None: it only records the load, as tests' runs do."""
    return None if asked.noisy or asked.profile == "smoke" else quiet.PATIENCE_S


def _worked(work: Callable[[Summary], None], summary: Summary) -> _Stop | None:
    """Do the work, and return what stopped it before its end."""
    try:
        work(summary)
    except _Terminated:
        return _Stop(cli.TERMINATED, "stopped")
    except KeyboardInterrupt:
        return _Stop(cli.INTERRUPTED, "stopped")
    except (UnwritableError, NotQuietError, HostsError, folders.FolderError) as error:
        return _Stop(cli.FAILED, f"stopped: {error}")
    return None


def _print_summary(
    asked: argparse.Namespace, cells: Sequence[grid.Cell], summary: Summary, absent: Sequence[grid.LeftOut]
) -> None:
    """Print what a run did, how long it took and on what, and what it did not measure."""
    # What it did.
    factors = factors_of(cells)
    before = sum(cell.state == "done" for cell in cells)
    counts = {
        "done": summary.done,
        "done before": before,
        "failed": len(summary.failed),
        "skipped": len(summary.skipped),
    }
    named = ", ".join(f"{count} {name}" for name, count in counts.items() if count or name == "done")
    of_hosts = ", the time of all hosts together" if asked.scheduler else ""
    print(f"{plural(len(cells), 'cell')}: {named}, in {duration(summary.wall_s)}{of_hosts}")
    shares = [f"{share:.0%} {part}" for part, share in summary.shares() if share >= _SHOWN]
    if shares:
        print(f"Time: {', '.join(shares)}")

    # What is noisy, timed out or left out.
    if summary.beside_others:
        measured = f"{plural(summary.beside_others, 'cell')} ran while other programs were busy"
        again = f"; {summary.repeated} measured again" if summary.repeated else ""
        print(f"{measured}{again}. {len(summary.noisy)} noisy: no claim is judged on them.")
    if summary.ran_out:
        print(f"In {plural(len(summary.ran_out), 'cell')} a wait for the replica ran out; those times are timed out:")
        print("\n".join(f"  {described(cell, factors)} (block {cell.block + 1})" for cell in summary.ran_out))
    output.print_absences((failure.reason for failure in summary.skipped), absent, in_full=not cells)
    for failure in summary.failed:
        _print_failure(asked, failure, factors)


def _print_failure(asked: argparse.Namespace, failure: Failure, factors: Factors) -> None:
    """Print which cell failed, why, and the one command that measures it again."""
    print(f"\nfailed: {described(failure.cell, factors)} (block {failure.cell.block + 1})")
    print("  " + failure.reason.replace("\n", "\n  "))
    options = [f" --scheduler {asked.scheduler}"] if asked.scheduler else []
    options += [" --unprotected"] if asked.unprotected else []
    print(f"  again: {rerun_command(failure.cell, factors, asked.profile, asked.where, asked.set)}{''.join(options)}")


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM stop the run as Ctrl-C does."""

    def stop(*_: object) -> None:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
