"""Statistics against textbook values, scipy and simulation."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from benchbook import stats
from benchbook.evidence import number

JSON_TIMES = [2213.1, 3127.99, 4552.38, 6006.72, 7497.36]
XML_TIMES = [61333.68, 123854.59, 185936.27, 247639.81, 310017.47]

# Student (1908), table of the additional hours of sleep by two drugs.
SLEEP_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def test_student_welch_and_paired_give_the_known_values_of_the_sleep_data():
    assert stats.student(SLEEP_1, SLEEP_2).statistic == pytest.approx(-1.8608, abs=1e-4)
    assert stats.student(SLEEP_1, SLEEP_2).df == 18
    welch = stats.welch(SLEEP_1, SLEEP_2)
    assert (welch.df, welch.p) == pytest.approx((17.776, 0.07939), abs=1e-3)
    pairs = stats.paired(SLEEP_1, SLEEP_2)
    assert (pairs.statistic, pairs.df, pairs.p) == pytest.approx((-4.0621, 9, 0.002833), abs=1e-4)


@pytest.mark.parametrize("n", (2, 3, 30))
def test_the_tests_are_scipy_s(n: int):
    a, b = np.random.default_rng(n).normal(size=(2, n))
    for found, expected in (
        (stats.paired(a, b), scipy_stats.ttest_rel(a, b)),
        (stats.student(a, b[1:] if n > 2 else b), scipy_stats.ttest_ind(a, b[1:] if n > 2 else b)),
        (stats.welch(a, b), scipy_stats.ttest_ind(a, b, equal_var=False)),
    ):
        numbers = (expected.statistic, expected.df, expected.pvalue)
        assert (found.statistic, found.df, found.p) == pytest.approx(numbers, rel=1e-10)


def test_student_reproduces_a_p_value_that_a_paper_prints():
    assert round(stats.student(JSON_TIMES, XML_TIMES).p, 4) == number("tcp", "Table 8", "Total Time", "p") == 0.0033


@pytest.mark.parametrize("test", (stats.student, stats.welch))
def test_one_value_a_side_cannot_be_tested(test):
    result = test([1.0], [2.0, 3.0])
    assert np.isnan([result.statistic, result.df, result.p]).all()
    assert result.reason == "cannot test: 1 and 2 values, at least 2 a side are needed"


def test_one_pair_cannot_be_tested_and_unequal_lengths_are_no_pairs():
    assert stats.paired([1.0], [2.0]).reason == "cannot test: 1 pairs, at least 2 are needed"
    with pytest.raises(ValueError, match="2 values cannot be paired with 3"):
        stats.paired([1, 2], [1, 2, 3])


@pytest.mark.parametrize("test", (stats.student, stats.welch, stats.paired))
def test_values_that_do_not_vary_have_no_p(test):
    result = test([1.0, 1.0, 1.0], [2.0, 2.0, 2.0])
    assert np.isnan(result.p)
    assert result.reason == "cannot test: the values do not vary"


def test_one_constant_side_can_be_welch_tested():
    assert stats.welch([5.0, 5.0, 5.0], [1.0, 2.0, 3.0]).p == pytest.approx(
        scipy_stats.ttest_1samp([1.0, 2.0, 3.0], 5.0).pvalue
    )


@pytest.mark.parametrize("values", ([1.0, np.nan], [np.inf, 1.0], [[1.0, 2.0]]))
def test_a_sample_with_a_missing_value_is_refused(values):
    with pytest.raises(ValueError, match="one-dimensional and finite"):
        stats.mean_interval(values)


def test_mean_interval_is_student_s():
    found = stats.mean_interval(SLEEP_2)
    low, high = scipy_stats.ttest_1samp(SLEEP_2, 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((low, high))
    assert stats.mean_interval([3.0]).reason == "no interval: one value"
    assert np.isnan(stats.mean_interval([3.0]).low)
    assert stats.mean_interval([3.0, 3.0]) == stats.Interval(3, 3, 3)
    assert np.isnan(stats.mean_interval([]).estimate)


def test_an_interval_on_the_log_scale_is_never_negative_and_one_on_the_logit_never_above_the_whole():
    times = stats.mean_interval([1.0, 9.0, 2.0], scale="log")
    assert times.estimate == 4.0 and 0 < times.low < 4.0 < times.high
    assert times.low * times.high == pytest.approx(16.0), "symmetrical on the logarithms"
    assert stats.mean_interval([1.0, 9.0, 2.0]).low < 0, "as the linear one is not"
    shares = stats.mean_interval([99.0, 99.9, 92.0], scale="logit", whole=100.0)
    assert 0 < shares.low < shares.estimate < shares.high < 100 < stats.mean_interval([99.0, 99.9, 92.0]).high
    logits = [np.log(one / (100 - one)) for one in (shares.low, shares.estimate, shares.high)]
    assert logits[1] - logits[0] == pytest.approx(logits[2] - logits[1])
    near = 1000 + 0.1 * np.array(SLEEP_2)  # of what varies little all scales say the same
    plain = stats.mean_interval(near)
    for one in (stats.mean_interval(near, scale="log"), stats.mean_interval(near, scale="logit", whole=1e9)):
        assert (one.low, one.high) == pytest.approx((plain.low, plain.high), abs=1e-4)


@pytest.mark.parametrize(("scale", "values"), [("log", [-1.0, 0.5]), ("logit", [101.0, 100.5]), ("log", [0.0, 9.0])])
def test_a_mean_outside_its_scale_has_no_interval_and_an_extreme_one_a_finite_one(scale, values):
    found = stats.mean_interval(values, scale=scale, whole=100.0)
    if found.reason:
        assert "not between 0 and" in found.reason and np.isnan([found.low, found.high]).all()
    else:
        assert 0 < found.low < found.estimate < found.high < np.inf
    assert stats.mean_interval([0.0, 0.0], scale="log") == stats.Interval(0, 0, 0), "no time at all, each time"


@pytest.mark.parametrize("blocks", [2, 3, 5, 12])
def test_on_the_log_scale_more_intervals_hold_the_mean_of_skewed_values_than_on_the_linear_one(blocks):
    values = np.exp(np.random.default_rng(20150501).normal(0, 0.5, (2000, blocks)))
    truth = np.exp(0.5**2 / 2)
    held = {
        scale: np.mean([one.low <= truth <= one.high for one in (stats.mean_interval(v, scale=scale) for v in values)])
        for scale in ("linear", "log")
    }
    assert held["log"] >= held["linear"] and held["log"] > 0.92


def test_the_intervals_of_a_difference_and_of_a_ratio_are_those_of_scipy_s_tests():
    a, b = np.array(SLEEP_1), np.array(SLEEP_2)
    welch = scipy_stats.ttest_ind(a, b, equal_var=False).confidence_interval()
    found = stats.sum_interval(a, -b)
    assert (found.low, found.high) == pytest.approx((welch.low, welch.high))
    for pairs in (False, True):
        expected = scipy_stats.ttest_rel(a, b) if pairs else scipy_stats.ttest_ind(a, b, equal_var=False)
        ends = np.exp(expected.confidence_interval())
        ratio = stats.ratio_interval(np.exp(a), np.exp(b), pairs=pairs)
        assert (ratio.low, ratio.high) == pytest.approx(tuple(ends))


def test_ratio_interval_is_the_same_whichever_side_divides():
    over, under = stats.ratio_interval(XML_TIMES, JSON_TIMES), stats.ratio_interval(JSON_TIMES, XML_TIMES)
    assert (over.estimate, over.low, over.high) == pytest.approx((1 / under.estimate, 1 / under.high, 1 / under.low))


def test_a_constant_factor_is_found_exactly():
    sizes = stats.ratio_interval([300, 300, 300], [200, 200, 200], pairs=True)
    assert (sizes.estimate, sizes.low, sizes.high) == pytest.approx((1.5, 1.5, 1.5))
    assert stats.ratio_interval([300, 300, 300], [200, 200, 200]).reason == "cannot test: the values do not vary"


def test_pairing_takes_out_what_both_sides_share():
    drift = np.array([1.0, 4.0, 9.0, 16.0])
    a, b = 2 * drift * [1.01, 0.99, 1.0, 1.01], drift
    assert stats.ratio_interval(a, b, pairs=True).low > 1
    assert stats.ratio_interval(a, b).low < 1


def test_zero_and_negative_values_have_no_ratio():
    assert stats.ratio_interval([1, -2], [1, 2]).reason == "no ratio: a value is zero or negative"
    assert np.isnan(stats.detectable_ratio([1, 0], [1, 2]))


@pytest.mark.parametrize("pairs", (False, True))
def test_the_interval_of_a_ratio_covers_the_truth_in_95_percent_of_samples(pairs):
    generator = np.random.default_rng(20150501)
    samples, truth = 2000, 1.3
    shared = generator.normal(0, 0.5 if pairs else 0, (samples, 4))
    a = truth * np.exp(shared + generator.normal(0, 0.2, (samples, 4)))
    b = np.exp(shared + generator.normal(0, 0.2, (samples, 4)))
    found = [stats.ratio_interval(*sides, pairs=pairs) for sides in zip(a, b, strict=True)]
    covered = [one.low <= truth <= one.high for one in found]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.015)


def test_hedges_g_corrects_cohen_s_d_exactly():
    d = (np.mean(SLEEP_2) - np.mean(SLEEP_1)) / np.sqrt((np.var(SLEEP_1, ddof=1) + np.var(SLEEP_2, ddof=1)) / 2)
    assert d == pytest.approx(0.8322, abs=1e-4)
    g = stats.hedges_g(SLEEP_2, SLEEP_1)
    assert g / d == pytest.approx(1 - 3 / (4 * 18 - 1), abs=2e-4)  # Hedges' approximation of the correction
    assert np.isnan(stats.hedges_g([1, 1], [2, 2]))


def test_holm_steps_down_and_leaves_out_what_was_not_tested():
    assert stats.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert stats.holm([0.02, np.nan, 0.6]) == pytest.approx([0.04, np.nan, 0.6], nan_ok=True)
    assert np.isnan(stats.holm([np.nan])).all()
    assert stats.holm([]).size == 0
    p = np.random.default_rng(3).uniform(0, 0.2, 40)
    assert stats.holm(p) == pytest.approx(multipletests(p, method="holm")[1], rel=1e-12)


def test_the_detectable_ratio_has_80_percent_power():
    generator = np.random.default_rng(1)
    a, b = np.exp(generator.normal(0, 0.1, (2, 6)))
    shift = np.log(stats.detectable_ratio(a, b))
    spread = (np.log(a) - np.log(b)).std(ddof=1)
    assert TTestPower().power(shift / spread, nobs=6, alpha=0.05) == pytest.approx(0.8, abs=1e-3)


def test_more_blocks_see_smaller_ratios():
    few, many = [1.0, 1.1, 1.2], [1.0, 1.1, 1.2] * 3
    ones = np.ones(9)
    assert 1 < stats.detectable_ratio(many, ones) < stats.detectable_ratio(few, ones[:3])
    assert np.isnan(stats.detectable_ratio([1.0], [2.0]))


def test_importing_stats_does_not_import_scipy():
    code = "import sys, benchbook.stats; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
