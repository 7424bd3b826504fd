"""`benchbook run`: measure the cells that are not done, on this machine or on several."""

import argparse
import ipaddress
import os
import re
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from benchbook.cli import output, own_files, selection
from benchbook.cli.command import DONE, FAILED, NOTHING_RUNS, UsageError
from benchbook.cluster.child_process import HostsError
from benchbook.files import suite_files
from benchbook.grid import Cell
from benchbook.grid.cells import SkippedCells
from benchbook.measure.machine import check_limits
from benchbook.results.views import list_durations
from benchbook.runner.noisy_cells import find_noisy_cells, reopen_noisy_cells
from benchbook.servers import processes
from benchbook.text.number_format import format_count, format_duration

if TYPE_CHECKING:
    from benchbook.runner.progress import Progress, Summary

MAX_TIMEOUT_S: Final = 30 * 86_400
"""The longest time in seconds that a cell can be given: thirty days."""

DASK_PORT: Final = 8786
"""The default port of a Dask scheduler."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    selection.add_cells_options(parser)
    text = "stop a cell after this time"
    parser.add_argument("--timeout", type=_parse_timeout, metavar="SECONDS", help=text)
    text = "with --until-decided: stop after this time, such as 3h, 90m or 1h30m"
    parser.add_argument("--budget", type=parse_budget, metavar="TIME", help=text)
    text = (
        "do not wait until the machine is quiet: mark such cells noisy, and judge no claim on them"
    )
    parser.add_argument("--noisy", action="store_true", help=text)
    text = "measure noisy cells again, as a run without --noisy does; the less noisy values stay"
    parser.add_argument("--again", action="store_true", help=text)
    text = "build the report after the first block, and again at the end"
    parser.add_argument("--report", action="store_true", help=text)
    text = "measure on the workers of a Dask scheduler, such as tls://10.0.0.1:8786 (docs/hosts.md)"
    parser.add_argument("--scheduler", metavar="ADDRESS", help=text)
    text = "accept a scheduler without TLS: all who can reach it can run any code here"
    parser.add_argument("--unprotected", action="store_true", help=text)
    # An option of older versions: its error says what to use.
    parser.add_argument("--hosts", help=argparse.SUPPRESS)


def main(options: argparse.Namespace) -> int:
    """Check that the options fit together, run, and build the report if it is wanted.

    Raises `benchbook.cli.command.UsageError` when they do not.
    """
    if options.budget and not options.until_decided:
        reason = "any other run ends when its cells are done"
        raise UsageError(f"--budget needs --until-decided: {reason}")
    if options.hosts:
        instead = f"--scheduler {options.hosts}, with Dask's own workers (docs/hosts.md)"
        raise UsageError(f"--hosts was removed: use {instead}")
    if options.scheduler and options.until_decided:
        instead = "with --scheduler, set the blocks, as --set blocks=50"
        raise UsageError(f"--until-decided runs on this machine only: {instead}")
    if options.unprotected and not options.scheduler:
        raise UsageError("--unprotected needs --scheduler")
    status = _run(options)
    if options.report and status in (DONE, FAILED):
        # Here, because it is slow to import, and other runs do without.
        from benchbook.cli.report import write_report

        # The summary is printed before the report's steps.
        sys.stdout.flush()
        of_profile = argparse.Namespace(profile=options.profile, reference=False)
        status = write_report(of_profile) or status
    return status


def _run(options: argparse.Namespace) -> int:
    """Run on this machine or on several."""
    if options.scheduler:
        return _run_on_hosts(options)
    if options.until_decided:
        # Here, because it is slow to import, and other runs do without.
        from benchbook.cli import until_decided

        return until_decided.run(options)
    return _run_here(options)


def parse_budget(text: str) -> float:
    """Return the seconds of a time as people write it: ``3h``, ``90m`` or ``1h30m``."""
    pattern = r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?:in)?)?(?:(\d+(?:\.\d+)?)s)?"
    match = re.fullmatch(pattern, text)
    hours, minutes, seconds = [float(part or 0) for part in match.groups()] if match else [0, 0, 0]
    total = 3600 * hours + 60 * minutes + seconds
    if not total:
        example = "such as 3h, 90m or 1h30m"
        raise argparse.ArgumentTypeError(f"must be a time above 0, {example} (got {text})")
    return total


def _parse_timeout(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds <= MAX_TIMEOUT_S:
        limit = f"must be above 0 and up to {MAX_TIMEOUT_S:,} seconds"
        raise argparse.ArgumentTypeError(f"{limit} (got {text})")
    return seconds


def _run_here(options: argparse.Namespace) -> int:
    """Measure the cells that are not done on this machine."""
    # The plan; a missing temporary folder or a low limit is an error now, and not in each cell.
    start = time.monotonic()
    suite_files.find_temporary_folder()
    check_limits()
    plan = selection.load_plan(options)
    cells, noisy = plan.cells, []
    if selection.measures_noisy_cells_again(options):
        cells = reopen_noisy_cells(cells)
    else:
        noisy = find_noisy_cells(cells)
    selection.enter_networks(options, cells)
    todo = [cell for cell in cells if cell.state != "done"]
    if any(cell.state != "skipped" or not cell.missing for cell in todo):
        status = _run_cells(options, cells, plan.skipped)
        _print_noisy_cells(noisy)
        return status

    # Nothing is left that can run here.
    before = len(cells) - len(todo)
    count = format_count(len(cells), "cell")
    if cells and not todo:
        print(f"{count}: all done before ({format_duration(time.monotonic() - start)})")
    else:
        print(f"{count}: {before} done before, and nothing else can run here:")
    _print_noisy_cells(noisy)
    output.print_absences((cell.missing or "" for cell in todo), plan.skipped, in_full=not before)
    return DONE if before else NOTHING_RUNS


def _print_noisy_cells(cells: Sequence[Cell]) -> None:
    """Print how many cells keep noisy values of earlier runs, and how to measure them again."""
    if cells:
        count = format_count(len(cells), "cell")
        print(f"{count} of those done before: noisy (--again measures them again)")


def _run_cells(
    options: argparse.Namespace, cells: Sequence[Cell], left_out: Sequence[SkippedCells]
) -> int:
    """Run a plan's cells on this machine."""
    # Here, because they are slow to import, and a run in which nothing is left does without.
    from benchbook.cli.execution import choose_patience, execute
    from benchbook.runner.batch import TIMEOUT_S, Batch
    from benchbook.runner.progress import Progress

    own_files.print_files(cells)

    def work(summary: "Summary") -> None:
        timeout_s = options.timeout or TIMEOUT_S
        with Progress(cells, list_durations()) as progress:
            batch = Batch(
                cells,
                progress,
                timeout_s,
                summary,
                patience_s=choose_patience(options),
                show_first_block=partial(_build_first_report, options, progress),
            )
            batch.run()

    return execute(options, cells, left_out, work)


def _build_first_report(options: argparse.Namespace, progress: "Progress") -> None:
    """Build the report of the first block, if it is wanted, and print where it is.

    It is built by a process of its own, because what it imports would stay in the runner's memory.
    """
    if not options.report:
        return
    progress.show_wait("building the first report")
    command = [*processes.PYTHON, "-m", "benchbook.cli", "report", "--profile", options.profile]
    built = processes.run_command(command, env=os.environ)
    page = built.stdout.strip()
    if built.returncode == DONE:
        progress.print_line(f"a first report, of one block, so its intervals are open: {page}")
    else:
        reason = built.stderr.strip().rpartition("\n")[2]
        progress.print_line(f"no first report; the run goes on: {reason}")


def _run_on_hosts(options: argparse.Namespace) -> int:
    """Measure the cells that are not done on the hosts of the scheduler."""
    address = _check_address(options.scheduler, options.unprotected)
    # Here, because they are slow to import, and Dask is an extra that may not be installed.
    try:
        from benchbook.cluster.dispatch import Dispatch, connect
    except ModuleNotFoundError as error:
        remedy = "make dev installs it (without a checkout: pip install 'benchbook[hosts]')"
        raise UsageError(f"{error.name} is missing: {remedy}") from error
    from benchbook.cli.execution import choose_patience, execute
    from benchbook.runner.batch import TIMEOUT_S

    # A wrong option is an error here, and not on each host.
    records = {cell.records for cell in selection.load_plan(options).cells}
    planned: list[Cell] = []

    def work(summary: "Summary") -> None:
        request = options.study, options.profile, options.where, options.set
        limits = options.timeout or TIMEOUT_S, choose_patience(options)
        repeats_noisy = selection.measures_noisy_cells_again(options)
        dispatch = Dispatch(client, request, limits, records, repeats_noisy=repeats_noisy)
        try:
            dispatch.run(summary)
        finally:
            planned.extend(dispatch.plan)

    try:
        with connect(address) as client:
            return execute(options, planned, [], work)
    except HostsError as error:
        raise UsageError(f"--scheduler: {error}") from error


def _check_address(text: str, unprotected: bool) -> str:
    """Return a scheduler's whole address.

    Raises `benchbook.cli.command.UsageError` when it is not an address, or when other machines
    reach it without TLS and it is not `unprotected`.
    """
    whole = text if "://" in text else f"tcp://{text}"
    try:
        parts = urlsplit(whole)
        port = parts.port or DASK_PORT
    except ValueError:
        parts = urlsplit("")
    if not parts.hostname:
        example = f"tls://10.0.0.1:{DASK_PORT}"
        raise UsageError(f"--scheduler {text} is not an address: write it as {example}")
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    if parts.scheme != "tls" and not unprotected and not _is_loopback(parts.hostname):
        raise UsageError(
            f"--scheduler {text} has no TLS, so all who can reach it can run any code here:"
            f" use tls://{name}:{port} (docs/hosts.md), or add --unprotected to trust them all"
        )
    return f"{parts.scheme}://{name}:{port}"


def _is_loopback(name: str) -> bool:
    """Return whether only this machine reaches that host."""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"
