"""JSON and XML documents replicated one way (study `replication`).

Begin with ``PAPER`` at the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Final

import pandas as pd

from benchbook.analysis import claim_files
from benchbook.analysis.claims import MeasuredClaim, list_levels
from benchbook.analysis.runs import Analysis
from benchbook.papers.paper_exhibits import PaperExhibits
from benchbook.plots.claim_lines import list_claim_sheets
from benchbook.plots.exhibit import Dots, Exhibit, Maker
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
from benchbook.plots.provenance import MACHINE_FACTS, make_setup_table
from benchbook.plots.ratio_plot import Headline, RatioFigure, describe_quantity, name_a_over_b
from benchbook.plots.titles import write_result
from benchbook.registry.products import name_database
from benchbook.servers import networks
from benchbook.text.names import name_level, name_metric, name_network, sort_databases

N: Final = (2000, 4000, 6000, 8000, 10000)
PAPER_LEVELS: Final[dict[str, str | int]] = {
    "topology": "replicated",
    "process": "together",
    "durability": "default",
    "network": "none",
}
PUBLISHED_SUFFIX: Final = " (published)"


@dataclass(frozen=True)
class NodeFigure:
    """One of the paper's figures: a quantity of a node's database process during a replication."""

    name: str
    unit: str
    metric: str
    log: bool


NODE_FIGURES: Final = {
    15: NodeFigure("bandwidth", "Kbps", "bandwidth", True),
    16: NodeFigure("cpu", "%", "cpu_percent", False),
    17: NodeFigure("memory", "MB", "memory_rss_mb", False),
    18: NodeFigure("time", "s", "cpu_time", True),
}


def draw_averages(analysis: Analysis, *, number: int) -> Exhibit:
    """Draw one of Figs. 15 to 18, averaged over the numbers of records."""
    figure = NODE_FIGURES[number]
    printed = select_printed("replication", f"Fig. {number}")
    level = printed["row"] + PUBLISHED_SUFFIX
    published = make_printed_points(
        printed, unit=figure.unit, level=level, series=printed["column"]
    )

    # Memory is that of a process that ran one format only.
    levels = {**PAPER_LEVELS}
    if figure.metric == "memory_rss_mb":
        levels["process"] = "apart"
    del levels["network"]  # chosen below, for each database
    table = get_measured_table(analysis, "replication")
    rows, notes = choose_levels(select_rows(table, process=levels["process"]), levels)
    rows = select_rows(rows, role=("primary", "replica"), operation="insert")
    rows, places, missing = select_as_judged(rows, figure.metric)

    databases = rows["database"].map(name_database)
    measured = make_measured_points(
        rows,
        figure.metric,
        unit=figure.unit,
        over="n",
        level=databases + ", " + rows["role"],
        series=rows["model"].map(partial(name_level, "model")),
    )
    points = join_points(published, measured)
    notes = [
        *describe_points(points, {}),
        *missing,
        *notes,
        "the paper does not say which node it shows",
    ]
    quantity = f"{name_metric(figure.metric)}, {figure.unit}"
    # Of each database the published row, then its nodes; those that have points.
    suffixes = (PUBLISHED_SUFFIX, ", primary", ", replica")
    ordered = map("".join, product(sort_databases({*printed["row"], *databases}), suffixes))
    with_points = {*points["level"]}
    drawing = Dots(quantity, [row for row in ordered if row in with_points], log=figure.log)
    claims = f"replication.{figure.name}."
    compared = filter(lambda row: row.name.startswith(claims), analysis.comparisons)
    of_metric = f"{name_metric(figure.metric)} than XML"
    return Exhibit(
        "; ".join([quantity, *places]),
        points,
        tuple(notes),
        drawing,
        source=f"Fig. {number}",
        result=write_result(
            compared,
            lambda row: name_database(str(row.settings["database"])),
            subject="JSON uses",
            more=f"more {of_metric}",
            less=f"less {of_metric}",
            link="in",
        ),
    )


def select_as_judged(
    measured: pd.DataFrame, metric: str
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Keep the network and numbers of records in which each database's claims are judged.

    It is the network in which most of the paper's numbers ran; of several the first that the
    claims name. Without any of the paper's numbers all that ran are kept.

    Returns
    -------
    tuple
        The rows; the networks with their numbers of records, for the title; and notes with the
        paper's numbers that are missing.
    """
    claimed = _list_claimed_networks(metric)
    kept: list[pd.DataFrame] = []
    databases: dict[tuple[Any, ...], list[str]] = {}
    for database, rows in measured.groupby("database", sort=False):
        ran, of_paper = {}, {}
        for name, of_network in rows.groupby("network"):
            ran[str(name)] = sorted({int(n) for n in of_network["n"]})
            of_paper[str(name)] = [n for n in ran[str(name)] if n in N]
        # The network in which most of the paper's numbers ran, the claimed ones first.
        candidates = [name for name in (*claimed, *ran) if name in ran]
        network = max(candidates, key=lambda name: len(of_paper[name]))
        numbers = of_paper[network] or ran[network]
        kept.append(select_rows(rows, network=network, n=numbers))
        databases.setdefault((network, *numbers), []).append(name_database(str(database)))

    # In words; databases with the same network and numbers share a place.
    places, notes = [], []
    for (network, *numbers), names in databases.items():
        prefix = f"{', '.join(names)}: " if len(databases) > 1 else ""
        over = list_numbers(numbers)
        places.append(f"{prefix}{name_network(network)}, mean over n = {over}")
        missing = [n for n in N if n not in numbers]
        if missing:
            notes.append(f"{prefix}the paper's mean is over n = {list_numbers(missing)}, too")
    return pd.concat(kept) if kept else measured, places, notes


def _list_claimed_networks(metric: str) -> list[str]:
    """Return the networks that claims on a metric name, in their order."""
    claimed: list[str] = []
    for claim in claim_files.load_claims("replication"):
        if isinstance(claim, MeasuredClaim) and claim.quantity.metric == metric:
            claimed += map(str, list_levels(claim.at.get("network", networks.NO_NETWORK)))
    return claimed


def list_numbers(numbers: Sequence[int]) -> str:
    """Return numbers of records in print: ``2,000 to 10,000`` where all of the paper's ran."""
    if [*numbers] == [*N]:
        return f"{N[0]:,} to {N[-1]:,}"
    return ", ".join(f"{n:,}" for n in numbers)


_ratios = partial(
    RatioFigure,
    "replication",
    "XML against JSON",
    row=describe_quantity,
    levels=PAPER_LEVELS,
    one_n=True,
    most_columns=3,
    series=name_a_over_b,
)

FIGURES: Final[dict[str, Maker]] = {
    **list_claim_sheets("replication"),
    **{
        f"replication_fig{number}_{figure.name}": partial(draw_averages, number=number)
        for number, figure in NODE_FIGURES.items()
    },
    "replication_ratios": _ratios(
        title="XML compared with JSON",
        panel=lambda row: name_database(row.settings["database"]),
    ),
    "replication_networks": _ratios(
        title="XML compared with JSON, on the loopback and in a network",
        panel=lambda row: f"{name_database(row.settings['database'])}: {name_a_over_b(row)}",
        series=lambda row: name_network(row.settings["network"]),
        factor="network",
    ),
}
_SETUP: Final = partial(make_setup_table, study="replication", nodes=("master", "slave", "client"))
TABLES: Final[dict[str, Maker]] = {
    "replication_table1_setup": partial(
        _SETUP,
        source="Table I",
        about="software",
        facts={
            "operating system, Ubuntu": MACHINE_FACTS["operating system"],
            "Atop": lambda cells: "none: the kernel's own counters" if cells else "",
        },
    ),
    "replication_table2_setup": partial(
        _SETUP, source="Table II", about="hardware", hardware_only=True
    ),
}
PAPER: Final = PaperExhibits(
    headline=Headline(
        claim="replication.bandwidth.mongodb",
        asks="What do two nodes spend on replicating JSON and XML?",
        says="Replicating JSON documents in MongoDB used {} the bandwidth of XML.",
        label="JSON / XML, bandwidth, MongoDB",
    ),
    levels=PAPER_LEVELS,
    figures=FIGURES,
    tables=TABLES,
)
