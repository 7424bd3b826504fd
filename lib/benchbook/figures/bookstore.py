"""Study `bookstore`: the tables of both cases, and the time and size over the number of books that they hold."""

from functools import partial
from typing import Any, Final

import pandas as pd

from benchbook.figures import names
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.lines import lines
from benchbook.figures.points import chosen, here, joined, printed, remarks, wide
from benchbook.figures.tables import misprints, table

N: Final = (1, 10, 100, 1000, 10000)
PAPERS_WAY: Final[dict[str, Any]] = {"process": "together", "sink": "file", "json_codec": "orjson", "xml_codec": "lxml"}
HEADS: Final = {"time": "time (µs)", "size": "size (here in bytes)"}
BYTES: Final = {"B": 1, "KB": 1_000, "MB": 1_000_000}


def drawn(observations: pd.DataFrame, published: pd.DataFrame, case: int) -> tuple[pd.DataFrame, list[str]]:
    """Return the points of one case, times in µs and sizes in bytes, and what must be said of them."""
    paper = _rows(published, case)
    scale = paper["unit"].map(BYTES).fillna(1)
    theirs = printed(
        paper.assign(value=paper["value"] * scale),
        unit="",
        panel=paper["column"].str.split().str[1],
        level=paper["row"].astype(int),
        series=paper["column"].str.split().str[0],
    )
    theirs = theirs.assign(unit=theirs["panel"].map({"time": "µs", "size": "B"}))
    mine, notes = _cells(observations, case)
    points = joined(
        theirs, *(_here(mine, *part) for part in (("round_trip", "wall_time", 1e3), ("marshal", "size", 1)))
    )
    return points, [*remarks(points, {f"n = {n:,}": n for n in N}), *notes]


def _rows(published: pd.DataFrame, case: int) -> pd.DataFrame:
    return published[(published["study"] == "bookstore") & (published["source"] == f"Case {case} table")]


def _cells(observations: pd.DataFrame, case: int) -> tuple[pd.DataFrame, list[str]]:
    every = wide(observations, "bookstore")
    return chosen(every[every["case"] == case], PAPERS_WAY) if len(every) else (every, [])


def _here(mine: pd.DataFrame, operation: str, metric: str, scale: float) -> pd.DataFrame:
    if metric not in mine:
        return here(mine, None, unit="")
    rows = mine[mine["operation"] == operation]
    panel, unit = ("size", "B") if metric == "size" else ("time", "µs")
    series = rows["format"].map(names.FORMATS)
    return here(rows, rows[metric] / scale, unit=unit, panel=panel, level=rows["n"].astype(int), series=series)


def case_table(observations: pd.DataFrame, published: pd.DataFrame, *, case: int) -> Exhibit:
    """Set one case's table: average time of marshalling and unmarshalling, and file size."""
    points, notes = drawn(observations, published, case)
    placed = points.assign(
        level=points["level"].map(lambda n: f"{n:,}"),
        panel=points["series"] + " " + points["panel"].map(HEADS),
    )
    columns = [f"{kind} {head}" for head in HEADS.values() for kind in ("XML", "JSON")]
    frame = table(placed, corner="Number of books", rows=[f"{n:,}" for n in N], columns=columns)
    title = f"bookstore, case {case}: marshalling and unmarshalling, and size on disk"
    return Exhibit(title, frame, (*notes, *misprints(_rows(published, case))))


def case_figure(observations: pd.DataFrame, published: pd.DataFrame, *, case: int) -> Exhibit:
    """Draw one case's table: time and size over the number of books."""
    points, notes = drawn(observations, published, case)
    title = f"bookstore, case {case}: time and size over the number of books"
    shown = points.assign(panel=points["panel"].map({"time": "Time, µs", "size": "Size, bytes"}))
    drawing = lines(
        shown,
        title=title,
        axes_names=("books", ""),
        ticks=N,
        panels=("Time, µs", "Size, bytes"),
        notes=notes,
    )
    return Exhibit(title, points, tuple(notes), drawing)


FIGURES: Final[dict[str, Maker]] = {f"bookstore_case{case}": partial(case_figure, case=case) for case in (1, 2)}
TABLES: Final[dict[str, Maker]] = {f"bookstore_table_case{case}": partial(case_table, case=case) for case in (1, 2)}
