"""Lesson 5, effect size, margins and equivalence: from an interval and a margin to a verdict."""

from collections.abc import Iterator, Sequence
from datetime import date
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
    call_function,
    check,
    grade,
    grade_choice,
    grade_number,
    grade_separately,
    grade_sorting,
    read_number,
)
from benchbook_lessons.fresh_process import run_code
from benchbook_lessons.predictions import Predictions
from benchbook_lessons.snapshot import load_means

predict = Predictions
KINDS: Final = ("for", "no difference that matters", "the opposite", "open")

_EXAMPLES: Final = {
    "for": [(1.2, 1.5, 1.1), (1.02, 1.4, 1.1), (1.06, 1.08, 1.05)],
    "no difference that matters": [(0.95, 1.05, 1.1), (1.01, 1.04, 1.1), (0.8, 1.04, 1.05)],
    "the opposite": [(0.4, 0.6, 1.1), (0.8, 0.97, 1.1)],
    "open": [(0.8, 1.3, 1.1), (0.5, 4.0, 1.1), (0.97, 1.2, 1.1)],
}
_HINTS: Final = {
    "for": "The low end is above 1, and the high end is beyond the margin.",
    "no difference that matters": "The high end is below the margin, but not below 1.",
    "the opposite": "The whole interval is below 1.",
    "open": "The interval contains 1 and reaches beyond the margin.",
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
    """Return the times of a and b to handle 89 attributes in the lesson's data.

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
    rows = _select_round_trips(language="java", n=10_000, arm="a", codec=["jaxb", "jackson"])
    return _pair_blocks(select_cells(rows, case=1), "format", ("xml", "json"))


def load_moxy_books() -> Pairs:
    """Return XML's (JAXB) and JSON's (MOXy) times of 1,000 books of case 2 in Java."""
    rows = _select_round_trips(language="java", n=1_000, arm="a", codec=["jaxb", "moxy"])
    cells = select_cells(rows, case=2, json_codec="moxy")
    return _pair_blocks(cells, "format", ("xml", "json"))


def load_identical_books() -> Pairs:
    """Return the times of JSON round trips of 1,000 books in Python, measured as b and as a."""
    rows = _select_round_trips(language="python", n=1_000, format="json")
    return _pair_blocks(select_cells(rows, arm="b"), "arm", ("b", "a"))


def _select_round_trips(**levels: Any) -> pd.DataFrame:
    """Return study bookstore's block means of the round trip's time at some levels."""
    return select_rows(
        load_means(), study="bookstore", operation="round_trip", metric="wall_time", **levels
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
    """Return five comparisons, for a claim of *more* with a margin of 1.10.

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
    python = {"arm": "a", "language": "python"}
    both = ("mongoengine", "pymongo")
    delete = load_driver_pairs("driver", both, n=10_000, operation="delete", **python)
    update = load_driver_pairs("driver", both, n=1_000, operation="update", **python)
    wanted = {
        "A": ("Mongoose / MongoClient, insert", mongoose),
        "B": ("JSON by orjson / itself (A/A)", load_identical_books()),
        "C": ("XML / JSON (JAXB / MOXy)", load_moxy_books()),
        "D": ("mongoengine / pymongo, delete", delete),
        "E": ("mongoengine / pymongo, update", update),
    }
    rows = {}
    for name, (what, pairs) in wanted.items():
        p = stats.ttest_rel(np.log(pairs[0]), np.log(pairs[1])).pvalue
        rows[name] = (what, len(pairs[0]), p, *compute_ratio(pairs))
    return pd.DataFrame.from_dict(
        rows, orient="index", columns=["what", "blocks", "p", "ratio", "low", "high"]
    )


_ONE_BLOCK: Final = """
import json, sys, time
from benchbook import codecs
from benchbook.datasets import books
shop = books.generate_bookstore(int(sys.argv[1]), 1, 1)
encode = codecs.load_codec("json").encode_bookstore
for _ in range(20):
    encode(shop)
times = {"a": [], "b": []}
for arm in "abba" * 50:
    start = time.perf_counter_ns()
    encode(shop)
    times[arm].append(time.perf_counter_ns() - start)
print(json.dumps(times))
"""


def measure_identical_arms(blocks: int, books: int = 1_000) -> Pairs:
    """Encode the same books as a and as b on this machine, in one fresh process per block."""
    means = []
    for _ in range(blocks):
        times = run_code(_ONE_BLOCK, str(books))
        means.append((np.mean(times["a"]), np.mean(times["b"])))
    first, second = np.array(means).T
    return first, second, np.full(blocks, f"{date.today()}", object)


def draw_own_blocks(pairs: Pairs) -> Figure:
    """Draw the ratio a / b of each block of `measure_identical_arms`."""
    first, second, _ = pairs
    ratios = first / second
    with style.use_style():
        figure, axes = plt.subplots(figsize=(7.2, 2.2), layout="constrained")
        axes.axhline(1, color=style.INK, lw=1)
        axes.plot(range(1, len(ratios) + 1), ratios, "o", color=style.BLUE)
        axes.set(
            title="a and b are the same program: how far is each block from 1?",
            xlabel="block (a fresh process)",
            xticks=range(1, len(ratios) + 1),
            ylabel="time of a / time of b",
        )
    plt.close(figure)
    return figure


def draw_intervals(table: pd.DataFrame, margin: float = 1.1) -> Figure:
    """Draw intervals of ratios, for a claim of *more*, with 1 and the margin as lines."""
    with style.use_style():
        figure, axes = plt.subplots(figsize=(7.2, 0.45 * len(table) + 1.3), layout="constrained")
        axes.axvspan(1, margin, color="#e8eef5")
        axes.axvline(1, color=style.INK, lw=1)
        axes.axvline(margin, color=style.INK, lw=1, ls="--")
        left = min(0.8, max(0.4, table["low"].min())) / 1.02
        right = max(1.3, min(2.0, table["high"].max())) * 1.02
        for at, row in enumerate(iterate_rows(table)):
            axes.plot([row.low, row.high], [at, at], color=style.BLUE, lw=2)
            axes.plot(row.ratio, at, "o", color=style.BLUE)
            # An interval far away is only written: so those near the margin stay readable.
            words = f"{row.ratio:.3g} ({row.low:.3g} to {row.high:.3g})"
            if row.low > right:
                axes.text(right / 1.01, at, f"{words} →", ha="right", va="center_baseline")
            elif row.high < left:
                axes.text(left * 1.01, at, f"← {words}", ha="left", va="center_baseline")
        ticks = [
            tick
            for tick in (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2)
            if left <= tick <= right
        ]
        axes.set(
            title="Which intervals are above 1? Which are below the margin?\n"
            f"(solid line: 1; dashed line: the margin, {margin:g}; shaded: too small to matter)",
            yticks=range(len(table)),
            yticklabels=[f"{row.Index}  {row.what}" for row in iterate_rows(table)],
            xlabel="ratio with 99 % interval (log scale)",
            xscale="log",
            xlim=(left, right),
            ylim=(len(table) - 0.5, -0.5),
        )
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    plt.close(figure)
    return figure


@check(4)
def check_1(ratio: Any, low: Any, high: Any, inverse_high: Any) -> Iterator[Part]:
    """Check a ratio of geometric means with its interval, and the upper end of its inverse."""
    pairs = load_java_books()
    xml, json, _ = pairs
    estimate, *ends = compute_ratio(pairs)
    hints = {
        1 / estimate**2: "that is JSON over XML.",
        xml.mean() / json.mean() / estimate: (
            "that is the ratio of the arithmetic means: the slowest blocks count most in it."
        ),
        exp(np.mean(np.log(xml) - np.log(json))) / estimate: (
            "that is exp of the plain mean. compute_interval uses the days: take its .estimate."
        ),
        log(estimate) / estimate: "that is still a logarithm: take exp.",
    }
    off = "take the differences of the logarithms, their mean and interval; then exp of all three."
    yield grade_number(
        ratio, estimate, "ratio", f"ratio: {estimate:.2f}.", hints, off, within=0.001
    )
    for name, given, end in zip(("low", "high"), (low, high), ends, strict=True):
        hints = {log(end) / end: "that is still a logarithm: take exp."}
        yield grade_number(given, end, name, f"{name}: {end:.2f}.", hints, off, within=0.002)
    well = "inverse_high: it is 1 over the other end. Without logarithms that does not work."
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
                raise FormError(f"{given!r} is not one of {', '.join(KINDS)}.")
        off = _HINTS[kind]
        for (low, high, margin), given in zip(examples, verdicts, strict=True):
            if given != kind:
                off = f"{low:g} to {high:g}, margin {margin:g}: not {given!r}. {off}"
                break
        yield grade(set(verdicts) == {kind}, f"{kind}: all {len(examples)} intervals.", off)

    yield from grade_separately(check_case(kind, examples) for kind, examples in _EXAMPLES.items())


def judge_interval(low: float, high: float, margin: float = 1.1) -> str:
    """Return which of `KINDS` an interval is for a claim of more."""
    if high < 1:
        return "the opposite"
    if high < margin:
        return "no difference that matters"
    return "for" if low > 1 else "open"


@check(5)
def check_3(said: Any) -> Iterator[Part]:
    """Check how five real comparisons stand to a claim of more."""
    table = load_cases()
    where = {
        row.Index: (
            f"Its interval is {row.low:.2f} to {row.high:.2f}, the margin 1.1: where do the two"
            " ends lie?"
        )
        for row in iterate_rows(table)
    }
    truth = {row.Index: judge_interval(row.low, row.high) for row in iterate_rows(table)}
    yield from grade_sorting(said, truth, KINDS, where)


def compute_spreads() -> tuple[float, float]:
    """Return the standard deviation of the log ratio of comparison B, in two designs.

    First as measured: a and b alternate in one process. Then a of one process is compared with b
    of the next.
    """
    first, second, _ = load_identical_books()
    b, a = np.log(first), np.log(second)
    return float(np.std(b - a, ddof=1)), float(np.std(b[1:] - a[:-1], ddof=1))


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
    together, apart = compute_spreads()
    cases: Sequence[tuple[str, float, float]] = (
        ("a and b alternate in one process", round(together, 3), 1.1),
        ("a and b run in two processes", round(apart, 3), 1.1),
        ("a smaller margin", 0.12, 1.02),
    )

    def check_case(about: str, sd: float, margin: float) -> Iterator[Part]:
        truth = count_needed_blocks(sd, margin)
        found = read_number(
            call_function(blocks_needed, sd, margin), f"blocks_needed({sd}, {margin})"
        )
        # What comes out by three well-known mistakes.
        plain_margin = next(
            n
            for n in count(MIN_BLOCKS)
            if compute_t_quantile(n - 1, 0.995) * sd / sqrt(n) <= margin - 1
        )
        normal = next(n for n in count(MIN_BLOCKS) if 2.58 * sd / sqrt(n) <= log(margin))
        hints = {
            truth - 1: "One block is missing: is the last n tested?",
            normal: "2.58 is too small for few blocks: take Student's quantile for n - 1.",
            plain_margin: "sd is of logarithms: compare it with log(margin), not with margin - 1.",
        }
        hint = hints.get(int(found), "Write: quantile * sd / sqrt(n) <= log(margin).")
        if found < MIN_BLOCKS:
            hint = f"Begin with n = {MIN_BLOCKS}: fewer blocks have no interval."
        says = f"{about} (sd {sd}, margin {margin}): not {found:,.0f}."
        well = f"{about} (sd {sd}, margin {margin}): {truth:,} blocks."
        yield grade(found == truth, well, says, hint)

    yield from grade_separately(check_case(*case) for case in cases)


@check(3)
def check_5(low: Any, high: Any, said: Any, pairs: Pairs) -> Iterator[Part]:
    """Check the interval of the student's own A/A check, and what it means for a claim of more."""
    _, *ends = compute_ratio(pairs)
    off = "compute_interval of np.log(a) - np.log(b), with the days; then exp."
    for name, given, end in zip(("my_low", "my_high"), (low, high), ends, strict=True):
        hints = {log(end) / end: "that is still a logarithm: take exp."}
        yield grade_number(given, end, name, f"{name}: {end:.3f}.", hints, off, within=0.0005)
    truth = judge_interval(*ends)
    well = f"my_verdict: {truth}."
    off = f"{said!r}: compare {ends[0]:.3f} to {ends[1]:.3f} with 1 and with the margin 1.1."
    yield grade_choice(said, truth, "my_verdict", KINDS, well, off)
