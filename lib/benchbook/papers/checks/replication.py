"""Checks on the replication paper's own numbers, and the numbers of its findings."""

from collections.abc import Iterator
from functools import partial
from operator import add

from benchbook.analysis.published import PublishedNumber
from benchbook.papers.printed_checks import (
    FindingNumbers,
    PrintedCheck,
    Values,
    check_likeness,
    check_number,
    check_order,
    get_number,
    get_values,
)

FORMATS = ("JSON", "XML")
DATABASES = ("MongoDB", "CouchDB", "RethinkDB")

FIGURES = {
    "Fig. 15": ("bandwidth", 1, DATABASES),
    "Fig. 16": ("share of the CPU", 1, ("MongoDB",)),
    "Fig. 17": ("memory", 0.1, DATABASES),
    "Fig. 18": ("CPU time", 0.01, DATABASES),
}
"""Measures of the figures, the step of the monitor, and databases whose averages are printed."""

READINGS = 5
"""Readings in an average: one of each number of documents."""

number = partial(get_number, "replication")


def list_checks() -> Iterator[PrintedCheck]:
    """Yield the checks: JSON against XML, the averages' steps, the numbers of records."""
    yield from _check_json_against_xml()
    yield from _check_averages()
    yield from _check_records()


def _check_json_against_xml() -> Iterator[PrintedCheck]:
    """Check which format the abstract and Section IV say needs less."""
    sentences = "Abstract, Section IV"
    for figure, (measure, _, databases) in FIGURES.items():
        for database in databases:
            json, xml = get_json_and_xml(figure, database)
            if measure == "CPU time":
                says = f"XML's {measure} below JSON's, {database}"
                yield check_order(sentences, xml, json, says=says)
            else:
                says = f"JSON's {measure} below XML's, {database}"
                yield check_order(sentences, json, xml, says=says)

    for database in DATABASES:
        json, xml = get_json_and_xml("Fig. 18", database)
        says = f"XML's CPU time close to JSON's, {database}"
        yield check_likeness(sentences, xml, json, says=says)


def _check_averages() -> Iterator[PrintedCheck]:
    """Check that each average is a mean of five readings in the monitor's steps.

    This is the GRIM test of Brown and Heathers, Social Psychological and Personality Science 8
    (2017) 363-369.
    """
    for figure, (measure, step, databases) in FIGURES.items():
        for database in databases:
            for format in FORMATS:
                average = number(figure, database, format)
                nearest = round(average.value / (step / READINGS)) * (step / READINGS)
                yield check_number(
                    average,
                    partial(float, nearest),
                    says=(
                        f"{measure}, {database}, {format}: nearest mean of five readings in steps "
                        f"of {step:g} {average.unit}"
                    ),
                    rounding=step / READINGS / 4,
                )


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


def get_json_and_xml(figure: str, database: str) -> tuple[PublishedNumber, PublishedNumber]:
    """Return a database's averages of JSON and XML."""
    return number(figure, database, "JSON"), number(figure, database, "XML")


def compute_change(figure: str) -> Values:
    """Return by how many percent XML's averages are above JSON's, for each database."""
    _, _, databases = FIGURES[figure]
    json, xml = (
        get_values(number(figure, name, format) for name in databases) for format in FORMATS
    )
    return 100 * (xml / json - 1)


def compute_findings() -> FindingNumbers:
    """Return the numbers of each finding in ``data/findings/replication.yaml``."""
    bandwidth, share, memory, seconds = map(compute_change, FIGURES)
    json_share, xml_share = get_json_and_xml("Fig. 16", "MongoDB")
    averages = list(_check_averages())
    agree = sum(average.agrees for average in averages)
    return {
        "replication.couchdb-or-arangodb": {"version": number("Table I", "CouchDB", "master")},
        "replication.json-twice": {"json": json_share, "xml": xml_share, "more": share},
        "replication.single-readings": {
            "agree": agree,
            "averages": len(averages),
            "readings": READINGS,
            "chances": 2**agree,
        },
        "replication.no-variance": {"share": share, "seconds": seconds},
        "replication.cpu-seconds": {
            "json": get_values(number("Fig. 18", name, "JSON") for name in DATABASES),
            "more": seconds,
        },
        "replication.rate-not-amount": {"more": bandwidth},
        "replication.share-against-seconds": {
            "share": share[0],
            "seconds": seconds[0],
            "shorter": 100 * (1 - (100 + seconds[0]) / (100 + share[0])),
        },
        "replication.two-nodes": {
            node: [number("Table II", part, node).printed for part in ("processor", "clock")]
            for node in ("master", "slave")
        },
        "replication.sizes-of-effects": {
            "bandwidth": bandwidth,
            "memory": memory,
            "seconds": seconds,
        },
    }
