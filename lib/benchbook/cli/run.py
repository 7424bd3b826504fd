"""`benchbook run`: run what is not done, and say at the end what happened."""

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from benchbook import cli, folders, grid, paths, servers
from benchbook.cli import output
from benchbook.digits import duration

if TYPE_CHECKING:
    from benchbook.runner.summary import Summary
    from benchbook.runner.visit import Up


SPENT = "run.json"
"""Where the results' folder keeps what the newest run spent its time on."""

_SHOWN = 0.005
"""Of the time: parts below are not named."""


class _Terminated(KeyboardInterrupt):
    """SIGTERM: handled as Ctrl-C is, with an exit status of its own."""


def main(asked: argparse.Namespace) -> int:
    """Run."""
    if asked.budget and not asked.until_decided:
        raise cli.UsageError("--budget is of --until-decided: any other run ends when its cells are done")
    if asked.place and not asked.hosts:
        raise cli.UsageError("--place is of --hosts: it names workers of that scheduler")
    if (asked.credentials or asked.unprotected) and not asked.hosts:
        raise cli.UsageError("--credentials and --unprotected are of --hosts")
    if not asked.hosts:
        return _here(asked, servers.up)
    from benchbook.cli import on_hosts  # after the parser: it is slow to import

    if not asked.place:
        return on_hosts.run(asked)
    with on_hosts.places(asked) as up:
        return _here(asked, up)


def _here(asked: argparse.Namespace, up: "Up") -> int:
    """Run what is not done, measured on this machine."""
    if asked.until_decided:
        from benchbook.cli import until  # after the parser: it is slow to import

        return until.run(asked, up)
    start = time.monotonic()
    folders.temporary()  # refused now rather than cell by cell
    cells = grid.plan(asked.study, asked.profile, asked.where, asked.set)
    output.report_damage()
    absent = grid.left_out(asked.study, asked.profile, asked.where, asked.set)
    if not asked.where and not asked.set:
        output.print_hidden(asked.study, asked.profile)
    todo = [cell for cell in cells if cell.state != "done"]
    before = len(cells) - len(todo)
    if cells and not todo:
        print(f"cells: {len(cells)}, all done before ({duration(time.monotonic() - start)})")
    elif all(cell.state == "skipped" and cell.missing for cell in todo):
        print(f"cells: {len(cells)}, {before} done before; nothing else can run here:")
    else:
        return _run(asked, cells, absent, up)
    output.print_absences((cell.missing or "" for cell in todo), absent)
    return cli.DONE if before else cli.NOTHING_RUNS


def _run(asked: argparse.Namespace, cells: Sequence[grid.Cell], absent: Sequence[grid.LeftOut], up: "Up") -> int:
    from benchbook import results
    from benchbook.runner.batch import TIMEOUT_S, Batch
    from benchbook.runner.progress import Progress

    def work(summary: "Summary") -> None:
        with Progress(cells, results.seconds()) as progress:
            Batch(cells, progress, asked.timeout or TIMEOUT_S, summary, patience_s=patience_s(asked), up=up).run()

    return carried_out(asked, cells, absent, work)


def patience_s(asked: argparse.Namespace) -> float | None:
    """Return how long a run waits for a quiet machine; None: it only records the load, as tests' runs do."""
    from benchbook.runner import quiet

    return None if asked.noisy or asked.profile == "smoke" else quiet.PATIENCE_S


def carried_out(
    asked: argparse.Namespace,
    cells: Sequence[grid.Cell],
    absent: Sequence[grid.LeftOut],
    work: Callable[["Summary"], None],
) -> int:
    """Do the work of a run with the results' folder to itself, print what it did, and return the exit status."""
    from benchbook.hosts.orders import NoLabError
    from benchbook.results.folder import BusyError
    from benchbook.runner.quiet import NotQuietError
    from benchbook.runner.run_lock import UnwritableError, run_lock
    from benchbook.runner.summary import Summary

    summary = Summary()
    stopped: int | None = None
    why = "stopped"
    try:
        with run_lock(), _terminable():
            try:
                work(summary)
            except KeyboardInterrupt as error:
                stopped = cli.TERMINATED if isinstance(error, _Terminated) else cli.INTERRUPTED
            except (UnwritableError, NotQuietError, NoLabError, folders.FolderError) as error:
                stopped, why = cli.FAILED, f"stopped, for {error}"
    except (BusyError, UnwritableError) as error:
        raise cli.UsageError(str(error)) from error
    if summary.done:
        with suppress(OSError):  # a disk that is full was told of by who writes the rows; the parts are printed too
            (paths.results() / SPENT).write_text(summary.spent_as_json() + "\n")
    _print_summary(asked, cells, summary, absent)
    gone = 0 if asked.hosts else _gone(cells, summary)
    if gone:
        print(
            f"{gone} of the cells that were done are no longer in {paths.results()}: something removed them while the"
            " run went on; the same command measures them again"
        )
    if stopped is not None:
        print(f"{why}: what is finished is kept; the same command goes on from there", file=sys.stderr)
        return stopped
    if summary.failed or gone:
        return cli.FAILED
    return cli.NOTHING_RUNS if all(cell.missing for cell in cells) else cli.DONE


def _gone(cells: Sequence[grid.Cell], summary: "Summary") -> int:
    """Return how many cells that were done before or in this run have no results any more."""
    from benchbook import results

    states = {study: results.states(study) for study in {cell.study for cell in cells}}
    there = sum(states[cell.study].get(cell.key) == "done" for cell in cells)
    return max(0, summary.done + sum(cell.state == "done" for cell in cells) - there)


def _print_summary(
    asked: argparse.Namespace, cells: Sequence[grid.Cell], summary: "Summary", absent: Sequence[grid.LeftOut]
) -> None:
    from benchbook.runner.summary import again, described, telling

    apart = telling(cells)
    before = sum(cell.state == "done" for cell in cells)
    parts = [f"{summary.done} done", *([f"{before} before"] if before else [])]
    parts += [f"{len(found)} {name}" for name in ("failed", "skipped") if (found := getattr(summary, name))]
    (what, share), *others = summary.shares()
    of_whom = " of all hosts' time" if asked.hosts and not asked.place else ""
    took = f"{duration(summary.wall_s)}{of_whom}, of which {share:.0%} was {what}"
    print(f"cells: {len(cells)}, {', '.join(parts)}; {took}")
    if rest := ", ".join(f"{share:.0%} {part}" for part, share in others if share >= _SHOWN):
        print(f"the rest: {rest}")
    if summary.beside_others:
        counts = f"{summary.repeated} measured again, {len(summary.disturbed)} stay marked as disturbed"
        print(f"measured while other processes were busy: {summary.beside_others}, {counts}")
    if summary.ran_out:
        print(f"waits for the replica ran out in {len(summary.ran_out)} done, whose times are marked censored:")
        print("\n".join(f"  {described(cell, apart)} (block {cell.block + 1})" for cell in summary.ran_out))
    output.print_absences((failure.reason for failure in summary.skipped), absent)
    for failure in summary.failed:
        print(f"\nfailed: {described(failure.cell, apart)} (block {failure.cell.block + 1})")
        print("  " + failure.reason.replace("\n", "\n  "))
        hosts = "".join(
            f" --{name} {vars(asked)[name]}" for name in ("hosts", "place", "credentials") if vars(asked)[name]
        )
        hosts += " --unprotected" if asked.unprotected else ""
        print(f"  again: {again(failure.cell, apart, asked.profile, asked.where, asked.set)}{hosts}")


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
