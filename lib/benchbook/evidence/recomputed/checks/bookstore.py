"""`bookstore`: the growth that its discussion states, its orderings, and sizes that should grow with the books."""

from itertools import pairwise, product
from typing import Final

from benchbook.evidence.recomputed.check import Check, below_one, bound, less, number
from benchbook.evidence.recomputed.printed import Printed, printed

SIZES: Final = ("1", "10", "100", "1000", "10000")
FORMATS: Final = ("XML", "JSON")
_BYTES: Final = {"B": 1, "KB": 1e3, "MB": 1e6}


def cell(case: int, n: str, column: str) -> Printed:
    """Return a number of one of the two result tables."""
    return printed("bookstore", f"Case {case} table", n, column)


def growth() -> list[Check]:
    """Check the growth from case 1 to case 2, which the discussion bounds in percent."""
    row = "growth from case 1 to case 2 at n = 10000"
    return [
        bound(
            printed("bookstore", "Section VI", row, f"{format} time"),
            "above" if format == "XML" else "below",
            lambda first, second: 100 * (second / first - 1),
            *(cell(case, "10000", f"{format} time") for case in (1, 2)),
            says=f"growth of the {format} time from case 1 to case 2 at 10,000 books, in percent",
        )
        for format in FORMATS
    ]


def orders() -> list[Check]:
    """Check that JSON is quicker and smaller in each of the ten scenarios."""
    return [
        less(
            "Section VI",
            f"JSON {quantity} below XML {quantity}, case {case}, {int(n):,} books",
            cell(case, n, f"JSON {quantity}"),
            cell(case, n, f"XML {quantity}"),
        )
        for quantity, case, n in product(("time", "size"), (1, 2), SIZES)
    ]


def noticeable() -> list[Check]:
    """Check that XML over JSON in time is larger at 10,000 books than at each smaller number."""
    return [
        below_one(
            "Section VI",
            f"XML / JSON in time at {int(n):,} books below that at 10,000, case {case}",
            lambda xml, json, xml_most, json_most: (xml / json) / (xml_most / json_most),
            *(cell(case, size, f"{format} time") for size in (n, SIZES[-1]) for format in FORMATS),
        )
        for case, n in product((1, 2), SIZES[:-1])
    ]


def sizes() -> list[Check]:
    """Check that ten times the books take ten times the bytes, from 100 books up, where the root weighs nothing."""
    return [
        _tenfold(case, format, fewer, more)
        for case, format, (fewer, more) in product((1, 2), FORMATS, pairwise(SIZES[2:]))
    ]


def _tenfold(case: int, format: str, fewer: str, more: str) -> Check:
    claim, before = (cell(case, n, f"{format} size") for n in (more, fewer))
    factor = 10 * _BYTES[before.unit] / _BYTES[claim.unit]
    says = f"size of {int(more):,} books from that of {int(fewer):,}, {format}, case {case}"
    return number(claim, lambda size: factor * size, before, says=says)


CHECKS: Final = (growth, orders, noticeable, sizes)
