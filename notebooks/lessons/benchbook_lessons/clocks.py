"""Lesson 1, units and clocks: a clock's step, a reading's cost, and which time is meant."""

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchbook import codecs
from benchbook.analysis.published import find_published_value
from benchbook.datasets import persons
from benchbook.measure import time_action
from benchbook.plots import style
from benchbook_lessons.feedback import (
    FormError,
    OpenTaskError,
    Part,
    call_function,
    check,
    grade,
    grade_number,
    grade_separately,
    grade_sorting,
    read_number,
)
from benchbook_lessons.predictions import Predictions

CLOCKS: Final[dict[str, Callable[[], float]]] = {
    "perf_counter_ns": time.perf_counter_ns,
    "monotonic_ns": time.monotonic_ns,
    "time_ns": time.time_ns,
    "process_time_ns": time.process_time_ns,
}
"""Clocks of Python that return nanoseconds."""

predict = Predictions
WHERE: Final = {
    "A": (
        "Two threads can use two processors at once. Which of the two times becomes larger than the"
        " other?"
    ),
    "B": "A sleeping program waits. Which of the two times grows while it waits?",
    "C": (
        "One thread that never waits uses one processor all the time. Which of the two times is"
        " larger?"
    ),
}


def load_paper_numbers() -> pd.DataFrame:
    """Return two printed times, each with the amount of work that it covers."""
    tcp = find_published_value("tcp", "Table 1", "Total Time", "XML")
    crud = find_published_value("crud", "Table II", "CouchDB", "1000")
    return pd.DataFrame(
        {
            "what": [
                "1,000,000 objects decoded from XML by a server",
                "1,000 comments of 1,000 bytes inserted in CouchDB",
            ],
            "printed, ms": [tcp, crud],
        }
    )


MADE_BY: Final = {"A": "the reading", "B": "the step"}
"""What makes the smallest difference of task 2's clocks: A shows 41, 42, 43, B 100, 200, 300 ns."""

BUSY_RATIO: Final = 1.2
"""Two threads whose CPU time is less than this many times their elapsed time had to wait."""


def time_actions(tries: int = 7) -> pd.DataFrame:
    """Return the elapsed and the CPU time of three actions, in ms, and the ratio of the two.

    Of some tries the one with the shortest elapsed time counts, because other programs disturb it
    least. A printed line says when two threads did not get two processors.
    """
    data = bytes(8_000_000)

    # A digest runs outside Python's global lock, so two threads can use two processors.
    def digest(_: int = 0) -> None:
        for _ in range(4):
            hashlib.sha256(data).digest()

    def digest_in_two_threads() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(digest, range(2)))

    actions = {"A": digest_in_two_threads, "B": lambda: time.sleep(0.05), "C": digest}
    rows = []
    for name, action in actions.items():
        measured = []
        for _ in range(tries):
            before = time.process_time_ns()
            _, (wall, *_) = time_action(action)
            measured.append((wall.value / 1e6, (time.process_time_ns() - before) / 1e6))
        rows.append((name, *min(measured)))
    table = pd.DataFrame(rows, columns=["action", "elapsed, ms", "CPU, ms"]).set_index("action")
    table = table.assign(ratio=table["CPU, ms"] / table["elapsed, ms"]).round(2)
    if table["ratio"].loc["A"] < BUSY_RATIO:
        print(
            "Two threads did not get two processors: the ratios are too low. Close other programs"
            " and run this cell again, or compare the CPU times."
        )
    return table


def read_clock(clock: Callable[[], float], count: int = 20_000) -> list[float]:
    """Return `count` readings of a clock, taken directly one after another."""
    return [clock() for _ in range(count)]


def time_reading(clock: Callable[[], float] = time.perf_counter_ns, count: int = 20_000) -> float:
    """Return the time of one reading of a clock, in ns."""
    start = time.perf_counter_ns()
    read_clock(clock, count)
    return (time.perf_counter_ns() - start) / count


def compare_clocks(
    smallest_difference: Callable[[list[float]], float], count: int = 20_000
) -> pd.DataFrame | str:
    """Return each clock's claimed step, smallest differences and cost of a reading, in ns.

    Returns a sentence while `smallest_difference` has no answer that can be used.
    """
    rows = {}
    for name, clock in CLOCKS.items():
        about = time.get_clock_info(name.removesuffix("_ns"))  # type: ignore[arg-type]
        try:
            seen = read_clock(clock, count)
            smallest = call_function(smallest_difference, seen)
        except (OpenTaskError, FormError) as reason:
            return f"The table appears when task 2 is right: {reason}"
        next_ones = ", ".join(f"{one:.0f}" for one in list_differences(seen)[1:5])
        cost = time_reading(clock, count)
        rows[name] = (about.resolution * 1e9, smallest, next_ones, cost, about.adjustable)
    names = [
        "claimed step, ns",
        "smallest difference, ns",
        "the next ones, ns",
        "one reading, ns",
        "can be set back",
    ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=names).round(1)


def list_differences(readings: Sequence[float]) -> list[float]:
    """Return the differences of neighbouring readings, each once, from the smallest above 0 on."""
    differences = np.unique(np.diff(readings))
    return [float(difference) for difference in differences if difference > 0]


def read_coarse_clock() -> float:
    """Return the elapsed time that the operating system counts in ticks, in ms."""
    moment = os.times()
    # Windows counts no elapsed time here, but its CPU time moves in ticks, too.
    return 1e3 * (moment.elapsed or moment.user + moment.system)


def read_two_clocks(span_ms: float = 60) -> tuple[list[float], list[float]]:
    """Compute without a pause, and read a fine clock and a coarse one at the same moments.

    Returns `time.perf_counter_ns` and `read_coarse_clock`, both in ms from a tick of the latter.
    """
    before = read_coarse_clock()
    while read_coarse_clock() == before:
        pass
    fine: list[float] = []
    coarse: list[float] = []
    while not fine or fine[-1] - fine[0] < span_ms:
        coarse.append(read_coarse_clock())
        fine.append(time.perf_counter_ns() / 1e6)
    return [reading - fine[0] for reading in fine], [reading - coarse[0] for reading in coarse]


def draw_steps() -> Figure:
    """Draw what a fine and a coarse clock showed at the same moments, on this machine."""
    fine, coarse = read_two_clocks()
    with style.use_style():
        figure, axes = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
        axes.plot(fine, fine, color=style.BLUE)
        axes.step(fine, coarse, color=style.VERMILION, where="post")
        # Above the line, and below the stairs.
        for words, x, y, colour, side in (
            ("perf_counter_ns", 38, 44, style.BLUE, "right"),
            ("os.times", 46, 33, style.VERMILION, "left"),
        ):
            axes.text(x, y, words, color=colour, ha=side, fontweight="bold")
        axes.set(
            title="At the same moments one clock climbs, and the other one jumps",
            xlabel="time that passed, ms",
            ylabel="time that the clock shows, ms",
        )
    plt.close(figure)
    return figure


def time_encoding(n: int = 2_000, tries: int = 7) -> pd.DataFrame:
    """Return the time per object of encoding `n` persons to JSON, in ns.

    They are timed one by one, and as one loop. Of some tries the fastest counts, because other
    programs disturb it least.
    """
    records = persons.generate_people(n, 1).records
    encode = codecs.load_codec("orjson").encode_record
    tries_singly, tries_whole = [], []
    for _ in range(tries):
        singly = []
        for record in records:
            start = time.perf_counter_ns()
            encode(record)
            singly.append(time.perf_counter_ns() - start)
        tries_singly.append(singly)
        start = time.perf_counter_ns()
        for record in records:
            encode(record)
        tries_whole.append(time.perf_counter_ns() - start)
    fastest = min(tries_singly, key=sum)
    return pd.DataFrame(
        {"ns per object": [np.mean(fastest), np.median(fastest), min(tries_whole) / n]},
        index=["one by one, mean", "one by one, median", "the whole loop"],
    ).round(0)


@check(3)
def check_1(minutes: Any, per_object_us: Any, mb_per_s: Any) -> Iterator[Part]:
    """Check three conversions of published numbers."""
    tcp, crud = load_paper_numbers()["printed, ms"]
    yield grade_number(
        minutes,
        tcp / 60_000,
        "minutes",
        "minutes: right, more than an hour. The paper prints 75.77: it did not round.",
        {
            60: "those are seconds.",
            1000: "is the printed number in ms or in s?",
            60_000: "that is the printed number, in ms.",
            1 / 60: "that would be hours.",
        },
        "a minute has 60 s, a second 1,000 ms.",
    )
    yield grade_number(
        per_object_us,
        tcp * 1000 / 1e6,
        "per_object_us",
        f"per_object_us: right, {tcp / 1e6:.1f} ms per object.",
        {
            1e-3: "those are milliseconds.",
            1e3: "those are nanoseconds.",
            1e6: "divide by the number of objects, too.",
        },
        "time over objects, then ms to µs.",
    )
    yield grade_number(
        mb_per_s,
        1.0 / (crud / 1000),
        "mb_per_s",
        "mb_per_s: right. Keep the number in mind; the last question comes back to it.",
        {
            1e-3: "is the printed time in ms or in s?",
            1e3: "those are bytes per ms: convert the bytes and the ms.",
            1e6: "those are bytes; 1 MB is 1,000,000 bytes.",
            8: "those are megabits.",
        },
        "how many bytes are 1,000 comments of 1,000 bytes, and how many seconds is the printed"
        " time?",
        within=0.05,
    )


@check(5)
def check_2(smallest_difference: Any, made_by: Any) -> Iterator[Part]:
    """Check the smallest difference of a clock's readings, and what makes it for two clocks."""

    def moving() -> Iterator[Part]:
        found = read_number(
            call_function(smallest_difference, [0, 16, 31, 47]),
            "smallest_difference([0, 16, 31, 47])",
        )
        says = f"of 0, 16, 31, 47 it returns {found:g}. List the differences of neighbours."
        yield grade(found == 15, "finds the smallest difference.", says)

    def resting() -> Iterator[Part]:
        found = read_number(
            call_function(smallest_difference, [5, 5, 5, 15, 15, 35]),
            "smallest_difference([5, 5, 5, 15, 15, 35])",
        )
        says = (
            f"of 5, 5, 5, 15, 15, 35 it returns {found:g}: what does an unchanged reading say"
            " about the clock's step?"
        )
        yield grade(found == 10, "an unchanged reading is not a difference.", says)

    def real() -> Iterator[Part]:
        seen = read_clock(time.perf_counter_ns, 2_000)
        found = read_number(
            call_function(smallest_difference, seen), "smallest_difference of perf_counter_ns"
        )
        truth = list_differences(seen)[0]
        says = (
            f"of 2,000 readings of perf_counter_ns it returns {found:g}, and the smallest"
            f" difference is {truth:g}."
        )
        yield grade(found == truth, f"of perf_counter_ns here: {found:g} ns.", says)

    where = {
        "A": (
            "A clock with a step of 41 ns shows multiples of it only. Could it show 42? How long is"
            " its step then?"
        ),
        "B": "Between two readings this clock stands still or jumps. By how much?",
    }
    sorting = grade_sorting(made_by, MADE_BY, ("the step", "the reading"), where)
    yield from grade_separately((moving(), resting(), real(), sorting))


@check(3)
def check_3(which: Any) -> Iterator[Part]:
    """Check which action is which, by its elapsed and processor time."""
    truth = {"A": "two threads", "B": "sleeping", "C": "one thread"}
    yield from grade_sorting(which, truth, truth.values(), WHERE)


@check(3)
def check_4(needed: Any) -> Iterator[Part]:
    """Check a function that returns how often an action is to be repeated under a coarse clock."""
    wanted = {
        (10_000_000, 6_000, 0.01): "steps of 10 ms, an action of 6 µs, an error of 1 %",
        (50, 100, 0.5): "steps of 50 ns, an action of 100 ns, an error of 50 %",
        (15, 7, 0.1): "steps of 15 ns, an action of 7 ns, an error of 10 %",
    }

    def check_case(step: int, action: int, share: float, about: str) -> Iterator[Part]:
        truth = max(1, ceil(step / (action * share)))
        found = read_number(
            call_function(needed, step, action, share), f"needed{step, action, share}"
        )
        if found != int(found):
            hint = "A loop runs a whole number of times. Must you round up or down?"
        elif found == truth - 1:
            hint = "One repetition is missing: the error is then larger than the share."
        elif found == truth + 1:
            hint = "One repetition too many: an error that is equal to the share is accepted."
        elif found < 1:
            hint = "At least one repetition is needed."
        else:
            hint = "Divide step <= share * n * action by (share * action). What is then n?"
        given = f"{found:,.0f}" if found == int(found) else f"{found:,.2f}"
        yield grade(found == truth, f"{about}: {truth:,}.", f"{about}: not {given}.", hint)

    yield from grade_separately(check_case(*given, about) for given, about in wanted.items())
