"""The interval against generalised least squares; Holm and Hedges' g against known values."""

import re
import subprocess
import sys
from math import exp, inf, isnan

import numpy as np
import pytest
from scipy import special, stats
from statsmodels.stats.multitest import multipletests

from benchbook.analysis.intervals import (
    CONFIDENCE,
    ICC,
    MIN_BLOCKS,
    Interval,
    adjust_holm,
    compute_hedges_g,
    compute_interval,
    compute_share_interval,
)
from benchbook.text.number_format import format_estimate
from checkout import ROOT

SPLITS = [(5,), (2, 13), (3, 3, 3, 3, 3, 3, 3, 3), (1, 1, 1, 1, 1), (1, 4, 2), (20, 1)]

# Student (1908), table of the additional hours of sleep by two drugs.
SLEEP_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def least_squares(y: np.ndarray, days: np.ndarray) -> tuple[float, float]:
    """Return estimate and standard error from matrices; blocks of a day correlate by `ICC`."""
    covariance = np.where(days[:, None] == days[None, :], ICC, 0.0)
    np.fill_diagonal(covariance, 1.0)
    inverse = np.linalg.inv(covariance)
    one = np.ones(len(y))
    information = one @ inverse @ one
    estimate = one @ inverse @ y / information
    residual = y - estimate
    variance = residual @ inverse @ residual / (len(y) - 1)
    return estimate, float(np.sqrt(variance / information))


@pytest.mark.parametrize("split", SPLITS)
def test_the_interval_is_that_of_generalised_least_squares(split: tuple[int, ...]) -> None:
    random = np.random.default_rng(len(split))
    days = random.permutation(np.repeat(np.arange(len(split)), split))  # in any order
    y = random.normal(0.3, 0.2, len(days))
    estimate, error = least_squares(y, days)
    found = compute_interval(y, [f"host 2026-11-{day + 1:02}" for day in days])
    reach = stats.t.ppf(0.5 + CONFIDENCE / 2, len(y) - 1) * error
    assert (found.estimate, found.error) == pytest.approx((estimate, error), rel=1e-9)
    assert (found.low, found.high) == pytest.approx((estimate - reach, estimate + reach), rel=1e-9)
    assert (found.blocks, found.machine_days, found.df) == (len(y), len(split), len(y) - 1)


def test_blocks_of_different_days_have_students_interval() -> None:
    found = compute_interval(SLEEP_2, range(10))
    low, high = stats.ttest_1samp(SLEEP_2, 0).confidence_interval(CONFIDENCE)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_the_example_of_the_page_follows_from_its_blocks() -> None:
    page = ROOT.joinpath("docs", "method.md").read_text()
    row = r"^\| ((?:Intel|AMD), \d+) \| ([\d.]+) \| ([\d.]+) \| (\.\d+) \|$"
    rows = re.findall(row, page, re.MULTILINE)
    logs = [float(log) for *_, log in rows]
    assert logs == pytest.approx(
        [np.log(float(xml) / float(json)) for _, xml, json, _ in rows], abs=1e-4
    )
    found = compute_interval(logs, [machine_day for machine_day, *_ in rows])
    ratio, low, high = exp(found.estimate), exp(found.low), exp(found.high)
    said = (
        f"{ratio:.3f} ({low:.3f} to {high:.3f}), written as **{format_estimate(ratio, low, high)}**"
    )
    assert len(rows) == 10 and said in page


def test_a_test_against_a_value_agrees_with_its_interval() -> None:
    random = np.random.default_rng(5)
    days = np.repeat([0, 1, 2], 4)
    found = compute_interval(random.normal(size=12), days)
    assert found.p(found.low) == found.p(found.high) == pytest.approx(1 - CONFIDENCE)
    on_days_of_their_own = compute_interval(SLEEP_2, range(10))
    t_test = stats.ttest_1samp(SLEEP_2, 1.0)
    assert (on_days_of_their_own.t(1.0), on_days_of_their_own.p(1.0)) == pytest.approx(
        (t_test.statistic, t_test.pvalue)
    )


def test_more_blocks_of_the_same_day_narrow_an_interval_less_than_more_days() -> None:
    values = np.tile([0.9, 1.0, 1.1], 4)
    one_day, four_days, each_its_own = (
        compute_interval(values, days) for days in ([0] * 12, [0, 1, 2, 3] * 3, range(12))
    )
    assert one_day.error > four_days.error > each_its_own.error
    endless = compute_interval(np.tile(values, 100), [0] * 1200)
    assert endless.error > one_day.error / 1.2, (
        "a day's own deviation stays, however many blocks it has"
    )


@pytest.mark.parametrize("blocks", range(MIN_BLOCKS))
def test_fewer_than_five_blocks_have_an_estimate_and_no_interval(blocks: int) -> None:
    found = compute_interval([1.0] * blocks, [0] * blocks)
    assert isnan(found.low) and isnan(found.high) and isnan(found.error) and isnan(found.p())
    assert found.estimate == 1.0 if blocks else isnan(found.estimate)
    assert found.reason


def test_five_blocks_have_an_interval_on_one_day_or_five() -> None:
    for days in ([0] * 5, range(5)):
        found = compute_interval([1.0, 1.1, 0.9, 1.0, 1.2], days)
        assert found.low < found.estimate < found.high and not found.reason


@pytest.mark.parametrize("value", (0.0, 0.1, -1e9, 1e-300))
def test_blocks_that_do_not_vary_have_an_interval_of_one_point(value: float) -> None:
    found = compute_interval([value] * 7, [0, 0, 0, 1, 1, 1, 2])
    assert found.error == 0
    assert found.low == found.high == found.estimate == pytest.approx(value)
    assert isnan(found.p()), "without spread there is no test"


def test_t_is_infinite_where_blocks_do_not_vary() -> None:
    same = Interval(1.0, 1.0, 1.0, 0.0, 5, 1)
    assert (same.t(), same.t(2.0)) == (inf, -inf) and isnan(same.t(1.0))


def test_the_order_and_names_of_days_do_not_matter() -> None:
    y = np.array([1.0, 1.3, 0.8, 1.1, 0.9, 1.4])
    named = compute_interval(y, ["a", "a", "b", "b", "c", "c"])
    turned = compute_interval(y[::-1], np.array([1, 1, 2, 2, 3, 3]))
    assert (named.estimate, named.error) == pytest.approx((turned.estimate, turned.error))


def test_a_constant_moves_an_interval_and_a_factor_stretches_it() -> None:
    y, days = np.array([1.0, 1.3, 0.8, 1.1, 0.9, 1.4]), [0, 0, 0, 0, 1, 1]
    plain, moved = compute_interval(y, days), compute_interval(5 - 2 * y, days)
    assert (moved.low, moved.high) == pytest.approx((5 - 2 * plain.high, 5 - 2 * plain.low))


def test_the_interval_of_shares_is_students_of_their_logits() -> None:
    shares = np.array([42.0, 61.0, 97.5, 99.0, 88.0])
    found = compute_share_interval(shares, [*"abcde"])
    logits = special.logit(shares / 100)
    low, high = stats.t.interval(CONFIDENCE, 4, logits.mean(), stats.sem(logits))
    expected = 100 * special.expit([logits.mean(), low, high])
    assert [found.estimate, found.low, found.high] == pytest.approx(expected)
    assert compute_interval(shares, [*"abcde"]).high > 100 > found.high


@pytest.mark.parametrize("bound", [0.0, 100.0])
def test_shares_without_a_logit_have_a_mean_and_no_interval(bound: float) -> None:
    found = compute_share_interval([40.0, 50.0, 60.0, 50.0, bound], [*"abcde"])
    assert found.estimate == pytest.approx((200 + bound) / 5)
    assert isnan(found.low) and isnan(found.high) and found.blocks == 5


def test_holm_steps_down_and_counts_what_could_not_be_tested() -> None:
    assert adjust_holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert adjust_holm([0.02, np.nan, 0.6]) == pytest.approx([0.06, np.nan, 1.0], nan_ok=True)
    assert np.isnan(adjust_holm([np.nan])).all()
    assert adjust_holm([]).size == 0
    p = np.random.default_rng(3).uniform(0, 0.2, 40)
    assert adjust_holm(p) == pytest.approx(multipletests(p, method="holm")[1], rel=1e-12)


def test_hedges_g_is_cohens_d_with_the_exact_correction() -> None:
    assert compute_hedges_g(SLEEP_2, SLEEP_1) == pytest.approx(0.8321811 * 0.9576466)  # 18 df
    # 2 df: 1 / sqrt(pi)
    assert compute_hedges_g([1.0, 3.0], [0.0, 2.0]) == pytest.approx(0.7071068 * 0.5641896)
    assert compute_hedges_g(SLEEP_1, SLEEP_2) == -compute_hedges_g(SLEEP_2, SLEEP_1)


@pytest.mark.parametrize(("a", "b"), [([1, 1], [2, 2]), ([1.0], [2.0, 3.0]), ([], [])])
def test_hedges_g_needs_two_values_a_side_and_some_spread(a: list[float], b: list[float]) -> None:
    assert isnan(compute_hedges_g(a, b))


def test_importing_intervals_does_not_import_scipy() -> None:
    code = "import sys, benchbook.analysis.intervals; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
