"""What more blocks can decide: the smallest difference that a comparison can show, and how many blocks one needs.

An interval's width depends on the blocks' spread, their number and their machine-days. Given the spread of the blocks
that ran, `blocks_to_decide` asks at which number the interval would exclude "no difference".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, isnan, log, sqrt
from typing import Final, Literal, TypeAlias

from benchbook.analysis import Comparison
from benchbook.analysis.intervals import CONFIDENCE, ICC, MIN_BLOCKS, quantile
from benchbook.digits import plural

MARGIN: Final = 1.1
"""Two levels whose ratio's interval lies within this are alike."""

PARITY: Final = 1.05
"""Of two levels whose ratio lies within this no number of blocks will say which is faster."""

MOST_BLOCKS: Final = 30
"""Blocks of one machine-day that a person is asked for at most, in all."""

MOST_DAYS: Final = 3
"""More machine-days than this are not asked for."""

State: TypeAlias = Literal[
    "fastest", "slower", "alike", "undecided", "smallest", "larger", "too few blocks", "not compared"
]
"""What a level is beside the fastest, or the smallest."""


@dataclass(frozen=True)
class Need:
    """What would decide an undecided comparison: blocks, or blocks on other days; neither when it is out of reach."""

    blocks: int = 0  # how many more, on the machine-day of the others
    days: int = 0  # on how many more days, each of `MIN_BLOCKS` blocks
    parity: bool = False  # whether the two are so close that none will
    interval: bool = False  # whether blocks are missing for an interval


def state_of(row: Comparison) -> State:
    """Return what a comparison with the fastest level came to."""
    if isnan(row.estimate):
        return "not compared"
    if isnan(row.low):
        return "too few blocks"
    if row.low > 1:
        return "slower"
    return "alike" if row.low >= 1 / MARGIN and row.high <= MARGIN else "undecided"


def state_of_fastest(rows: Sequence[Comparison]) -> State:
    """Return what the level is that all others are compared with."""
    states = {state_of(row) for row in rows}
    for state in ("too few blocks", "undecided", "alike"):
        if state in states:
            return state
    return "fastest"


def hardest_need(rows: Sequence[Comparison]) -> Need | None:
    """Return what would decide all comparisons with the fastest level; None where all are decided."""
    blocks = min(row.blocks for row in rows)
    if any(state_of(row) == "too few blocks" for row in rows):
        return Need(blocks=MIN_BLOCKS - blocks, interval=True)
    needs = [blocks_to_decide(row) for row in rows if state_of(row) == "undecided"]
    return max(
        needs, key=lambda need: (need.parity, not (need.blocks or need.days), need.days, need.blocks), default=None
    )


def detectable_ratio(row: Comparison) -> float:
    """Return the ratio above which a difference would show, as exactly as these blocks measured; NaN without a ratio.

    It is half the interval's width: an estimate beyond it has an interval without 1.
    """
    if row.kind != "ratio" or not 0 < row.low <= row.high:
        return float("nan")
    return exp(min(log(row.high / row.low) / 2, 700))


def blocks_to_decide(row: Comparison) -> Need:
    """Return what would decide an undecided comparison, if its estimate and its blocks' spread stay as they are."""
    distance = abs(log(row.estimate))
    if distance <= log(PARITY):
        return Need(parity=True)
    # The spread of one block, from the standard error and the weight of those that ran.
    spread = row.error * sqrt(row.machine_days * _weight(row.blocks / row.machine_days))
    # More blocks on one day are cheap, but share what the day has in common.
    if row.machine_days == 1:
        for blocks in range(row.blocks + 1, MOST_BLOCKS + 1):
            if _reach(spread, blocks, 1) < distance:
                return Need(blocks=blocks - row.blocks)
    for days in range(row.machine_days + 1, row.machine_days + MOST_DAYS + 1):
        more = (days - row.machine_days) * MIN_BLOCKS
        if _reach(spread, row.blocks + more, days) < distance:
            return Need(days=days - row.machine_days)
    return Need()


def describe_need(need: Need, blocks: int, *, noisy: bool = False) -> str:
    """Return what would decide a comparison of so many blocks, as a sentence without its full stop.

    Parameters
    ----------
    noisy
        Whether other programs were busy meanwhile.
    """
    if need.parity:
        return f"Will not be decided: parity within {100 * (PARITY - 1):.0f} %"
    if need.interval:
        return f"An interval needs {plural(need.blocks, 'more block')}: --blocks {MIN_BLOCKS}"
    if need.blocks:
        return f"About {plural(need.blocks, 'more block')} would settle it: --blocks {blocks + need.blocks}"
    if need.days:
        days = "another day" if need.days == 1 else f"each of {need.days} other days"
        return f"About {MIN_BLOCKS} more blocks on {days} would settle it: --blocks {blocks + MIN_BLOCKS}"
    return "More blocks will hardly settle it" + (" while other programs are busy" if noisy else "")


def _weight(blocks: float) -> float:
    """Return the weight of a machine-day's mean, in blocks that share nothing."""
    return blocks / (1 + ICC / (1 - ICC) * blocks)


def _reach(spread: float, blocks: int, days: int) -> float:
    """Return half the width of an interval, of a logarithm."""
    return quantile(blocks - 1, 0.5 + CONFIDENCE / 2) * spread / sqrt(days * _weight(blocks / days))
