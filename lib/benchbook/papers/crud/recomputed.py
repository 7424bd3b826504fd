"""`crud` recomputed: sentences that order or liken times against Tables II to VIII, and times that cannot be."""

from collections.abc import Iterable
from itertools import pairwise, product
from statistics import geometric_mean
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchbook.evidence.published import Number
from benchbook.papers.recomputed import SIMILAR, Checks, Paper, Texts, alike, follows, less, listed

Table: TypeAlias = tuple[str, str]
"""An operation and a topology, of which the paper prints one table of times."""

paper: Final = Paper("crud")
TABLES: Final[dict[Table, str]] = {
    ("insert", "single"): "Table II",
    ("insert", "replicated"): "Table III",
    ("update", "single"): "Table IV",
    ("update", "replicated"): "Table V",
    ("delete", "single"): "Table VI",
    ("delete", "replicated"): "Table VII",
    ("select", "single"): "Table VIII",
}
WRITES: Final = tuple(table for table in TABLES if table[0] != "select")
INSERT, INSERT_REPLICATED, UPDATE, UPDATE_REPLICATED, DELETE, DELETE_REPLICATED, SELECT = TABLES
SIZES: Final = ("1000", "10000", "100000")
DOCUMENT: Final = ("CouchDB", "MongoDB", "Couchbase")
RELATIONAL: Final = ("Microsoft SQL Server", "MySQL", "PostgreSQL")
ALL_SIX: Final = DOCUMENT + RELATIONAL
SQL_SERVER: Final = RELATIONAL[0]


def time(table: Table, engine: str, n: str) -> Number:
    """Return a printed time in ms."""
    return paper(TABLES[table], engine, n)


def times(table: Table, engine: str) -> NDArray[np.float64]:
    """Return an engine's times in ms at the three sizes."""
    return np.array([time(table, engine, n).value for n in SIZES])


def quickest(table: Table, engines: Iterable[str], n: str) -> Number:
    """Return the shortest of the engines' times."""
    return min((time(table, engine, n) for engine in engines), key=lambda one: one.value)


def slowest(table: Table, engines: Iterable[str], n: str) -> Number:
    """Return the longest of the engines' times."""
    return max((time(table, engine, n) for engine in engines), key=lambda one: one.value)


def place(table: Table, n: str) -> str:
    """Return a table and a number of records in words."""
    return f"{' '.join(table)}, {int(n):,}"


def first(where: str, engine: str, others: tuple[str, ...], table: Table) -> Checks:
    """Check that an engine is the quickest, held against the quickest of the others."""
    for n in SIZES:
        own, rival = time(table, engine, n), quickest(table, (other for other in others if other != engine), n)
        says = f"{engine} quickest {among(engine, others)}, {place(table, n)} ({rival.row} next)"
        yield less(where, says, own, rival)


def last(where: str, engine: str, others: tuple[str, ...], table: Table) -> Checks:
    """Check that an engine is the slowest, held against the slowest of the others."""
    for n in SIZES:
        own, rival = time(table, engine, n), slowest(table, (other for other in others if other != engine), n)
        says = f"{engine} slowest {among(engine, others)}, {place(table, n)} ({rival.row} next)"
        yield less(where, says, rival, own)


def among(engine: str, others: tuple[str, ...]) -> str:
    """Return against whom, in words."""
    names = {ALL_SIX: "of all six", DOCUMENT: "of the document stores", RELATIONAL: "of the relational ones"}
    return names.get(others, f"against {others[-1]}") if engine in others else "against the relational ones"


def families(where: str, table: Table, sizes: tuple[str, ...] = SIZES) -> Checks:
    """Check that the slowest document store is quicker than the quickest relational one."""
    for n in sizes:
        slow, quick = slowest(table, DOCUMENT, n), quickest(table, RELATIONAL, n)
        says = f"all document stores quicker than all relational ones, {place(table, n)} ({slow.row}, {quick.row})"
        yield less(where, says, slow, quick)


def close(where: str, engine: str, other: str, table: Table) -> Checks:
    """Check that two engines are alike."""
    for n in SIZES:
        says = f"{engine} close to {other}, {place(table, n)}"
        yield alike(where, says, time(table, engine, n), time(table, other, n))


@paper.check
def inserts() -> Checks:
    """Check what Section V says of inserts."""
    yield from families("Section V", INSERT)
    yield from first("Section V", "CouchDB", ALL_SIX, INSERT)
    yield from close("Section V", "Couchbase", "PostgreSQL", INSERT)
    factor = paper("Section V", "insert, Microsoft SQL Server against MongoDB", "factor")
    for n in SIZES:
        over, under = (time(INSERT, engine, n) for engine in (SQL_SERVER, "MongoDB"))
        says = f"SQL Server over MongoDB, {place(INSERT, n)}"
        yield follows(factor, lambda over, under: over / under, over, under, says=says)
    yield from first("Section V", "CouchDB", ALL_SIX, INSERT_REPLICATED)
    at = place(INSERT_REPLICATED, SIZES[-1])
    mongodb, postgresql = (time(INSERT_REPLICATED, engine, SIZES[-1]) for engine in ("MongoDB", "PostgreSQL"))
    yield less("Section V", f"PostgreSQL quicker than MongoDB, {at}", postgresql, mongodb)
    yield alike("Section V", f"MongoDB only slightly worse than PostgreSQL, {at}", mongodb, postgresql)
    yield from close("Section V", "Couchbase", "PostgreSQL", INSERT_REPLICATED)


@paper.check
def updates() -> Checks:
    """Check what Section V says of updates."""
    for n in SIZES:
        says = f"SQL Server's update quicker than its insert, single, {int(n):,}"
        yield less("Section V", says, time(UPDATE, SQL_SERVER, n), time(INSERT, SQL_SERVER, n))
    yield from close("Section V", SQL_SERVER, "MongoDB", UPDATE)
    yield from last("Section V", "PostgreSQL", ALL_SIX, UPDATE)
    yield from close("Section V", "MySQL", "Couchbase", UPDATE)
    yield from families("Section V", UPDATE_REPLICATED)


@paper.check
def deletes_and_selects() -> Checks:
    """Check what Section V says of deletes, and of selects with many operations."""
    yield from first("Section V", SQL_SERVER, RELATIONAL, DELETE)
    yield from last("Section V", SQL_SERVER, RELATIONAL, DELETE_REPLICATED)
    for engine, others in (("CouchDB", DOCUMENT), ("MongoDB", ("MongoDB", "Couchbase"))):
        for table in (DELETE, DELETE_REPLICATED):
            yield from first("Section V", engine, others, table)
    yield from families("Section V", SELECT, SIZES[-1:])


@paper.check
def conclusions() -> Checks:
    """Check the conclusion: MongoDB's selects, CouchDB's updates, MongoDB and relational stores, Couchbase."""
    yield from first("Section VI", "MongoDB", ALL_SIX, SELECT)
    for table in (UPDATE, UPDATE_REPLICATED):
        yield from first("Section VI", "CouchDB", DOCUMENT, table)
    for table in WRITES:
        yield from first("Section VI", "MongoDB", RELATIONAL, table)
    for table in TABLES:
        if table not in (INSERT, INSERT_REPLICATED):
            yield from close("Section VI", "Couchbase", "PostgreSQL", table)


@paper.check
def machines() -> Checks:
    """Check the number of virtual machines: one and two for each database, three databases."""
    single, pair, each, every = (
        paper("Section IV", "virtual machines", column) for column in ("single", "replicated", "each database", "all")
    )
    says = "virtual machines of each database: single and replicated"
    yield follows(each, lambda single, pair: single + pair, single, pair, says=says)
    says = "virtual machines of the three document stores"
    yield follows(every, lambda one: one * len(DOCUMENT), each, says=says)


def rates(table: Table, engine: str) -> NDArray[np.float64]:
    """Return MB of documents a second at the three sizes."""
    return np.array(SIZES, float) * paper("Section IV", "document", "size").value / times(table, engine)


@paper.finding("implausible", "Tables II to VII; Section IV")
def couchdb_seconds() -> Texts:
    """CouchDB at the speed of memory."""
    call = times(INSERT, "CouchDB")[0]
    clock = paper("Section IV", "clock", "virtual machine").value
    return (
        f"{int(SIZES[0]):,} inserts, one HTTP call each, take {call} ms; the headline is that CouchDB writes fastest.",
        f"That is {call:.2f} us a call, {call * clock * 1e3:,.0f} cycles of the {clock} GHz clock for a request, a "
        f"document written and an answer, and {listed(rates(INSERT, 'CouchDB'), '.0f')} MB/s of documents at the three "
        "sizes.",
        f"Read as seconds it is {int(SIZES[0]) / call:.0f} calls a second, which such a server can do. Seconds "
        "printed as milliseconds are likely; the printed values cannot be what the title says.",
    )


@paper.finding("implausible", "Tables II to VII; Section VI")
def couchdb_turned_round() -> Texts:
    """The headline, in seconds."""
    others = (*RELATIONAL, *DOCUMENT[1:])
    behind = [
        1e3 * time(table, "CouchDB", n).value > slowest(table, others, n).value for table, n in product(WRITES, SIZES)
    ]
    return (
        "CouchDB is the choice for applications that write much.",
        f"With its times a thousand times longer CouchDB is the slowest of all six in {sum(behind)} of {len(behind)} "
        "places, and the slowest document store in all of them.",
        "The recommendation hangs on a unit.",
    )


@paper.finding("implausible", "Section IV; Tables IV and VIII")
def couchdb_update() -> Texts:
    """An update quicker than the read it begins with."""
    update, select = (listed(times(table, "CouchDB"), ".4g") for table in (UPDATE, SELECT))
    return (
        "In CouchDB an update first selects the document, then writes it back.",
        f"Its updates take {update} ms, its selects alone {select} ms.",
        "Reads and writes of CouchDB are not on one scale, as if the writes alone were printed in seconds.",
    )


@paper.finding("implausible", "Table VIII; Section IV")
def mongodb_select() -> Texts:
    """Selects that cannot return what they select."""
    couchdb, mongodb, couchbase = (rates(SELECT, engine)[-1] for engine in DOCUMENT)
    return (
        f"All comments of an article are returned; MongoDB needs {times(SELECT, 'MongoDB')[-1]} ms at "
        f"{int(SIZES[-1]):,} records of 1 KB.",
        f"That is {mongodb / 1e3:.1f} GB/s from one process to another on a machine of two cores; CouchDB and "
        f"Couchbase come to {couchdb:.0f} and {couchbase:.0f} MB/s over HTTP.",
        "Either an article has a part of the comments, which is not said, or the cursor was opened and not drained. "
        "How many comments are returned is a factor here (`comments_per_article`).",
    )


@paper.finding("implausible", "Tables II and III")
def couchbase_inserts() -> Texts:
    """Replicated times copied from the single ones."""
    pairs = [[time(table, "Couchbase", n) for table in (INSERT, INSERT_REPLICATED)] for n in SIZES]
    equal = [f"{int(two.column):,}" for one, two in pairs if one.printed == two.printed]
    longer = 100 * (pairs[0][1].value / pairs[0][0].value - 1)
    return (
        "Inserts end when the replica holds them; each mean is of 50 batches.",
        f"Couchbase's replicated means equal its single ones to the last digit at {' and '.join(equal)} records "
        f"({', '.join(two.printed for _, two in pairs[1:])} ms); at 1,000 they are {longer:.1f} % longer.",
        "Two means of 50 do not agree in six digits by chance. One column was copied, or the replica was not waited "
        "for.",
    )


@paper.finding("implausible", "Tables II to VII")
def sqlserver_topologies() -> Texts:
    """Twice as fast with a replica, and twenty times slower."""
    inserts, updates, deletes = (
        times((operation, "replicated"), SQL_SERVER) / times((operation, "single"), SQL_SERVER)
        for operation in ("insert", "update", "delete")
    )
    return (
        "Replicated operations wait for the second node.",
        f"SQL Server's replicated times over its single ones: inserts {listed(inserts, '.2f')}, updates "
        f"{listed(updates, '.1f')}, deletes {listed(deletes, '.1f')}.",
        "Waiting for a second node cannot halve a time. The two topologies were not measured in the same way.",
    )


@paper.finding("not shown", "Tables III, V and VII")
def sqlserver_seconds() -> Texts:
    """A clock of one second."""
    replicated = (INSERT_REPLICATED, UPDATE_REPLICATED, DELETE_REPLICATED)
    values = np.array([times(table, SQL_SERVER) for table in replicated])
    others = np.array([times(table, engine) for table in WRITES for engine in ALL_SIX if engine != SQL_SERVER])
    whole, of_others = (np.sum(some % 1000 == 0) for some in (values, others))
    return (
        "All times are means in milliseconds.",
        f"{whole} of SQL Server's {values.size} replicated times are whole seconds, and {of_others} of the "
        f"{others.size} times of the others. At 1,000 records half a second either way is "
        f"{100 * 500 / values.min():.0f} % of the smallest.",
        "They were read off a coarser clock, or by hand. A mean of 50 batches would not end in three zeros nine times.",
    )


@paper.finding("contradiction", "Section V against Table VI")
def sqlserver_delete() -> Texts:
    """The best relational delete."""
    sql_server, mysql, postgresql = (times(DELETE, engine)[0] for engine in RELATIONAL)
    return (
        "On one node SQL Server deletes fastest among the relational systems.",
        f"At 1,000 records it takes {sql_server:g} ms, MySQL {mysql:g} and PostgreSQL {postgresql:g}: it is the "
        f"slowest, by {sql_server / postgresql:.1f} times. At 10,000 and 100,000 the sentence holds.",
        "The ranking turns with the number of records; the text gives one for all.",
    )


@paper.finding("contradiction", "Section V against Table IV")
def postgresql_update() -> Texts:
    """The worst update."""
    thousand, ten_thousand, _ = times(UPDATE, "PostgreSQL")
    return (
        "On one node PostgreSQL updates slowest.",
        f"At 1,000 records it takes {thousand} ms and MySQL {times(UPDATE, 'MySQL')[0]}; from there to 10,000 "
        f"PostgreSQL's time grows {ten_thousand / thousand:.0f} times.",
        "Ten times the records and thirty times the time: something other than updates set in, perhaps a checkpoint "
        "or vacuum.",
    )


@paper.finding("contradiction", "Section V against Table IV")
def close_updates() -> Texts:
    """SQL Server's updates, very close to MongoDB's."""
    ratios = times(UPDATE, SQL_SERVER) / times(UPDATE, "MongoDB")
    return (
        "SQL Server's updates on one node take nearly the same time as MongoDB's.",
        f"SQL Server over MongoDB is {listed(ratios, '.2f')} at the three sizes.",
        "True of the two larger sizes. At 1,000 records the relational system takes twice as long.",
    )


@paper.finding("contradiction", "Section V against Table IV")
def mysql_couchbase() -> Texts:
    """MySQL's updates, very close to Couchbase's."""
    more = 100 * (times(UPDATE, "MySQL") / times(UPDATE, "Couchbase") - 1)
    return (
        "MySQL and Couchbase update in nearly the same time.",
        f"MySQL takes {listed(more, '.0f')} % more at the three sizes.",
        "Of three sizes only the largest is close.",
    )


@paper.finding("contradiction", "Section V against Table III")
def slightly_worse() -> Texts:
    """Slightly worse by half."""
    ratios = times(INSERT_REPLICATED, "MongoDB") / times(INSERT_REPLICATED, "PostgreSQL")
    return (
        "Replicated, MongoDB inserts slightly slower than PostgreSQL when the number is high.",
        f"MongoDB over PostgreSQL is {listed(ratios, '.2f')}: quicker at the two smaller sizes, "
        f"{100 * (ratios[-1] - 1):.0f} % slower at 100,000.",
        "The direction turns and the difference is not slight; nothing is said of why.",
    )


@paper.finding("contradiction", "Sections V and VI against Tables II to VIII")
def couchbase_postgresql() -> Texts:
    """Couchbase and PostgreSQL, very similar."""
    ratios = {table: times(table, "PostgreSQL") / times(table, "Couchbase") for table in TABLES}
    every = [(ratio, place(table, n)) for table in TABLES for ratio, n in zip(ratios[table], SIZES, strict=True)]
    near = sum(1 / SIMILAR <= ratio <= SIMILAR for ratio, _ in every)
    most, where = max(every)
    return (
        "In both environments the two perform alike; of replicated inserts it is said once more.",
        f"They lie within a factor of {SIMILAR:g} in {near} of {len(every)} places. PostgreSQL over Couchbase reaches "
        f"{most:.1f} ({where}) and is {listed(ratios[INSERT_REPLICATED], '.2f')} for replicated inserts.",
        "Alike are the single inserts and little else.",
    )


@paper.finding("contradiction", "Section V against Table VII")
def second_place() -> Texts:
    """MongoDB before Couchbase."""
    mongodb, couchbase = (times(DELETE_REPLICATED, engine)[-1] for engine in ("MongoDB", "Couchbase"))
    return (
        "Among document stores CouchDB deletes fastest in both topologies, then MongoDB, then Couchbase.",
        f"Replicated, at 100,000 records, Couchbase takes {couchbase} ms and MongoDB {mongodb}.",
        f"A difference of {100 * (mongodb / couchbase - 1):.0f} % in one place of six; without a spread nobody can "
        "say whether it is one.",
    )


@paper.finding("contradiction", "Section VI against Tables III and IV")
def better_than_relational() -> Texts:
    """MongoDB, like a relational store but faster."""
    rivals = [(table, n, quickest(table, RELATIONAL, n)) for table, n in product(TABLES, SIZES)]
    lost = [
        f"{place(table, n)} ({rival.row}, {ratio:.2f})"
        for table, n, rival in rivals
        if (ratio := time(table, "MongoDB", n).value / rival.value) > 1
    ]
    return (
        "Who wants relational behaviour with better performance should take MongoDB.",
        f"MongoDB is slower than the best relational store in {len(lost)} of {len(rivals)} places: {'; '.join(lost)}.",
        "Both are at the largest size, which is what the paper is about; and those columns are of other machines.",
    )


@paper.finding("unsupported", "Section VI against all tables")
def overall() -> Texts:
    """Documents before rows, overall."""
    pairs = list(product(TABLES, SIZES, DOCUMENT, RELATIONAL))
    lost = [
        f"{document} behind {relational}, {place(table, n)}"
        for table, n, document, relational in pairs
        if time(table, document, n).value >= time(table, relational, n).value
    ]
    selects = [one for one in lost if "select" in one]
    return (
        "Overall the NoSQL systems do better than the relational ones.",
        f"Pair by pair a document store is quicker in {len(pairs) - len(lost)} of {len(pairs)} places. It is not in "
        f"{len(lost)}, {len(selects)} of them selects ({'; '.join(selects)}).",
        f"A third of these pairs are CouchDB's, whose unit is in doubt. No weights are given by which {len(TABLES)} "
        "tables make one overall.",
    )


@paper.finding("unsupported", "Sections I and IV")
def another_papers_columns() -> Texts:
    """Relational columns from another paper."""
    each, every = (paper("Section IV", "virtual machines", column).value for column in ("each database", "all"))
    return (
        f"Six databases are compared; nine virtual machines were set up, {each:.0f} for each database.",
        f"{every:.0f} machines serve {every / each:.0f} databases; six would have taken {6 * each:.0f}. The "
        "relational times are taken from an earlier paper, its reference 10.",
        "Every contrast of document against relational stores is also one of machines, schemas and dates. Here both "
        "families run on the same machine in the same blocks.",
    )


@paper.finding("not shown", "Section IV; Tables II to VIII")
def no_variance() -> Texts:
    """50 batches and no spread."""
    batches = paper("Section IV", "batches", "each number of records").value
    return (
        f"Each batch ran {batches:.0f} times; between single and distributed databases there are significant "
        "differences.",
        f"{len(TABLES) * len(SIZES) * len(ALL_SIX)} means are printed without a spread; no test can be made of any of "
        "them.",
        "Significance is claimed in words. A difference of 1 % and one of 100 % stand on the same footing.",
    )


@paper.finding("unsupported", "Section V")
def constraints() -> Texts:
    """Constraints as the reason."""

    def mean(table: Table, *engines: str) -> float:
        return geometric_mean(times(table, engine)[-1] for engine in engines)

    *writes, select = (mean(table, *RELATIONAL) / mean(table, "MongoDB", "Couchbase") for table in TABLES)
    return (
        "Relational systems may be slower because they check integrity when they insert, update and delete.",
        f"At {int(SIZES[-1]):,} records the relational systems' geometric mean over MongoDB's and Couchbase's is "
        f"{select:.1f} for selects, which check nothing, and {listed(writes, '.1f')} for the six tables of writes.",
        "The gap is as wide where the reason cannot apply. Here constraints are a factor (`constraints`).",
    )


@paper.finding("not shown", "Tables II to VIII")
def steps() -> Texts:
    """Ten times the records."""
    grown = [
        (after / before, f"{engine}, {' '.join(table)}")
        for table, engine in product(TABLES, ALL_SIX)
        for before, after in pairwise(times(table, engine))
    ]
    outside = sum(not 5 <= ratio <= 20 for ratio, _ in grown)
    (least, lowest_of), (most, highest_of) = min(grown), max(grown)
    return (
        "Operations are single calls, one after the other; nothing is said of how times grow.",
        f"Of {len(grown)} steps from one size to ten times as many, {outside} lie outside 5 to 20 times: from "
        f"{least:.1f} ({lowest_of}) to {most:.1f} ({highest_of}).",
        "Single calls on an indexed table should grow tenfold. A cache that fills or a missing index would show "
        "here, and would make the contrast of that size one of the cache.",
    )


@paper.finding("not shown", "Table VIII and Fig. 8")
def no_unit() -> Texts:
    """A table without a unit."""
    insert, select = (times(table, "MongoDB")[-1] for table in (INSERT, SELECT))
    return (
        "Six tables of times are titled in milliseconds, the seventh in nothing.",
        f"Taken for milliseconds MongoDB's selects are {insert / select:.0f} times quicker than its inserts at 100,000 "
        "records.",
        "Milliseconds are assumed in all that follows. With CouchDB's writes in doubt the reader would like to know.",
    )
