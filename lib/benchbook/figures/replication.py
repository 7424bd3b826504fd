"""Study `replication`: Tables I and II, and Figs. 15 to 18, JSON against XML by engine."""

from dataclasses import dataclass
from functools import partial
from typing import Final

import pandas as pd

from benchbook.evidence import Evidence
from benchbook.figures import names
from benchbook.figures.dots import dots
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.points import chosen, here, joined, paper_rows, printed, remarks, wide

N: Final = (2000, 4000, 6000, 8000, 10000)
PAPERS_WAY: Final = {"topology": "replicated", "durability": "default"}
THEIRS: Final = "{} (published)"


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


def drawn(evidence: Evidence, figure: int) -> tuple[pd.DataFrame, list[str]]:
    """Return the points of one figure, averaged over the numbers of records, and what must be said of them."""
    part = PARTS[figure]
    paper = paper_rows(evidence, "replication", f"Fig. {figure}")
    theirs = printed(paper, unit=part.unit, level=paper["row"].map(THEIRS.format), series=paper["column"])
    mine, notes = _nodes(evidence)
    places = {name: mine[name] for name in ("level", "series") if name in mine}
    points = joined(theirs, here(mine, mine.get(part.metric), unit=part.unit, over="n", **places))
    said = [*remarks(points, {}), *_averaged(mine), *notes, "the paper does not say which node it shows"]
    return points, said


def _nodes(evidence: Evidence) -> tuple[pd.DataFrame, list[str]]:
    every, notes = chosen(wide(evidence, "replication"), PAPERS_WAY)
    if every.empty:
        return every, notes
    nodes = every[every["role"].isin(["primary", "replica"])]
    level = nodes["engine"].map(names.engine) + ", " + nodes["role"]
    return nodes.assign(level=level, series=nodes["model"].map(lambda name: names.MODELS.get(name, name))), notes


def _averaged(mine: pd.DataFrame) -> list[str]:
    if mine.empty:
        return []
    ran = sorted({int(n) for n in mine["n"]})
    absent = [f"{n:,}" for n in N if n not in ran]
    said = f"mean over n = {', '.join(f'{n:,}' for n in ran)}"
    return [said + (f" (the paper's n = {', '.join(absent)} not run in this profile)" if absent else "")]


def averages(evidence: Evidence, *, figure: int) -> Exhibit:
    """Draw one of Figs. 15 to 18."""
    part = PARTS[figure]
    points, notes = drawn(evidence, figure)
    title = f"replication, Fig. {figure}: {part.quantity}, {part.unit}"
    rows = sorted(set(points["level"]), key=_place)
    drawing = dots(points, title=title, axis=f"{part.quantity}, {part.unit}", rows=rows, notes=notes, log=part.log)
    return Exhibit(title, points, tuple(notes), drawing)


def _place(row: str) -> tuple[int, str]:
    """Return an engine's place, its published row before those of its nodes."""
    engine, _, node = (row.removesuffix(" (published)"), "", "") if row.endswith(")") else row.rpartition(", ")
    engines = list(names.ENGINES.values())
    return engines.index(engine) if engine in engines else len(engines), node


FIGURES: Final[dict[str, Maker]] = {
    f"replication_fig{number}_{part.name}": partial(averages, figure=number) for number, part in PARTS.items()
}
