"""Lesson 5, effect size, margins and equivalence: from an interval and a margin to what may be said."""

from collections.abc import Iterator, Sequence
from itertools import count
from math import log, sqrt
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchbook import stats
from benchbook.evidence.effects import Effect
from benchbook.evidence.judge import judge
from benchbook.evidence.measured import having
from benchbook.plots import style
from benchbook.plots.points import each, where
from benchbook.stats.inference import quantile
from benchbook_lessons.feedback import Off, Part, Predictions, apart, called, check, close, number, part, sorted_into
from benchbook_lessons.reference import means

predict = Predictions
KINDS: Final = ("reproduced", "direction only", "equivalent", "contradicted", "inconclusive")

_EXAMPLES: Final = {
    "reproduced": [(1.2, 1.5, 1.1), (3.2, 3.5, 1.1), (1.06, 1.08, 1.05)],
    "direction only": [(1.02, 1.4, 1.1), (1.05, 1.2, 1.1)],
    "equivalent": [(0.95, 1.05, 1.1), (1.01, 1.04, 1.1), (0.96, 0.99, 1.05)],
    "contradicted": [(0.4, 0.6, 1.1), (0.7, 0.88, 1.1)],
    "inconclusive": [(0.8, 1.3, 1.1), (0.5, 4.0, 1.1), (0.97, 1.2, 1.1)],
}
_HINTS: Final = {
    "reproduced": "where must the *low* end lie for 'more, and by an amount that matters'?",
    "direction only": "the low end is above 1 but not above the margin: more, but perhaps too little to matter.",
    "equivalent": "both ends within 1/margin and margin. It may lie wholly above 1 and yet be too small to matter.",
    "contradicted": "the whole interval is below 1/margin.",
    "inconclusive": "when nothing else holds, the data have not decided.",
}


_USUAL: Final = {"process": "together", "attributes": 89, "calls": "bulk", "batch": "all", "durability": "default"}


def drivers(factor: str, levels: tuple[str, str], **at: Any) -> tuple[list[float], list[float]]:
    """Return two sides' times to handle 89 attributes in the reference run, block means, ns, paired by block.

    Parameters
    ----------
    factor, levels
        The column that tells the sides apart, and its two levels.
    at
        The levels that both sides have, of ``lane``, ``n``, ``operation``, ``driver``, ``arm``.
    """
    rows = where(means(), study="drivers", metric="wall_time", role="client", **at)
    return _paired(having(rows, **_USUAL), factor, levels)


def java_books() -> tuple[list[float], list[float]]:
    """Return XML's and JSON's block means, ns: 10,000 books of case 1 in the paper's Java."""
    rows = where(means(), study="bookstore", lane="java", n=10_000, operation="round_trip", metric="wall_time", arm="a")
    return _paired(having(where(rows, codec=["jaxb", "jackson"]), case=1), "format", ("xml", "json"))


def _paired(rows: pd.DataFrame, factor: str, levels: tuple[str, str]) -> tuple[list[float], list[float]]:
    """Return the means of two levels in the blocks that both ran in."""
    first, second = (where(rows, **{factor: level}).groupby("block")["value"].mean() for level in levels)
    blocks = first.index.intersection(second.index)
    return first.loc[blocks].tolist(), second.loc[blocks].tolist()


def cases() -> pd.DataFrame:
    """Return five real contrasts of the reference run, all with a claim of *more* and a margin of 1.10.

    Returns
    -------
    pandas.DataFrame
        ``what, blocks, p, ratio, low, high`` by name; p is of the paired t-test of the logarithms.
    """
    mongoose = drivers("driver", ("mongoose", "mongoclient"), n=10_000, operation="insert", arm="a", lane="node")
    identical = drivers("arm", ("b", "a"), n=1_000, operation="find", driver="mongoclient", lane="node")
    delete, update = (
        drivers("driver", ("mongoengine", "pymongo"), n=1_000, operation=operation, arm="a", lane="python")
        for operation in ("delete", "update")
    )
    wanted = {
        "A": ("Mongoose / MongoClient, insert", mongoose),
        "B": ("MongoClient / itself (A/A), find", identical),
        "C": ("mongoengine / pymongo, delete", delete),
        "D": ("the first three blocks of C", (delete[0][:3], delete[1][:3])),
        "E": ("mongoengine / pymongo, update", update),
    }
    rows = {}
    for name, (what, (first, second)) in wanted.items():
        interval = stats.ratio_interval(first, second, pairs=True)
        p = stats.paired(np.log(first), np.log(second)).p
        rows[name] = (what, len(first), p, interval.estimate, interval.low, interval.high)
    return pd.DataFrame.from_dict(rows, orient="index", columns=["what", "blocks", "p", "ratio", "low", "high"])


def draw(table: pd.DataFrame, margin: float = 1.1) -> Figure:
    """Draw intervals of ratios with the region in which a difference does not matter."""
    with style.applied():
        figure, axes = plt.subplots(figsize=(7.2, 0.5 * len(table) + 1.1), layout="constrained")
        axes.axvspan(1 / margin, margin, color="#e8eef5", label=f"does not matter: within a factor of {margin:g}")
        axes.axvline(1, color=style.FAINT, lw=0.8)
        left, right = min(0.8, max(0.4, table["low"].min())) / 1.02, max(1.3, min(2.0, table["high"].max())) * 1.02
        for at, row in enumerate(each(table)):
            axes.plot([row.low, row.high], [at, at], color=style.BLUE, lw=2)
            axes.plot(row.ratio, at, "o", color=style.BLUE)
            # What is far away is only named, so that what is near the margin can be told apart.
            if row.ratio > right:
                axes.text(right, at, f"{row.ratio:.3g} (off the page) →", ha="right")
            elif not left < row.ratio < right:
                axes.text(left, at, f"← {row.ratio:.3g} (off the page)", ha="left")
        axes.set(yticks=range(len(table)), yticklabels=[f"{row.Index}  {row.what}" for row in each(table)])
        axes.set(xlabel="ratio with 95 % interval (log scale)", xscale="log", ylim=(len(table) - 0.5, -0.5))
        ticks = [tick for tick in (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2) if left <= tick <= right]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xlim(left, right)
        axes.minorticks_off()
        figure.legend(loc="outside lower center")
    plt.close(figure)
    return figure


@check(4)
def check_1(ratio: Any, low: Any, high: Any, inverse_high: Any) -> Iterator[Part]:
    """Check a ratio of geometric means with its interval, and the upper end of its inverse."""
    xml, other = java_books()
    truth = stats.ratio_interval(xml, other, pairs=True)
    hints = {1 / truth.estimate**2: "that is JSON over XML."}
    off = "differences of logarithms, block by block; their mean and interval; then exp of all three."
    yield close(ratio, truth.estimate, "ratio", f"ratio: {truth.estimate:.2f}.", hints, off, within=0.001)
    for name, given, end in (("low", low, truth.low), ("high", high, truth.high)):
        hints = {log(end) / end: "that is still a logarithm: take exp."}
        yield close(given, end, name, f"{name}: {end:.2f}.", hints, off, within=0.002)
    well = "inverse_high: the inverse's ends are the ends' inverses. On the plain scale that fails: try it."
    hints = {truth.low / truth.high: "that is its low end: which end of XML/JSON becomes the high end of JSON/XML?"}
    yield close(inverse_high, 1 / truth.low, "inverse_high", well, hints, "JSON over XML, upper end.", within=0.002)


@check(5)
def check_2(verdict: Any) -> Iterator[Part]:
    """Check a function that gives a verdict on a claim of more, from an interval and a margin."""

    def looked(kind: str, examples: list[tuple[float, float, float]]) -> Iterator[Part]:
        verdicts = [called(verdict, *example) for example in examples]
        for given in verdicts:
            if given not in KINDS:
                raise Off(f"{given!r} is none of {', '.join(KINDS)}.")
        off = _HINTS[kind]
        for (low, high, margin), given in zip(examples, verdicts, strict=True):
            if given != kind:
                off = f"{low:g} to {high:g}, margin {margin:g}: {given}? {off}"
                break
        yield part(set(verdicts) == {kind}, f"{kind}: all {len(examples)} intervals.", off)

    yield from apart(looked(kind, examples) for kind, examples in _EXAMPLES.items())


def _verdict(row: Any) -> str:
    return judge(Effect(row.ratio, row.low, row.high), "more", 1.1)


@check(5)
def check_3(said: Any) -> Iterator[Part]:
    """Check the verdicts on five real contrasts."""
    table = cases()
    where = {
        row.Index: f"its interval is {row.low:.2f} to {row.high:.2f}, the margin 1.1: which ends lie beyond what?"
        for row in each(table)
    }
    yield from sorted_into(said, {row.Index: _verdict(row) for row in each(table)}, KINDS, where)


def needed(sd: float, margin: float) -> int:
    """Return from how many blocks on an interval around a ratio of 1 lies within the margin."""
    return next(n for n in count(2) if quantile(n - 1, 0.975) * sd / sqrt(n) <= log(margin))


@check(3)
def check_4(blocks_needed: Any) -> Iterator[Part]:
    """Check a function that returns how many blocks an equivalence takes."""
    cases: Sequence[tuple[str, float, float]] = (
        ("bookstore, arms by turns", 0.028, 1.1),
        ("bookstore, arms in processes apart", 0.383, 1.1),
        ("a smaller margin", 0.124, 1.02),
    )

    def looked(about: str, sd: float, margin: float) -> Iterator[Part]:
        truth = needed(sd, margin)
        found = number(called(blocks_needed, sd, margin), f"blocks_needed({sd}, {margin})")
        normal = next(n for n in range(2, 100_000) if 1.96 * sd / sqrt(n) <= log(margin))
        if found == normal != truth:
            hint = "with few blocks 1.96 is too small: take Student's quantile for n - 1 degrees of freedom."
        else:
            hint = f"the half-width, quantile times {sd} over the root of n, must be at most log({margin})."
        says = f"{about} (SD {sd}, margin {margin}): {found:,.0f} is not it; {hint}"
        yield part(found == truth, f"{about}: {truth:,} blocks.", says)

    yield from apart(looked(*case) for case in cases)
