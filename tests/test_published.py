"""What `data/published` holds, and whether the papers' numbers follow from one another where they should."""

import math
import re

import pandas as pd
import pytest

from benchbook.evidence import STUDIES, number, published

SIZES = ("1", "10", "100", "1000", "10000")
TRIALS = range(1, 6)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return published()


def tcp(source: str, row: str, column: str) -> float:
    return number("tcp", source, row, column)


def test_more_than_330_numbers_of_all_five_papers(table):
    assert len(table) > 330
    assert set(table["study"]) == set(STUDIES)
    assert all(published(study)["study"].eq(study).all() for study in STUDIES)


def test_a_study_that_does_not_exist_is_refused_by_name():
    with pytest.raises(ValueError, match="no study 'bookshop'"):
        published("bookshop")


def test_each_number_stands_once(table):
    assert not table.duplicated(["study", "source", "row", "column"]).any()


def test_every_value_has_a_unit_and_every_text_is_called_text(table):
    assert (table["unit"] != "").all()
    assert (table["value"].isna() == (table["unit"] == "text")).all()
    assert (table["printed"] != "").all()


def digits(text: str) -> set[str]:
    """Return the digits of each number in the text, whatever stands between them for a point or for thousands."""
    return {run.strip("0") for run in re.findall(r"\d+", re.sub(r"(?<=\d)[., ](?=\d)", "", text))}


def test_values_have_the_printed_digits(table):
    in_words = table["note"].str.contains("in words") | (table["unit"] == "text")
    for row in table[~in_words].itertuples():
        assert f"{row.value:.4f}".replace(".", "").strip("0") in digits(row.printed), row


def test_misprints_are_kept_and_noted(table):
    noted = table[table["note"].str.contains("misprint")]
    assert {"32,57", "33,31", "32,76", "36", "75.77 minutes", "65%"} <= set(noted["printed"])


@pytest.mark.parametrize("case", (1, 2))
@pytest.mark.parametrize("n", SIZES)
def test_bookstore_xml_is_slower_and_larger_at_every_size(case, n):
    in_bytes = {"B": 1, "KB": 1e3, "MB": 1e6}
    rows = published("bookstore").query(
        "source == @source and row == @n", local_dict={"source": f"Case {case} table", "n": n}
    )
    value = {row.column: row.value * in_bytes.get(row.unit, 1) for row in rows.itertuples()}
    assert value["XML time"] > value["JSON time"]
    assert value["XML size"] > value["JSON size"]


def test_bookstore_growth_from_case_1_to_2_keeps_its_bounds():
    growth = {
        format: 100
        * (
            number("bookstore", "Case 2 table", "10000", f"{format} time")
            / number("bookstore", "Case 1 table", "10000", f"{format} time")
            - 1
        )
        for format in ("XML", "JSON")
    }
    assert growth["XML"] == pytest.approx(107.8, abs=0.05)
    assert growth["JSON"] == pytest.approx(38.5, abs=0.05)
    row = "growth from case 1 to case 2 at n = 10000"
    assert growth["XML"] > number("bookstore", "Section VI", row, "XML time")
    assert growth["JSON"] < number("bookstore", "Section VI", row, "JSON time")


def test_bookstore_ratio_is_the_same_at_1000_and_10000_in_case_1():
    ratios = [
        number("bookstore", "Case 1 table", n, "XML time") / number("bookstore", "Case 1 table", n, "JSON time")
        for n in SIZES[-2:]
    ]
    assert [round(ratio, 2) for ratio in ratios] == [3.77, 3.77]


@pytest.mark.parametrize("format", ("JSON", "XML"))
def test_tcp_averages_are_totals_over_objects(format):
    rows = [("Table 1", "")] + [("Table 3", f"Trial {trial} ") for trial in TRIALS]
    for source, prefix in rows:
        total, objects = tcp(source, f"{prefix}Total Time", format), tcp(source, f"{prefix}Number Of Objects", format)
        assert tcp(source, f"{prefix}Average Time", format) == pytest.approx(total / objects, abs=0.00501)


@pytest.mark.parametrize("format", ("JSON", "XML"))
@pytest.mark.parametrize("measure", ("Total Time", "Average Time", "User CPU", "System CPU", "Memory"))
def test_tcp_table_7_repeats_tables_3_to_5_but_for_two_known_places(measure, format):
    for trial in TRIALS:
        if measure.endswith("Time"):
            before = tcp("Table 3", f"Trial {trial} {measure}", format)
        else:
            before = tcp("Table 4" if format == "JSON" else "Table 5", f"Trial {trial}", measure)
        again = tcp("Table 7", measure, f"{format} {trial}")
        known = {("Total Time", "JSON", 1): (2213.15, 2213.1), ("System CPU", "XML", 5): (36, 33.36)}
        assert (before, again) == known.get((measure, format, trial), (before, before))


def test_tcp_user_and_system_percent_of_table_5_sum_to_100_but_for_two_trials():
    sums = [
        round(tcp("Table 5", f"Trial {trial}", "User CPU") + tcp("Table 5", f"Trial {trial}", "System CPU"), 2)
        for trial in TRIALS
    ]
    assert sums == [98.16, 100.0, 100.0, 100.0, 102.64]
    assert 66.64 + tcp("Table 7", "System CPU", "XML 5") == pytest.approx(100)


def test_tcp_table_6_follows_from_the_other_tables_but_for_the_misprints():
    assert round(tcp("Table 1", "Total Time", "JSON") / 1e3, 2) == tcp("Table 6", "Scenario 1 Total Time", "JSON")
    minutes = tcp("Table 1", "Total Time", "XML") / 60e3
    assert (round(minutes, 2), tcp("Table 6", "Scenario 1 Total Time", "XML")) == (75.78, 75.77)
    for format, measure in ((format, measure) for format in ("JSON", "XML") for measure in ("User CPU", "System CPU")):
        assert round(tcp("Table 2", format, measure)) == tcp("Table 6", f"Scenario 1 {measure}", format)
    assert (tcp("Table 2", "XML", "Memory"), tcp("Table 6", "Scenario 1 Memory", "XML")) == (29.69, 29)
    for format, digits in (("JSON", 1), ("XML", 0)):
        total = tcp("Table 3", "Trial 5 Total Time", format) / 1e3
        assert round(total, digits) == tcp("Table 6", "Scenario 2 Total Time for 100,000 Objects", format)


@pytest.mark.parametrize(
    ("source", "measure", "format", "trials"),
    [
        ("Table 4", "User CPU", "JSON", (2, 3, 4, 5)),  # trial 1, 29.07, is left out
        ("Table 4", "System CPU", "JSON", (1, 3, 4, 5)),  # trial 2, 15.84, is left out
        ("Table 5", "User CPU", "XML", TRIALS),
        ("Table 5", "System CPU", "XML", (1, 2, 3, 4)),  # trial 5 is the misprinted 36
    ],
)
def test_tcp_table_6_ranges_are_cut_off_and_leave_two_trials_out(source, measure, format, trials):
    values = [math.floor(tcp(source, f"Trial {trial}", measure)) for trial in trials]
    row = f"Scenario 2 {measure}"
    low, high = (tcp("Table 6", row, f"{format} {end}") for end in ("from", "to"))
    assert (min(values), max(values)) in {(low, high), (low, high - 1)}


def test_crud_prints_three_sizes_of_six_engines_in_seven_tables():
    tables = published("crud").query("unit == 'ms'")
    assert len(tables) == 7 * 6 * 3
    assert (tables["value"] > 0).all()


def test_crud_oddities_are_what_the_notes_say():
    kilobytes = {n: int(n) / (number("crud", "Table II", "CouchDB", n) / 1e3) / 1e3 for n in ("1000", "100000")}
    assert {n: round(rate) for n, rate in kilobytes.items()} == {"1000": 719, "100000": 704}
    for n in ("10000", "100000"):
        assert number("crud", "Table II", "Couchbase", n) == number("crud", "Table III", "Couchbase", n)
        assert number("crud", "Table III", "Microsoft SQL Server", n) < number(
            "crud", "Table II", "Microsoft SQL Server", n
        )
    factors = [
        number("crud", "Table II", "Microsoft SQL Server", n) / number("crud", "Table II", "MongoDB", n)
        for n in ("1000", "10000", "100000")
    ]
    assert factors == pytest.approx([9.66, 10.33, 9.67], abs=0.01)


@pytest.mark.parametrize(
    ("figure", "percent"),
    [("Fig. 15", (5.2, 2.5, 12.5)), ("Fig. 17", (17.4, 3.5, 6.5)), ("Fig. 18", (-1.3, -0.4, -1.3))],
)
def test_replication_xml_against_json_in_percent(figure, percent):
    engines = ("MongoDB", "CouchDB", "RethinkDB")
    ratios = [
        number("replication", figure, engine, "XML") / number("replication", figure, engine, "JSON")
        for engine in engines
    ]
    assert [round(100 * (ratio - 1), 1) for ratio in ratios] == list(percent)


def test_drivers_prints_bounds_only():
    times = published("drivers").query("unit == 'ms'")
    assert set(times["value"]) == {250, 10, 70000, 80000, 5000}
    assert times["note"].str.contains("bound|about").all()
