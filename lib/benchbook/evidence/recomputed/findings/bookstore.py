"""`bookstore`: a ratio that is called larger and is not, means of cold starts, bytes that jump."""

from itertools import pairwise
from typing import Final

from benchbook.evidence.recomputed.checks.bookstore import FORMATS, SIZES, cell
from benchbook.evidence.recomputed.finding import Finding, listed
from benchbook.evidence.recomputed.printed import derive, printed


def more_noticeable() -> Finding:
    """At 10,000 books the ratio is what it was at 1,000."""
    ratios = {
        (case, n): derive(lambda xml, json: xml / json, *(cell(case, n, f"{format} time") for format in FORMATS))
        for case in (1, 2)
        for n in SIZES[-2:]
    }
    (a, b), (c, d) = ([ratios[case, n].value for n in SIZES[-2:]] for case in (1, 2))
    reach = ratios[1, "1000"].reach
    return Finding(
        "bookstore.more-noticeable",
        "The lead that grows at 10,000 books",
        "unsupported",
        "Section VI; both tables",
        "JSON's lead shows more at 10,000 elements than below.",
        f"XML over JSON in time is {a:.3f} at 1,000 books and {b:.3f} at 10,000 in case 1, where rounding alone "
        f"moves it by {reach:.3f}; in case 2 it goes from {c:.2f} to {d:.2f}.",
        "In case 1 only the difference in microseconds grows, as any time does with more books. As a ratio the "
        "sentence holds in case 2 alone.",
    )


def cold_start() -> Finding:
    """What one more book costs falls with the number of books: the means hold the JVM's start."""
    costs = {
        format: [
            (cell(1, more, f"{format} time").value - cell(1, fewer, f"{format} time").value) / (int(more) - int(fewer))
            for fewer, more in pairwise(SIZES)
        ]
        for format in FORMATS
    }
    one = cell(1, "1", "XML time").value
    share = 100 * (1 - costs["XML"][-1] / one)
    first = printed("bookstore", "Section IV", "repetitions", "each case").value * one / 1e3
    return Finding(
        "bookstore.cold-start",
        "Means that hold the cold start",
        "unsupported",
        "Section IV; table of case 1",
        "Mean times of 100 repetitions in one process, the first ones among them, stand for what a format costs.",
        f"One more book costs {listed(costs['XML'], '.1f')} us in XML from step to step of n, and "
        f"{listed(costs['JSON'], '.1f')} us in JSON: {costs['XML'][0] / costs['XML'][-1]:.0f} and "
        f"{costs['JSON'][0] / costs['JSON'][-1]:.0f} times less at the end. Of the {one:,.0f} us of a single book, "
        f"{share:.1f} % is not the book at that last cost; one first pass of {first:.0f} ms would give the same "
        "mean.",
        "At small n the table compares how two libraries start on a cold JVM, not two formats. Repetitions would "
        "have to be split into cold and steady ones, and they are not printed.",
    )


def size_jump() -> Finding:
    """In case 2 a book of 100 and a book of 1,000 differ in bytes."""
    books = {format: [1e3 * cell(2, n, f"{format} size").value / int(n) for n in ("100", "1000")] for format in FORMATS}
    jumps = [100 * (after / before - 1) for before, after in books.values()]
    return Finding(
        "bookstore.size-jump",
        "Books that grow between 100 and 1,000",
        "contradiction",
        "Table of case 2",
        "The same class is filled at every number of books.",
        f"From 100 to 1,000 books the bytes a book go from {books['XML'][0]:.0f} to {books['XML'][1]:.0f} in XML "
        f"and from {books['JSON'][0]:.0f} to {books['JSON'][1]:.0f} in JSON: {listed(jumps, '+.0f')} %. In case 1 "
        "they stay.",
        "The contents changed with n. Times of case 2 below and above the jump are of different objects.",
    )


def no_spread() -> Finding:
    """Not one spread is printed, so that nothing can be tested."""
    repetitions = printed("bookstore", "Section IV", "repetitions", "each case").value
    means = len(FORMATS) * 2 * len(SIZES)
    return Finding(
        "bookstore.no-spread",
        "Hypotheses confirmed without a test",
        "not shown",
        "Sections III, V and VI",
        "Two hypotheses are declared true after the tables.",
        f"{means} mean times of {repetitions:.0f} repetitions each are printed and no spread: no test and no "
        "interval can be had.",
        "The sizes need no test, being exact. Of the times only the direction is known, and it is the same ten "
        "times of ten.",
    )


def one_sum() -> Finding:
    """Marshalling and unmarshalling are asked about and printed as one time."""
    times = [cell(1, "10000", f"{format} time").value / 1e3 for format in FORMATS]
    return Finding(
        "bookstore.one-sum",
        "Two directions, one time",
        "not shown",
        "Sections III to V",
        "The question names serializing and deserializing; one mean time a format is printed.",
        f"The {listed(times, '.2f')} ms of XML and JSON at 10,000 books cannot be split.",
        "A format may be quicker to write and slower to read. Here both directions are measured apart, and their "
        "sum is held against the paper's.",
    )


def processor_time() -> Finding:
    """The abstract calls the measure CPU time, the set-up takes the time of a loop."""
    return Finding(
        "bookstore.cpu-time",
        "CPU time or elapsed time",
        "contradiction",
        "Abstract against Section IV",
        "The abstract speaks of CPU time; the set-up takes the time around each pass of the loop.",
        "Nothing printed tells the two apart: no CPU share, no second clock.",
        "With garbage collection and the compiler on other cores the two differ on a JVM. Both are stored here.",
    )


def one_library() -> Finding:
    """One library is announced and two are compared."""
    return Finding(
        "bookstore.one-library",
        "One library or two",
        "contradiction",
        "Section II against Abstract and Section IV",
        "The concepts name JAXB as the only library; abstract and set-up name JAXB for XML and Jackson for JSON.",
        "The ratio of the tables is JAXB's time over Jackson's.",
        "Format and library change together, so that no number of the tables belongs to a format alone.",
    )


FINDINGS: Final = (more_noticeable, cold_start, size_jump, no_spread, one_sum, processor_time, one_library)
