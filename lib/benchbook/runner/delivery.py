"""A cell's delivery: whether its rows are complete and belong to it, and what they say of time."""

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from benchbook.grid import Cell
from benchbook.results.files import DamagedError, read_delivered
from benchbook.results.schema import ALTERNATING_COLUMNS, OBSERVATIONS, TIME_METRICS
from benchbook.studies.catalogue import load_study


class DeliveredValue(NamedTuple):
    """The columns of a delivered row that decide whether it is complete."""

    repetition: int
    operation: str
    role: str
    metric: str
    value: float | None  # None: it was not measured
    timed_out: bool
    started_at: int  # microseconds since 1970
    arm: tuple[str | None, ...]  # the columns of `benchbook.results.schema.ALTERNATING_COLUMNS`


def check_delivery(
    cell: Cell, target: Path
) -> tuple[pa.Table | None, list[DeliveredValue], str | None]:
    """Return the rows that a cell delivered, their values, and why they cannot be kept, else None.

    Parameters
    ----------
    target
        The file that the cell's notebook wrote.
    """
    try:
        table = read_delivered(target)
    except FileNotFoundError:
        return None, [], "the notebook finished, but delivered no values"
    except DamagedError as error:
        return None, [], f"the notebook finished, but its values are damaged: {error}"
    values = read_values(table)
    parameters = cell.parameters
    expected = load_study(cell.study).expected(parameters)
    turns = parameters.turns()
    fault = (
        compare_parameters(table, parameters.as_columns())
        or find_missing(values, parameters.repetitions, expected, turns)
        or find_excess(values, parameters.repetitions, turns)
    )
    return table, values, fault


def compare_parameters(table: pa.Table, expected: Mapping[str, object]) -> str | None:
    """Return which parameters in rows differ from those of their cell; None when none does.

    Parameters
    ----------
    expected
        The cell's levels by the names of their columns.
    """
    # Every parameter is stated.
    stated = {}
    for name in expected:
        if name in table.column_names:
            stated[name] = table[name].unique().to_pylist()
    if len(stated) < len(expected) or [None] in stated.values():
        return (
            "the notebook delivered values without the parameters that they were measured with: "
            "put @state_parameters above the study's run, and deliver the rows that it returns"
        )
    # Each is at the cell's level.
    others = []
    for name, level in expected.items():
        if stated[name] != [level]:
            others.append(f"{name}={stated[name][0]}, not {level}")
    if others:
        return (
            f"the notebook measured other parameters than the cell's: {'; '.join(others)}: "
            "no notebook cell may change a parameter after the one tagged parameters"
        )
    # There are no columns besides.
    unknown = sorted({*table.column_names} - {*OBSERVATIONS.names} - expected.keys())
    if unknown:
        return f"the notebook delivered columns that are no parameters: {', '.join(unknown)}"
    return None


def read_values(table: pa.Table) -> list[DeliveredValue]:
    """Return the values of the rows that a cell delivered."""
    columns = [table[name].to_pylist() for name in ("repetition", "operation", "role", "metric")]
    # None in place of NaN. Arrow's own functions would import pandas into every run.
    numbers = [
        None if value is None or math.isnan(value) else value
        for value in table["value"].to_pylist()
    ]
    timed_out = table["timed_out"].to_pylist()
    started_at = table["started_at"].cast(pa.int64()).to_pylist()
    arms = zip(*(table[name].to_pylist() for name in ALTERNATING_COLUMNS), strict=True)
    rows = zip(*columns, numbers, timed_out, started_at, arms, strict=True)
    return [DeliveredValue(*row) for row in rows]


def find_missing(
    values: Sequence[DeliveredValue],
    repetitions: int,
    expected: Iterable[tuple[str, str, str]],
    turns: Iterable[Mapping[str, str]] = (),
) -> str | None:
    """Return which values of a cell are missing; None when they are complete.

    Parameters
    ----------
    expected
        Operation, role and metric of each value that every repetition has. It may be missing only
        where a wait timed out.
    turns
        The levels that the cell measures alternately; each has all values.
    """
    measured_in: dict[tuple[str | None, ...], set[tuple[int, str, str, str]]] = {}
    for value in values:
        if value.value is not None or value.timed_out:
            measured_in.setdefault(value.arm, set()).add(value[:4])
    # All that alternates was measured.
    for turn in turns:
        if not any(_is_of_turn(arm, turn) for arm in measured_in):
            levels = " ".join(turn.values())
            return f"the notebook finished, but all values of {levels} are missing"
    if not measured_in:
        return "the notebook finished, but all values are missing"
    # Every repetition has every value.
    wanted = set()
    for repetition in range(repetitions):
        wanted |= {(repetition, *output) for output in expected}
    for measured in measured_in.values():
        missing = sorted(wanted - measured)
        if missing:
            repetition, operation, role, metric = missing[0]
            first = f"{metric} of the {role} in {operation}, repetition {repetition}"
            counts = f"{len(missing)} of {len(wanted)} expected values"
            return f"the notebook finished, but {counts} are missing, first {first}"
    return None


def find_excess(
    values: Iterable[DeliveredValue], repetitions: int, turns: Sequence[Mapping[str, str]]
) -> str | None:
    """Return which rows are of a repetition or an arm that the cell does not have; else None."""
    arms = set()
    for value in values:
        if value.repetition not in range(repetitions):
            return f"the notebook delivered too much: values of repetition {value.repetition}"
        arms.add(value.arm)
    for arm in arms:
        if not any(_is_of_turn(arm, turn) for turn in turns):
            levels = " ".join(filter(None, arm))
            return f"the notebook delivered too much: values of {levels}"
    if len(arms) > len(turns):
        return f"the notebook delivered too much: values of {len(arms)} arms, not {len(turns)}"
    return None


def _is_of_turn(arm: tuple[str | None, ...], turn: Mapping[str, str]) -> bool:
    """Return whether an arm has the levels of a turn."""
    levels = dict(zip(ALTERNATING_COLUMNS, arm, strict=True))
    return turn.items() <= levels.items()


def has_timed_out(values: Iterable[DeliveredValue]) -> bool:
    """Return whether a wait for the replica timed out: it has a time, which is a lower limit."""
    return any(value.timed_out and value.value is not None for value in values)


def count_measured_seconds(values: Iterable[DeliveredValue]) -> float:
    """Return for how many seconds a cell's clocks ran; overlapping times count once."""
    total, until = 0.0, -math.inf
    for row in sorted(values, key=attrgetter("started_at")):
        if row.value is None or row.metric not in TIME_METRICS:
            continue
        start = row.started_at / 1e6
        end = start + row.value / 1e9
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total
