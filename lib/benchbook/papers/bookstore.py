"""JSON and XML marshalled and unmarshalled in Java (study `bookstore`).

Begin with ``PAPER`` at the end. `find_cold_starts` splits single repetitions
where their times become steady.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook.analysis.block_means import BlockMeans
from benchbook.analysis.comparisons import A_OVER_B, compare_means
from benchbook.analysis.published import find_published_value
from benchbook.analysis.quantities import MEAN_KEYS
from benchbook.analysis.runs import Analysis
from benchbook.analysis.steadiness import MIN_REPETITIONS, find_steady_state
from benchbook.analysis.study_means import StudyMeans
from benchbook.papers.paper_exhibits import PaperExhibits
from benchbook.plots.claim_lines import list_claim_sheets
from benchbook.plots.exhibit import (
    NOT_RUN,
    Dots,
    Exhibit,
    Lines,
    Maker,
    join_sources,
    list_misprints,
    set_table,
)
from benchbook.plots.points import (
    FrameRow,
    choose_levels,
    choose_levels_by_language,
    describe_points,
    frame_points,
    get_measured_table,
    join_points,
    make_measured_points,
    make_printed_points,
    select_printed,
    select_rows,
    split_panels_by_language,
)
from benchbook.plots.provenance import join_distinct, make_setup_table
from benchbook.plots.ratio_plot import (
    Headline,
    RatioFigure,
    describe_languages,
    describe_n,
    index_comparisons,
    write_estimate,
)
from benchbook.plots.titles import write_result
from benchbook.plots.turn_plot import draw_turns
from benchbook.text.names import FORMATS, LANGUAGES, name_level, name_metric, name_network
from benchbook.text.number_format import PRINTED_UNITS, format_estimate, format_number

N: Final = (1, 10, 100, 1000, 10000)
SHARED_LEVELS: Final = {
    "process": "together",
    "sink": "file",
    "keys": "paper",
    "binding": "once",
    "network": "none",
}
PAPER_LEVELS: Final = {**SHARED_LEVELS, "json_codec": "orjson", "xml_codec": "lxml"}
LANGUAGE_LEVELS: Final = {"Java": {"json_codec": "jackson", "xml_codec": "jaxb"}}
"""The codecs of the paper's own language."""

COLUMN_HEADS: Final = {"time": "time (µs)", "size": "size (here in bytes)"}
PANEL_UNITS: Final = {"time": "µs", "size": "B"}
_SOURCE: Final = "the table of case {}"


def collect_points(
    analysis: Analysis, case: int
) -> tuple[pd.DataFrame, dict[str, pd.DataFrame], list[str]]:
    """Return the paper's points of one case, each language's, and notes.

    Times are in µs, sizes in bytes.
    """
    rows = select_printed("bookstore", f"Case {case} table")
    columns = rows["column"].str.split()
    sizes = [PRINTED_UNITS.get((unit, "B"), 1.0) for unit in rows["unit"]]
    in_bytes = rows.assign(value=rows["value"] * sizes)
    published = make_printed_points(
        in_bytes,
        unit="",
        panel=columns.str[1],
        level=rows["row"].astype(int),
        series=columns.str[0],
    )
    published["unit"] = published["panel"].map(PANEL_UNITS)

    measured = select_rows(get_measured_table(analysis, "bookstore"), case=case)
    by_language, notes = choose_levels_by_language(measured, PAPER_LEVELS, LANGUAGE_LEVELS)
    parts = {language: _make_points(cells) for language, cells in by_language.items()}
    points = join_points(published, *parts.values())
    return published, parts, [*describe_points(points, {f"n = {n:,}": n for n in N}), *notes]


def _make_points(cells: pd.DataFrame) -> pd.DataFrame:
    parts = []
    for panel, operation, metric, scale in (
        ("time", "round_trip", "wall_time", 1e-3),
        ("size", "marshal", "size", 1),
    ):
        rows = select_rows(cells, operation=operation)
        part = make_measured_points(
            rows,
            metric,
            unit=PANEL_UNITS[panel],
            scale=scale,
            panel=panel,
            level=rows["n"].astype(int),
            series=rows["format"].map(FORMATS),
        )
        parts.append(part)
    return join_points(*parts)


def set_case_table(analysis: Analysis, *, case: int) -> Exhibit:
    """Set one case's table: average time of marshalling and unmarshalling, and file size."""
    published, by_language, notes = collect_points(analysis, case)
    points, sources = join_sources(published, by_language)
    sizes = sorted({*N, *points["level"]})
    panel = points["series"] + " " + points["panel"].map(COLUMN_HEADS)
    points = points.assign(level=points["level"].map("{:,}".format), panel=panel)
    heads = product(COLUMN_HEADS.values(), ("XML", "JSON"))
    frame = set_table(
        points,
        corner="Number of books",
        rows=[f"{n:,}" for n in sizes],
        columns=[f"{kind} {head}" for head, kind in heads],
        sources=sources,
    )
    title = "marshalling and unmarshalling, and size on disk"
    printed = select_printed("bookstore", f"Case {case} table")
    notes = [*notes, *list_misprints(printed)]
    return Exhibit(title, frame, tuple(notes), source=_SOURCE.format(case))


def draw_case(analysis: Analysis, *, case: int) -> Exhibit:
    """Draw one case's table: time and size over the number of books."""
    published, by_language, notes = collect_points(analysis, case)
    points, panels = split_panels_by_language("bookstore", published, by_language, ("time", "size"))
    # Panels are "time" and "size", with several languages "time, Java" and so on.
    quantities = {"time": "Time in µs", "size": "Size in bytes"}
    titles = {}
    for panel in panels:
        quantity, *language = panel.split(", ")
        titles[panel] = ", ".join([quantities[quantity], *language])
    drawing = Lines(("books", ""), N, panels, shared_scale=len(by_language) > 1, titles=titles)
    compared = [row for row in analysis.comparisons if row.name == PAPER.headline.claim]
    return Exhibit(
        "time in µs and size in bytes over the number of books",
        points,
        tuple(notes),
        drawing,
        source=_SOURCE.format(case),
        result=write_result(
            filter(lambda row: row.settings.get("case") == case, compared),
            lambda row: LANGUAGES[row.language],
            subject="XML takes",
            more="longer than JSON",
            less="less time than JSON",
            link="in",
        ),
    )


NEAR_SHARE: Final = 0.3
NEAR_LABEL: Final = f"within {100 * NEAR_SHARE:.0f} %"
PRINTED_OPERATIONS: Final = {
    "written and read": "round_trip",
    "written": "marshal",
    "read": "unmarshal",
}
LANGUAGE_ORDER: Final = ("Java", "Python")
"""The paper's own first."""


def set_cold_ratios(analysis: Analysis) -> Exhibit:
    """Set XML's time over JSON's for both cases and every number of books."""
    times = [row for row in analysis.tables if row.study == "bookstore"]
    times = [row for row in times if row.metric == "wall_time" and row.estimate > 0]
    # From a cold start: warm repetitions answer another question.
    times = [row for row in times if row.settings["process"] != "warm"]
    factors = ("case", "n", "operation")
    compared, notes = index_comparisons(times, factors, PAPER_LEVELS, LANGUAGE_LEVELS)

    # One row per case and number of books, the printed ratios first.
    sizes = sorted({*N, *(int(row.n) for row in compared.values())})
    conditions = list(product((1, 2), sizes))
    published = []
    for case, n in conditions:
        place = f"Case {case} table", str(n)
        xml = find_published_value("bookstore", *place, "XML time")
        published.append(xml / find_published_value("bookstore", *place, "JSON time"))
    columns: dict[str, list[Any]] = {
        "Case": [case for case, _ in conditions],
        "Books": [f"{n:,}" for _, n in conditions],
        "written and read, published": [format_number(ratio) for ratio in published],
    }
    # Each language's ratios, and whether they are near the printed ones.
    for language, (label, operation) in product(LANGUAGE_ORDER, PRINTED_OPERATIONS.items()):
        rows = [compared.get((language, *condition, operation)) for condition in conditions]
        columns[f"{language}: {label}, here"] = [write_estimate(row) for row in rows]
        if operation == "round_trip":
            pairs = zip(rows, published, strict=True)
            nearness = [_describe_nearness(row, ratio) for row, ratio in pairs]
            columns[f"{language}: {NEAR_LABEL}"] = nearness
    notes = [
        *describe_languages(compared, LANGUAGE_ORDER),
        "each cell is one process without warm-up, and the mean holds its first repetition, "
        "as in the paper",
        f"{NEAR_LABEL}: the ratio here over the published one lies in {1 - NEAR_SHARE:g} to "
        f"{1 + NEAR_SHARE:g}",
        "the paper prints the sum of writing and reading alone",
        *notes,
    ]
    title = "XML over JSON, time from a cold start, ratios with their 99 % intervals"
    return Exhibit(title, pd.DataFrame(columns), tuple(notes))


def _describe_nearness(row: FrameRow | None, published: float) -> str:
    if row is None:
        return NOT_RUN
    share = row.estimate / published
    return f"{'yes' if abs(share - 1) <= NEAR_SHARE else 'no'} ({format_number(share)})"


def draw_libraries(analysis: Analysis) -> Exhibit:
    """Draw each library's round trip over the fastest one's of the same case.

    The papers print no such comparison.
    """
    rows = select_rows(get_measured_table(analysis, "bookstore"), operation="round_trip")
    rows, notes = choose_levels(rows, SHARED_LEVELS)
    n = 1000 if 1000 in set(rows["n"]) else rows["n"].max()
    cases = {}
    for case, cells in select_rows(rows, n=n).groupby("case"):
        cases[f"case {case}"] = _rank_libraries(analysis, cells["cell_id"])
    points = join_points(*(_divide_by_fastest(case, ranked) for case, ranked in cases.items()))
    library_notes = _write_library_notes(int(n), cases) if cases else []
    notes = [*describe_points(points, {}), *library_notes, *notes]
    levels = points.sort_values(["series", "value"], kind="stable")["level"]
    panels = [*cases] or ["case 1", "case 2"]
    drawing = Dots("time, times the fastest", levels.unique().tolist(), panels, reference=1.0)
    title = "what the choice of library is worth beside the choice of format"
    return Exhibit(title, points, tuple(notes), drawing)


@dataclass(frozen=True)
class RankedLibraries:
    """Block means of one case's round trip by codec and language, the fastest first."""

    means: dict[tuple[str, str], BlockMeans]
    machine_days: NDArray[np.object_]

    def compare(self, a: BlockMeans, b: BlockMeans) -> dict[str, Any]:
        """Return a's time over b's; NaN where there is no ratio."""
        none = {"estimate": np.nan, "low": np.nan, "high": np.nan}
        return none | compare_means(A_OVER_B, {"a": a, "b": b}, self.machine_days)

    def write_ratio(self, a: BlockMeans, b: BlockMeans) -> str:
        """Return a's time over b's with its interval."""
        times = self.compare(a, b)
        return format_estimate(times["estimate"], times["low"], times["high"])


def _rank_libraries(analysis: Analysis, cells: Iterable[str]) -> RankedLibraries:
    means = select_rows(analysis.studies["bookstore"].means, cell_id=[*cells])
    measured = StudyMeans("bookstore", means)
    loose = ("format", "json_codec", "xml_codec")
    round_trips = [("round_trip", "client", "wall_time")]
    libraries: dict[tuple[str, str], BlockMeans] = {}
    for _, language, _, by_codec in measured.match_levels("codec", loose, round_trips):
        for codec, side in by_codec.items():
            if len(side.blocks) and (side.values > 0).all():
                libraries.setdefault((codec, language), side)
    ranked = sorted(libraries.items(), key=lambda item: float(np.log(item[1].values).mean()))
    return RankedLibraries(dict(ranked), measured.machine_days)


def _divide_by_fastest(case: str, libraries: RankedLibraries) -> pd.DataFrame:
    if not libraries.means:
        return frame_points([])
    points = []
    fastest = next(iter(libraries.means.values()))
    for (codec, language), side in libraries.means.items():
        level = f"{name_level('codec', codec)}, {LANGUAGES[language]}"
        point: dict[str, object] = {"level": level, "series": FORMATS[side.settings["format"]]}
        if side is fastest:
            points.append({**point, "value": 1.0, "blocks": len(side.blocks)})
            continue
        times = libraries.compare(side, fastest)
        if times["blocks"]:
            point["value"] = times["estimate"]
            points.append(point | {name: times[name] for name in ("low", "high", "blocks")})
    return frame_points(points, source="here", unit="ratio", panel=case)


def _write_library_notes(n: int, cases: Mapping[str, RankedLibraries]) -> list[str]:
    """Return the quantity that is drawn, and each case's sentence on library and format."""
    notes = [f"{n:,} books: time to a file and back, over the fastest library's of the same case"]
    for case, libraries in cases.items():
        by_format: dict[str, list[BlockMeans]] = {"JSON": [], "XML": []}
        for side in libraries.means.values():
            by_format[FORMATS[side.settings["format"]]].append(side)
        parts = []
        for kind, ranked in by_format.items():
            if len(ranked) > 1:
                times = libraries.write_ratio(ranked[-1], ranked[0])
                parts.append(f"the slowest {kind} library took {times} times the fastest's time")
        if all(by_format.values()):
            times = libraries.write_ratio(by_format["XML"][0], by_format["JSON"][0])
            parts.append(f"the fastest XML {times} times the fastest JSON's")
        notes.append(f"{case}: {', '.join(parts)}")
    return notes


_CELL_COLUMNS: Final = ("study", "host", "case", "n", "operation", "format", "codec")
_STEADY_COLUMNS: Final = (
    "blocks",
    "shape",
    "shapes",
    "start",
    "mean",
    "steady",
    "cold_over_steady",
)


def find_cold_starts(observations: pd.DataFrame) -> pd.DataFrame:
    """Return where the times of cells become steady, for cells with enough repetitions.

    Parameters
    ----------
    observations
        Single repetitions, as in `benchbook.results.schema.OBSERVATIONS`.

    Returns
    -------
    pandas.DataFrame
        One row per cell, operation and format; times in the stored unit, NaN where no block has a
        steady state or none was cold:

        - ``study, host, case, n, operation, format, codec``: of the cell
        - ``blocks``: their number; a block of two processes counts as two
        - ``shape``: of most blocks, as in `benchbook.analysis.steadiness.Steadiness`
        - ``shapes``: all shapes with their counts
        - ``start``: the median first repetition of the steady state
        - ``mean``: of all repetitions
        - ``steady``: the mean in the steady state
        - ``cold_over_steady``: the mean before the steady state over the mean in it
    """
    rows = observations[observations["metric"].eq("wall_time") & observations["value"].notna()]
    rows = rows.sort_values("repetition", kind="stable")
    keys = [name for name in MEAN_KEYS if name in rows and name not in ("block", "metric")]
    records: list[dict[str, object]] = []
    for _, cell in rows.groupby(keys, dropna=False, sort=False):
        # A format has another turn in each process of a block; older rows state none.
        processes = ["block", *(["turn"] if "turn" in cell else [])]
        blocks = [
            process["value"].to_numpy(dtype=float)
            for _, process in cell.groupby(processes, dropna=False)
        ]
        if min(map(len, blocks)) < MIN_REPETITIONS:
            continue
        about = cell.iloc[0][[*_CELL_COLUMNS]]
        records.append({**about, **_describe_blocks(blocks)})
    return pd.DataFrame(records, columns=[*_CELL_COLUMNS, *_STEADY_COLUMNS])


def _describe_blocks(blocks: list[NDArray[np.float64]]) -> dict[str, object]:
    """Return the columns `_STEADY_COLUMNS` of the repetitions of some blocks."""
    states = [find_steady_state(block) for block in blocks]
    # How much slower is a block before its steady state than in it?
    starts, steady_means, cold_ratios = [], [], []
    for block, state in zip(blocks, states, strict=True):
        if state.start is None:
            continue
        cold, steady = block[: state.start], block[state.start :]
        starts.append(len(cold))
        steady_means.append(steady.mean())
        if len(cold):
            cold_ratios.append(float(cold.mean() / steady.mean()))
    counts = pd.Series([state.shape for state in states]).value_counts()
    return {
        "blocks": len(blocks),
        "shape": str(counts.index[0]),
        "shapes": ", ".join(f"{shape} {count}" for shape, count in counts.items()),
        "start": float(np.median(starts)) if starts else np.nan,
        "mean": float(np.mean([block.mean() for block in blocks])),
        "steady": float(np.mean(steady_means)) if starts else np.nan,
        "cold_over_steady": float(np.exp(np.mean(np.log(cold_ratios)))) if cold_ratios else np.nan,
    }


_ratios = partial(RatioFigure, "bookstore", "XML against JSON", levels=PAPER_LEVELS)

FIGURES: Final[dict[str, Maker]] = {
    **list_claim_sheets("bookstore"),
    **{f"bookstore_case{case}": partial(draw_case, case=case) for case in (1, 2)},
    "bookstore_libraries": draw_libraries,
    "bookstore_ratios": _ratios(
        title="XML compared with JSON",
        row=lambda row: f"{name_metric(row.metric)}, {describe_n(row)}",
        language_levels=LANGUAGE_LEVELS,
        panel=lambda row: f"case {row.settings['case']}",
        operations=("round_trip", "marshal"),
        series=lambda row: LANGUAGES[row.language],
    ),
    "bookstore_networks": _ratios(
        title="XML compared with JSON, on the loopback and in a network",
        row=lambda row: f"{row.operation.replace('_', ' ')}: {name_metric(row.metric)}",
        panel=lambda row: f"case {row.settings['case']}, {LANGUAGES[row.language]}",
        series=lambda row: name_network(row.settings["network"]),
        language_levels=LANGUAGE_LEVELS,
        factor="network",
        one_n=True,
    ),
    "bookstore_turns": partial(draw_turns, study="bookstore"),
}
TABLES: Final[dict[str, Maker]] = {
    **{f"bookstore_table_case{case}": partial(set_case_table, case=case) for case in (1, 2)},
    "bookstore_cold": set_cold_ratios,
    "bookstore_setup": partial(
        make_setup_table,
        study="bookstore",
        source="Section IV",
        about="the machine",
        rows=("processor", "word length", "JVM", "Apache Maven"),
        facts={
            "word length": lambda cells: "64 bit" if "64" in join_distinct(cells, "kernel") else ""
        },
    ),
}
PAPER: Final = PaperExhibits(
    headline=Headline(
        claim="bookstore.round-trip.xml-slower",
        asks="What does it cost to turn an object into JSON or XML and back?",
        says="XML took {} as long as JSON to be written and read back.",
        label="XML / JSON, time",
    ),
    levels=PAPER_LEVELS,
    figures=FIGURES,
    tables=TABLES,
)
