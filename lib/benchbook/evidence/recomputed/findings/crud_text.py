"""`crud`: sentences that its own tables contradict."""

from itertools import product
from typing import Final

from benchbook.evidence.recomputed.check import SIMILAR
from benchbook.evidence.recomputed.checks.crud import RELATIONAL, SIZES, TABLES, pairs, time
from benchbook.evidence.recomputed.finding import Finding, listed

_SQL: Final = "Microsoft SQL Server"
_UPDATE, _DELETE = ("update", "single"), ("delete", "single")


def sqlserver_delete() -> Finding:
    """At 1,000 records SQL Server is the slowest relational delete, not the quickest."""
    small = {engine: time(_DELETE, engine, SIZES[0]).value for engine in RELATIONAL}
    return Finding(
        "crud.sqlserver-delete",
        "The best relational delete",
        "contradiction",
        "Section V against Table VI",
        "On one node SQL Server deletes fastest among the relational systems.",
        f"At 1,000 records it takes {small[_SQL]:g} ms, MySQL {small['MySQL']:g} and PostgreSQL "
        f"{small['PostgreSQL']:g}: it is the slowest, by {small[_SQL] / small['PostgreSQL']:.1f} times. At 10,000 "
        "and 100,000 the sentence holds.",
        "The ranking turns with the number of records; the text gives one for all.",
    )


def postgresql_update() -> Finding:
    """At 1,000 records MySQL updates slower than PostgreSQL, which then jumps thirtyfold."""
    one, two = (time(_UPDATE, engine, SIZES[0]).value for engine in ("PostgreSQL", "MySQL"))
    grown = time(_UPDATE, "PostgreSQL", SIZES[1]).value / one
    return Finding(
        "crud.postgresql-update",
        "The worst update",
        "contradiction",
        "Section V against Table IV",
        "On one node PostgreSQL updates slowest.",
        f"At 1,000 records it takes {one} ms and MySQL {two}; from there to 10,000 PostgreSQL's time grows "
        f"{grown:.0f} times.",
        "Ten times the records and thirty times the time: something other than updates set in, perhaps a checkpoint "
        "or vacuum.",
    )


def close_updates() -> Finding:
    """SQL Server's update is twice MongoDB's at 1,000 records."""
    ratios = [time(_UPDATE, _SQL, n).value / time(_UPDATE, "MongoDB", n).value for n in SIZES]
    return Finding(
        "crud.close-updates",
        "SQL Server's updates, very close to MongoDB's",
        "contradiction",
        "Section V against Table IV",
        "SQL Server's updates on one node take nearly the same time as MongoDB's.",
        f"SQL Server over MongoDB is {listed(ratios, '.2f')} at the three sizes.",
        "True of the two larger sizes. At 1,000 records the relational system takes twice as long.",
    )


def mysql_couchbase() -> Finding:
    """MySQL's update is 73 % over Couchbase's at 10,000."""
    ratios = [time(_UPDATE, "MySQL", n).value / time(_UPDATE, "Couchbase", n).value for n in SIZES]
    return Finding(
        "crud.mysql-couchbase",
        "MySQL's updates, very close to Couchbase's",
        "contradiction",
        "Section V against Table IV",
        "MySQL and Couchbase update in nearly the same time.",
        f"MySQL takes {listed([100 * (ratio - 1) for ratio in ratios], '.0f')} % more at the three sizes.",
        "Of three sizes only the largest is close.",
    )


def slightly_worse() -> Finding:
    """MongoDB's slightly worse is 45 %."""
    place = ("insert", "replicated")
    ratios = [time(place, "MongoDB", n).value / time(place, "PostgreSQL", n).value for n in SIZES]
    return Finding(
        "crud.slightly-worse",
        "Slightly worse by half",
        "contradiction",
        "Section V against Table III",
        "Replicated, MongoDB inserts slightly slower than PostgreSQL when the number is high.",
        f"MongoDB over PostgreSQL is {listed(ratios, '.2f')}: quicker at the two smaller sizes, "
        f"{100 * (ratios[-1] - 1):.0f} % slower at 100,000.",
        "The direction turns and the difference is not slight; nothing is said of why.",
    )


def couchbase_postgresql() -> Finding:
    """Couchbase and PostgreSQL are alike in a third of the places."""
    ratios = {
        (place, n): time(place, "PostgreSQL", n).value / time(place, "Couchbase", n).value
        for place, n in product(TABLES, SIZES)
    }
    near = [place for place, ratio in ratios.items() if 1 / SIMILAR <= ratio <= SIMILAR]
    (worst, n), most = max(ratios.items(), key=lambda one: one[1])
    inserts = [ratios[("insert", "replicated"), size] for size in SIZES]
    return Finding(
        "crud.couchbase-postgresql",
        "Couchbase and PostgreSQL, very similar",
        "contradiction",
        "Sections V and VI against Tables II to VIII",
        "In both environments the two perform alike; of replicated inserts it is said once more.",
        f"They lie within a factor of {SIMILAR:g} in {len(near)} of {len(ratios)} places. PostgreSQL over Couchbase "
        f"reaches {most:.1f} ({' '.join(worst)}, {int(n):,}) and is {listed(inserts, '.2f')} for replicated inserts.",
        "Alike are the single inserts and little else.",
    )


def second_place() -> Finding:
    """Couchbase deletes quicker than MongoDB at 100,000, replicated."""
    mongodb, couchbase = (
        time(("delete", "replicated"), engine, SIZES[-1]).value for engine in ("MongoDB", "Couchbase")
    )
    return Finding(
        "crud.second-place",
        "MongoDB before Couchbase",
        "contradiction",
        "Section V against Table VII",
        "Among document stores CouchDB deletes fastest in both topologies, then MongoDB, then Couchbase.",
        f"Replicated, at 100,000 records, Couchbase takes {couchbase} ms and MongoDB {mongodb}.",
        f"A difference of {100 * (mongodb / couchbase - 1):.0f} % in one place of six; without a spread nobody can "
        "say whether it is one.",
    )


def better_than_relational() -> Finding:
    """MongoDB loses to a relational store in two places."""
    lost = [
        f"{' '.join(place)}, {int(n):,} ({rival.row}, {ours.value / rival.value:.2f})"
        for place, n in product(TABLES, SIZES)
        if (ours := time(place, "MongoDB", n)).value
        > (rival := min((time(place, engine, n) for engine in RELATIONAL), key=lambda one: one.value)).value
    ]
    return Finding(
        "crud.better-than-relational",
        "MongoDB, like a relational store but faster",
        "contradiction",
        "Section VI against Tables III and IV",
        "Who wants relational behaviour with better performance should take MongoDB.",
        f"MongoDB is slower than the best relational store in {len(lost)} of {len(TABLES) * len(SIZES)} places: "
        f"{'; '.join(lost)}.",
        "Both are at the largest size, which is what the paper is about; and those columns are of other machines.",
    )


def overall() -> Finding:
    """The families overlap, in selects too."""
    lost = [
        f"{left.row} behind {right.row}, {' '.join(place)}, {int(n):,}"
        for place, n, left, right in pairs()
        if left.value >= right.value
    ]
    every = sum(1 for _ in pairs())
    selects = [one for one in lost if "select" in one]
    return Finding(
        "crud.overall",
        "Documents before rows, overall",
        "unsupported",
        "Section VI against all tables",
        "Overall the NoSQL systems do better than the relational ones.",
        f"Pair by pair a document store is quicker in {every - len(lost)} of {every} places. It is not in "
        f"{len(lost)}, {len(selects)} of them selects ({'; '.join(selects)}).",
        f"A third of these pairs are CouchDB's, whose unit is in doubt. No weights are given by which {len(TABLES)} "
        "tables make one overall.",
    )


FINDINGS: Final = (
    sqlserver_delete,
    postgresql_update,
    close_updates,
    mysql_couchbase,
    slightly_worse,
    couchbase_postgresql,
    second_place,
    better_than_relational,
    overall,
)
