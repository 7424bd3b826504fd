"""Findings on the CRUD paper's own numbers: what does not follow from them."""

from collections.abc import Iterator
from functools import partial
from itertools import pairwise, product
from statistics import geometric_mean

import numpy as np

from benchbook.papers.crud import (
    DATABASES,
    DOCUMENT,
    RELATIONAL,
    REPLICATED_WRITES,
    SELECT,
    SINGLE_WRITES,
    SIZES,
    SQL_SERVER,
    TIMES,
    WRITES,
    find_quickest,
    find_slowest,
    get_time,
    get_times,
    list_others,
)
from benchbook.papers.recomputed import (
    SIMILAR,
    PaperFinding,
    get_number,
    list_values,
)

get_crud_number = partial(get_number, "crud")


def list_findings() -> Iterator[PaperFinding]:
    """Yield a finding for each statement that the paper's own numbers do not bear out."""
    yield _find_couchdb_seconds()
    yield _find_couchdb_in_seconds()
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


def _get_document_size() -> float:
    """Return the size of a document in KB."""
    return get_crud_number("Section IV", "document", "size").value


def _find_couchdb_seconds() -> PaperFinding:
    inserts = get_times("insert single", "CouchDB")
    clock = get_crud_number("Section IV", "clock", "virtual machine").value
    call_us = inserts[0]  # ms for 1,000 calls, so microseconds for one
    rates = np.multiply(SIZES, _get_document_size()) / inserts  # KB/ms are MB/s
    return PaperFinding(
        name="crud.couchdb-seconds",
        title="CouchDB at the speed of memory",
        kind="implausible",
        source="Tables II to VII; Section IV",
        as_printed=(
            f"1,000 inserts, one HTTP call each, take {call_us} ms; the headline is that CouchDB "
            "writes fastest."
        ),
        recomputed=(
            f"That is {call_us:.2f} us a call, {call_us * clock * 1000:,.0f} cycles of the "
            f"{clock} GHz clock for a request, a document written and an answer, and "
            f"{list_values(rates, '.0f')} MB/s of documents at the three sizes."
        ),
        why=(
            f"Read as seconds it is {1000 / call_us:.0f} calls a second, which such a server can "
            "do. Seconds printed as milliseconds are likely; the printed values cannot be what the "
            "title says."
        ),
    )


def _find_couchdb_in_seconds() -> PaperFinding:
    # Read CouchDB's times as seconds: they are a thousand times longer.
    is_slowest = []
    for operation, n in product(WRITES, SIZES):
        rival = find_slowest(operation, list_others("CouchDB"), n)
        is_slowest.append(1000 * get_time(operation, "CouchDB", n).value > rival.value)
    return PaperFinding(
        name="crud.couchdb-turned-round",
        title="The headline, in seconds",
        kind="implausible",
        source="Tables II to VII; Section VI",
        as_printed="CouchDB is the choice for applications that write much.",
        recomputed=(
            "With its times a thousand times longer CouchDB is the slowest of all six in "
            f"{sum(is_slowest)} of {len(is_slowest)} places, and the slowest document store in "
            "all of them."
        ),
        why="The recommendation hangs on a unit.",
    )


def _find_couchdb_update() -> PaperFinding:
    update = list_values(get_times("update single", "CouchDB"), ".4g")
    select = list_values(get_times("select single", "CouchDB"), ".4g")
    return PaperFinding(
        name="crud.couchdb-update",
        title="An update quicker than the read it begins with",
        kind="implausible",
        source="Section IV; Tables IV and VIII",
        as_printed="In CouchDB an update first selects the document, then writes it back.",
        recomputed=f"Its updates take {update} ms, its selects alone {select} ms.",
        why=(
            "Reads and writes of CouchDB are not on one scale, as if the writes alone were "
            "printed in seconds."
        ),
    )


def _find_mongodb_select() -> PaperFinding:
    couchdb, mongodb, couchbase = (get_time(SELECT, name, 100_000).value for name in DOCUMENT)
    kilobytes = 100_000 * _get_document_size()  # KB/ms are MB/s
    return PaperFinding(
        name="crud.mongodb-select",
        title="Selects that cannot return what they select",
        kind="implausible",
        source="Table VIII; Section IV",
        as_printed=(
            f"All comments of an article are returned; MongoDB needs {mongodb} ms at 100,000 "
            "records of 1 KB."
        ),
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


def _find_couchbase_inserts() -> PaperFinding:
    single = {n: get_time("insert single", "Couchbase", n) for n in SIZES}
    replicated = {n: get_time("insert replicated", "Couchbase", n) for n in SIZES}
    equal = [n for n in SIZES if single[n].printed == replicated[n].printed]
    longer = replicated[1000].value / single[1000].value - 1
    return PaperFinding(
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


def _find_sqlserver_topologies() -> PaperFinding:
    insert, update, delete = (
        get_times(replicated, SQL_SERVER) / get_times(single, SQL_SERVER)
        for single, replicated in zip(SINGLE_WRITES, REPLICATED_WRITES, strict=True)
    )
    return PaperFinding(
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
        why=(
            "Waiting for a second node cannot halve a time. The two topologies were not measured "
            "in the same way."
        ),
    )


def _find_sqlserver_seconds() -> PaperFinding:
    replicated = np.array([get_times(operation, SQL_SERVER) for operation in REPLICATED_WRITES])
    others = list_others(SQL_SERVER)
    rivals = np.array([get_times(operation, other) for operation, other in product(WRITES, others)])
    return PaperFinding(
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


def _find_sqlserver_delete() -> PaperFinding:
    sql_server = get_time("delete single", SQL_SERVER, 1000).value
    mysql = get_time("delete single", "MySQL", 1000).value
    postgresql = get_time("delete single", "PostgreSQL", 1000).value
    return PaperFinding(
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


def _find_postgresql_update() -> PaperFinding:
    postgresql = get_times("update single", "PostgreSQL")
    mysql = get_time("update single", "MySQL", 1000).value
    return PaperFinding(
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


def _find_close_updates() -> PaperFinding:
    ratios = get_times("update single", SQL_SERVER) / get_times("update single", "MongoDB")
    return PaperFinding(
        name="crud.close-updates",
        title="SQL Server's updates, very close to MongoDB's",
        kind="contradiction",
        source="Section V against Table IV",
        as_printed="SQL Server's updates on one node take nearly the same time as MongoDB's.",
        recomputed=f"SQL Server over MongoDB is {list_values(ratios, '.2f')} at the three sizes.",
        why=(
            "True of the two larger sizes. At 1,000 records the relational system takes twice as "
            "long."
        ),
    )


def _find_mysql_couchbase() -> PaperFinding:
    ratios = get_times("update single", "MySQL") / get_times("update single", "Couchbase")
    more = list_values(100 * (ratios - 1), ".0f")
    return PaperFinding(
        name="crud.mysql-couchbase",
        title="MySQL's updates, very close to Couchbase's",
        kind="contradiction",
        source="Section V against Table IV",
        as_printed="MySQL and Couchbase update in nearly the same time.",
        recomputed=f"MySQL takes {more} % more at the three sizes.",
        why="Of three sizes only the largest is close.",
    )


def _find_slightly_worse() -> PaperFinding:
    mongodb = get_times("insert replicated", "MongoDB")
    ratios = mongodb / get_times("insert replicated", "PostgreSQL")
    return PaperFinding(
        name="crud.slightly-worse",
        title="Slightly worse by half",
        kind="contradiction",
        source="Section V against Table III",
        as_printed=(
            "Replicated, MongoDB inserts slightly slower than PostgreSQL when the number is high."
        ),
        recomputed=(
            f"MongoDB over PostgreSQL is {list_values(ratios, '.2f')}: quicker at the two smaller "
            f"sizes, {100 * (ratios[-1] - 1):.0f} % slower at 100,000."
        ),
        why="The direction turns and the difference is not slight; nothing is said of why.",
    )


def _find_couchbase_postgresql() -> PaperFinding:
    ratios = []
    for operation, n in product(TIMES, SIZES):
        ratio = (
            get_time(operation, "PostgreSQL", n).value / get_time(operation, "Couchbase", n).value
        )
        ratios.append((ratio, f"{operation}, {n:,}"))
    near = sum(1 / SIMILAR <= ratio <= SIMILAR for ratio, _ in ratios)
    most, place = max(ratios)
    postgresql = get_times("insert replicated", "PostgreSQL")
    inserts = postgresql / get_times("insert replicated", "Couchbase")
    return PaperFinding(
        name="crud.couchbase-postgresql",
        title="Couchbase and PostgreSQL, very similar",
        kind="contradiction",
        source="Sections V and VI against Tables II to VIII",
        as_printed=(
            "In both environments the two perform alike; of replicated inserts it is said once "
            "more."
        ),
        recomputed=(
            f"They lie within a factor of {SIMILAR:g} in {near} of {len(ratios)} places. "
            f"PostgreSQL over Couchbase reaches {most:.1f} ({place}) and is "
            f"{list_values(inserts, '.2f')} for replicated inserts."
        ),
        why="Only the single inserts are alike.",
    )


def _find_second_place() -> PaperFinding:
    mongodb = get_time("delete replicated", "MongoDB", 100_000).value
    couchbase = get_time("delete replicated", "Couchbase", 100_000).value
    return PaperFinding(
        name="crud.second-place",
        title="MongoDB before Couchbase",
        kind="contradiction",
        source="Section V against Table VII",
        as_printed=(
            "Among document stores CouchDB deletes fastest in both topologies, then MongoDB, then "
            "Couchbase."
        ),
        recomputed=(
            f"Replicated, at 100,000 records, Couchbase takes {couchbase} ms and MongoDB {mongodb}."
        ),
        why=(
            f"A difference of {100 * (mongodb / couchbase - 1):.0f} % in one place of six; without "
            "a spread it is unknown whether it is real."
        ),
    )


def _find_better_than_relational() -> PaperFinding:
    lost = []
    for operation, n in product(TIMES, SIZES):
        rival = find_quickest(operation, RELATIONAL, n)
        ratio = get_time(operation, "MongoDB", n).value / rival.value
        if ratio > 1:
            lost.append(f"{operation}, {n:,} ({rival.row}, {ratio:.2f})")
    return PaperFinding(
        name="crud.better-than-relational",
        title="MongoDB, like a relational store but faster",
        kind="contradiction",
        source="Section VI against Tables III and IV",
        as_printed=(
            "Those who want relational behaviour with better performance should take MongoDB."
        ),
        recomputed=(
            f"MongoDB is slower than the best relational store in {len(lost)} of "
            f"{len(TIMES) * len(SIZES)} places: {'; '.join(lost)}."
        ),
        why=(
            "Both are at the largest size, which is what the paper is about; and those columns "
            "were measured on other machines."
        ),
    )


def _find_overall() -> PaperFinding:
    pairs = list(product(TIMES, SIZES, DOCUMENT, RELATIONAL))
    lost = [
        (operation, n, document, relational)
        for operation, n, document, relational in pairs
        if get_time(operation, document, n).value >= get_time(operation, relational, n).value
    ]
    selects = [
        f"{document} behind {relational}, {operation}, {n:,}"
        for operation, n, document, relational in lost
        if operation == SELECT
    ]
    return PaperFinding(
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
            f"which {len(TIMES)} tables make one overall."
        ),
    )


def _find_another_papers_columns() -> PaperFinding:
    each = get_crud_number("Section IV", "virtual machines", "each database").value
    every = get_crud_number("Section IV", "virtual machines", "all").value
    return PaperFinding(
        name="crud.another-papers-columns",
        title="Relational columns from another paper",
        kind="unsupported",
        source="Sections I and IV",
        as_printed=(
            f"Six databases are compared; nine virtual machines were set up, {each:.0f} for each "
            "database."
        ),
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


def _find_no_variance() -> PaperFinding:
    batches = get_crud_number("Section IV", "batches", "each number of records").value
    means = len(TIMES) * len(DATABASES) * len(SIZES)
    return PaperFinding(
        name="crud.no-variance",
        title="50 batches and no spread",
        kind="not shown",
        source="Section IV; Tables II to VIII",
        as_printed=(
            f"Each batch ran {batches:.0f} times; between single and distributed databases there "
            "are significant differences."
        ),
        recomputed=(
            f"{means} means are printed without a spread; no test can be made of any of them."
        ),
        why=(
            "Significance is claimed in words. A difference of 1 % and one of 100 % stand on the "
            "same footing."
        ),
    )


def _find_constraints() -> PaperFinding:
    ratios = {}
    for operation in TIMES:
        relational = [get_time(operation, name, 100_000).value for name in RELATIONAL]
        document = [get_time(operation, name, 100_000).value for name in ("MongoDB", "Couchbase")]
        ratios[operation] = geometric_mean(relational) / geometric_mean(document)
    writes = list_values([ratios[operation] for operation in WRITES], ".1f")
    return PaperFinding(
        name="crud.constraints",
        title="Constraints as the reason",
        kind="unsupported",
        source="Section V",
        as_printed=(
            "Relational systems may be slower because they check integrity when they insert, "
            "update and delete."
        ),
        recomputed=(
            "At 100,000 records the relational systems' geometric mean over MongoDB's and "
            f"Couchbase's is {ratios[SELECT]:.1f} for selects, which check nothing, and {writes} "
            "for the six tables of writes."
        ),
        why=(
            "The gap is as wide where the reason cannot apply. Here constraints are a factor "
            "(`constraints`)."
        ),
    )


def _find_steps() -> PaperFinding:
    growth = []
    for operation, database, (fewer, more) in product(TIMES, DATABASES, pairwise(SIZES)):
        ratio = (
            get_time(operation, database, more).value / get_time(operation, database, fewer).value
        )
        growth.append((ratio, f"{database}, {operation}"))
    outside = sum(not 5 <= ratio <= 20 for ratio, _ in growth)
    least, lowest_of = min(growth)
    most, highest_of = max(growth)
    return PaperFinding(
        name="crud.steps",
        title="Ten times the records",
        kind="not shown",
        source="Tables II to VIII",
        as_printed=(
            "Operations are single calls, one after the other; nothing is said of how times grow."
        ),
        recomputed=(
            f"Of {len(growth)} steps from one size to ten times as many, {outside} lie outside 5 "
            f"to 20 times: from {least:.1f} ({lowest_of}) to {most:.1f} ({highest_of})."
        ),
        why=(
            "Single calls on an indexed table should grow tenfold. A cache that fills or a missing "
            "index would show here, and would make the contrast of that size one of the cache."
        ),
    )


def _find_no_unit() -> PaperFinding:
    insert = get_time("insert single", "MongoDB", 100_000).value
    select = get_time(SELECT, "MongoDB", 100_000).value
    return PaperFinding(
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
