"""Checks on the bookstore paper's own numbers, and the numbers of its findings."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from operator import truediv

import numpy as np

from benchbook.papers.printed_checks import (
    FindingNumbers,
    PrintedCheck,
    Values,
    check_bound,
    check_number,
    check_order,
    get_number,
    get_values,
    propagate,
)

CASES = (1, 2)
FORMATS = ("XML", "JSON")
SIZES = (1, 10, 100, 1000, 10_000)

number = partial(get_number, "bookstore")


def get_column(case: int, column: str) -> Values:
    """Return the values of a column of a case's table, by number of books."""
    return get_values(number(f"Case {case} table", n, column) for n in SIZES)


def list_checks() -> Iterator[PrintedCheck]:
    """Yield the checks of Section VI: growth between the cases, which is quicker, sizes."""
    yield from _check_growth()
    yield from _check_json_first()
    yield from _check_sizes()


def _check_growth() -> Iterator[PrintedCheck]:
    """Check that XML's time grows by more than is printed, and JSON's by less."""
    for format in FORMATS:
        column = f"{format} time"
        yield check_bound(
            number("Section VI", "growth from case 1 to case 2 at n = 10000", column),
            "above" if format == "XML" else "below",
            lambda first, second: 100 * (second / first - 1),
            number("Case 1 table", 10_000, column),
            number("Case 2 table", 10_000, column),
            says=f"growth of the {format} time from case 1 to case 2 at 10,000 books, in percent",
        )


def _check_json_first() -> Iterator[PrintedCheck]:
    """Check that JSON is quicker and smaller, and most so at 10,000 books."""
    for quantity, case, n in product(("time", "size"), CASES, SIZES):
        json = number(f"Case {case} table", n, f"JSON {quantity}")
        xml = number(f"Case {case} table", n, f"XML {quantity}")
        says = f"JSON {quantity} below XML {quantity}, case {case}, {n:,} books"
        yield check_order("Section VI", json, xml, says=says)

    for case, n in product(CASES, SIZES[:-1]):
        yield check_order(
            "Section VI",
            number(f"Case {case} table", n, "XML time"),
            number(f"Case {case} table", n, "JSON time"),
            number(f"Case {case} table", 10_000, "XML time"),
            number(f"Case {case} table", 10_000, "JSON time"),
            says=f"XML / JSON in time at {n:,} books below that at 10,000, case {case}",
            compute=lambda xml, json, xml_most, json_most: (xml / json) / (xml_most / json_most),
        )


def _check_sizes() -> Iterator[PrintedCheck]:
    """Check that sizes grow with the number of books."""
    # From 100 books up the root element weighs nothing.
    for case, format in product(CASES, FORMATS):
        table, column = f"Case {case} table", f"{format} size"
        yield check_number(
            number(table, 1000, column),
            lambda kilobytes: 10 * kilobytes,
            number(table, 100, column),
            says=f"size of 1,000 books from that of 100, {format}, case {case}",
        )
        yield check_number(
            number(table, 10_000, column),
            lambda kilobytes: 0.01 * kilobytes,  # printed in MB
            number(table, 1000, column),
            says=f"size of 10,000 books from that of 1,000, {format}, case {case}",
        )


def compute_findings() -> FindingNumbers:
    """Return the numbers of each finding in ``data/findings/bookstore.yaml``."""
    repetitions = number("Section IV", "repetitions", "each case").value
    xml, json = get_column(1, "XML time"), get_column(1, "JSON time")
    # The time of one more book, from each number of books to the next.
    xml_step, json_step = np.diff(xml) / np.diff(SIZES), np.diff(json) / np.diff(SIZES)

    case_1, case_2 = xml / json, get_column(2, "XML time") / get_column(2, "JSON time")
    at_1000 = (number("Case 1 table", 1000, f"{format} time") for format in FORMATS)
    _, reach = propagate(truediv, *at_1000)
    ratios = np.concatenate([case_1, case_2])

    # Bytes per book, of 100 and of 1,000 books in case 2.
    xml_bytes = 1000 * get_column(2, "XML size")[2:4] / SIZES[2:4]
    json_bytes = 1000 * get_column(2, "JSON size")[2:4] / SIZES[2:4]
    return {
        "bookstore.more-noticeable": {
            "case_1": case_1[-2:],
            "case_2": case_2[-2:],
            "reach": reach,
        },
        "bookstore.cold-start": {
            "repetitions": repetitions,
            "xml": xml_step,
            "json": json_step,
            "xml_drop": xml_step[0] / xml_step[-1],
            "json_drop": json_step[0] / json_step[-1],
            "single_book": xml[0],
            "overhead_percent": 100 * (1 - xml_step[-1] / xml[0]),
            "first_pass_ms": repetitions * xml[0] / 1000,
        },
        "bookstore.size-jump": {
            "xml": xml_bytes,
            "json": json_bytes,
            "xml_growth": 100 * (xml_bytes[1] / xml_bytes[0] - 1),
            "json_growth": 100 * (json_bytes[1] / json_bytes[0] - 1),
        },
        "bookstore.no-spread": {
            "times": 2 * ratios.size,
            "repetitions": repetitions,
            "quicker": np.count_nonzero(ratios > 1),
            "pairs": ratios.size,
        },
        "bookstore.one-sum": {"xml_ms": xml[-1] / 1000, "json_ms": json[-1] / 1000},
    }
