"""`notebooks/07_the_papers_numbers` computes the checks and findings of `data/findings`."""

import contextlib
import io
import re
import shutil
from collections import Counter
from typing import Any, get_args

import nbformat
import pandas as pd
import papermill
import pytest

from benchbook import paths
from benchbook.analysis import claim_files
from benchbook.analysis.published import find_published_number, load_published_numbers
from benchbook.papers import findings
from benchbook.papers.crud import TIME_TABLES
from benchbook.studies.catalogue import SLUGS
from checkout import ROOT

NOTEBOOK = ROOT / "notebooks" / "07_the_papers_numbers.ipynb"

COUNTS = {
    "bookstore": (38, 35, 3),
    "tcp": (165, 147, 18),
    "drivers": (13, 13, 0),
    "crud": (98, 76, 22),
    "replication": (38, 38, 0),
}
"""Recomputed, agree, disagree."""

COUCHBASE = [
    f"Couchbase close to PostgreSQL, {place}"
    for place in (
        *(f"insert replicated, {n}" for n in ("1,000", "10,000", "100,000")),
        *(f"update single, {n}" for n in ("10,000", "100,000")),
        *(f"update replicated, {n}" for n in ("10,000", "100,000")),
        "delete single, 10,000",
        "delete single, 100,000",
        *(f"delete replicated, {n}" for n in ("1,000", "10,000", "100,000")),
        "select single, 10,000",
        "select single, 100,000",
    )
]
DISAGREE = {
    "bookstore": [
        "XML / JSON in time at 1,000 books below that at 10,000, case 1",
        "size of 1,000 books from that of 100, XML, case 2",
        "size of 1,000 books from that of 100, JSON, case 2",
    ],
    "tcp": [
        "user and system CPU together, trial 5, XML, in percent",
        "System CPU, trial 5, XML",
        "p of System CPU, Student's test of Table 7",
        "XML's user CPU below JSON's, trial 1",
        "JSON's User CPU below XML's, scenario 1",
        *(f"JSON's User CPU below XML's, trial {one}" for one in (2, 3, 4, 5)),
        "JSON's average time of trial 1 as in scenario 1",
        "JSON's user CPU of trial 1 not below that of the larger trials",
        "total time of scenario 1, XML, in minutes",
        "Memory of scenario 1, XML, in whole percent",
        "smallest User CPU of scenario 2, JSON, in whole percent",
        "largest User CPU of scenario 2, JSON, in whole percent",
        "smallest User CPU of scenario 2, XML, in whole percent",
        "largest System CPU of scenario 2, JSON, in whole percent",
        "largest System CPU of scenario 2, XML, in whole percent",
    ],
    "drivers": [],
    "crud": [
        "MongoDB only slightly worse than PostgreSQL, insert replicated, 100,000",
        "SQL Server close to MongoDB, update single, 1,000",
        "PostgreSQL slowest of all six, update single, 1,000 (MySQL next)",
        "MySQL close to Couchbase, update single, 10,000",
        "SQL Server quickest of the relational ones, delete single, 1,000 (PostgreSQL next)",
        "MongoDB quickest against Couchbase, delete replicated, 100,000 (Couchbase next)",
        "MongoDB quickest against the relational ones, insert replicated, 100,000 (PostgreSQL "
        "next)",
        "MongoDB quickest against the relational ones, update single, 100,000 (SQL Server next)",
        *COUCHBASE,
    ],
    "replication": [],
}
PLACES = {"100", "1,000", "10,000", "20,000", "100,000", *map(str, range(13))}
"""Numbers in findings that are not computed: sizes of data sets, counts, tables and figures."""
STEPS = {"0.1", "0.01"}
"""Steps of the monitor of the replication paper, likewise."""


def run_cells(until: str) -> dict[str, Any]:
    """Run the code of the notebook up to a notebook cell, without it, and return its names."""
    names: dict[str, Any] = {}
    for cell in nbformat.read(NOTEBOOK, 4).cells:
        if cell.id == until:
            return names
        if cell.cell_type == "code":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(cell.source, names)
    raise ValueError(f"there is no notebook cell {until}")


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    """The notebook with its outputs, as a user runs it."""
    return papermill.execute_notebook(
        NOTEBOOK,
        tmp_path_factory.mktemp("numbers") / "out.ipynb",
        kernel_name="python3",
        cwd=NOTEBOOK.parent,
        progress_bar=False,
    )


@pytest.fixture(scope="module")
def tools() -> dict[str, Any]:
    """The names of the first notebook cells: `propagate` and the kinds of check."""
    return run_cells("bookstore")


@pytest.fixture(scope="module")
def checks() -> pd.DataFrame:
    return findings.load_checks()


@pytest.fixture(scope="module")
def found() -> dict[str, findings.PaperFinding]:
    return {one.name: one for one in findings.load_findings()}


def test_all_that_the_notebook_computes_is_as_committed(executed, checks, found):
    (cell,) = [cell for cell in executed.cells if cell.id == "committed"]
    said = cell.outputs[0]["data"]["text/plain"]
    assert said == f"'{len(checks)} checks and {len(found)} findings are as committed.'"


def test_the_notebook_says_how_many_agree(executed, checks, found):
    agree = checks["agrees"].sum()
    counts = f"Of {len(checks)} numbers, bounds and orderings that can be recomputed, {agree} agree"
    said = f"{counts} and {len(checks) - agree} differ. There are {len(found)} findings"
    assert said in executed.cells[0].source


def test_each_number_of_a_findings_recomputation_is_marked(executed, found):
    texts = []
    for cell in executed.cells:
        shown = [output.get("data", {}) for output in cell.get("outputs", ())]
        texts += [data.get("text/markdown", "") for data in shown]
    cards = re.findall(r"^- \*recomputed:\* .*$", "\n".join(texts), re.MULTILINE)
    assert len(cards) == len(found)
    for card in cards:
        unmarked = re.sub("<mark>.*?</mark>", "", card)
        numbers = re.findall(r"\d(?:[\d,.]*\d)?", unmarked)
        assert {*numbers} <= PLACES | STEPS, card


def test_the_counts_of_checks_do_not_change(checks):
    counts = findings.count_checks(checks).set_index("study")
    rows = zip(counts.index, counts.to_numpy().tolist(), strict=True)
    assert {study: tuple(row) for study, row in rows} == COUNTS


@pytest.mark.parametrize("study", SLUGS)
def test_the_checks_that_disagree_do_not_change(study, checks):
    mine = checks[(checks["study"] == study) & ~checks["agrees"]]
    assert Counter(mine["says"]) == Counter(DISAGREE[study])


def test_each_check_has_its_own_description(checks):
    assert not checks.duplicated(["study", "says", "where"]).any()


def test_every_printed_value_is_counted_once():
    table = findings.load_coverage().set_index("study")
    counts = table.sum().to_dict()
    assert counts == {"recomputed": 155, "used": 197, "texts": 39, "alone": 74, "printed": 465}
    assert counts["printed"] == len(load_published_numbers())
    assert (table.drop(columns="printed").sum(axis=1) == table["printed"]).all()


def test_students_test_gives_table_8_and_explains_its_misprint():
    table = findings.load_t_tests().set_index(["measure", "reading"])
    as_meant = table.xs("as meant", level="reading")
    assert as_meant["agrees"].to_dict() == {
        "Total Time": True,
        "Average Time": True,
        "User CPU": True,
        "System CPU": False,
        "Memory": True,
    }
    assert as_meant["p"]["System CPU"] == pytest.approx(3.4e-8, rel=0.02)
    assert as_meant["p_welch"]["System CPU"] == pytest.approx(1.7e-5, rel=0.02)
    misread = table.loc["System CPU", "commas as separators"]
    assert (misread["n_json"], misread["n_xml"], round(misread["p"], 4)) == (5, 8, 0.0038)
    assert misread["agrees"]


def test_claims_and_checks_agree_on_what_the_crud_tables_measure(checks):
    in_order = ["insert", "insert", "update", "update", "delete", "delete", "select"]
    assert [*TIME_TABLES] == [
        f"Table {number}" for number in ("II", "III", "IV", "V", "VI", "VII", "VIII")
    ]
    assert [*TIME_TABLES.values()] == [
        *zip(in_order, [*3 * ["single", "replicated"], "single"], strict=True)
    ]
    for comparison in claim_files.load_paper_comparisons("crud"):
        assert {place.key[0] for place in comparison.places} in (set(), {*TIME_TABLES}), (
            comparison.name
        )
    mine = checks[checks["study"] == "crud"]
    for table, words in TIME_TABLES.items():
        said = mine[mine["says"].str.contains(" ".join(words))]
        assert len(said) and set(said["of"]) == {table}


def test_findings_are_complete_and_belong_to_a_study(found):
    names: list[str] = []
    for slug in SLUGS:
        mine = [one.name for one in findings.load_findings(slug)]
        assert all(name.startswith(f"{slug}.") for name in mine)
        names += mine
    assert [*found] == names
    assert len(found) == len(findings.load_findings())  # no name is used twice
    for one in found.values():
        texts = (one.title, one.source, one.as_printed, one.recomputed, one.why)
        assert all(len(text) > 5 for text in texts), one.name
        assert not re.search("nan|[{}]", one.recomputed), one.name
        assert one.kind in get_args(findings.FindingKind), one.name
    assert len(found) >= 60


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The notebook's names after one misprint is corrected and another is made."""
    folder = tmp_path_factory.mktemp("changed") / "published"
    shutil.copytree(paths.published_numbers(), folder)
    file = folder / "tcp.csv"
    text = file.read_text()
    for before, after in (
        ("75.77 minutes,75.77,", "75.78 minutes,75.78,"),
        ("Average Time,XML,4.55,4.55,", "Average Time,XML,4.65,4.65,"),
    ):
        assert before in text
        text = text.replace(before, after)
    file.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "published_numbers", lambda: folder)
        return run_cells("drivers-head")


def test_a_corrected_misprint_agrees_and_a_new_one_does_not(changed):
    disagree = [check.says for check in changed["checks"].values() if not check.agrees]
    assert "total time of scenario 1, XML, in minutes" in DISAGREE["tcp"]
    assert "total time of scenario 1, XML, in minutes" not in disagree
    assert "average time of scenario 1, XML: total time over objects" in disagree


def test_a_number_that_the_text_of_a_finding_does_not_have_is_named(changed):
    differ = {name: parts for name, parts in changed["shown"].items() if parts}
    assert differ == {"tcp.minutes": ["scenario 1: 75.78 minutes"]}


def test_rounding_of_the_sources_widens_the_tolerance(tools):
    get_number, check_number = tools["get_number"], tools["check_number"]
    total = get_number("tcp", "Table 1", "Total Time", "JSON")  # 78257.9
    doubled = tools["propagate"](lambda value: 2 * value, total)
    assert doubled == pytest.approx((156515.8, 0.1))
    claim = get_number("tcp", "Table 7", "Total Time", "JSON 1")  # 2213.1 for 2213.15
    source = get_number("tcp", "Table 3", "Trial 1 Total Time", "JSON")
    assert check_number(claim, float, source, says="").agrees
    assert not check_number(claim, lambda: 2213.16, says="").agrees


def test_an_order_within_the_rounding_does_not_agree(tools):
    check_order, check_likeness = tools["check_order"], tools["check_likeness"]
    # 1 and 12 KB.
    small, large = (
        find_published_number("bookstore", "Case 1 table", n, "JSON size") for n in ("10", "100")
    )
    assert check_order("", small, large, says="").agrees
    assert not check_order("", large, small, says="").agrees
    assert not check_order("", small, small, says="").agrees
    assert check_likeness("", small, small, says="").agrees
    assert not check_likeness("", small, large, says="").agrees
