"""Study `crud`: Tables I to VIII and Figs. 2 to 8, databases by operation, topology and number of records."""

from functools import partial
from typing import Any, Final

import pandas as pd

from benchbook.evidence import Evidence
from benchbook.figures import names
from benchbook.figures.caveats import caveats
from benchbook.figures.dots import dots
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.points import chosen, here, joined, of_study, paper_rows, printed, remarks, wide
from benchbook.figures.provenance import versions
from benchbook.figures.tables import NOT_PRINTED, NOT_RUN, misprints, table

PAPERS_WAY: Final[dict[str, Any]] = {
    "calls": "single",
    "constraints": "on",
    "comments_per_article": "all",
    "article_index": False,
    "durability": "default",
}
SUFFIXES: Final = {"python": "", "node": ", Node.js"}
"""What a database's name ends in where another stack than Python asked it."""

PARTS: Final = {
    "II": (2, "insert", "single"),
    "III": (3, "insert", "replicated"),
    "IV": (4, "update", "single"),
    "V": (5, "update", "replicated"),
    "VI": (6, "delete", "single"),
    "VII": (7, "delete", "replicated"),
    "VIII": (8, "select", "single"),
}
"""The figure, operation and topology of each of the paper's tables."""

OPERATIONS: Final = {
    "single": ("insert", "update", "select", "delete"),
    "replicated": ("insert", "update", "delete"),
}
"""What is timed in each topology, in that order."""


def drawn(evidence: Evidence, number: str) -> tuple[pd.DataFrame, list[str]]:
    """Return the points of one table and its figure, in ms, and what must be said of them."""
    _, operation, topology = PARTS[number]
    paper = _rows(evidence, number)
    mine, notes = _cells(evidence, operation, topology)
    metric = "elapsed_time" if topology == "replicated" else "wall_time"
    time = mine[metric] / 1e6 if metric in mine else None
    points = joined(
        printed(paper, unit="ms", panel=_panels(paper["column"].astype(int)), level=paper["row"]),
        here(mine, time, unit="ms", panel=_panels(mine.get("n")), level=mine.get("label", "")),
    )
    return points, [*remarks(points, {panel: panel for panel in sizes(points)}), *notes]


def sizes(points: pd.DataFrame) -> tuple[str, ...]:
    """Return the panels that there are, one a number of records: the paper's, and what a grid adds."""
    return tuple(sorted(set(points["panel"]), key=lambda panel: int(panel.removeprefix("n = ").replace(",", ""))))


def _rows(evidence: Evidence, number: str) -> pd.DataFrame:
    return paper_rows(evidence, "crud", f"Table {number}")


def _panels(n: "pd.Series[int] | None") -> "pd.Series[str]":
    return pd.Series(dtype=str) if n is None else n.map(lambda count: f"n = {int(count):,}")


def _cells(evidence: Evidence, operation: str, topology: str) -> tuple[pd.DataFrame, list[str]]:
    every = wide(evidence, "crud")
    if every.empty:
        return every, []
    mine = every[
        (every["operation"] == operation) & (every["topology"].isin([topology, "none"])) & (every["role"] == "client")
    ]
    mine, notes = chosen(mine, PAPERS_WAY)
    stack = mine["lane"].fillna("python").map(SUFFIXES) if "lane" in mine else ""
    return mine.assign(label=mine["engine"].map(names.engine) + stack), notes


def _title(kind: str, number: object, operation: str, topology: str) -> str:
    alone = "single instance" if topology == "single" else "until primary and replica hold the same"
    return f"crud, {kind} {number}: {operation}, {alone}"


def times_figure(evidence: Evidence, *, number: str) -> Exhibit:
    """Draw one of Figs. 2 to 8."""
    figure, operation, topology = PARTS[number]
    points, notes = drawn(evidence, number)
    title = _title("Fig.", figure, operation, topology)
    rows = names.ordered(set(points["level"]))
    drawing = dots(points, title=title, axis="time, ms", rows=rows, panels=sizes(points), notes=notes)
    return Exhibit(title, points, tuple(notes), drawing)


def times_table(evidence: Evidence, *, number: str) -> Exhibit:
    """Set one of Tables II to VIII."""
    _, operation, topology = PARTS[number]
    points, notes = drawn(evidence, number)
    frame = table(
        points,
        corner="Database",
        rows=names.ordered(set(points["level"])),
        columns=sizes(points),
    )
    title = _title("Table", number, operation, topology) + ", ms"
    return Exhibit(title, frame, (*notes, *misprints(_rows(evidence, number))))


def versions_table(evidence: Evidence) -> Exhibit:
    """Set Table I: the databases' versions, theirs and here."""
    theirs = _rows(evidence, "I").set_index("row")["printed"]
    rows = of_study(evidence, "crud")
    mine = {names.engine(engine): text for engine, text in versions(rows).items()}
    databases = names.ordered(set(theirs.index) | set(mine))
    frame = pd.DataFrame(
        {
            "Database": databases,
            "Version, published": [theirs.get(name, NOT_PRINTED) for name in databases],
            "Version, here": [mine.get(name, NOT_RUN) or NOT_PRINTED for name in databases],
        }
    )
    return Exhibit(
        "crud, Table I: database versions", frame, (*caveats(rows).values(), *misprints(_rows(evidence, "I")))
    )


FIGURES: Final[dict[str, Maker]] = {
    f"crud_fig{figure}_{operation}_{topology}": partial(times_figure, number=number)
    for number, (figure, operation, topology) in PARTS.items()
}
TABLES: Final[dict[str, Maker]] = {
    "crud_table1_versions": versions_table,
    **{
        f"crud_table{rank}_{operation}_{topology}": partial(times_table, number=number)
        for rank, (number, (_, operation, topology)) in enumerate(PARTS.items(), start=2)
    },
}
