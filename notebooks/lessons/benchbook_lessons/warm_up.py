"""Lesson 2, warm-up and cold start: the first repetitions, and which question they answer."""

from collections.abc import Iterator
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import stats

from benchbook.analysis.steadiness import find_steady_state
from benchbook.plots import style
from benchbook_lessons.feedback import (
    OpenTaskError,
    Part,
    call_function,
    check,
    grade,
    grade_number,
    grade_separately,
    read_dictionary,
    read_number,
    shorten,
)
from benchbook_lessons.fresh_process import run_code
from benchbook_lessons.predictions import Predictions
from benchbook_lessons.snapshot import load_round_trips

predict = Predictions

_FRESH: Final = """
import json, sys, time
from benchbook import codecs
from benchbook.datasets import books
shop = books.generate_bookstore(int(sys.argv[1]), 1, 1)
codec = codecs.load_codec(sys.argv[2])
times = []
for _ in range(40):
    start = time.perf_counter_ns()
    codec.encode_bookstore(shop)
    times.append(time.perf_counter_ns() - start)
print(json.dumps(times))
"""


def load_blocks(n: int, format: str) -> list[NDArray[np.float64]]:
    """Return a Java process's 100 round trips of `n` books, in µs, for each block.

    JSON and XML of a block ran in the same process.
    """
    rows = load_round_trips(language="java", n=n, format=format)
    return [block["us"].to_numpy() for _, block in rows.groupby("block")]


def draw(n: int = 1) -> Figure:
    """Draw every block's repetitions in their order."""
    with style.use_style():
        figure, axes = plt.subplots(1, 2, figsize=(7.4, 3.2), sharey=True, layout="constrained")
        for panel, format in zip(axes, ("json", "xml"), strict=True):
            colour = style.get_series_style(format.upper()).colour
            blocks = load_blocks(n, format)
            for times in blocks:
                count = np.arange(1, len(times) + 1)
                panel.plot(count, times / 1e3, color=colour, lw=0.8, alpha=0.7)
                panel.plot(1, times[0] / 1e3, "o", color=colour, ms=4)
            panel.set(title=format.upper(), xlabel="repetition", xscale="log", yscale="log")
            for axis in (panel.xaxis, panel.yaxis):
                axis.set_major_formatter("{x:g}")
        axes[0].set_ylabel("round trip, ms")
        figure.suptitle(f"The first round trip is slow in each of {len(blocks)} Java processes")
    plt.close(figure)
    return figure


def time_fresh_processes(processes: int = 4, books: int = 1, codec: str = "xsdata") -> pd.DataFrame:
    """Time 40 marshallings in each of some fresh Python processes: ``process, repetition, us``."""
    found = []
    for process in range(processes):
        times = run_code(_FRESH, str(books), codec)
        found += [(process, index, time / 1e3) for index, time in enumerate(times)]
    return pd.DataFrame(found, columns=["process", "repetition", "us"])


def draw_fresh(found: pd.DataFrame) -> Figure:
    """Draw the times that `time_fresh_processes` returned, one line per process."""
    with style.use_style():
        figure, axes = plt.subplots(figsize=(7.4, 2.8), layout="constrained")
        for _, rows in found.groupby("process"):
            count = rows["repetition"] + 1
            axes.plot(count, rows["us"], "o-", color=style.BLUE, ms=3, lw=0.7, alpha=0.6)
            axes.plot(count.iloc[0], rows["us"].iloc[0], "o", color=style.VERMILION, ms=6)
        axes.set(
            title="Your Python processes: the large dot is the first repetition of each",
            xlabel="repetition",
            ylabel="marshalling, µs",
            yscale="log",
        )
        axes.yaxis.set_major_formatter("{x:,g}")
    plt.close(figure)
    return figure


def compute_first_over_last(n: int) -> float:
    """Return the first repetition over the last, for JSON: the median of the blocks."""
    return float(np.median([row[0] / row[-1] for row in load_blocks(n, "json")]))


def compute_first_share(n: int) -> float:
    """Return the first repetition's share of the sum of 100, for JSON: the median of the blocks."""
    return float(np.median([row[0] / row.sum() for row in load_blocks(n, "json")]))


@check(3)
def check_1(share: Any) -> Iterator[Part]:
    """Check a function that returns the first repetition's share of the sum of all."""

    def four() -> Iterator[Part]:
        found = read_number(call_function(share, [3.0, 1.0, 4.0, 2.0]), "share([3, 1, 4, 2])")
        says = f"of 3, 1, 4, 2 it returns {found:g}. The first is 3, and the sum of all is 10."
        if np.isclose(found, 3 / 7):
            says = (
                "of 3, 1, 4, 2 it returns the first over the sum of the others. Divide by the"
                " sum of all, the first included."
            )
        yield grade(np.isclose(found, 0.3), "of 3, 1, 4, 2 the first is 30 %.", says)

    def equal() -> Iterator[Part]:
        found = read_number(call_function(share, np.full(100, 3.0)), "share of 100 equal values")
        off = f"of 100 equal values it returns {found:g}."
        yield grade(np.isclose(found, 0.01), "of 100 equal values it is 1 %.", off)

    def real() -> Iterator[Part]:
        row = load_blocks(1, "json")[0]
        found, truth = (
            read_number(call_function(share, row), "share of the first block"),
            row[0] / row.sum(),
        )
        yield grade(
            np.isclose(found, truth),
            f"of a real block at n = 1: {truth:.0%}. A fair share is 1 %.",
            f"of a real block it returns {found:g}, and should return {truth:.3g}. Does your"
            " function work for an array?",
        )

    yield from grade_separately((four(), equal(), real()))


def _compute_ratio(n: int, which: slice) -> float:
    json_us, xml_us = (
        [float(row[which].mean()) for row in load_blocks(n, format)] for format in ("json", "xml")
    )
    return float(stats.gmean(xml_us) / stats.gmean(json_us))


@check(3)
def check_2(ratio: Any) -> Iterator[Part]:
    """Check the ratios of XML to JSON at one book, by which repetitions are taken."""
    wanted = {"all": slice(None), "first": slice(0, 1), "last 50": slice(50, None)}
    given = read_dictionary(ratio, wanted, "XML's ratio to JSON")
    truths = {name: _compute_ratio(1, which) for name, which in wanted.items()}
    for name, truth in truths.items():
        hints = {1 / truth**2: "that is JSON over XML. Exchange the two."}
        for other, ratio_of_other in truths.items():
            if other != name:
                hints[ratio_of_other / truth] = f"that is the ratio of {other!r}."
        off = (
            "take the mean of these repetitions in each block, then stats.gmean(xml) /"
            " stats.gmean(json)."
        )
        yield grade_number(
            given[name],
            truth,
            name,
            f"{name}: {truth:.2f}.",
            hints,
            off,
            within=0.005,
        )


@check(4)
def check_3(steady_mean: Any) -> Iterator[Part]:
    """Check a function that returns the mean of the steady state, or NaN without one."""
    random = np.random.Generator(np.random.PCG64(7))
    flat = 100 * np.exp(0.02 * random.standard_normal(60))
    cold = flat * np.where(np.arange(60) < 12, 5.0, 1.0)
    late = flat * np.where(np.arange(60) < 45, 1.0, 2.0)

    def check_steady(about: str, times: Any, truth: float, hint: str) -> Iterator[Part]:
        found = call_function(steady_mean, times)
        if isinstance(found, float) and np.isnan(found):
            off = f"{about}: there is a steady state, but your function returns nan."
            is_flat = find_steady_state(times).start == 0
            hint = ".start is 0 here, which is not None: compare with `is None`; do not ask .shape."
            yield Part(False, off, hint if is_flat else "Look at .start, not at .shape.")
            return
        off = f"{about}: {read_number(found, about):.2f} is not its mean. {hint}"
        yield grade(np.isclose(found, truth), f"{about}: {truth:.2f}.", off)

    def check_unsteady(about: str, times: Any) -> Iterator[Part]:
        try:
            found = call_function(steady_mean, times)
        except OpenTaskError:
            # A function without a body returns None for a flat series, too.
            call_function(steady_mean, flat)
            found = None
        off = (
            f"{about}: your function returns {shorten(found)}. There is no steady state, so the"
            " answer is float('nan')."
        )
        yield grade(
            isinstance(found, float) and np.isnan(found),
            f"{about}: no number, and that is right.",
            off,
        )

    start = "find_steady_state(times).start is the first repetition of the steady state."
    yield from grade_separately(
        (
            check_steady("a flat series", flat, flat.mean(), "Nothing has to be left out here."),
            check_steady("twelve slow repetitions first", cold, cold[12:].mean(), start),
            check_unsteady("a series that changes late", late),
            check_unsteady("ten repetitions", flat[:10]),
        )
    )


def compute_cold_over_steady(found: pd.DataFrame) -> float:
    """Return how many times the steady time the first repetition takes, over some processes.

    The steady time of a process is the median of its last 20 repetitions. The ratio is the
    geometric mean over the processes.
    """
    ratios = []
    for _, rows in found.groupby("process"):
        times = rows.sort_values("repetition")["us"]
        ratios.append(times.iloc[0] / times.tail(20).median())
    return float(stats.gmean(ratios))


@check(1)
def check_4(cold_over_steady: Any, found: pd.DataFrame) -> Iterator[Part]:
    """Check the ratio of the cold to the steady time in the student's own processes."""
    truth = compute_cold_over_steady(found)
    hints = {1 / truth**2: "that is steady over cold. Exchange the two."}
    off = (
        "for each process divide the first time by the median of the last 20, then take"
        " stats.gmean of the ratios."
    )
    well = f"cold_over_steady: {truth:.1f} times, in your own processes."
    yield grade_number(cold_over_steady, truth, "cold_over_steady", well, hints, off)
