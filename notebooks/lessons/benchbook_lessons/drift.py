"""Lesson 3, repetitions, blocks and drift: identical arms that differ, and designs against it."""

from collections.abc import Iterator
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import stats

from benchbook import codecs
from benchbook.analysis.intervals import CONFIDENCE, ICC, compute_interval
from benchbook.datasets import books
from benchbook.measure import clock
from benchbook.plots import style
from benchbook.plots.points import select_rows
from benchbook_lessons.feedback import (
    FormError,
    Part,
    Predictions,
    call_function,
    check,
    grade,
    grade_choice,
    grade_number,
    grade_separately,
    read_share,
)
from benchbook_lessons.reference import load_repetitions, select_main_host

predict = Predictions

MEMORY: Final = 0.95
"""How much of the machine's mood lasts from one measurement to the next."""


def simulate_machines(
    count: int, length: int, drift: float = 0.1, noise: float = 0.05, seed: int = 1
) -> NDArray[np.float64]:
    """Return simulated times of the same work on some machines, in ms around 100.

    The shape is (count, length).

    Each machine has a slow mood (an AR(1) of standard deviation `drift`) and noise at every
    measurement, both on the log scale.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    steps = random.standard_normal((count, length)) * drift * np.sqrt(1 - MEMORY**2)
    mood = np.empty((count, length))
    mood[:, 0] = random.standard_normal(count) * drift
    for index in range(1, length):
        mood[:, index] = MEMORY * mood[:, index - 1] + steps[:, index]
    values: NDArray[np.float64] = 100 * np.exp(
        mood + noise * random.standard_normal((count, length))
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
    with style.use_style():
        figure, axes = plt.subplots(figsize=(6.8, 2.6), layout="constrained")
        for arm, colour, marker in (("a", style.BLUE, "o"), ("b", style.VERMILION, "s")):
            at = [index for index, letter in enumerate(order) if letter == arm]
            axes.plot(
                at,
                values[at],
                marker,
                color=colour,
                ms=4,
                label=f"arm {arm}, mean {values[at].mean():.1f} ms",
            )
            axes.hlines(values[at].mean(), min(at), max(at), color=colour, lw=1, ls="--")
        axes.set(
            xlabel="order of measurement", ylabel="time, ms", title="The same work, called a and b"
        )
        axes.legend()
    plt.close(figure)
    return figure


def measure_arms(order: str, books_each: int = 200) -> pd.DataFrame:
    """Measure the marshalling of the same books on this machine, once per letter of the order."""
    shop, encode = (
        books.generate_bookstore(books_each, 1, 1),
        codecs.load_codec("json").encode_bookstore,
    )
    encode(shop)
    found = []
    for letter in order:
        start = clock()
        encode(shop)
        found.append((letter, (clock() - start) / 1e3))
    return pd.DataFrame(found, columns=["arm", "us"])


def load_identical_arms() -> pd.DataFrame:
    """Return the reference run's JSON round trips of 1,000 books: ``block, repetition, us``.

    They are from twenty fresh Python processes of ten repetitions each, on one machine.
    """
    rows = select_main_host(
        select_rows(load_repetitions("bookstore", "python"), arm="b", format="json", n=1000)
    )
    rows = rows.assign(us=rows["value"] / 1e3)[["block", "repetition", "us"]]
    return rows.sort_values(["block", "repetition"], ignore_index=True)


def draw_blocks() -> Figure:
    """Draw the repetitions of `identical_arms` by block."""
    found = load_identical_arms()
    with style.use_style():
        figure, axes = plt.subplots(figsize=(6.8, 2.6), layout="constrained")
        axes.plot(
            found["block"], found["us"], "o", color=style.BLUE, ms=3, alpha=0.5, label="repetition"
        )
        means = found.groupby("block")["us"].mean()
        axes.plot(means.index, means, "_", color=style.INK, ms=12, mew=2, label="mean of the block")
        axes.set(xlabel="block (a fresh process)", ylabel="round trip, µs", yscale="log")
        axes.legend()
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
    experiments: int, confidence: float = CONFIDENCE, days: int = 8, a_day: int = 3
) -> float:
    """Return how often an experiment errs that ends on the first day whose interval decides.

    There is no true difference. Blocks of one day resemble each other, as the suite's interval
    assumes; the interval is computed after every day from the second on.
    """
    random = np.random.Generator(np.random.PCG64(3))
    of_blocks = np.repeat(np.arange(days), a_day)
    moods = np.sqrt(ICC) * random.standard_normal((experiments, days))
    noise = np.sqrt(1 - ICC) * random.standard_normal((experiments, days * a_day))
    wrong = 0
    for values in moods[:, of_blocks] + noise:
        for blocks in range(2 * a_day, days * a_day + 1, a_day):
            found = compute_interval(values[:blocks], of_blocks[:blocks], confidence)
            if found.low > 0 or found.high < 0:
                wrong += 1
                break
    return wrong / experiments


@check(4)
def check_1(interleaved: Any) -> Iterator[Part]:
    """Check a function that returns an order of measurement in which the arms take turns."""
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
    yield grade(fair, "each arm goes first as often.", off)


@check(4)
def check_2(false_alarms: Any, interleaved: Any) -> Iterator[Part]:
    """Check a function that counts false alarms, of Welch's test and of the paired test."""
    random = np.random.Generator(np.random.PCG64(5))
    a = 100 + random.standard_normal((200, 12))
    noisy = a + 30 * random.standard_normal((200, 12))
    shifted = noisy + 2 + 0.5 * random.standard_normal((200, 12))
    values = simulate_machines(600, 60)

    def find_large() -> Iterator[Part]:
        far = read_share(
            call_function(false_alarms, a, a + 50, "welch"), "the share for arms that are far apart"
        )
        yield grade(
            far == 1,
            "finds all of 200 large differences.",
            f"finds {far:.0%} of 200 large differences.",
        )

    def find_pairs_in_noise() -> Iterator[Part]:
        paired, welch = (
            read_share(call_function(false_alarms, noisy, shifted, test), test)
            for test in ("paired", "welch")
        )
        off = (
            f"pairs 2 apart in noise of 30: found in {paired:.0%} paired, {welch:.0%} by Welch. Are"
            " both tests used?"
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
            call_function(false_alarms, *split_arms(values, order), "paired"), "the share by turns"
        )
        off = (
            f"by turns: {turns:.1%}, and near 5 % is due. Look at task 1, and at the order of the"
            " pairs."
        )
        yield grade(0.02 < turns < 0.09, f"by turns, in pairs: {turns:.1%}, as promised.", off)

    yield from grade_separately(
        (find_large(), find_pairs_in_noise(), count_in_sequence(), count_in_turns())
    )


def _compute_half_width(values: Any) -> float:
    reach = stats.t.ppf(0.5 + CONFIDENCE / 2, len(values) - 1) * stats.sem(values)
    return float(reach / np.mean(values))


@check(3)
def check_3(by_repetition: Any, by_block: Any, honest: Any) -> Iterator[Part]:
    """Check two intervals' half-widths, and which of them is honest."""
    found = load_identical_arms()
    narrow, wide = (
        _compute_half_width(found["us"]),
        _compute_half_width(found.groupby("block")["us"].mean()),
    )
    hints = {
        2.0: "that is the whole width; half of it is wanted.",
        100.0: "as a share, not in percent.",
    }
    off = "half of (high - low) of the 99 % interval, over the mean."
    yield grade_number(
        by_repetition,
        narrow,
        "by_repetition",
        f"by_repetition: ±{narrow:.1%}, of 200 values.",
        hints,
        off,
    )
    hints |= {narrow / wide: "that is of the single repetitions: group them by block first."}
    yield grade_number(
        by_block, wide, "by_block", f"by_block: ±{wide:.1%}, of 20 values.", hints, off
    )
    says = (
        "blocks are what repeats independently: a new process has a new layout, a new moment, a new"
        " mood."
    )
    off = "look at the figure: do ten repetitions of a block tell ten times as much as one of them?"
    yield grade_choice(honest, "by_block", "honest", says, off)


@check(3)
def check_4(erred: Any) -> Iterator[Part]:
    """Check a function that counts experiments that err by stopping at the first small p."""
    p = np.array([[0.5, 0.04, 0.6], [0.2, 0.3, 0.4], [0.9, 0.8, 0.01], [0.05, 0.06, 0.07]])

    def four() -> Iterator[Part]:
        found = read_share(call_function(erred, p, 0.05), "erred(four experiments, 0.05)")
        says = (
            f"of four experiments it returns {found:g}. Two of them had a p below 0.05 at some"
            " look."
        )
        if np.isclose(found, 0.25):
            says = (
                "only the last look counts in your function: who stops at the first p below alpha"
                " never sees it."
            )
        yield grade(np.isclose(found, 0.5), "two of four experiments err.", says)

    def larger_alpha() -> Iterator[Part]:
        found = read_share(call_function(erred, p, 0.5), "erred(four experiments, 0.5)")
        yield grade(
            np.isclose(found, 1),
            "alpha is used.",
            f"with alpha 0.5 all four err, and it returns {found:g}.",
        )

    def many_looks() -> Iterator[Part]:
        found = read_share(call_function(erred, simulate_peeks(4_000), 0.05), "erred of 28 looks")
        off = f"with 28 looks it returns {found:.1%}: is an experiment counted once?"
        yield grade(0.2 < found < 0.35, f"28 looks: {found:.0%} err, where 5 % was meant.", off)

    yield from grade_separately((four(), larger_alpha(), many_looks()))
