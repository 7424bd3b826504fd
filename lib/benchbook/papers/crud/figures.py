"""Tables I to VIII and Figs. 2 to 8 of study `crud`, databases by operation and topology; and ten years of progress."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import pandas as pd

from benchbook.digits import NOT_PRINTED
from benchbook.evidence import Evidence
from benchbook.papers.crud import TIMED
from benchbook.papers.setups import setup
from benchbook.plots import names, ratios, style
from benchbook.plots.dots import dots
from benchbook.plots.exhibit import Exhibit, Maker
from benchbook.plots.points import chosen, counted, each, here, joined, paper, printed, remarks, where, wide
from benchbook.plots.ratios import Headline, Ratios
from benchbook.plots.tables import NOT_RUN, misprints, table
from benchbook.plots.verdicts import sheets

PAPERS_WAY: Final[dict[str, str | int]] = {
    "calls": "single",
    "delete": "each",
    "constraints": "on",
    "comments_per_article": "all",
    "article_index": False,
    "durability": "default",
    "binary_log": "needed",
}
NUMBER: Final = {table: figure for figure, table in enumerate(TIMED, start=2)}
"""The number of each table's figure, which is the table's own, too."""

OPERATIONS: Final = {
    "single": ("insert", "update", "select", "delete"),
    "replicated": ("insert", "update", "delete"),
}
"""What is timed in each topology, in that order."""


def drawn(evidence: Evidence, source: str) -> tuple[pd.DataFrame, list[str]]:
    """Return the points of one table and its figure, in ms, and what must be said of them."""
    operation, topology = TIMED[source]
    published = paper(evidence, "crud", source)
    timed = where(wide(evidence, "crud"), operation=operation, topology=(topology, "none"), role="client")
    if operation == "delete" and "delete" in timed:
        # Before there was a choice, all went in one statement.
        timed = timed.assign(delete=timed["delete"].fillna("all"))
    measured, notes = chosen(timed, PAPERS_WAY)
    label = measured["engine"].map(names.engine) + measured["lane"].map(_suffix)
    metric = "elapsed_time" if topology == "replicated" else "wall_time"
    points = joined(
        printed(published, unit="ms", panel=published["column"].astype(int).map(_size), level=published["row"]),
        here(measured, metric, unit="ms", scale=1e-6, panel=measured["n"].map(_size), level=label),
    )
    return points, [*remarks(points, {panel: panel for panel in sizes(points)}), *notes]


def sizes(points: pd.DataFrame) -> tuple[str, ...]:
    """Return the panels that there are, one a number of records: the paper's, and what a grid adds."""
    return tuple(sorted(set(points["panel"]), key=lambda panel: int(panel.removeprefix("n = ").replace(",", ""))))


def _size(n: int) -> str:
    return f"n = {int(n):,}"


def _suffix(lane: str) -> str:
    """Return what a database's name ends in where another stack than Python asked it."""
    return "" if lane == "python" else f", {names.STACKS[lane]}"


def _title(exhibit: str, operation: str, topology: str) -> str:
    alone = "single instance" if topology == "single" else "until primary and replica hold the same"
    return f"crud, {exhibit}: {operation}, {alone}"


def times_figure(evidence: Evidence, *, source: str) -> Exhibit:
    """Draw one of Figs. 2 to 8, of the table that it shows."""
    points, notes = drawn(evidence, source)
    title = _title(f"Fig. {NUMBER[source]}", *TIMED[source])
    rows = names.ordered(set(points["level"]))
    return dots(points, title=title, axis="time, ms", rows=rows, panels=sizes(points), notes=notes)


def times_table(evidence: Evidence, *, source: str) -> Exhibit:
    """Set one of Tables II to VIII."""
    points, notes = drawn(evidence, source)
    frame = table(points, corner="Database", rows=names.ordered(set(points["level"])), columns=sizes(points))
    title = f"{_title(source, *TIMED[source])}, ms"
    return Exhibit(title, frame, (*notes, *misprints(paper(evidence, "crud", source))))


def versions_table(evidence: Evidence) -> Exhibit:
    """Set Table I: the databases' versions, theirs and here."""
    rows, means = paper(evidence, "crud", "Table I"), where(evidence.means, study="crud")
    published = dict(zip(rows["row"], rows["printed"], strict=True))
    measured = {names.engine(engine): text for engine, text in names.versions(means).items()}
    databases = names.ordered({*published, *measured})
    columns = {
        "Database": databases,
        "Version, published": [published.get(name, NOT_PRINTED) for name in databases],
        "Version, here": [measured.get(name, NOT_RUN) for name in databases],
    }
    notes = (*names.caveats(means).values(), *misprints(rows))
    return Exhibit("crud, Table I: database versions", pd.DataFrame(columns), notes)


PROGRESS: Final = "crud: ten years of progress"
GET: Final = "not run: `make servers` fetches MySQL 5.5 and PostgreSQL 9.6; then run the profile again"
OLD: Final = "old version against today's"
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
    rows, notes = _old_and_rivals(evidence)
    known = names.versions(where(evidence.means, study="crud"))
    points = joined(
        *(ratios.points_of(row, _label(row, known), row.operation, row.settings["topology"]) for row in rows)
    )
    panels = [panel for panel in OPERATIONS["single"] if panel in set(points["panel"])] or [""]
    levels = list(dict.fromkeys(points["level"]))
    title = f"{PROGRESS}, ratios of times{f', {ratios.of_n(rows[0])}' if rows else ''}"
    return ratios.ratio_dots(points, title=title, rows=levels, panels=panels, notes=notes)


def _old_and_rivals(evidence: Evidence) -> tuple[list[Any], list[str]]:
    """Return the comparisons that are drawn, and what must be said of them; only the latter when no old version ran."""
    compared = where(evidence.comparisons, study="crud")
    compared = compared[compared["ratio"].notna()]
    old = where(compared, comparison=OLD)
    if old.empty:
        return [], [GET]
    rivals = [(a, b) in RIVALS for a, b in zip(compared["side_a"], compared["side_b"], strict=True)]
    kept, notes = chosen(ratios.with_settings(pd.concat([old, compared.loc[rivals]])), PAPERS_WAY)
    rows, notes = ratios.of_one_n(list(each(kept)), notes)
    sentences = [
        f"here: {counted(kept['n_a'], ' a side')}",
        "right of 1: the first named is slower",
        "the paper's ratio is of MySQL 5.5.31 over PostgreSQL 9.1",
    ]
    return rows, [*sentences, *notes]


def _label(row: Any, known: Mapping[str, str]) -> str:
    """Return both sides with their exact versions, on two lines."""
    above, below = (_versioned(side, known) for side in (row.side_a, row.side_b))
    return f"{above} over\n{below} ({'JSONB' if row.side_a.endswith('+jsonb') else 'tables'})"


def _versioned(engine: str, known: Mapping[str, str]) -> str:
    product = names.engine(engine).partition(",")[0].rstrip("0123456789. ")
    return f"{product} {known.get(engine, '')}".rstrip()


def progress_times(evidence: Evidence) -> Exhibit:
    """Set the times of old versions and today's side by side."""
    title = f"{PROGRESS}, times, ms"
    timed = where(wide(evidence, "crud"), engine=FAMILIES, role="client")
    if not timed["engine"].str.contains("@").any():
        return Exhibit(title, pd.DataFrame(columns=["Database", "Version"]), (GET,))
    measured, notes = chosen(timed, PAPERS_WAY)
    measured = where(measured, n=measured["n"].min())
    spent = measured["wall_time"].where(measured["topology"] == "single", measured.get("elapsed_time"))
    level = measured["engine"].map(names.engine) + ", " + measured["topology"]
    measured = measured.assign(spent=spent)
    points = here(measured, "spent", unit="ms", scale=1e-6, panel=measured["operation"], level=level)
    known = names.versions(where(evidence.means, study="crud"))
    rows = {
        f"{names.engine(engine)}, {topology}": known.get(engine, "") for engine in FAMILIES for topology in OPERATIONS
    }
    rows = {row: version for row, version in rows.items() if row in set(points["level"])}
    frame = table(points, corner="Database", rows=list(rows), columns=OPERATIONS["single"], sources=("here",))
    frame.insert(1, "Version", list(rows.values()))
    return Exhibit(title, frame, (f"n = {int(measured['n'].iloc[0]):,}", *remarks(points, {}), *notes))


LOOKS: Final = {
    "single": style.Look(style.BLUE, "o"),
    "replicated": style.Look(style.VERMILION, "s"),
}
"""The looks of the paper's own series, in the order of legends."""

FIGURES: Final[dict[str, Maker]] = {
    **sheets("crud", 2),
    **{
        f"crud_fig{NUMBER[source]}_{operation}_{topology}": partial(times_figure, source=source)
        for source, (operation, topology) in TIMED.items()
    },
    "crud_ratios_engines": Ratios(
        "crud",
        "engine against engine",
        "each engine over MongoDB",
        lambda row: str(row.a),
        PAPERS_WAY,
        panel=lambda row: f"{row.operation}, {row.settings['topology']}",
        over="mongodb",
        panels=tuple(f"{operation}, {topology}" for topology, timed in OPERATIONS.items() for operation in timed),
        one_n=True,
    ),
    "crud_ratios_replication": Ratios(
        "crud",
        "replicated against single",
        "replicated over single",
        lambda row: names.engine(row.settings["engine"]) + _suffix(row.lane),
        PAPERS_WAY,
        panel=lambda row: str(row.operation),
        one_n=True,
    ),
    "crud_progress": progress,
}
TABLES: Final[dict[str, Maker]] = {
    "crud_table1_versions": versions_table,
    **{
        f"crud_table{NUMBER[source]}_{operation}_{topology}": partial(times_table, source=source)
        for source, (operation, topology) in TIMED.items()
    },
    "crud_progress_times": progress_times,
    "crud_setup": partial(
        setup,
        study="crud",
        source="Section IV",
        about="Section IV: the virtual machines",
        rows=("virtual machines", "VMware", "operating system", "memory", "processors", "cores", "clock", "disk"),
    ),
}
POSTGRESQL: Final = "engine=postgresql+relational"
HEADLINES: Final = [
    Headline(
        "next relational / MongoDB, insert",
        "crud.insert.mongodb-before-relational",
        says="To insert comments the fastest relational store took {} as long as MongoDB.",
    ),
    *(
        Headline(
            f"MongoDB / PostgreSQL, {name}",
            f"crud.{claim}.mongodb-before-relational",
            (POSTGRESQL,),
            says=says,
        )
        for name, claim, says in (
            ("update", "update", "To update comments MongoDB took {} as long as PostgreSQL."),
            ("delete", "delete", "To delete comments one by one MongoDB took {} as long as PostgreSQL."),
            (
                "replicated insert",
                "insert-replicated",
                "To insert comments, replicated, MongoDB took {} as long as PostgreSQL.",
            ),
        )
    ),
    *(
        Headline(f"replicated / single, MongoDB, {name}", f"crud.{name}.replicating-costs", ("engine=mongodb",))
        for name in ("insert", "update")
    ),
]
"""What the paper is about: contrasts of its claims."""
