"""`benchbook run`: run what is not done, and say at the end what happened."""

import argparse
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchbook import cli, folders, grid
from benchbook.cli import output


class _Terminated(KeyboardInterrupt):
    """SIGTERM: handled as Ctrl-C is, with an exit status of its own."""


def main(asked: argparse.Namespace) -> int:
    """Run."""
    start = time.monotonic()
    folders.temporary()  # refused now rather than cell by cell
    cells = grid.plan(asked.study, asked.profile, asked.where, asked.set)
    output.report_damage()
    absent = grid.left_out(asked.study, asked.profile, asked.where, asked.set)
    todo = [cell for cell in cells if cell.state != "done"]
    before = len(cells) - len(todo)
    if cells and not todo:
        print(f"cells: {len(cells)}, all done before ({time.monotonic() - start:.1f} s)")
    elif all(cell.state == "skipped" and cell.missing for cell in todo):
        print(f"cells: {len(cells)}, {before} done before; nothing else can run here:")
    else:
        return _run(asked, cells, absent)
    output.print_absences((cell.missing or "" for cell in todo), absent)
    return cli.DONE if before else cli.NOTHING_RUNS


def _run(asked: argparse.Namespace, cells: Sequence[grid.Cell], absent: Sequence[grid.LeftOut]) -> int:
    from benchbook import results
    from benchbook.results.folder import BusyError
    from benchbook.runner.batch import TIMEOUT_S, Batch
    from benchbook.runner.progress import Progress
    from benchbook.runner.run_lock import UnwritableError, run_lock

    stopped: int | None = None
    why = "stopped"
    try:
        with run_lock(), _terminable(), Progress(cells, results.seconds()) as progress:
            batch = Batch(cells, progress, asked.timeout or TIMEOUT_S)
            try:
                batch.run()
            except KeyboardInterrupt as error:
                stopped = cli.TERMINATED if isinstance(error, _Terminated) else cli.INTERRUPTED
            except UnwritableError as error:
                stopped, why = cli.FAILED, f"stopped, for {error}"
    except (BusyError, UnwritableError) as error:
        raise cli.UsageError(str(error)) from error
    _print_summary(asked, cells, batch.summary, absent)
    if stopped is not None:
        print(f"{why}: what is finished is kept; the same command goes on from there", file=sys.stderr)
        return stopped
    if batch.summary.failed:
        return cli.FAILED
    return cli.NOTHING_RUNS if all(cell.missing for cell in cells) else cli.DONE


def _print_summary(
    asked: argparse.Namespace, cells: Sequence[grid.Cell], summary: Any, absent: Sequence[grid.LeftOut]
) -> None:
    from benchbook.runner.summary import again, described, span

    before = sum(cell.state == "done" for cell in cells)
    parts = [f"{summary.done} done", *([f"{before} before"] if before else [])]
    parts += [f"{len(found)} {name}" for name in ("failed", "skipped") if (found := getattr(summary, name))]
    share = summary.measured_s / summary.wall_s if summary.wall_s else 0.0
    print(f"cells: {len(cells)}, {', '.join(parts)}; {span(summary.wall_s)}, of which {share:.0%} was measured work")
    if summary.ran_out:
        print(f"waits for the replica ran out in {len(summary.ran_out)} done, whose times are marked censored:")
        print("\n".join(f"  {described(cell, cells)} (block {cell.block + 1})" for cell in summary.ran_out))
    output.print_absences((failure.reason for failure in summary.skipped), absent)
    for failure in summary.failed:
        print(f"\nfailed: {described(failure.cell, cells)} (block {failure.cell.block + 1})")
        print("  " + failure.reason.replace("\n", "\n  "))
        print(f"  again: {again(failure.cell, cells, asked.profile, asked.where, asked.set)}")


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
