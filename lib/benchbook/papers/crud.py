"""Document and relational databases, single and replicated (study `crud`).

Begin with ``PAPER`` at the end. `compute_null_baseline` gives the harness's own
share of a database's time.
"""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Final

import pandas as pd

from benchbook.analysis import claim_files
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.configurations import SINGLE_LEVEL
from benchbook.analysis.paper_comparisons import compare_tables
from benchbook.analysis.runs import Analysis
from benchbook.papers.paper_exhibits import PaperExhibits
from benchbook.plots import labels
from benchbook.plots.claim_lines import list_claim_sheets
from benchbook.plots.exhibit import NOT_RUN, Dots, Exhibit, Maker, list_misprints, set_table
from benchbook.plots.points import (
    choose_levels,
    describe_points,
    get_measured_table,
    join_points,
    make_measured_points,
    make_printed_points,
    select_printed,
    select_rows,
)
from benchbook.plots.provenance import make_setup_table
from benchbook.plots.ratio_plot import Headline, RatioFigure
from benchbook.plots.titles import write_result
from benchbook.registry.products import STORES, name_database
from benchbook.text.names import LANGUAGES, sort_databases
from benchbook.text.number_format import NOT_PRINTED

PAPER_LEVELS: Final[dict[str, str | int]] = {
    "calls": "single",
    "delete": "each",
    "constraints": "on",
    "arrays": "json",
    "comments_per_article": "all",
    "article_index": False,
    "durability": "default",
    "binary_log": "needed",
    "commit": "each",
    "load": "each",
    "network": "none",
    "cell_database": SINGLE_LEVEL,
    "cell_constraints": SINGLE_LEVEL,
}
TIME_TABLES: Final = {
    place.key[0]: (place.operation[0], str(place.at["topology"]))
    for place in claim_files.load_published_places("crud")
}
"""Operation and topology of each table of times, in the order of Figs. 2 to 8."""

FIGURE_NUMBERS: Final = {source: figure for figure, source in enumerate(TIME_TABLES, start=2)}
"""The number of each table's figure, which is also the table's."""

_SIZE: Final = "n = {:,}"
COMMENT_OPERATIONS: Final = ("insert", "update", "select", "delete")


def collect_points(analysis: Analysis, source: str) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Return the points of one table and its figure in ms, their panels, and notes on levels.

    There is a panel for each number of records, of the paper or of a grid.
    """
    # The rows of the operation and topology at the paper's levels.
    operation, topology = TIME_TABLES[source]
    rows = select_rows(
        get_measured_table(analysis, "crud"),
        operation=operation,
        topology=(topology, "none"),
        role="client",
    )
    if operation == "delete" and "delete" in rows:
        # Before there was a choice, one statement deleted all.
        rows = rows.assign(delete=rows["delete"].fillna("all"))
    rows, notes = choose_levels(rows, PAPER_LEVELS)
    if operation == "delete" and rows.get("delete", pd.Series()).eq("all").any():
        note = (
            "here one statement deletes all; the paper's times fit one call per comment, "
            "which claims read"
        )
        notes = [note, *notes]

    # On a single node an operation has ended with its client's: see `block_means`.
    printed = select_printed("crud", source)
    printed_sizes = printed["column"].astype(int)
    panel = printed_sizes.map(_SIZE.format)
    names = rows["database"].map(name_database) + rows["language"].map(_name_suffix)
    points = join_points(
        make_printed_points(printed, unit="ms", panel=panel, level=_name_printed(printed)),
        make_measured_points(
            rows,
            "elapsed_time",
            unit="ms",
            scale=1e-6,
            panel=rows["n"].astype(int).map(_SIZE.format),
            level=names,
        ),
    )
    sizes = [_SIZE.format(n) for n in sorted({*printed_sizes, *rows["n"].astype(int)})]
    panels = [size for size in sizes if size in set(points["panel"])]
    return points, panels, notes


def _name_printed(rows: pd.DataFrame) -> "pd.Series[str]":
    """Return the names here of the databases in the rows of a paper's table."""
    of_databases, *_ = claim_files.load_paper_comparisons("crud")
    called = of_databases.called["database"]
    return rows["row"].replace({printed: name_database(name) for name, printed in called.items()})


def _name_suffix(language: str) -> str:
    """Return the end of a database's label where another language than Python called it."""
    return "" if language == "python" else f", {LANGUAGES[language]}"


def _write_title(operation: str, topology: str) -> str:
    alone = "single instance" if topology == "single" else "until primary and replica hold the same"
    return f"{operation}, {alone}: elapsed time, ms"


def draw_times(analysis: Analysis, *, source: str) -> Exhibit:
    """Draw one of Figs. 2 to 8, of the table that it shows."""
    points, panels, notes = collect_points(analysis, source)
    described = describe_points(points, {panel: panel for panel in panels})
    notes = [*described, *_describe_loop(points), *notes]
    operation, topology = TIME_TABLES[source]
    about = _name_in_claims(operation, topology)
    claims = (f"crud.{about}.mongodb-before-relational", f"crud.{about}.mongodb-first")
    compared = [row for row in analysis.comparisons if row.name in claims]
    return Exhibit(
        _write_title(operation, topology),
        points,
        tuple(notes),
        _draw_databases(points, panels),
        source=f"Fig. {FIGURE_NUMBERS[source]}",
        result=write_result(
            compared,
            lambda row: row.b,
            subject=f"MongoDB {operation}s",
            more="more slowly",
            less="faster",
            link="than",
        ),
    )


def _name_in_claims(operation: str, topology: str) -> str:
    return f"{operation}-replicated" if topology == "replicated" else operation


def _describe_loop(points: pd.DataFrame) -> list[str]:
    """Say where the bare loop's times are; nothing where it did not run."""
    if name_database("noop") not in set(points["level"]):
        return []
    return ["the loop alone is beyond the scale: its times are beside an arrow"]


def _draw_databases(points: pd.DataFrame, panels: Sequence[str], *, whole: bool = False) -> Dots:
    """Return a drawing with a row per database; the bare loop's times are written, not drawn."""
    rows, loop = sort_databases(points["level"]), name_database("noop")
    return Dots("elapsed time, ms", rows, panels, whole=whole, beyond=(loop,))


def draw_grid(analysis: Analysis, *, topology: str) -> Exhibit:
    """Draw all operations of a topology: a row per database, a panel per operation, a mark per n.

    It has the points of the paper's figures, which have a panel per n of one operation.
    """
    of_topology = {
        source: operation for source, (operation, of) in TIME_TABLES.items() if of == topology
    }
    parts, notes = [], dict[str, None]()
    for source, operation in of_topology.items():
        points, _, level_notes = collect_points(analysis, source)
        parts.append(points.assign(panel=operation, series=points["panel"]))
        notes |= dict.fromkeys(level_notes)
    points, operations = join_points(*parts), [*of_topology.values()]
    described = describe_points(points, {name: name for name in operations})
    all_notes = (*described, *_describe_loop(points), *notes)
    figures = ", ".join(str(FIGURE_NUMBERS[source]) for source in of_topology)

    # The title names a relational database where MongoDB is on one side of it in all operations.
    about = [_name_in_claims(operation, topology) for operation in operations]
    claims = {f"crud.{each}.mongodb-before-relational" for each in about}
    relational = {row.b for row in analysis.comparisons if row.name in claims}
    claims |= {f"crud.{each}.mongodb-first" for each in about}
    compared = [row for row in analysis.comparisons if row.name in claims and row.b in relational]
    return Exhibit(
        _write_title("each operation", topology),
        points,
        all_notes,
        _draw_databases(points, operations, whole=True),
        source=f"Figs. {figures}",
        result=write_result(
            compared,
            lambda row: row.b,
            subject="MongoDB is",
            more="slower",
            less="faster",
            link="than",
        ),
    )


def set_times(analysis: Analysis, *, source: str) -> Exhibit:
    """Set one of Tables II to VIII."""
    points, panels, notes = collect_points(analysis, source)
    rows = sort_databases(points["level"])
    notes = [*describe_points(points, {panel: panel for panel in panels}), *notes]
    frame = set_table(points, corner="Database", rows=rows, columns=panels)
    title = _write_title(*TIME_TABLES[source])
    printed = select_printed("crud", source)
    misprints = list_misprints(printed.assign(row=_name_printed(printed)))
    return Exhibit(title, frame, (*notes, *misprints), source=source)


def set_versions(analysis: Analysis) -> Exhibit:
    """Set Table I: the databases' versions, theirs and here."""
    rows = select_printed("crud", "Table I")
    means = select_rows(analysis.means, study="crud")
    rows = rows.assign(row=_name_printed(rows))
    published = dict(zip(rows["row"], rows["printed"], strict=True))
    versions = labels.list_versions(means)
    measured = {name_database(name): text for name, text in versions.items()}
    databases = sort_databases({*published, *measured})
    columns = {
        "Database": databases,
        "Version, published": [published.get(name, NOT_PRINTED) for name in databases],
        "Version, here": [measured.get(name, NOT_RUN) for name in databases],
    }
    notes = (*labels.list_caveats(means).values(), *list_misprints(rows))
    return Exhibit("database versions", pd.DataFrame(columns), notes, source="Table I")


def compute_null_baseline(means: pd.DataFrame) -> pd.DataFrame:
    """Return the time of a database that stores nothing over each database's, on a single node.

    Parameters
    ----------
    means
        Block means of all studies.

    Returns
    -------
    pandas.DataFrame
        ``database, operation, n, label, share, blocks``; ``share`` is the geometric mean of the
        blocks' ratios.
    """
    of_databases, *_ = claim_files.load_paper_comparisons("crud")
    pairs = tuple(("noop", database) for database in (*STORES, "mongodb+mongoengine"))
    wanted = of_databases.model_copy(update={"pairs": pairs})
    compared = Comparison.to_frame(compare_tables(means, [wanted])).dropna(subset="estimate")
    return compared.rename(columns={"b": "database", "estimate": "share"})[
        ["database", "operation", "n", "label", "share", "blocks"]
    ]


GRIDS: Final[dict[str, Maker]] = {
    f"crud_{topology}": partial(draw_grid, topology=topology)
    for topology in ("single", "replicated")
}
"""Figures that each show several of the paper's own, which a page then folds."""

FIGURES: Final[dict[str, Maker]] = {
    **list_claim_sheets("crud", 2),
    **GRIDS,
    **{
        f"crud_fig{FIGURE_NUMBERS[source]}_{operation}_{topology}": partial(
            draw_times, source=source
        )
        for source, (operation, topology) in TIME_TABLES.items()
    },
    "crud_ratios_databases": RatioFigure(
        "crud",
        "database against database",
        "each database compared with MongoDB",
        lambda row: str(row.a),
        PAPER_LEVELS,
        panel=lambda row: f"{row.operation}, {row.settings['topology']}",
        axis="elapsed time, database / MongoDB",
        base="MongoDB",
        panels=tuple(
            f"{operation}, {topology}"
            for topology, operation in product(("single", "replicated"), COMMENT_OPERATIONS)
        ),
        one_n=True,
    ),
    "crud_ratios_replication": RatioFigure(
        "crud",
        "replicated against single",
        "replicated compared with single",
        lambda row: name_database(row.settings["database"]) + _name_suffix(row.language),
        PAPER_LEVELS,
        panel=lambda row: str(row.operation),
        axis="elapsed time, replicated / single",
        one_n=True,
    ),
}
TABLES: Final[dict[str, Maker]] = {
    "crud_table1_versions": set_versions,
    **{
        f"crud_table{FIGURE_NUMBERS[source]}_{operation}_{topology}": partial(
            set_times, source=source
        )
        for source, (operation, topology) in TIME_TABLES.items()
    },
    "crud_setup": partial(
        make_setup_table,
        study="crud",
        source="Section IV",
        about="the virtual machines",
        rows=(
            "virtual machines",
            "VMware",
            "operating system",
            "memory",
            "processors",
            "cores",
            "clock",
            "disk",
        ),
    ),
}
PAPER: Final = PaperExhibits(
    headline=Headline(
        claim="crud.insert.mongodb-before-relational",
        asks="Are document stores faster than relational ones, alone and replicated?",
        says="MongoDB took {} as long as {b} to insert comments.",
        label="MongoDB / {b}, time to insert",
    ),
    levels=PAPER_LEVELS,
    figures=FIGURES,
    tables=TABLES,
    grids=GRIDS,
)
