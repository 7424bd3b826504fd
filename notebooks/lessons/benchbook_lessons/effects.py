"""Lesson 5, effect size, margins and equivalence: from an interval and a margin to a verdict."""

from collections.abc import Iterator, Sequence
from datetime import date
from math import ceil, exp, log, sqrt
from typing import Any, Final, TypeAlias

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import stats

from benchbook.analysis.intervals import (
    ICC,
    MIN_BLOCKS,
    compute_interval,
    compute_t_quantile,
)
from benchbook.analysis.study_means import find_noisy
from benchbook.plots import style
from benchbook.plots.points import iterate_rows, select_rows
from benchbook.text.number_format import format_count
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
from benchbook_lessons.snapshot import load_means, select_cells

predict = Predictions
KINDS: Final = ("for", "no difference that matters", "the opposite", "open")

_EXAMPLES: Final = {
    "for": [(1.2, 1.5, 1.1), (1.02, 1.4, 1.1), (1.01, 1.15, 1.1), (1.06, 1.08, 1.05)],
    "no difference that matters": [(0.95, 1.05, 1.1), (1.01, 1.04, 1.1), (0.97, 1.02, 1.05)],
    "the opposite": [(0.4, 0.6, 1.1), (0.8, 0.97, 1.1), (0.95, 0.98, 1.1)],
    "open": [
        (0.8, 1.3, 1.1),
        (0.5, 4.0, 1.1),
        (0.97, 1.2, 1.1),
        (0.6, 1.05, 1.1),
        (0.905, 1.05, 1.1),  # beyond 1 / margin, and within 2 - margin
    ],
}
_HINTS: Final = {
    "for": "The low end is above 1, and the high end is beyond the margin.",
    "no difference that matters": "Both ends are between 1 / margin and the margin.",
    "the opposite": "The whole interval is below 1.",
    "open": "The interval contains 1, and one of its ends is beyond the margin or 1 / margin.",
}

BLOCKS_A_DAY: Final = 10
"""How many blocks a day of task 4 has."""

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


def load_inserts() -> Pairs:
    """Return Mongoose's and MongoClient's times to insert 10,000 records of 89 attributes."""
    rows = select_rows(load_means(), study="drivers", metric="wall_time", role="client")
    rows = select_rows(rows, language="node", n=10_000, operation="insert", arm="a")
    return _pair_blocks(select_cells(rows, **_USUAL), "driver", ("mongoose", "mongoclient"))


def load_java_books() -> Pairs:
    """Return XML's (JAXB) and JSON's (Jackson) times of 1,000 books of case 2 in Java."""
    return _load_books("jackson")


def load_moxy_books() -> Pairs:
    """Return XML's (JAXB) and JSON's (MOXy) times of 1,000 books of case 2 in Java."""
    return _load_books("moxy")


def _load_books(json_codec: str) -> Pairs:
    rows = _select_round_trips("wall_time", language="java", n=1_000, arm="a")
    cells = select_cells(rows, case=2, json_codec=json_codec)
    return _pair_blocks(cells, "format", ("xml", "json"))


def load_one_book() -> Pairs:
    """Return XML's and JSON's user CPU time of a round trip of one book, in ns, in Java.

    It is the mean of two fresh processes of 100 round trips each: each format begins one.
    """
    rows = _select_round_trips("cpu_user_time", language="java", n=1, arm="a")
    return _pair_blocks(select_cells(rows, case=1), "format", ("xml", "json"))


def load_deletes() -> Pairs:
    """Return MongoDB's and PostgreSQL's times to delete 1,000 comments, one call each.

    The two take turns in one process.
    """
    rows = select_rows(load_means(), study="crud", metric="wall_time", role="client")
    rows = select_rows(rows, language="python", n=1_000, operation="delete")
    both = ("mongodb", "postgresql+relational")
    cells = select_cells(rows, database="/".join(both), topology="single", calls="single")
    return _pair_blocks(cells, "database", both)


def load_memory() -> Pairs:
    """Return the memory, in bytes, that a process needs to find 10,000 records of 89 attributes.

    First of mongoengine, then of pymongo. Each operation has a process of its own.
    """
    rows = select_rows(load_means(), study="drivers", metric="memory_change", role="client")
    rows = select_rows(rows, language="python", n=10_000, operation="find", arm="a")
    cells = select_cells(rows, **_USUAL | {"process": "operation"})
    return _pair_blocks(cells, "driver", ("mongoengine", "pymongo"))


def load_identical_books() -> Pairs:
    """Return the times of XML round trips of 1,000 books in Python, measured as b and as a."""
    rows = _select_round_trips("wall_time", language="python", n=1_000, format="xml")
    return _pair_blocks(select_cells(rows, arm="b"), "arm", ("b", "a"))


def _select_round_trips(metric: str, **levels: Any) -> pd.DataFrame:
    """Return study bookstore's block means of a metric of the round trip at some levels."""
    return select_rows(
        load_means(), study="bookstore", operation="round_trip", metric=metric, **levels
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
    """Return six comparisons, for a claim of *more* with a margin of 1.10.

    Returns
    -------
    pandas.DataFrame
        ``what, blocks, p, ratio, low, high`` by name; p is of the paired t-test of the logarithms.
    """
    wanted = {
        "A": ("Mongoose / MongoClient, insert", load_inserts()),
        "B": ("XML by lxml / itself (A/A)", load_identical_books()),
        "C": ("XML / JSON (JAXB / MOXy)", load_moxy_books()),
        "D": ("MongoDB / PostgreSQL, delete", load_deletes()),
        "E": ("XML / JSON, CPU time (one book)", load_one_book()),
        "F": ("mongoengine / pymongo, memory", load_memory()),
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


def draw_resamples(ratios: Sequence[float], pairs: Pairs) -> Figure:
    """Draw ratios of resampled blocks, the middle 99 % of them, and the suite's interval."""
    _, low, high = compute_ratio(pairs)
    ends = np.quantile(ratios, [0.005, 0.995])
    with style.use_style():
        figure, axes = plt.subplots(figsize=(7.2, 2.6), layout="constrained")
        axes.hist(ratios, 40, color=style.BLUE, alpha=0.5)
        top = axes.get_ylim()[1]
        lines = (
            (ends[0], ends[1], style.BLUE, "the middle 99 % of the draws"),
            (low, high, style.VERMILION, "interval that allows for other days"),
        )
        for at, (begin, end, colour, words) in enumerate(lines):
            height = top * (1.08 + 0.12 * at)
            label = f"{words}: {begin:.2f} to {end:.2f}"
            axes.plot([begin, end], [height, height], color=colour, lw=3, label=label)
        axes.set(
            title="How far does the ratio move when the same blocks are drawn again?",
            xlabel="ratio XML / JSON",
            ylabel="draws",
            ylim=(0, top * 1.3),
        )
        figure.legend(loc="outside lower center", ncols=2)
    plt.close(figure)
    return figure


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
    """Draw intervals of ratios with 1 as a line, and what is too small to matter shaded."""
    with style.use_style():
        figure, axes = plt.subplots(figsize=(7.2, 0.45 * len(table) + 1.3), layout="constrained")
        axes.axvspan(1 / margin, margin, color="#e8eef5")
        axes.axvline(1, color=style.INK, lw=1)
        for end in (1 / margin, margin):
            axes.axvline(end, color=style.INK, lw=1, ls="--")
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
            title="Which intervals are above 1? Which fit into the shaded part?\n"
            f"(dashed: 1 / {margin:g} and {margin:g}; shaded: too small to matter)",
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


@check(3)
def check_1(ratio: Any, low: Any, high: Any) -> Iterator[Part]:
    """Check a ratio of geometric means with its interval."""
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
    if 1 / margin < low and high < margin:
        return "no difference that matters"
    return "for" if low > 1 else "open"


@check(6)
def check_3(said: Any) -> Iterator[Part]:
    """Check how six real comparisons stand to a claim of more."""
    table = load_cases()
    where = {
        row.Index: (
            f"Its interval is {row.low:.2f} to {row.high:.2f}, the margin 1.1: where do the two"
            " ends lie?"
        )
        for row in iterate_rows(table)
    }
    where["F"] += (
        " Above 1 says only that there is a difference. First ask whether it is too small to"
        " matter."
    )
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


def count_needed_days(sd: float, margin: float, blocks: int = BLOCKS_A_DAY) -> int:
    """Return the least days with which a 99 % interval around a ratio of 1 is within the margin.

    Parameters
    ----------
    sd
        Standard deviation of the logarithms of the blocks' ratios.
    blocks
        How many each day has. Blocks of one day correlate as the suite's interval assumes.
    """
    return _search_days(log(margin), sd * sqrt(ICC + (1 - ICC) / blocks), blocks)


def _search_days(limit: float, spread: float, blocks: int) -> int:
    """Return the least days whose interval has a half-width of at most `limit`.

    `spread` is the standard deviation of the mean of one day.
    """
    days = ceil(MIN_BLOCKS / blocks)
    while compute_t_quantile(days * blocks - 1, 0.995) * spread / sqrt(days) > limit:
        days += 1
    return days


def simulate_power(
    sd: float, margin: float, days: int, blocks: int = BLOCKS_A_DAY, experiments: int = 500
) -> float:
    """Return how often an interval fits within the margin when the true ratio is exactly 1.

    Parameters
    ----------
    sd, margin, blocks
        As in `count_needed_days`.
    """
    random = np.random.Generator(np.random.PCG64(8))
    of_blocks = np.repeat(np.arange(days), blocks)
    fitting = 0
    for _ in range(experiments):
        of_days = sqrt(ICC) * random.standard_normal(days)
        noise = sqrt(1 - ICC) * random.standard_normal(days * blocks)
        found = compute_interval(sd * (of_days[of_blocks] + noise), of_blocks)
        fitting += -log(margin) < found.low and found.high < log(margin)
    return fitting / experiments


@check(3)
def check_4(days_needed: Any) -> Iterator[Part]:
    """Check a function that returns how many days an equivalence takes."""
    together, apart = compute_spreads()
    cases: Sequence[tuple[str, float, float, int]] = (
        ("a and b alternate in one process", round(together, 3), 1.1, BLOCKS_A_DAY),
        ("a and b run in two processes", round(apart, 3), 1.1, BLOCKS_A_DAY),
        ("a smaller margin, fewer blocks", 0.1, 1.05, 3),
    )

    def check_case(about: str, sd: float, margin: float, blocks: int) -> Iterator[Part]:
        truth = count_needed_days(sd, margin, blocks)
        found = read_number(
            call_function(days_needed, sd, margin, blocks), f"days_needed({sd}, {margin}, {blocks})"
        )
        of_a_day = sd * sqrt(ICC + (1 - ICC) / blocks)
        of_the_normal = ceil((stats.norm.ppf(0.995) * of_a_day / log(margin)) ** 2)
        hints = {
            truth - 1: "One day is missing: is the last number tested with <=?",
            of_the_normal: "That is the normal distribution's quantile: use Student's.",
            _search_days(margin - 1, of_a_day, blocks): (
                "sd is of logarithms: compare it with log(margin), not with margin - 1."
            ),
            count_needed_days(sd, margin): (
                f"That would be right for {BLOCKS_A_DAY} blocks per day: use the number of blocks."
            ),
            _search_days(log(margin), sd / sqrt(blocks), blocks): (
                "That takes the blocks of one day as independent: what they share does not shrink."
            ),
            count_needed_days(sd, margin, 1): (
                "That would be right for one block per day: use the number of blocks."
            ),
        }
        hint = hints.get(
            int(found), "Write: quantile * sd * sqrt((0.35 + 0.65 / blocks) / days) <= log(margin)."
        )
        if found < 1:
            hint = "Begin with one day."
        case = f"{about} (sd {sd}, margin {margin}, {blocks} blocks)"
        says = f"{case}: not {found:,.0f}."
        well = f"{case}: {format_count(truth, 'day')}."
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
