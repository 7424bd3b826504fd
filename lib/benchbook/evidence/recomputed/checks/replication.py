"""`replication`: the orderings of its averages, and whether those can be means of five whole readings."""

from itertools import pairwise, product
from typing import Final

from benchbook.evidence.recomputed.check import Check, alike, less, number
from benchbook.evidence.recomputed.printed import Printed, printed

ENGINES: Final = ("MongoDB", "CouchDB", "RethinkDB")
FORMATS: Final = ("JSON", "XML")
FIGURES: Final = {"Fig. 15": "bandwidth", "Fig. 16": "share of the CPU", "Fig. 17": "memory", "Fig. 18": "CPU time"}
RESOLUTION: Final = {"Fig. 15": 1.0, "Fig. 16": 1.0, "Fig. 17": 0.1, "Fig. 18": 0.01}
"""Steps of a single reading of the monitor, in the figure's unit (Kbps, %, MB, s), as its screens round them."""

LEVELS: Final = 5
"""Numbers of documents that each average is over."""


def average(figure: str, engine: str, format: str) -> Printed:
    """Return a printed average."""
    return printed("replication", figure, engine, format)


def engines(figure: str) -> tuple[str, ...]:
    """Return the engines whose averages a figure's text prints: of the CPU share only MongoDB's."""
    return ENGINES[:1] if figure == "Fig. 16" else ENGINES


def orders() -> list[Check]:
    """Check that JSON needs less of everything but CPU time, of which XML needs a little less."""
    found = []
    for figure, measure in FIGURES.items():
        first, second = FORMATS if figure != "Fig. 18" else FORMATS[::-1]
        for engine in engines(figure):
            says = f"{first}'s {measure} below {second}'s, {engine}"
            found.append(
                less("Abstract, Section IV", says, average(figure, engine, first), average(figure, engine, second))
            )
    return found


def slightly() -> list[Check]:
    """Check that XML's CPU time is only a little less."""
    return [
        alike(
            "Abstract, Section IV",
            f"XML's CPU time close to JSON's, {engine}",
            *(average("Fig. 18", engine, format) for format in FORMATS[::-1]),
        )
        for engine in ENGINES
    ]


def whole_readings() -> list[Check]:
    """Check that each average is the mean of five readings of the monitor's resolution (the GRIM test).

    References
    ----------
    Brown and Heathers, Social Psychological and Personality Science 8 (2017) 363-369.
    """
    return [
        _nearest(figure, engine, format) for figure in FIGURES for engine, format in product(engines(figure), FORMATS)
    ]


def _nearest(figure: str, engine: str, format: str) -> Check:
    claim = average(figure, engine, format)
    step = RESOLUTION[figure] / LEVELS
    says = (
        f"{FIGURES[figure]}, {engine}, {format}: nearest mean of five readings in steps of {RESOLUTION[figure]:g} "
        f"{claim.unit}"
    )
    return number(claim, lambda: round(claim.value / step) * step, says=says, half=step / 4)


def spacing() -> list[Check]:
    """Check that the numbers of documents are equally spaced."""
    levels = [printed("replication", "Section II.B", "records", f"level {one}") for one in range(1, LEVELS + 1)]
    last = printed("replication", "Section III.B", "repetitions of the insert", "source code shown")
    steps = [
        number(
            after, lambda before, first: before + first, before, levels[0], says=(f"{before.column} and a step more")
        )
        for before, after in pairwise(levels)
    ]
    return [
        *steps,
        number(last, lambda most: most, levels[-1], says="repetitions in the code shown: the largest level"),
    ]


CHECKS: Final = (orders, slightly, whole_readings, spacing)
