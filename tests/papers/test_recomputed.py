"""The papers' own numbers, recomputed: counts and conclusions, so that no change is unseen."""

import re
import shutil
from collections import Counter
from pathlib import Path
from string import Formatter
from typing import get_args

import pandas as pd
import pytest

from benchbook import paths
from benchbook.analysis import claim_files
from benchbook.analysis.published import load_published_numbers
from benchbook.files.yaml_file import load_yaml
from benchbook.papers import recomputed
from benchbook.papers.crud import TIME_TABLES
from benchbook.papers.printed_checks import (
    check_likeness,
    check_number,
    check_order,
    get_number,
    propagate,
)
from benchbook.studies.catalogue import SLUGS

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
        "Microsoft SQL Server close to MongoDB, update single, 1,000",
        "PostgreSQL slowest of all six, update single, 1,000 (MySQL next)",
        "MySQL close to Couchbase, update single, 10,000",
        "Microsoft SQL Server quickest of the relational ones, delete single, 1,000 (PostgreSQL "
        "next)",
        "MongoDB quickest against Couchbase, delete replicated, 100,000 (Couchbase next)",
        "MongoDB quickest against the relational ones, insert replicated, 100,000 (PostgreSQL "
        "next)",
        "MongoDB quickest against the relational ones, update single, 100,000 (Microsoft SQL "
        "Server next)",
        *COUCHBASE,
    ],
    "replication": [],
}
FINDINGS = {
    "bookstore.more-noticeable": ["3.774 at 1,000", "3.775 at 10,000", "from 4.17 to 5.67"],
    "bookstore.cold-start": ["33.3, 9.3, 6.3 and 2.8 us in XML", "12 and 13 times less", "99.7 %"],
    "bookstore.size-jump": ["290 to 361 in XML", "170 to 205 in JSON", "+24 and +21 %"],
    "bookstore.no-spread": ["20 mean times of 100 repetitions"],
    "bookstore.one-sum": ["33.37 and 8.84 ms"],
    "bookstore.cpu-time": ["no CPU share"],
    "bookstore.one-library": ["JAXB's time over Jackson's"],
    "tcp.system-cpu-p": ["3.4e-08", "Welch's 1.7e-05", "8 values of five, give 0.0038"],
    "tcp.system-cpu-36": ["102.64 %", "100.00 %"],
    "tcp.minutes": ["75.7782 minutes", "round to 75.78"],
    "tcp.memory-29": ["29.69 rounds to 30", "65.80 became 65", "88.70 became 88"],
    "tcp.trials-left-out": [
        "29.07 to 88.70 %",
        "11.30 to 15.84 %",
        "trial 1 is missing",
        "trial 2 from the other",
    ],
    "tcp.steady-user-cpu": ["29.07 %", "83.84 to 88.70 %"],
    "tcp.first-trial": ["0.111 ms", "0.078", "542 ms longer", "43.87 % only"],
    "tcp.growing-ratio": [
        "27.7, 39.6, 40.8, 41.2 and 41.4",
        "58.1",
        "47 % more time in XML and 4 % more in JSON",
    ],
    "tcp.memory-of-before": ["27.37 %", "68.06 %"],
    "tcp.pooled-sizes": [
        "0.0033",
        "2,119 times",
        "Welch's gives 0.015",
        "37.7 times as long (26.4 to 53.9 at 99 %)",
        "1.2e-06",
    ],
    "tcp.fewer-resources": ["p = 0.47", "p = 0.23", "5 of 6 runs"],
    "tcp.two-of-five": ["User CPU and Memory", "by Holm, 3 still do", "p = 0.010"],
    "drivers.no-table": ["64 scenarios", "10 repetitions"],
    "drivers.bulk-only": ["25 us", "1.25 us", "50 ns", "400 us"],
    "drivers.records": ["11.1 times", "5.6 %"],
    "drivers.memory": ["274 MB", "26 MB"],
    "drivers.delete-cpu": ["under 10 ms"],
    "drivers.all-metrics": ["of 12 combinations", "7 favour it at most"],
    "drivers.panels": ["2, 3 and 4", "no Fig. 5"],
    "drivers.batch-split": ["10.5 times the bytes", "from 100,000 to 200,000"],
    "drivers.proportional": ["10.5 times", "14.8", "15 and 22 bytes"],
    "drivers.significance": ["10 repetitions"],
    "crud.couchdb-seconds": ["1.39 us a call", "3,892 cycles", "719, 508 and 704 MB/s"],
    "crud.couchdb-turned-round": ["16 of 18 places"],
    "crud.couchdb-update": ["1.56, 18.64 and 266.7 ms", "2.14, 30.44 and 307.5 ms"],
    "crud.mongodb-select": ["2.3 GB/s", "325 and 289 MB/s"],
    "crud.couchbase-inserts": ["10,000 and 100,000", "783.67, 9188.13 ms", "0.1 % longer"],
    "crud.sqlserver-topologies": [
        "1.89, 0.54 and 0.55",
        "55.4, 17.5 and 19.9",
        "15.7, 12.4 and 9.3",
    ],
    "crud.sqlserver-seconds": ["9 of SQL Server's 9", "0 of the 90", "50 %"],
    "crud.couchdb-nests": ["reads back the same one"],
    "crud.another-papers-columns": ["9 machines serve 3 databases", "taken 18"],
    "crud.no-variance": ["126 means"],
    "crud.sqlserver-delete": ["127 ms", "78.3", "35.5", "3.6 times"],
    "crud.postgresql-update": ["77.3 ms", "87.7", "31 times"],
    "crud.close-updates": ["2.09, 1.08 and 0.96"],
    "crud.mysql-couchbase": ["20, 73 and 2 %"],
    "crud.slightly-worse": ["0.78, 0.77 and 1.45", "45 % slower"],
    "crud.couchbase-postgresql": [
        "7 of 21 places",
        "5.0 (update replicated, 10,000)",
        "1.43, 1.52 and 1.46",
    ],
    "crud.second-place": ["7578.98 ms", "7814.6"],
    "crud.better-than-relational": [
        "2 of 21 places",
        "PostgreSQL, 1.45",
        "Microsoft SQL Server, 1.04",
    ],
    "crud.overall": [
        "178 of 189",
        "not in 11, 4 of them",
        "CouchDB behind PostgreSQL, select single, 10,000",
    ],
    "crud.constraints": ["8.9 for selects", "5.0, 3.6, 1.7, 5.1, 3.4 and 4.0"],
    "crud.steps": [
        "Of 84 steps",
        "13 lie outside",
        "2.5 (Microsoft SQL Server",
        "44.2 (PostgreSQL",
    ],
    "crud.no-unit": ["121 times"],
    "replication.couchdb-or-arangodb": ["CouchDB 2.3.0 and no ArangoDB"],
    "replication.json-twice": ["+1.9 %"],
    "replication.single-readings": ["20 of 20 averages", "1,048,576"],
    "replication.no-variance": ["+1.9 %", "-1.3, -0.4 and -1.3 %"],
    "replication.cpu-seconds": ["10.3, 477.0 and 60.5 s"],
    "replication.rate-not-amount": ["+5.2, +2.5 and +12.5 %"],
    "replication.share-against-seconds": ["+1.9 %", "-1.3 %", "3.1 % shorter"],
    "replication.two-nodes": ["1.65 GHz", "2.0 GHz"],
    "replication.sizes-of-effects": ["+17.4, +3.5 and +6.5 %", "-1.3, -0.4 and -1.3 %"],
    "replication.wrong-product": ["9 and 10 RethinkDB's"],
}
"""What each finding's recomputation must say."""


@pytest.fixture(scope="module")
def checks() -> pd.DataFrame:
    return recomputed.run_checks()


@pytest.fixture(scope="module")
def found() -> dict[str, recomputed.PaperFinding]:
    return {one.name: one for one in recomputed.list_findings()}


def test_the_counts_of_checks_do_not_change(checks):
    counts = recomputed.count_checks(checks).set_index("study")
    assert {
        study: tuple(row)
        for study, row in zip(counts.index, counts.to_numpy().tolist(), strict=True)
    } == COUNTS
    print(counts)


@pytest.mark.parametrize("study", SLUGS)
def test_the_checks_that_disagree_do_not_change(study, checks):
    mine = checks[(checks["study"] == study) & ~checks["agrees"]]
    assert Counter(mine["says"]) == Counter(DISAGREE[study])


def test_each_check_has_its_own_description(checks):
    assert not checks.duplicated(["study", "says", "where"]).any()


def test_every_printed_value_is_counted_once():
    counts = recomputed.count_coverage()
    assert counts == {"printed": 465, "recomputed": 155, "used": 197, "texts": 39, "alone": 74}
    assert (
        counts["printed"]
        == len(load_published_numbers())
        == sum(counts.values()) - counts["printed"]
    )


def test_each_finding_has_its_computed_numbers(found):
    assert set(found) == set(FINDINGS)
    for name, parts in FINDINGS.items():
        for part in parts:
            assert part in found[name].recomputed, f"{name}: {found[name].recomputed}"


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
        names += [one.name for one in recomputed.list_findings(slug) if one.study == slug]
    assert [*found] == names
    assert len(found) == len(recomputed.list_findings())  # no name is used twice
    for one in found.values():
        assert all(
            len(text) > 5
            for text in (one.title, one.source, one.as_printed, one.recomputed, one.why)
        ), one.name
        assert "nan" not in one.recomputed, one.name
        assert one.kind in get_args(recomputed.FindingKind), one.name
    assert len(found) >= 60


@pytest.mark.parametrize("study", SLUGS)
def test_each_number_of_a_finding_is_computed_and_in_its_texts(study):
    computed = recomputed.CHECKS[study].compute_findings()
    texts = load_yaml(paths.findings() / f"{study}.yaml").value
    assert computed.keys() <= texts.keys()
    for name, of_finding in texts.items():
        places = Formatter().parse(" ".join(of_finding.values()))
        names = {re.match(r"\w+", place)[0] for _, place, _, _ in places if place}
        assert names == set(computed.get(name, ())), name


@pytest.fixture
def changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that changes one printed line of a paper for this test."""
    shutil.copytree(paths.published_numbers(), tmp_path / "published")
    monkeypatch.setattr(paths, "published_numbers", lambda: tmp_path / "published")

    def change(study: str, before: str, after: str) -> None:
        file = tmp_path / "published" / f"{study}.csv"
        assert before in file.read_text()
        file.write_text(file.read_text().replace(before, after))

    return change


def test_a_corrected_misprint_agrees(changed):
    changed("tcp", "75.77 minutes,75.77,", "75.78 minutes,75.78,")
    assert (
        dict(recomputed.count_checks(recomputed.run_checks("tcp")).iloc[0])["disagree"]
        == COUNTS["tcp"][2] - 1
    )


def test_a_new_misprint_disagrees(changed):
    changed("tcp", "Average Time,XML,4.55,4.55,", "Average Time,XML,4.65,4.65,")
    disagree = recomputed.run_checks("tcp").query("not agrees")["says"].tolist()
    assert "average time of scenario 1, XML: total time over objects" in disagree


@pytest.mark.parametrize(
    ("key", "half"),
    [
        (("tcp", "Table 3", "Trial 2 Average Time", "XML"), 0.005),  # 3.10
        (("replication", "Fig. 15", "MongoDB", "JSON"), 0.05),  # 1.738,8
        (("replication", "Fig. 18", "MongoDB", "JSON"), 0.0005),  # 10.324
        (("replication", "Section II.B", "records", "level 1"), 0.5),  # 2.000 are two thousand
        (("bookstore", "Case 1 table", "1000", "XML size"), 0.5),  # 169 KB
        (("crud", "Section IV", "virtual machines", "all"), 0.5),  # nine
    ],
)
def test_the_tolerance_is_half_a_unit_of_the_last_printed_digit(key, half):
    assert get_number(*key).rounding == pytest.approx(half)


def test_rounding_of_the_sources_widens_the_tolerance():
    total = get_number("tcp", "Table 1", "Total Time", "JSON")  # 78257.9
    assert propagate(lambda value: 2 * value, total) == pytest.approx((156515.8, 0.1))
    claim = get_number("tcp", "Table 7", "Total Time", "JSON 1")  # 2213.1 for 2213.15
    assert check_number(
        claim, float, get_number("tcp", "Table 3", "Trial 1 Total Time", "JSON"), says=""
    ).agrees
    assert not check_number(claim, lambda: 2213.16, says="").agrees


def test_an_order_within_the_rounding_does_not_agree():
    # 1 and 12 KB.
    small, large = (get_number("bookstore", "Case 1 table", n, "JSON size") for n in ("10", "100"))
    assert check_order("", small, large, says="").agrees
    assert not check_order("", large, small, says="").agrees
    assert not check_order("", small, small, says="").agrees
    assert check_likeness("", small, small, says="").agrees
    assert not check_likeness("", small, large, says="").agrees


def test_an_unknown_printed_number_suggests_the_nearest_name():
    with pytest.raises(ValueError, match=r"tcp\.csv: no source 'Table 9': did you mean 'Table"):
        get_number("tcp", "Table 9", "Total Time", "p")
