"""MongoDB through its Node.js driver and through an object mapper (study `drivers`).

The paper prints only bounds of times, CPU and memory. Begin with ``PAPER`` at the end.
"""

from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Final, Literal

import pandas as pd

from benchbook import codecs
from benchbook.analysis import claim_files
from benchbook.analysis.claims import Quantities
from benchbook.analysis.paper_comparisons import compare_tables
from benchbook.analysis.published import load_published_numbers
from benchbook.analysis.runs import Analysis
from benchbook.datasets import players
from benchbook.papers.paper_exhibits import PaperExhibits
from benchbook.plots.claim_lines import list_claim_sheets
from benchbook.plots.exhibit import Exhibit, Lines, Maker, list_misprints, set_table
from benchbook.plots.points import (
    choose_levels_by_language,
    describe_points,
    frame_points,
    get_measured_table,
    iterate_rows,
    make_measured_points,
    make_printed_points,
    select_printed,
    select_rows,
    split_panels_by_language,
)
from benchbook.plots.provenance import make_setup_table
from benchbook.plots.ratio_plot import (
    ComparisonIndex,
    Headline,
    RatioFigure,
    describe_languages,
    describe_n,
    index_comparisons,
    name_a_over_b,
    write_estimate,
)
from benchbook.plots.titles import write_result
from benchbook.plots.turn_plot import draw_turns
from benchbook.text.names import name_metric
from benchbook.text.number_format import format_bounds, format_tick

N: Final = (1000, 10000, 100000, 200000)
PLAYER_OPERATIONS: Final = ("insert", "find", "update", "delete")
RECORD_SETS: Final[dict[str, Literal[89, 6]]] = {"set 1": 89, "set 2": 6}
SAMPLE: Final = 1000
SEED: Final = 20150501
_COMMON_LEVELS: Final = {
    "process": "together",
    "calls": "bulk",
    "batch": "all",
    "durability": "default",
    "heap": "default",
}
PAPER_LEVELS: Final = {**_COMMON_LEVELS, "document_schema": "required"}
MEMORY_LEVELS: Final = {**PAPER_LEVELS, "process": "operation"}
"""Memory is that of a process that did one operation."""

DRIVER_PAIRS: Final = {"Node.js": ("mongoclient", "mongoose"), "Python": ("pymongo", "mongoengine")}
"""Each language's native driver and mapper; the paper's own are Node.js's."""


_Bounds = dict[str, tuple[str, str, str | None]]
"""For an operation the published row, and the columns of its upper and lower bound."""


@dataclass(frozen=True)
class ResourceFigure:
    """One of the paper's figures: a quantity of the client process, with the text's bounds."""

    unit: str
    metric: str
    scale: float
    bounds: _Bounds
    claims: str  # the word that its claims have in their ids
    log: bool = True


_TIME: Final[_Bounds] = {
    **dict.fromkeys(
        ("insert", "find"), ("insert and find time", "worst case to", "worst case from")
    ),
    **dict.fromkeys(("update", "delete"), ("update and delete time", "upper bound", None)),
}
_CPU: Final[_Bounds] = {
    operation: (f"{operation} CPU", "upper bound", None) for operation in ("update", "delete")
}
_MEMORY: Final[_Bounds] = {
    **dict.fromkeys(("insert", "find"), ("insert and find memory", "to", "from")),
    **dict.fromkeys(("update", "delete"), ("update and delete memory", "upper bound", None)),
}
RESOURCE_FIGURES: Final = {
    2: ResourceFigure("ms", "wall_time", 1e-6, _TIME, "time"),
    3: ResourceFigure("ms", "cpu_time", 1e3, _CPU, "cpu"),
    4: ResourceFigure("MB", "memory_change_kb", 1e-3, _MEMORY, "memory", log=False),
}


def _make_points(rows: pd.DataFrame, figure: ResourceFigure, pair: tuple[str, str]) -> pd.DataFrame:
    """Return one language's points, without other pairs'."""
    kind = rows["driver"].map(dict(zip(pair, ("native driver", "mapper"), strict=True)))
    rows = rows.assign(series=kind + ", " + rows["attributes"].astype(str) + " attributes")
    rows = rows[kind.notna()]
    return make_measured_points(
        rows,
        figure.metric,
        unit=figure.unit,
        scale=figure.scale,
        panel=rows["operation"],
        level=rows["n"].astype(int),
        series=rows["series"],
    )


def draw_operations(analysis: Analysis, *, number: int) -> Exhibit:
    """Draw one of Figs. 2 to 4: insert, find, update, delete."""
    figure = RESOURCE_FIGURES[number]
    levels = MEMORY_LEVELS if figure.metric in MEMORY_METRICS else PAPER_LEVELS
    rows = select_rows(get_measured_table(analysis, "drivers"), process=levels["process"])
    by_language, notes = choose_levels_by_language(rows, levels)
    measured, pair_notes = {}, []
    for language, of_language in by_language.items():
        driver, mapper = DRIVER_PAIRS[language]
        measured[language] = _make_points(of_language, figure, DRIVER_PAIRS[language])
        pair_notes.append(f"{language}: native driver {driver}, mapper {mapper}")

    # The text's bounds of each operation.
    rows = load_published_numbers("drivers").query("source.str.startswith('Section')")
    printed = {(row.row, row.column): float(row.value) for row in iterate_rows(rows)}
    bounds = []
    for operation, (name, upper, lower) in figure.bounds.items():
        low = printed[name, lower] if lower else 0.0
        bounds.append({"panel": operation, "low": low, "high": printed[name, upper]})
    published = frame_points(bounds, source="published", unit=figure.unit)

    points, panels = split_panels_by_language("drivers", published, measured, PLAYER_OPERATIONS)
    # A panel's title has its bounds, where no mark can lie.
    titles = {}
    for bound in iterate_rows(points[points["source"] == "published"]):
        text = format_bounds(bound.low, bound.high, format_tick)
        titles[bound.panel] = f"{bound.panel}\npublished: {text}"
    notes = [
        *describe_points(points, {f"n = {n:,}": n for n in N}),
        *notes,
        "the paper prints no values, only bounds over all of its runs",
        *pair_notes,
    ]
    several, quantity = len(panels) > len(PLAYER_OPERATIONS), name_metric(figure.metric)
    drawing = Lines(
        ("records", f"{quantity}, {figure.unit}"),
        N,
        panels,
        log=(True, figure.log),
        height=1.5 if several else 2.0,
        shared_scale=several,
        titles=titles,
    )
    claims = {f"drivers.{name}.{figure.claims}.mapper-more": name for name in PLAYER_OPERATIONS}
    compared = [row for row in analysis.comparisons if row.name in claims]
    return Exhibit(
        f"{quantity} of the client, {figure.unit}",
        points,
        tuple(notes),
        drawing,
        source=f"Fig. {number}",
        result=write_result(
            compared,
            lambda row: claims[row.name],
            subject="The mapper takes",
            more=f"more {quantity}",
            less=f"less {quantity}",
            link="to",
        ),
    )


def set_record_sets(analysis: Analysis) -> Exhibit:
    """Set Table 1: the two record sets, theirs and the ones generated here."""
    rows = select_printed("drivers", "Table 1")
    published = make_printed_points(rows, unit="", panel=rows["column"], level=rows["row"])

    # The same facts of the records that are generated here.
    codec = codecs.load_codec("orjson")
    generated = []
    for name, attributes in RECORD_SETS.items():
        data = players.generate_players(SAMPLE, SEED, attributes=attributes)
        size = sum(len(codec.encode_record(record)) for record in data.records) / SAMPLE
        texts = {
            "number of records": f"{players.TABLE_SIZE:,}",
            "number of attributes": f"{len(data.schema.fields) - 1}",  # without _id
            "size of a record": f"{size / 1e3:.2f} KB",
        }
        for level, text in texts.items():
            generated.append({"level": level, "panel": name, "source": "here", "printed": text})
    frame = set_table(
        pd.concat([published, pd.DataFrame(generated)]),
        corner="Record set",
        rows=list(dict.fromkeys(rows["row"])),
        columns=list(RECORD_SETS),
    )
    note = (
        f"here: sizes are means of the first {SAMPLE:,} records as compact JSON, "
        "in KB of 1,000 bytes"
    )
    notes = (note, *list_misprints(rows))
    return Exhibit("the record sets", frame, notes, source="Table 1")


MEMORY_METRICS: Final = ("memory_change_kb", "heap_change")
PAIR_METRICS: Final = ("wall_time", "cpu_time", *MEMORY_METRICS)


def set_pairs(analysis: Analysis) -> Exhibit:
    """Set every ratio of mapper over driver: by record set, number of records and operation."""
    compared, notes = _index_ratios(analysis)
    sizes = sorted({*N, *(int(row.n) for row in compared.values())})
    conditions = list(product(RECORD_SETS.values(), sizes, PLAYER_OPERATIONS))
    frame = pd.DataFrame(conditions, columns=["Attributes", "Records", "Operation"])
    frame["Records"] = frame["Records"].map("{:,}".format)

    # One column per language and quantity.
    for language, metric in product(DRIVER_PAIRS, PAIR_METRICS):
        # Python has no counter of its heap.
        if (language, metric) == ("Python", "heap_change"):
            continue
        rows = [compared.get((language, *condition, metric)) for condition in conditions]
        frame[f"{language}: {name_metric(metric)}, here"] = [write_estimate(row) for row in rows]
    notes = [
        *describe_languages(compared, DRIVER_PAIRS),
        "Node.js: Mongoose over MongoClient, the paper's own pair; Python: mongoengine over "
        "pymongo",
        "above 1: the mapper is slower or larger; the paper prints no values",
        "new memory: what the client's resident memory grew by in the operation; Node.js also "
        "counts its heap",
        "new memory can be zero or negative, so it is a difference: mapper minus driver",
        *notes,
    ]
    title = "mapper over native driver, ratios with their 99 % intervals"
    return Exhibit(title, frame, tuple(notes))


def _index_ratios(analysis: Analysis) -> tuple[ComparisonIndex, list[str]]:
    """Return the comparisons by language, attributes, n, operation and metric, and notes."""
    mapper_over_driver = tuple((mapper, driver) for driver, mapper in DRIVER_PAIRS.values())
    of_heap = Quantities(operation=PLAYER_OPERATIONS, role=("client",), metric=("heap_change",))
    # The paper's comparisons with the pairs of every language, and those of the heap.
    wanted = []
    for pairs in claim_files.load_paper_comparisons("drivers"):
        of_both = pairs.model_copy(update={"pairs": mapper_over_driver})
        wanted += [of_both, of_both.model_copy(update={"quantities": (of_heap,)})]
    rows = compare_tables(select_rows(analysis.means, study="drivers"), wanted)
    of_memory = [row for row in rows if row.blocks and row.metric in MEMORY_METRICS]
    others = [row for row in rows if row.blocks and row.metric not in MEMORY_METRICS]
    factors = ("attributes", "n", "operation", "metric")
    compared, notes = index_comparisons(others, factors, PAPER_LEVELS)
    of_memory_compared, memory_notes = index_comparisons(of_memory, factors, MEMORY_LEVELS)
    notes += [note for note in memory_notes if note not in notes]
    return compared | of_memory_compared, notes


SCHEMA_NAMES: Final = {
    "types": "types",
    "required": "required fields",
    "validated": "required, with validators",
}
"""What a mapper's schema declares; runs from before there was a choice have required fields."""


_ratios = partial(
    RatioFigure,
    "drivers",
    "mapper against driver",
    panel=lambda row: f"{row.settings['attributes']} attributes",
    series=name_a_over_b,
    axis="mapper / driver",
)

FIGURES: Final[dict[str, Maker]] = {
    **list_claim_sheets("drivers", 3),
    "drivers_fig2_time": partial(draw_operations, number=2),
    "drivers_fig3_cpu": partial(draw_operations, number=3),
    "drivers_fig4_memory": partial(draw_operations, number=4),
    "drivers_ratios": _ratios(
        "mapper compared with driver",
        lambda row: f"{name_metric(row.metric)}: {row.operation}, {describe_n(row)}",
        PAPER_LEVELS,
    ),
    "drivers_schema": _ratios(
        "mapper compared with driver, by what its schema declares",
        lambda row: (
            f"{name_metric(row.metric)}: {row.operation}, "
            f"{SCHEMA_NAMES[row.settings.get('document_schema', 'required')]}"
        ),
        _COMMON_LEVELS,
        operations=("insert", "find"),
        one_n=True,
    ),
    "drivers_turns": partial(draw_turns, study="drivers"),
}
TABLES: Final[dict[str, Maker]] = {
    "drivers_table1_records": set_record_sets,
    "drivers_pairs": set_pairs,
    "drivers_setup": partial(
        make_setup_table,
        study="drivers",
        source="Section 3.2",
        about="the machine",
        rows=("operating system", "processor", "memory", "heap"),
    ),
}
PAPER: Final = PaperExhibits(
    headline=Headline(
        claim="drivers.insert.time.mapper-more",
        asks="What does an object mapper cost over the database's own driver?",
        says="The object mapper took {} as long as the native driver to insert records.",
        label="mapper / driver, time to insert",
    ),
    levels=PAPER_LEVELS,
    figures=FIGURES,
    tables=TABLES,
)
