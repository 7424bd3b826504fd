"""Study `bookstore`: the tables of both cases, and the time and size over the number of books that they hold."""

from functools import partial
from typing import Any, Final

import pandas as pd

from benchbook.evidence import Evidence
from benchbook.figures import names, stacks
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.lines import lines
from benchbook.figures.points import here, joined, paper_rows, printed, remarks, wide
from benchbook.figures.tables import misprints, table

N: Final = (1, 10, 100, 1000, 10000)
PAPERS_WAY: Final[dict[str, Any]] = {"process": "together", "sink": "file", "json_codec": "orjson", "xml_codec": "lxml"}
WAYS: Final = {
    "python": PAPERS_WAY,
    "java": {**PAPERS_WAY, "json_codec": "jackson", "xml_codec": "jaxb", "binding": "once"},
}
"""What each lane's points are of; the paper's own is Java."""

HEADS: Final = {"time": "time (µs)", "size": "size (here in bytes)"}
BYTES: Final = {"B": 1, "KB": 1_000, "MB": 1_000_000}


def drawn(evidence: Evidence, case: int) -> tuple[pd.DataFrame, dict[str, pd.DataFrame], list[str]]:
    """Return the paper's points of one case and each stack's, times in µs and sizes in bytes, and what must be said."""
    paper = _rows(evidence, case)
    scale = paper["unit"].map(BYTES).fillna(1)
    theirs = printed(
        paper.assign(value=paper["value"] * scale),
        unit="",
        panel=paper["column"].str.split().str[1],
        level=paper["row"].astype(int),
        series=paper["column"].str.split().str[0],
    )
    theirs = theirs.assign(unit=theirs["panel"].map({"time": "µs", "size": "B"}))
    cells, notes = _cells(evidence, case)
    parts = (("round_trip", "wall_time", 1e3), ("marshal", "size", 1))
    mine = {stack: joined(*(_here(some, *part) for part in parts)) for stack, some in cells.items()}
    return theirs, mine, [*remarks(joined(theirs, *mine.values()), {f"n = {n:,}": n for n in N}), *notes]


def _rows(evidence: Evidence, case: int) -> pd.DataFrame:
    return paper_rows(evidence, "bookstore", f"Case {case} table")


def _cells(evidence: Evidence, case: int) -> tuple[dict[str, pd.DataFrame], list[str]]:
    every = wide(evidence, "bookstore")
    return stacks.settled(every[every["case"] == case] if len(every) else every, WAYS)


def _here(mine: pd.DataFrame, operation: str, metric: str, scale: float) -> pd.DataFrame:
    if metric not in mine:
        return here(mine, None, unit="")
    rows = mine[mine["operation"] == operation]
    panel, unit = ("size", "B") if metric == "size" else ("time", "µs")
    series = rows["format"].map(names.FORMATS)
    return here(rows, rows[metric] / scale, unit=unit, panel=panel, level=rows["n"].astype(int), series=series)


def case_table(evidence: Evidence, *, case: int) -> Exhibit:
    """Set one case's table: average time of marshalling and unmarshalling, and file size."""
    theirs, mine, notes = drawn(evidence, case)
    points, sources = stacks.sources(theirs, mine)
    placed = points.assign(
        level=points["level"].map(lambda n: f"{n:,}"),
        panel=points["series"] + " " + points["panel"].map(HEADS),
    )
    columns = [f"{kind} {head}" for head in HEADS.values() for kind in ("XML", "JSON")]
    frame = table(placed, corner="Number of books", rows=[f"{n:,}" for n in N], columns=columns, sources=sources)
    title = f"bookstore, case {case}: marshalling and unmarshalling, and size on disk"
    return Exhibit(title, frame, (*notes, *misprints(_rows(evidence, case))))


def case_figure(evidence: Evidence, *, case: int) -> Exhibit:
    """Draw one case's table: time and size over the number of books."""
    theirs, mine, notes = drawn(evidence, case)
    title = f"bookstore, case {case}: time and size over the number of books"
    points, places = stacks.panels(theirs, mine, ("time", "size"))
    heads = {place: place.replace("time", "Time in µs").replace("size", "Size in bytes") for place in places}
    drawing = lines(
        points.assign(panel=points["panel"].map(heads)),
        title=title,
        axes_names=("books", ""),
        ticks=N,
        panels=list(heads.values()),
        notes=notes,
        columns=2,
        alike=len(mine) > 1,
    )
    return Exhibit(title, points, tuple(notes), drawing)


FIGURES: Final[dict[str, Maker]] = {f"bookstore_case{case}": partial(case_figure, case=case) for case in (1, 2)}
TABLES: Final[dict[str, Maker]] = {f"bookstore_table_case{case}": partial(case_table, case=case) for case in (1, 2)}
