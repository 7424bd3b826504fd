"""`crud`: times that no machine of these could have made, and machines that are not its own."""

from typing import Final

from benchbook.evidence.recomputed.checks.crud import DOCUMENT, RELATIONAL, SIZES, WRITES, Place, time
from benchbook.evidence.recomputed.finding import Finding, listed
from benchbook.evidence.recomputed.printed import printed

INSERT: Final[Place] = ("insert", "single")
SELECT: Final[Place] = ("select", "single")
_SERVER: Final = "Microsoft SQL Server"
_COUCHDB: Final = "CouchDB"


def rate(place: Place, engine: str, n: str) -> float:
    """Return MB of documents a second."""
    kilobytes = printed("crud", "Section IV", "document", "size").value
    return int(n) * kilobytes / 1e3 / (time(place, engine, n).value / 1e3)


def couchdb_seconds() -> Finding:
    """CouchDB's times ask for a call in 1.4 us."""
    rates = [rate(INSERT, _COUCHDB, n) for n in SIZES]
    call = time(INSERT, _COUCHDB, SIZES[0]).value
    clock = printed("crud", "Section IV", "clock", "virtual machine").value
    return Finding(
        "crud.couchdb-seconds",
        "CouchDB at the speed of memory",
        "implausible",
        "Tables II to VII; Section IV",
        f"{int(SIZES[0]):,} inserts, one HTTP call each, take {call} ms; the headline is that CouchDB writes fastest.",
        f"That is {call:.2f} us a call, {call * clock * 1e3:,.0f} cycles of the {clock} GHz clock for a request, a "
        f"document written and an answer, and {listed(rates, '.0f')} MB/s of documents at the three sizes.",
        f"Read as seconds it is {int(SIZES[0]) / call:.0f} calls a second, which such a server can do. Seconds "
        "printed as milliseconds are likely; the printed values cannot be what the title says.",
    )


def couchdb_turned_round() -> Finding:
    """Read as seconds, CouchDB is not the quickest but the slowest."""
    slowest = [
        all(
            1e3 * time(place, _COUCHDB, n).value > time(place, other, n).value for other in (*RELATIONAL, *DOCUMENT[1:])
        )
        for place in WRITES
        for n in SIZES
    ]
    return Finding(
        "crud.couchdb-turned-round",
        "The headline, in seconds",
        "implausible",
        "Tables II to VII; Section VI",
        "CouchDB is the choice for applications that write much.",
        f"With its times a thousand times longer CouchDB is the slowest of all six in {sum(slowest)} of "
        f"{len(slowest)} places, and the slowest document store in all of them.",
        "The recommendation hangs on a unit.",
    )


def couchdb_update() -> Finding:
    """A read and a write take less time than the read."""
    update, select = (
        [time((operation, "single"), _COUCHDB, n).value for n in SIZES] for operation in ("update", "select")
    )
    return Finding(
        "crud.couchdb-update",
        "An update quicker than the read it begins with",
        "implausible",
        "Section IV; Tables IV and VIII",
        "In CouchDB an update first selects the document, then writes it back.",
        f"Its updates take {listed(update, '.4g')} ms, its selects alone {listed(select, '.4g')} ms.",
        "Reads and writes of CouchDB are not on one scale, as if the writes alone were printed in seconds.",
    )


def mongodb_select() -> Finding:
    """MongoDB's select moves gigabytes a second."""
    rates = {engine: [rate(SELECT, engine, n) for n in SIZES] for engine in DOCUMENT}
    most = time(SELECT, "MongoDB", SIZES[-1]).value
    return Finding(
        "crud.mongodb-select",
        "Selects that cannot return what they select",
        "implausible",
        "Table VIII; Section IV",
        f"All comments of an article are returned; MongoDB needs {most} ms at {int(SIZES[-1]):,} records of 1 KB.",
        f"That is {rates['MongoDB'][-1] / 1e3:.1f} GB/s from one process to another on a machine of two cores; "
        f"CouchDB and Couchbase come to {rates['CouchDB'][-1]:.0f} and {rates['Couchbase'][-1]:.0f} MB/s over HTTP.",
        "Either an article has a part of the comments, which is not said, or the cursor was opened and not drained. "
        "How many comments are returned is a factor here (`comments_per_article`).",
    )


def couchbase_inserts() -> Finding:
    """Replicating costs Couchbase nothing, to the last digit."""
    times = [[time((*INSERT[:1], topology), "Couchbase", n) for topology in ("single", "replicated")] for n in SIZES]
    equal = [int(n) for n, (one, two) in zip(SIZES, times, strict=True) if one.text == two.text]
    first = 100 * (times[0][1].value / times[0][0].value - 1)
    return Finding(
        "crud.couchbase-inserts",
        "Replicated times copied from the single ones",
        "implausible",
        "Tables II and III",
        "Inserts end when the replica holds them; each mean is of 50 batches.",
        "Couchbase's replicated means equal its single ones to the last digit at "
        f"{' and '.join(f'{n:,}' for n in equal)} records ({', '.join(two.text for _, two in times[1:])} ms); at "
        f"1,000 they are {first:.1f} % longer.",
        "Two means of 50 do not agree in six digits by chance. One column was copied, or the replica was not waited "
        "for.",
    )


def sqlserver_topologies() -> Finding:
    """SQL Server inserts faster replicated, and updates twenty times slower."""
    ratios = {
        operation: [
            time((operation, "replicated"), _SERVER, n).value / time((operation, "single"), _SERVER, n).value
            for n in SIZES
        ]
        for operation in ("insert", "update", "delete")
    }
    return Finding(
        "crud.sqlserver-topologies",
        "Twice as fast with a replica, and twenty times slower",
        "implausible",
        "Tables II to VII",
        "Replicated operations wait for the second node.",
        f"SQL Server's replicated times over its single ones: inserts {listed(ratios['insert'], '.2f')}, updates "
        f"{listed(ratios['update'], '.1f')}, deletes {listed(ratios['delete'], '.1f')}.",
        "Waiting for a second node cannot halve a time. The two topologies were not measured in the same way.",
    )


def sqlserver_seconds() -> Finding:
    """SQL Server's replicated times are whole seconds."""
    values = [
        time((operation, "replicated"), _SERVER, n).value for operation in ("insert", "update", "delete") for n in SIZES
    ]
    whole = sum(value % 1000 == 0 for value in values)
    others = [
        time(place, engine, n).value for place in WRITES for engine in (*RELATIONAL[1:], *DOCUMENT) for n in SIZES
    ]
    return Finding(
        "crud.sqlserver-seconds",
        "A clock of one second",
        "not shown",
        "Tables III, V and VII",
        "All times are means in milliseconds.",
        f"{whole} of SQL Server's {len(values)} replicated times are whole seconds, and "
        f"{sum(value % 1000 == 0 for value in others)} of the {len(others)} times of the others. At 1,000 records "
        f"half a second either way is {100 * 500 / min(values):.0f} % of the smallest.",
        "They were read off a coarser clock, or by hand. A mean of 50 batches would not end in three zeros nine times.",
    )


FINDINGS: Final = (
    couchdb_seconds,
    couchdb_turned_round,
    couchdb_update,
    mongodb_select,
    couchbase_inserts,
    sqlserver_topologies,
    sqlserver_seconds,
)
