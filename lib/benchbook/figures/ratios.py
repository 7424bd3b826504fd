"""Every comparison of a study as a ratio: the paper's hollow, this machine's with its 95 % interval."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import pandas as pd

from benchbook import evidence
from benchbook.figures import bookstore, crud, drivers, names, replication, stacks, tcp
from benchbook.figures.dots import dots
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.points import COLUMNS, Row, each, empty, joined

METRICS: Final = {
    "wall_time": "time",
    "elapsed_time": "time",
    "time_per_item": "time an object",
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
"""What is compared as a ratio, in print."""


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
        "engine over engine",
        lambda row: f"{row.operation}, {row.settings['topology']}: {row.a} / {row.b}",
        {"python": crud.PAPERS_WAY},
    ),
    "crud_ratios_replication": Part(
        "crud",
        "replicated against single",
        "replicated over single",
        lambda row: f"{row.operation}: {names.engine(str(row.settings['engine']))}",
        {"python": crud.PAPERS_WAY},
    ),
    "replication_ratios": Part(
        "replication",
        "XML against JSON",
        "XML over JSON",
        lambda row: f"{names.engine(str(row.settings['engine']))}: {METRICS[row.metric]}, {row.role}",
        {"python": replication.PAPERS_WAY},
        series=_sides,
    ),
}


def drawn(observations: pd.DataFrame, part: Part) -> tuple[pd.DataFrame, list[str]]:
    """Return the points of one study's ratios, and what must be said of them."""
    table = evidence.comparisons(observations[observations["study"] == part.study])
    table = table[(table["comparison"] == part.comparison) & table["metric"].isin(list(METRICS))]
    table = table[table["operation"].isin(part.keep)] if part.keep else table
    table = table[~((table["operation"] == "marshal") & (table["metric"] == "wall_time"))].reset_index(drop=True)
    settings = pd.DataFrame(list(table["settings"]), index=table.index)
    spread = table.join(settings.drop(columns=[name for name in settings if name in table]))
    by_stack, notes = stacks.settled(spread, part.ways)
    kept = pd.concat(by_stack.values())
    order = [name for name in ("case", "attributes", "model", "n") if name in kept]
    kept = kept.sort_values(order, kind="stable", ascending=[name != "attributes" for name in order])
    rows = [row for row in each(kept) if row.ratio == row.ratio]
    points = (
        joined(*(points_of(row, part.row(row), part.panel(row), part.series(row)) for row in rows)) if rows else empty()
    )
    return points, [*_said(points), *notes]


def points_of(row: Row, level: str, panel: str = "", series: str = "") -> pd.DataFrame:
    """Return a comparison's points: the paper's ratio where it prints one, and this machine's."""
    place = {"panel": panel, "level": level, "series": series, "unit": "ratio", "printed": ""}
    flags = {"censored": bool(row.censored), "stand_in": bool(row.stand_in)}
    blocks = min(int(row.n_a), int(row.n_b))
    here = {"source": "here", "value": row.ratio, "low": row.low, "high": row.high, "blocks": blocks}
    nan = float("nan")
    theirs = {"source": "published", "value": row.published_ratio, "low": nan, "high": nan, "blocks": 0}
    rows = [here] if row.published_ratio != row.published_ratio else [theirs, here]
    return pd.DataFrame([place | flags | one for one in rows], columns=list(COLUMNS))


def _said(points: pd.DataFrame) -> list[str]:
    mine = points[points["source"] == "here"]
    if mine.empty:
        return ["not run in this profile: nothing of this machine to compare"]
    blocks = " to ".join(dict.fromkeys(f"{count:.0f}" for count in (mine["blocks"].min(), mine["blocks"].max())))
    return [
        f"here: ratio of the blocks' means, {blocks} blocks a side",
        "right of 1: the first named is larger or slower",
    ]


def ratios(observations: pd.DataFrame, published: pd.DataFrame, *, name: str) -> Exhibit:
    """Draw one study's ratios; the published ones come with the comparisons."""
    part = PARTS[name]
    points, notes = drawn(observations, part)
    title = f"{part.study}: {part.title}"
    if len(only := set(points["series"])) == 1 and (pair := only.pop()):
        points, title = points.assign(series=""), f"{part.study}: {pair}" if "/" in pair else title
    panels = list(dict.fromkeys(points["panel"])) or [""]
    rows = _grouped(list(dict.fromkeys(points["level"])))
    drawing = dots(points, title=title, axis="ratio", rows=rows, panels=panels, notes=notes, reference=1.0)
    return Exhibit(title, points, tuple(notes), drawing)


def _grouped(rows: list[str]) -> list[str]:
    """Bring rows that begin alike (up to a colon) together, in the order of their first."""
    first = {row.partition(":")[0]: rank for rank, row in reversed(list(enumerate(rows)))}
    return sorted(rows, key=lambda row: first[row.partition(":")[0]])


FIGURES: Final[dict[str, Maker]] = {name: partial(ratios, name=name) for name in PARTS}
