"""Permutation, ranks, bootstrap, equivalence and steady states against textbooks, R and scipy."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from benchbook import stats
from benchbook.stats.ranks import BOOTSTRAP_FROM
from benchbook.stats.steadiness import ENOUGH

# Darwin's maize, crossed less self-fertilised, eighths of an inch: Fisher, The Design of Experiments, section 17.
MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
# Permeability of the human chorioamnion: Hollander and Wolfe (1973), 69f; the example of R's wilcox.test.
AT_TERM = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
EARLY = [1.15, 0.88, 0.90, 0.74, 1.21]
# Area under the curve of two drugs: Wellek (2003), 212; SAS/STAT's example of PROC TTEST with TOST(0.8, 1.25).
TEST_DRUG = [103.4, 59.92, 68.17, 94.54, 69.48, 72.17, 74.37, 84.44, 96.74, 94.26, 48.52, 95.68]
REFERENCE = [90.11, 77.71, 77.71, 97.51, 58.21, 101.3, 79.84, 96.06, 89.30, 97.22, 61.62, 85.80]

values = st.lists(st.floats(0.1, 100, allow_subnormal=False), min_size=2, max_size=7, unique=True)


def test_permutation_gives_fishers_p_of_darwins_maize_within_its_sampling():
    """Of the 32,768 arrangements 1,726 are as far out: more than a run enumerates, so that it samples them."""
    exact, drawn = 1726 / 2**15, stats.permutation(MAIZE, np.zeros(15), pairs=True)
    assert drawn.statistic == pytest.approx(314 / 15)
    assert drawn.p == pytest.approx(exact, abs=4 * np.sqrt(exact / 9999))


@settings(max_examples=40, deadline=None)
@given(values)
def test_permutation_of_few_pairs_is_exactly_the_share_of_signs_that_lie_as_far_out(differences):
    array = np.asarray(differences)
    means = np.array([(np.asarray(signs) * array).mean() for signs in product((1, -1), repeat=array.size)])
    extreme = np.abs(means) >= abs(array.mean()) * (1 - 1e-12)
    assert stats.permutation(array, np.zeros(array.size), pairs=True).p == pytest.approx(extreme.mean())


def test_permutation_of_five_pairs_cannot_reach_five_percent():
    assert stats.permutation([5, 6, 7, 8, 9], [1, 1, 1, 1, 1.5], pairs=True).p == 2**-4


@settings(max_examples=30, deadline=None)
@given(values, values)
def test_permutation_of_independent_sides_is_scipys_exact_test(a, b):
    found = stats.permutation(a, b, pairs=False)
    there = scipy_stats.permutation_test((a, b), lambda x, y: np.mean(x) - np.mean(y), n_resamples=np.inf)
    assert found.p == pytest.approx(there.pvalue)


def test_mann_whitney_gives_rs_values_of_the_chorioamnion():
    """R prints W = 35 and, one-sided, p = 0.1272."""
    found = stats.mann_whitney(AT_TERM, EARLY)
    assert (found.statistic, round(found.p / 2, 4)) == (35, 0.1272)


@settings(max_examples=40, deadline=None)
@given(values, values)
def test_mann_whitney_is_scipys(a, b):
    there = scipy_stats.mannwhitneyu(a, b)
    found = stats.mann_whitney(a, b)
    assert (found.statistic, found.p) == pytest.approx((there.statistic, there.pvalue))


def test_equivalence_gives_the_sas_manuals_answer_of_two_drugs():
    """The manual: geometric mean ratio 0.9412, 90 % interval 0.8634 to 1.0260, so equivalent within 0.8 to 1.25."""
    found = stats.equivalence(TEST_DRUG, REFERENCE, 1.25, pairs=True)
    logs = np.log(TEST_DRUG) - np.log(REFERENCE)
    one_sided = scipy_stats.ttest_1samp(logs, -np.log(1.25), alternative="greater")
    assert (found.p, found.df) == pytest.approx((one_sided.pvalue, 11))
    assert found.p < 0.05
    ninety = stats.ratio_interval(TEST_DRUG, REFERENCE, pairs=True, confidence=0.9)
    assert (round(ninety.estimate, 4), round(ninety.low, 4), round(ninety.high, 4)) == (0.9412, 0.8634, 1.0260)


@settings(max_examples=60, deadline=None)
@given(values, values, st.floats(1.05, 3), st.booleans())
def test_sides_are_equivalent_at_five_percent_just_when_the_ninety_percent_interval_lies_inside_the_margin(
    a, b, margin, pairs
):
    a, b = (a[: min(len(a), len(b))], b[: min(len(a), len(b))]) if pairs else (a, b)
    found = stats.equivalence(a, b, margin, pairs=pairs)
    if found.reason:
        return
    inside = stats.ratio_interval(a, b, pairs=pairs, confidence=0.9)
    assert (found.p < 0.05) == (1 / margin < inside.low and inside.high < margin) or abs(found.p - 0.05) < 1e-6


def test_a_margin_that_is_no_ratio_above_one_is_refused():
    with pytest.raises(ValueError, match="above 1"):
        stats.equivalence([1, 2], [1, 2], 0.9)


@pytest.mark.parametrize("pairs", (True, False))
def test_bootstrap_ratio_is_scipys_bca_of_the_logarithms(pairs):
    noise = np.random.default_rng(1)
    a, b = np.exp(noise.normal(0.3, 0.1, 12)), np.exp(noise.normal(0, 0.1, 12))
    found = stats.bootstrap_ratio(a, b, pairs=pairs)
    data = (np.log(a) - np.log(b),) if pairs else (np.log(a), np.log(b))
    there = scipy_stats.bootstrap(
        data, (lambda x: x.mean()) if pairs else (lambda x, y: x.mean() - y.mean()), vectorized=False, rng=5
    )
    assert np.log([found.low, found.high]) == pytest.approx([*there.confidence_interval], abs=0.006)
    assert found.estimate == pytest.approx(stats.ratio_interval(a, b, pairs=pairs).estimate)


@pytest.mark.parametrize(("blocks", "covered"), [(6, 0.858), (8, 0.880), (BOOTSTRAP_FROM, 0.901)])
def test_the_bootstrap_covers_as_much_as_its_limit_says(blocks, covered):
    draws = np.random.default_rng(7).standard_normal((4000, blocks))
    ends = scipy_stats.bootstrap((draws,), np.mean, axis=1, method="BCa", n_resamples=999, rng=3).confidence_interval
    assert np.mean((ends.low <= 0) & (ends.high >= 0)) == pytest.approx(covered, abs=0.02)


def test_few_blocks_have_a_ratio_but_no_bootstrap_interval():
    found = stats.bootstrap_ratio([2.0, 2.1, 2.2], [1.0, 1.1, 1.0], pairs=True)
    assert found.reason == "no bootstrap: 3 values, below 10 its interval is too narrow"
    assert found.estimate == pytest.approx(2.033, abs=1e-3)
    assert np.isnan(found.low)


@pytest.mark.parametrize(
    "test",
    (
        lambda a, b: stats.permutation(a, b, pairs=True),
        lambda a, b: stats.permutation(a, b, pairs=False),
        stats.mann_whitney,
        lambda a, b: stats.equivalence(a, b, 1.1, pairs=True),
        lambda a, b: stats.equivalence(a, b, 1.1),
        lambda a, b: stats.bootstrap_ratio(a, b, pairs=True),
        lambda a, b: stats.bootstrap_ratio(a, b),
    ),
)
def test_one_block_cannot_be_tested(test):
    assert "are needed" in test([1.0], [2.0]).reason


def test_the_sum_of_means_is_the_difference_when_one_side_is_negated():
    a, b = [1.0, 2.0, 4.0], [2.0, 5.0, 3.0, 4.0]
    assert stats.sum_interval(a, -np.asarray(b)) == stats.difference_interval(a, b, pairs=False)


def repetitions(shape: str, n: int, seed: int) -> np.ndarray:
    noise = np.exp(0.05 * np.random.default_rng(seed).standard_normal(n))
    third = n // 3
    noise *= {
        "flat": np.ones(n),
        "first": np.r_[5.0, np.ones(n - 1)],
        "cold start": np.r_[np.full(third, 1.6), np.ones(n - third)],
        "slows down": np.r_[np.full(third, 0.6), np.ones(n - third)],
        "no steady state": np.r_[np.ones(n - third), np.full(third, 1.6)],
        "outlier": np.r_[np.ones(third), 8.0, np.ones(n - third - 1)],
    }[shape]
    return noise


@pytest.mark.parametrize("n", (20, 30, 100))
@pytest.mark.parametrize(
    ("shape", "told", "start"),
    [
        ("flat", "flat", lambda n: 0),
        ("first", "cold start", lambda n: 1),
        ("cold start", "cold start", lambda n: n // 3),
        ("slows down", "slows down", lambda n: n // 3),
        ("no steady state", "no steady state", lambda n: None),
        ("outlier", "flat", lambda n: 0),
    ],
)
def test_a_cold_start_is_split_from_the_steady_state(n, shape, told, start):
    found = [stats.steadiness(repetitions(shape, n, seed)) for seed in range(40)]
    assert sum(one.shape == told and one.start == start(n) for one in found) >= 36


def test_rows_that_do_not_change_seldom_seem_to():
    shapes = Counter(stats.steadiness(repetitions("flat", 30, seed)).shape for seed in range(400))
    assert shapes["flat"] >= 380


def test_a_level_that_differs_by_less_than_five_percent_is_the_same_state():
    barely = np.exp(0.002 * np.random.default_rng(0).standard_normal(40)) * np.r_[np.full(20, 1.03), np.ones(20)]
    assert stats.steadiness(barely).shape == "flat"


def test_too_few_repetitions_and_values_without_a_logarithm_have_no_steady_state_to_find():
    assert stats.steadiness(np.ones(ENOUGH - 1)).reason == "19 repetitions, at least 20 are needed"
    assert stats.steadiness(np.zeros(ENOUGH)).reason == "a value is zero or negative"


def test_values_that_never_vary_are_flat():
    assert stats.steadiness(np.full(30, 7.0)).shape == "flat"
