"""What of a profile does not run here and why, in a line each: never a line a cell."""

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence

from benchbook import grid


def left_out(asked: argparse.Namespace) -> list[grid.LeftOut]:
    """Return the products that the profile has only where their server is found, and it is not."""
    return grid.left_out(asked.study, asked.profile, asked.where, asked.set)


def lines(reasons: Iterable[str], absent: Sequence[grid.LeftOut]) -> list[str]:
    """Return a line for each reason that cells are skipped for, and for each product that is left out.

    Parameters
    ----------
    reasons
        Of each skipped cell.
    absent
        As `left_out` returns them.
    """
    counted = Counter(reasons)
    return [
        *(f"skipped {count}: {reason}" for reason, count in counted.items()),
        *(f"left out: {one.product} ({', '.join(one.studies)}): {one.why}" for one in absent),
    ]
