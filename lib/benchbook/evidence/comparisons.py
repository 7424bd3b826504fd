"""The sound test for every comparison of the papers, and for the arms that must not differ."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook import stats
from benchbook.evidence import words
from benchbook.evidence.contrasts import CONTRASTS, Contrast, arms
from benchbook.evidence.derived import ended, measures
from benchbook.evidence.pairing import Pair, pairs
from benchbook.evidence.published import STUDIES

Values: TypeAlias = NDArray[np.float64]

NAN: Final = float("nan")
ALPHA: Final = 0.05
COLUMNS: Final = [
    *("study", "comparison", "host", "operation", "role", "metric", "unit", "factors", "settings", "n", "a", "b"),
    *("side_a", "side_b", "n_a", "n_b", "mean_a", "mean_b", "ratio", "low", "high"),
    *("difference", "difference_low", "difference_high", "test", "p", "p_holm", "hedges_g", "detectable_ratio"),
    *("reason", "censored", "stand_in", "published_ratio", "published_source", "words"),
]
NUMBERS: Final = (
    *("ratio", "low", "high", "difference", "difference_low", "difference_high"),
    *("p", "hedges_g", "detectable_ratio"),
)
"""What a comparison has that could be made."""


def comparisons(observations: pd.DataFrame) -> pd.DataFrame:
    """Return every comparison of the five papers that these observations allow, a row each.

    The unit of analysis is the block's mean. Sides that ran in the same blocks are paired by block (Student's test of
    the differences), for a block's cells share the machine's drift: unpaired, two identical arms measured one after the
    other gave 39 % false alarms, paired 4.9 %. Where fewer than two blocks hold both sides, Welch's test of all blocks.
    Times and sizes are compared as ratios, on the logarithms; what can be negative (memory that was freed) as
    differences. The second arms of A/A pairs are left to `controls`.

    Parameters
    ----------
    observations
        Rows as in `benchbook.results.schema.OBSERVATIONS`, or their block means or `measures`; of any of the studies.

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
    arm = observations["arm"].fillna("a") if "arm" in observations else pd.Series("a", index=observations.index)
    return _tested(CONTRASTS, measures(observations[arm == "a"]), "study")


def controls(observations: pd.DataFrame) -> pd.DataFrame:
    """Return the comparison of every pair of identical arms, b against a; as `arms_apart`, from the observations."""
    return arms_apart(measures(_with_both_arms(observations)))


def arms_apart(means: pd.DataFrame) -> pd.DataFrame:
    """Return the comparison of every pair of identical arms, b against a.

    Parameters
    ----------
    means
        As `benchbook.evidence.measures` returns them.

    Returns
    -------
    pandas.DataFrame
        As `comparisons`, but ``p_holm`` is corrected over the whole run, all studies of a host; and ``untrusted``: True
        when then the arms still differ (their interval, so corrected, excludes 1). The machine or the harness made a
        difference where there is none, and the study's other differences are in doubt.
    """
    if (means := _with_both_arms(means)).empty:
        return pd.DataFrame(columns=[*COLUMNS, "untrusted"])
    table = _tested(tuple(arms(study) for study in STUDIES), means, "host")
    alike = np.isclose(table["ratio"].astype(float), 1, rtol=1e-9) | table["difference"].eq(0)  # no ratio of two zeros
    exact = table["reason"].eq(words.CONSTANT) & ~alike
    return table.assign(untrusted=(table["p_holm"] < ALPHA) | exact)


def _with_both_arms(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of cells that have a second arm: a few of all."""
    if "arm" not in rows or not (second := rows["arm"].eq("b")).any():
        return rows[:0]
    cells = {text: _but_arm(text) for text in rows["parameters"].dropna().unique()}
    both = {cells[text] for text in rows.loc[second, "parameters"].dropna().unique()}
    return rows[rows["parameters"].isin([text for text, cell in cells.items() if cell in both])]


def _but_arm(parameters: str) -> str:
    """Return a cell's parameters without its arm."""
    return json.dumps({name: value for name, value in json.loads(parameters).items() if name != "arm"})


def _tested(contrasts: tuple[Contrast, ...], means: pd.DataFrame, family: str) -> pd.DataFrame:
    """Return all rows of some contrasts, corrected over each `family` and in words."""
    means = ended(means)
    found = [pair for contrast in contrasts for pair in pairs(contrast, means)]
    samples = [_samples(pair) for pair in found]
    rows = [_row(*one) for one in zip(found, samples, _tests(samples), _ratios(samples), strict=True)]
    table = pd.DataFrame(rows, columns=[name for name in COLUMNS if name not in ("p_holm", "words")])
    families = table.groupby(family)["p"]
    table["p_holm"] = families.transform(lambda p: stats.holm(p.to_numpy(dtype=float)))
    rows = [
        row | {"p_holm": p_holm, "tests": tests}
        for row, p_holm, tests in zip(rows, table["p_holm"], families.transform("count"), strict=True)
    ]
    table["words"] = [words.sentence(row) for row in rows]
    return table[COLUMNS]


def _row(pair: Pair, samples: "_Samples", test: stats.Test, ratio: stats.Ratio) -> dict[str, Any]:
    """Return one comparison, not yet corrected."""
    contrast, quantity = pair.contrast, pair.quantity
    published, source = contrast.ratio(pair.settings, quantity, pair.a, pair.b)
    return {
        "study": contrast.study,
        "comparison": contrast.name,
        "host": pair.host,
        "operation": quantity.operation,
        "role": quantity.role,
        "metric": quantity.metric,
        "unit": pair.left.unit or pair.right.unit,
        "factors": pair.factors,
        "settings": pair.settings,
        "n": pair.settings.get("n"),
        "a": contrast.labels[pair.a],
        "b": contrast.labels[pair.b],
        "side_a": pair.a,
        "side_b": pair.b,
        "stand_in": bool(pair.left.stand_in.any() or pair.right.stand_in.any()),
        "censored": bool(pair.left.censored.any() or pair.right.censored.any()),
        "published_ratio": published,
        "published_source": source,
        **_compared(samples, test, ratio),
    }


@dataclass(frozen=True)
class _Samples:
    """What is compared of one pair: the block means of both sides; or why they are not."""

    a: Values
    b: Values
    paired: bool = False
    reason: str = ""

    @cached_property
    def positive(self) -> bool:
        return bool((self.a > 0).all() and (self.b > 0).all())

    @cached_property
    def tested(self) -> tuple[Values, Values]:
        """The values that the test is of: their logarithms where all are positive."""
        return (np.log(self.a), np.log(self.b)) if self.positive else (self.a, self.b)


def _samples(pair: Pair) -> _Samples:
    """Return what is compared of a pair: the blocks that both sides share, where they share two."""
    left, right = pair.left, pair.right
    for label, side in ((pair.a, left), (pair.b, right)):
        if not len(side):
            return _Samples(left.value, right.value, reason=f"{pair.contrast.labels[label]} did not run here")
        if ran_out := int(side.censored.sum()):
            blocks = f"{ran_out} of {len(side)} blocks of {pair.contrast.labels[label]}"
            return _Samples(left.value, right.value, reason=f"a wait for the replica ran out in {blocks}")
    shared = np.intersect1d(left.block, right.block, assume_unique=True)
    if len(shared) >= 2:
        return _Samples(left.of(shared), right.of(shared), paired=True)
    return _Samples(left.value, right.value)


def _tests(every: Sequence[_Samples]) -> list[stats.Test]:
    """Return the test of each pair's samples, or why there is none."""
    paired = iter(stats.paired_each(one.tested for one in every if one.paired))
    return [next(paired) if one.paired else _unpaired(one) for one in every]


def _ratios(every: Sequence[_Samples]) -> list[stats.Ratio]:
    """Return what is said of each pair's ratio; where there is none, of the difference's size alone."""
    paired = iter(stats.ratios_each((one.a, one.b) for one in every if one.paired and one.positive))
    return [next(paired) if one.paired and one.positive else _ratio(one) for one in every]


def _ratio(one: _Samples) -> stats.Ratio:
    if one.reason:
        return stats.Ratio(stats.Interval(NAN), NAN, NAN)
    interval = stats.ratio_interval(one.a, one.b)
    return stats.Ratio(interval, stats.hedges_g(*one.tested).size, stats.detectable_ratio(one.a, one.b).size)


def _unpaired(one: _Samples) -> stats.Test:
    return stats.Test(NAN, NAN, NAN, one.reason) if one.reason else stats.welch(*one.tested)


def _compared(samples: _Samples, test: stats.Test, ratio: stats.Ratio) -> dict[str, Any]:
    """Return ratio, interval and test, on logarithms where all values are positive; or why there are only the means."""
    a, b, paired, positive = samples.a, samples.b, samples.paired, samples.positive
    sides = {"n_a": len(a), "n_b": len(b), "mean_a": _mean(a), "mean_b": _mean(b)}
    if samples.reason:
        return {**sides, **dict.fromkeys(NUMBERS, NAN), "test": "none", "reason": samples.reason}
    difference = stats.Interval(NAN) if positive else stats.difference_interval(a, b, pairs=paired)
    kind = ("paired by block" if paired else "Welch") + (", logarithms" if positive else ", differences")
    return {
        **sides,
        "ratio": ratio.interval.estimate,
        "low": ratio.interval.low,
        "high": ratio.interval.high,
        "difference": difference.estimate,
        "difference_low": difference.low,
        "difference_high": difference.high,
        "test": "none" if test.reason else kind,
        "p": test.p,
        "hedges_g": ratio.hedges_g,
        "detectable_ratio": ratio.detectable,
        "reason": test.reason,
    }


def _mean(values: Values) -> float:
    return float(values.mean()) if len(values) else NAN
