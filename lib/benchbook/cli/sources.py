"""What `benchbook figure` and `benchbook number` draw and quote from: a profile's results, or the committed run."""

import argparse
from typing import TYPE_CHECKING

from benchbook import cli, paths, studies
from benchbook.cli import output

if TYPE_CHECKING:
    from benchbook.evidence import Evidence

REFERENCE = "reference"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Let a command be asked for a profile's results or for the committed run."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--profile", default="quick", metavar="P", help="the selection (default: quick)")
    which.add_argument("--reference", action="store_true", help="of the committed run, whatever ran here")


def evidence(asked: argparse.Namespace) -> "tuple[Evidence, str]":
    """Return what was asked for, and what its provenance calls it.

    Raises
    ------
    benchbook.cli.UsageError
        When there is nothing of it.
    """
    from benchbook import grid  # here, for they are slow to import
    from benchbook.evidence import Evidence, reference, stored_means

    if asked.reference:
        if (means := reference.means()).empty:
            raise cli.UsageError(
                f"--reference: there is no {reference.MEANS} in {paths.reference()}: restore it from git"
            )
        return Evidence.of(means), REFERENCE
    cells = grid.plan(studies.SLUGS, asked.profile)
    output.report_damage()
    if (means := stored_means(grid.keys(cells))).empty:
        raise cli.UsageError(
            f"nothing of the profile {asked.profile} ran here: benchbook run --profile {asked.profile}, or ask for"
            " --reference"
        )
    return Evidence.of(means), asked.profile
