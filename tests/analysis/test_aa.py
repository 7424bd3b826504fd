"""A/A checks: what is said of two arms that are the same."""

import numpy as np
import pandas as pd
import pytest

import constructed
from benchbook.analysis.aa_check import METRICS_OF_KIND, compare_arms, select_differing
from benchbook.analysis.block_means import (
    average_repetitions,
    compute_block_means,
)
from benchbook.analysis.runs import Analysis


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return constructed.observations()


def add_second_arm(rows: pd.DataFrame, study: str, factor: float) -> pd.DataFrame:
    """Return rows with the same cells of a study as arm b, which takes `factor` times as long."""
    own = rows[rows["study"] == study]
    second = own.assign(
        arm="b",
        cell_id=own["cell_id"] + "b",
        cell_arm="b",
        value=own["value"] * factor * np.exp(0.001 * np.sin(own["block"] + own["repetition"])),
    )
    return pd.concat([rows, second], ignore_index=True)


def test_equal_arms_do_not_differ_and_unequal_arms_do(rows: pd.DataFrame) -> None:
    assert compare_arms(compute_block_means(rows)) == [], "no cell has a second arm"
    for factor, kinds in ((1.0, set()), (1.5, {"time", "processor time", "bytes"})):
        checks = compare_arms(compute_block_means(add_second_arm(rows, "bookstore", factor)))
        assert {check.study for check in checks} == {"bookstore"}
        assert {check.metric for check in checks} <= {*METRICS_OF_KIND}
        assert {check.metric for check in select_differing(checks)} == kinds
        assert [check.estimate for check in checks] == pytest.approx(
            [factor] * len(checks), rel=0.01
        )


def test_a_check_puts_all_quantities_of_its_kind_together(rows: pd.DataFrame) -> None:
    both = compute_block_means(add_second_arm(rows, "bookstore", 1.2))
    (time,) = [check for check in compare_arms(both) if check.metric == "time"]
    means = both[(both["study"] == "bookstore") & both["metric"].isin(METRICS_OF_KIND["time"])]
    quantities = means.groupby(["cell_id", "operation", "format", "metric"]).ngroups // 2
    assert (time.label, time.blocks) == (f"{quantities} quantities", 5)


def test_second_arms_are_neither_compared_nor_judged(rows: pd.DataFrame) -> None:
    alone, both = (
        Analysis(compute_block_means(some))
        for some in (rows, add_second_arm(rows, "bookstore", 1.5))
    )
    # As texts, because NaN is not NaN.
    assert str(alone.tables) == str(both.tables)
    assert str(alone.verdicts) == str(both.verdicts)


def test_arms_in_turn_in_one_process_are_compared_with_each_other(rows: pd.DataFrame) -> None:
    both = add_second_arm(rows, "bookstore", 1.2)
    own = rows[rows["study"] == "bookstore"]
    second = both[both["arm"].eq("b")]
    # The second cell has both arms, which are equal; the first cell, which was faster, does not
    # count.
    in_turn = pd.concat(
        [both, second.assign(arm="a", value=own["value"].to_numpy() * 1.2)], ignore_index=True
    )
    assert len(select_differing(compare_arms(compute_block_means(both)))) == 3
    assert select_differing(compare_arms(compute_block_means(in_turn))) == []


def test_quantities_without_a_ratio_are_left_out(rows: pd.DataFrame) -> None:
    both = add_second_arm(rows, "bookstore", 1.0)
    zero = both["metric"].eq("wall_time") & both["operation"].eq("marshal") & both["block"].eq(0)
    counts = []
    for table in (both.assign(value=both["value"].mask(zero, 0.0)), both):
        checks = compare_arms(compute_block_means(table))
        (time,) = [check for check in checks if check.metric == "time"]
        counts.append(int(time.label.split()[0]))
    assert counts[0] < counts[1]


def test_nothing_has_no_check() -> None:
    nothing = constructed.observations(studies=())
    assert compare_arms(compute_block_means(average_repetitions(nothing))) == []
