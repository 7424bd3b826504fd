"""What commands draw, quote and report from: a profile's results, or the committed run."""

import argparse
from typing import TYPE_CHECKING

from benchbook import cli, paths, studies
from benchbook.cli import output

if TYPE_CHECKING:
    from benchbook.evidence.runs import Run


def add_options(parser: argparse.ArgumentParser) -> None:
    """Let a command be asked for a profile's results or for the committed run."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--profile", default="quick", metavar="P", help="the selection (default: quick)")
    which.add_argument("--reference", action="store_true", help="of the committed run, whatever ran here")


def run(asked: argparse.Namespace) -> "Run":
    """Return the run that was asked for.

    Raises
    ------
    benchbook.cli.UsageError
        When there is no committed run.
    benchbook.cli.NothingRanError
        When nothing of the profile ran here.
    """
    from benchbook import grid, results  # here, for they are slow to import
    from benchbook.evidence.runs import Run

    if asked.reference:
        return committed()
    cells = grid.plan(studies.SLUGS, asked.profile)
    output.report_damage()
    if not results.finished(keys := grid.keys(cells)):
        raise nothing_ran(asked.profile, "ask for --reference")
    return Run.of_results(asked.profile, keys)


def committed() -> "Run":
    """Return the committed run, on a machine where nothing need have run.

    Raises
    ------
    benchbook.cli.UsageError
        When there is no committed run.
    """
    from benchbook.evidence import reference
    from benchbook.evidence.runs import Run

    if not (paths.reference() / reference.MEANS).is_file():
        missing = f"there is no {reference.MEANS} in {paths.reference()}"
        raise cli.UsageError(f"--reference: {missing}: restore it from git")
    return Run.of_reference()


def nothing_ran(profile: str, instead: str) -> cli.NothingRanError:
    """Return the error that nothing of a profile ran here, with what to do and what there is `instead`."""
    from benchbook import results

    reason = f"nothing of the profile {profile} ran here"
    if results.whole():
        reason += " (the results here are of other cells, other code or another machine)"
    return cli.NothingRanError(f"{reason}: benchbook run --profile {profile}, or {instead}")
