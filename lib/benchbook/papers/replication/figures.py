"""Tables I and II and Figs. 15 to 18 of study `replication`: JSON against XML by engine, and the ratios of both."""

from dataclasses import dataclass
from functools import partial
from typing import Final

import pandas as pd

from benchbook.evidence import Evidence
from benchbook.papers.replication import CALLED
from benchbook.papers.setups import HERE, Facts, setup
from benchbook.plots import names, style
from benchbook.plots.dots import dots
from benchbook.plots.exhibit import Exhibit, Maker
from benchbook.plots.points import chosen, here, joined, paper, printed, remarks, where, wide
from benchbook.plots.ratios import Headline, Ratios, quantity, sides
from benchbook.plots.verdicts import sheets

N: Final = (2000, 4000, 6000, 8000, 10000)
PAPERS_WAY: Final = {"topology": "replicated", "process": "together", "durability": "default"}
THEIRS: Final = " (published)"


@dataclass(frozen=True)
class Part:
    """One of the paper's figures: a quantity of a node's database process in the window of a replication."""

    name: str
    quantity: str
    unit: str
    metric: str
    log: bool


PARTS: Final = {
    15: Part("bandwidth", "data transfer", "Kbps", "bandwidth", True),
    16: Part("cpu", "CPU, share of all processors", "%", "cpu_percent", False),
    17: Part("memory", "resident memory", "MB", "memory_rss_mb", False),
    18: Part("time", "execution time (system and user CPU)", "s", "cpu_time", True),
}


def averages(evidence: Evidence, *, figure: int) -> Exhibit:
    """Draw one of Figs. 15 to 18, averaged over the numbers of records."""
    part = PARTS[figure]
    rows = paper(evidence, "replication", f"Fig. {figure}")
    published = printed(rows, unit=part.unit, level=rows["row"] + THEIRS, series=rows["column"])
    way = PAPERS_WAY if part.metric != "memory_rss_mb" else {**PAPERS_WAY, "process": "apart"}
    measured, notes = chosen(where(wide(evidence, "replication"), process=way["process"]), way)
    measured = where(measured, role=("primary", "replica"))
    level = measured["engine"].map(names.engine) + ", " + measured["role"]
    series = measured["model"].map(lambda name: CALLED["model"].get(name, name))
    points = joined(published, here(measured, part.metric, unit=part.unit, over="n", level=level, series=series))
    notes = [*remarks(points, {}), *_averaged(measured), *notes, "the paper does not say which node it shows"]
    title = f"replication, Fig. {figure}: {part.quantity}, {part.unit}"
    order = sorted(set(points["level"]), key=_place)
    return dots(points, title=title, axis=f"{part.quantity}, {part.unit}", rows=order, notes=notes, log=part.log)


def _averaged(measured: pd.DataFrame) -> list[str]:
    if measured.empty:
        return []
    ran = sorted({int(n) for n in measured["n"]})
    absent = [f"{n:,}" for n in N if n not in ran]
    sentence = f"mean over n = {', '.join(f'{n:,}' for n in ran)}"
    return [sentence + (f" (the paper's n = {', '.join(absent)} not run in this profile)" if absent else "")]


def _place(row: str) -> tuple[int, str]:
    """Return an engine's place, its published row before those of its nodes."""
    engine, _, node = (row.removesuffix(THEIRS), "", "") if row.endswith(THEIRS) else row.rpartition(", ")
    engines = list(names.ENGINES.values())
    return engines.index(engine) if engine in engines else len(engines), node


LOOKS: Final = {
    "JSON, a document": style.Look(style.BLUE, "o"),
    "JSON as text": style.Look(style.BLUE, "^"),
    "XML, field by field": style.Look(style.VERMILION, "s"),
    "XML as text": style.Look(style.VERMILION, "D"),
    "XML (text) / JSON (text)": style.Look(style.BLUE, "o"),
    "XML (text) / JSON (document)": style.Look(style.BLUE, "^"),
    "XML (fields) / JSON (text)": style.Look(style.VERMILION, "D"),
    "XML (fields) / JSON (document)": style.Look(style.VERMILION, "s"),
}
"""The looks of the paper's own series, in the order of legends."""

FIGURES: Final[dict[str, Maker]] = {
    **sheets("replication"),
    **{f"replication_fig{number}_{part.name}": partial(averages, figure=number) for number, part in PARTS.items()},
    "replication_ratios": Ratios(
        "replication",
        "XML against JSON",
        "XML over JSON",
        quantity,
        PAPERS_WAY,
        panel=lambda row: names.engine(row.settings["engine"]),
        one_n=True,
        abreast=3,
        series=sides,
    ),
}
_SETUP: Final = partial(setup, study="replication", nodes=("master", "slave", "client"))
_SOFTWARE: Final[Facts] = {
    "operating system, Ubuntu": HERE["operating system"],
    "Atop": lambda cells: "none: the kernel's own counters" if cells else "",
}
TABLES: Final[dict[str, Maker]] = {
    "replication_table1_setup": partial(_SETUP, source="Table I", about="Table I: software", here=_SOFTWARE),
    "replication_table2_setup": partial(_SETUP, source="Table II", about="Table II: hardware", hardware_alone=True),
}
HEADLINES: Final = [
    Headline(
        f"JSON / XML, MongoDB, {name}",
        f"replication.{claim}.mongodb",
        says=f"Replicating JSON documents in MongoDB took {{}} the {name} of XML.",
    )
    for name, claim in (("bandwidth", "bandwidth"), ("bytes", "bytes"), ("CPU time", "time"), ("memory", "memory"))
]
"""What the paper is about: contrasts of its claims."""
