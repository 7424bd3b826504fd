"""The tables of both cases of study `bookstore`, time and size over the number of books; cold starts; all libraries."""

from functools import partial
from itertools import product
from typing import Any, Final

import pandas as pd

from benchbook.evidence import Evidence
from benchbook.evidence import number as published_number
from benchbook.plots import names
from benchbook.plots.dots import dots
from benchbook.plots.exhibit import Exhibit, Maker
from benchbook.plots.lines import lines
from benchbook.plots.points import (
    by_source,
    chosen,
    here,
    joined,
    not_run,
    paper,
    printed,
    remarks,
    settled,
    side_by_side,
    where,
    wide,
)
from benchbook.plots.provenance import setup
from benchbook.plots.ratios import METRICS, Headline, Ratios, blocks_a_side, by_condition, of_n
from benchbook.plots.tables import NOT_RUN, estimate, misprints, number, table
from benchbook.plots.verdicts import sheets

N: Final = (1, 10, 100, 1000, 10000)
ANY_LIBRARY: Final[dict[str, Any]] = {"process": "together", "sink": "file", "keys": "paper", "binding": "once"}
PAPERS_WAY: Final[dict[str, Any]] = {**ANY_LIBRARY, "json_codec": "orjson", "xml_codec": "lxml"}
OWN: Final = {"Java": {"json_codec": "jackson", "xml_codec": "jaxb"}}
"""What is another on the paper's own stack."""

HEADS: Final = {"time": "time (µs)", "size": "size (here in bytes)"}
UNITS: Final = {"time": "µs", "size": "B"}
BYTES: Final = {"B": 1, "KB": 1_000, "MB": 1_000_000}


def drawn(evidence: Evidence, case: int) -> tuple[pd.DataFrame, dict[str, pd.DataFrame], list[str]]:
    """Return the paper's points of one case and each stack's, times in µs and sizes in bytes, and what must be said."""
    rows = _printed(evidence, case)
    series, panel = (rows["column"].str.split().str[part] for part in (0, 1))
    in_bytes = rows.assign(value=rows["value"] * rows["unit"].map(BYTES).fillna(1))
    theirs = printed(in_bytes, unit="", panel=panel, level=rows["row"].astype(int), series=series)
    theirs["unit"] = theirs["panel"].map(UNITS)
    cells, notes = settled(where(wide(evidence, "bookstore"), case=case), PAPERS_WAY, OWN)
    mine = {stack: _here(some) for stack, some in cells.items()}
    return theirs, mine, [*remarks(joined(theirs, *mine.values()), {f"n = {n:,}": n for n in N}), *notes]


def _printed(evidence: Evidence, case: int) -> pd.DataFrame:
    return paper(evidence, "bookstore", f"Case {case} table")


def _here(cells: pd.DataFrame) -> pd.DataFrame:
    parts = []
    for panel, operation, metric, scale in (("time", "round_trip", "wall_time", 1e-3), ("size", "marshal", "size", 1)):
        rows = where(cells, operation=operation)
        series = rows["format"].map(names.FORMATS)
        level = rows["n"].astype(int)
        parts.append(here(rows, metric, unit=UNITS[panel], scale=scale, panel=panel, level=level, series=series))
    return joined(*parts)


def case_table(evidence: Evidence, *, case: int) -> Exhibit:
    """Set one case's table: average time of marshalling and unmarshalling, and file size."""
    theirs, mine, notes = drawn(evidence, case)
    points, sources = by_source(theirs, mine)
    sizes = sorted({*N, *points["level"]})
    panel = points["series"] + " " + points["panel"].map(HEADS)
    points = points.assign(level=points["level"].map("{:,}".format), panel=panel)
    columns = [f"{kind} {head}" for head in HEADS.values() for kind in ("XML", "JSON")]
    frame = table(points, corner="Number of books", rows=[f"{n:,}" for n in sizes], columns=columns, sources=sources)
    title = f"bookstore, case {case}: marshalling and unmarshalling, and size on disk"
    return Exhibit(title, frame, (*notes, *misprints(_printed(evidence, case))))


def case_figure(evidence: Evidence, *, case: int) -> Exhibit:
    """Draw one case's table: time and size over the number of books."""
    theirs, mine, notes = drawn(evidence, case)
    title = f"bookstore, case {case}: time and size over the number of books"
    points, panels = side_by_side(theirs, mine, ("time", "size"))
    heads = {panel: panel.replace("time", "Time in µs").replace("size", "Size in bytes") for panel in panels}
    alike = len(mine) > 1
    return lines(
        points, title=title, axes_names=("books", ""), levels=N, panels=panels, notes=notes, alike=alike, heads=heads
    )


NEAR: Final = 0.3
WITHIN: Final = f"within {100 * NEAR:.0f} %"
OPERATIONS: Final = {"written and read": "round_trip", "written": "marshal", "read": "unmarshal"}
STACKS: Final = ("Java", "Python")
"""The paper's own first."""


def cold(evidence: Evidence) -> Exhibit:
    """Set XML's time over JSON's for both cases and every number of books, the paper's own stack first."""
    times = where(evidence.comparisons, study="bookstore", metric="wall_time")
    times = times.loc[[settings["process"] != "warm" for settings in times["settings"]]].dropna(subset=["ratio"])
    found, notes = by_condition(times, ("case", "n", "operation"), PAPERS_WAY, OWN)
    conditions = list(product((1, 2), sorted({*N, *(int(n) for _, _, n, _ in found)})))
    frame = pd.DataFrame({"Case": [case for case, _ in conditions], "Books": [f"{n:,}" for _, n in conditions]})
    theirs = [_published_ratio(*condition) for condition in conditions]
    frame["written and read, published"] = [number(ratio) for ratio in theirs]
    for stack, (what, operation) in product(STACKS, OPERATIONS.items()):
        rows = [found.get((stack, *condition, operation)) for condition in conditions]
        frame[f"{stack}: {what}, here"] = [_estimate(row) for row in rows]
        if operation == "round_trip":
            frame[f"{stack}: {WITHIN}"] = [_near(row, ratio) for row, ratio in zip(rows, theirs, strict=True)]
    said = [
        *([blocks_a_side([min(row.n_a, row.n_b) for row in found.values()])] if found else []),
        *(note for stack in STACKS if stack not in {key[0] for key in found} for note in not_run([stack])),
        "each cell is one process without warm-up, and the mean holds its first repetition, as in the paper",
        f"{WITHIN}: the ratio here over the published one lies in {1 - NEAR:g} to {1 + NEAR:g}",
        "the paper prints the sum of writing and reading alone",
    ]
    title = "bookstore: XML over JSON, time from a cold start, ratios with their 95 % intervals"
    return Exhibit(title, frame, (*said, *notes))


def _published_ratio(case: int, n: int) -> float:
    xml, json = (
        published_number("bookstore", f"Case {case} table", str(n), f"{kind} time") for kind in ("XML", "JSON")
    )
    return xml / json


def _estimate(row: Any) -> str:
    return NOT_RUN if row is None else estimate(row.ratio, row.low, row.high)


def _near(row: Any, theirs: float) -> str:
    if row is None:
        return NOT_RUN
    share = row.ratio / theirs
    return f"{'yes' if abs(share - 1) <= NEAR else 'no'} ({number(share)})"


def libraries(evidence: Evidence) -> Exhibit:
    """Draw each library's round trip over the fastest one's of the same case; the papers print nothing of the kind."""
    every, notes = chosen(wide(evidence, "bookstore"), ANY_LIBRARY)
    every = where(every, operation="round_trip")
    n = 1000 if 1000 in set(every["n"]) else every["n"].max()
    cases = [_over_the_fastest(f"case {case}", some) for case, some in where(every, n=n).groupby("case")]
    points = joined(*cases)
    notes = [*remarks(points, {}), *(_libraries_said(int(n), cases) if cases else []), *notes]
    rows = points.sort_values(["series", "value"], kind="stable")["level"].drop_duplicates().tolist()
    title = "bookstore: what the choice of library is worth beside the choice of format"
    panels = sorted(set(points["panel"])) or ["case 1", "case 2"]
    axis = "time, times the fastest"
    return dots(points, title=title, axis=axis, rows=rows, panels=panels, notes=notes, reference=1.0)


def _over_the_fastest(case: str, rows: pd.DataFrame) -> pd.DataFrame:
    level = rows["codec"].map(names.codec) + ", " + rows["lane"].map(names.STACKS)
    points = here(rows, "wall_time", unit="ratio", panel=case, level=level, series=rows["format"].map(names.FORMATS))
    fastest = points["value"].min()
    return points.assign(**{name: points[name] / fastest for name in ("value", "low", "high")})


def _libraries_said(n: int, cases: list[pd.DataFrame]) -> list[str]:
    """Say what is shown, and in each case what each of the two choices is worth."""
    said = [
        f"{n:,} books: time to a file and back, over the fastest library's of the same case",
        "each interval is the library's own; the fastest one's stands around 1",
    ]
    for points in cases:
        ratios = points.groupby("series")["value"].agg(["min", "max"])
        worth = [
            f"the slowest {kind} library took {row['max'] / row['min']:.2g} times the fastest one's time"
            for kind, row in ratios.iterrows()
        ]
        if {"JSON", "XML"} <= set(ratios.index):
            worth += [f"the fastest XML {ratios['min']['XML'] / ratios['min']['JSON']:.2g} times the fastest JSON's"]
        said.append(f"{points['panel'].iloc[0]}: {', '.join(worth)}")
    return said


FIGURES: Final[dict[str, Maker]] = {
    **sheets("bookstore"),
    **{f"bookstore_case{case}": partial(case_figure, case=case) for case in (1, 2)},
    "bookstore_libraries": libraries,
    "bookstore_ratios": Ratios(
        "bookstore",
        "XML against JSON",
        "XML over JSON",
        lambda row: f"{METRICS[row.metric]}, {of_n(row)}",
        PAPERS_WAY,
        own=OWN,
        panel=lambda row: f"case {row.settings['case']}",
        keep=("round_trip", "marshal"),
        series=lambda row: names.STACKS[row.lane],
    ),
}
TABLES: Final[dict[str, Maker]] = {
    **{f"bookstore_table_case{case}": partial(case_table, case=case) for case in (1, 2)},
    "bookstore_cold": cold,
    "bookstore_setup": partial(
        setup,
        study="bookstore",
        source="Section IV",
        about="Section IV: the machine",
        rows=("processor", "word length", "JVM", "Apache Maven"),
    ),
}
HEADLINES: Final = [
    Headline("XML / JSON, time, case 1", "bookstore.round-trip.xml-slower", ("case=1",)),
    Headline(
        "XML / JSON, time, case 2",
        "bookstore.round-trip.xml-slower",
        ("case=2",),
        "Writing a bookstore to XML and reading it back took {} as long as with JSON.",
    ),
    Headline("XML / JSON, bytes, case 2", "bookstore.size.xml-larger", ("case=2",)),
]
"""What the paper is about: contrasts of its claims."""
