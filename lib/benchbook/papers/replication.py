"""JSON and XML documents replicated one way (study `replication`).

In come the study's block means and comparisons; out come its figures, tables and headlines. Begin with ``FIGURES`` and
``TABLES`` at the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pandas as pd

from benchbook import networks
from benchbook.analysis import Analysis, claim_files
from benchbook.analysis.claims import Tested, several
from benchbook.papers.setups import HERE, Facts, setup
from benchbook.plots import names, style
from benchbook.plots.exhibit import Dots, Exhibit, Maker
from benchbook.plots.points import chosen, here, joined, paper, printed, remarks, where, wide
from benchbook.plots.ratios import Headline, Ratios, quantity, sides
from benchbook.plots.verdicts import sheets

N: Final = (2000, 4000, 6000, 8000, 10000)
PAPERS_WAY: Final[dict[str, str | int]] = {
    "topology": "replicated",
    "process": "together",
    "durability": "default",
    "network": "none",
}
THEIRS: Final = " (published)"

CALLED: Final = {
    "model": {
        "document": "JSON, a document",
        "json_text": "JSON as text",
        "xml_fields": "XML, field by field",
        "xml_text": "XML as text",
    }
}
"""What levels of its factors are called in print, by factor."""


@dataclass(frozen=True)
class Part:
    """One of the paper's figures: a quantity of a node's database process in the window of a replication."""

    name: str
    quantity: str
    unit: str
    metric: str
    log: bool


PARTS: Final = {
    15: Part("bandwidth", "data transfer", "Kbps", "bandwidth", True),
    16: Part("cpu", "CPU, share of all processors", "%", "cpu_percent", False),
    17: Part("memory", "resident memory", "MB", "memory_rss_mb", False),
    18: Part("time", "execution time (system and user CPU)", "s", "cpu_time", True),
}


def averages(analysis: Analysis, *, figure: int) -> Exhibit:
    """Draw one of Figs. 15 to 18, averaged over the numbers of records."""
    part = PARTS[figure]
    rows = paper(analysis, "replication", f"Fig. {figure}")
    published = printed(rows, unit=part.unit, level=rows["row"] + THEIRS, series=rows["column"])
    way = PAPERS_WAY if part.metric != "memory_rss_mb" else {**PAPERS_WAY, "process": "apart"}
    way = {factor: wanted for factor, wanted in way.items() if factor != "network"}
    measured, notes = chosen(where(wide(analysis, "replication"), process=way["process"]), way)
    measured, places, averaged = as_judged(
        where(measured, role=("primary", "replica"), operation="insert"), part.metric
    )
    level = measured["database"].map(names.database) + ", " + measured["role"]
    series = measured["model"].map(lambda name: CALLED["model"].get(name, name))
    points = joined(published, here(measured, part.metric, unit=part.unit, over="n", level=level, series=series))
    notes = [*remarks(points, {}), *averaged, *notes, "the paper does not say which node it shows"]
    title = "; ".join([f"replication, Fig. {figure}: {part.quantity}, {part.unit}", *places])
    order = _order_rows(points, {*rows["row"], *measured["database"].map(names.database)})
    drawing = Dots(f"{part.quantity}, {part.unit}", order, log=part.log)
    return Exhibit(title, points, tuple(notes), drawing)


def as_judged(measured: pd.DataFrame, metric: str) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Keep of each database the network and the numbers of records that its claims are judged in.

    The network is the one in which most of the paper's numbers ran; of several the first that the claims name. Without
    any of the paper's numbers all that ran are kept. Returned beside are the networks with the numbers of records, for
    the title, and how these differ from the paper's, for the notes.
    """
    claims = [claim for claim in claim_files.claims("replication") if isinstance(claim, Tested)]
    of_metric = [claim for claim in claims if claim.quantity.metric == metric]
    named = [str(network) for claim in of_metric for network in several(claim.at.get("network", networks.NONE))]
    kept: list[pd.DataFrame] = []
    databases: dict[tuple[Any, ...], list[str]] = {}
    for database, rows in measured.groupby("database", sort=False):
        by_network = {
            str(network): sorted({int(n) for n in of_network["n"]}) for network, of_network in rows.groupby("network")
        }
        of_paper = {network: [n for n in ran if n in N] for network, ran in by_network.items()}
        order = [*named, *by_network]
        network = sorted(by_network, key=lambda network: (-len(of_paper[network]), order.index(network)))[0]
        ran = of_paper[network] or by_network[network]
        kept.append(where(rows, network=network, n=ran))
        databases.setdefault((network, *ran), []).append(names.database(str(database)))
    places, notes = [], []
    for (network, *ran), of_them in databases.items():
        whose = f"{', '.join(of_them)}: " if len(databases) > 1 else ""
        places.append(f"{whose}{names.network(network)}, mean over n = {list_numbers(ran)}")
        absent = [n for n in N if n not in ran]
        if absent:
            notes.append(f"{whose}the paper's mean is over n = {list_numbers(absent)}, too")
    return pd.concat(kept) if kept else measured, places, notes


def list_numbers(numbers: Sequence[int]) -> str:
    """Return numbers of records in print: ``2,000 to 10,000`` where all of the paper's ran."""
    if [*numbers] == [*N]:
        return f"{N[0]:,} to {N[-1]:,}"
    return ", ".join(f"{n:,}" for n in numbers)


def _order_rows(points: pd.DataFrame, databases: set[str]) -> list[str]:
    """Return the rows that have points: of each database, in the papers' order, the published one before its nodes."""
    rows = [
        f"{database}{place}" for database in names.ordered(databases) for place in (THEIRS, ", primary", ", replica")
    ]
    return [row for row in rows if row in set(points["level"])]


LOOKS: Final = {
    "JSON, a document": style.Look(style.BLUE, "o"),
    "JSON as text": style.Look(style.BLUE, "^"),
    "XML, field by field": style.Look(style.VERMILION, "s"),
    "XML as text": style.Look(style.VERMILION, "D"),
    "XML (text) / JSON (text)": style.Look(style.BLUE, "o"),
    "XML (text) / JSON (document)": style.Look(style.BLUE, "^"),
    "XML (fields) / JSON (text)": style.Look(style.VERMILION, "D"),
    "XML (fields) / JSON (document)": style.Look(style.VERMILION, "s"),
}
"""The looks of the paper's own series, in the order of legends."""

_ratios = partial(
    Ratios, "replication", "XML against JSON", row=quantity, way=PAPERS_WAY, one_n=True, abreast=3, series=sides
)

FIGURES: Final[dict[str, Maker]] = {
    **sheets("replication"),
    **{f"replication_fig{number}_{part.name}": partial(averages, figure=number) for number, part in PARTS.items()},
    "replication_ratios": _ratios(
        title="XML compared with JSON", panel=lambda row: names.database(row.settings["database"])
    ),
    "replication_networks": _ratios(
        title="XML compared with JSON, on the loopback and in a network",
        panel=lambda row: f"{names.database(row.settings['database'])}, {names.network(row.settings['network'])}",
        across="network",
    ),
}
_SETUP: Final = partial(setup, study="replication", nodes=("master", "slave", "client"))
_SOFTWARE: Final[Facts] = {
    "operating system, Ubuntu": HERE["operating system"],
    "Atop": lambda cells: "none: the kernel's own counters" if cells else "",
}
TABLES: Final[dict[str, Maker]] = {
    "replication_table1_setup": partial(_SETUP, source="Table I", about="Table I: software", here=_SOFTWARE),
    "replication_table2_setup": partial(_SETUP, source="Table II", about="Table II: hardware", hardware_alone=True),
}
HEADLINE: Final = Headline(
    claim="replication.bandwidth.mongodb",
    asks="What do two nodes spend on replicating JSON and XML?",
    says="Replicating JSON documents in MongoDB used {} the bandwidth of XML.",
    label="JSON / XML, bandwidth, MongoDB",
)
"""What stands for the study wherever it is named."""
