"""`bookstore` recomputed: growth and orderings as stated; a lead that does not grow, cold starts, bytes that jump."""

from itertools import pairwise, product
from typing import Final

import numpy as np

from benchbook.evidence.published import Number
from benchbook.papers.recomputed import Checks, Paper, Texts, below_one, bound, follows, less, listed, propagate

paper: Final = Paper("bookstore")
SIZES: Final = ("1", "10", "100", "1000", "10000")
FORMATS: Final = ("XML", "JSON")
_BYTES: Final = {"B": 1, "KB": 1e3, "MB": 1e6}


def cell(case: int, n: str, column: str) -> Number:
    """Return a number of one of the two result tables."""
    return paper(f"Case {case} table", n, column)


def times(case: int, n: str) -> list[Number]:
    """Return the times of XML and of JSON."""
    return [cell(case, n, f"{format} time") for format in FORMATS]


@paper.check
def growth() -> Checks:
    """Check the growth from case 1 to case 2, which the discussion bounds in percent."""
    for format in FORMATS:
        yield bound(
            paper("Section VI", "growth from case 1 to case 2 at n = 10000", f"{format} time"),
            "above" if format == "XML" else "below",
            lambda first, second: 100 * (second / first - 1),
            *(cell(case, "10000", f"{format} time") for case in (1, 2)),
            says=f"growth of the {format} time from case 1 to case 2 at 10,000 books, in percent",
        )


@paper.check
def orders() -> Checks:
    """Check that JSON is quicker and smaller in each of the ten scenarios, and its lead in time largest at 10,000."""
    for quantity, case, n in product(("time", "size"), (1, 2), SIZES):
        says = f"JSON {quantity} below XML {quantity}, case {case}, {int(n):,} books"
        yield less("Section VI", says, cell(case, n, f"JSON {quantity}"), cell(case, n, f"XML {quantity}"))
    for case, n in product((1, 2), SIZES[:-1]):
        yield below_one(
            "Section VI",
            f"XML / JSON in time at {int(n):,} books below that at 10,000, case {case}",
            lambda xml, json, xml_most, json_most: (xml / json) / (xml_most / json_most),
            *times(case, n),
            *times(case, SIZES[-1]),
        )


@paper.check
def sizes() -> Checks:
    """Check that ten times the books take ten times the bytes, from 100 books up, where the root weighs nothing."""
    for case, format, (fewer, more) in product((1, 2), FORMATS, pairwise(SIZES[2:])):
        claim, before = (cell(case, n, f"{format} size") for n in (more, fewer))
        factor = 10 * _BYTES[before.unit] / _BYTES[claim.unit]
        says = f"size of {int(more):,} books from that of {int(fewer):,}, {format}, case {case}"
        yield follows(claim, lambda size, factor=factor: factor * size, before, says=says)


@paper.finding("unsupported", "Section VI; both tables")
def more_noticeable() -> Texts:
    """The lead that grows at 10,000 books."""
    ratios = [propagate(lambda xml, json: xml / json, *times(*at)) for at in product((1, 2), SIZES[-2:])]
    (a, reach), (b, _), (c, _), (d, _) = ratios
    return (
        "JSON's lead shows more at 10,000 elements than below.",
        f"XML over JSON in time is {a:.3f} at 1,000 books and {b:.3f} at 10,000 in case 1, where rounding alone "
        f"moves it by {reach:.3f}; in case 2 it goes from {c:.2f} to {d:.2f}.",
        "In case 1 only the difference in microseconds grows, as any time does with more books. As a ratio the "
        "sentence holds in case 2 alone.",
    )


@paper.finding("unsupported", "Section IV; table of case 1")
def cold_start() -> Texts:
    """Means that hold the cold start."""
    means = [[cell(1, n, f"{format} time").value for n in SIZES] for format in FORMATS]
    xml, json = np.diff(means) / np.diff([int(n) for n in SIZES])
    one = means[0][0]
    first = paper("Section IV", "repetitions", "each case").value * one / 1e3
    return (
        "Mean times of 100 repetitions in one process, the first ones among them, stand for what a format costs.",
        f"One more book costs {listed(xml, '.1f')} us in XML from step to step of n, and {listed(json, '.1f')} us in "
        f"JSON: {xml[0] / xml[-1]:.0f} and {json[0] / json[-1]:.0f} times less at the end. Of the {one:,.0f} us of a "
        f"single book, {100 * (1 - xml[-1] / one):.1f} % is not the book at that last cost; one first pass of "
        f"{first:.0f} ms would give the same mean.",
        "At small n the table compares how two libraries start on a cold JVM, not two formats. Repetitions would "
        "have to be split into cold and steady ones, and they are not printed.",
    )


@paper.finding("contradiction", "Table of case 2")
def size_jump() -> Texts:
    """Books that grow between 100 and 1,000."""
    xml, json = ([1e3 * cell(2, n, f"{format} size").value / int(n) for n in ("100", "1000")] for format in FORMATS)
    jumps = [100 * (after / before - 1) for before, after in (xml, json)]
    return (
        "The same class is filled at every number of books.",
        f"From 100 to 1,000 books the bytes a book go from {xml[0]:.0f} to {xml[1]:.0f} in XML and from {json[0]:.0f} "
        f"to {json[1]:.0f} in JSON: {listed(jumps, '+.0f')} %. In case 1 they stay.",
        "The contents changed with n. Times of case 2 below and above the jump are of different objects.",
    )


@paper.finding("not shown", "Sections III, V and VI")
def no_spread() -> Texts:
    """Hypotheses confirmed without a test."""
    repetitions = paper("Section IV", "repetitions", "each case").value
    return (
        "Two hypotheses are declared true after the tables.",
        f"{len(FORMATS) * 2 * len(SIZES)} mean times of {repetitions:.0f} repetitions each are printed and no spread: "
        "no test and no interval can be had.",
        "The sizes need no test, being exact. Of the times only the direction is known, and it is the same ten "
        "times of ten.",
    )


@paper.finding("not shown", "Sections III to V")
def one_sum() -> Texts:
    """Two directions, one time."""
    milliseconds = [time.value / 1e3 for time in times(1, "10000")]
    return (
        "The question names serializing and deserializing; one mean time a format is printed.",
        f"The {listed(milliseconds, '.2f')} ms of XML and JSON at 10,000 books cannot be split.",
        "A format may be quicker to write and slower to read. Here both directions are measured apart, and their "
        "sum is held against the paper's.",
    )


@paper.finding("contradiction", "Abstract against Section IV")
def cpu_time() -> Texts:
    """CPU time or elapsed time."""
    return (
        "The abstract speaks of CPU time; the set-up takes the time around each pass of the loop.",
        "Nothing printed tells the two apart: no CPU share, no second clock.",
        "With garbage collection and the compiler on other cores the two differ on a JVM. Both are stored here.",
    )


@paper.finding("contradiction", "Section II against Abstract and Section IV")
def one_library() -> Texts:
    """One library or two."""
    return (
        "The concepts name JAXB as the only library; abstract and set-up name JAXB for XML and Jackson for JSON.",
        "The ratio of the tables is JAXB's time over Jackson's.",
        "Format and library change together, so that no number of the tables belongs to a format alone.",
    )
