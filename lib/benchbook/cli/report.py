"""`benchbook report`: the final notebook, the figures and `report.html` of a profile."""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from benchbook import cli, paths
from benchbook.cli import output, selection


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    selection.add_run_options(parser)


def main(asked: argparse.Namespace) -> int:
    """Build the report and print where it is.

    Raises `benchbook.cli.NothingRanError` when no cell of the profile ran.
    """
    from benchbook import grid, studies  # here, for they are slow to import

    name = paths.REFERENCE if asked.reference else asked.profile
    if asked.reference:
        selection.committed()
    else:
        for slug in studies.SLUGS:
            grid.load(slug).profile(name)
    output.report_damage(values=True)
    from benchbook import report  # after the check: it is slow to import

    try:
        with _steps() as say:
            page = report.build(name, say)
    except report.NothingRanError as error:
        committed = f"open the committed run's, {paths.reference() / report.PAGE}"
        raise selection.nothing_ran(name, committed) from error
    except report.ReportError as error:
        print(f"benchbook: {error}", file=sys.stderr)
        return cli.FAILED
    print(page)
    return cli.DONE


@contextmanager
def _steps() -> Iterator[Callable[[str], object]]:
    """Yield what says each step: on a terminal in one line that is renewed, else in a line of its own."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True)
    if console.is_terminal:
        with Live(console=console, auto_refresh=False, transient=True) as live:
            yield lambda step: live.update(Text(step, no_wrap=True, overflow="ellipsis"), refresh=True)
        return
    printed: set[str] = set()

    def say(step: str) -> None:
        if step not in printed:
            printed.add(step)
            with suppress(OSError):  # whose reader has seen enough: the report is built all the same
                print(step, file=sys.stderr, flush=True)

    yield say
