"""`benchbook report`: the final notebook, the figures and `report.html` of a profile."""

import argparse
import sys

from benchbook import grid, studies
from benchbook.cli import damage, status


def main(asked: argparse.Namespace) -> int:
    """Build the report and print where it is."""
    try:
        for slug in studies.SLUGS:
            grid.load(slug).profile(asked.profile)
    except grid.GridError as error:
        raise status.UsageError(str(error)) from error
    damage.tell()
    from benchbook import report  # after the check: it is slow to import

    try:
        print(report.build(asked.profile))
    except report.ReportError as error:
        print(f"benchbook: {error}", file=sys.stderr)
        return status.FAILED
    return status.DONE
