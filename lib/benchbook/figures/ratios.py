"""Every comparison of a study as a ratio: the paper's hollow, this machine's with its 95 % interval."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import pandas as pd

from benchbook.evidence import Evidence
from benchbook.figures import bookstore, crud, drivers, names, replication, stacks, tcp
from benchbook.figures.caveats import caveats
from benchbook.figures.compared import about, by_stack, counted, has, of_one_n, over, points_of
from benchbook.figures.dots import dots
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.points import Row, each, joined, of_study

METRICS: Final = {
    "wall_time": "time",
    "elapsed_time": "time",
    "cpu_time": "CPU time",
    "size": "size",
    "bandwidth": "bandwidth",
    "bytes_received": "bytes",
    "cpu_percent": "share of the CPU",
    "cpu_user_percent": "user CPU share",
    "cpu_system_percent": "system CPU share",
    "memory_percent": "memory share",
    "memory_rss_mb": "resident memory",
    "memory_change_kb": "new memory",
}
"""What is compared as a ratio, in print. The ratio of times an object is that of the times: it stands in the tables."""


def _n(row: Row) -> str:
    return f"n = {int(row.n):,}"


def _sides(row: Row) -> str:
    return f"{row.a} / {row.b}"


@dataclass(frozen=True)
class Part:
    """One study's comparisons of one kind."""

    study: str
    comparison: str
    title: str
    row: Callable[[Row], str]
    ways: Mapping[str, Mapping[str, Any]]  # of each lane
    panel: Callable[[Row], str] = _n
    keep: tuple[str, ...] = ()  # operations; all when empty
    series: Callable[[Row], str] = field(default=lambda row: "")
    over: str = ""  # the one side that all others are drawn over; every pair as it stands when empty
    panels: tuple[str, ...] = ()  # their order, four side by side; as they come when empty
    abreast: int = 4  # how many panels stand side by side
    one_n: bool = False  # draw the largest n that most of the rows have


PARTS: Final = {
    "bookstore_ratios": Part(
        "bookstore",
        "XML against JSON",
        "XML over JSON",
        lambda row: f"{METRICS[row.metric]}, {_n(row)}",
        bookstore.WAYS,
        panel=lambda row: f"case {row.settings['case']}",
        keep=("round_trip", "marshal"),
        series=lambda row: stacks.NAMES[row.settings.get("lane", "python")],
    ),
    "tcp_ratios": Part(
        "tcp",
        "XML against JSON",
        "XML over JSON",
        lambda row: f"{METRICS[row.metric]}, {row.role}",
        dict.fromkeys(("python", "java"), tcp.PAPERS_WAY),
        series=_sides,
    ),
    "drivers_ratios": Part(
        "drivers",
        "mapper against driver",
        "mapper over native driver",
        lambda row: f"{METRICS[row.metric]}: {row.operation}, {_n(row)}",
        dict.fromkeys(("python", "node"), drivers.PAPERS_WAY),
        panel=lambda row: f"{row.settings['attributes']} attributes",
        series=_sides,
    ),
    "crud_ratios_engines": Part(
        "crud",
        "engine against engine",
        "each engine over MongoDB",
        lambda row: str(row.a),
        dict.fromkeys(("python", "node"), crud.PAPERS_WAY),
        panel=lambda row: f"{row.operation}, {row.settings['topology']}",
        over="mongodb",
        panels=tuple(f"{operation}, {topology}" for topology, some in crud.OPERATIONS.items() for operation in some),
        one_n=True,
    ),
    "crud_ratios_replication": Part(
        "crud",
        "replicated against single",
        "replicated over single",
        lambda row: stacks.named(names.engine(str(row.settings["engine"])), row),
        dict.fromkeys(("python", "node"), crud.PAPERS_WAY),
        panel=lambda row: str(row.operation),
        one_n=True,
    ),
    "replication_ratios": Part(
        "replication",
        "XML against JSON",
        "XML over JSON",
        lambda row: f"{METRICS[row.metric]}, {row.role}",
        {"python": replication.PAPERS_WAY},
        panel=lambda row: names.engine(str(row.settings["engine"])),
        one_n=True,
        abreast=3,
        series=_sides,
    ),
}


def drawn(evidence: Evidence, part: Part) -> tuple[pd.DataFrame, list[str]]:
    """Return the points of one study's ratios, and what must be said of them."""
    table = evidence.comparisons
    table = table[
        (table["study"] == part.study) & (table["comparison"] == part.comparison) & table["metric"].isin(list(METRICS))
    ]
    table = table[table["operation"].isin(part.keep)] if part.keep else table
    table = table[~((table["operation"] == "marshal") & (table["metric"] == "wall_time"))]
    settled, notes = by_stack(table, part.ways)
    kept = pd.concat(settled.values())
    order = [name for name in ("case", "attributes", "model", "n") if name in kept]
    kept = kept.sort_values(order, kind="stable", ascending=[name != "attributes" for name in order])
    rows = [over(row, part.over) for row in each(kept) if row.ratio == row.ratio and has(row, part.over)]
    if part.one_n:
        rows, notes = of_one_n(rows, notes)
    said = caveats(of_study(evidence, part.study))
    parts = [points_of(row, part.row(row), part.panel(row), part.series(row), about(row, said)) for row in rows]
    points = joined(*parts)
    return points, [*_said(points), *notes]


def _said(points: pd.DataFrame) -> list[str]:
    mine = points[points["source"] == "here"]
    if mine.empty:
        return ["not run in this profile: nothing of this machine to compare"]
    return [
        counted(mine["blocks"]),
        "right of 1: the first named is larger or slower",
        *sorted(set(mine["caveat"]) - {""}),
    ]


def ratios(evidence: Evidence, *, name: str) -> Exhibit:
    """Draw one study's ratios; the published ones come with the comparisons."""
    part = PARTS[name]
    points, notes = drawn(evidence, part)
    title = f"{part.study}: {part.title}"
    if len(only := set(points["series"])) == 1 and (pair := only.pop()):
        points, title = points.assign(series=""), f"{part.study}: {pair}" if "/" in pair else title
    present = list(dict.fromkeys(points["panel"]))
    panels = [panel for panel in part.panels if panel in present] or _ordered(present) or [""]
    rows = _ordered(list(dict.fromkeys(points["level"])))
    drawing = dots(
        points,
        title=title,
        axis="ratio",
        rows=rows,
        panels=panels,
        notes=notes,
        reference=1.0,
        columns=-(-len(panels) // -(-len(panels) // part.abreast)),
    )
    return Exhibit(title, points, tuple(notes), drawing)


def _ordered(rows: list[str]) -> list[str]:
    """Bring engines into the papers' order, and rows that begin alike (up to a colon) together, else as they come."""
    if set(rows) <= set(names.ENGINES.values()):
        return names.ordered(set(rows))
    first = {row.partition(":")[0]: rank for rank, row in reversed(list(enumerate(rows)))}
    return sorted(rows, key=lambda row: first[row.partition(":")[0]])


FIGURES: Final[dict[str, Maker]] = {name: partial(ratios, name=name) for name in PARTS}
