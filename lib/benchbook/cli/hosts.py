"""A lab's hosts: `benchbook scheduler` and `benchbook worker`, which make them one, and `benchbook run` on them.

What connects them is an extra that need not be installed: it is imported only where it is used.
"""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from benchbook import cli, paths
from benchbook.hosts import NoLabError

if TYPE_CHECKING:
    from distributed import Security

    from benchbook.grid import Cell
    from benchbook.runner.progress import Summary
    from benchbook.runner.rounds import Look


def add_credentials_options(parser: argparse.ArgumentParser, *, unprotected: bool = True) -> None:
    """Let a command be told the lab's credentials; and, where it may do without, that it does."""
    text = "the file of the lab's credentials (default: .cache/lab.pem, which benchbook scheduler makes)"
    parser.add_argument("--credentials", metavar="FILE", help=text)
    if unprotected:
        text = "trust whoever reaches a scheduler at tcp://, which asks for no credentials, to run any code here"
        parser.add_argument("--unprotected", action="store_true", help=text)


def add_scheduler_options(parser: argparse.ArgumentParser) -> None:
    """Say what `benchbook scheduler` can be asked."""
    text = "this machine's address for the lab (default: 127.0.0.1:8786, which no other machine reaches)"
    parser.add_argument("address", metavar="ADDRESS", nargs="?", default="127.0.0.1", help=text)
    add_credentials_options(parser, unprotected=False)


def scheduler(asked: argparse.Namespace) -> int:
    """Join a lab's workers and runs on this machine until Ctrl-C."""
    with _extra():
        from benchbook.hosts.scheduler import serve
    with _usable_lab(), _until_interrupted():
        serve(asked.address, _credentials(asked))
    return cli.DONE


def add_worker_options(parser: argparse.ArgumentParser) -> None:
    """Say what `benchbook worker` can be asked."""
    parser.add_argument("--listen", metavar="ADDRESS", help="this machine's address for the lab")
    parser.add_argument("scheduler", metavar="SCHEDULER", help="its address, such as tls://lab:8786")
    add_credentials_options(parser)


def worker(asked: argparse.Namespace) -> int:
    """Offer this machine's timing slot to the scheduler until Ctrl-C."""
    with _extra():
        from benchbook.hosts.worker import serve
    with _usable_lab(), _until_interrupted():
        serve(*_secured(asked.scheduler, asked), asked.listen)
    return cli.DONE


def run(asked: argparse.Namespace) -> int:
    """Run on the hosts what is not done."""
    from benchbook import results  # here, for only this needs them, and they are slow to import
    from benchbook.cli import selection, until
    from benchbook.cli.execution import countdown, execute, patience_s
    from benchbook.hosts.orders import Asked
    from benchbook.runner.batch import TIMEOUT_S
    from benchbook.runner.progress import Progress
    from benchbook.runner.standing import readings

    with _extra():
        from benchbook.hosts.dispatch import Lab
        from benchbook.hosts.works import Shared, UntilDecided, as_anywhere
    left_s = countdown(asked.budget)
    selection.planned(asked)  # what was asked wrongly is said here
    known = results.seconds()
    planned: list[Cell] = []

    def judge(plan: "Sequence[Cell]") -> "Look":
        return until.judging(plan, readings(plan))

    def work(summary: "Summary") -> None:
        with Progress([], known, attrgetter("key") if asked.until_decided else as_anywhere) as progress:
            distributed = UntilDecided(progress, judge, left_s, known) if asked.until_decided else Shared(progress)
            timeout_s, quiet_s = asked.timeout or TIMEOUT_S, patience_s(asked)
            try:
                lab.run(distributed, progress, summary, timeout_s, quiet_s, left_s)
            finally:
                planned.extend(progress.plan)
        if isinstance(distributed, UntilDecided):
            for name, current, rounds in distributed.standings:
                print(f"\nhost {name}:\n{until.text(current, rounds)}")

    wanted = Asked(tuple(asked.study), asked.profile, tuple(asked.where), tuple(asked.set))
    with _usable_lab("--hosts: "), Lab(*_secured(asked.hosts, asked), wanted) as lab:
        return execute(asked, planned, [], work)


@contextmanager
def _until_interrupted() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        print("stopped")


@contextmanager
def _extra() -> Iterator[None]:
    """Say of imports that fail which extra is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise cli.UsageError(f"{error.name} is missing: pip install 'benchbook[hosts]', or make setup") from error


@contextmanager
def _usable_lab(option: str = "") -> Iterator[None]:
    """Say why a lab cannot be used, of the option that names it."""
    try:
        yield
    except NoLabError as error:
        raise cli.UsageError(f"{option}{error}") from error


def _credentials(asked: argparse.Namespace) -> Path:
    """Return the file that was named, else the checkout's."""
    return Path(asked.credentials or paths.credentials())


def _secured(scheduler: str, asked: argparse.Namespace) -> "tuple[str, Security]":
    """Return a scheduler's whole address, and what is shown to it and asked of it, as the options say."""
    from benchbook.hosts.scheduler import secured

    return secured(scheduler, _credentials(asked), asked.unprotected)
