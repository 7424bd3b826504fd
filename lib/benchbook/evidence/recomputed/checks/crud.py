"""`crud`: every sentence that orders or likens times of Tables II to VIII, held against those tables."""

from collections.abc import Iterator
from itertools import product
from typing import Final

from benchbook.evidence.ratios import CRUD_TABLES
from benchbook.evidence.recomputed.check import Check, alike, less, number
from benchbook.evidence.recomputed.printed import Printed, printed

SIZES: Final = ("1000", "10000", "100000")
DOCUMENT: Final = ("CouchDB", "MongoDB", "Couchbase")
RELATIONAL: Final = ("Microsoft SQL Server", "MySQL", "PostgreSQL")
TABLES: Final = CRUD_TABLES
WRITES: Final = [key for key in TABLES if key[0] != "select"]
_SQL, _COUCHBASE, _POSTGRESQL = "Microsoft SQL Server", "Couchbase", "PostgreSQL"
Place = tuple[str, str]


def time(place: Place, engine: str, n: str) -> Printed:
    """Return a printed time in ms, of an operation and topology."""
    return printed("crud", TABLES[place], engine, n)


def _lowest(
    where: str, engine: str, others: tuple[str, ...], place: Place, sizes: tuple[str, ...] = SIZES
) -> Iterator[Check]:
    """Yield whether an engine is the quickest, held against the quickest of the others."""
    for n in sizes:
        rival = min((time(place, other, n) for other in others if other != engine), key=lambda one: one.value)
        yield less(
            where,
            f"{engine} quickest {_among(engine, others)}, {' '.join(place)}, {int(n):,} ({rival.row} next)",
            time(place, engine, n),
            rival,
        )


def _slowest(where: str, engine: str, others: tuple[str, ...], place: Place) -> Iterator[Check]:
    """Yield whether an engine is the slowest, held against the slowest of the others."""
    for n in SIZES:
        rival = max((time(place, other, n) for other in others if other != engine), key=lambda one: one.value)
        yield less(
            where,
            f"{engine} slowest {_among(engine, others)}, {' '.join(place)}, {int(n):,} ({rival.row} next)",
            rival,
            time(place, engine, n),
        )


def _among(engine: str, others: tuple[str, ...]) -> str:
    """Return against whom, in words."""
    names = {
        DOCUMENT + RELATIONAL: "of all six",
        DOCUMENT: "of the document stores",
        RELATIONAL: "of the relational ones",
    }
    return names.get(others, f"against {others[-1]}") if engine in others else "against the relational ones"


def _families(where: str, place: Place, sizes: tuple[str, ...] = SIZES) -> Iterator[Check]:
    """Yield whether the slowest document store is quicker than the quickest relational one."""
    for n in sizes:
        slow = max((time(place, engine, n) for engine in DOCUMENT), key=lambda one: one.value)
        quick = min((time(place, engine, n) for engine in RELATIONAL), key=lambda one: one.value)
        says = (
            f"all document stores quicker than all relational ones, {' '.join(place)}, {int(n):,} ({slow.row}, "
            f"{quick.row})"
        )
        yield less(where, says, slow, quick)


def _close(where: str, engine: str, other: str, place: Place, sizes: tuple[str, ...] = SIZES) -> Iterator[Check]:
    """Yield whether two engines are alike."""
    for n in sizes:
        says = f"{engine} close to {other}, {' '.join(place)}, {int(n):,}"
        yield alike(where, says, time(place, engine, n), time(place, other, n))


def inserts() -> list[Check]:
    """Check what Section V says of inserts."""
    single, replicated = ("insert", "single"), ("insert", "replicated")
    factor = printed("crud", "Section V", "insert, Microsoft SQL Server against MongoDB", "factor")
    tenfold = [
        number(
            factor,
            lambda over, under: over / under,
            time(single, _SQL, n),
            time(single, "MongoDB", n),
            says=f"SQL Server over MongoDB, insert single, {int(n):,}",
        )
        for n in SIZES
    ]
    every = DOCUMENT + RELATIONAL
    return [
        *_families("Section V", single),
        *_lowest("Section V", "CouchDB", every, single),
        *_close("Section V", _COUCHBASE, _POSTGRESQL, single),
        *tenfold,
        *_lowest("Section V", "CouchDB", every, replicated),
        less(
            "Section V",
            "PostgreSQL quicker than MongoDB, insert replicated, 100,000",
            time(replicated, _POSTGRESQL, "100000"),
            time(replicated, "MongoDB", "100000"),
        ),
        alike(
            "Section V",
            "MongoDB only slightly worse than PostgreSQL, insert replicated, 100,000",
            time(replicated, "MongoDB", "100000"),
            time(replicated, _POSTGRESQL, "100000"),
        ),
        *_close("Section V", _COUCHBASE, _POSTGRESQL, replicated),
    ]


def updates() -> list[Check]:
    """Check what Section V says of updates."""
    single, replicated = ("update", "single"), ("update", "replicated")
    own = [
        less(
            "Section V",
            f"SQL Server's update quicker than its insert, single, {int(n):,}",
            time(single, _SQL, n),
            time(("insert", "single"), _SQL, n),
        )
        for n in SIZES
    ]
    return [
        *own,
        *_close("Section V", _SQL, "MongoDB", single),
        *_slowest("Section V", _POSTGRESQL, DOCUMENT + RELATIONAL, single),
        *_close("Section V", "MySQL", _COUCHBASE, single),
        *_families("Section V", replicated),
    ]


def deletes() -> list[Check]:
    """Check what Section V says of deletes."""
    single, replicated = ("delete", "single"), ("delete", "replicated")
    return [
        *_lowest("Section V", _SQL, RELATIONAL, single),
        *_slowest("Section V", _SQL, RELATIONAL, replicated),
        *(check for place in (single, replicated) for check in _lowest("Section V", "CouchDB", DOCUMENT, place)),
        *(
            check
            for place in (single, replicated)
            for check in _lowest("Section V", "MongoDB", ("MongoDB", _COUCHBASE), place)
        ),
    ]


def selects() -> list[Check]:
    """Check what Section V says of selects with many operations, and the conclusion of MongoDB's."""
    place = ("select", "single")
    return [*_families("Section V", place, SIZES[-1:]), *_lowest("Section VI", "MongoDB", DOCUMENT + RELATIONAL, place)]


def conclusions() -> list[Check]:
    """Check the conclusion: CouchDB's updates, MongoDB against relational stores, Couchbase like PostgreSQL."""
    couch = [
        check
        for place in (("update", "single"), ("update", "replicated"))
        for check in _lowest("Section VI", "CouchDB", DOCUMENT, place)
    ]
    mongo = [check for place in WRITES for check in _lowest("Section VI", "MongoDB", RELATIONAL, place)]
    rest = [place for place in TABLES if place[0] != "insert"]
    return [
        *couch,
        *mongo,
        *(check for place in rest for check in _close("Section VI", _COUCHBASE, _POSTGRESQL, place)),
    ]


def machines() -> list[Check]:
    """Check the number of virtual machines: one and two for each database, three databases."""
    each, every = (printed("crud", "Section IV", "virtual machines", column) for column in ("each database", "all"))
    parts = [printed("crud", "Section IV", "virtual machines", column) for column in ("single", "replicated")]
    return [
        number(
            each,
            lambda single, pair: single + pair,
            *parts,
            says="virtual machines of each database: single and replicated",
        ),
        number(every, lambda one: one * len(DOCUMENT), each, says="virtual machines of the three document stores"),
    ]


def pairs() -> Iterator[tuple[Place, str, Printed, Printed]]:
    """Yield every document store beside every relational one, in every table and at every size."""
    for place, n, left, right in product(TABLES, SIZES, DOCUMENT, RELATIONAL):
        yield place, n, time(place, left, n), time(place, right, n)


CHECKS: Final = (inserts, updates, deletes, selects, conclusions, machines)
