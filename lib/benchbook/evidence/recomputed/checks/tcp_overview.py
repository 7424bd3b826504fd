"""`tcp`, Table 6: the overview that repeats, rounds and summarises Tables 1 to 5."""

from collections.abc import Callable
from itertools import product
from statistics import fmean
from typing import Final

from benchbook.evidence.recomputed.check import Check, number
from benchbook.evidence.recomputed.checks.tcp import FORMATS, SHARES, TRIALS, tcp, trial


def scenario_1() -> list[Check]:
    """Check total and average time, shares and memory of scenario 1."""
    units = {"JSON": 1e3, "XML": 60e3}
    times = [
        number(
            tcp("Table 6", "Scenario 1 Total Time", format),
            _over(units[format]),
            tcp("Table 1", "Total Time", format),
            says=f"total time of scenario 1, {format}, in {'seconds' if format == 'JSON' else 'minutes'}",
        )
        for format in FORMATS
    ]
    times += [
        number(
            tcp("Table 6", "Scenario 1 Average Time", format),
            _over(1),
            tcp("Table 1", "Average Time", format),
            says=f"average time of scenario 1, {format}",
        )
        for format in FORMATS
    ]
    rest = [
        number(
            tcp("Table 6", f"Scenario 1 {measure}", format),
            _over(1),
            tcp("Table 2", format, measure),
            says=f"{measure} of scenario 1, {format}, in whole percent",
        )
        for measure, format in product((*SHARES, "Memory"), FORMATS)
    ]
    return times + rest


def scenario_2() -> list[Check]:
    """Check the times, and the memory as the mean of the trials, of scenario 2."""
    found = []
    for format in FORMATS:
        row = "Scenario 2 Total Time for 100,000 Objects"
        found.append(
            number(
                tcp("Table 6", row, format),
                _over(1e3),
                trial(5, "Total Time", format),
                says=f"total time for 100,000 objects, {format}, in seconds",
            )
        )
        for measure in ("Average Time", "Memory"):
            each = [trial(one, measure, format) for one in TRIALS]
            found.append(
                number(
                    tcp("Table 6", f"Scenario 2 {measure}", format),
                    _mean,
                    *each,
                    says=f"{measure} of scenario 2, {format}: mean of the trials",
                )
            )
    return found


def ranges() -> list[Check]:
    """Check the ranges of user and system CPU of scenario 2 against the smallest and the largest trial."""
    return [
        number(
            tcp("Table 6", f"Scenario 2 {measure}", f"{format} {end}"),
            _smallest if end == "from" else _largest,
            *(trial(one, measure, format) for one in TRIALS),
            says=f"{'smallest' if end == 'from' else 'largest'} {measure} of scenario 2, {format}, in whole percent",
        )
        for measure, format, end in product(SHARES, FORMATS, ("from", "to"))
    ]


def _over(unit: float) -> Callable[[float], float]:
    return lambda value: value / unit


def _mean(*values: float) -> float:
    return fmean(values)


def _smallest(*values: float) -> float:
    return min(values)


def _largest(*values: float) -> float:
    return max(values)


CHECKS: Final = (scenario_1, scenario_2, ranges)
