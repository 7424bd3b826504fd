"""`benchbook run`: run what is not done, and say at the end what happened."""

import argparse
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchbook import grid
from benchbook.cli import status
from benchbook.cli.plan import cells_of


class _Terminated(KeyboardInterrupt):
    """SIGTERM: handled as Ctrl-C is, with an exit status of its own."""


def main(asked: argparse.Namespace) -> int:
    """Run."""
    start = time.monotonic()
    cells = cells_of(asked)
    todo = [cell for cell in cells if cell.state != "done"]
    if not todo:
        print(f"cells: {len(cells)}, all done before ({time.monotonic() - start:.1f} s)")
        return status.DONE
    if all(cell.state == "skipped" and cell.missing for cell in todo):
        print(f"cells: {len(cells)}, {len(cells) - len(todo)} done before; nothing else can run here:")
        print(_skips([cell.missing or "" for cell in todo]))
        return status.NOTHING_RUNS if len(todo) == len(cells) else status.DONE
    return _run(asked, cells)


def _run(asked: argparse.Namespace, cells: Sequence[grid.Cell]) -> int:
    from benchbook import results
    from benchbook.runner.batch import TIMEOUT_S, Batch
    from benchbook.runner.progress import Progress
    from benchbook.runner.slot import BusyError, slot
    from benchbook.runner.storing import UnwritableError

    stopped: int | None = None
    why = "stopped"
    try:
        with slot(), _terminable(), Progress(cells, results.seconds()) as progress:
            batch = Batch(cells, progress, asked.timeout or TIMEOUT_S)
            try:
                batch.run()
            except KeyboardInterrupt as error:
                stopped = status.TERMINATED if isinstance(error, _Terminated) else status.INTERRUPTED
            except UnwritableError as error:
                stopped, why = status.FAILED, f"stopped, for {error}"
    except (BusyError, UnwritableError) as error:
        raise status.UsageError(str(error)) from error
    _tell(asked, cells, batch.summary)
    if stopped is not None:
        print(f"{why}: what is finished is kept; the same command goes on from there", file=sys.stderr)
        return stopped
    return _status(cells, batch.summary)


def _status(cells: Sequence[grid.Cell], summary: Any) -> int:
    if summary.failed:
        return status.FAILED
    return status.NOTHING_RUNS if all(cell.missing for cell in cells) else status.DONE


def _tell(asked: argparse.Namespace, cells: Sequence[grid.Cell], summary: Any) -> None:
    from benchbook.runner.durations import span
    from benchbook.runner.failures import Asked, again, described

    options = Asked(asked.profile, tuple(asked.where), tuple(asked.set))
    before = sum(cell.state == "done" for cell in cells)
    parts = [f"{summary.done} done", f"{before} before"] if before else [f"{summary.done} done"]
    parts += [f"{len(found)} {name}" for name in ("failed", "skipped") if (found := getattr(summary, name))]
    share = summary.measured_s / summary.wall_s if summary.wall_s else 0.0
    print(f"cells: {len(cells)}, {', '.join(parts)}; {span(summary.wall_s)}, of which {share:.0%} was measured work")
    if summary.ran_out:
        print(f"waits for the replica ran out in {len(summary.ran_out)} done, whose times are marked censored:")
        print("\n".join(f"  {described(cell, cells)} (block {cell.block + 1})" for cell in summary.ran_out))
    if summary.skipped:
        print(_skips([failure.reason for failure in summary.skipped]))
    for failure in summary.failed:
        print(f"\nfailed: {described(failure.cell, cells)} (block {failure.cell.block + 1})")
        print("  " + failure.reason.replace("\n", "\n  "))
        print(f"  again: {again(failure.cell, cells, options)}")


def _skips(reasons: Sequence[str]) -> str:
    return "\n".join(f"skipped {reasons.count(reason)}: {reason}" for reason in dict.fromkeys(reasons))


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
