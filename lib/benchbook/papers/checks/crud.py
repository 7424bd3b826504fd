"""Checks on the CRUD paper's own numbers, and the numbers of its findings.

Its Tables II to VIII have a time for each operation, topology, database and number of records:
`get_time` returns one.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise, product
from operator import add, attrgetter, truediv
from statistics import geometric_mean

import numpy as np

from benchbook.analysis.published import PublishedNumber
from benchbook.papers.crud import TIME_TABLES
from benchbook.papers.printed_checks import (
    SIMILAR,
    FindingNumbers,
    PrintedCheck,
    Values,
    check_likeness,
    check_number,
    check_order,
    get_number,
    get_values,
)

TIMES = {" ".join(place): table for table, place in TIME_TABLES.items()}
"""The tables of times by operation and topology: ``insert single`` is Table II."""

SELECT = "select single"
WRITES = tuple(operation for operation in TIMES if operation != SELECT)
SIZES = (1000, 10_000, 100_000)

SQL_SERVER = "Microsoft SQL Server"
DOCUMENT = ("CouchDB", "MongoDB", "Couchbase")
RELATIONAL = (SQL_SERVER, "MySQL", "PostgreSQL")
DATABASES = DOCUMENT + RELATIONAL
RIVALS = {
    "of all six": DATABASES,
    "of the document stores": DOCUMENT,
    "of the relational ones": RELATIONAL,
    "against the relational ones": RELATIONAL,
    "against Couchbase": ("Couchbase",),
}
"""The databases that a sentence compares with."""

number = partial(get_number, "crud")


def get_time(operation: str, database: str, n: int) -> PublishedNumber:
    """Return a printed time in ms; `operation`, such as ``insert single``, is a key of `TIMES`."""
    return number(TIMES[operation], database, n)


def get_times(operation: str, database: str) -> Values:
    """Return a database's times at the three sizes."""
    return get_values(get_time(operation, database, n) for n in SIZES)


def sort_times(
    operation: str, databases: Iterable[str], n: int, *, but: str = ""
) -> list[PublishedNumber]:
    """Return the times of several databases but one, the quickest first."""
    times = [get_time(operation, database, n) for database in databases if database != but]
    return sorted(times, key=attrgetter("value"))


def list_checks() -> Iterator[PrintedCheck]:
    """Yield the checks: the sentences of Sections V and VI, then the virtual machines."""
    yield from _check_inserts()
    yield from _check_updates()
    yield from _check_deletes()
    yield from _check_documents_first("select single", sizes=(100_000,))
    yield from _check_conclusions()
    yield check_number(
        number("Section IV", "virtual machines", "each database"),
        add,
        number("Section IV", "virtual machines", "single"),
        number("Section IV", "virtual machines", "replicated"),
        says="virtual machines of each database: single and replicated",
    )
    yield check_number(
        number("Section IV", "virtual machines", "all"),
        lambda each: 3 * each,
        number("Section IV", "virtual machines", "each database"),
        says="virtual machines of the three document stores",
    )


def _check_inserts() -> Iterator[PrintedCheck]:
    """Check what Section V says of inserts."""
    yield from _check_documents_first("insert single")
    yield from _check_rank("CouchDB", "quickest", "of all six", "insert single")
    yield from _check_close("Couchbase", "PostgreSQL", "insert single")
    for n in SIZES:
        yield check_number(
            number("Section V", "insert, Microsoft SQL Server against MongoDB", "factor"),
            truediv,
            get_time("insert single", SQL_SERVER, n),
            get_time("insert single", "MongoDB", n),
            says=f"SQL Server over MongoDB, insert single, {n:,}",
        )

    yield from _check_rank("CouchDB", "quickest", "of all six", "insert replicated")
    mongodb = get_time("insert replicated", "MongoDB", 100_000)
    postgresql = get_time("insert replicated", "PostgreSQL", 100_000)
    says = "PostgreSQL quicker than MongoDB, insert replicated, 100,000"
    yield check_order("Section V", postgresql, mongodb, says=says)
    says = "MongoDB only slightly worse than PostgreSQL, insert replicated, 100,000"
    yield check_likeness("Section V", mongodb, postgresql, says=says)
    yield from _check_close("Couchbase", "PostgreSQL", "insert replicated")


def _check_updates() -> Iterator[PrintedCheck]:
    """Check what Section V says of updates."""
    for n in SIZES:
        update = get_time("update single", SQL_SERVER, n)
        insert = get_time("insert single", SQL_SERVER, n)
        says = f"SQL Server's update quicker than its insert, single, {n:,}"
        yield check_order("Section V", update, insert, says=says)
    yield from _check_close(SQL_SERVER, "MongoDB", "update single")
    yield from _check_rank("PostgreSQL", "slowest", "of all six", "update single")
    yield from _check_close("MySQL", "Couchbase", "update single")
    yield from _check_documents_first("update replicated")


def _check_deletes() -> Iterator[PrintedCheck]:
    """Check what Section V says of deletes."""
    yield from _check_rank(SQL_SERVER, "quickest", "of the relational ones", "delete single")
    yield from _check_rank(SQL_SERVER, "slowest", "of the relational ones", "delete replicated")
    deletes = ("delete single", "delete replicated")
    yield from _check_rank("CouchDB", "quickest", "of the document stores", *deletes)
    yield from _check_rank("MongoDB", "quickest", "against Couchbase", *deletes)


def _check_conclusions() -> Iterator[PrintedCheck]:
    """Check what Section VI concludes."""
    where = "Section VI"
    updates = ("update single", "update replicated")
    yield from _check_rank("MongoDB", "quickest", "of all six", SELECT, where=where)
    yield from _check_rank("CouchDB", "quickest", "of the document stores", *updates, where=where)
    among = "against the relational ones"
    yield from _check_rank("MongoDB", "quickest", among, *WRITES, where=where)

    # Section V says the same of inserts, which are checked there.
    rest = [operation for operation in TIMES if not operation.startswith("insert")]
    yield from _check_close("Couchbase", "PostgreSQL", *rest, where=where)


def _check_documents_first(operation: str, sizes: Sequence[int] = SIZES) -> Iterator[PrintedCheck]:
    """Check that the slowest document store is quicker than the quickest relational one."""
    for n in sizes:
        slow, quick = (
            sort_times(operation, DOCUMENT, n)[-1],
            sort_times(operation, RELATIONAL, n)[0],
        )
        says = (
            f"all document stores quicker than all relational ones, {operation}, {n:,} "
            f"({slow.row}, {quick.row})"
        )
        yield check_order("Section V", slow, quick, says=says)


def _check_rank(
    database: str, rank: str, among: str, *operations: str, where: str = "Section V"
) -> Iterator[PrintedCheck]:
    """Check that a database is the quickest or slowest of its rivals, a key of `RIVALS`."""
    for operation, n in product(operations, SIZES):
        own = get_time(operation, database, n)
        rivals = sort_times(operation, RIVALS[among], n, but=database)
        rival = rivals[0] if rank == "quickest" else rivals[-1]
        less, more = (own, rival) if rank == "quickest" else (rival, own)
        says = f"{database} {rank} {among}, {operation}, {n:,} ({rival.row} next)"
        yield check_order(where, less, more, says=says)


def _check_close(
    first: str, second: str, *operations: str, where: str = "Section V"
) -> Iterator[PrintedCheck]:
    """Check that two databases' times are about the same."""
    for operation, n in product(operations, SIZES):
        times = get_time(operation, first, n), get_time(operation, second, n)
        yield check_likeness(where, *times, says=f"{first} close to {second}, {operation}, {n:,}")


def compute_findings() -> FindingNumbers:
    """Return the numbers of each finding in ``data/findings/crud.yaml``."""
    return (
        _compute_couchdb()
        | _compute_mongodb()
        | _compute_couchbase()
        | _compute_sqlserver()
        | _compute_closeness()
        | _compute_families()
        | _compute_design()
    )


def _compute_couchdb() -> FindingNumbers:
    """Return CouchDB's rates if its times are milliseconds, and its ranks if they are seconds."""
    inserts = get_times("insert single", "CouchDB")
    call_us = inserts[0]  # ms for 1,000 calls, so microseconds for one
    clock = number("Section IV", "clock", "virtual machine").value
    document_kb = number("Section IV", "document", "size").value

    # As seconds its times are a thousand times longer.
    places = list(product(WRITES, SIZES))
    is_slowest, is_slowest_store = [], []
    for operation, n in places:
        time = 1000 * get_time(operation, "CouchDB", n).value
        is_slowest.append(time > sort_times(operation, DATABASES, n, but="CouchDB")[-1].value)
        is_slowest_store.append(time > sort_times(operation, DOCUMENT, n, but="CouchDB")[-1].value)
    return {
        "crud.couchdb-seconds": {
            "call_us": call_us,
            "cycles": call_us * clock * 1000,
            "clock": clock,
            "rates": np.multiply(SIZES, document_kb) / inserts,  # KB/ms are MB/s
            "calls_a_second": 1000 / call_us,
        },
        "crud.couchdb-turned-round": {
            "slowest": sum(is_slowest),
            "slowest_store": sum(is_slowest_store),
            "places": len(places),
        },
        "crud.couchdb-update": {
            "update": get_times("update single", "CouchDB"),
            "select": get_times(SELECT, "CouchDB"),
        },
    }


def _compute_mongodb() -> FindingNumbers:
    """Return MongoDB's rate of selects, and where it is slower than others."""
    couchdb, mongodb, couchbase = (get_times(SELECT, name)[-1] for name in DOCUMENT)
    document_kb = number("Section IV", "document", "size").value
    kilobytes = SIZES[-1] * document_kb  # KB/ms are MB/s
    deletes = {name: get_times("delete replicated", name)[-1] for name in ("MongoDB", "Couchbase")}
    lost = []
    for operation, n in product(TIMES, SIZES):
        rival = sort_times(operation, RELATIONAL, n)[0]
        ratio = get_time(operation, "MongoDB", n).value / rival.value
        if ratio > 1:
            lost.append(f"{operation}, {n:,} ({rival.row}, {ratio:.2f})")
    return {
        "crud.mongodb-select": {
            "mongodb": mongodb,
            "document_kb": document_kb,
            "mongodb_rate": kilobytes / mongodb / 1000,
            "couchdb_rate": kilobytes / couchdb,
            "couchbase_rate": kilobytes / couchbase,
        },
        "crud.no-unit": {"quicker": get_times("insert single", "MongoDB")[-1] / mongodb},
        "crud.second-place": {
            **deletes,
            "longer_percent": 100 * (deletes["MongoDB"] / deletes["Couchbase"] - 1),
        },
        "crud.better-than-relational": {
            "slower": len(lost),
            "places": len(TIMES) * len(SIZES),
            "lost": "; ".join(lost),
        },
    }


def _compute_couchbase() -> FindingNumbers:
    """Return Couchbase's equal times of both topologies, and its ratios to PostgreSQL."""
    single = {n: get_time("insert single", "Couchbase", n) for n in SIZES}
    replicated = {n: get_time("insert replicated", "Couchbase", n) for n in SIZES}
    equal = [n for n in SIZES if single[n].printed == replicated[n].printed]

    ratios = []
    for operation, n in product(TIMES, SIZES):
        postgresql = get_time(operation, "PostgreSQL", n).value
        ratio = postgresql / get_time(operation, "Couchbase", n).value
        ratios.append((ratio, f"{operation}, {n:,}"))
    most, place = max(ratios)
    inserts = get_times("insert replicated", "PostgreSQL")
    return {
        "crud.couchbase-inserts": {
            "batches": _get_batches(),
            "sizes": equal,
            "times": ", ".join(single[n].printed for n in equal),
            "longer_percent": 100 * (replicated[1000].value / single[1000].value - 1),
        },
        "crud.couchbase-postgresql": {
            "factor": SIMILAR,
            "near": sum(1 / SIMILAR <= ratio <= SIMILAR for ratio, _ in ratios),
            "places": len(ratios),
            "most": most,
            "place": place,
            "inserts": inserts / get_times("insert replicated", "Couchbase"),
        },
    }


def _compute_sqlserver() -> FindingNumbers:
    """Return SQL Server's times of both topologies, their whole seconds, and its deletes."""
    # Replicated times over single ones.
    growth = {}
    for operation in ("insert", "update", "delete"):
        single = get_times(f"{operation} single", SQL_SERVER)
        growth[operation] = get_times(f"{operation} replicated", SQL_SERVER) / single

    # Times that are whole seconds.
    replicated = np.array([get_times(f"{name} replicated", SQL_SERVER) for name in growth])
    others = [name for name in DATABASES if name != SQL_SERVER]
    rivals = np.array([get_times(*place) for place in product(WRITES, others)])

    sql_server, mysql, postgresql = (get_times("delete single", name)[0] for name in RELATIONAL)
    return {
        "crud.sqlserver-topologies": growth,
        "crud.sqlserver-seconds": {
            "whole": np.count_nonzero(replicated % 1000 == 0),
            "times": replicated.size,
            "others_whole": np.count_nonzero(rivals % 1000 == 0),
            "others_times": rivals.size,
            "half_second_percent": 100 * 500 / replicated.min(),
            "batches": _get_batches(),
        },
        "crud.sqlserver-delete": {
            "sql_server": sql_server,
            "mysql": mysql,
            "postgresql": postgresql,
            "slower": sql_server / postgresql,
        },
    }


def _compute_closeness() -> FindingNumbers:
    """Return the ratios of databases that the paper calls close, or the slowest."""
    sql_server, mysql, postgresql = (get_times("update single", name) for name in RELATIONAL)
    mysql_ratios = mysql / get_times("update single", "Couchbase")
    mongodb = get_times("insert replicated", "MongoDB")
    mongodb_ratios = mongodb / get_times("insert replicated", "PostgreSQL")
    return {
        "crud.postgresql-update": {
            "postgresql": postgresql[0],
            "mysql": mysql[0],
            "growth": postgresql[1] / postgresql[0],
        },
        "crud.close-updates": {"ratios": sql_server / get_times("update single", "MongoDB")},
        "crud.mysql-couchbase": {"more_percent": 100 * (mysql_ratios - 1)},
        "crud.slightly-worse": {
            "ratios": mongodb_ratios,
            "slower_percent": 100 * (mongodb_ratios[-1] - 1),
        },
    }


def _compute_families() -> FindingNumbers:
    """Return how document stores compare with relational ones, pair by pair and in the mean."""
    pairs = list(product(TIMES, SIZES, DOCUMENT, RELATIONAL))
    slower, selects = 0, []
    for operation, n, store, table in pairs:
        if get_time(operation, store, n).value >= get_time(operation, table, n).value:
            slower += 1
            if operation == SELECT:
                selects.append(f"{store} behind {table}, {operation}, {n:,}")

    # At 100,000 records, without CouchDB, whose unit is in doubt.
    ratios = {}
    for operation in TIMES:
        relational = geometric_mean(get_times(operation, name)[-1] for name in RELATIONAL)
        stores = geometric_mean(get_times(operation, name)[-1] for name in ("MongoDB", "Couchbase"))
        ratios[operation] = relational / stores
    return {
        "crud.overall": {
            "quicker": len(pairs) - slower,
            "pairs": len(pairs),
            "slower": slower,
            "slower_selects": len(selects),
            "selects": "; ".join(selects),
            "tables": len(TIMES),
        },
        "crud.constraints": {
            "select": ratios[SELECT],
            "writes": [ratios[operation] for operation in WRITES],
        },
    }


def _compute_design() -> FindingNumbers:
    """Return the numbers of machines and batches, and how times grow with the records."""
    machines = number("Section IV", "virtual machines", "all")
    each = number("Section IV", "virtual machines", "each database")
    steps = []
    for operation, database in product(TIMES, DATABASES):
        for fewer, more in pairwise(get_times(operation, database)):
            steps.append((more / fewer, f"{database}, {operation}"))
    least, least_place = min(steps)
    most, most_place = max(steps)
    return {
        "crud.another-papers-columns": {
            "machines": machines,
            "each": each,
            "databases": machines.value / each.value,
            "for_six": len(DATABASES) * each.value,
        },
        "crud.no-variance": {
            "batches": _get_batches(),
            "means": len(TIMES) * len(DATABASES) * len(SIZES),
        },
        "crud.steps": {
            "steps": len(steps),
            "outside": sum(not 5 <= ratio <= 20 for ratio, _ in steps),
            "least": least,
            "least_place": least_place,
            "most": most,
            "most_place": most_place,
        },
    }


def _get_batches() -> float:
    return number("Section IV", "batches", "each number of records").value
