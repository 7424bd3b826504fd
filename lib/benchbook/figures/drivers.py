"""Study `drivers`: Table 1 and Figs. 2 to 4; the paper printed no values, so only the bounds of its text are shown."""

import json
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import numpy as np
import pandas as pd

from benchbook import formats
from benchbook.datasets import players
from benchbook.evidence import Evidence
from benchbook.figures import stacks
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.lines import lines
from benchbook.figures.points import COLUMNS, here, paper_rows, printed, remarks, wide
from benchbook.figures.tables import misprints, table

N: Final = (1000, 10000, 100000, 200000)
OPERATIONS: Final = ("insert", "find", "update", "delete")
SETS: Final[dict[str, Literal[89, 6]]] = {"set 1": 89, "set 2": 6}
SAMPLE: Final = 1000
SEED: Final = 20150501
PAPERS_WAY: Final = {"calls": "bulk", "durability": "default"}
PAIRS: Final = {"Python": ("pymongo", "mongoengine"), "Node.js": ("mongoclient", "mongoose")}
"""Each stack's native driver and mapper; the paper's own are Node.js's."""

_KINDS: Final = ("native driver", "mapper")


@dataclass(frozen=True)
class Part:
    """One of the paper's figures: a quantity of the client process, and the bounds that the text gives for it."""

    quantity: str
    axis: str
    unit: str
    metric: str
    scale: float
    bounds: dict[str, tuple[str, str, str | None, float]]  # operation: published row, lower and upper column, scale
    log: bool = True


_TIME_HIGH = ("insert and find time", "worst case to", "worst case from", 1.0)
_TIME_LOW = ("update and delete time", "upper bound", None, 1.0)
_MEMORY_HIGH = ("insert and find memory", "to", "from", 1000.0)
_MEMORY_LOW = ("update and delete memory", "upper bound", None, 1000.0)

PARTS: Final = {
    2: Part(
        "execution time",
        "time",
        "ms",
        "wall_time",
        1e-6,
        {"insert": _TIME_HIGH, "find": _TIME_HIGH, "update": _TIME_LOW, "delete": _TIME_LOW},
    ),
    3: Part(
        "CPU time of the client",
        "CPU time",
        "ms",
        "cpu_time",
        1e3,
        {
            "update": ("update CPU", "upper bound", None, 1.0),
            "delete": ("delete CPU", "upper bound", None, 1.0),
        },
    ),
    4: Part(
        "change of the client's memory",
        "memory",
        "KB",
        "memory_change_kb",
        1.0,
        {"insert": _MEMORY_HIGH, "find": _MEMORY_HIGH, "update": _MEMORY_LOW, "delete": _MEMORY_LOW},
        log=False,
    ),
}


def _bounds(evidence: Evidence, part: Part) -> pd.DataFrame:
    published = evidence.published
    paper = published[(published["study"] == "drivers") & published["source"].str.startswith("Section")]
    bounds = dict(zip(zip(paper["row"], paper["column"], strict=True), paper["value"].tolist(), strict=True))
    rows = [
        {
            "value": np.nan,
            "low": bounds[row, lower] * scale if lower else 0.0,
            "high": bounds[row, upper] * scale,
            "panel": operation,
        }
        for operation, (row, upper, lower, scale) in part.bounds.items()
        if (row, upper) in bounds
    ]
    frame = pd.DataFrame(rows, columns=["value", "low", "high", "panel"])
    frame = frame.assign(level=np.nan, series="", source="published", blocks=0, unit=part.unit)
    return frame.assign(censored=False, stand_in=False, caveat="", printed="")[list(COLUMNS)]


def drawn(evidence: Evidence, figure: int) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Return the points and bounds of one figure, its panels, and what must be said of them."""
    part = PARTS[figure]
    cells, notes = stacks.settled(wide(evidence, "drivers"), dict.fromkeys(("python", "node"), PAPERS_WAY))
    mine = {stack: _here(some, part, PAIRS[stack]) for stack, some in cells.items()}
    points, panels = stacks.panels(_bounds(evidence, part), mine, OPERATIONS)
    notes = [
        *remarks(points, {f"n = {n:,}": n for n in N}),
        *notes,
        "the paper prints no values, only bounds over all of its runs",
        *(f"{stack}: native driver {PAIRS[stack][0]}, mapper {PAIRS[stack][1]}" for stack in mine),
    ]
    return points, panels, notes


def _here(mine: pd.DataFrame, part: Part, pair: tuple[str, str]) -> pd.DataFrame:
    if part.metric not in mine:
        return here(mine, None, unit=part.unit)
    mine = mine.assign(kind=_kinds(mine, pair)).dropna(subset=["kind"])
    series = mine["kind"] + ", " + mine["attributes"].astype(str) + " attributes"
    value = mine[part.metric] * part.scale
    return here(mine, value, unit=part.unit, panel=mine["operation"], level=mine["n"].astype(int), series=series)


def _kinds(mine: pd.DataFrame, pair: tuple[str, str]) -> "pd.Series[str]":
    """Tell driver and mapper apart by the cell's own parameter; neither: another pair, which is not shown here."""
    asked = mine["parameters"].map(lambda text: json.loads(text)["driver"])
    return asked.map(dict(zip(pair, _KINDS, strict=True)))


def four_panels(evidence: Evidence, *, figure: int) -> Exhibit:
    """Draw one of Figs. 2 to 4: insert, find, update, delete."""
    part = PARTS[figure]
    points, panels, notes = drawn(evidence, figure)
    title = f"drivers, Fig. {figure}: {part.quantity}"
    drawing = lines(
        points,
        title=title,
        axes_names=("records", f"{part.axis}, {part.unit}"),
        ticks=N,
        panels=panels,
        notes=notes,
        log=(True, part.log),
        height=2.25 if len(panels) == len(OPERATIONS) else 1.7,
        alike=len(panels) > len(OPERATIONS),
    )
    return Exhibit(title, points, tuple(notes), drawing)


def record_sets(evidence: Evidence) -> Exhibit:
    """Set Table 1: the two record sets, theirs and the ones generated here."""
    paper = paper_rows(evidence, "drivers", "Table 1")
    theirs = printed(paper, unit="", panel=paper["column"], level=paper["row"])
    mine = [
        {"level": level, "panel": place, "source": "here", "printed": text}
        for place, attributes in SETS.items()
        for level, text in _described(attributes).items()
    ]
    rows = list(dict.fromkeys(paper["row"]))
    frame = table(pd.concat([theirs, pd.DataFrame(mine)]), corner="Record set", rows=rows, columns=["set 1", "set 2"])
    notes = (
        f"here: sizes are means of the first {SAMPLE:,} records as compact JSON, in KB of 1,000 bytes",
        *misprints(paper),
    )
    return Exhibit("drivers, Table 1: the record sets", frame, notes)


def _described(attributes: Literal[89, 6]) -> dict[str, str]:
    data = players.wide(SAMPLE, SEED, attributes=attributes)
    size = sum(len(formats.codec("orjson").encode_record(record)) for record in data.records) / SAMPLE
    return {
        "number of records": f"{players.TABLE:,}",
        "number of attributes": f"{len(data.schema.fields) - 1}",  # _id comes on top
        "size of a record": f"{size / 1e3:.2f} KB",
    }


FIGURES: Final[dict[str, Maker]] = {
    f"drivers_fig{number}_{name}": partial(four_panels, figure=number)
    for number, name in ((2, "time"), (3, "cpu"), (4, "memory"))
}
TABLES: Final[dict[str, Maker]] = {"drivers_table1_records": record_sets}
