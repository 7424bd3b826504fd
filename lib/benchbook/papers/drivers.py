"""MongoDB through its Node.js driver and through an object mapper (study `drivers`).

In come the study's block means and comparisons; out come its figures, tables and headlines. The paper printed only
bounds of times, CPU and memory. Begin with ``FIGURES`` and ``TABLES`` at the end.
"""

from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Final, Literal

import pandas as pd

from benchbook import formats
from benchbook.analysis import Analysis, claim_files, paper_comparisons
from benchbook.analysis.pairs import Quantities
from benchbook.datasets import players
from benchbook.digits import difference, estimate
from benchbook.papers.setups import setup
from benchbook.plots import style
from benchbook.plots.exhibit import Exhibit, Lines, Maker
from benchbook.plots.points import (
    NOT_RUN,
    FrameRow,
    framed,
    here,
    misprints,
    paper,
    printed,
    remarks,
    settled,
    side_by_side,
    table,
    where,
    wide,
)
from benchbook.plots.ratios import METRICS, Compared, Headline, Ratios, by_condition, of_n, of_stacks, sides
from benchbook.plots.verdicts import sheets

N: Final = (1000, 10000, 100000, 200000)
OPERATIONS: Final = ("insert", "find", "update", "delete")
SETS: Final[dict[str, Literal[89, 6]]] = {"set 1": 89, "set 2": 6}
SAMPLE: Final = 1000
SEED: Final = 20150501
_WAY: Final = {"process": "together", "calls": "bulk", "batch": "all", "durability": "default"}
PAPERS_WAY: Final = {**_WAY, "document_schema": "required"}
OF_MEMORY: Final = {**PAPERS_WAY, "process": "operation"}
"""Memory is that of a process that did one operation."""

PAIRS: Final = {"Node.js": ("mongoclient", "mongoose"), "Python": ("pymongo", "mongoengine")}
"""Each stack's native driver and mapper; the paper's own are Node.js's."""


@dataclass(frozen=True)
class Part:
    """One of the paper's figures: a quantity of the client process, and the bounds that the text gives for it."""

    quantity: str
    axis: str
    unit: str
    metric: str
    scale: float
    bounds: "_Bounds"
    log: bool = True


_Bounds = dict[str, tuple[str, str, str | None, float]]
"""Of an operation the published row, the columns of its upper and lower bound, and the scale."""

_TIME: Final[_Bounds] = {
    **dict.fromkeys(("insert", "find"), ("insert and find time", "worst case to", "worst case from", 1.0)),
    **dict.fromkeys(("update", "delete"), ("update and delete time", "upper bound", None, 1.0)),
}
_CPU: Final[_Bounds] = {operation: (f"{operation} CPU", "upper bound", None, 1.0) for operation in ("update", "delete")}
_MEMORY: Final[_Bounds] = {
    **dict.fromkeys(("insert", "find"), ("insert and find memory", "to", "from", 1000.0)),
    **dict.fromkeys(("update", "delete"), ("update and delete memory", "upper bound", None, 1000.0)),
}
PARTS: Final = {
    2: Part("execution time", "time", "ms", "wall_time", 1e-6, _TIME),
    3: Part("CPU time of the client", "CPU time", "ms", "cpu_time", 1e3, _CPU),
    4: Part("change of the client's memory", "memory", "KB", "memory_change_kb", 1.0, _MEMORY, log=False),
}


def _bounds(analysis: Analysis, part: Part) -> pd.DataFrame:
    rows = where(analysis.published, study="drivers")
    rows = rows[rows["source"].str.startswith("Section")]
    bounds = dict(zip(zip(rows["row"], rows["column"], strict=True), rows["value"].tolist(), strict=True))
    points = [
        {"panel": operation, "low": bounds[row, lower] * scale if lower else 0.0, "high": bounds[row, upper] * scale}
        for operation, (row, upper, lower, scale) in part.bounds.items()
    ]
    return framed(points, source="published", unit=part.unit)


def _here(rows: pd.DataFrame, part: Part, pair: tuple[str, str]) -> pd.DataFrame:
    """Return one stack's points, without other pairs'."""
    kind = rows["driver"].map(dict(zip(pair, ("native driver", "mapper"), strict=True)))
    series = kind + ", " + rows["attributes"].astype(str) + " attributes"
    rows = rows.assign(series=series)[kind.notna()]
    level, panel, series = rows["n"].astype(int), rows["operation"], rows["series"]
    return here(rows, part.metric, unit=part.unit, scale=part.scale, panel=panel, level=level, series=series)


def four_panels(analysis: Analysis, *, figure: int) -> Exhibit:
    """Draw one of Figs. 2 to 4: insert, find, update, delete."""
    part = PARTS[figure]
    way = OF_MEMORY if part.metric in MEMORY else PAPERS_WAY
    cells, notes = settled(where(wide(analysis, "drivers"), process=way["process"]), way)
    measured = {stack: _here(of_stack, part, PAIRS[stack]) for stack, of_stack in cells.items()}
    points, panels = side_by_side(_bounds(analysis, part), measured, OPERATIONS)
    notes = [
        *remarks(points, {f"n = {n:,}": n for n in N}),
        *notes,
        "the paper prints no values, only bounds over all of its runs",
        *(f"{stack}: native driver {PAIRS[stack][0]}, mapper {PAIRS[stack][1]}" for stack in measured),
    ]
    title = f"drivers, Fig. {figure}: {part.quantity}"
    drawing = Lines(
        ("records", f"{part.axis}, {part.unit}"),
        N,
        panels,
        log=(True, part.log),
        height=2.25 if len(panels) == len(OPERATIONS) else 1.7,
        alike=len(panels) > len(OPERATIONS),
    )
    return Exhibit(title, points, tuple(notes), drawing)


def record_sets(analysis: Analysis) -> Exhibit:
    """Set Table 1: the two record sets, theirs and the ones generated here."""
    rows = paper(analysis, "drivers", "Table 1")
    published = printed(rows, unit="", panel=rows["column"], level=rows["row"])
    generated = [
        {"level": level, "panel": place, "source": "here", "printed": text}
        for place, attributes in SETS.items()
        for level, text in _described(attributes).items()
    ]
    levels = list(dict.fromkeys(rows["row"]))
    frame = table(pd.concat([published, pd.DataFrame(generated)]), corner="Record set", rows=levels, columns=list(SETS))
    note = f"here: sizes are means of the first {SAMPLE:,} records as compact JSON, in KB of 1,000 bytes"
    return Exhibit("drivers, Table 1: the record sets", frame, (note, *misprints(rows)))


def _described(attributes: Literal[89, 6]) -> dict[str, str]:
    data = players.wide(SAMPLE, SEED, attributes=attributes)
    size = sum(len(formats.codec("orjson").encode_record(record)) for record in data.records) / SAMPLE
    return {
        "number of records": f"{players.TABLE:,}",
        "number of attributes": f"{len(data.schema.fields) - 1}",  # _id comes on top
        "size of a record": f"{size / 1e3:.2f} KB",
    }


MEMORY: Final = ("memory_change_kb", "heap_change")
QUANTITIES: Final = {"time": "wall_time", "CPU": "cpu_time", "RSS": "memory_change_kb", "heap": "heap_change"}
OF_HEAP: Final = (Quantities(operation=OPERATIONS, role=("client",), metric=("heap_change",)),)


def pairs(analysis: Analysis) -> Exhibit:
    """Set every ratio of each pair (2 record sets, each number of records, 4 operations), of time, CPU and memory."""
    compared, notes = _compared(analysis)
    conditions = list(product(SETS.values(), sorted({*N, *(int(n) for _, _, n, *_ in compared)}), OPERATIONS))
    frame = pd.DataFrame(conditions, columns=["Attributes", "Records", "Operation"])
    frame["Records"] = frame["Records"].map("{:,}".format)
    for stack, (quantity, metric) in product(PAIRS, QUANTITIES.items()):
        if (stack, metric) != ("Python", "heap_change"):  # which has no such counter
            rows = [compared.get((stack, *condition, metric)) for condition in conditions]
            frame[f"{stack}: {quantity}, here"] = [_estimate(row) for row in rows]
    sentences = [
        *of_stacks(compared, PAIRS),
        "Node.js: Mongoose over MongoClient, the paper's own pair; Python: mongoengine over pymongo",
        "above 1: the mapper is slower or larger; the paper prints no values",
        "RSS, heap: what the client's resident memory, and its heap (Node.js alone tells it), grew by in the operation",
        "a growth can be zero or negative, so it is a difference: mapper minus driver",
    ]
    title = "drivers: mapper over native driver, ratios with their 99 % intervals"
    return Exhibit(title, frame, (*sentences, *notes))


def _compared(analysis: Analysis) -> tuple[Compared, list[str]]:
    """Return the comparisons by stack, attributes, n, operation and metric."""
    wanted = [
        compared.model_copy(update={"pairs": tuple((mapper, driver) for driver, mapper in PAIRS.values()), **heap})
        for compared in claim_files.pairs("drivers")
        for heap in ({}, {"quantities": OF_HEAP})
    ]
    table = paper_comparisons(where(analysis.means, study="drivers"), wanted)
    both = table[table["blocks"] > 0]
    of_memory = both["metric"].isin(MEMORY)
    compared: Compared = {}
    notes: list[str] = []
    for rows, way in ((both[~of_memory], PAPERS_WAY), (both[of_memory], OF_MEMORY)):
        part, part_notes = by_condition(rows, ("attributes", "n", "operation", "metric"), way)
        compared |= part
        notes += [note for note in part_notes if note not in notes]
    return compared, notes


def _estimate(row: FrameRow) -> str:
    if row is None:
        return NOT_RUN
    if row.kind == "ratio":
        return estimate(row.estimate, row.low, row.high)
    return difference(row.estimate, row.low, row.high, row.unit)


MAPPER: Final = "mapper against driver"
LOOKS: Final = {
    "mongoengine / pymongo": style.Look(style.BLUE, "o"),
    "Mongoose / MongoClient": style.Look(style.VERMILION, "s"),
    "native driver, 89 attributes": style.Look(style.BLUE, "o"),
    "native driver, 6 attributes": style.Look(style.BLUE, "^", "--"),
    "mapper, 89 attributes": style.Look(style.VERMILION, "s"),
    "mapper, 6 attributes": style.Look(style.VERMILION, "D", "--"),
}
"""The looks of the paper's own series, in the order of legends."""

DECLARED: Final = {"types": "types", "required": "required fields", "validated": "required, with validators"}
"""What a mapper's schema declares; runs from before there was a choice are in the row of what is nearest."""


_ratios = partial(
    Ratios,
    "drivers",
    MAPPER,
    panel=lambda row: f"{row.settings['attributes']} attributes",
    series=sides,
    axis="mapper / driver",
)

FIGURES: Final[dict[str, Maker]] = {
    **sheets("drivers", 3),
    "drivers_fig2_time": partial(four_panels, figure=2),
    "drivers_fig3_cpu": partial(four_panels, figure=3),
    "drivers_fig4_memory": partial(four_panels, figure=4),
    "drivers_ratios": _ratios(
        "mapper compared with driver",
        lambda row: f"{METRICS[row.metric]}: {row.operation}, {of_n(row)}",
        PAPERS_WAY,
    ),
    "drivers_schema": _ratios(
        "mapper compared with driver, by what its schema declares",
        lambda row: (
            f"{METRICS[row.metric]}: {row.operation}, {DECLARED[row.settings.get('document_schema', 'required')]}"
        ),
        _WAY,
        keep=("insert", "find"),
        one_n=True,
    ),
}
TABLES: Final[dict[str, Maker]] = {
    "drivers_table1_records": record_sets,
    "drivers_pairs": pairs,
    "drivers_setup": partial(
        setup,
        study="drivers",
        source="Section 3.2",
        about="Section 3.2: the machine",
        rows=("operating system", "processor", "memory", "heap"),
    ),
}
HEADLINE: Final = Headline(
    claim="drivers.insert.time.mapper-more",
    asks="What does an object mapper cost over the database's own driver?",
    says="The object mapper took {} as long as the native driver to insert records.",
    label="mapper / driver, time to insert",
)
"""What stands for the study wherever it is named."""
