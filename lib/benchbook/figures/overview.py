"""All five studies on one sheet: each paper's main comparisons as ratios, its own hollow, this machine's filled."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pandas as pd

from benchbook.evidence import STUDIES, Evidence
from benchbook.figures.compared import points_of
from benchbook.figures.dots import dots
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.points import each, empty, joined
from benchbook.figures.ratios import METRICS

MAPPER: Final = "mapper against driver"
REPLICATED: Final = "replicated against single"


@dataclass(frozen=True)
class Headline:
    """One comparison of `benchbook.evidence.comparisons`, and how it is called."""

    study: str
    label: str
    operation: str
    metric: str
    role: str = "client"
    comparison: str = "XML against JSON"
    sides: tuple[str, str] | None = None
    where: Mapping[str, Any] = field(default_factory=dict)


HEADLINES: Final = (
    Headline("bookstore", "XML / JSON, case 1", "round_trip", "wall_time", where={"case": 1}),
    Headline("bookstore", "XML / JSON, case 2", "round_trip", "wall_time", where={"case": 2}),
    Headline("bookstore", "XML / JSON, case 2", "marshal", "size", where={"case": 2}),
    Headline("tcp", "XML / JSON", "receive", "wall_time", "server"),
    Headline("drivers", "mapper / driver, insert", "insert", "wall_time", comparison=MAPPER, where={"attributes": 89}),
    Headline("drivers", "mapper / driver, find", "find", "wall_time", comparison=MAPPER, where={"attributes": 89}),
    Headline("drivers", "mapper / driver, update", "update", "wall_time", comparison=MAPPER, where={"attributes": 89}),
    *(
        Headline(
            "crud",
            f"PostgreSQL (tables) / MongoDB, {operation}",
            operation,
            "elapsed_time",
            comparison="engine against engine",
            sides=("postgresql+relational", "mongodb"),
            where={"topology": "single"},
        )
        for operation in ("insert", "update", "select", "delete")
    ),
    *(
        Headline(
            "crud",
            f"replicated / single, insert, {name}",
            "insert",
            "elapsed_time",
            comparison=REPLICATED,
            where={"engine": engine},
        )
        for engine, name in (("mongodb", "MongoDB"), ("postgresql+relational", "PostgreSQL (tables)"))
    ),
    *(
        Headline(
            "replication",
            "XML / JSON, MongoDB",
            "insert",
            metric,
            role,
            sides=("xml_text", "document"),
            where={"engine": "mongodb"},
        )
        for metric, role in (("bandwidth", "replica"), ("cpu_time", "primary"), ("memory_rss_mb", "primary"))
    ),
)
"""What each paper is about, in the order of the studies; each at the largest n that ran."""


def overview(evidence: Evidence) -> Exhibit:
    """Draw the headlines; the published ratios come with the comparisons."""
    table = evidence.comparisons
    parts = [_points(table, headline) for headline in HEADLINES]
    points = joined(*parts) if any(len(part) for part in parts) else empty()
    rows = list(dict.fromkeys(points["level"]))
    missing = [study for study in STUDIES if study not in set(evidence.means["study"])]
    notes = ["each at the largest n that ran; right of 1: the first named is larger or slower"]
    notes += [f"not run in this profile: {', '.join(missing)}"] if missing else []
    title = "Five studies: published and here"
    return Exhibit(
        title, points, tuple(notes), dots(points, title=title, axis="ratio", rows=rows, notes=notes, reference=1.0)
    )


def _points(table: pd.DataFrame, headline: Headline) -> pd.DataFrame:
    fits = table[
        (table["study"] == headline.study)
        & (table["comparison"] == headline.comparison)
        & (table["operation"] == headline.operation)
        & (table["metric"] == headline.metric)
        & (table["role"] == headline.role)
        & table["ratio"].notna()
    ]
    for row in each(fits.sort_values("n", ascending=False, kind="stable")):
        same = all(row.settings.get(name) == value for name, value in headline.where.items())
        same = same and row.settings.get("lane", "python") == "python"
        if same and headline.sides in (None, (row.side_a, row.side_b)):
            what = METRICS[headline.metric]
            level = f"{headline.study}: {headline.label}, {what} (n = {int(row.n):,})"
            return points_of(row, level)
    return empty()


FIGURES: Final[dict[str, Maker]] = {"overview": overview}
