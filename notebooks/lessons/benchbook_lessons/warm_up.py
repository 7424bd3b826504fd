"""Lesson 2, warm-up and cold start: the first repetitions, and which question they answer."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from benchbook.analysis.study_means import select_cells
from benchbook.plots import style
from benchbook.plots.points import select_rows
from benchbook_lessons.feedback import (
    Part,
    Predictions,
    call_function,
    check,
    grade,
    grade_number,
    grade_separately,
    grade_sorting,
    read_dictionary,
    read_number,
)
from benchbook_lessons.reference import load_repetitions, select_main_host

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

USERS: Final = {
    "a command that reads one small file and ends": "cold",
    "a service that answers the same request for weeks": "steady",
    "a function in the cloud that is started anew for most requests": "cold",
    "a nightly batch over ten million objects": "steady",
}
"""Users, and which time answers their question."""


def load_java_round_trips(n: int) -> pd.DataFrame:
    """Return the reference run's Java round trips of case 1: ``format, block, repetition, us``."""
    rows = select_main_host(
        select_rows(load_repetitions("bookstore", "java"), n=n, case=1, arm="a")
    )
    rows = select_cells(
        rows, json_codec="jackson", process="together", keys="paper", binding="once", sink="file"
    )
    rows = select_rows(rows, cell_id=list(rows["cell_id"].unique()[:1]))
    rows = rows.assign(us=rows["value"] / 1e3)[["format", "block", "repetition", "us"]]
    return rows.sort_values(["format", "block", "repetition"], ignore_index=True)


def load_blocks(n: int, format: str) -> list[Any]:
    """Return the 100 repetitions of each block, one array per block, in µs."""
    found = load_java_round_trips(n)
    return [
        block["us"].to_numpy() for _, block in found[found["format"] == format].groupby("block")
    ]


def draw(n: int = 1) -> Figure:
    """Draw every block's repetitions in their order."""
    found = load_java_round_trips(n)
    with style.use_style():
        figure, axes = plt.subplots(1, 2, figsize=(7.4, 3), sharey=True, layout="constrained")
        for panel, format in zip(axes, ("json", "xml"), strict=True):
            look = style.get_series_style(format.upper())
            for _, block in found[found["format"] == format].groupby("block"):
                panel.plot(
                    block["repetition"] + 1, block["us"], color=look.colour, lw=0.8, alpha=0.7
                )
            panel.set(
                title=f"{format.upper()}, n = {n:,}",
                xlabel="repetition",
                xscale="log",
                yscale="log",
            )
        axes[0].set_ylabel("round trip, µs")
        figure.suptitle("Fresh Java processes, one line per process")
    plt.close(figure)
    return figure


def time_fresh_processes(processes: int = 4, books: int = 1, codec: str = "xsdata") -> pd.DataFrame:
    """Time 40 marshallings in each of some fresh Python processes: ``process, repetition, us``."""
    found = []
    for process in range(processes):
        command = [sys.executable, "-c", _FRESH, str(books), codec]
        times = json.loads(
            subprocess.run(command, capture_output=True, check=True, text=True).stdout
        )
        found += [(process, index, time / 1e3) for index, time in enumerate(times)]
    return pd.DataFrame(found, columns=["process", "repetition", "us"])


def draw_fresh(found: pd.DataFrame) -> Figure:
    """Draw the times that `time_fresh_processes` returned."""
    with style.use_style():
        figure, axes = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
        for _, rows in found.groupby("process"):
            axes.plot(
                rows["repetition"] + 1, rows["us"], "o-", color=style.BLUE, ms=3, lw=0.7, alpha=0.6
            )
        axes.set(xlabel="repetition in its process", ylabel="marshalling, µs", yscale="log")
    plt.close(figure)
    return figure


def compute_first_share(n: int) -> float:
    """Return the first repetition's share of the sum of 100, for JSON: the median of the blocks."""
    return float(np.median([row[0] / row.sum() for row in load_blocks(n, "json")]))


@check(3)
def check_1(share: Any) -> Iterator[Part]:
    """Check a function that returns the first repetition's share of the sum of all."""

    def four() -> Iterator[Part]:
        found = read_number(call_function(share, [6.0, 1.0, 1.0, 2.0]), "share([6, 1, 1, 2])")
        says = f"of 6, 1, 1, 2 it returns {found:g}: the sum of all is 10."
        if np.isclose(found, 6 / 4):
            says = (
                "of 6, 1, 1, 2 it returns the first over the sum of the others; all are wanted"
                " below the line."
            )
        yield grade(np.isclose(found, 0.6), "of 6, 1, 1, 2 the first is 60 %.", says)

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
            f"of a real block at n = 1: {truth:.0%}, where 1 % would be its due.",
            f"of a real block it returns {found:g}: is it still the first value over the sum, for"
            " an array?",
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
        hints = {1 / truth**2: "that is JSON over XML: the other way round."}
        for other, ratio_of_other in truths.items():
            if other != name:
                hints[ratio_of_other / truth] = f"that is the ratio of {other!r}."
        off = (
            "take each block's mean of these repetitions, then stats.gmean(xml) /"
            " stats.gmean(json)."
        )
        yield grade_number(
            given[name],
            truth,
            name,
            f"{name}: {truth:.2f}.",
            hints,
            f"for {name!r} {off}",
            within=0.005,
        )


@check(4)
def check_3(time: Any) -> Iterator[Part]:
    """Check which time answers whose question."""
    where = (
        "How many repetitions has this process before its life ends, or its user has the answer?"
    )
    yield from grade_sorting(time, USERS, ("cold", "steady"), dict.fromkeys(USERS, where))


@check(4)
def check_4(steady_mean: Any) -> Iterator[Part]:
    """Check a function that returns the mean of the steady state, or NaN without one."""
    random = np.random.Generator(np.random.PCG64(7))
    flat = 100 * np.exp(0.02 * random.standard_normal(60))
    cold = flat * np.where(np.arange(60) < 12, 5.0, 1.0)
    late = flat * np.where(np.arange(60) < 45, 1.0, 2.0)

    def check_steady(about: str, row: Any, truth: float, hint: str) -> Iterator[Part]:
        found = call_function(steady_mean, row)
        if isinstance(found, float) and np.isnan(found):
            off = (
                f"{about}: there is a steady state, and no number came out. Look at .start, not at"
                " .shape."
            )
            yield Part(False, off)
            return
        off = f"{about}: {read_number(found, about):.1f} is not its mean. {hint}"
        yield grade(np.isclose(found, truth, rtol=2e-3), f"{about}: {truth:.1f}.", off)

    def check_unsteady(about: str, row: Any) -> Iterator[Part]:
        found = call_function(steady_mean, row)
        off = (
            f"{about}: {found!r} came out. steadiness finds no steady state; what is honest to"
            " return then?"
        )
        yield grade(
            isinstance(found, float) and np.isnan(found),
            f"{about}: no number, and none is made up.",
            off,
        )

    start = "steadiness(row).start says where it settles."
    yield from grade_separately(
        (
            check_steady(
                "a row that is flat", flat, flat.mean(), "nothing has to be left out here."
            ),
            check_steady("twelve slow repetitions first", cold, cold[12:].mean(), start),
            check_unsteady("a row that changes late", late),
            check_unsteady("ten repetitions", flat[:10]),
        )
    )
