"""How often verdicts are wrong, on simulated claims of known truth.

The numbers of docs/method.md come from more draws: `python benchmarks/error_rates.py`.
"""

from itertools import product

import numpy as np
import pytest

import simulated
from benchbook.analysis import intervals
from simulated import NOISES, SCHEDULES, SHORT_OF_TWO_THIRDS, TRUTHS, Noise, Wrong

SCHEDULE = pytest.mark.parametrize("schedule", SCHEDULES)
ONE = ("no difference, either way", "as large as the SDM", "as large as the SDM, claimed equal")
"""Truths of claims of a single comparison."""


def simulate_one_comparison(schedule: str, draws: int = 400) -> dict[tuple[str, str], Wrong]:
    """Return the shares of wrong verdicts on claims of one comparison, by truth and noise."""
    return {
        (truth, noise): simulated.wrong_verdicts(
            TRUTHS[truth], NOISES[noise], SCHEDULES[schedule], 1, draws
        )
        for truth, noise in product(ONE, NOISES)
    }


@SCHEDULE
def test_claims_of_one_comparison_are_seldom_judged_wrongly_under_any_noise(schedule: str) -> None:
    found = simulate_one_comparison(schedule)
    assert max(wrong.at_end for wrong in found.values()) <= 0.045
    assert max(wrong.ever for wrong in found.values()) <= 0.1
    assert np.mean([wrong.at_end for wrong in found.values()]) <= 0.01
    assert np.mean([wrong.ever for wrong in found.values()]) <= 0.03


@SCHEDULE
@pytest.mark.parametrize("n", (10, 24))
def test_claims_of_many_comparisons_are_judged_wrongly_less_often_than_those_of_one(
    schedule: str, n: int
) -> None:
    for noise in ("ICC .5", "Student's t, 3 df"):
        for name, truth in TRUTHS.items():
            # Between no difference and the SDM neither verdict is wrong.
            if name.startswith("half the SDM"):
                continue
            wrong = simulated.wrong_verdicts(truth, NOISES[noise], SCHEDULES[schedule], n, draws=20)
            assert wrong.ever <= 0.05, (name, noise)


def test_blocks_taken_for_independent_would_be_judged_wrongly_too_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(intervals, "ICC", 0.0)
    found = simulate_one_comparison("reference")
    assert np.mean([wrong.ever for wrong in found.values()]) > 0.06
    assert max(wrong.ever for wrong in found.values()) > 0.2


@SCHEDULE
def test_99_percent_intervals_hold_the_truth_in_99_percent_where_the_correlation_is_as_assumed(
    schedule: str,
) -> None:
    random = np.random.default_rng(2)
    split = max(SCHEDULES[schedule], key=len)
    days = np.repeat(np.arange(len(split)), split)
    noise = Noise(icc=intervals.ICC).draw(random, days, 2000)
    found = [intervals.compute_interval(row, days) for row in noise]
    assert np.mean([one.low <= 0 <= one.high for one in found]) == pytest.approx(
        intervals.CONFIDENCE, abs=0.006
    )


@SCHEDULE
@pytest.mark.parametrize("n", (1, 10))
def test_a_difference_far_beyond_the_sdm_is_found(schedule: str, n: int) -> None:
    truth = simulated.Truth((2.0,), "more", frozenset({"holds"}))  # here the right one
    assert simulated.wrong_verdicts(truth, Noise(), SCHEDULES[schedule], n, draws=40).at_end > 0.9


def test_a_claim_one_comparison_short_of_two_thirds_is_seldom_said_to_hold_mostly() -> None:
    wrong = simulated.wrong_verdicts(
        SHORT_OF_TWO_THIRDS, Noise(), SCHEDULES["eight days"], 24, draws=30
    )
    assert wrong.at_end <= 0.15
