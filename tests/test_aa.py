"""A/A checks: what is said of two arms that are the same."""

import numpy as np
import pandas as pd
import pytest

import constructed
from benchbook.analysis import Analysis, aa_checks, block_means, measures
from benchbook.analysis.aa import KINDS, differ


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return constructed.observations()


def with_second_arm(rows: pd.DataFrame, study: str, factor: float) -> pd.DataFrame:
    """Return the rows and the same cells of a study as arm b, which takes `factor` times as long."""
    own = rows[rows["study"] == study]
    second = own.assign(
        arm="b",
        cell_id=own["cell_id"] + "b",
        cell_arm="b",
        value=own["value"] * factor * np.exp(0.001 * np.sin(own["block"] + own["repetition"])),
    )
    return pd.concat([rows, second], ignore_index=True)


def test_arms_that_are_the_same_do_not_differ_and_arms_that_are_not_do(rows: pd.DataFrame) -> None:
    assert aa_checks(measures(rows)).empty, "no cell has a second arm"
    for factor, kinds in ((1.0, set()), (1.5, {"time", "processor time", "bytes"})):
        checks = aa_checks(measures(with_second_arm(rows, "bookstore", factor)))
        assert set(checks["study"]) == {"bookstore"} and set(checks["metric"]) <= set(KINDS)
        assert set(differ(checks)["metric"]) == kinds
        assert checks["estimate"].to_numpy() == pytest.approx(factor, rel=0.01)


def test_a_check_puts_all_quantities_of_its_kind_together(rows: pd.DataFrame) -> None:
    both = measures(with_second_arm(rows, "bookstore", 1.2))
    time = aa_checks(both).set_index("metric").loc["time"]
    means = both[(both["study"] == "bookstore") & both["metric"].isin(KINDS["time"])]
    quantities = means.groupby(["cell_id", "operation", "format", "metric"]).ngroups // 2
    assert (time["label"], time["blocks"]) == (f"{quantities} quantities", 5)


def test_second_arms_are_no_part_of_what_is_compared_or_judged(rows: pd.DataFrame) -> None:
    alone, both = (Analysis(measures(some)) for some in (rows, with_second_arm(rows, "bookstore", 1.5)))
    pd.testing.assert_frame_equal(alone.tables, both.tables)
    pd.testing.assert_frame_equal(alone.verdicts, both.verdicts)


def test_arms_in_turn_in_one_process_are_compared_with_each_other(rows: pd.DataFrame) -> None:
    both = with_second_arm(rows, "bookstore", 1.2)
    own = rows[rows["study"] == "bookstore"]
    second = both[both["arm"].eq("b")]
    # The second cell holds both arms, equal: the first cell, which was faster, is no part of the check.
    in_turn = pd.concat([both, second.assign(arm="a", value=own["value"].to_numpy() * 1.2)], ignore_index=True)
    assert len(differ(aa_checks(measures(both)))) == 3
    assert differ(aa_checks(measures(in_turn))).empty


def test_what_has_no_ratio_is_left_out(rows: pd.DataFrame) -> None:
    both = with_second_arm(rows, "bookstore", 1.0)
    zero = both["metric"].eq("wall_time") & both["operation"].eq("marshal") & both["block"].eq(0)
    some = aa_checks(measures(both.assign(value=both["value"].mask(zero, 0.0)))).set_index("metric")
    every = aa_checks(measures(both)).set_index("metric")
    assert int(some.loc["time", "label"].split()[0]) < int(every.loc["time", "label"].split()[0])


def test_nothing_makes_an_empty_table() -> None:
    nothing = constructed.observations(studies=())
    assert aa_checks(measures(block_means(nothing))).empty
