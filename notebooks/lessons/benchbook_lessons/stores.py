"""Lesson 7, drivers, mappers, replication and durability, on real servers."""

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from benchbook.analysis.study_means import select_cells
from benchbook.plots import style
from benchbook.plots.points import select_rows
from benchbook.servers.errors import ServerError
from benchbook.studies import crud, drivers
from benchbook_lessons.feedback import (
    FormError,
    OpenTaskError,
    Part,
    Predictions,
    call_function,
    check,
    grade,
    grade_choice,
    grade_number,
    grade_separately,
    grade_sorting,
    read_number,
)
from benchbook_lessons.reference import load_means

predict = Predictions

SETTINGS: Final = {
    "PostgreSQL, default: commit returns after the log is on the disk": "no",
    "PostgreSQL, relaxed: synchronous_commit = off": "yes",
    "MongoDB, relaxed: acknowledged from memory (w: 1, j: false)": "yes",
    "MongoDB, strict: acknowledged after the journal is on the disk (j: true)": "no",
}
"""May a write that was acknowledged be missing after a power failure, when the node is back?"""

_WHERE: Final = (
    "where is the write at the moment at which the client is told that it is done: "
    "in memory, or on the disk?"
)


def _measure_or_load(
    live: bool, measure: Callable[[], pd.DataFrame], study: str, **levels: Any
) -> pd.DataFrame:
    """Measure here; where that is impossible, print why and return the reference run's blocks."""
    why = "as asked"
    if live:
        try:
            return measure()
        except ServerError as error:
            why = str(error)
    print(
        f"Not measured here ({why}). These are values of the committed reference run, blocks for"
        " repetitions."
    )
    rows = select_rows(
        select_cells(select_rows(load_means(), study=study, arm="a"), language="python"),
        language="python",
        n=1_000,
        **levels,
    )
    return rows.assign(repetition=rows["block"])


def measure_mapper(records: int, repetitions: int, *, live: bool = True) -> pd.DataFrame:
    """Return study drivers' rows: pymongo and mongoengine take turns on a MongoDB started here."""
    rows = _measure_or_load(
        live, lambda: drivers.run(drivers.Parameters(n=records, repetitions=repetitions)), "drivers"
    )
    if "attributes" in rows:
        rows = select_cells(rows, attributes=89, process="together")
    rows = select_rows(rows, metric=["wall_time", "cpu_user", "cpu_system"])
    return _select_ms(rows, "driver", "operation", "metric")


def measure_replication(records: int, repetitions: int, *, live: bool = True) -> pd.DataFrame:
    """Return study crud's times of a replicated MongoDB, in ms: client, catching up, and both."""

    def measure() -> pd.DataFrame:
        return crud.run(crud.Parameters(n=records, repetitions=repetitions, topology="replicated"))

    rows = _measure_or_load(live, measure, "crud", database="mongodb", topology="replicated")
    return _select_ms(
        select_rows(rows, metric=["wall_time", "catch_up_time", "elapsed_time"]),
        "operation",
        "metric",
    )


def measure_durability(records: int, repetitions: int, *, live: bool = True) -> pd.DataFrame:
    """Return the times of inserting single rows into PostgreSQL: ``durability, repetition, ms``."""
    database = "postgresql+relational"

    def measure() -> pd.DataFrame:
        frames = []
        for level in ("default", "relaxed"):
            asked = crud.Parameters(
                n=records, repetitions=repetitions, database=database, durability=level
            )
            frames.append(crud.run(asked).assign(durability=level))
        return pd.concat(frames)

    rows = _measure_or_load(live, measure, "crud", database=database, topology="single")
    return _select_ms(select_rows(rows, metric="wall_time", operation="insert"), "durability")


def _select_ms(rows: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return these columns of some rows, and their repetition and their value in ms."""
    return rows.assign(ms=rows["value"] / 1e6)[[*columns, "repetition", "ms"]].reset_index(
        drop=True
    )


def draw_mapper(found: pd.DataFrame) -> Figure:
    """Draw the time of each operation through driver and mapper."""
    times = found[found["metric"] == "wall_time"]
    with style.use_style():
        figure, axes = plt.subplots(figsize=(6.8, 2.6), layout="constrained")
        for driver, colour, marker in (
            ("pymongo", style.BLUE, "o"),
            ("mongoengine", style.VERMILION, "s"),
        ):
            rows = select_rows(times, driver=driver)
            axes.plot(
                rows["ms"], rows["operation"], marker, color=colour, alpha=0.6, ms=5, label=driver
            )
        axes.set(xlabel="time of the whole operation, ms (log scale)", xscale="log")
        axes.invert_yaxis()
        figure.legend(loc="outside lower center", ncols=2)
    plt.close(figure)
    return figure


def _compute_mean(rows: pd.DataFrame, **levels: Any) -> float:
    return float(select_rows(rows, **levels)["ms"].mean())


@check(2)
def check_1(insert: Any, find: Any, found: pd.DataFrame) -> Iterator[Part]:
    """Check the ratios of the mapper's time to the driver's, of the rows that were measured."""
    for name, given in (("insert", insert), ("find", find)):
        slow = _compute_mean(found, driver="mongoengine", operation=name, metric="wall_time")
        fast = _compute_mean(found, driver="pymongo", operation=name, metric="wall_time")
        hints = {(fast / slow) ** 2: "that is the driver over the mapper."}
        off = "the mean of wall_time over repetitions, mongoengine over pymongo."
        yield grade_number(
            given, slow / fast, name, f"{name}: {slow / fast:.1f} times.", hints, off
        )


@check(2)
def check_2(share: Any, where: Any, found: pd.DataFrame) -> Iterator[Part]:
    """Check which share of the mapper's extra time is the client's own CPU."""
    extra = {
        metric: (
            _compute_mean(found, driver="mongoengine", operation="insert", metric=metric)
            - _compute_mean(found, driver="pymongo", operation="insert", metric=metric)
        )
        for metric in ("wall_time", "cpu_user", "cpu_system")
    }
    truth = (extra["cpu_user"] + extra["cpu_system"]) / extra["wall_time"]
    hints = {extra["cpu_user"] / extra["wall_time"] / truth: "system time is CPU time, too."}
    off = (
        "(mapper's CPU less driver's CPU) over (mapper's wall time less driver's wall time), means"
        " over repetitions."
    )
    yield grade_number(share, truth, "share", f"share: {truth:.0%} of the extra time.", hints, off)
    off = (
        f"{where!r}: both send the same documents to the same server. Who does the rest of the"
        " work?"
    )
    well = "the mapper works in the client: building, validating, tracking changes."
    yield grade_choice(where, "client", "where", well, off)


@check(3)
def check_3(client: Any, until_replica: Any, promise: Any, found: pd.DataFrame) -> Iterator[Part]:
    """Check the times of a replicated insert, and which one holds what replication promises."""
    off = "the mean over repetitions of the rows with operation 'insert', in ms."
    both = {
        name: _compute_mean(found, operation="insert", metric=name)
        for name in ("wall_time", "elapsed_time")
    }
    hints = {both["elapsed_time"] / both["wall_time"]: "that holds the catching up, too."}
    well = f"client: {both['wall_time']:.3g} ms until the last insert was acknowledged."
    yield grade_number(client, both["wall_time"], "client", well, hints, off)
    hints = {
        both["wall_time"] / both["elapsed_time"]: "when the client is done, the replica may not be."
    }
    well = f"until_replica: {both['elapsed_time']:.3g} ms until the replica held them all."
    yield grade_number(
        until_replica, both["elapsed_time"], "until_replica", well, hints, off, within=0.003
    )
    off = f"{promise!r}: if the primary is lost at that moment, is every write somewhere else?"
    yield grade_choice(
        promise, "elapsed_time", "promise", "only elapsed_time covers what a replica is for.", off
    )


@check(4)
def check_4(may_be_lost: Any) -> Iterator[Part]:
    """Check after which acknowledgements a power failure may still lose a write."""
    yield from grade_sorting(may_be_lost, SETTINGS, ("yes", "no"), dict.fromkeys(SETTINGS, _WHERE))


def _call_wait(wait: Any, reached: Any, patience: float) -> tuple[float, bool]:
    found = call_function(wait, reached, patience)
    if not (isinstance(found, tuple) and len(found) == 2):
        raise FormError(
            "wait should return two values, seconds and whether it was timed out; it returned"
            f" {found!r}."
        )
    seconds, timed_out = found
    if seconds is ... or timed_out is ...:
        raise OpenTaskError("wait returns nothing yet: write its body, and return the result.")
    return read_number(seconds, "the time that wait returns"), bool(timed_out)


@check(4)
def check_5(wait: Any) -> Iterator[Part]:
    """Check a wait for a replica that ends: with a time, or with a mark that it was given up."""
    asked: list[float] = []

    def third() -> bool:
        asked.append(time.monotonic())
        return len(asked) >= 3

    def at_once() -> Iterator[Part]:
        _, timed_out = _call_wait(wait, lambda: True, 1.0)
        well = "a replica that is there at once is no timed-out wait."
        yield grade(not timed_out, well, "the replica was there at once.")

    def later() -> Iterator[Part]:
        _, timed_out = _call_wait(wait, third, 2.0)
        off = (
            f"it asked {len(asked)} times where the third answer is yes: ask again until it is, or"
            " patience ends."
        )
        yield grade(
            not timed_out and len(asked) == 3,
            "it asks until the answer is yes, and no further.",
            off,
        )

    def never() -> Iterator[Part]:
        start = time.monotonic()
        seconds, timed_out = _call_wait(wait, lambda: False, 0.05)
        spent = time.monotonic() - start
        off = (
            "a replica that never came was reported like one that did: its time would enter a mean"
            " as if it were one."
        )
        yield grade(timed_out, "a wait that runs out is marked as timed out.", off)
        off = (
            f"it says {seconds:.3g} s of a wait that took {spent:.3g} s: return how long was really"
            " waited."
        )
        yield grade(0.04 < seconds <= spent + 0.01, "and says how long was waited.", off)

    yield from grade_separately((at_once(), later(), never()))
