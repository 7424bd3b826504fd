"""`benchbook run --hosts`: what `run` does, on the machines behind a Dask scheduler."""

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING

from benchbook import cli, grid, results
from benchbook.cli import output
from benchbook.cli.credentials import extra, secured
from benchbook.cli.execution import execute, patience_s
from benchbook.cli.until import judging, text
from benchbook.hosts.orders import Asked, NoLabError
from benchbook.runner.batch import TIMEOUT_S
from benchbook.runner.progress import Progress
from benchbook.runner.rounds import Look
from benchbook.runner.standing import readings
from benchbook.servers import ServerError
from benchbook.servers.address import PLACE

if TYPE_CHECKING:
    from benchbook.runner.summary import Summary
    from benchbook.runner.visit import Up


def run(asked: argparse.Namespace) -> int:
    """Run on the hosts what is not done."""
    with extra():
        from benchbook.hosts.dispatch import Lab
        from benchbook.hosts.works import Shared, UntilDecided, as_anywhere
    start = time.monotonic()
    grid.plan(asked.study, asked.profile, asked.where, asked.set)  # what was asked wrongly is said here
    output.report_damage()
    known = results.seconds()
    planned: list[grid.Cell] = []

    def left_s() -> float:
        return asked.budget - (time.monotonic() - start) if asked.budget else float("inf")

    def work(summary: "Summary") -> None:
        with Progress([], known, attrgetter("key") if asked.until_decided else as_anywhere) as progress:
            distributed = UntilDecided(progress, _judge, left_s, known) if asked.until_decided else Shared(progress)
            timeout_s, quiet_s = asked.timeout or TIMEOUT_S, patience_s(asked)
            try:
                lab.run(distributed, progress, summary, timeout_s, quiet_s, left_s)
            finally:
                planned.extend(progress.plan)
        if isinstance(distributed, UntilDecided):
            for name, current, rounds in distributed.standings:
                print(f"\nhost {name}:\n{text(current, rounds)}")

    wanted = Asked(tuple(asked.study), asked.profile, tuple(asked.where), tuple(asked.set))
    try:
        with Lab(*secured(asked.hosts, asked), wanted) as lab:
            return execute(asked, planned, [], work)
    except NoLabError as error:
        raise cli.UsageError(f"--hosts: {error}") from error


@contextmanager
def places(asked: argparse.Namespace) -> Iterator["Up"]:
    """Yield what starts servers on the workers that were named."""
    with extra():
        from benchbook.hosts.places import Places
    os.environ[PLACE] = asked.place  # what a plan tells its cells by, and their kernels know of
    try:
        with Places(*secured(asked.hosts, asked)) as there:
            yield there.up
    except NoLabError as error:
        raise cli.UsageError(f"--place: {error}") from error
    except ServerError as error:
        raise cli.UsageError(str(error)) from error


def _judge(plan: Sequence[grid.Cell]) -> Look:
    """Return what judges the cells of a host's plan."""
    return judging(plan, readings(plan))
