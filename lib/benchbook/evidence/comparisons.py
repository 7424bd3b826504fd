"""Every comparison of the papers tested soundly, and what came out in a sentence."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from benchbook import stats
from benchbook.digits import detectable, estimate, number
from benchbook.evidence import claim_files
from benchbook.evidence.claims import Comparison
from benchbook.evidence.effects import APART, BY_CAMPAIGN, PAIRED, effect, paired
from benchbook.evidence.judge import ALPHA
from benchbook.evidence.means import measures
from benchbook.evidence.published import PublishedRatio, Terms, filled, ratio_of
from benchbook.evidence.sides import ABSENT, OF_QUANTITY, Measured, Side, by_study, first_arms
from benchbook.studies import SLUGS

NAN: Final = float("nan")
MARGIN: Final = 1.1
"""The ratio up to which two sides are called equivalent, where no claim fixes another."""

CONSTANT: Final = "cannot test: the values do not vary"
A_OVER_B: Final[Terms] = ((1, "a"), (-1, "b"))
COLUMNS: Final = [
    *("study", "comparison", "host", "operation", "role", "metric", "unit", "factors", "settings", "n", "a", "b"),
    *("side_a", "side_b", "n_a", "n_b", "mean_a", "mean_b", "ratio", "low", "high"),
    *("difference", "difference_low", "difference_high", "test", "p", "p_holm", "hedges_g", "detectable_ratio"),
    *("reason", "censored", "stand_in", "published_ratio", "published_source", "words"),
]


def comparisons(observations: pd.DataFrame, every: Iterable[Comparison] | None = None) -> pd.DataFrame:
    """Return every comparison of the five papers that these observations allow, a row each.

    The unit of analysis is the block's mean. Sides are compared in the blocks that hold both, paired by block
    (Student's test of the differences), or by campaign where campaigns differ by more than their blocks do. Times and
    sizes are compared as ratios, on the logarithms; what can be negative (memory that was freed) as differences. The
    second arms of A/A pairs are left to `benchbook.evidence.controls`.

    Parameters
    ----------
    observations
        Rows as in `benchbook.results.schema.OBSERVATIONS`, or their block means or `measures`; of any of the studies.
    every
        What is compared; None for all that the papers compare.

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`. ``a`` and ``b`` are the sides in words, ``side_a`` and ``side_b`` the values that tell them
        apart; ``n_a``, ``n_b`` count blocks, ``mean_a``, ``mean_b`` are in ``unit``. ``ratio`` is a over b, with its
        95 % interval; ``difference`` (in ``unit``) is given when there is no ratio. ``p_holm`` is corrected over the
        study. ``hedges_g`` is that of the values tested (logarithms or differences), of unpaired samples.
        ``detectable_ratio`` is what these blocks would have shown with 80 % power, uncorrected. Where something is NaN
        ``reason`` says why. ``words`` says what came out.
    """
    if every is None:
        every = (one for study in SLUGS for one in claim_files.comparisons(study))
    return compared(every, measures(first_arms(observations)))


def compared(every: Iterable[Comparison], means: pd.DataFrame) -> pd.DataFrame:
    """Return all rows of some comparisons of `measures`, corrected over each study and in words."""
    measured = by_study(means)
    ran = ((one, measured[one.study]) for one in every if one.study in measured)
    rows = [tested(pair) for one, found in ran for pair in pairs(one, found)]
    table = pd.DataFrame(rows, columns=[name for name in COLUMNS if name not in ("p_holm", "words")])
    families = table.groupby("study")["p"]
    table["p_holm"] = families.transform(lambda p: stats.holm(p.to_numpy(dtype=float)))
    corrected = zip(rows, table["p_holm"], families.transform("count"), strict=True)
    table["words"] = [sentence({**row, "p_holm": p_holm, "tests": tests}) for row, p_holm, tests in corrected]
    return table[COLUMNS]


@dataclass(frozen=True)
class Pair:
    """Two sides, ``a`` and ``b``, that were measured alike but for what is compared."""

    comparison: Comparison
    quantity: tuple[str, str, str]  # operation, role and metric
    host: str
    common: dict[str, Any]  # the settings that both have
    levels: dict[str, str]
    sides: dict[str, Side]  # one may be `ABSENT`

    @property
    def factors(self) -> str:
        """The common settings that are shown beside the comparison, in words."""
        known = ((name, self.common[name]) for name in self.comparison.shown if self.common.get(name) is not None)
        return ", ".join(
            f"{name}={('no', 'yes')[value] if isinstance(value, bool) else value}" for name, value in known
        )

    def words(self, side: str) -> str:
        """Return a side in words."""
        return self.comparison.words(self.levels[side])


def pairs(comparison: Comparison, measured: Measured) -> Iterator[Pair]:
    """Yield every pair of sides of a comparison, in the order of its quantities."""
    levels = comparison.every_pair()
    for quantity, host, common, sides in measured.every(comparison.by, comparison.loose, comparison.every_quantity()):
        for a, b in levels:
            if (a in sides and b in sides) or (comparison.missing and (a in sides or b in sides)):
                both = {"a": sides.get(a, ABSENT), "b": sides.get(b, ABSENT)}
                yield Pair(comparison, quantity, host, common, {"a": a, "b": b}, both)


def tested(pair: Pair) -> dict[str, Any]:
    """Return one comparison as a row of `comparisons`, not yet corrected nor in words."""
    one, sides = pair.comparison, pair.sides
    paper = _published(pair)
    return {
        **dict(zip(OF_QUANTITY, pair.quantity, strict=True)),
        "study": one.study, "comparison": one.name, "host": pair.host,
        "unit": sides["a"].unit or sides["b"].unit, "factors": pair.factors, "settings": pair.common,
        "n": pair.common.get("n"), "a": pair.words("a"), "b": pair.words("b"),
        "side_a": pair.levels["a"], "side_b": pair.levels["b"],
        "stand_in": any(side.stand_in for side in sides.values()),
        "censored": any(side.censored.any() for side in sides.values()),
        "published_ratio": paper.ratio, "published_source": paper.source, **_found(pair),
    }  # fmt: skip


def _published(pair: Pair) -> PublishedRatio:
    """Return the paper's own ratio, where it prints both sides' numbers."""
    one, keys, notes = pair.comparison, {}, []
    of_quantity = dict(zip(OF_QUANTITY, pair.quantity, strict=True))
    for name, side in pair.sides.items():
        settings = {**side.settings, **pair.common, **of_quantity, one.by: pair.levels[name]}
        if place := next((place for place in one.places if place.holds(pair.quantity, settings)), None):
            keys[name] = filled(place.key, one.called, settings)
            notes += [place.note] if place.note else []
    paper = ratio_of(one.study, A_OVER_B, keys)
    where = ", ".join(dict.fromkeys([paper.source, *notes])) if paper.source else ""
    return replace(paper, source=where)


def _missing(pair: Pair) -> str:
    """Return why two sides cannot be compared; empty when they can."""
    for name, side in pair.sides.items():
        if not len(side.blocks):
            return f"{pair.words(name)} did not run here"
        if ran_out := int(side.censored.sum()):
            blocks = f"{ran_out} of {len(side.blocks)} blocks of {pair.words(name)}"
            return f"a wait for the replica ran out in {blocks}"
    return ""


def _found(pair: Pair) -> dict[str, Any]:
    """Return ratio, interval and test, on logarithms where all values are positive; or why there are only the means."""
    sides, reason = pair.sides, _missing(pair)
    means: dict[str, float] = {f"n_{name}": len(side.blocks) for name, side in sides.items()}
    means |= {f"mean_{name}": _mean(side) for name, side in sides.items()}
    nothing = dict.fromkeys(("ratio", "low", "high", "difference", "difference_low", "difference_high"), NAN)
    nothing |= dict.fromkeys(("p", "hedges_g", "detectable_ratio"), NAN)
    both = paired(A_OVER_B, sides)
    if reason := reason or ("" if both.blocks else APART):
        return {**means, **nothing, "test": "none", "reason": reason}
    a, b = both.values
    tested = (np.log(a), np.log(b)) if both.positive else (a, b)
    test = stats.paired(*tested)
    found = effect(A_OVER_B, sides)
    low, high = (NAN, NAN) if test.reason else (found.low, found.high)  # values that do not vary have no interval
    if both.positive:
        numbers = {"ratio": found.ratio, "low": low, "high": high}
        numbers["detectable_ratio"] = stats.detectable_ratio(a, b, pairs=True)
    else:
        ends = (NAN, NAN) if test.reason else found.difference[1:]
        numbers = dict(
            zip(("difference", "difference_low", "difference_high"), (found.difference[0], *ends), strict=True)
        )
    kind = (BY_CAMPAIGN if both.by_campaign else PAIRED) + (", logarithms" if both.positive else ", differences")
    numbers |= {"p": test.p, "hedges_g": stats.hedges_g(*tested)}
    return {**means, **nothing, **numbers, "test": "none" if test.reason else kind, "reason": test.reason}


def _mean(side: Side) -> float:
    return float(side.values.mean()) if len(side.blocks) and not side.censored.any() else NAN


_TIME: Final = "took {} times as long as"
_PHRASES: Final = {
    "wall_time": _TIME,
    "elapsed_time": _TIME,
    "catch_up_time": _TIME,
    "time_per_item": "took {} times as long an object as",
    "size": "takes {} times the bytes of",
    "markup_size": "takes {} times the bytes of markup of",
    "markup_percent": "has {} times the share of markup of",
    "bytes_received": "sent {} times the bytes of",
    "bandwidth": "used {} times the bandwidth of",
    "cpu_time": "used {} times the CPU time of",
    "cpu_percent": "had {} times the CPU share of",
    "cpu_user_percent": "had {} times the user CPU share of",
    "cpu_system_percent": "had {} times the system CPU share of",
    "idle_percent": "had {} times the idle share of",
    "memory_percent": "had {} times the memory share of",
    "memory_rss_mb": "held {} times the memory of",
    "memory_change_kb": "took {} times as much new memory as",
}
_NUMBERS: Final = (
    *("no", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)


def sentence(row: Mapping[str, Any]) -> str:
    """Return what a comparison found: a row of `comparisons`, with ``tests``, how many were corrected for."""
    said = _said(row)
    if row["published_ratio"] == row["published_ratio"]:
        said += f"; the paper's ratio is {number(row['published_ratio'])} ({row['published_source']})"
    if row["stand_in"]:
        said += "; a stand-in ran, not the product itself"
    return said + "."


def _said(row: Mapping[str, Any]) -> str:
    if row["reason"] == CONSTANT and row["ratio"] == row["ratio"]:
        return f"{_compared(row)}, exactly, in each of {_blocks(row)}"
    if row["reason"] and row["ratio"] == row["ratio"]:
        return f"{_compared(row)}; {_blocks(row)}, so no test"
    if row["reason"]:
        return f"{row['a']} against {row['b']}: {row['reason']}"
    if equivalent(row["low"], row["high"]):
        return f"equivalent within ±{MARGIN - 1:.0%}: {_compared(row)}; {_power(row)}"
    if not row["p"] < ALPHA:
        return f"no difference shown, nor that there is none: {_compared(row)}; {_power(row)}"
    if not row["p_holm"] < ALPHA:
        return f"{_compared(row)}, which does not stand when corrected for {row['tests']} tests; {_power(row)}"
    return f"{_compared(row)}; {_power(row)}"


def equivalent(low: float, high: float, margin: float = MARGIN) -> bool:
    """Return whether an interval of a ratio lies inside the margin: the only ground to say that nothing differs."""
    return 1 / margin <= low and high <= margin


def _compared(row: Mapping[str, Any]) -> str:
    if row["ratio"] != row["ratio"]:
        ends = row["difference_low"], row["difference_high"]
        return f"{row['a']} differed from {row['b']} by {estimate(row['difference'], *ends, row['unit'], sign='+')}"
    times = estimate(row["ratio"], row["low"], row["high"])
    phrase = _PHRASES.get(row["metric"], f"had {{}} times the {row['metric'].replace('_', ' ')} of")
    return f"{row['a']} {phrase.format(times)} {row['b']}"


def _power(row: Mapping[str, Any]) -> str:
    if row["detectable_ratio"] != row["detectable_ratio"]:
        return _blocks(row)
    return f"{_blocks(row)} could have shown {detectable(row['detectable_ratio'])}"


def _blocks(row: Mapping[str, Any]) -> str:
    counts = sorted({int(row["n_a"]), int(row["n_b"])})
    named = " and ".join(_NUMBERS[count] if count < len(_NUMBERS) else str(count) for count in counts)
    return f"{named} block{'' if counts == [1] else 's'}"
