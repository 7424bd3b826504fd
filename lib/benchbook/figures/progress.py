"""Study `crud`: ten years of progress. Old versions over today's, and two relational stores then and now."""

from collections.abc import Mapping
from typing import Final

import pandas as pd

from benchbook.evidence import Evidence
from benchbook.figures import crud, names
from benchbook.figures.compared import of_one_n, points_of
from benchbook.figures.dots import dots
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.points import Row, chosen, each, here, joined, of_study, remarks, wide
from benchbook.figures.provenance import versions
from benchbook.figures.tables import table

TITLE: Final = "crud: ten years of progress"
GET: Final = "not run: `make old-servers` fetches MySQL 5.5 and PostgreSQL 9.6; then run the profile again"
PROGRESS: Final = "old version against today's"
RIVALS: Final = (
    ("mysql@5.5+relational", "postgresql@9.6+relational"),
    ("mysql+relational", "postgresql+relational"),
    ("mariadb+relational", "postgresql+relational"),
)
"""The paper's MySQL over its PostgreSQL: in old versions, in today's, and with MariaDB in MySQL's place."""

FAMILIES: Final = (
    *("mysql@5.5+relational", "mysql+relational", "mariadb+relational"),
    *("postgresql@9.6+relational", "postgresql+relational", "postgresql@9.6+jsonb", "postgresql+jsonb"),
)
"""Engines whose times stand side by side, each old one before today's."""


def progress(evidence: Evidence) -> Exhibit:
    """Draw each old version over today's, and MySQL over PostgreSQL then and now beside the paper's own ratio.

    Times of machines that lie ten years apart are not compared: what carries over of the published numbers is the
    relation between the two stores, which the paper measured in versions near the old ones.
    """
    rows, notes = _comparisons(evidence)
    known = versions(of_study(evidence, "crud"))
    parts = [points_of(row, _label(row, known), str(row.operation), str(row.settings["topology"])) for row in rows]
    points = joined(*parts)
    panels = [panel for panel in crud.OPERATIONS["single"] if panel in set(points["panel"])] or [""]
    levels = list(dict.fromkeys(points["level"]))
    title = f"{TITLE}, ratios of times"
    drawing = dots(points, title=title, axis="ratio", rows=levels, panels=panels, notes=notes, reference=1.0)
    return Exhibit(title, points, tuple(notes), drawing)


def times(evidence: Evidence) -> Exhibit:
    """Set the times of old versions and today's side by side."""
    title = f"{TITLE}, times, ms"
    every = wide(evidence, "crud")
    if every.empty or not every["engine"].isin([engine for engine in FAMILIES if "@" in engine]).any():
        return Exhibit(title, pd.DataFrame(columns=["Database", "Version"]), (GET,))
    mine, notes = chosen(every[every["engine"].isin(FAMILIES) & (every["role"] == "client")], crud.PAPERS_WAY)
    mine = mine[mine["n"] == mine["n"].min()]
    level = mine["engine"].map(names.engine) + ", " + mine["topology"]
    spent = mine["wall_time"].where(mine["topology"] == "single", mine.get("elapsed_time")) / 1e6
    points = here(mine, spent, unit="ms", panel=mine["operation"], level=level)
    known = versions(of_study(evidence, "crud"))
    rows = {f"{names.engine(one)}, {topology}": known.get(one, "") for one in FAMILIES for topology in crud.OPERATIONS}
    rows = {row: version for row, version in rows.items() if row in set(points["level"])}
    frame = table(points, corner="Database", rows=list(rows), columns=crud.OPERATIONS["single"])
    frame = frame[[name for name in frame if not str(name).endswith(", published")]]
    frame.insert(1, "Version", list(rows.values()))
    return Exhibit(title, frame, (f"n = {int(mine['n'].iloc[0]):,}", *remarks(points, {}), *notes))


def _comparisons(evidence: Evidence) -> tuple[list[Row], list[str]]:
    """Return the comparisons that are drawn, and what must be said of them; only the latter when no old version ran."""
    found = evidence.comparisons[evidence.comparisons["study"] == "crud"]
    old = found["comparison"].eq(PROGRESS) & found["ratio"].notna()
    if not old.any():
        return [], [GET]
    pairs = list(zip(found["side_a"], found["side_b"], strict=True))
    rivals = found["ratio"].notna() & pd.Series([pair in RIVALS for pair in pairs], index=found.index)
    ranked = found[old | rivals].sort_values(
        "comparison", key=lambda name: name.ne(PROGRESS), kind="stable", ignore_index=True
    )
    settings = pd.DataFrame(list(ranked["settings"]))
    spread = ranked.join(settings.drop(columns=[name for name in settings if name in ranked]))
    kept, notes = chosen(spread, crud.PAPERS_WAY)
    rows, notes = of_one_n(list(each(kept)), notes)
    blocks = " to ".join(dict.fromkeys(f"{n:.0f}" for n in (kept["n_a"].min(), kept["n_a"].max())))
    said = [
        f"here: {blocks} block{'' if blocks == '1' else 's'} a side",
        "right of 1: the first named is slower",
        "the paper's ratio is of MySQL 5.5.31 over PostgreSQL 9.1",
    ]
    return rows, [*said, *notes]


def _label(row: Row, known: Mapping[str, str]) -> str:
    """Return both sides with their exact versions, on two lines."""
    above, below = (_versioned(str(side), known) for side in (row.side_a, row.side_b))
    model = "JSONB" if str(row.side_a).endswith("+jsonb") else "tables"
    return f"{above} over\n{below} ({model})"


def _versioned(engine: str, known: Mapping[str, str]) -> str:
    product = names.engine(engine).partition(",")[0].rstrip("0123456789. ")
    return f"{product} {known.get(engine, '')}".rstrip()


FIGURES: Final[dict[str, Maker]] = {"crud_progress": progress}
TABLES: Final[dict[str, Maker]] = {"crud_progress_times": times}
