"""The one record of everything that is compared: a over b, all else alike, with its interval and its test.

`compare` makes the numbers from the sides' blocks. A claim's comparisons, those of a paper's tables, identical arms and
a person's own documents are all rows of `Comparison`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, log, nan
from typing import Any, Final, Literal, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from typing_extensions import override

from benchbook.analysis.intervals import Interval, exponential, hedges_g, holm, mean_interval, positive_interval
from benchbook.analysis.published import CellSettings, Terms
from benchbook.analysis.rows import Row
from benchbook.analysis.sides import Side, shared
from benchbook.digits import difference, estimate, number, plural

Stands: TypeAlias = Literal["", "for", "against", "open", "not run", "not comparable"]
"""Where a comparison stands to its claim; empty where it has none."""

A_OVER_B: Final[Terms] = ((1, "a"), (-1, "b"))


@dataclass(frozen=True, kw_only=True)
class Comparison(Row):
    """One comparison; numbers are NaN where there are none, and `reason` says why."""

    study: str
    name: str  # the claim's id, the name of a paper's comparison, or ``A/A``
    language: str
    operation: str
    role: str
    metric: str
    unit: str  # of means and differences
    a: str  # the sides in words
    b: str
    label: str  # the levels that tell it from others of its name, as ``n=1000``
    settings: CellSettings  # all that its sides have in common
    n: int | None  # records, objects or books; None where the sides differ in it
    kind: Literal["ratio", "difference"] = "ratio"
    estimate: float = nan  # a over b, or a minus b in `unit`, with its 99 % interval
    low: float = nan
    high: float = nan
    error: float = nan  # standard error, of the logarithm or in `unit`
    t: float = nan  # Student's, against `than`, or against no difference
    df: int = 0
    p: float = nan  # two-sided, uncorrected
    hedges_g: float = nan  # of the blocks' values (logarithms, or in `unit`)
    mean_a: float = nan  # over the blocks, in `unit`; of more than two sides none
    mean_b: float = nan
    blocks: int = 0  # that all sides have
    machine_days: int = 0  # that they are of
    noisy: int = 0  # blocks that were left out because other programs disturbed them
    noisy_estimate: float = nan  # with these blocks, where there are no others: shown, never judged
    timed_out: bool = False  # whether a wait ran out on a side
    published: float = nan  # the paper's own ratio, and what its rounding allows
    published_low: float = nan
    published_high: float = nan
    published_source: str = ""
    claimed: str = ""  # more, less, equal or different
    than: float = 1.0  # than so many times b
    margin: float = nan  # the smallest difference that matters: a ratio, or in `unit`
    stands: Stands = ""
    reason: str = ""  # why there is no interval, or why it is not comparable

    @classmethod
    @override
    def frame(cls, rows: Iterable[Self]) -> pd.DataFrame:
        """Return rows as a frame, whose ``n`` stays whole: in a column of floats it would not."""
        listed = list(rows)
        return super().frame(listed).assign(n=pd.Series([row.n for row in listed], dtype=object))

    @property
    def is_only_noisy(self) -> bool:
        """Whether it ran in noisy blocks only."""
        return not self.blocks and self.noisy > 0

    @property
    def words(self) -> str:
        """The estimate with its interval."""
        if self.kind == "difference":
            return difference(self.estimate, self.low, self.high, self.unit)
        return estimate(self.estimate, self.low, self.high)


def compare(
    terms: Terms,
    sides: Mapping[str, Side],
    machine_days: NDArray[np.object_],
    than: float = 1.0,
    *,
    difference: bool = False,
) -> dict[str, Any]:
    """Return the numbers of a comparison, by the fields of `Comparison`.

    Parameters
    ----------
    terms
        Which sides multiply and which divide; of a difference which are added and which subtracted.
    sides
        By name; compared in the blocks that all of them have.
    machine_days
        Of every block, by its number.
    than
        What the ratio is held against.
    difference
        Whether a difference is compared; always so where a metric can be zero or negative.
    """
    signed = [(sign, sides[name]) for sign, name in terms]
    blocks = shared(side for _, side in signed)
    compared = [side.only(blocks) for _, side in signed]
    values = [side.values for side in compared]
    waits = max(int(side.timed_out.sum()) for side in compared)
    numbers: dict[str, Any] = {
        "unit": signed[0][1].unit,
        "kind": "difference" if difference else "ratio",
        "blocks": len(blocks),
        "machine_days": len(set(machine_days[blocks])),
        "noisy": max(side.noisy for _, side in signed),
        "timed_out": waits > 0,
    }
    if not len(blocks):
        noisy = f"other programs disturbed all {plural(numbers['noisy'], 'block')}"
        if not numbers["noisy"]:
            return {**numbers, "reason": "no block has all sides"}
        return {**numbers, "noisy_estimate": _noisy_estimate(signed, than, difference=difference), "reason": noisy}
    if len(values) == 2:
        numbers |= {"mean_a": float(values[0].mean()), "mean_b": float(values[1].mean())}
    if waits:
        return {**numbers, "reason": f"a wait for the replica ran out in {plural(waits, 'block')}"}
    if not difference and any((of_side <= 0).any() for of_side in values):
        return {**numbers, "reason": "no ratio: a mean is zero or negative"}

    # A block's value: a sum of logarithms, or of amounts.
    if difference:
        scaled = [of_side * (1 if sign > 0 else than) for (sign, _), of_side in zip(signed, values, strict=True)]
        null = 0.0
    else:
        scaled = [np.log(of_side) for of_side in values]
        null = log(than)
    block_values = np.sum([sign * of_side for (sign, _), of_side in zip(signed, scaled, strict=True)], axis=0)
    interval = mean_interval(block_values, machine_days[blocks])
    added, taken = _sums(signed, scaled)
    return {
        **numbers,
        **_ends(interval, difference=difference),
        "error": interval.error,
        "t": interval.t(null) if interval.error >= 0 else nan,
        "df": interval.df if interval.error >= 0 else 0,
        "p": interval.p(null),
        "hedges_g": hedges_g(added, taken) if interval.error > 0 else nan,
        "reason": interval.reason,
    }


def _noisy_estimate(signed: Sequence[tuple[int, Side]], than: float, *, difference: bool) -> float:
    """Return the ratio or difference over all blocks, noisy ones too; NaN where no block has all sides."""
    sides = [side.with_noisy for _, side in signed]
    blocks = shared(sides)
    values = [side.only(blocks).values for side in sides]
    if not len(blocks) or (not difference and any((of_side <= 0).any() for of_side in values)):
        return nan
    if difference:
        scales = [sign * (1 if sign > 0 else than) for sign, _ in signed]
        return float(sum(scale * of_side.mean() for scale, of_side in zip(scales, values, strict=True)))
    logarithms = (sign * np.log(of_side).mean() for (sign, _), of_side in zip(signed, values, strict=True))
    return float(np.exp(sum(logarithms)))


def _sums(
    signed: Sequence[tuple[int, Side]], scaled: Sequence[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what is added and what is subtracted, a value a block."""
    added = np.sum([of_side for (sign, _), of_side in zip(signed, scaled, strict=True) if sign > 0], axis=0)
    taken = np.sum([of_side for (sign, _), of_side in zip(signed, scaled, strict=True) if sign < 0], axis=0)
    return added, taken


def _ends(interval: Interval, *, difference: bool) -> dict[str, float]:
    """Return the estimate and its ends, of logarithms as ratios."""
    ends = {"estimate": interval.estimate, "low": interval.low, "high": interval.high}
    return ends if difference else {name: exponential(end) for name, end in ends.items()}


def value_interval(side: Side, machine_days: NDArray[np.object_]) -> Interval:
    """Return where one side's own value lies, in its unit: of positive values the geometric mean over the blocks."""
    return positive_interval(side.values, machine_days[side.blocks])


def with_holm(table: pd.DataFrame, family: Sequence[str], tested: "pd.Series[bool] | None" = None) -> pd.DataFrame:
    """Return comparisons with ``p_holm`` beside their p: corrected over those that agree in the family's columns.

    Rows that are not tested are of no family, and have NaN; None: all are.
    """
    rows = table if tested is None else table[tested]
    p_holm = rows.groupby(list(family))["p"].transform(lambda p: holm(p.to_numpy(dtype=float)))
    table.insert(list(table).index("p") + 1, "p_holm", p_holm.astype(float).reindex(table.index))
    return table


_TIME: Final = "took {} times as long as"
_PHRASES: Final = {
    "wall_time": _TIME,
    "elapsed_time": _TIME,
    "catch_up_time": _TIME,
    "time_per_item": "took {} times as long an object as",
    "size": "takes {} times the bytes of",
    "markup_size": "takes {} times the bytes of markup of",
    "bytes_received": "sent {} times the bytes of",
    "bandwidth": "used {} times the bandwidth of",
    "card_bytes_sent": "put {} times the bytes on the network of",
    "card_bytes_received": "took {} times the bytes off the network of",
    "cpu_time": "used {} times the CPU time of",
    "memory_rss_mb": "held {} times the memory of",
}


def sentence(row: Comparison) -> str:
    """Return what a comparison came to, in a sentence."""
    if isnan(row.estimate):
        return f"{row.a} against {row.b}: {row.reason}."
    if row.kind == "difference":
        said = f"{row.a} differed from {row.b} by {row.words}"
    else:
        phrase = _PHRASES.get(row.metric, f"had {{}} times the {row.metric.replace('_', ' ')} of")
        said = f"{row.a} {phrase.format(row.words)} {row.b}"
    said += f", in {plural(row.blocks, 'block')} of {plural(row.machine_days, 'machine-day')}"
    if row.reason:
        said += f"; {row.reason}"
    if row.published == row.published:
        said += f"; the paper's ratio is {number(row.published)} ({row.published_source})"
    return f"{said}."
