"""`benchbook run`: run what is not done, and say at the end what happened."""

import argparse
import re
import time
from typing import TYPE_CHECKING, Final

from benchbook import cli, folders, results
from benchbook.cli import hosts, output, selection
from benchbook.digits import duration, plural

if TYPE_CHECKING:
    from benchbook.runner.progress import Summary

LONGEST_CELL_S: Final = 30 * 86_400
"""Seconds that a cell can be given: thirty days."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    selection.add_cells_options(parser, until_decided=True)
    parser.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="stop a cell after this time")
    text = "with --until-decided: stop after this time, such as 3h, 90m or 1h30m"
    parser.add_argument("--budget", type=budget, metavar="TIME", help=text)
    text = "do not wait until the machine is quiet: mark such cells noisy, and judge no claim on them"
    parser.add_argument("--noisy", action="store_true", help=text)
    hosts.add_options(parser)


def main(asked: argparse.Namespace) -> int:
    """Run."""
    if asked.budget and not asked.until_decided:
        raise cli.UsageError("--budget needs --until-decided: any other run ends when its cells are done")
    return hosts.run(asked) if hosts.is_asked(asked) else _here(asked)


def budget(text: str) -> float:
    """Return the seconds of a time as people write it: ``3h``, ``90m`` or ``1h30m``."""
    parts = re.fullmatch(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?:in)?)?(?:(\d+(?:\.\d+)?)s)?", text)
    hours, minutes, seconds = (float(part or 0) for part in parts.groups()) if parts else (0.0, 0.0, 0.0)
    if not (total := 3600 * hours + 60 * minutes + seconds):
        raise argparse.ArgumentTypeError(f"must be a time above 0, such as 3h, 90m or 1h30m (got {text})")
    return total


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds <= LONGEST_CELL_S:
        raise argparse.ArgumentTypeError(f"must be above 0 and up to {LONGEST_CELL_S:,} seconds (got {text})")
    return seconds


def _here(asked: argparse.Namespace) -> int:
    """Run what is not done, measured on this machine."""
    if asked.until_decided:
        from benchbook.cli import until  # only now: it is slow to import

        return until.run(asked)
    start = time.monotonic()
    folders.temporary()  # refused now rather than cell by cell
    plan = selection.planned(asked)
    cells = plan.cells
    selection.at_networks(asked, cells)
    todo = [cell for cell in cells if cell.state != "done"]
    before = len(cells) - len(todo)
    if cells and not todo:
        print(f"{plural(len(cells), 'cell')}: all done before ({duration(time.monotonic() - start)})")
    elif all(cell.state == "skipped" and cell.missing for cell in todo):
        print(f"{plural(len(cells), 'cell')}: {before} done before, and nothing else can run here:")
    else:
        from benchbook.cli import execution  # only now: what runs cells is slow to import
        from benchbook.runner.batch import TIMEOUT_S, Batch
        from benchbook.runner.progress import Progress

        def work(summary: "Summary") -> None:
            timeout_s, quiet_s = asked.timeout or TIMEOUT_S, execution.patience_s(asked)
            with Progress(cells, results.seconds()) as progress:
                Batch(cells, progress, timeout_s, summary, patience_s=quiet_s).run()

        return execution.execute(asked, cells, plan.skipped, work)
    output.print_absences((cell.missing or "" for cell in todo), plan.skipped, in_full=not before)
    return cli.DONE if before else cli.NOTHING_RUNS
