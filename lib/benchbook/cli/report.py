"""`benchbook report`: the final notebook, the figures and `report.html` of a profile."""

import argparse
import sys

from benchbook import cli, grid, paths, studies
from benchbook.cli import output, sources


def main(asked: argparse.Namespace) -> int:
    """Build the report and print where it is.

    Raises
    ------
    benchbook.cli.NothingRanError
        When no cell of the profile ran.
    """
    for slug in studies.SLUGS:
        grid.load(slug).profile(asked.profile)
    output.report_damage()
    from benchbook import report  # after the check: it is slow to import

    try:
        print(report.build(asked.profile))
    except report.NothingRanError as error:
        committed = f"open the committed run's, {paths.reference() / report.PAGE}"
        raise sources.nothing_ran(asked.profile, committed) from error
    except report.ReportError as error:
        print(f"benchbook: {error}", file=sys.stderr)
        return cli.FAILED
    return cli.DONE
