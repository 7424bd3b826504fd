"""Lesson 1, units and clocks: a clock's resolution, a reading's cost, and which time is meant."""

import hashlib
import time
from collections.abc import Callable, Iterator
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
        "Two threads that compute can use two processors: what does that do to CPU time against"
        " elapsed time?"
    ),
    "B": "A sleeping program waits. Which of the two clocks goes on meanwhile?",
    "C": (
        "One thread that never waits uses one processor all the time: how do the two clocks"
        " compare?"
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


def time_actions() -> pd.DataFrame:
    """Return the elapsed and the CPU time of three actions, in ms, and the ratio of the two."""
    data = bytes(8_000_000)

    def digest(_: int = 0) -> None:
        for _ in range(4):
            hashlib.sha256(data).digest()

    def both() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(digest, range(2)))

    rows = []
    for name, action in {"A": both, "B": lambda: time.sleep(0.05), "C": digest}.items():
        before = time.process_time_ns()
        _, (wall, *_) = time_action(action)
        rows.append((name, wall.value / 1e6, (time.process_time_ns() - before) / 1e6))
    table = pd.DataFrame(rows, columns=["action", "elapsed, ms", "CPU, ms"]).set_index("action")
    return table.assign(ratio=table["CPU, ms"] / table["elapsed, ms"]).round(2)


def read_clock(clock: Callable[[], float], count: int = 20_000) -> list[float]:
    """Return `count` readings of a clock, one straight after the other."""
    return [clock() for _ in range(count)]


def compare_clocks(
    smallest_step: Callable[[list[float]], float], count: int = 20_000
) -> pd.DataFrame:
    """Return each clock's claimed resolution, smallest step seen and cost of a reading, in ns."""
    rows = {}
    for name, clock in CLOCKS.items():
        start = time.perf_counter_ns()
        seen = read_clock(clock, count)
        cost = (time.perf_counter_ns() - start) / count
        about = time.get_clock_info(name.removesuffix("_ns"))  # type: ignore[arg-type]
        step = call_function(smallest_step, seen)
        rows[name] = (about.resolution * 1e9, step, cost, about.adjustable)
    names = ["resolution claimed", "smallest step seen", "cost of a reading", "may be set"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=names).round(1)


def draw_steps(count: int = 60) -> Figure:
    """Draw what a fine clock and a clock of 10 ms show of the same moments."""
    fine = np.array(read_clock(time.perf_counter_ns, count * 400)[::400], float)
    fine = (fine - fine[0]) / (fine[-1] - fine[0]) * 60
    coarse = np.floor(fine / 10) * 10
    with style.use_style():
        figure, axes = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
        axes.plot(fine, fine, color=style.BLUE, label="perf_counter_ns, stretched to 60 ms")
        axes.step(
            fine,
            coarse,
            color=style.VERMILION,
            ls="--",
            where="post",
            label="the same through ticks of 10 ms",
        )
        axes.set(xlabel="time that passed, ms", ylabel="time that is shown, ms")
        axes.legend()
    plt.close(figure)
    return figure


def time_encoding(n: int = 2_000) -> pd.DataFrame:
    """Return the time per object of encoding `n` persons to JSON, in ns.

    They are timed one by one, and as one loop.
    """
    records, encode = (
        persons.generate_people(n, 1).records,
        codecs.load_codec("orjson").encode_record,
    )
    singly = []
    for record in records:
        start = time.perf_counter_ns()
        encode(record)
        singly.append(time.perf_counter_ns() - start)
    start = time.perf_counter_ns()
    for record in records:
        encode(record)
    whole = time.perf_counter_ns() - start
    return pd.DataFrame(
        {"ns an object": [np.mean(singly), np.median(singly), whole / n]},
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
        "minutes: right, well over an hour. The paper prints 75.77, cut and not rounded.",
        {
            60: "those are seconds.",
            1000: "is the printed number in ms or in s?",
            1 / 60: "that would be hours.",
        },
        "a minute has 60 s, a second 1,000 ms.",
    )
    yield grade_number(
        per_object_us,
        tcp * 1000 / 1e6,
        "per_object_us",
        "per_object_us: right, some 4.5 ms an object.",
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
            1e-3: "MB a millisecond, or GB a second?",
            1e6: "those are bytes; 1 MB is 1,000,000 bytes.",
            8: "bits or bytes?",
        },
        "how many bytes are 1,000 comments of 1,000 bytes, and how many seconds is the printed"
        " time?",
        within=0.05,
    )


@check(3)
def check_2(smallest_step: Any) -> Iterator[Part]:
    """Check a function that finds the smallest step of a clock in its readings."""

    def moving() -> Iterator[Part]:
        found = read_number(
            call_function(smallest_step, [0, 16, 31, 47]), "smallest_step([0, 16, 31, 47])"
        )
        says = f"of 0, 16, 31, 47 it returns {found:g}: list the differences."
        yield grade(found == 15, "finds the smallest step.", says)

    def resting() -> Iterator[Part]:
        found = read_number(
            call_function(smallest_step, [5, 5, 5, 15, 15, 35]),
            "smallest_step([5, 5, 5, 15, 15, 35])",
        )
        says = (
            f"of 5, 5, 5, 15, 15, 35 it returns {found:g}: what does an unchanged reading say of"
            " the clock's step?"
        )
        yield grade(found == 10, "readings that did not move are no steps.", says)

    def real() -> Iterator[Part]:
        seen = read_clock(time.perf_counter_ns, 2_000)
        step = read_number(call_function(smallest_step, seen), "smallest_step of perf_counter_ns")
        truth = min(difference for difference in np.diff(seen) if difference > 0)
        says = (
            f"of 2,000 readings of perf_counter_ns it returns {step:g}, and the smallest step is"
            f" {truth:g}."
        )
        yield grade(step == truth, f"of perf_counter_ns here: {step:g} ns.", says)

    yield from grade_separately((moving(), resting(), real()))


@check(3)
def check_3(which: Any) -> Iterator[Part]:
    """Check which action is which, by its elapsed and processor time."""
    truth = {"A": "two threads", "B": "sleeping", "C": "one thread"}
    yield from grade_sorting(which, truth, truth.values(), WHERE)


@check(3)
def check_4(needed: Any) -> Iterator[Part]:
    """Check a function that returns how often an action is to be repeated under a coarse clock."""
    wanted = {
        (10_000_000, 6_000, 0.01): "JSON objects of 6 µs under ticks of 10 ms, to 1 %",
        (1, 100, 0.5): "a clock finer than the action",
        (15, 7, 0.1): "a number that does not come out even",
    }

    def check_case(step: int, action: int, share: float, about: str) -> Iterator[Part]:
        truth = max(1, ceil(step / (action * share) - 1e-9))
        found = read_number(
            call_function(needed, step, action, share), f"needed{step, action, share}"
        )
        if found != int(found):
            says = "a loop runs a whole number of times: to which side must you round?"
        elif found == truth - 1:
            says = "one time too few: the error is then above the share that is allowed."
        elif found < 1:
            says = "at least one repetition is needed."
        else:
            says = (
                "write down: one step is at most so large a share of (count times the action's"
                " time)."
            )
        yield grade(
            found == truth, f"{about}: {truth:,}.", f"{about}: {found:,.6g} is not it. {says}"
        )

    yield from grade_separately(check_case(*given, about) for given, about in wanted.items())
