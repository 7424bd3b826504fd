"""Forecasts: how many further blocks or machine-days would decide what is undecided.

For a claim, begin with `forecast_outcomes`, which `benchbook.analysis.verdicts` asks for one day
after another; for a single comparison, with `estimate_need`. Both assume that the estimate and the
spread of the blocks that ran are the true ones.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import exp, isnan, log, sqrt
from statistics import median
from typing import Final

from benchbook.analysis.comparisons import Comparison, Outcome, judge_comparison
from benchbook.analysis.intervals import CONFIDENCE, MIN_BLOCKS, compute_t_quantile, weigh_day

BLOCKS_PER_DAY: Final = 3
"""Blocks of a further machine-day: more of one day add little, because they resemble each other."""

SHORT_BLOCKS_PER_DAY: Final = 5
"""The same of cells that take at most `SHORT_CELL_S` seconds, as many as an interval needs."""

SHORT_CELL_S: Final = 30.0
"""Seconds that a short cell takes at most."""

MAX_FORECAST_DAYS: Final = 20
"""The most further machine-days that a forecast looks ahead."""

PARITY_WITHIN: Final = 1.05
"""Sides whose ratio is within this factor count as equally fast."""

MAX_ASKED_BLOCKS: Final = 30
"""The most blocks of one machine-day, in all, that a user is asked for."""

MAX_ASKED_DAYS: Final = 3
"""The most further machine-days that a user is asked for."""


@dataclass(frozen=True)
class Need:
    """What would decide an undecided comparison; all zero when nothing affordable would."""

    blocks: int = 0  # how many more, on the machine-day of the others
    days: int = 0  # on how many more days, each of `MIN_BLOCKS` blocks
    parity: bool = False  # whether the levels are so close that no number of blocks decides
    interval: bool = False  # whether blocks are missing for an interval


def forecast_outcomes(rows: Iterable[Comparison], days: int) -> list[Outcome]:
    """Return the outcome of each comparison after further machine-days.

    Parameters
    ----------
    rows
        The comparisons of one claim that ran. One without an interval gets the median spread of the
        others.
    days
        The number of further machine-days, each of `BLOCKS_PER_DAY` blocks.
    """
    rows = [*rows]
    spreads = [compute_spread(row) for row in rows if not isnan(row.error)]
    if not spreads:
        return [row.stands for row in rows]
    usual = median(spreads)
    outcomes: list[Outcome] = []
    for row in rows:
        spread = usual if isnan(row.error) else compute_spread(row)
        blocks = row.blocks + days * BLOCKS_PER_DAY
        reach = compute_half_width(spread, blocks, row.machine_days + days)
        if row.kind == "ratio":
            low, high = (row.estimate * exp(sign * reach) for sign in (-1, 1))
        else:
            low, high = row.estimate - reach, row.estimate + reach
        outcomes.append(judge_comparison(replace(row, low=low, high=high)))
    return outcomes


def are_alike(rows: Sequence[Comparison]) -> bool:
    """Return whether the open comparisons are ratios within `PARITY_WITHIN` of no difference."""
    still_open = [row for row in rows if row.stands == "open"]
    within = log(PARITY_WITHIN)
    return all(
        row.kind == "ratio" and abs(log(row.estimate / row.than)) <= within for row in still_open
    )


def estimate_need(row: Comparison) -> Need:
    """Return the blocks that would decide a comparison if its estimate and spread stay the same."""
    distance = abs(log(row.estimate))
    if distance <= log(PARITY_WITHIN):
        return Need(parity=True)

    # More blocks on the same day are cheap, but they share what the day has in common.
    spread = compute_spread(row)
    if row.machine_days == 1:
        for blocks in range(row.blocks + 1, MAX_ASKED_BLOCKS + 1):
            if compute_half_width(spread, blocks, 1) < distance:
                return Need(blocks=blocks - row.blocks)
    for more_days in range(1, MAX_ASKED_DAYS + 1):
        blocks = row.blocks + more_days * MIN_BLOCKS
        if compute_half_width(spread, blocks, row.machine_days + more_days) < distance:
            return Need(days=more_days)
    return Need()


def compute_detectable_ratio(row: Comparison) -> float:
    """Return the smallest ratio that these blocks could show; NaN without a ratio's interval.

    It is half the interval's width: an estimate beyond it has an interval without 1.
    """
    if row.kind != "ratio" or not 0 < row.low <= row.high:
        return float("nan")
    # A float ends at the 709th power of e.
    return exp(min(log(row.high / row.low) / 2, 700))


def compute_half_width(spread: float, blocks: int, days: int) -> float:
    """Return half the width of an interval.

    Parameters
    ----------
    spread
        The standard deviation of one block within its machine-day, as a logarithm or in a unit.
    blocks
        The number of blocks on all machine-days.
    days
        The number of machine-days.
    """
    error = spread / sqrt(days * weigh_day(blocks / days))
    return compute_t_quantile(blocks - 1, 0.5 + CONFIDENCE / 2) * error


def compute_spread(row: Comparison) -> float:
    """Return the standard deviation of one block within its day, from the standard error."""
    return row.error * sqrt(row.machine_days * weigh_day(row.blocks / row.machine_days))
