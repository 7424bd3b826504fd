"""Lesson 3, repetitions, blocks and drift: identical arms that differ, and designs against it."""

from collections.abc import Iterator
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter
from numpy.typing import NDArray
from scipy import stats

from benchbook import codecs
from benchbook.analysis.intervals import CONFIDENCE, ICC, compute_interval
from benchbook.datasets import books
from benchbook.measure import clock
from benchbook.plots import style
from benchbook.plots.points import iterate_rows
from benchbook_lessons.feedback import (
    FormError,
    Part,
    call_function,
    check,
    grade,
    grade_choice,
    grade_number,
    grade_separately,
    read_dictionary,
    read_share,
)
from benchbook_lessons.predictions import Predictions
from benchbook_lessons.snapshot import load_round_trips

predict = Predictions

MEMORY: Final = 0.95
"""How much of the machine's state lasts from one measurement to the next."""

IN_SEQUENCE, INTERLEAVED = "one after the other", "interleaved"
"""Names of the two orders of measurement."""

TESTS: Final = {"welch": "Welch's test", "paired": "paired test"}
"""Names of the tests in figures."""


def simulate_machines(
    count: int, length: int, drift: float = 0.1, noise: float = 0.05, seed: int = 1
) -> NDArray[np.float64]:
    """Return simulated times of the same work on some machines, in ms around 100.

    The shape is (count, length).

    Each machine has a slow state (an AR(1) process of standard deviation `drift`) and noise at
    every measurement, both on the log scale.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    steps = random.standard_normal((count, length)) * drift * np.sqrt(1 - MEMORY**2)
    state = np.empty((count, length))
    state[:, 0] = random.standard_normal(count) * drift
    for index in range(1, length):
        state[:, index] = MEMORY * state[:, index - 1] + steps[:, index]
    values: NDArray[np.float64] = 100 * np.exp(
        state + noise * random.standard_normal((count, length))
    )
    return values


def split_arms(
    values: NDArray[np.float64], order: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Split times into those of arm a and of arm b, by an order such as ``abba``."""
    letters = np.array(list(order))
    return values[:, letters == "a"], values[:, letters == "b"]


def draw_drift(order: str = "a" * 30 + "b" * 30, seed: int = 4) -> Figure:
    """Draw sixty times of the same work on one machine, counted as arm a or b by an order."""
    values = simulate_machines(1, len(order), seed=seed)[0]
    (a,), (b,) = split_arms(values[np.newaxis], order)
    percent = 100 * abs(a.mean() / b.mean() - 1)
    with style.use_style():
        figure, axes = plt.subplots(figsize=(6.8, 2.6), layout="constrained")
        _draw_arms(axes, order, values)
        axes.set(
            xlabel="order of measurement",
            ylabel="time, ms",
            title=f"The same work, on a machine that drifts: the means differ by {percent:.1f} %",
        )
    plt.close(figure)
    return figure


def _draw_arms(axes: Axes, order: str, values: NDArray[np.float64]) -> None:
    """Draw times in the order of measurement, and both arms' means with their names."""
    size = 4 if len(order) < 100 else 2
    for arm, colour, marker in (("a", style.BLUE, "o"), ("b", style.VERMILION, "s")):
        at = np.array([index for index, letter in enumerate(order) if letter == arm])
        mean = values[at].mean()
        label = f"{arm}, mean {mean:.2f} ms"
        axes.plot(at, values[at], marker, color=colour, ms=size, mew=0, alpha=0.8, label=label)
        axes.hlines(mean, at.min(), at.max(), color=colour, lw=1.4, ls="--")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=4 / size)


def draw_p_values(values: NDArray[np.float64], order: str, test: str) -> Figure:
    """Draw a histogram of the p-values of many experiments without a difference.

    Parameters
    ----------
    values
        Times of the same work, shape (experiments, measurements).
    order
        Which of the measurements are of a and of b, such as ``abba``.
    test
        ``welch`` or ``paired``.
    """
    p = _compute_p(*split_arms(values, order), test)
    name = IN_SEQUENCE if "".join(sorted(order)) == order else INTERLEAVED
    with style.use_style():
        figure, axes = plt.subplots(figsize=(6.8, 2.4), layout="constrained")
        counts, edges = np.histogram(p, 20, (0, 1))
        colours = [style.VERMILION] + [style.BLUE] * 19
        axes.bar(edges[:-1], counts, width=0.05, align="edge", color=colours)
        axes.axhline(len(p) / 20, color=style.INK, lw=1, ls="--")
        axes.set(
            title=f"{name}, {TESTS[test]}:\n"
            f"{100 * (p < 0.05).mean():.1f} % of the p-values are below 0.05 (the red bar)",
            xlabel="p-value (each bar should end near the dashed line: 5 % of the experiments)",
            ylabel="experiments",
            xlim=(0, 1),
        )
    plt.close(figure)
    return figure


def _compute_p(a: NDArray[np.float64], b: NDArray[np.float64], test: str) -> NDArray[np.float64]:
    """Return the p-value of each row by Welch's test or by the paired test."""
    if test not in TESTS:
        raise ValueError(f"test must be 'welch' or 'paired' (got {test!r})")
    if test == "welch":
        found = stats.ttest_ind(a, b, axis=1, equal_var=False)
    else:
        found = stats.ttest_rel(a, b, axis=1)
    return np.asarray(found.pvalue, np.float64)


def simulate_outcomes(runs: int = 4_000) -> dict[str, float]:
    """Return the share of false alarms in each of the three situations that were predicted."""
    values = simulate_machines(runs, 60)
    in_sequence = _compute_p(*split_arms(values, "a" * 30 + "b" * 30), "welch")
    interleaved = _compute_p(*split_arms(values, "abba" * 15), "paired")
    looks = simulate_peeks(runs).min(axis=1)
    return {
        "one_after_the_other": float((in_sequence < 0.05).mean()),
        "interleaved": float((interleaved < 0.05).mean()),
        "looking_again_and_again": float((looks < 0.05).mean()),
    }


def measure_arms(order: str, books_each: int = 2_000) -> pd.DataFrame:
    """Measure the marshalling of the same books on this machine, once per letter of the order.

    Returns the columns ``arm`` and ``us``, in the order of measurement.
    """
    shop = books.generate_bookstore(books_each, 1, 1)
    encode = codecs.load_codec("json").encode_bookstore
    for _ in range(10):
        encode(shop)
    measured = []
    for letter in order:
        start = clock()
        encode(shop)
        measured.append((letter, (clock() - start) / 1e3))
    return pd.DataFrame(measured, columns=["arm", "us"])


def measure_both_orders(pairs: int) -> pd.DataFrame:
    """Measure identical arms on this machine in two orders, each with `pairs` times per arm.

    Returns the columns ``order``, ``arm`` and ``us``, in the order of measurement.
    """
    orders = {IN_SEQUENCE: "a" * pairs + "b" * pairs, INTERLEAVED: "abba" * (pairs // 2)}
    return pd.concat(
        [measure_arms(letters).assign(order=name) for name, letters in orders.items()],
        ignore_index=True,
    )[["order", "arm", "us"]]


def draw_orders(measured: pd.DataFrame) -> Figure:
    """Draw the times of both orders, as `measure_both_orders` returns them."""
    high = measured["us"].quantile(0.99) / 1e3 * 1.1
    with style.use_style():
        figure, panels = plt.subplots(2, 1, figsize=(7.2, 4.2), layout="constrained", sharex=True)
        for axes, (name, times) in zip(panels, measured.groupby("order", sort=False), strict=True):
            _draw_arms(axes, "".join(times["arm"]), times["us"].to_numpy() / 1e3)
            axes.set(
                title=f"The same work on your computer, {name}", ylabel="time, ms", ylim=(0, high)
            )
        panels[1].set(xlabel="order of measurement (the slowest 1 % of the times are not shown)")
    plt.close(figure)
    return figure


def compare_orders(measured: pd.DataFrame) -> pd.DataFrame:
    """Return the ratio a / b of each order with its 99 % interval.

    Parameters
    ----------
    measured
        As `measure_both_orders` returns it.

    Returns
    -------
    pandas.DataFrame
        ``ratio, low, high``, by order. Interleaved times are compared in pairs.
    """
    rows = {}
    for name, times in measured.groupby("order", sort=False):
        a, b = (np.log(times.loc[times["arm"] == arm, "us"].to_numpy()) for arm in "ab")
        if name == INTERLEAVED:
            test = stats.ttest_rel(a, b)
        else:
            test = stats.ttest_ind(a, b, equal_var=False)
        low, high = np.exp(test.confidence_interval(CONFIDENCE))
        rows[name] = (np.exp(a.mean() - b.mean()), low, high)
    return pd.DataFrame.from_dict(rows, orient="index", columns=["ratio", "low", "high"])


def load_identical_arms() -> pd.DataFrame:
    """Return JSON round trips of 1,000 books in fresh Python processes: ``block, repetition, us``.

    A block is a process.
    """
    rows = load_round_trips(language="python", n=1000, format="json")
    return rows[["block", "repetition", "us"]].reset_index(drop=True)


def draw_blocks() -> Figure:
    """Draw the repetitions of `load_identical_arms` by block."""
    found = load_identical_arms()
    means = found.groupby("block")["us"].mean()
    with style.use_style():
        figure, axes = plt.subplots(figsize=(6.8, 2.8), layout="constrained")
        axes.plot(
            found["block"],
            found["us"] / 1e3,
            "o",
            color=style.BLUE,
            ms=4,
            mew=0,
            alpha=0.5,
            label="a repetition",
        )
        axes.plot(
            means.index, means / 1e3, "_", color=style.INK, ms=12, mew=2, label="mean of a block"
        )
        axes.set(
            title="Repetitions of one block resemble each other, and blocks differ",
            xlabel="block (a fresh process)",
            xticks=means.index,
            ylabel="round trip, ms (log scale)",
            yscale="log",
            yticks=(1.25, 1.5, 2, 2.5),
        )
        axes.yaxis.set_major_formatter(ScalarFormatter())
        axes.minorticks_off()
        axes.legend(loc="upper left")
    plt.close(figure)
    return figure


def simulate_peeks(experiments: int, most: int = 30, seed: int = 2) -> NDArray[np.float64]:
    """Return p-values of a true difference of zero after 3, 4, … `most` blocks.

    The shape is (experiments, most - 2).
    """
    from scipy.special import stdtr

    values = np.random.Generator(np.random.PCG64(seed)).standard_normal((experiments, most))
    counts = np.arange(1, most + 1)
    means = values.cumsum(axis=1) / counts
    squares = (values**2).cumsum(axis=1) - counts * means**2
    with np.errstate(divide="ignore", invalid="ignore"):
        t = means / np.sqrt(squares / (counts - 1) / counts)
    found: NDArray[np.float64] = 2 * stdtr(counts[2:] - 1, -np.abs(t[:, 2:]))
    return found


def simulate_daily_looks(
    experiments: int,
    confidence: float = CONFIDENCE,
    days: int = 8,
    a_day: int = 3,
    correlation: float = ICC,
) -> float:
    """Return how often an experiment errs that ends on the first day whose interval decides.

    There is no true difference. The interval is computed after every day from the second on.

    Parameters
    ----------
    correlation
        Of the blocks of one day. The suite's interval takes it as `ICC`, whatever it is.
    """
    random = np.random.Generator(np.random.PCG64(3))
    of_blocks = np.repeat(np.arange(days), a_day)
    states = np.sqrt(correlation) * random.standard_normal((experiments, days))
    noise = np.sqrt(1 - correlation) * random.standard_normal((experiments, days * a_day))
    wrong = 0
    for values in states[:, of_blocks] + noise:
        for blocks in range(2 * a_day, days * a_day + 1, a_day):
            found = compute_interval(values[:blocks], of_blocks[:blocks], confidence)
            if found.low > 0 or found.high < 0:
                wrong += 1
                break
    return wrong / experiments


@check(4)
def check_1(interleaved: Any) -> Iterator[Part]:
    """Check a function that returns an order of measurement in which arms alternate."""
    order = call_function(interleaved, 4)
    if not isinstance(order, str) or set(order) - {"a", "b"}:
        raise FormError(
            f"interleaved(4) should be a text of the letters a and b, and is {order!r}."
        )
    yield grade(
        len(order) == 8,
        "8 measurements for 4 of each arm.",
        f"{len(order)} measurements for 4 of each arm.",
    )
    yield grade(
        order.count("a") == order.count("b") == 4, "as many a as b.", f"{order!r} is not balanced."
    )
    pairs = [order[at : at + 2] for at in range(0, len(order), 2)]
    together = all(set(pair) == {"a", "b"} for pair in pairs)
    yield grade(
        together,
        "each pair has both arms.",
        f"the pairs of {order!r} are {', '.join(pairs)}: not all have both.",
    )
    firsts = [pair[0] for pair in pairs]
    fair = together and firsts.count("a") == firsts.count("b")
    off = (
        f"in the pairs {', '.join(pairs)} one arm goes first more often. What if going first costs"
        " something?"
    )
    if not together:
        off = "which arm goes first? Ask that again when each pair has both."
    yield grade(fair, "each arm goes first as often.", off)


def _draw_samples() -> Iterator[NDArray[np.float64]]:
    """Yield four samples of 200 rows of twelve.

    Half of the second's rows differ much from the first's. The fourth differs little from the
    third, pair by pair, and both are noisy.
    """
    random = np.random.Generator(np.random.PCG64(5))
    a = 100 + random.standard_normal((200, 12))
    yield a
    shifts = np.repeat([50.0, 0.0], 100)[:, np.newaxis]
    yield a + shifts + random.standard_normal((200, 12))
    noisy = a + 30 * random.standard_normal((200, 12))
    yield noisy
    yield noisy + 2 + 0.5 * random.standard_normal((200, 12))


@check(4)
def check_2(false_alarms: Any, interleaved: Any) -> Iterator[Part]:
    """Check a function that counts false alarms, of Welch's test and of the paired test."""
    a, far, noisy, shifted = _draw_samples()
    values = simulate_machines(600, 60)

    def find_large() -> Iterator[Part]:
        found = read_share(
            call_function(false_alarms, a, far, "welch"), "the share of arms of which half differ"
        )
        truth, by_column = (
            float((_compute_p(*arms, "welch") < 0.05).mean()) for arms in ((a, far), (a.T, far.T))
        )
        off = f"100 of 200 rows differ much: it finds {found:.0%}."
        if np.isclose(found, by_column):
            off += (
                " That is the share of columns. There is one p per row: write axis=1, or a loop"
                " over the rows."
            )
        yield grade(np.isclose(found, truth), "finds the rows that differ.", off)

    def find_pairs_in_noise() -> Iterator[Part]:
        paired, welch = (
            read_share(call_function(false_alarms, noisy, shifted, test), test)
            for test in ("paired", "welch")
        )
        off = (
            f"pairs that differ by 2 in noise of 30: found in {paired:.0%} by the paired test, in"
            f" {welch:.0%} by Welch's. Do you use both tests?"
        )
        yield grade(
            paired > 0.9 and welch < 0.2,
            "pairs show what Welch's test cannot see in the noise.",
            off,
        )

    def count_in_sequence() -> Iterator[Part]:
        arms = split_arms(values, "a" * 30 + "b" * 30)
        found = read_share(
            call_function(false_alarms, *arms, "welch"), "the share one after the other"
        )
        off = f"one after the other: {found:.0%}. In how many rows is p below 0.05?"
        yield grade(
            0.6 < found < 0.7, f"one after the other under drift: {found:.0%} false alarms.", off
        )

    def count_in_turns() -> Iterator[Part]:
        order = call_function(interleaved, 30)
        turns = read_share(
            call_function(false_alarms, *split_arms(values, order), "paired"),
            "the share of interleaved arms",
        )
        off = (
            f"interleaved: {turns:.1%}. It should be near 5 %: is there one p per row, and is task"
            " 1 right?"
        )
        yield grade(0.02 < turns < 0.09, f"interleaved, in pairs: {turns:.1%}.", off)

    yield from grade_separately(
        (find_large(), find_pairs_in_noise(), count_in_sequence(), count_in_turns())
    )


def _compute_half_width(values: Any) -> float:
    reach = stats.t.ppf(0.5 + CONFIDENCE / 2, len(values) - 1) * stats.sem(values)
    return float(reach / np.mean(values))


def compute_daily_half_width() -> float:
    """Return the half-width by the suite's interval, which allows for other days, as a share."""
    means = load_identical_arms().groupby("block")["us"].mean()
    found = compute_interval(means, [1] * len(means))
    return (found.high - found.low) / 2 / found.estimate


@check(4)
def check_3(by_repetition: Any, by_block: Any, by_day_rule: Any, honest: Any) -> Iterator[Part]:
    """Check three intervals' half-widths, and which of them is honest."""
    found = load_identical_arms()
    narrow, wide = (
        _compute_half_width(found["us"]),
        _compute_half_width(found.groupby("block")["us"].mean()),
    )
    hints = {
        2.0: "that is the whole width: divide it by 2.",
        100.0: "write a share, not percent.",
    }
    off = "half of (high - low) of the 99 % interval, over the mean."
    yield grade_number(
        by_repetition,
        narrow,
        "by_repetition",
        f"by_repetition: ±{narrow:.1%}, of {len(found)} values.",
        hints,
        off,
    )
    by_number = _compute_half_width(found.groupby("repetition")["us"].mean())
    hints |= {
        narrow / wide: "that is of the single repetitions: group them by block first.",
        by_number / wide: "that is of means by repetition: group by block.",
    }
    well = f"by_block: ±{wide:.1%}, of {found['block'].nunique()} values."
    yield grade_number(by_block, wide, "by_block", well, hints, off)
    widest = compute_daily_half_width()
    hints = {
        2.0: "that is the whole width: divide it by 2.",
        100.0: "write a share, not percent.",
        wide / widest: "that is by_block: use the ends of compute_interval.",
    }
    well = f"by_day_rule: ±{widest:.0%}, if other days may differ."
    off = "(found.high - found.low) / 2 / found.estimate, with the same day for all blocks."
    yield grade_number(by_day_rule, widest, "by_day_rule", well, hints, off)
    well = "honest: all blocks are of one day, and resemble each other. Only by_day_rule allows for"
    well += " other days."
    questions = {
        "by_repetition": "do ten repetitions of a block say ten times as much as one?",
        "by_block": "are blocks 15 to 19 independent of each other? And what of other days?",
    }
    off = f"look at the figure: {questions.get(str(honest).strip().lower(), '')}"
    choices = ("by_repetition", "by_block", "by_day_rule")
    yield grade_choice(honest, "by_day_rule", "honest", choices, well, off)


@check(3)
def check_4(alarm_rate: Any) -> Iterator[Part]:
    """Check a function that counts the experiments that stop at a p that is small by chance."""
    p = np.array([[0.5, 0.04, 0.6], [0.2, 0.3, 0.4], [0.9, 0.8, 0.01], [0.05, 0.06, 0.07]])

    def four() -> Iterator[Part]:
        found = read_share(call_function(alarm_rate, p, 0.05), "alarm_rate(four experiments, 0.05)")
        says = (
            f"of four experiments it returns {found:g}. Two of them had a p below 0.05 at some"
            " look."
        )
        if np.isclose(found, 0.25):
            says = (
                "your function looks at the last p only. The test stops at the first p below"
                " alpha, and never sees the last one."
            )
        if np.isclose(found, 1 / 6):
            says = "that is the share of all twelve p-values: count an experiment (a row) once."
        yield grade(np.isclose(found, 0.5), "two of four experiments have a false alarm.", says)

    def larger_alpha() -> Iterator[Part]:
        found = read_share(call_function(alarm_rate, p, 0.5), "alarm_rate(four experiments, 0.5)")
        yield grade(
            np.isclose(found, 1),
            "alpha is used.",
            f"with alpha 0.5 all four have a false alarm, and it returns {found:g}.",
        )

    def many_looks() -> Iterator[Part]:
        found = read_share(
            call_function(alarm_rate, simulate_peeks(4_000), 0.05), "alarm_rate of 28 looks"
        )
        off = f"with 28 looks it returns {found:.1%}: is an experiment counted once?"
        yield grade(
            0.2 < found < 0.35,
            f"28 looks: {100 * found:.0f} % false alarms. One look has 5 %.",
            off,
        )

    yield from grade_separately((four(), larger_alpha(), many_looks()))


@check(2)
def check_5(ratio: Any, measured: pd.DataFrame) -> Iterator[Part]:
    """Check the ratios a / b of the student's own measurements, in both orders."""
    truth = compare_orders(measured)
    by_arm = measured.groupby(["order", "arm"])["us"].mean().unstack("arm")
    means = by_arm["a"] / by_arm["b"]
    given = read_dictionary(ratio, truth.index, "the ratio a / b")
    off = "exp of (the mean of log(a), minus the mean of log(b)), of the rows of this order."
    for row in iterate_rows(truth):
        hints = {
            1 / row.ratio**2: "that is b / a: the other way round.",
            np.log(row.ratio) / row.ratio: "that is still a logarithm: take exp.",
            means[row.Index]
            / row.ratio: "that is the ratio of the plain means: take logarithms first.",
        }
        well = f"{row.Index}: a / b = {row.ratio:.3f} ({row.low:.3f} to {row.high:.3f})."
        yield grade_number(given[row.Index], row.ratio, row.Index, well, hints, off, within=0.0005)
