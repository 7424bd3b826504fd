"""`crud` recomputed: what no formula of ``data/findings/crud.yaml`` says, where findings name places of the tables."""

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Final

from benchbook.papers.check import SIMILAR
from benchbook.papers.crud import TIMED
from benchbook.papers.formulas import Value
from benchbook.papers.recomputed import printed

SIZES: Final = (1000, 10_000, 100_000)
DOCUMENT: Final = ("CouchDB", "MongoDB", "Couchbase")
RELATIONAL: Final = ("Microsoft SQL Server", "MySQL", "PostgreSQL")


def time(table: str, engine: str, n: int) -> float:
    """Return a printed time in ms."""
    return printed("crud", table, engine, str(n)).value


def called(table: str) -> str:
    """Return in words what a table is of."""
    return " ".join(TIMED[table])


def places() -> Iterator[tuple[str, int, str]]:
    """Yield each table and number of records, and the two in words."""
    for table, n in product(TIMED, SIZES):
        yield table, n, f"{called(table)}, {n:,}"


def couchbase_postgresql() -> dict[str, Value]:
    """Return in how many places PostgreSQL's time is similar to Couchbase's, and where it is longest beside it."""
    ratios = [(time(table, "PostgreSQL", n) / time(table, "Couchbase", n), place) for table, n, place in places()]
    near = sum(1 / SIMILAR <= ratio <= SIMILAR for ratio, _ in ratios)
    most, where = max(ratios)
    return {"factor": SIMILAR, "near": near, "places": len(ratios), "most": most, "where": where}


def better_than_relational() -> dict[str, Value]:
    """Return where MongoDB is slower than the quickest relational store."""
    lost = []
    for table, n, place in places():
        quickest, rival = min((time(table, engine, n), engine) for engine in RELATIONAL)
        if (ratio := time(table, "MongoDB", n) / quickest) > 1:
            lost.append(f"{place} ({rival}, {ratio:.2f})")
    return {"lost": len(lost), "places": len(TIMED) * len(SIZES), "which": "; ".join(lost)}


def overall() -> dict[str, Value]:
    """Return where a document store is no quicker than a relational one, pair by pair."""
    pairs = list(product(places(), DOCUMENT, RELATIONAL))
    lost = [
        f"{document} behind {relational}, {place}"
        for (table, n, place), document, relational in pairs
        if time(table, document, n) >= time(table, relational, n)
    ]
    selects = [pair for pair in lost if "select" in pair]
    return {"pairs": len(pairs), "lost": len(lost), "selects": len(selects), "which": "; ".join(selects)}


def steps() -> dict[str, Value]:
    """Return how far times grow from one number of records to ten times as many."""
    grown = [
        (time(table, engine, more) / time(table, engine, fewer), f"{engine}, {called(table)}")
        for table, engine, (fewer, more) in product(TIMED, DOCUMENT + RELATIONAL, pairwise(SIZES))
    ]
    outside = sum(not 5 <= ratio <= 20 for ratio, _ in grown)
    (least, lowest_of), (most, highest_of) = min(grown), max(grown)
    extremes: dict[str, Value] = {"least": least, "lowest_of": lowest_of, "most": most, "highest_of": highest_of}
    return {"steps": len(grown), "outside": outside, **extremes}
