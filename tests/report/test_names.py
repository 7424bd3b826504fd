"""A database, a network, a quantity and a unit have one name in a report and an explorer.

Both are built from the committed run.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from benchbook.analysis.quantities import DERIVED
from benchbook.analysis.runs import Analysis
from benchbook.explorer import questions, site
from benchbook.papers import findings, replication
from benchbook.plots.claim_lines import write_line
from benchbook.plots.exhibit import Exhibit
from benchbook.registry import products
from benchbook.report.sections import render_claims
from benchbook.report.tables import render_t_tests
from benchbook.studies.catalogue import SLUGS
from benchbook.text import names, number_format
from benchbook.text.names import name_metric

TITLES = [products.load_product(name).title for name in products.PRODUCTS]
PRODUCT = "|".join(["Microsoft SQL Server", *TITLES])
NAMED_DATABASE = re.compile(
    rf"(?:{PRODUCT})(?: \((?!Python|Java|Node)[^)]*\)|, JSONB?\b|, mongoengine\b)?"
)
RAW_NETWORK = re.compile(r"\b(?:lan-100m|lan-1g|wan|\d+cores?)\b")
TIMES = {"s", "ms", "µs", "ns"}
SIZES = {"GB", "MB", "KB", "B"}
UNITS = {*TIMES, *SIZES, "Kbps", "%"}


def list_exhibit_labels(exhibit: Exhibit) -> Iterator[str]:
    """Yield the texts that name rows, columns, panels, series and axes; no claim's sentence."""
    frame = exhibit.frame
    if exhibit.drawing is None:
        yield from frame.columns
        yield from frame.iloc[:, 0].astype(str)
        return
    for column in ("panel", "series") if "claim" in frame else ("panel", "series", "level"):
        yield from frame[column].astype(str)
    yield getattr(exhibit.drawing, "axis", "")
    yield from getattr(exhibit.drawing, "axes_names", ())


def list_claim_labels(analysis: Analysis) -> Iterator[str]:
    """Yield the ratio of each claim, and the place where it ran."""
    for claim in analysis.verdicts:
        line = write_line(claim)
        yield from (line.divided, line.place)


@pytest.fixture(scope="module")
def explored(committed: Analysis) -> list[dict[str, Any]]:
    """What the explorer's page reads about the first question of each paper."""
    encoded = []
    for measured in committed.studies.values():
        first, *_ = questions.list_pairs(measured)
        encoded.append(site.encode_answers(measured, first))
    return encoded


@pytest.fixture(scope="module")
def labels(
    committed: Analysis,
    committed_exhibits: dict[str, Exhibit],
    explored: list[dict[str, Any]],
) -> set[str]:
    """All labels of the report and the explorer."""
    found = {*list_claim_labels(committed)}
    for exhibit in committed_exhibits.values():
        found.update(list_exhibit_labels(exhibit))
    for answers in explored:
        for control in answers["controls"]:
            found.add(control["called"])
            found.update(option["called"] for option in control["options"])
    return {str(label) for label in found}


def test_a_database_has_one_name(labels: set[str]):
    found = set()
    for label in labels:
        found.update(NAMED_DATABASE.findall(label.replace(replication.PUBLISHED_SUFFIX, "")))
    assert {"MongoDB", "MySQL (tables)", "PostgreSQL (tables)", "SQL Server"} <= found
    assert found <= set(names.DATABASES.values())


def test_no_two_databases_share_a_name_and_each_begins_with_its_product():
    named = {database: products.name_database(database) for database in products.ADAPTERS}
    assert len(set(named.values())) == len(named)
    for database, name in named.items():
        assert name.startswith(products.load_database_product(database).title or "no database")


def test_a_network_has_one_name(committed: Analysis, labels: set[str]):
    ran = committed.means["network"].dropna().unique()
    assert {"none", "lan-100m"} <= set(ran)
    assert "loopback" in labels and "100 Mbit/s" in labels
    assert not [label for label in labels if RAW_NETWORK.search(label)]
    pages = [render_t_tests(committed.t_tests).data]
    for study in SLUGS:
        of_study = [claim for claim in committed.verdicts if claim.study == study]
        pages.append(render_claims(of_study, committed.comparisons).data)
    for page in pages:
        assert "network=" not in page
        for database in names.DATABASES:
            assert f"database = {database}" not in page


def test_notes_of_tables_and_the_papers_own_numbers_have_the_same_names(
    committed_exhibits: dict[str, Exhibit],
):
    texts = [finding.recomputed for finding in findings.load_findings()]
    texts += [*findings.load_checks()["says"]]
    for exhibit in committed_exhibits.values():
        # After a colon a note quotes the paper.
        texts += [note.partition(":")[0] for note in exhibit.notes]
    assert any("SQL Server" in text for text in texts)
    former = ("Microsoft SQL Server", "share of the CPU")
    assert not [text for text in texts if any(word in text for word in former)]


def test_a_quantity_has_one_name_and_only_its_units_share_it(labels: set[str]):
    # The same quantity in another unit has the same name.
    same = {derived.metric: derived.of for derived in DERIVED if derived.per is None}
    metrics = {*names.METRICS, *same, *(derived.metric for derived in DERIVED)}
    by_name: dict[str, set[str]] = {}
    for metric in metrics:
        by_name.setdefault(name_metric(metric), set()).add(metric)
    for name, sharing in by_name.items():
        stored = {same.get(metric, (metric,)) for metric in sharing}
        assert len(stored - {("cpu_user", "cpu_system")}) == 1, name

    # What a claim divides ends with the quantity's name.
    assert "XML / JSON, CPU time" in labels
    assert "elapsed time, ms" in labels
    former = (
        "share of the CPU",
        "RSS",
        "wall time",
        "time until",
        "execution time",
        "data transfer",
    )
    assert not [label for label in labels if any(word in label for word in former)]


@pytest.mark.parametrize("study", SLUGS)
def test_a_claim_names_the_quantity_that_is_compared(study: str, committed: Analysis):
    for claim in committed.verdicts:
        if claim.study == study and claim.a:
            assert write_line(claim).divided.endswith(f", {name_metric(claim.metric)}")


def test_a_unit_has_one_name_on_an_answers_axis_and_in_its_values(explored: list[dict[str, Any]]):
    compared = 0
    for answers in explored:
        for answer in answers["answers"]:
            values = {answer["shown_a"], answer["shown_b"]} - {number_format.NOT_PRINTED}
            units = {answer["unit"], *(value.rpartition(" ")[2] for value in values)}
            assert len(units) == 1, answer
            assert units <= UNITS
            compared += len(values)
    assert compared > 1000


def test_a_unit_has_one_name_in_all_figures(committed_exhibits: dict[str, Exhibit]):
    units = set()
    for exhibit in committed_exhibits.values():
        if "unit" in exhibit.frame:
            units.update(exhibit.frame["unit"])
    assert units - {"", "ratio", "claims"} <= UNITS
