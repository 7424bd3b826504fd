"""What more blocks can decide about a comparison.

An interval's width depends on the blocks' spread, their number and their machine-days. Given the
spread of the blocks that ran, `estimate_need` finds the number of blocks at which the interval
would exclude "no difference".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, isnan, log
from typing import Final, Literal, TypeAlias

from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.forecast import PARITY_WITHIN, compute_half_width, compute_spread
from benchbook.analysis.intervals import MIN_BLOCKS

ALIKE_WITHIN: Final = 1.1
"""Two levels are alike when the interval of their ratio lies within this factor."""

MAX_BLOCKS: Final = 30
"""The most blocks of one machine-day, in all, that a user is asked for."""

MAX_DAYS: Final = 3
"""The most further machine-days that a user is asked for."""

State: TypeAlias = Literal[
    "fastest",
    "slower",
    "alike",
    "undecided",
    "smallest",
    "larger",
    "too few blocks",
    "not compared",
]
"""What a level is compared with the fastest, or with the smallest."""


@dataclass(frozen=True)
class Need:
    """What would decide an undecided comparison; all zero when nothing affordable would."""

    blocks: int = 0  # how many more, on the machine-day of the others
    days: int = 0  # on how many more days, each of `MIN_BLOCKS` blocks
    parity: bool = False  # whether the levels are so close that no number of blocks decides
    interval: bool = False  # whether blocks are missing for an interval


def classify_level(row: Comparison) -> State:
    """Return the state of a level from its comparison with the fastest level."""
    if isnan(row.estimate):
        return "not compared"
    if isnan(row.low):
        return "too few blocks"
    if row.low > 1:
        return "slower"
    is_alike = row.low >= 1 / ALIKE_WITHIN and row.high <= ALIKE_WITHIN
    return "alike" if is_alike else "undecided"


def classify_fastest(rows: Sequence[Comparison]) -> State:
    """Return the state of the fastest level from the comparisons of all others with it."""
    states = {classify_level(row) for row in rows}
    for state in ("too few blocks", "undecided", "alike"):
        if state in states:
            return state
    return "fastest"


def find_hardest_need(rows: Sequence[Comparison]) -> Need | None:
    """Return the blocks that would decide all comparisons with the fastest level, if any."""
    blocks = min(row.blocks for row in rows)
    states = [classify_level(row) for row in rows]
    if "too few blocks" in states:
        return Need(blocks=MIN_BLOCKS - blocks, interval=True)
    needs = [
        estimate_need(row) for row, state in zip(rows, states, strict=True) if state == "undecided"
    ]

    def rank(need: Need) -> tuple[bool, bool, int, int]:
        """Return a key that is larger for what is harder to get."""
        is_out_of_reach = not need.blocks and not need.days
        return need.parity, is_out_of_reach, need.days, need.blocks

    return max(needs, key=rank, default=None)


def compute_detectable_ratio(row: Comparison) -> float:
    """Return the smallest ratio that these blocks could show; NaN without a ratio's interval.

    It is half the interval's width: an estimate beyond it has an interval without 1.
    """
    if row.kind != "ratio" or not 0 < row.low <= row.high:
        return float("nan")
    # A float ends at the 709th power of e.
    return exp(min(log(row.high / row.low) / 2, 700))


def estimate_need(row: Comparison) -> Need:
    """Return the blocks that would decide a comparison if its estimate and spread stay the same."""
    distance = abs(log(row.estimate))
    if distance <= log(PARITY_WITHIN):
        return Need(parity=True)

    # More blocks on the same day are cheap, but they share what the day has in common.
    spread = compute_spread(row)
    if row.machine_days == 1:
        for blocks in range(row.blocks + 1, MAX_BLOCKS + 1):
            if compute_half_width(spread, blocks, 1) < distance:
                return Need(blocks=blocks - row.blocks)
    for more_days in range(1, MAX_DAYS + 1):
        blocks = row.blocks + more_days * MIN_BLOCKS
        if compute_half_width(spread, blocks, row.machine_days + more_days) < distance:
            return Need(days=more_days)
    return Need()
