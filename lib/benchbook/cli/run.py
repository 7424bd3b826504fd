"""`benchbook run`: measure the cells that are not done, on this machine or on several."""

import argparse
import ipaddress
import math
import os
import re
import sys
import time
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from benchbook.cli import execution, own_files, selection
from benchbook.cli.command import DONE, FAILED, UsageError
from benchbook.cluster.child_process import HostsError
from benchbook.grid import Plan
from benchbook.runner import load_monitor
from benchbook.runner.progress import TIMEOUT_S, Limits, Progress
from benchbook.servers import processes

MAX_TIMEOUT_S: Final = 30 * 86_400
"""The longest time in seconds that a cell can be given: thirty days."""

DASK_PORT: Final = 8786
"""The default port of a Dask scheduler."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    selection.add_cells_options(parser)
    text = "stop a cell after this time"
    parser.add_argument(
        "--timeout", type=_parse_timeout, default=TIMEOUT_S, metavar="SECONDS", help=text
    )
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


def main(options: argparse.Namespace) -> int:
    """Check that the options fit together, run, and build the report if it is wanted.

    Raises `benchbook.cli.command.UsageError` when they do not.
    """
    if options.budget and not options.until_decided:
        reason = "any other run ends when its cells are done"
        raise UsageError(f"--budget needs --until-decided: {reason}")
    if options.scheduler and options.until_decided:
        instead = "with --scheduler, set the blocks, as --set blocks=50"
        raise UsageError(f"--until-decided runs on this machine only: {instead}")
    if options.unprotected and not options.scheduler:
        raise UsageError("--unprotected needs --scheduler")
    waits = not options.noisy and options.profile != "smoke"
    limits = Limits(
        timeout_s=options.timeout,
        patience_s=load_monitor.QUIET_PATIENCE_S if waits else None,
        repeats_noisy=options.again or waits,
        deadline_s=time.monotonic() + (options.budget or math.inf),
    )
    status = _run(options, limits)
    if options.report and status in (DONE, FAILED):
        # Here, because it is slow to import, and other runs do without.
        from benchbook.cli.report import build_named_report

        # The summary is printed before the report's steps.
        sys.stdout.flush()
        status = build_named_report(options.profile) or status
    return status


def _run(options: argparse.Namespace, limits: Limits) -> int:
    """Run on this machine or on several, and return the exit status."""
    if options.scheduler:
        return _run_on_hosts(options, limits)
    plan = execution.prepare_plan(selection.load_plan(options), limits)
    selection.enter_networks(options, plan.cells)
    if options.until_decided:
        # Here, because it is slow to import, and other runs do without.
        from benchbook.cli import until_decided

        return until_decided.run(plan, limits)
    if execution.has_work(plan):
        own_files.print_files(plan.cells)
    show_first_block = partial(_build_first_report, options)
    summary = execution.run_plan(plan, limits, show_first_block=show_first_block)
    return execution.find_status(plan, summary)


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


def _build_first_report(options: argparse.Namespace, progress: Progress) -> None:
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


def _run_on_hosts(options: argparse.Namespace, limits: Limits) -> int:
    """Measure the cells that are not done on the hosts of the scheduler."""
    address = _check_address(options.scheduler, options.unprotected)
    # Here, because Dask is slow to import, and an extra that may not be installed.
    try:
        from benchbook.cluster.dispatch import Dispatch, connect
    except ModuleNotFoundError as error:
        remedy = "make dev installs it (without a checkout: pip install 'benchbook[hosts]')"
        raise UsageError(f"{error.name} is missing: {remedy}") from error

    # A wrong option is an error here, and not on each host.
    plan = selection.load_plan(options)
    words = [*plan.options, ("--scheduler", options.scheduler)]
    if options.unprotected:
        words.append(("--unprotected",))
    request = options.study, options.profile, options.where, options.set
    try:
        with connect(address) as client:
            dispatch = Dispatch(client, request, limits, {cell.records for cell in plan.cells})
            with execution.record_run() as summary:
                dispatch.run(summary)
    except HostsError as error:
        raise UsageError(f"--scheduler: {error}") from error
    plan = Plan(dispatch.plan, [], tuple(words))
    execution.print_summary(plan, summary, on_hosts=True)
    return execution.find_status(plan, summary)


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
