"""Checks and findings on the bookstore paper's own numbers."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from operator import truediv

import numpy as np

from benchbook.papers.recomputed import (
    BoundSide,
    PaperFinding,
    PrintedCheck,
    Values,
    check_bound,
    check_number,
    check_order,
    get_number,
    get_values,
    list_values,
    propagate,
)

CASES = (1, 2)
SIZES = (1, 10, 100, 1000, 10_000)

number = partial(get_number, "bookstore")


def list_checks() -> Iterator[PrintedCheck]:
    """Yield the checks of Section VI: growth between the cases, which is quicker, sizes."""
    yield from _check_growth()
    yield from _check_json_first()
    yield from _check_sizes()


def _check_growth() -> Iterator[PrintedCheck]:
    """Check how much times grow from case 1 to case 2."""
    growth = "Section VI", "growth from case 1 to case 2 at n = 10000"
    sides: tuple[tuple[str, BoundSide], ...] = (("XML", "above"), ("JSON", "below"))
    for format, side in sides:
        yield check_bound(
            number(*growth, f"{format} time"),
            side,
            lambda first, second: 100 * (second / first - 1),
            number("Case 1 table", 10_000, f"{format} time"),
            number("Case 2 table", 10_000, f"{format} time"),
            says=f"growth of the {format} time from case 1 to case 2 at 10,000 books, in percent",
        )


def _check_json_first() -> Iterator[PrintedCheck]:
    """Check that JSON is quicker and smaller, and most so at 10,000 books."""
    for quantity, case, n in product(("time", "size"), CASES, SIZES):
        json = number(f"Case {case} table", n, f"JSON {quantity}")
        xml = number(f"Case {case} table", n, f"XML {quantity}")
        says = f"JSON {quantity} below XML {quantity}, case {case}, {n:,} books"
        yield check_order("Section VI", truediv, json, xml, says=says)

    for case, n in product(CASES, SIZES[:-1]):
        yield check_order(
            "Section VI",
            lambda xml, json, xml_most, json_most: (xml / json) / (xml_most / json_most),
            number(f"Case {case} table", n, "XML time"),
            number(f"Case {case} table", n, "JSON time"),
            number(f"Case {case} table", 10_000, "XML time"),
            number(f"Case {case} table", 10_000, "JSON time"),
            says=f"XML / JSON in time at {n:,} books below that at 10,000, case {case}",
        )


def _check_sizes() -> Iterator[PrintedCheck]:
    """Check that sizes grow with the number of books."""
    # From 100 books up the root element weighs nothing.
    for case, format in product(CASES, ("XML", "JSON")):
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


def list_findings() -> Iterator[PaperFinding]:
    """Yield the findings that do not follow."""
    yield _find_growing_lead()
    yield _find_cold_start()
    yield _find_size_jump()
    yield _find_no_spread()
    yield _find_one_sum()
    yield PaperFinding(
        name="bookstore.cpu-time",
        title="CPU time or elapsed time",
        kind="contradiction",
        source="Abstract against Section IV",
        as_printed=(
            "The abstract speaks of CPU time; the set-up takes the time around each pass of the "
            "loop."
        ),
        recomputed="Nothing printed tells the two apart: no CPU share, no second clock.",
        why=(
            "With garbage collection and the compiler on other cores the two differ on a JVM. "
            "Both are stored here."
        ),
    )
    yield PaperFinding(
        name="bookstore.one-library",
        title="One library or two",
        kind="contradiction",
        source="Section II against Abstract and Section IV",
        as_printed=(
            "The concepts name JAXB as the only library; abstract and set-up name JAXB for XML "
            "and Jackson for JSON."
        ),
        recomputed="The ratio of the tables is JAXB's time over Jackson's.",
        why=(
            "Format and library change together, so that no number of the tables belongs to a "
            "format alone."
        ),
    )


def get_column(case: int, column: str, sizes: tuple[int, ...] = SIZES) -> Values:
    """Return the values of a column of a case's table."""
    return get_values(number(f"Case {case} table", n, column) for n in sizes)


def _find_growing_lead() -> PaperFinding:
    sizes = (1000, 10_000)
    ratios, reaches = [], []
    for n in sizes:
        xml = number("Case 1 table", n, "XML time")
        json = number("Case 1 table", n, "JSON time")
        ratio, reach = propagate(truediv, xml, json)
        ratios.append(ratio)
        reaches.append(reach)
    case_2 = get_column(2, "XML time", sizes) / get_column(2, "JSON time", sizes)
    return PaperFinding(
        name="bookstore.more-noticeable",
        title="The lead that grows at 10,000 books",
        kind="unsupported",
        source="Section VI; both tables",
        as_printed="JSON's lead shows more at 10,000 elements than below.",
        recomputed=(
            f"XML over JSON in time is {ratios[0]:.3f} at 1,000 books and "
            f"{ratios[1]:.3f} at 10,000 in case 1, where rounding alone moves it by "
            f"{reaches[0]:.3f}; in case 2 it goes from {case_2[0]:.2f} to {case_2[1]:.2f}."
        ),
        why=(
            "In case 1 only the difference in microseconds grows, as any time does with more "
            "books. As a ratio the sentence holds in case 2 alone."
        ),
    )


def _find_cold_start() -> PaperFinding:
    xml = np.diff(get_column(1, "XML time")) / np.diff(SIZES)  # of one more book
    json = np.diff(get_column(1, "JSON time")) / np.diff(SIZES)
    single_book = number("Case 1 table", 1, "XML time").value
    repetitions = number("Section IV", "repetitions", "each case").value
    return PaperFinding(
        name="bookstore.cold-start",
        title="Means that hold the cold start",
        kind="unsupported",
        source="Section IV; table of case 1",
        as_printed=(
            "Mean times of 100 repetitions in one process, the first ones among them, stand for "
            "what a format costs."
        ),
        recomputed=(
            f"One more book costs {list_values(xml, '.1f')} us in XML from step to step of n, and "
            f"{list_values(json, '.1f')} us in JSON: {xml[0] / xml[-1]:.0f} and "
            f"{json[0] / json[-1]:.0f} times less at the end. Of the {single_book:,.0f} us of a "
            f"single book, {100 * (1 - xml[-1] / single_book):.1f} % is not the book at that last "
            f"cost; one first pass of {repetitions * single_book / 1000:.0f} ms would give the "
            "same mean."
        ),
        why=(
            "At small n the table compares how two libraries start on a cold JVM, not two formats. "
            "Repetitions would have to be split into cold and steady ones, and they are not "
            "printed."
        ),
    )


def _find_size_jump() -> PaperFinding:
    sizes = (100, 1000)
    xml = 1000 * get_column(2, "XML size", sizes) / sizes  # bytes per book
    json = 1000 * get_column(2, "JSON size", sizes) / sizes
    return PaperFinding(
        name="bookstore.size-jump",
        title="Books that grow between 100 and 1,000",
        kind="contradiction",
        source="Table of case 2",
        as_printed="The same class is filled at every number of books.",
        recomputed=(
            f"From 100 to 1,000 books the bytes a book go from {xml[0]:.0f} to {xml[1]:.0f} in XML "
            f"and from {json[0]:.0f} to {json[1]:.0f} in JSON: {100 * (xml[1] / xml[0] - 1):+.0f} "
            f"and {100 * (json[1] / json[0] - 1):+.0f} %. In case 1 they stay."
        ),
        why=(
            "The contents changed with n. Times of case 2 below and above the jump are of "
            "different objects."
        ),
    )


def _find_no_spread() -> PaperFinding:
    repetitions = number("Section IV", "repetitions", "each case").value
    times = len(CASES) * len(SIZES) * 2
    return PaperFinding(
        name="bookstore.no-spread",
        title="Hypotheses confirmed without a test",
        kind="not shown",
        source="Sections III, V and VI",
        as_printed="Two hypotheses are declared true after the tables.",
        recomputed=(
            f"{times} mean times of {repetitions:.0f} repetitions each are printed and no spread: "
            "no test and no interval can be had."
        ),
        why=(
            "The sizes need no test, being exact. Of the times only the direction is known, and it "
            "is the same ten times of ten."
        ),
    )


def _find_one_sum() -> PaperFinding:
    xml = number("Case 1 table", 10_000, "XML time").value
    json = number("Case 1 table", 10_000, "JSON time").value
    return PaperFinding(
        name="bookstore.one-sum",
        title="Two directions, one time",
        kind="not shown",
        source="Sections III to V",
        as_printed=(
            "The question names serializing and deserializing; one mean time a format is printed."
        ),
        recomputed=(
            f"The {xml / 1000:.2f} and {json / 1000:.2f} ms of XML and JSON at 10,000 books cannot "
            "be split."
        ),
        why=(
            "A format may be quicker to write and slower to read. Here both directions are "
            "measured apart, and their sum is held against the paper's."
        ),
    )
