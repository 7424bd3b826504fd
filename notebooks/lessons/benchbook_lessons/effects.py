"""Lesson 5, effect size, margins and equivalence: from an interval and a margin to a verdict."""

from collections.abc import Iterator, Sequence
from itertools import count
from math import exp, log, sqrt
from typing import Any, Final, TypeAlias

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import stats

from benchbook.analysis.intervals import MIN_BLOCKS, compute_interval, compute_t_quantile
from benchbook.analysis.study_means import find_noisy, select_cells
from benchbook.plots import style
from benchbook.plots.points import iterate_rows, select_rows
from benchbook_lessons.feedback import (
    FormError,
    Part,
    Predictions,
    call_function,
    check,
    grade,
    grade_number,
    grade_separately,
    grade_sorting,
    read_number,
)
from benchbook_lessons.reference import load_means

predict = Predictions
KINDS: Final = ("for", "no difference that matters", "the opposite", "open")

_EXAMPLES: Final = {
    "for": [(1.2, 1.5, 1.1), (1.02, 1.4, 1.1), (1.06, 1.08, 1.05)],
    "no difference that matters": [(0.95, 1.05, 1.1), (1.01, 1.04, 1.1), (0.8, 1.04, 1.05)],
    "the opposite": [(0.4, 0.6, 1.1), (0.8, 0.97, 1.1)],
    "open": [(0.8, 1.3, 1.1), (0.5, 4.0, 1.1), (0.97, 1.2, 1.1)],
}
_HINTS: Final = {
    "for": (
        "'more' is shown (the low end is above 1), and it may be so much that it matters (the high"
        " end)."
    ),
    "no difference that matters": (
        "the high end is below the margin, but not below 1: no difference that matters."
    ),
    "the opposite": "the whole interval is below 1: less is shown where more was claimed.",
    "open": "the interval holds 1, and reaches beyond the margin: the data have not decided.",
}

_USUAL: Final = {
    "process": "together",
    "attributes": 89,
    "calls": "bulk",
    "batch": "all",
    "durability": "default",
}


Pairs: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.object_]]
"""Block means of a and b, in ns, of the blocks that have both, with their machine-days.

Each array has the shape (n,).
"""


def load_driver_pairs(factor: str, levels: tuple[str, str], **at: Any) -> Pairs:
    """Return the times of a and b to handle 89 attributes in the reference run.

    Parameters
    ----------
    factor, levels
        The column in which a and b differ, and its two levels.
    at
        The levels that both have, of ``language``, ``n``, ``operation``, ``driver``, ``arm``.
    """
    rows = select_rows(load_means(), study="drivers", metric="wall_time", role="client", **at)
    return _pair_blocks(select_cells(rows, **_USUAL), factor, levels)


def load_java_books() -> Pairs:
    """Return XML's and JSON's times of 10,000 books of case 1 in the paper's Java."""
    rows = select_rows(
        load_means(),
        study="bookstore",
        language="java",
        n=10_000,
        operation="round_trip",
        metric="wall_time",
        arm="a",
    )
    return _pair_blocks(
        select_cells(select_rows(rows, codec=["jaxb", "jackson"]), case=1),
        "format",
        ("xml", "json"),
    )


def load_moxy_books(operation: str) -> Pairs:
    """Return XML's (JAXB) and JSON's (MOXy) times of 1,000 books of case 2 in Java."""
    rows = select_rows(
        load_means(),
        study="bookstore",
        language="java",
        n=1_000,
        operation=operation,
        metric="wall_time",
        arm="a",
    )
    return _pair_blocks(
        select_cells(select_rows(rows, codec=["jaxb", "moxy"]), case=2, json_codec="moxy"),
        "format",
        ("xml", "json"),
    )


def _pair_blocks(rows: pd.DataFrame, factor: str, levels: tuple[str, str]) -> Pairs:
    """Return the means of two levels in the quiet blocks that both ran in."""
    by_block = (
        rows[~find_noisy(rows)]
        .groupby(["machine_day", "block", factor])["value"]
        .mean()
        .unstack(factor)
    )
    both = by_block[list(levels)].dropna()
    first, second = both.to_numpy().T
    return first, second, both.index.get_level_values("machine_day").to_numpy(object)


def compute_ratio(pairs: Pairs) -> tuple[float, float, float]:
    """Return a ratio with the ends of its 99 % interval, by the rule of the suite."""
    first, second, days = pairs
    found = compute_interval(np.log(first) - np.log(second), days)
    return exp(found.estimate), exp(found.low), exp(found.high)


def load_cases() -> pd.DataFrame:
    """Return five comparisons of the reference run, with a claim of *more* and a margin of 1.10.

    Returns
    -------
    pandas.DataFrame
        ``what, blocks, p, ratio, low, high`` by name; p is of the paired t-test of the logarithms.
    """
    mongoose = load_driver_pairs(
        "driver",
        ("mongoose", "mongoclient"),
        n=10_000,
        operation="insert",
        arm="a",
        language="node",
    )
    identical = load_driver_pairs(
        "arm", ("b", "a"), n=1_000, operation="find", driver="mongoclient", language="node"
    )
    update = load_driver_pairs(
        "driver",
        ("mongoengine", "pymongo"),
        n=1_000,
        operation="update",
        arm="a",
        language="python",
    )
    wanted = {
        "A": ("Mongoose / MongoClient, insert", mongoose),
        "B": ("MongoClient / itself (A/A), find", identical),
        "C": ("XML / JSON (JAXB / MOXy), both ways", load_moxy_books("round_trip")),
        "D": ("XML / JSON (JAXB / MOXy), reading", load_moxy_books("unmarshal")),
        "E": ("mongoengine / pymongo, update", update),
    }
    rows = {}
    for name, (what, pairs) in wanted.items():
        p = stats.ttest_rel(np.log(pairs[0]), np.log(pairs[1])).pvalue
        rows[name] = (what, len(pairs[0]), p, *compute_ratio(pairs))
    return pd.DataFrame.from_dict(
        rows, orient="index", columns=["what", "blocks", "p", "ratio", "low", "high"]
    )


def draw_intervals(table: pd.DataFrame, margin: float = 1.1) -> Figure:
    """Draw intervals of ratios with the region in which a difference does not matter."""
    with style.use_style():
        figure, axes = plt.subplots(figsize=(7.2, 0.5 * len(table) + 1.1), layout="constrained")
        axes.axvspan(
            1 / margin,
            margin,
            color="#e8eef5",
            label=f"does not matter: within a factor of {margin:g}",
        )
        axes.axvline(1, color=style.FAINT, lw=0.8)
        left, right = (
            min(0.8, max(0.4, table["low"].min())) / 1.02,
            max(1.3, min(2.0, table["high"].max())) * 1.02,
        )
        for at, row in enumerate(iterate_rows(table)):
            axes.plot([row.low, row.high], [at, at], color=style.BLUE, lw=2)
            axes.plot(row.ratio, at, "o", color=style.BLUE)
            # An estimate far away is only named: so the intervals near the margin stay readable.
            if row.ratio > right:
                axes.text(right, at, f"{row.ratio:.3g} (off the page) →", ha="right")
            elif not left < row.ratio < right:
                axes.text(left, at, f"← {row.ratio:.3g} (off the page)", ha="left")
        axes.set(
            yticks=range(len(table)),
            yticklabels=[f"{row.Index}  {row.what}" for row in iterate_rows(table)],
        )
        axes.set(
            xlabel="ratio with 99 % interval (log scale)",
            xscale="log",
            ylim=(len(table) - 0.5, -0.5),
        )
        ticks = [
            tick
            for tick in (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2)
            if left <= tick <= right
        ]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xlim(left, right)
        axes.minorticks_off()
        figure.legend(loc="outside lower center")
    plt.close(figure)
    return figure


@check(4)
def check_1(ratio: Any, low: Any, high: Any, inverse_high: Any) -> Iterator[Part]:
    """Check a ratio of geometric means with its interval, and the upper end of its inverse."""
    estimate, *ends = compute_ratio(load_java_books())
    hints = {1 / estimate**2: "that is JSON over XML."}
    off = (
        "differences of logarithms, block by block; their mean and interval; then exp of all three."
    )
    yield grade_number(
        ratio, estimate, "ratio", f"ratio: {estimate:.2f}.", hints, off, within=0.001
    )
    for name, given, end in zip(("low", "high"), (low, high), ends, strict=True):
        hints = {log(end) / end: "that is still a logarithm: take exp."}
        yield grade_number(given, end, name, f"{name}: {end:.2f}.", hints, off, within=0.002)
    well = (
        "inverse_high: the inverse's ends are the ends' inverses. On the plain scale that fails:"
        " try it."
    )
    hints = {
        ends[0]
        / ends[1]: "that is its low end: which end of XML/JSON becomes the high end of JSON/XML?"
    }
    yield grade_number(
        inverse_high,
        1 / ends[0],
        "inverse_high",
        well,
        hints,
        "JSON over XML, upper end.",
        within=0.002,
    )


@check(4)
def check_2(verdict: Any) -> Iterator[Part]:
    """Check a function that judges a claim of more by an interval and a margin."""

    def check_case(kind: str, examples: list[tuple[float, float, float]]) -> Iterator[Part]:
        verdicts = [call_function(verdict, *example) for example in examples]
        for given in verdicts:
            if given not in KINDS:
                raise FormError(f"{given!r} is none of {', '.join(KINDS)}.")
        off = _HINTS[kind]
        for (low, high, margin), given in zip(examples, verdicts, strict=True):
            if given != kind:
                off = f"{low:g} to {high:g}, margin {margin:g}: {given}? {off}"
                break
        yield grade(set(verdicts) == {kind}, f"{kind}: all {len(examples)} intervals.", off)

    yield from grade_separately(check_case(kind, examples) for kind, examples in _EXAMPLES.items())


def _judge_row(row: Any) -> str:
    """Judge a claim of more, with a margin of 1.1, by a comparison."""
    if row.high < 1.1:
        return "the opposite" if row.high < 1 else "no difference that matters"
    return "for" if row.low > 1 else "open"


@check(5)
def check_3(said: Any) -> Iterator[Part]:
    """Check how five real comparisons stand to a claim of more."""
    table = load_cases()
    where = {
        row.Index: (
            f"its interval is {row.low:.2f} to {row.high:.2f}, the margin 1.1: which ends lie"
            " beyond what?"
        )
        for row in iterate_rows(table)
    }
    yield from grade_sorting(
        said, {row.Index: _judge_row(row) for row in iterate_rows(table)}, KINDS, where
    )


def count_needed_blocks(sd: float, margin: float) -> int:
    """Return the number of blocks that an equivalence takes.

    With one block per day, a 99 % interval around a ratio of 1 then lies within the margin.
    """
    return next(
        n
        for n in count(MIN_BLOCKS)
        if compute_t_quantile(n - 1, 0.995) * sd / sqrt(n) <= log(margin)
    )


@check(3)
def check_4(blocks_needed: Any) -> Iterator[Part]:
    """Check a function that returns how many blocks an equivalence takes."""
    cases: Sequence[tuple[str, float, float]] = (
        ("bookstore, arms by turns", 0.028, 1.1),
        ("bookstore, arms in processes apart", 0.383, 1.1),
        ("a smaller margin", 0.124, 1.02),
    )

    def check_case(about: str, sd: float, margin: float) -> Iterator[Part]:
        truth = count_needed_blocks(sd, margin)
        found = read_number(
            call_function(blocks_needed, sd, margin), f"blocks_needed({sd}, {margin})"
        )
        normal = next(n for n in count(MIN_BLOCKS) if 2.58 * sd / sqrt(n) <= log(margin))
        if found == normal != truth:
            hint = (
                "with few blocks 2.58 is too small: take Student's quantile for n - 1 degrees of"
                " freedom."
            )
        else:
            hint = (
                f"the half-width, quantile times {sd} over the root of n, must be at most"
                f" log({margin})."
            )
        says = f"{about} (SD {sd}, margin {margin}): {found:,.0f} is not it; {hint}"
        yield grade(found == truth, f"{about}: {truth:,} blocks.", says)

    yield from grade_separately(check_case(*case) for case in cases)
