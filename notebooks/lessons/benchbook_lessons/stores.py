"""Lesson 7, drivers, mappers, replication and durability, on real servers."""

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from benchbook.plots import style
from benchbook.plots.points import select_rows
from benchbook.servers.errors import ServerError
from benchbook.studies import crud, drivers
from benchbook_lessons.feedback import (
    FormError,
    OpenTaskError,
    Part,
    call_function,
    check,
    grade,
    grade_choice,
    grade_number,
    grade_separately,
    grade_sorting,
    is_number,
    shorten,
)
from benchbook_lessons.predictions import Predictions
from benchbook_lessons.snapshot import load_stores

predict = Predictions

SETTINGS: Final = {
    "PostgreSQL, default: commit returns after the log is on the disk": "no",
    "PostgreSQL, relaxed: synchronous_commit = off": "yes",
    "MongoDB, relaxed: acknowledged from memory (w: 1, j: false)": "yes",
    "MongoDB, strict: acknowledged after the journal is on the disk (j: true)": "no",
}
"""May a write that was acknowledged be missing after a power failure, when the node is back?"""

_WHERE: Final = "When the client is told 'done', is the write in memory or on the disk?"

MAPPER_METRICS: Final = ("wall_time", "cpu_user", "cpu_system")
REPLICATION_METRICS: Final = ("wall_time", "catch_up_time", "elapsed_time")

FREE_SHARE: Final = 0.8
"""From which share of CPU in the mapper's extra time on the computer was not busy."""


def _measure_or_load(measure: Callable[[], pd.DataFrame], table: str, live: bool) -> pd.DataFrame:
    """Measure here; where that is impossible, print why and return the lesson's own data."""
    why = "as asked"
    if live:
        try:
            return measure()
        except ServerError as error:
            why = str(error)
            # After `make lessons` the driver is not installed.
            if isinstance(error.__cause__, ModuleNotFoundError):
                why = f"{error.__cause__.name} is missing: make lab installs it"
    print(f"Not measured here ({why}). These are values that come with the lesson.")
    return load_stores(table)


def measure_mapper(records: int, repetitions: int, *, live: bool = True) -> pd.DataFrame:
    """Measure pymongo and mongoengine in turns on a MongoDB that is started here.

    Returns the columns ``driver, operation, metric, repetition, ms``. Says so if other programs
    used the processors meanwhile.
    """

    def measure() -> pd.DataFrame:
        rows = drivers.run(drivers.Parameters(n=records, repetitions=repetitions))
        rows = select_rows(rows, metric=list(MAPPER_METRICS))
        return _select_ms(rows, "driver", "operation", "metric")

    found = _measure_or_load(measure, "mapper", live)
    if _compute_cpu_share(found) < FREE_SHARE:
        print(
            "Your computer was busy with other programs. Close them and run this cell again, or"
            " set live = False."
        )
    return found


def measure_replication(records: int, repetitions: int, *, live: bool = True) -> pd.DataFrame:
    """Measure the client's time, the catch-up time and both, of a MongoDB with a replica.

    Returns the columns ``operation, metric, repetition, ms``.
    """

    def measure() -> pd.DataFrame:
        rows = crud.run(crud.Parameters(n=records, repetitions=repetitions, topology="replicated"))
        rows = select_rows(rows, metric=list(REPLICATION_METRICS))
        return _select_ms(rows, "operation", "metric")

    return _measure_or_load(measure, "replication", live)


def measure_durability(records: int, repetitions: int, *, live: bool = True) -> pd.DataFrame:
    """Measure inserts of single rows into a PostgreSQL that waits for the disk, or does not.

    Returns the columns ``durability, repetition, ms``.
    """

    def measure() -> pd.DataFrame:
        tables = []
        for level in ("default", "relaxed"):
            asked = crud.Parameters(
                n=records,
                repetitions=repetitions,
                database="postgresql+relational",
                durability=level,
            )
            tables.append(crud.run(asked).assign(durability=level))
        rows = select_rows(pd.concat(tables), metric="wall_time", operation="insert")
        return _select_ms(rows, "durability")

    return _measure_or_load(measure, "durability", live)


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
        axes.set(
            title="Which operations does the mapper slow down?",
            xlabel="time of the whole operation, ms (log scale)",
            xscale="log",
        )
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.invert_yaxis()
        figure.legend(loc="outside lower center", ncols=2)
    plt.close(figure)
    return figure


def _compute_mean(rows: pd.DataFrame, **levels: Any) -> float:
    chosen = select_rows(rows, **levels)
    if chosen.empty:
        # A student may have kept only some rows, under the same name.
        raise FormError(
            f"your table has no rows with {', '.join(map(str, levels.values()))} any more: run the"
            " cell that made it again, and give your own table another name.",
            cause="a table without its rows",
        )
    return float(chosen["ms"].mean())


def _compute_extra(found: pd.DataFrame) -> dict[str, float]:
    """Return the mapper's extra time of an insert, in ms, for each of `MAPPER_METRICS`."""
    extra = {}
    for metric in MAPPER_METRICS:
        mapper = _compute_mean(found, driver="mongoengine", operation="insert", metric=metric)
        driver = _compute_mean(found, driver="pymongo", operation="insert", metric=metric)
        extra[metric] = mapper - driver
    return extra


def _compute_cpu_share(found: pd.DataFrame) -> float:
    """Return which share of the mapper's extra time of an insert is CPU time of the client."""
    extra = _compute_extra(found)
    return (extra["cpu_user"] + extra["cpu_system"]) / extra["wall_time"]


@check(2)
def check_1(insert: Any, find: Any, found: pd.DataFrame) -> Iterator[Part]:
    """Check the ratios of the mapper's time to the driver's, of the rows that were measured."""
    for name, given in (("insert", insert), ("find", find)):
        slow = _compute_mean(found, driver="mongoengine", operation=name, metric="wall_time")
        fast = _compute_mean(found, driver="pymongo", operation=name, metric="wall_time")
        hints = {(fast / slow) ** 2: "that is driver / mapper: the other way round."}
        off = "mean wall_time of mongoengine / mean wall_time of pymongo, not rounded."
        yield grade_number(
            given, slow / fast, name, f"{name}: {slow / fast:.1f} times.", hints, off
        )


@check(2)
def check_2(share: Any, where: Any, found: pd.DataFrame) -> Iterator[Part]:
    """Check which share of the mapper's extra time is the client's own CPU."""
    extra = _compute_extra(found)
    truth = _compute_cpu_share(found)
    user, system, wall = (
        _compute_mean(found, driver="mongoengine", operation="insert", metric=metric)
        for metric in ("cpu_user", "cpu_system", "wall_time")
    )
    hints = {
        extra["cpu_user"] / extra["wall_time"] / truth: "system time is CPU time, too.",
        (user + system) / wall / truth: "only the extra time counts: subtract the driver's times.",
        100.0: "that is in percent: write it as a fraction.",
        (1 / truth) ** 2: "that is wall time / CPU time: the other way round.",
        1 / truth: "1 is a guess or a rounded number: compute it, and do not round it.",
    }
    off = "(mapper's CPU - driver's CPU) / (mapper's wall time - driver's wall time), not rounded."
    well = f"share: {truth:.0%} of the extra time."
    if truth < FREE_SHARE:
        well += (
            " Your computer was busy: the process also waited for a processor. With no other"
            " program the share is near 100 %."
        )
    # On an idle computer the share is near 1, and wrong ones are near it, too.
    yield grade_number(share, truth, "share", well, hints, off, within=0.0005)
    off = f"{where!r}: both send the same documents to the same server. Who does the extra work?"
    well = "where: in the client. The mapper builds objects, checks them and tracks changes."
    yield grade_choice(where, "client", "where", ("client", "server", "network"), well, off)


@check(3)
def check_3(
    client: Any, until_replica: Any, both_nodes: Any, found: pd.DataFrame
) -> Iterator[Part]:
    """Check the times of a replicated insert, and which one says when both nodes have it."""
    off = "the mean over repetitions of the rows with operation 'insert', in ms, not rounded."
    seconds = {0.001: "that is in seconds: write ms."}
    mean = {
        name: _compute_mean(found, operation="insert", metric=name) for name in REPLICATION_METRICS
    }
    # The two times differ by less than a hundredth where the replica is fast.
    near = 0.001
    wall, catch_up, elapsed = (mean[name] for name in REPLICATION_METRICS)
    hints = {elapsed / wall: "that contains the catch-up time, too.", **seconds}
    well = f"client: {wall:.4g} ms until the last insert was acknowledged."
    yield grade_number(client, wall, "client", well, hints, off, within=near)
    hints = {
        wall / elapsed: "when the client is done, the replica may not be.",
        catch_up / elapsed: "that starts when the client is done. Start at the first insert.",
        **seconds,
    }
    well = f"until_replica: {elapsed:.4g} ms until the replica had them all."
    yield grade_number(until_replica, elapsed, "until_replica", well, hints, off, within=near)
    questions = {
        "wall_time": "'wall_time': when it ends, may a write still be missing on the replica?",
        "catch_up_time": "'catch_up_time': it leaves out the inserts. When does it start?",
    }
    off = questions.get(str(both_nodes).strip().lower(), "")
    well = "both_nodes: elapsed_time. It starts with the first insert, and ends with the replica."
    yield grade_choice(both_nodes, "elapsed_time", "both_nodes", REPLICATION_METRICS, well, off)


@check(4)
def check_4(may_be_lost: Any) -> Iterator[Part]:
    """Check after which acknowledgements a power failure may still lose a write."""
    yield from grade_sorting(may_be_lost, SETTINGS, ("yes", "no"), dict.fromkeys(SETTINGS, _WHERE))


def _call_wait(wait: Any, reached: Any, patience: float) -> tuple[float, bool, float]:
    """Return the seconds and the mark that `wait` returns, and the seconds that it took."""
    start = time.perf_counter()
    found = call_function(wait, reached, patience)
    spent = time.perf_counter() - start
    if not (isinstance(found, tuple | list) and len(found) == 2):
        raise FormError(
            "wait should return two values: seconds, and whether it was timed out. It returned"
            f" {shorten(found)}.",
            cause="not a pair",
        )
    seconds, timed_out = found
    if seconds is ... or timed_out is ...:
        raise OpenTaskError("wait returns nothing yet: write its body, and return the result.")
    if not is_number(seconds) or isinstance(timed_out, str):
        raise FormError(
            "wait should return first a number of seconds, then True or False. It returned"
            f" {shorten(found)}.",
            cause="not a number and a mark",
        )
    return float(seconds), bool(timed_out), spent


@check(5)
def check_5(wait: Any) -> Iterator[Part]:
    """Check a wait for a replica that ends: with a time, or with a mark that it was given up."""
    limit = 0.05

    def at_once() -> Iterator[Part]:
        _, timed_out, _ = _call_wait(wait, lambda: True, 1.0)
        well = "a replica that has everything at once: not timed out."
        yield grade(not timed_out, well, "the replica had everything at once: not timed out.")

    def later() -> Iterator[Part]:
        asked: list[None] = []

        # Each answer takes a while, so that sleeps which are counted are not the time that passed.
        def third() -> bool:
            asked.append(None)
            time.sleep(0.02)
            return len(asked) >= 3

        seconds, timed_out, spent = _call_wait(wait, third, 3.0)
        off = f"the third answer is yes. Answers that it got: {len(asked)}. When must it stop?"
        if not asked:
            off = "it never asked. Did you call reached, with brackets?"
        # A last question, for the mark, is fine.
        well = "it asks until the answer is yes, and then stops."
        yield grade(not timed_out and len(asked) in (3, 4), well, off)
        yield _grade_seconds(seconds, spent, "it returns how long it waited.")

    def never() -> Iterator[Part]:
        asked: list[None] = []

        def no() -> bool:
            asked.append(None)
            return False

        seconds, timed_out, spent = _call_wait(wait, no, limit)
        if not timed_out:
            off = "the replica never had everything, and the wait was not marked as timed out."
            yield Part(False, off)
        elif spent > 10 * limit:
            off = (
                f"the limit was {limit:g} s, and the wait took {spent:.3g} s: are its sleeps short?"
            )
            yield Part(False, off)
        else:
            yield _grade_seconds(seconds, spent, "a wait that reaches its limit is timed out.")
        well = "it asks again and again, and sleeps between."
        off = f"questions in {spent:.2g} s: {len(asked):,}. Sleep about a millisecond after each."
        yield grade(2 < len(asked) < 1_000, well, off)

    yield from grade_separately((at_once(), later(), never()))


def _grade_seconds(seconds: float, spent: float, well: str) -> Part:
    """Return the part for the time that `wait` returned; it took `spent` seconds, 0.05 or more."""
    off = f"it returned {seconds:.3g} s, and the wait took {spent:.3g} s."
    return grade(0.04 < seconds <= spent + 0.02, well, off)
