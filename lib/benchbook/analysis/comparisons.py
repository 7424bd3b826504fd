"""Comparisons: a over b, all else equal, with the interval and the test of their ratio.

Begin with `Comparison`, the record of every comparison: of a claim, of a paper's table, of an A/A
check, of two runs, of a user's documents. `compare_means` computes its numbers, and
`judge_comparison` is the rule for one comparison, of `docs/method.md`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import isnan, log, nan
from typing import Any, Final, Literal, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from typing_extensions import override

from benchbook.analysis.block_means import BlockMeans, find_shared_blocks
from benchbook.analysis.intervals import (
    MIN_BLOCKS,
    adjust_holm,
    compute_hedges_g,
    compute_interval,
    exponentiate,
)
from benchbook.analysis.published import CellSettings, Terms
from benchbook.text.number_format import format_comparison, format_count

Outcome: TypeAlias = Literal["", "for", "against", "open", "not run", "not comparable"]
"""Whether a comparison is for its claim; empty where it has no claim."""

A_OVER_B: Final[Terms] = ((1, "a"), (-1, "b"))


@dataclass(frozen=True)
class TableRow:
    """One row of a table: its fields are the table's columns."""

    @classmethod
    def to_frame(cls, rows: Iterable[Self]) -> pd.DataFrame:
        """Return rows as a frame."""
        return pd.DataFrame([*map(vars, rows)], columns=[field.name for field in fields(cls)])


@dataclass(frozen=True, kw_only=True)
class Comparison(TableRow):
    """One comparison. Numbers that it does not have are NaN; `reason` says why."""

    study: str
    name: str  # the claim's id, the name of a paper's comparison, or ``A/A``
    language: str
    operation: str
    role: str
    metric: str
    unit: str  # of means and differences
    a: str  # the terms in words
    b: str
    label: str  # the levels that tell it from others of its name, as ``n=1000``
    settings: CellSettings  # that all terms share
    n: int | None  # records, objects or books; None where the terms differ in it
    kind: Literal["ratio", "difference"] = "ratio"
    estimate: float = nan  # a over b, or a minus b in `unit`, with its 99 % interval
    low: float = nan
    high: float = nan
    error: float = nan  # standard error, of the logarithm or in `unit`
    t: float = nan  # Student's, against `than` or against no difference
    df: int = 0
    p: float = nan  # two-sided, uncorrected
    p_holm: float = nan  # corrected by `add_holm`
    hedges_g: float = nan  # of the blocks' values (logarithms, or in `unit`)
    mean_a: float = nan  # over the blocks, in `unit`; NaN where there are more than two terms
    mean_b: float = nan
    blocks: int = 0  # that all terms have
    machine_days: int = 0  # of these blocks
    in_turn: int = 0  # of the blocks: those in which the sides took turns in one process
    parts: str = ""  # both kinds of blocks apart, where their intervals do not overlap
    # Blocks that are left out because other programs disturbed them, unless `add_noisy_blocks`
    # added them to the others.
    noisy: int = 0
    noisy_estimate: float = nan  # of these blocks, where there are no others; never judged
    timed_out: bool = False  # whether a wait ran out in a term
    published: float = nan  # the paper's ratio, and its bounds by rounding
    published_low: float = nan
    published_high: float = nan
    published_source: str = ""
    claimed: str = ""  # more, less, equal or different
    than: float = 1.0  # the claim is on a over so many times b
    margin: float = nan  # the smallest difference that matters: a ratio, or in `unit`
    stands: Outcome = ""
    reason: str = ""  # why there is no interval, or why it is not comparable

    @classmethod
    @override
    def to_frame(cls, rows: Iterable[Self]) -> pd.DataFrame:
        """Return rows as a frame, with ``n`` as integers or None."""
        listed = list(rows)
        return super().to_frame(listed).assign(n=pd.Series([row.n for row in listed], dtype=object))

    @property
    def title(self) -> str:
        """What is compared, in words: ``xml against json, n=1000``."""
        terms = f"{self.a} against {self.b}"
        return f"{terms}, {self.label}" if self.label else terms

    @property
    def key(self) -> str:
        """A text that no other comparison of the claims has, whatever ran."""
        return f"{self.name} | {self.language} | {self.title}"

    @property
    def is_only_noisy(self) -> bool:
        """Whether all its blocks are noisy."""
        return not self.blocks and self.noisy > 0

    @property
    def words(self) -> str:
        """The estimate with its interval."""
        return format_comparison(self.kind, self.estimate, self.low, self.high, self.unit)


def judge_comparison(row: Comparison) -> Outcome:
    """Return whether a comparison is for its claim, against it, or open.

    It is *for* when its interval excludes no difference on the claimed side and its estimate is
    beyond the smallest difference that matters; *against* when it excludes one as large as that.
    """
    if isnan(row.low) or isnan(row.margin):
        return "open"
    # On a scale where no difference is 0: logarithms of a ratio over `than`, or amounts.
    low, estimate, high, margin = row.low, row.estimate, row.high, row.margin
    if row.kind == "ratio":
        ends = np.array([low, estimate, high]) / row.than
        low, estimate, high, margin = np.log([*ends, margin]).tolist()
    is_within = -margin <= low and high <= margin
    if row.claimed == "equal":
        if is_within:
            return "for"
        return "against" if low > margin or high < -margin else "open"

    # With the claimed side above 0.
    is_below = row.claimed == "different" and low + high < 0
    if row.claimed == "less" or is_below:
        low, estimate, high = -high, -estimate, -low
    if low > 0 and estimate > margin:
        return "for"
    is_against = is_within if row.claimed == "different" else high < margin
    return "against" if is_against else "open"


def add_noisy_blocks(terms: Mapping[str, BlockMeans]) -> dict[str, BlockMeans]:
    """Return terms with their noisy blocks where the others are too few for an interval.

    It is for a user's own documents, of which no claim is judged. `BlockMeans.noisy` is then the
    number of noisy blocks among those that all terms have.
    """
    quiet = len(find_shared_blocks(terms.values()))
    if quiet >= MIN_BLOCKS:
        return {name: replace(means, noisy=0) for name, means in terms.items()}
    whole = {name: means.with_noisy_blocks for name, means in terms.items()}
    noisy = len(find_shared_blocks(whole.values())) - quiet
    return {name: replace(means, noisy=noisy) for name, means in whole.items()}


def compare_means(
    terms: Terms,
    means: Mapping[str, BlockMeans],
    machine_days: NDArray[np.object_],
    than: float = 1.0,
    *,
    difference: bool = False,
) -> dict[str, Any]:
    """Return the numbers of a comparison, by the names of the fields of `Comparison`.

    Parameters
    ----------
    terms
        The signs and names of the terms: 1 multiplies, -1 divides; of a difference they add and
        subtract.
    means
        The block means by term; compared in the blocks that all terms have.
    machine_days
        The machine-day of every block, by the block's number.
    than
        The factor that the ratio is tested against.
    difference
        Whether a difference is computed, as always where a metric can be zero or negative.
    """
    signs = [sign for sign, _ in terms]
    whole = [means[name] for _, name in terms]
    blocks = find_shared_blocks(whole)
    shared = [one.select_blocks(blocks) for one in whole]
    timed_out = max(int(one.timed_out.sum()) for one in shared)
    noisy = max(one.noisy for one in shared)
    if not len(blocks):
        # Also a noisy block counts only where all sides have it.
        noisy = len(find_shared_blocks([one.with_noisy_blocks for one in whole]))
    numbers: dict[str, Any] = {
        "unit": shared[0].unit,
        "kind": "difference" if difference else "ratio",
        "blocks": len(blocks),
        "machine_days": len(set(machine_days[blocks])),
        "noisy": noisy,
        "timed_out": timed_out > 0,
    }

    in_turn = frozenset[int]().union(*(one.in_turn for one in shared))
    is_in_turn = np.isin(blocks, [*in_turn])
    numbers["in_turn"] = int(is_in_turn.sum())

    # Why there may be no interval.
    if not len(blocks) and not noisy:
        return {**numbers, "reason": "no block has all sides"}
    if not len(blocks):
        estimate = _estimate_noisy(signs, whole, than, difference=difference)
        reason = f"other programs disturbed all {format_count(noisy, 'block')}"
        return {**numbers, "noisy_estimate": estimate, "reason": reason}
    if len(shared) == 2:
        mean_a, mean_b = (float(one.values.mean()) for one in shared)
        numbers |= {"mean_a": mean_a, "mean_b": mean_b}
    if timed_out:
        reason = f"a wait for the replica ran out in {format_count(timed_out, 'block')}"
        return {**numbers, "reason": reason}
    if not difference and any((one.values <= 0).any() for one in shared):
        return {**numbers, "reason": "no ratio: a mean is zero or negative"}

    def test(chosen: NDArray[np.bool_]) -> dict[str, Any]:
        terms = [one.select_blocks(blocks[chosen]) for one in shared]
        days = machine_days[blocks[chosen]]
        return _test_means(signs, terms, days, than, difference=difference)

    numbers |= test(np.ones(len(blocks), dtype=bool))
    if 0 < numbers["in_turn"] < len(blocks):
        kinds = {"in turns": test(is_in_turn), "in processes of their own": test(~is_in_turn)}
        numbers["parts"] = _describe_parts(kinds, str(numbers["kind"]), shared[0].unit)
    return numbers


def _describe_parts(kinds: Mapping[str, Mapping[str, Any]], kind: str, unit: str) -> str:
    """Return the estimates of two kinds of blocks if their intervals do not overlap; else empty."""
    first, second = kinds.values()
    # Without an interval, which is NaN, none of this is true.
    if not (first["high"] < second["low"] or second["high"] < first["low"]):
        return ""
    words = [
        f"{name} {format_comparison(kind, part['estimate'], part['low'], part['high'], unit)}"
        for name, part in kinds.items()
    ]
    return ", ".join(words)


def _test_means(
    signs: Sequence[int],
    terms: Sequence[BlockMeans],
    machine_days: NDArray[np.object_],
    than: float,
    *,
    difference: bool,
) -> dict[str, Any]:
    """Return the interval, the t-test and the effect size of terms that have the same blocks."""
    # A block's value is a sum: of logarithms, or of amounts.
    values = _scale_values(signs, terms, than, difference=difference)
    signed = [sign * value for sign, value in zip(signs, values, strict=True)]
    interval = compute_interval(np.sum(signed, axis=0), machine_days)

    # Back from logarithms to a ratio; the error stays that of the logarithm.
    ends = {"estimate": interval.estimate, "low": interval.low, "high": interval.high}
    if not difference:
        ends = {name: exponentiate(end) for name, end in ends.items()}

    # The test, and the effect size where the blocks vary.
    null = 0.0 if difference else log(than)
    numbers = ends | {"error": interval.error, "reason": interval.reason, "p": interval.p(null)}
    if interval.error >= 0:
        numbers |= {"t": interval.t(null), "df": interval.df}
    if interval.error > 0:
        # Of a gap the two samples are the ratios at its last and at its first level.
        half = len(signed) // 2
        first, second = np.sum(signed[:half], axis=0), -np.sum(signed[half:], axis=0)
        numbers["hedges_g"] = compute_hedges_g(first, second)
    return numbers


def _scale_values(
    signs: Sequence[int], terms: Sequence[BlockMeans], than: float, *, difference: bool
) -> list[NDArray[np.float64]]:
    """Return the values of each term on the scale on which they are added."""
    if not difference:
        return [np.log(means.values) for means in terms]
    # The claim is on a - than * b; with the sign of a larger a.
    scaled = []
    for sign, means in zip(signs, terms, strict=True):
        scaled.append(means.values * (1 if sign > 0 else than))
    return scaled


def _estimate_noisy(
    signs: Sequence[int], terms: Sequence[BlockMeans], than: float, *, difference: bool
) -> float:
    """Return the ratio or difference over all blocks, noisy ones too; NaN where there is none."""
    whole = [means.with_noisy_blocks for means in terms]
    blocks = find_shared_blocks(whole)
    shared = [means.select_blocks(blocks) for means in whole]
    if not len(blocks):
        return nan
    if not difference and any((means.values <= 0).any() for means in shared):
        return nan
    values = _scale_values(signs, shared, than, difference=difference)
    total = sum(sign * value.mean() for sign, value in zip(signs, values, strict=True))
    return float(total) if difference else float(np.exp(total))


def add_holm(
    rows: Sequence[Comparison], name_family: Callable[[Comparison], str | None]
) -> list[Comparison]:
    """Return comparisons with ``p_holm``.

    Parameters
    ----------
    rows
        The comparisons.
    name_family
        Returns the family of a comparison, in which all are corrected together; None if it is not
        tested.
    """
    families = pd.Series([name_family(row) for row in rows], dtype=object)
    p = pd.Series([row.p for row in rows], dtype=float)
    p_holm = p.groupby(families).transform(lambda p: adjust_holm(p.to_numpy()))
    # Without a family there is no row, even of those that are not tested.
    p_holm = p_holm.reindex(p.index)
    return [replace(row, p_holm=p) for row, p in zip(rows, p_holm.tolist(), strict=True)]
