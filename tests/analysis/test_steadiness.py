"""Steady states in simulated repetitions; and a sum's interval."""

from collections import Counter

import numpy as np
import pytest

from benchbook.analysis import steadiness as stats
from benchbook.analysis.steadiness import MIN_REPETITIONS


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
    found = [stats.find_steady_state(repetitions(shape, n, seed)) for seed in range(40)]
    assert sum(one.shape == told and one.start == start(n) for one in found) >= 36


def test_rows_that_do_not_change_seldom_seem_to():
    shapes = Counter(
        stats.find_steady_state(repetitions("flat", 30, seed)).shape for seed in range(400)
    )
    assert shapes["flat"] >= 380


def test_a_level_that_differs_by_less_than_five_percent_is_the_same_state():
    barely = (
        np.exp(0.002 * np.random.default_rng(0).standard_normal(40))
        * np.r_[np.full(20, 1.03), np.ones(20)]
    )
    assert stats.find_steady_state(barely).shape == "flat"


def test_too_few_repetitions_and_values_without_a_logarithm_have_no_steady_state_to_find():
    assert (
        stats.find_steady_state(np.ones(MIN_REPETITIONS - 1)).reason
        == "19 repetitions, at least 20 are needed"
    )
    assert (
        stats.find_steady_state(np.zeros(MIN_REPETITIONS)).reason == "a value is zero or negative"
    )


def test_values_that_never_vary_are_flat():
    assert stats.find_steady_state(np.full(30, 7.0)).shape == "flat"
