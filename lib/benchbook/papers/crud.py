"""Document and relational databases, single and replicated (study `crud`).

In come the study's block means and comparisons; out come its figures, tables and headlines. Begin with ``FIGURES`` and
``TABLES`` at the end; `null_baseline` says what of a database's time is the harness's own.
"""

from functools import partial
from itertools import product
from typing import Final

import pandas as pd

from benchbook.analysis import Analysis, claim_files, paper_comparisons
from benchbook.analysis.sides import ALONE
from benchbook.digits import NOT_PRINTED
from benchbook.papers.setups import setup
from benchbook.plots import names, style
from benchbook.plots.exhibit import Dots, Exhibit, Maker
from benchbook.plots.points import (
    NOT_RUN,
    chosen,
    each,
    here,
    joined,
    misprints,
    paper,
    printed,
    remarks,
    table,
    where,
    wide,
)
from benchbook.plots.ratios import Headline, Ratios
from benchbook.plots.verdicts import sheets
from benchbook.registry import STORES

PAPERS_WAY: Final[dict[str, str | int]] = {
    "calls": "single",
    "delete": "each",
    "constraints": "on",
    "arrays": "json",
    "comments_per_article": "all",
    "article_index": False,
    "durability": "default",
    "binary_log": "needed",
    "network": "none",
    "cell_database": ALONE,
}
TIMED: Final = {
    place.key[0]: (place.operation[0], str(place.at["topology"])) for place in claim_files.printed_places("crud")
}
"""The operation and topology that each of the paper's tables of times is of; Figs. 2 to 8 show them in this order."""

NUMBER: Final = {source: figure for figure, source in enumerate(TIMED, start=2)}
"""The number of each table's figure, which is the table's own, too."""

OPERATIONS: Final = ("insert", "update", "select", "delete")
TOPOLOGIES: Final = ("single", "replicated")


def drawn(analysis: Analysis, source: str) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Return the points of one table and its figure, in ms, their panels, and what must be said of them.

    There is a panel for each number of records: the paper's, and what a grid adds.
    """
    operation, topology = TIMED[source]
    published = paper(analysis, "crud", source)
    timed = where(wide(analysis, "crud"), operation=operation, topology=(topology, "none"), role="client")
    if operation == "delete" and "delete" in timed:
        # Before there was a choice, all went in one statement.
        timed = timed.assign(delete=timed["delete"].fillna("all"))
    measured, notes = chosen(timed, PAPERS_WAY)
    if operation == "delete" and measured.get("delete", pd.Series()).eq("all").any():
        notes = ["here one statement deletes all; the paper's times fit a call a comment, which claims read", *notes]
    label = measured["database"].map(names.database) + measured["language"].map(_suffix)
    theirs = published["column"].astype(int)
    # On a single node an operation has ended with its client's: see `block_means.ended`.
    points = joined(
        printed(published, unit="ms", panel=theirs.map(_size), level=published["row"]),
        here(measured, "elapsed_time", unit="ms", scale=1e-6, panel=measured["n"].map(_size), level=label),
    )
    sizes = [_size(n) for n in sorted({*theirs, *measured["n"].astype(int)})]
    panels = [size for size in sizes if size in set(points["panel"])]
    return points, panels, [*remarks(points, dict(zip(panels, panels, strict=True))), *notes]


def _size(n: int) -> str:
    return f"n = {int(n):,}"


def _suffix(language: str) -> str:
    """Return what a database's name ends in where another stack than Python asked it."""
    return "" if language == "python" else f", {names.STACKS[language]}"


def _title(exhibit: str, operation: str, topology: str) -> str:
    alone = "single instance" if topology == "single" else "until primary and replica hold the same"
    return f"crud, {exhibit}: {operation}, {alone}"


def times_figure(analysis: Analysis, *, source: str) -> Exhibit:
    """Draw one of Figs. 2 to 8, of the table that it shows."""
    points, panels, notes = drawn(analysis, source)
    title = _title(f"Fig. {NUMBER[source]}", *TIMED[source])
    rows = names.ordered(set(points["level"]))
    return Exhibit(title, points, tuple(notes), Dots("time, ms", rows, panels))


def times_table(analysis: Analysis, *, source: str) -> Exhibit:
    """Set one of Tables II to VIII."""
    points, panels, notes = drawn(analysis, source)
    frame = table(points, corner="Database", rows=names.ordered(set(points["level"])), columns=panels)
    title = f"{_title(source, *TIMED[source])}, ms"
    return Exhibit(title, frame, (*notes, *misprints(paper(analysis, "crud", source))))


def versions_table(analysis: Analysis) -> Exhibit:
    """Set Table I: the databases' versions, theirs and here."""
    rows, means = paper(analysis, "crud", "Table I"), where(analysis.means, study="crud")
    published = dict(zip(rows["row"], rows["printed"], strict=True))
    measured = {names.database(database): text for database, text in names.versions(means).items()}
    databases = names.ordered({*published, *measured})
    columns = {
        "Database": databases,
        "Version, published": [published.get(name, NOT_PRINTED) for name in databases],
        "Version, here": [measured.get(name, NOT_RUN) for name in databases],
    }
    notes = (*names.caveats(means).values(), *misprints(rows))
    return Exhibit("crud, Table I: database versions", pd.DataFrame(columns), notes)


def null_baseline(means: pd.DataFrame) -> pd.DataFrame:
    """Return the share of each database's time that a database takes which stores nothing, on a single node.

    Parameters
    ----------
    means
        As `benchbook.analysis.measures` returns them.

    Returns
    -------
    pandas.DataFrame
        ``database, operation, n, label, share, blocks``; ``share`` is the geometric mean of the blocks' ratios.
    """
    among, *_ = claim_files.pairs("crud")
    pairs = tuple(("noop", database) for database in (*STORES, "mongodb+mongoengine"))
    compared = paper_comparisons(means, [among.model_copy(update={"pairs": pairs})]).dropna(subset="estimate")
    shares = compared.rename(columns={"b": "database", "estimate": "share"})
    return shares[["database", "operation", "n", "label", "share", "blocks"]]


def null_baseline_in_words(shares: pd.DataFrame) -> str:
    """Return what `null_baseline` found, in a sentence or two."""
    if shares.empty:
        return "No database ran beside the one that stores nothing, so the harness's own cost is not known."
    ordered = shares.sort_values("share")
    ends = [
        f"{_percent(row.share)} ({row.database}, {row.operation}, n={row.n})" for row in each(ordered.iloc[[0, -1]])
    ]
    medians = shares.groupby("database", sort=False)["share"].median()
    return (
        f"A database that stores nothing took {' to '.join(ends)} of a database's time on a single node: the harness's "
        f"own cost. Medians: {', '.join(f'{database} {_percent(share)}' for database, share in medians.items())}."
    )


def _percent(share: float) -> str:
    if share < 0.01:
        return f"{share:.2%}"
    return f"{share:.1%}" if share < 0.1 else f"{share:.0%}"


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
    "crud_ratios_databases": Ratios(
        "crud",
        "database against database",
        "each database compared with MongoDB",
        lambda row: str(row.a),
        PAPERS_WAY,
        panel=lambda row: f"{row.operation}, {row.settings['topology']}",
        axis="time, database / MongoDB",
        over="MongoDB",
        panels=tuple(f"{operation}, {topology}" for topology, operation in product(TOPOLOGIES, OPERATIONS)),
        one_n=True,
    ),
    "crud_ratios_replication": Ratios(
        "crud",
        "replicated against single",
        "replicated compared with single",
        lambda row: names.database(row.settings["database"]) + _suffix(row.language),
        PAPERS_WAY,
        panel=lambda row: str(row.operation),
        axis="time, replicated / single",
        one_n=True,
    ),
}
TABLES: Final[dict[str, Maker]] = {
    "crud_table1_versions": versions_table,
    **{
        f"crud_table{NUMBER[source]}_{operation}_{topology}": partial(times_table, source=source)
        for source, (operation, topology) in TIMED.items()
    },
    "crud_setup": partial(
        setup,
        study="crud",
        source="Section IV",
        about="Section IV: the virtual machines",
        rows=("virtual machines", "VMware", "operating system", "memory", "processors", "cores", "clock", "disk"),
    ),
}
HEADLINE: Final = Headline(
    claim="crud.insert.mongodb-before-relational",
    asks="Are document stores faster than relational ones, alone and replicated?",
    says="MongoDB took {} as long as {b} to insert comments.",
    label="MongoDB / {b}, time to insert",
)
"""What stands for the study wherever it is named."""
