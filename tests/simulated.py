"""Claims of known truth: their block means are drawn, and judged by the library's code."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchbook.analysis.comparisons import Comparison, judge_comparison
from benchbook.analysis.intervals import compute_interval
from benchbook.analysis.verdicts import judge_counts

MARGIN = 1.1
"""The smallest difference that matters."""

DEVIATION = 0.12
"""Standard deviation of a block's logarithm of a ratio, its day's share included."""

# Blocks of each machine-day, in order of time.
EIGHT_DAYS = {(3, 3, 3, 3, 3, 3, 3, 3): 1}
REFERENCE = {
    **{(3, 2): 13, (13, 2, 2, 2): 5, (5, 1): 5, (5, 6, 2): 4, (8, 2, 3, 2): 4, (5, 2, 5, 2): 4},
    **{(12, 2, 2): 4, (11, 2, 2): 4, (11, 1, 1, 1): 4, (13, 2): 4, (11, 2): 4, (10, 2, 2, 2): 4},
    **{(13, 2, 1): 4, (11, 3, 2): 4, (8, 1, 2, 3, 2): 3, (6,): 2},
}
"""The commonest schedules of the reference run, each with its share of comparisons in %."""

SCHEDULES = {"reference": REFERENCE, "eight days": EIGHT_DAYS}


@dataclass(frozen=True)
class Noise:
    """How a comparison's blocks vary around its truth, with standard deviation `DEVIATION`.

    Parameters
    ----------
    icc
        Share of the variance that the blocks of a machine-day have in common.
    tails
        Whether blocks follow Student's t with 3 degrees of freedom instead of the normal
        distribution.
    bad
        By how many standard deviations one block of all is off.
    memory
        Correlation of a block with the one before it, an AR(1).
    """

    icc: float = 0.35
    tails: bool = False
    bad: float = 0.0
    memory: float = 0.0

    def draw(
        self, random: np.random.Generator, days: NDArray[np.int64], n: int
    ) -> NDArray[np.float64]:
        """Return the noise of n comparisons, shape (n, blocks)."""
        shape = n, len(days)
        own = (
            random.standard_t(3, shape) / np.sqrt(3)
            if self.tails
            else random.standard_normal(shape)
        )
        for block in range(1, len(days) if self.memory else 0):
            own[:, block] *= np.sqrt(1 - self.memory**2)
            own[:, block] += self.memory * own[:, block - 1]
        own[np.arange(n), random.integers(len(days), size=n)] += self.bad
        of_day = random.standard_normal((n, days.max() + 1))[:, days]
        return DEVIATION * (np.sqrt(self.icc) * of_day + np.sqrt(1 - self.icc) * own)


NOISES = {
    "ICC 0": Noise(icc=0.0),
    "ICC .2": Noise(icc=0.2),
    "ICC .35": Noise(),
    "ICC .5": Noise(icc=0.5),
    "Student's t, 3 df": Noise(tails=True),
    "one bad block": Noise(bad=5.0),
    "AR(1) of .3": Noise(memory=0.3),
}


@dataclass(frozen=True)
class Truth:
    """True ratios of a claim's comparisons, and which verdicts are wrong then."""

    ratios: tuple[float, ...]  # repeated in turn for as many comparisons as there are
    claimed: str
    wrong: frozenset[str]


TRUTHS = {
    "no difference": Truth((1.0,), "more", frozenset({"holds", "mostly holds", "mixed"})),
    "no difference, either way": Truth(
        (1.0,), "more", frozenset({"holds", "mostly holds", "mixed", "the opposite"})
    ),
    "as large as the SDM": Truth(
        (MARGIN,), "more", frozenset({"does not hold", "the opposite", "mixed"})
    ),
    "half the SDM, holds": Truth((1.05,), "more", frozenset({"holds", "mostly holds"})),
    "half the SDM, does not hold": Truth((1.05,), "more", frozenset({"does not hold"})),
    "as large as the SDM, claimed equal": Truth(
        (MARGIN,), "equal", frozenset({"holds", "mostly holds", "mixed"})
    ),
    "half 1.5, half 1": Truth(
        (1.5, 1.0), "more", frozenset({"holds", "mostly holds", "does not hold", "the opposite"})
    ),
}
SHORT_OF_TWO_THIRDS = Truth(
    (1.5, 1.0, 1.5, 1.0, 1.5, 1.5, 1.0, 1.5), "more", frozenset({"holds", "mostly holds"})
)
"""Five of eight comparisons are true."""


@dataclass(frozen=True)
class Wrong:
    """Shares of claims with a wrong verdict."""

    at_end: float
    ever: float  # at the end of some day


def wrong_verdicts(
    truth: Truth,
    noise: Noise,
    schedule: dict[tuple[int, ...], int],
    n: int,
    draws: int,
    seed: int = 1,
) -> Wrong:
    """Return how often claims of n comparisons get a wrong verdict.

    Parameters
    ----------
    schedule
        Blocks of each machine-day, with how often claims have them.
    draws
        How many claims are simulated.
    """
    random = np.random.default_rng(seed)
    shares = np.array([*schedule.values()]) / sum(schedule.values())
    which = random.choice(len(shares), size=draws, p=shares)
    splits = [*schedule]
    at_end = ever = 0
    for chosen in which:
        is_wrong = [
            verdict in truth.wrong
            for verdict in daily_verdicts(truth, noise, splits[chosen], n, random)
        ]
        at_end += is_wrong[-1]
        ever += any(is_wrong)
    return Wrong(at_end / draws, ever / draws)


def daily_verdicts(
    truth: Truth, noise: Noise, split: Sequence[int], n: int, random: np.random.Generator
) -> Iterator[str]:
    """Yield the verdict on a claim at the end of each day that leaves an interval."""
    days = np.repeat(np.arange(len(split)), split)
    logs = np.log(np.resize(truth.ratios, n))[:, None] + noise.draw(random, days, n)
    for blocks in np.cumsum(split):
        if blocks >= 5:
            yield judge_rows(
                [simulate_comparison(row[:blocks], days[:blocks], truth.claimed) for row in logs]
            )


def simulate_comparison(
    logs: NDArray[np.float64], days: NDArray[np.int64], claimed: str
) -> Comparison:
    """Return a comparison of blocks whose logarithms of a over b are those."""
    found = compute_interval(logs, days)
    row = Comparison(
        study="simulated",
        name="simulated",
        language="python",
        operation="insert",
        role="client",
        metric="wall_time",
        unit="ns",
        a="a",
        b="b",
        label="",
        settings={},
        n=None,
        estimate=np.exp(found.estimate),
        low=np.exp(found.low),
        high=np.exp(found.high),
        claimed=claimed,
        margin=MARGIN,
    )
    return replace(row, stands=judge_comparison(row))


def judge_rows(rows: Sequence[Comparison]) -> str:
    """Return the verdict on a claim; "the opposite" for a claim that does not hold in that way."""
    verdict = judge_counts(Counter(row.stands for row in rows))
    against = [row for row in rows if row.stands == "against"]
    opposite = [row for row in against if row.high < 1]
    if verdict == "does not hold" and 2 * len(opposite) > len(against):
        return "the opposite"
    return verdict
