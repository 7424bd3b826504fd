"""Checks and findings on the CRUD paper's own numbers."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise, product
from operator import add, attrgetter, truediv
from statistics import geometric_mean

import numpy as np

from benchbook.analysis.published import Number
from benchbook.papers.crud import TIMED
from benchbook.papers.recomputed import (
    SIMILAR,
    Check,
    Finding,
    Values,
    alike,
    follows,
    get_number,
    get_values,
    less,
    list_values,
)

SIZES = (1000, 10_000, 100_000)
DOCUMENT = ("CouchDB", "MongoDB", "Couchbase")
RELATIONAL = ("Microsoft SQL Server", "MySQL", "PostgreSQL")
DATABASES = DOCUMENT + RELATIONAL
SQL_SERVER = "Microsoft SQL Server"

TABLES = {" ".join(timed): table for table, timed in TIMED.items()}
"""The tables of times by operation and topology: ``insert single`` is Table II."""

SELECT = "select single"
WRITES = tuple(what for what in TABLES if what != SELECT)
SINGLE_WRITES = ("insert single", "update single", "delete single")
REPLICATED_WRITES = ("insert replicated", "update replicated", "delete replicated")

number = partial(get_number, "crud")


def get_time(what: str, database: str, n: int) -> Number:
    """Return a printed time in ms; `what` is a key of `TABLES`."""
    return number(TABLES[what], database, n)


def get_times(what: str, database: str) -> Values:
    """Return a database's times at the three sizes."""
    return get_values(get_time(what, database, n) for n in SIZES)


def find_quickest(what: str, databases: Sequence[str], n: int) -> Number:
    """Return the shortest of several databases' times."""
    return min((get_time(what, database, n) for database in databases), key=attrgetter("value"))


def find_slowest(what: str, databases: Sequence[str], n: int) -> Number:
    """Return the longest of several databases' times."""
    return max((get_time(what, database, n) for database in databases), key=attrgetter("value"))


def list_others(database: str, databases: Sequence[str] = DATABASES) -> list[str]:
    """Return the databases but one."""
    return [other for other in databases if other != database]


def checks() -> Iterator[Check]:
    """Yield the checks: the sentences of Sections V and VI, then the virtual machines."""
    yield from _check_inserts()
    yield from _check_updates()
    yield from _check_deletes()
    yield _check_documents_first("select single", 100_000)
    yield from _check_conclusions()
    yield follows(
        number("Section IV", "virtual machines", "each database"),
        add,
        number("Section IV", "virtual machines", "single"),
        number("Section IV", "virtual machines", "replicated"),
        says="virtual machines of each database: single and replicated",
    )
    yield follows(
        number("Section IV", "virtual machines", "all"),
        lambda each: 3 * each,
        number("Section IV", "virtual machines", "each database"),
        says="virtual machines of the three document stores",
    )


def _check_inserts() -> Iterator[Check]:
    """Check what Section V says of inserts."""
    for n in SIZES:
        yield _check_documents_first("insert single", n)
    for n in SIZES:
        yield _check_quickest("insert single", "CouchDB", n)
    for n in SIZES:
        yield _check_close("insert single", "Couchbase", "PostgreSQL", n)
    for n in SIZES:
        yield follows(
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
    yield less("Section V", truediv, postgresql, mongodb, says=says)
    says = "MongoDB only slightly worse than PostgreSQL, insert replicated, 100,000"
    yield alike("Section V", truediv, mongodb, postgresql, says=says)
    for n in SIZES:
        yield _check_close("insert replicated", "Couchbase", "PostgreSQL", n)


def _check_updates() -> Iterator[Check]:
    """Check what Section V says of updates."""
    for n in SIZES:
        update = get_time("update single", SQL_SERVER, n)
        insert = get_time("insert single", SQL_SERVER, n)
        says = f"SQL Server's update quicker than its insert, single, {n:,}"
        yield less("Section V", truediv, update, insert, says=says)
    for n in SIZES:
        yield _check_close("update single", SQL_SERVER, "MongoDB", n)
    for n in SIZES:
        yield _check_slowest("update single", "PostgreSQL", n)
    for n in SIZES:
        yield _check_close("update single", "MySQL", "Couchbase", n)
    for n in SIZES:
        yield _check_documents_first("update replicated", n)


def _check_deletes() -> Iterator[Check]:
    """Check what Section V says of deletes."""
    among = "of the relational ones"
    for n in SIZES:
        yield _check_quickest("delete single", SQL_SERVER, n, RELATIONAL, among)
    for n in SIZES:
        yield _check_slowest("delete replicated", SQL_SERVER, n, RELATIONAL, among)

    deletes = ("delete single", "delete replicated")
    for what, n in product(deletes, SIZES):
        yield _check_quickest(what, "CouchDB", n, DOCUMENT, "of the document stores")
    for what, n in product(deletes, SIZES):
        yield _check_quickest(what, "MongoDB", n, ("Couchbase",), "against Couchbase")


def _check_conclusions() -> Iterator[Check]:
    """Check what Section VI concludes."""
    for n in SIZES:
        yield _check_quickest("select single", "MongoDB", n, where="Section VI")
    for what, n in product(("update single", "update replicated"), SIZES):
        among = "of the document stores"
        yield _check_quickest(what, "CouchDB", n, DOCUMENT, among, where="Section VI")
    for what, n in product(WRITES, SIZES):
        among = "against the relational ones"
        yield _check_quickest(what, "MongoDB", n, RELATIONAL, among, where="Section VI")

    # Section V says the same of inserts, which are checked there.
    rest = [what for what in TABLES if not what.startswith("insert")]
    for what, n in product(rest, SIZES):
        yield _check_close(what, "Couchbase", "PostgreSQL", n, where="Section VI")


def _check_documents_first(what: str, n: int) -> Check:
    """Check that the slowest document store is quicker than the quickest relational one."""
    slow, quick = find_slowest(what, DOCUMENT, n), find_quickest(what, RELATIONAL, n)
    says = f"all document stores quicker than all relational ones, {what}, {n:,} ({slow.row}, {quick.row})"
    return less("Section V", truediv, slow, quick, says=says)


def _check_quickest(
    what: str,
    database: str,
    n: int,
    rivals: Sequence[str] = DATABASES,
    among: str = "of all six",
    where: str = "Section V",
) -> Check:
    """Check that a database is quicker than each of its rivals."""
    rival = find_quickest(what, list_others(database, rivals), n)
    says = f"{database} quickest {among}, {what}, {n:,} ({rival.row} next)"
    return less(where, truediv, get_time(what, database, n), rival, says=says)


def _check_slowest(
    what: str,
    database: str,
    n: int,
    rivals: Sequence[str] = DATABASES,
    among: str = "of all six",
) -> Check:
    """Check that a database is slower than each of its rivals."""
    rival = find_slowest(what, list_others(database, rivals), n)
    says = f"{database} slowest {among}, {what}, {n:,} ({rival.row} next)"
    return less("Section V", truediv, rival, get_time(what, database, n), says=says)


def _check_close(what: str, first: str, second: str, n: int, where: str = "Section V") -> Check:
    """Check that two databases' times are about the same."""
    says = f"{first} close to {second}, {what}, {n:,}"
    return alike(where, truediv, get_time(what, first, n), get_time(what, second, n), says=says)


def findings() -> Iterator[Finding]:
    """Yield what does not follow."""
    yield _find_couchdb_seconds()
    yield _find_couchdb_turned_round()
    yield _find_couchdb_update()
    yield _find_mongodb_select()
    yield _find_couchbase_inserts()
    yield _find_sqlserver_topologies()
    yield _find_sqlserver_seconds()
    yield _find_sqlserver_delete()
    yield _find_postgresql_update()
    yield _find_close_updates()
    yield _find_mysql_couchbase()
    yield _find_slightly_worse()
    yield _find_couchbase_postgresql()
    yield _find_second_place()
    yield _find_better_than_relational()
    yield _find_overall()
    yield _find_another_papers_columns()
    yield _find_no_variance()
    yield _find_constraints()
    yield _find_steps()
    yield _find_no_unit()


def get_document_size() -> float:
    """Return the size of a document in KB."""
    return number("Section IV", "document", "size").value


def _find_couchdb_seconds() -> Finding:
    inserts = get_times("insert single", "CouchDB")
    clock = number("Section IV", "clock", "virtual machine").value
    call = inserts[0]  # ms for 1,000 calls, so microseconds for one
    rates = np.multiply(SIZES, get_document_size()) / inserts  # KB/ms are MB/s
    return Finding(
        name="crud.couchdb-seconds",
        title="CouchDB at the speed of memory",
        kind="implausible",
        source="Tables II to VII; Section IV",
        as_printed=f"1,000 inserts, one HTTP call each, take {call} ms; the headline is that CouchDB writes fastest.",
        recomputed=(
            f"That is {call:.2f} us a call, {call * clock * 1000:,.0f} cycles of the {clock} GHz "
            "clock for a request, a document written and an answer, and "
            f"{list_values(rates, '.0f')} MB/s of documents at the three sizes."
        ),
        why=(
            f"Read as seconds it is {1000 / call:.0f} calls a second, which such a server can do. "
            "Seconds printed as milliseconds are likely; the printed values cannot be what the "
            "title says."
        ),
    )


def _find_couchdb_turned_round() -> Finding:
    behind = []
    for what, n in product(WRITES, SIZES):
        rival = find_slowest(what, list_others("CouchDB"), n)
        behind.append(1000 * get_time(what, "CouchDB", n).value > rival.value)
    return Finding(
        name="crud.couchdb-turned-round",
        title="The headline, in seconds",
        kind="implausible",
        source="Tables II to VII; Section VI",
        as_printed="CouchDB is the choice for applications that write much.",
        recomputed=(
            "With its times a thousand times longer CouchDB is the slowest of all six in "
            f"{sum(behind)} of {len(behind)} places, and the slowest document store in all of "
            "them."
        ),
        why="The recommendation hangs on a unit.",
    )


def _find_couchdb_update() -> Finding:
    update = list_values(get_times("update single", "CouchDB"), ".4g")
    select = list_values(get_times("select single", "CouchDB"), ".4g")
    return Finding(
        name="crud.couchdb-update",
        title="An update quicker than the read it begins with",
        kind="implausible",
        source="Section IV; Tables IV and VIII",
        as_printed="In CouchDB an update first selects the document, then writes it back.",
        recomputed=f"Its updates take {update} ms, its selects alone {select} ms.",
        why="Reads and writes of CouchDB are not on one scale, as if the writes alone were printed in seconds.",
    )


def _find_mongodb_select() -> Finding:
    couchdb, mongodb, couchbase = (get_time(SELECT, name, 100_000).value for name in DOCUMENT)
    kilobytes = 100_000 * get_document_size()  # KB/ms are MB/s
    return Finding(
        name="crud.mongodb-select",
        title="Selects that cannot return what they select",
        kind="implausible",
        source="Table VIII; Section IV",
        as_printed=f"All comments of an article are returned; MongoDB needs {mongodb} ms at 100,000 records of 1 KB.",
        recomputed=(
            f"That is {kilobytes / mongodb / 1000:.1f} GB/s from one process to another on a "
            f"machine of two cores; CouchDB and Couchbase come to {kilobytes / couchdb:.0f} and "
            f"{kilobytes / couchbase:.0f} MB/s over HTTP."
        ),
        why=(
            "Either an article has a part of the comments, which is not said, or the cursor was "
            "opened and not drained. How many comments are returned is a factor here "
            "(`comments_per_article`)."
        ),
    )


def _find_couchbase_inserts() -> Finding:
    single = {n: get_time("insert single", "Couchbase", n) for n in SIZES}
    replicated = {n: get_time("insert replicated", "Couchbase", n) for n in SIZES}
    equal = [n for n in SIZES if single[n].printed == replicated[n].printed]
    longer = replicated[1000].value / single[1000].value - 1
    return Finding(
        name="crud.couchbase-inserts",
        title="Replicated times copied from the single ones",
        kind="implausible",
        source="Tables II and III",
        as_printed="Inserts end when the replica holds them; each mean is of 50 batches.",
        recomputed=(
            "Couchbase's replicated means equal its single ones to the last digit at "
            f"{list_values(equal, ',.0f')} records ({replicated[10_000].printed}, "
            f"{replicated[100_000].printed} ms); at 1,000 they are {100 * longer:.1f} % longer."
        ),
        why=(
            "Two means of 50 do not agree in six digits by chance. One column was copied, or the "
            "replica was not waited for."
        ),
    )


def _find_sqlserver_topologies() -> Finding:
    insert, update, delete = (
        get_times(replicated, SQL_SERVER) / get_times(single, SQL_SERVER)
        for single, replicated in zip(SINGLE_WRITES, REPLICATED_WRITES, strict=True)
    )
    return Finding(
        name="crud.sqlserver-topologies",
        title="Twice as fast with a replica, and twenty times slower",
        kind="implausible",
        source="Tables II to VII",
        as_printed="Replicated operations wait for the second node.",
        recomputed=(
            "SQL Server's replicated times over its single ones: inserts "
            f"{list_values(insert, '.2f')}, updates {list_values(update, '.1f')}, deletes "
            f"{list_values(delete, '.1f')}."
        ),
        why="Waiting for a second node cannot halve a time. The two topologies were not measured in the same way.",
    )


def _find_sqlserver_seconds() -> Finding:
    replicated = np.array([get_times(what, SQL_SERVER) for what in REPLICATED_WRITES])
    others = list_others(SQL_SERVER)
    rivals = np.array([get_times(what, other) for what, other in product(WRITES, others)])
    return Finding(
        name="crud.sqlserver-seconds",
        title="A clock of one second",
        kind="not shown",
        source="Tables III, V and VII",
        as_printed="All times are means in milliseconds.",
        recomputed=(
            f"{np.count_nonzero(replicated % 1000 == 0)} of SQL Server's {replicated.size} "
            f"replicated times are whole seconds, and {np.count_nonzero(rivals % 1000 == 0)} of "
            f"the {rivals.size} times of the others. At 1,000 records half a second either way is "
            f"{100 * 500 / replicated.min():.0f} % of the smallest."
        ),
        why=(
            "They were read off a coarser clock, or by hand. A mean of 50 batches would not end in "
            "three zeros nine times."
        ),
    )


def _find_sqlserver_delete() -> Finding:
    sql_server = get_time("delete single", SQL_SERVER, 1000).value
    mysql = get_time("delete single", "MySQL", 1000).value
    postgresql = get_time("delete single", "PostgreSQL", 1000).value
    return Finding(
        name="crud.sqlserver-delete",
        title="The best relational delete",
        kind="contradiction",
        source="Section V against Table VI",
        as_printed="On one node SQL Server deletes fastest among the relational systems.",
        recomputed=(
            f"At 1,000 records it takes {sql_server:g} ms, MySQL {mysql:g} and PostgreSQL "
            f"{postgresql:g}: it is the slowest, by {sql_server / postgresql:.1f} times. At 10,000 "
            "and 100,000 the sentence holds."
        ),
        why="The ranking turns with the number of records; the text gives one for all.",
    )


def _find_postgresql_update() -> Finding:
    postgresql = get_times("update single", "PostgreSQL")
    mysql = get_time("update single", "MySQL", 1000).value
    return Finding(
        name="crud.postgresql-update",
        title="The worst update",
        kind="contradiction",
        source="Section V against Table IV",
        as_printed="On one node PostgreSQL updates slowest.",
        recomputed=(
            f"At 1,000 records it takes {postgresql[0]} ms and MySQL {mysql}; from there to 10,000 "
            f"PostgreSQL's time grows {postgresql[1] / postgresql[0]:.0f} times."
        ),
        why=(
            "Ten times the records and thirty times the time: something other than updates set in, "
            "perhaps a checkpoint or vacuum."
        ),
    )


def _find_close_updates() -> Finding:
    ratios = get_times("update single", SQL_SERVER) / get_times("update single", "MongoDB")
    return Finding(
        name="crud.close-updates",
        title="SQL Server's updates, very close to MongoDB's",
        kind="contradiction",
        source="Section V against Table IV",
        as_printed="SQL Server's updates on one node take nearly the same time as MongoDB's.",
        recomputed=f"SQL Server over MongoDB is {list_values(ratios, '.2f')} at the three sizes.",
        why="True of the two larger sizes. At 1,000 records the relational system takes twice as long.",
    )


def _find_mysql_couchbase() -> Finding:
    ratios = get_times("update single", "MySQL") / get_times("update single", "Couchbase")
    more = list_values(100 * (ratios - 1), ".0f")
    return Finding(
        name="crud.mysql-couchbase",
        title="MySQL's updates, very close to Couchbase's",
        kind="contradiction",
        source="Section V against Table IV",
        as_printed="MySQL and Couchbase update in nearly the same time.",
        recomputed=f"MySQL takes {more} % more at the three sizes.",
        why="Of three sizes only the largest is close.",
    )


def _find_slightly_worse() -> Finding:
    mongodb = get_times("insert replicated", "MongoDB")
    ratios = mongodb / get_times("insert replicated", "PostgreSQL")
    return Finding(
        name="crud.slightly-worse",
        title="Slightly worse by half",
        kind="contradiction",
        source="Section V against Table III",
        as_printed="Replicated, MongoDB inserts slightly slower than PostgreSQL when the number is high.",
        recomputed=(
            f"MongoDB over PostgreSQL is {list_values(ratios, '.2f')}: quicker at the two smaller "
            f"sizes, {100 * (ratios[-1] - 1):.0f} % slower at 100,000."
        ),
        why="The direction turns and the difference is not slight; nothing is said of why.",
    )


def _find_couchbase_postgresql() -> Finding:
    slower = []
    for what, n in product(TABLES, SIZES):
        ratio = get_time(what, "PostgreSQL", n).value / get_time(what, "Couchbase", n).value
        slower.append((ratio, f"{what}, {n:,}"))
    near = sum(1 / SIMILAR <= ratio <= SIMILAR for ratio, _ in slower)
    most, place = max(slower)
    postgresql = get_times("insert replicated", "PostgreSQL")
    inserts = postgresql / get_times("insert replicated", "Couchbase")
    return Finding(
        name="crud.couchbase-postgresql",
        title="Couchbase and PostgreSQL, very similar",
        kind="contradiction",
        source="Sections V and VI against Tables II to VIII",
        as_printed="In both environments the two perform alike; of replicated inserts it is said once more.",
        recomputed=(
            f"They lie within a factor of {SIMILAR:g} in {near} of {len(slower)} places. "
            f"PostgreSQL over Couchbase reaches {most:.1f} ({place}) and is "
            f"{list_values(inserts, '.2f')} for replicated inserts."
        ),
        why="Alike are the single inserts and little else.",
    )


def _find_second_place() -> Finding:
    mongodb = get_time("delete replicated", "MongoDB", 100_000).value
    couchbase = get_time("delete replicated", "Couchbase", 100_000).value
    return Finding(
        name="crud.second-place",
        title="MongoDB before Couchbase",
        kind="contradiction",
        source="Section V against Table VII",
        as_printed="Among document stores CouchDB deletes fastest in both topologies, then MongoDB, then Couchbase.",
        recomputed=f"Replicated, at 100,000 records, Couchbase takes {couchbase} ms and MongoDB {mongodb}.",
        why=(
            f"A difference of {100 * (mongodb / couchbase - 1):.0f} % in one place of six; without "
            "a spread it is unknown whether it is one."
        ),
    )


def _find_better_than_relational() -> Finding:
    lost = []
    for what, n in product(TABLES, SIZES):
        rival = find_quickest(what, RELATIONAL, n)
        ratio = get_time(what, "MongoDB", n).value / rival.value
        if ratio > 1:
            lost.append(f"{what}, {n:,} ({rival.row}, {ratio:.2f})")
    return Finding(
        name="crud.better-than-relational",
        title="MongoDB, like a relational store but faster",
        kind="contradiction",
        source="Section VI against Tables III and IV",
        as_printed="Who wants relational behaviour with better performance should take MongoDB.",
        recomputed=(
            f"MongoDB is slower than the best relational store in {len(lost)} of "
            f"{len(TABLES) * len(SIZES)} places: {'; '.join(lost)}."
        ),
        why=(
            "Both are at the largest size, which is what the paper is about; and those columns are of other machines."
        ),
    )


def _find_overall() -> Finding:
    pairs = list(product(TABLES, SIZES, DOCUMENT, RELATIONAL))
    lost = [
        f"{document} behind {relational}, {what}, {n:,}"
        for what, n, document, relational in pairs
        if get_time(what, document, n).value >= get_time(what, relational, n).value
    ]
    selects = [place for place in lost if SELECT in place]
    return Finding(
        name="crud.overall",
        title="Documents before rows, overall",
        kind="unsupported",
        source="Section VI against all tables",
        as_printed="Overall the NoSQL systems do better than the relational ones.",
        recomputed=(
            f"Pair by pair a document store is quicker in {len(pairs) - len(lost)} of "
            f"{len(pairs)} places. It is not in {len(lost)}, {len(selects)} of them selects "
            f"({'; '.join(selects)})."
        ),
        why=(
            "A third of these pairs are CouchDB's, whose unit is in doubt. No weights are given by "
            f"which {len(TABLES)} tables make one overall."
        ),
    )


def _find_another_papers_columns() -> Finding:
    each = number("Section IV", "virtual machines", "each database").value
    every = number("Section IV", "virtual machines", "all").value
    return Finding(
        name="crud.another-papers-columns",
        title="Relational columns from another paper",
        kind="unsupported",
        source="Sections I and IV",
        as_printed=f"Six databases are compared; nine virtual machines were set up, {each:.0f} for each database.",
        recomputed=(
            f"{every:.0f} machines serve {every / each:.0f} databases; six would have taken "
            f"{6 * each:.0f}. The relational times are taken from an earlier paper, its reference "
            "10."
        ),
        why=(
            "Every contrast of document against relational stores is also one of machines, schemas "
            "and dates. Here both families run on the same machine in the same blocks."
        ),
    )


def _find_no_variance() -> Finding:
    batches = number("Section IV", "batches", "each number of records").value
    means = len(TABLES) * len(DATABASES) * len(SIZES)
    return Finding(
        name="crud.no-variance",
        title="50 batches and no spread",
        kind="not shown",
        source="Section IV; Tables II to VIII",
        as_printed=(
            f"Each batch ran {batches:.0f} times; between single and distributed databases there "
            "are significant differences."
        ),
        recomputed=f"{means} means are printed without a spread; no test can be made of any of them.",
        why="Significance is claimed in words. A difference of 1 % and one of 100 % stand on the same footing.",
    )


def _find_constraints() -> Finding:
    ratios = {}
    for what in TABLES:
        relational = [get_time(what, name, 100_000).value for name in RELATIONAL]
        document = [get_time(what, name, 100_000).value for name in ("MongoDB", "Couchbase")]
        ratios[what] = geometric_mean(relational) / geometric_mean(document)
    writes = list_values([ratios[what] for what in WRITES], ".1f")
    return Finding(
        name="crud.constraints",
        title="Constraints as the reason",
        kind="unsupported",
        source="Section V",
        as_printed=(
            "Relational systems may be slower because they check integrity when they insert, update and delete."
        ),
        recomputed=(
            "At 100,000 records the relational systems' geometric mean over MongoDB's and "
            f"Couchbase's is {ratios[SELECT]:.1f} for selects, which check nothing, and {writes} "
            "for the six tables of writes."
        ),
        why="The gap is as wide where the reason cannot apply. Here constraints are a factor (`constraints`).",
    )


def _find_steps() -> Finding:
    growth = []
    for what, database, (fewer, more) in product(TABLES, DATABASES, pairwise(SIZES)):
        ratio = get_time(what, database, more).value / get_time(what, database, fewer).value
        growth.append((ratio, f"{database}, {what}"))
    outside = sum(not 5 <= ratio <= 20 for ratio, _ in growth)
    least, lowest_of = min(growth)
    most, highest_of = max(growth)
    return Finding(
        name="crud.steps",
        title="Ten times the records",
        kind="not shown",
        source="Tables II to VIII",
        as_printed="Operations are single calls, one after the other; nothing is said of how times grow.",
        recomputed=(
            f"Of {len(growth)} steps from one size to ten times as many, {outside} lie outside 5 "
            f"to 20 times: from {least:.1f} ({lowest_of}) to {most:.1f} ({highest_of})."
        ),
        why=(
            "Single calls on an indexed table should grow tenfold. A cache that fills or a missing "
            "index would show here, and would make the contrast of that size one of the cache."
        ),
    )


def _find_no_unit() -> Finding:
    insert = get_time("insert single", "MongoDB", 100_000).value
    select = get_time(SELECT, "MongoDB", 100_000).value
    return Finding(
        name="crud.no-unit",
        title="A table without a unit",
        kind="not shown",
        source="Table VIII and Fig. 8",
        as_printed="Six tables of times are titled in milliseconds, the seventh in nothing.",
        recomputed=(
            "Taken for milliseconds MongoDB's selects are "
            f"{insert / select:.0f} times quicker than its inserts at 100,000 records."
        ),
        why=(
            "Milliseconds are assumed in all that follows. With CouchDB's writes in doubt the "
            "reader would like to know."
        ),
    )
