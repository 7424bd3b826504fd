"""Checks and findings on the replication paper's own numbers."""

from collections.abc import Iterator
from functools import partial
from operator import add, truediv

from benchbook.analysis.published import PublishedNumber
from benchbook.papers.recomputed import (
    PaperFinding,
    PrintedCheck,
    Values,
    check_likeness,
    check_number,
    check_order,
    get_number,
    get_values,
    list_values,
)

DATABASES = ("MongoDB", "CouchDB", "RethinkDB")

number = partial(get_number, "replication")


def list_checks() -> Iterator[PrintedCheck]:
    """Yield the checks: JSON against XML, the averages' steps, the numbers of records."""
    yield from _check_json_against_xml()
    yield from _check_averages()
    yield from _check_records()


def _check_json_against_xml() -> Iterator[PrintedCheck]:
    """Check which format the abstract and Section IV say needs less."""
    sentences = "Abstract, Section IV"
    for database in DATABASES:
        says = f"JSON's bandwidth below XML's, {database}"
        yield check_order(sentences, truediv, *get_json_and_xml("Fig. 15", database), says=says)

    # Of the share of the CPU only MongoDB's averages are printed.
    says = "JSON's share of the CPU below XML's, MongoDB"
    yield check_order(sentences, truediv, *get_json_and_xml("Fig. 16", "MongoDB"), says=says)

    for database in DATABASES:
        says = f"JSON's memory below XML's, {database}"
        yield check_order(sentences, truediv, *get_json_and_xml("Fig. 17", database), says=says)

    for database in DATABASES:
        json, xml = get_json_and_xml("Fig. 18", database)
        says = f"XML's CPU time below JSON's, {database}"
        yield check_order(sentences, truediv, xml, json, says=says)

    for database in DATABASES:
        json, xml = get_json_and_xml("Fig. 18", database)
        says = f"XML's CPU time close to JSON's, {database}"
        yield check_likeness(sentences, truediv, xml, json, says=says)


def _check_records() -> Iterator[PrintedCheck]:
    """Check the numbers of records of Section II.B."""
    for level in (1, 2, 3, 4):
        yield check_number(
            number("Section II.B", "records", f"level {level + 1}"),
            add,
            number("Section II.B", "records", f"level {level}"),
            number("Section II.B", "records", "level 1"),
            says=f"level {level} and a step more",
        )
    yield check_number(
        number("Section III.B", "repetitions of the insert", "source code shown"),
        float,
        number("Section II.B", "records", "level 5"),
        says="repetitions in the code shown: the largest level",
    )


def _check_averages() -> Iterator[PrintedCheck]:
    """Check that each average is a mean of five readings in the monitor's steps.

    This is the GRIM test of Brown and Heathers, Social Psychological and Personality Science 8
    (2017) 363-369.
    """
    for figure, measure, step, databases in (
        ("Fig. 15", "bandwidth", 1, DATABASES),
        ("Fig. 16", "share of the CPU", 1, ("MongoDB",)),
        ("Fig. 17", "memory", 0.1, DATABASES),
        ("Fig. 18", "CPU time", 0.01, DATABASES),
    ):
        for database in databases:
            for format in ("JSON", "XML"):
                average = number(figure, database, format)
                nearest = round(average.value / (step / 5)) * (step / 5)
                yield check_number(
                    average,
                    partial(float, nearest),
                    says=(
                        f"{measure}, {database}, {format}: nearest mean of five readings in steps "
                        f"of {step:g} {average.unit}"
                    ),
                    rounding=step / 5 / 4,
                )


def list_findings() -> Iterator[PaperFinding]:
    """Yield the findings that do not follow."""
    yield _find_couchdb_or_arangodb()
    yield _find_json_twice()
    yield _find_single_readings()
    yield _find_no_variance()
    yield _find_cpu_seconds()
    yield _find_rate_not_amount()
    yield _find_share_against_seconds()
    yield _find_two_nodes()
    yield _find_sizes_of_effects()
    yield PaperFinding(
        name="replication.wrong-product",
        title="RethinkDB's code, called CouchDB's",
        kind="misprint",
        source="Fig. 9",
        as_printed="caption: RethinkDB; text: CouchDB.",
        recomputed="Figs. 7 and 8 are CouchDB's, 9 and 10 RethinkDB's: the caption is right.",
        why="A slip of copying, without consequence for the numbers.",
    )


def get_json_and_xml(figure: str, database: str) -> tuple[PublishedNumber, PublishedNumber]:
    """Return a database's averages of JSON and XML."""
    return number(figure, database, "JSON"), number(figure, database, "XML")


def get_averages(figure: str, format: str) -> Values:
    """Return a figure's averages in the order of `DATABASES`."""
    return get_values(number(figure, database, format) for database in DATABASES)


def _compute_change(figure: str) -> str:
    """Return by how many percent XML's averages are above JSON's, as a sentence lists them."""
    ratios = get_averages(figure, "XML") / get_averages(figure, "JSON")
    return list_values(100 * (ratios - 1), "+.1f")


def _find_couchdb_or_arangodb() -> PaperFinding:
    version = number("Table I", "CouchDB", "master")
    return PaperFinding(
        name="replication.couchdb-or-arangodb",
        title="ArangoDB or CouchDB",
        kind="contradiction",
        source="Abstract and Section I against Table I and Section III",
        as_printed=(
            "The abstract's list of stores and the introduction name ArangoDB; the abstract's "
            "results name CouchDB."
        ),
        recomputed=(
            f"Table I has CouchDB {version.printed} and no ArangoDB, and so have all figures."
        ),
        why=(
            "ArangoDB was not measured. A citation of the abstract for it has no measurement "
            "behind it."
        ),
    )


def _find_json_twice() -> PaperFinding:
    json, xml = get_json_and_xml("Fig. 16", "MongoDB")
    return PaperFinding(
        name="replication.json-twice",
        title="JSON is smaller than JSON",
        kind="misprint",
        source="Text of Fig. 16",
        as_printed=(
            f"MongoDB's CPU share is {json.printed} in JSON, less than {xml.printed} in JSON."
        ),
        recomputed=(
            f"Abstract and conclusion call JSON's the smaller one, so that {xml.printed} is XML's: "
            f"{100 * (xml.value / json.value - 1):+.1f} %."
        ),
        why="Read as meant here and in all tables.",
    )


def _find_single_readings() -> PaperFinding:
    averages = list(_check_averages())
    agree = sum(average.agrees for average in averages)
    return PaperFinding(
        name="replication.single-readings",
        title="Averages of five single readings",
        kind="not shown",
        source="Figs. 15 to 18; Section II.B",
        as_printed="Averages are compared; how often each number of documents ran is not said.",
        recomputed=(
            f"{agree} of {len(averages)} averages lie on the grid of means of 5 readings as the "
            "monitor rounds them (1 Kbps, 1 %, 0.1 MB, 0.01 s). Of last digits that mean nothing "
            f"half would: 1 chance in {2**agree:,} for all."
        ),
        why=(
            "There are five numbers of documents, so each probably ran once. The spread within one "
            "number is unknown, not only unprinted."
        ),
    )


def _find_no_variance() -> PaperFinding:
    json, xml = get_json_and_xml("Fig. 16", "MongoDB")
    return PaperFinding(
        name="replication.no-variance",
        title="Significant without a test",
        kind="unsupported",
        source="Abstract, Sections III.D and IV",
        as_printed=(
            "CPU shares of CouchDB and RethinkDB do not differ significantly; MongoDB's do, and "
            "XML's CPU time is a little less."
        ),
        recomputed=(
            f"MongoDB's shares differ by {100 * (xml.value / json.value - 1):+.1f} %, the times by "
            f"{_compute_change('Fig. 18')} %. No spread is printed and no test made; for the two "
            "that do not differ not even the averages are."
        ),
        why=(
            "One per cent is taken for a difference in one sentence and, for all that is shown, "
            "for none in another."
        ),
    )


def _find_cpu_seconds() -> PaperFinding:
    json = get_averages("Fig. 18", "JSON")
    return PaperFinding(
        name="replication.cpu-seconds",
        title="Execution time that is CPU time",
        kind="contradiction",
        source="Section III.C against Abstract and Fig. 18",
        as_printed="The average execution time of XML is the shorter one.",
        recomputed=(
            "The measure is system and user CPU seconds of the server processes: "
            f"{list_values(json, '.1f')} s in JSON of MongoDB, CouchDB, RethinkDB. XML's are "
            f"{_compute_change('Fig. 18')} %."
        ),
        why=(
            "How long replication takes is not in the paper. A store that waits for its disk or "
            "network uses little of this time."
        ),
    )


def _find_rate_not_amount() -> PaperFinding:
    return PaperFinding(
        name="replication.rate-not-amount",
        title="A rate for an amount",
        kind="unsupported",
        source="Section III.C; Fig. 15",
        as_printed="JSON needs less bandwidth, as its data are smaller.",
        recomputed=(
            f"XML's rate is {_compute_change('Fig. 15')} % in MongoDB, CouchDB, RethinkDB. A rate "
            "is bytes over a time that is not printed: equal bytes in less time give a higher one."
        ),
        why="The bytes sent are stored here beside the rate.",
    )


def _find_share_against_seconds() -> PaperFinding:
    json, xml = get_json_and_xml("Fig. 16", "MongoDB")
    share = xml.value / json.value
    json, xml = get_json_and_xml("Fig. 18", "MongoDB")
    seconds = xml.value / json.value
    return PaperFinding(
        name="replication.share-against-seconds",
        title="Less CPU and more CPU seconds",
        kind="contradiction",
        source="Figs. 16 and 18; Abstract",
        as_printed="In MongoDB JSON uses less CPU; its execution time is the longer one.",
        recomputed=(
            f"XML's share is {100 * (share - 1):+.1f} % and its CPU seconds are "
            f"{100 * (seconds - 1):+.1f} %. If both are of the same processes, XML's runs were "
            f"{100 * (1 - seconds / share):.1f} % shorter, for seconds over share is elapsed time."
        ),
        why=(
            "A smaller share is no smaller use. By seconds JSON uses more CPU, which is the "
            "opposite of the abstract's sentence."
        ),
    )


def _find_two_nodes() -> PaperFinding:
    processors = [number("Table II", "processor", node).printed for node in ("master", "slave")]
    clocks = [number("Table II", "clock", node).printed for node in ("master", "slave")]
    return PaperFinding(
        name="replication.two-nodes",
        title="One number for two machines",
        kind="not shown",
        source="Table II; Figs. 16 to 18",
        as_printed="CPU, memory and time are measured on master and slave.",
        recomputed=(
            f"One average a database and format is printed. The nodes differ: {processors[0]} at "
            f"{clocks[0]} and {processors[1]} at {clocks[1]}."
        ),
        why=(
            "Whether it is one node's, a mean or a sum is not said. Here each node has its own row."
        ),
    )


def _find_sizes_of_effects() -> PaperFinding:
    return PaperFinding(
        name="replication.sizes-of-effects",
        title="How much smaller",
        kind="not shown",
        source="Figs. 15, 17 and 18",
        as_printed=(
            "JSON is smaller in bandwidth and memory, XML a little quicker; no ratio is given."
        ),
        recomputed=(
            "XML against JSON in MongoDB, CouchDB, RethinkDB: bandwidth "
            f"{_compute_change('Fig. 15')} %; memory {_compute_change('Fig. 17')} %; CPU time "
            f"{_compute_change('Fig. 18')} %."
        ),
        why=(
            "One product shows a sixth more memory and the others a few per cent: what is "
            "concluded for the format depends on the store."
        ),
    )
