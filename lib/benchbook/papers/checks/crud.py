"""Checks of the CRUD paper's own numbers: the sentences of Sections V and VI.

Its findings are in `benchbook.papers.checks.crud_findings`.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from operator import add, truediv

from benchbook.papers.checks.crud_findings import list_findings
from benchbook.papers.crud import (
    DATABASES,
    DOCUMENT,
    RELATIONAL,
    SIZES,
    SQL_SERVER,
    TIMES,
    WRITES,
    find_quickest,
    find_slowest,
    get_time,
    list_others,
)
from benchbook.papers.recomputed import (
    PrintedCheck,
    check_likeness,
    check_number,
    check_order,
    get_number,
)

__all__ = ["list_checks", "list_findings"]

number = partial(get_number, "crud")


def list_checks() -> Iterator[PrintedCheck]:
    """Yield the checks: the sentences of Sections V and VI, then the virtual machines."""
    yield from _check_inserts()
    yield from _check_updates()
    yield from _check_deletes()
    yield _check_documents_first("select single", 100_000)
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
    for n in SIZES:
        yield _check_documents_first("insert single", n)
    for n in SIZES:
        yield _check_quickest("insert single", "CouchDB", n)
    for n in SIZES:
        yield _check_close("insert single", "Couchbase", "PostgreSQL", n)
    for n in SIZES:
        yield check_number(
            number("Section V", "insert, Microsoft SQL Server against MongoDB", "factor"),
            truediv,
            get_time("insert single", SQL_SERVER, n),
            get_time("insert single", "MongoDB", n),
            says=f"SQL Server over MongoDB, insert single, {n:,}",
        )

    for n in SIZES:
        yield _check_quickest("insert replicated", "CouchDB", n)
    mongodb = get_time("insert replicated", "MongoDB", 100_000)
    postgresql = get_time("insert replicated", "PostgreSQL", 100_000)
    says = "PostgreSQL quicker than MongoDB, insert replicated, 100,000"
    yield check_order("Section V", truediv, postgresql, mongodb, says=says)
    says = "MongoDB only slightly worse than PostgreSQL, insert replicated, 100,000"
    yield check_likeness("Section V", truediv, mongodb, postgresql, says=says)
    for n in SIZES:
        yield _check_close("insert replicated", "Couchbase", "PostgreSQL", n)


def _check_updates() -> Iterator[PrintedCheck]:
    """Check what Section V says of updates."""
    for n in SIZES:
        update = get_time("update single", SQL_SERVER, n)
        insert = get_time("insert single", SQL_SERVER, n)
        says = f"SQL Server's update quicker than its insert, single, {n:,}"
        yield check_order("Section V", truediv, update, insert, says=says)
    for n in SIZES:
        yield _check_close("update single", SQL_SERVER, "MongoDB", n)
    for n in SIZES:
        yield _check_slowest("update single", "PostgreSQL", n)
    for n in SIZES:
        yield _check_close("update single", "MySQL", "Couchbase", n)
    for n in SIZES:
        yield _check_documents_first("update replicated", n)


def _check_deletes() -> Iterator[PrintedCheck]:
    """Check what Section V says of deletes."""
    among = "of the relational ones"
    for n in SIZES:
        yield _check_quickest("delete single", SQL_SERVER, n, RELATIONAL, among)
    for n in SIZES:
        yield _check_slowest("delete replicated", SQL_SERVER, n, RELATIONAL, among)

    deletes = ("delete single", "delete replicated")
    for operation, n in product(deletes, SIZES):
        yield _check_quickest(operation, "CouchDB", n, DOCUMENT, "of the document stores")
    for operation, n in product(deletes, SIZES):
        yield _check_quickest(operation, "MongoDB", n, ("Couchbase",), "against Couchbase")


def _check_conclusions() -> Iterator[PrintedCheck]:
    """Check what Section VI concludes."""
    for n in SIZES:
        yield _check_quickest("select single", "MongoDB", n, where="Section VI")
    for operation, n in product(("update single", "update replicated"), SIZES):
        among = "of the document stores"
        yield _check_quickest(operation, "CouchDB", n, DOCUMENT, among, where="Section VI")
    for operation, n in product(WRITES, SIZES):
        among = "against the relational ones"
        yield _check_quickest(operation, "MongoDB", n, RELATIONAL, among, where="Section VI")

    # Section V says the same of inserts, which are checked there.
    rest = [operation for operation in TIMES if not operation.startswith("insert")]
    for operation, n in product(rest, SIZES):
        yield _check_close(operation, "Couchbase", "PostgreSQL", n, where="Section VI")


def _check_documents_first(operation: str, n: int) -> PrintedCheck:
    """Check that the slowest document store is quicker than the quickest relational one."""
    slow, quick = find_slowest(operation, DOCUMENT, n), find_quickest(operation, RELATIONAL, n)
    says = (
        f"all document stores quicker than all relational ones, {operation}, {n:,} ({slow.row}, "
        f"{quick.row})"
    )
    return check_order("Section V", truediv, slow, quick, says=says)


def _check_quickest(
    operation: str,
    database: str,
    n: int,
    rivals: Sequence[str] = DATABASES,
    among: str = "of all six",
    where: str = "Section V",
) -> PrintedCheck:
    """Check that a database is quicker than each of its rivals."""
    rival = find_quickest(operation, list_others(database, rivals), n)
    says = f"{database} quickest {among}, {operation}, {n:,} ({rival.row} next)"
    return check_order(where, truediv, get_time(operation, database, n), rival, says=says)


def _check_slowest(
    operation: str,
    database: str,
    n: int,
    rivals: Sequence[str] = DATABASES,
    among: str = "of all six",
) -> PrintedCheck:
    """Check that a database is slower than each of its rivals."""
    rival = find_slowest(operation, list_others(database, rivals), n)
    says = f"{database} slowest {among}, {operation}, {n:,} ({rival.row} next)"
    return check_order("Section V", truediv, rival, get_time(operation, database, n), says=says)


def _check_close(
    operation: str, first: str, second: str, n: int, where: str = "Section V"
) -> PrintedCheck:
    """Check that two databases' times are about the same."""
    says = f"{first} close to {second}, {operation}, {n:,}"
    return check_likeness(
        where, truediv, get_time(operation, first, n), get_time(operation, second, n), says=says
    )
