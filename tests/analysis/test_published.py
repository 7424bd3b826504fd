"""The contents of `data/published`; `data/findings` has whether its numbers agree."""

import re

import pandas as pd
import pytest

from benchbook.analysis.published import (
    find_published_number,
    format_level,
    load_published_numbers,
)
from benchbook.files.yaml_file import read_scalar
from benchbook.papers.exhibits import load_citation
from benchbook.papers.findings import load_checks
from benchbook.studies.catalogue import SLUGS


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return load_published_numbers()


def test_more_than_330_numbers_of_all_five_papers(table):
    assert len(table) > 330
    assert set(table["study"]) == set(SLUGS)
    assert all(load_published_numbers(study)["study"].eq(study).all() for study in SLUGS)


def test_a_study_that_does_not_exist_is_refused_by_name():
    with pytest.raises(ValueError, match="no study 'bookshop'"):
        load_published_numbers("bookshop")


@pytest.mark.parametrize("level", [None, True, False, 1000, 0.5, "loopback"])
def test_a_level_in_words_is_read_as_the_same_level(level):
    assert read_scalar(format_level(level), "--where") == level


def test_each_number_is_there_once(table):
    assert not table.duplicated(["study", "source", "row", "column"]).any()


def test_every_value_has_a_unit_and_every_text_is_called_text(table):
    assert (table["unit"] != "").all()
    assert (table["value"].isna() == (table["unit"] == "text")).all()
    assert (table["printed"] != "").all()


def digits(text: str) -> set[str]:
    """Return the digits of each number in the text, without points and separators."""
    return {run.strip("0") for run in re.findall(r"\d+", re.sub(r"(?<=\d)[., ](?=\d)", "", text))}


def test_values_have_the_printed_digits(table):
    in_words = table["note"].str.contains("in words") | (table["unit"] == "text")
    for row in table[~in_words].itertuples():
        assert f"{row.value:.4f}".replace(".", "").strip("0") in digits(row.printed), row


def test_misprints_are_kept_and_noted(table):
    noted = table[table["note"].str.contains("misprint")]
    assert {"32,57", "33,31", "32,76", "36", "75.77 minutes", "65%"} <= set(noted["printed"])


def test_crud_prints_three_sizes_of_six_databases_in_seven_tables():
    tables = load_published_numbers("crud").query("unit == 'ms'")
    assert len(tables) == 7 * 6 * 3
    assert (tables["value"] > 0).all()


PERCENT = re.compile(r"the tables give ([\d.]+) %")


def test_notes_that_recompute_a_number_say_what_the_recomputation_says(table):
    noted = table[table["note"].str.contains(PERCENT.pattern.replace("(", "(?:"))]
    made = load_checks().set_index(["study", "where", "row", "column"])["recomputed"]
    assert len(noted) == 2
    for row in noted.itertuples():
        key = (row.study, row.source, row.row, row.column)
        assert float(PERCENT.search(row.note)[1]) == round(made[key], 1)


def test_notes_on_misprints_are_where_a_recomputation_disagrees(table):
    checks = load_checks().set_index(["study", "where", "row", "column"])["agrees"]
    disagree = {*checks.index[~checks]}
    noted = table[
        table["note"].str.startswith("misprint: 33.36")
        | table["note"].str.startswith("misprint: 4546694")
    ]
    assert len(noted) == 2
    for row in noted.itertuples():
        keys = {
            (row.study, row.source, row.row, row.column),
            ("tcp", "Table 7", "System CPU", "XML 5"),
        }
        assert keys & disagree


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
def test_the_rounding_is_half_a_unit_of_the_last_printed_digit(key, half):
    assert find_published_number(*key).rounding == pytest.approx(half)


def test_drivers_prints_bounds_only():
    times = load_published_numbers("drivers").query("unit == 'ms'")
    assert set(times["value"]) == {250, 10, 70000, 80000, 5000}
    assert times["note"].str.contains("bound|about").all()


def test_every_paper_has_its_reference():
    for slug in SLUGS:
        one = load_citation(slug)
        assert one.authors and one.title and one.venue
        assert str(one).startswith(one.authors[0]) and (
            one.doi is None or str(one).endswith(one.doi)
        )
