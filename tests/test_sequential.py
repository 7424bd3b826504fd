"""Looks at a growing number of blocks: their constants, found anew and coarsely, and how often all together err."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from benchbook.stats import sequential

LOOKS = sequential.LOOKS


def errs(confidence: dict[int, float], noise: np.ndarray) -> float:
    """Return the share of paths, shape (paths, blocks), of which any look's interval misses 0, their true mean."""
    missed = np.zeros(len(noise), bool)
    for blocks, sure in confidence.items():
        seen = noise[:, :blocks]
        error = seen.std(axis=1, ddof=1) / np.sqrt(blocks)
        missed |= np.abs(seen.mean(axis=1)) > scipy_stats.t.ppf(0.5 + sure / 2, blocks - 1) * error
    return float(missed.mean())


@pytest.fixture(scope="module")
def noise() -> np.ndarray:
    return np.random.Generator(np.random.PCG64(7)).standard_normal((40_000, LOOKS[-1]))


def simulated(paths: int, seed: int) -> list[float]:
    """Return `sequential.REACH` from so many simulated paths of Student's t under no effect; 2,000,000 give its digits.

    At each look the paths that had not erred before err as often as the spending function says.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    total, squares = np.zeros(paths), np.zeros(paths)
    sound = np.ones(paths, bool)
    reach, spent, before = [], 0.0, 0
    for blocks in LOOKS:
        for _ in range(blocks - before):
            value = random.standard_normal(paths)
            total += value
            squares += value**2
        variance = (squares - total**2 / blocks) / (blocks - 1)
        t = np.abs(total) / np.sqrt(blocks * variance)
        allowed = sequential.ALPHA * np.sqrt(blocks / LOOKS[-1])
        reach.append(float(np.quantile(t[sound], 1 - (allowed - spent) * paths / sound.sum())))
        sound &= t <= reach[-1]
        spent, before = allowed, blocks
    return reach


def test_the_constants_are_those_of_simulated_paths() -> None:
    assert simulated(200_000, seed=3) == pytest.approx(sequential.REACH, abs=0.06)


def test_all_looks_together_err_in_five_percent_where_plain_intervals_err_in_more(noise: np.ndarray) -> None:
    assert errs({look: sequential.confidence(look) for look in LOOKS}, noise) == pytest.approx(0.05, abs=0.004)
    assert errs(dict.fromkeys(LOOKS, 0.95), noise) > 0.1


@pytest.mark.parametrize("alpha", (0.025, 0.005))
def test_a_corrected_level_is_kept_by_all_looks_together(noise: np.ndarray, alpha: float) -> None:
    assert 0.5 * alpha < errs({look: sequential.confidence(look, alpha) for look in LOOKS}, noise) <= 1.05 * alpha


def test_the_level_of_a_look_is_less_sure_the_later_it_is_but_for_the_first() -> None:
    sure = [sequential.confidence(look) for look in LOOKS]
    assert min(sure) > 0.95
    assert sure[0] < sure[1]  # the first may err in two of five mistakes that all looks may make


@pytest.mark.parametrize(("blocks", "last"), ((0, 0), (4, 0), (5, 5), (7, 5), (8, 8), (29, 20), (30, 30), (99, 30)))
def test_blocks_are_looked_at_up_to_the_last_look_that_they_allow(blocks: int, last: int) -> None:
    assert sequential.look(blocks) == last


@pytest.mark.parametrize(("blocks", "alpha"), ((6, 0.05), (5, 0.1), (5, 0.0)))
def test_no_confidence_is_made_up_between_looks_or_above_five_percent(blocks: int, alpha: float) -> None:
    with pytest.raises(ValueError, match="no look"):
        sequential.confidence(blocks, alpha)
