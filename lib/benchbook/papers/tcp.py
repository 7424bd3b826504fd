"""JSON and XML sent to a multi-threaded TCP server (study `tcp`): Tables 1 to 8 and Figs. 3 to 5.

Begin with ``PAPER`` at the end. `set_decoders` compares all codecs.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, Final

import pandas as pd

from benchbook.analysis import claim_files
from benchbook.analysis.claims import Quantities
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.paper_comparisons import compare_tables
from benchbook.analysis.runs import Analysis
from benchbook.papers.findings import load_t_tests
from benchbook.papers.paper_exhibits import PaperExhibits
from benchbook.papers.tcp_samples import (
    APART_LEVELS,
    LANGUAGE_LEVELS,
    MAIN_CODECS,
    MEASURES,
    MILLION,
    PAPER_LEVELS,
    PRINTED_FORMATS,
    RESOURCE_TABLES,
    SIZES,
    TOGETHER_LEVELS,
    TRIALS,
    average_sizes,
    collect_measures,
    collect_rows,
    has_sequence,
    list_missing_sizes,
)
from benchbook.plots.claim_lines import list_claim_sheets
from benchbook.plots.exhibit import (
    NOT_RUN,
    Exhibit,
    Lines,
    Maker,
    group_digits,
    join_sources,
    list_misprints,
    name_sources,
    set_table,
)
from benchbook.plots.points import (
    FrameRow,
    choose_levels,
    describe_blocks,
    describe_missing,
    describe_points,
    get_measured_table,
    iterate_rows,
    join_points,
    make_measured_points,
    make_printed_points,
    select_printed,
    select_rows,
    split_by_language,
    split_panels_by_language,
)
from benchbook.plots.provenance import make_setup_table
from benchbook.plots.ratio_plot import (
    Headline,
    RatioFigure,
    describe_quantity,
    name_a_over_b,
)
from benchbook.text import names
from benchbook.text.number_format import NOT_PRINTED, format_estimate, format_number, format_p_value

SHARES: Final = {"User CPU": "user CPU", "System CPU": "system CPU", "Memory": "memory"}


def draw_shares(analysis: Analysis, *, figure: int, formats: tuple[str, ...]) -> Exhibit:
    """Draw one of Figs. 3 to 5: CPU and memory in percent, by trial, a panel for each of them."""
    # The printed shares: one table per format.
    numbers = {f"Trial {trial}": trial for trial in TRIALS.values()}
    printed = []
    for kind in formats:
        shares = select_printed("tcp", RESOURCE_TABLES[kind])
        level, panel = shares["row"].map(numbers), shares["column"].map(SHARES)
        points = make_printed_points(shares, unit="%", panel=panel, level=level, series=kind)
        printed.append(points)
    rows, level_notes = collect_measures(analysis)
    measured = {}
    for language, of_language in rows.items():
        shares = select_rows(of_language, Format=formats, measure=list(SHARES), n=SIZES)
        level, panel = shares["n"].map(TRIALS), shares["measure"].map(SHARES)
        measured[language] = make_measured_points(
            shares, "drawn", unit="%", panel=panel, level=level, series=shares["Format"]
        )
    points, panels = split_panels_by_language(
        "tcp", join_points(*printed), measured, [*SHARES.values()]
    )
    trials = {f"trial {trial} (n = {n:,})": trial for n, trial in TRIALS.items()}
    notes = describe_points(points, trials)
    notes.append("intervals are of shares' logits, and so stay between 0 and 100 %")
    for language_notes in level_notes.values():
        notes += language_notes
    drawing = Lines(
        ("trial", "share, %"),
        list(TRIALS.values()),
        panels,
        log=(False, False),
        limits=(0, 102),
        height=1.4,
    )
    title = f"the server machine's resources, {' and '.join(formats)}, %"
    return Exhibit(title, points, tuple(notes), drawing, source=f"Fig. {figure}")


TIMES: Final = ("Number Of Objects", "Total Time", "Average Time")


def set_timing(analysis: Analysis, *, source: str) -> Exhibit:
    """Set Table 1 or 3: number of objects, total and average time."""
    scenario, sizes = (1, (MILLION,)) if source == "Table 1" else (2, SIZES)
    trials = {n: f"Trial {TRIALS[n]} " if n in TRIALS else "" for n in sizes}
    rows = select_printed("tcp", source)
    measured, notes = _select_measures(analysis, sizes, TIMES[1:])
    parts = {}
    for language, of_language in measured.items():
        times = make_measured_points(
            of_language,
            "drawn",
            unit="ms",
            level=of_language["n"].map(trials).astype(str) + of_language["measure"],
            panel=of_language["Format"],
        )
        # How many objects the times are of.
        counts = select_rows(of_language, measure="Total Time").drop_duplicates(["n", "Format"])
        counts = counts.assign(
            level=counts["n"].map(trials).astype(str) + TIMES[0],
            panel=counts["Format"],
            printed=counts["n"].map("{:,}".format),
        )
        parts[language] = join_points(times, counts)
    printed = make_printed_points(rows, unit="", level=rows["row"], panel=rows["column"])
    points, sources = join_sources(printed, parts)
    levels = [f"{trial}{time}" for trial, time in product(trials.values(), TIMES)]
    frame = set_table(
        points,
        corner="Measure (times in ms)",
        rows=levels,
        columns=PRINTED_FORMATS,
        sources=sources,
    )
    title = f"scenario {scenario}, time on the server's clock, ms"
    notes = _write_notes(parts, measured, sizes, notes)
    return Exhibit(title, frame, (*notes, *list_misprints(rows)), source=source)


def set_resources(analysis: Analysis, *, number: int) -> Exhibit:
    """Set Table 2, 4 or 5: the server machine's CPU and memory."""
    # Table 2 has a row per format, Tables 4 and 5 have a row per trial of one format.
    kind = {4: "JSON", 5: "XML"}.get(number)
    sizes, formats = (SIZES, (kind,)) if kind else ((MILLION,), PRINTED_FORMATS)
    trials = {n: f"Trial {trial}" for n, trial in TRIALS.items()}
    levels = list(trials.values()) if kind else PRINTED_FORMATS
    corner, about = ("Trial", f"scenario 2, {kind}") if kind else ("Format", "scenario 1")

    rows = select_printed("tcp", f"Table {number}")
    measured, notes = _select_measures(analysis, sizes, tuple(SHARES), formats)
    parts = {}
    for language, of_language in measured.items():
        level = of_language["n"].map(trials) if kind else of_language["Format"]
        parts[language] = make_measured_points(
            of_language, "drawn", unit="%", panel=of_language["measure"], level=level
        )
    printed = make_printed_points(rows, unit="%", level=rows["row"], panel=rows["column"])
    points, sources = join_sources(printed, parts)
    frame = set_table(points, corner=corner, rows=levels, columns=tuple(SHARES), sources=sources)
    title = f"{about}, the server machine's CPU and memory, %"
    notes = _write_notes(parts, measured, sizes, notes)
    return Exhibit(title, frame, (*notes, *list_misprints(rows)), source=f"Table {number}")


def _select_measures(
    analysis: Analysis,
    sizes: Sequence[int],
    measures: Sequence[str],
    formats: Sequence[str] = PRINTED_FORMATS,
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Return each language's rows of those sizes, measures and formats, and notes on levels."""
    rows, level_notes = collect_measures(analysis)
    selected, notes = {}, []
    for language, of_language in rows.items():
        of_sizes = select_rows(of_language, n=sizes, measure=measures, Format=formats)
        selected[language] = of_sizes.dropna(subset=["drawn"])
        notes += level_notes[language]
    return selected, notes


def _write_notes(
    points: Mapping[str, pd.DataFrame],
    rows: Mapping[str, pd.DataFrame],
    sizes: Sequence[int],
    notes: list[str],
) -> list[str]:
    missing = list_missing_sizes(pd.concat(rows.values()), sizes)
    if len(missing) == len(sizes):
        return describe_missing(missing)
    return [*describe_points(join_points(*points.values()), {}), *describe_missing(missing), *notes]


OVERVIEW: Final = {
    **{f"Scenario 1 {measure}": (measure, (MILLION,)) for measure in MEASURES},
    **{f"Scenario 2 {measure}": (measure, SIZES) for measure in MEASURES},
    "Scenario 2 Total Time for 100,000 Objects": ("Total Time", (100_000,)),
}
"""Measures and sizes of the rows of Table 6."""


def set_overview(analysis: Analysis) -> Exhibit:
    """Set Table 6: the results at a glance, ranges over the trials that ran."""
    rows = select_printed("tcp", "Table 6")
    rows = rows[~rows["column"].str.endswith(" to")]  # a range is printed once
    levels = list(dict.fromkeys(rows["row"]))
    kinds = rows["column"].str.split().str[0]
    printed = make_printed_points(rows, unit="", level=rows["row"], panel=kinds)

    # This machine's texts for the same cells, by language.
    measured, notes = collect_rows(analysis, (MILLION, *SIZES))
    parts = {}
    for language, of_language in measured.items():
        cells = []
        for level, kind in product(levels, PRINTED_FORMATS):
            text = _write_range(of_language, level, kind)
            if text:
                cells.append((level, kind, text))
        parts[language] = pd.DataFrame(cells, columns=["level", "panel", "printed"])
    points, sources = join_sources(printed, parts)
    frame = set_table(
        points, corner="Scenario and measure", rows=levels, columns=PRINTED_FORMATS, sources=sources
    )
    notes = [*notes, *list_misprints(rows)]
    return Exhibit("the results at a glance", frame, tuple(notes), source="Table 6")


def _write_range(rows: pd.DataFrame, level: str, kind: str) -> str:
    """Return one cell of Table 6: a mean, or the range of the trials' means; empty if not run."""
    measure, sizes = OVERVIEW[level]
    means = average_sizes(rows, measure, kind, sizes)
    if means.empty:
        return ""
    low, high = format_number(means.min()), format_number(means.max())
    unit = MEASURES[measure][1]
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def set_samples(analysis: Analysis) -> Exhibit:
    """Set Table 7: the five trials of each measure as the samples of the paper's t-tests."""
    rows = select_printed("tcp", "Table 7")
    measured, notes = collect_rows(analysis, SIZES)
    table: dict[str, list[str]] = {"Measure": list(MEASURES)}
    for kind in PRINTED_FORMATS:
        of_kind = rows[rows["column"].str.startswith(kind)]
        printed = of_kind["printed"].map(group_digits).groupby(of_kind["row"]).agg("; ".join)
        table[f"{kind}, published"] = ["{" + printed.get(measure, "") + "}" for measure in MEASURES]
        for source, of_language in name_sources(measured).items():
            texts = []
            for measure in MEASURES:
                sample = average_sizes(of_language, measure, kind, SIZES)
                text = "{" + "; ".join(map(format_number, sample)) + "}"
                texts.append(text if len(sample) else NOT_RUN)
            table[f"{kind}, {source}"] = texts
    title = "the samples of the t-tests, a value a trial (ms, %)"
    notes = [*notes, *list_misprints(rows)]
    return Exhibit(title, pd.DataFrame(table), tuple(notes), source="Table 7")


def set_p_values(analysis: Analysis) -> Exhibit:
    """Set Table 8: Student's tests as printed, recomputed, and repeated on new data."""
    # As printed, and recomputed from Table 7 in each reading of its commas.
    tests = load_t_tests()
    columns = {"p printed": tests.drop_duplicates("measure").set_index("measure")["printed"]}
    for reading, of_reading in tests.groupby("reading", sort=False):
        p_values = of_reading.set_index("measure")["p"]
        columns[f"p recomputed ({reading})"] = p_values.map(format_p_value)

    # The same test of what was measured here.
    measured, notes = collect_rows(analysis, SIZES)
    for source, of_language in name_sources(measured).items():
        p_texts = {measure: _compute_p_value(of_language, measure) for measure in MEASURES}
        columns[f"p, {source}"] = pd.Series(p_texts)
    frame = pd.DataFrame(columns).reindex(list(MEASURES)).rename_axis("Measure")
    frame = frame.reset_index().fillna(NOT_PRINTED)
    why = (
        "the test takes sizes that differ on purpose for one sample (Table 7): "
        "it is repeated, not recommended"
    )
    title = "Student's unpaired t-tests, JSON against XML"
    misprints = list_misprints(select_printed("tcp", "Table 8"))
    return Exhibit(title, frame, (*notes, why, *misprints), source="Table 8")


def _compute_p_value(rows: pd.DataFrame, measure: str) -> str:
    """Return the p-value of Student's test of this machine's samples in Table 7."""
    json, xml = (average_sizes(rows, measure, kind, SIZES) for kind in PRINTED_FORMATS)
    if json.empty or xml.empty:
        return NOT_RUN
    # Importing it takes half a second, and figures do not need it.
    from scipy import stats

    # The p-value of fewer than two values is NaN, with a warning.
    with warnings.catch_warnings(action="ignore"):
        p = float(stats.ttest_ind(json, xml).pvalue)
    return "no test" if math.isnan(p) else format_p_value(p)


_ratios = partial(
    RatioFigure,
    "tcp",
    "XML against JSON",
    row=describe_quantity,
    series=name_a_over_b,
    operations=("receive",),
)


def draw_ratios(analysis: Analysis) -> Exhibit:
    """Draw every ratio of XML over JSON, in the paper's order of trials where that ran."""
    title = "XML compared with JSON"
    if has_sequence(get_measured_table(analysis, "tcp")):
        return _ratios(title=title, levels=APART_LEVELS, language_levels=LANGUAGE_LEVELS)(analysis)
    return _ratios(title=title, levels=TOGETHER_LEVELS)(analysis)


DECODERS: Final = {
    "Java": ("jaxb", "jaxb_context", "dom", "xmldecoder", "jackson"),
    "Python": ("lxml", "etree", "xsdata", "orjson", "json", "msgspec"),
}
"""The codecs of each language, XML before JSON."""


def set_decoders(analysis: Analysis) -> Exhibit:
    """Set each codec's time over that of its language's main JSON codec, for each n."""
    title = (
        "decoders, time on the server's clock over that of the stack's own JSON "
        "codec, 99 % intervals"
    )

    # Each language's ratios, with the levels in which its trials ran.
    measured = get_measured_table(analysis, "tcp")
    by_language = split_by_language(measured)
    ratios: list[dict[str, Any]] = []
    notes = []
    for language, codecs in DECODERS.items():
        rows = by_language.get(language, measured[:0])
        levels = APART_LEVELS | LANGUAGE_LEVELS.get(language, {})
        if (rows["process"] == "together").any():
            levels = TOGETHER_LEVELS
        rows, level_notes = choose_levels(rows, levels)
        ran = set(rows["codec"])
        missing = [names.name_level("codec", codec) for codec in codecs if codec not in ran]
        ratios += _compare_with_json(analysis, rows, language)
        notes += [f"{language}: {note}" for note in [*level_notes, *describe_missing(missing)]]
    if ratios:
        blocks = describe_blocks([ratio["blocks"] for ratio in ratios])
        nearest = (
            "nearest: the XML codec whose ratio is the least factor away from the published one "
            "at that n"
        )
        notes = [blocks, nearest, *notes]
    return Exhibit(title, _set_ratios(ratios), tuple(notes))


def _compare_with_json(
    analysis: Analysis, rows: pd.DataFrame, language: str
) -> list[dict[str, Any]]:
    """Return one language's ratios, one per n and codec; none without its main JSON codec.

    Codecs are compared within one process where both ran in one.
    """
    base = MAIN_CODECS[language]["json"]
    # Every other codec over the main JSON codec: in one process, and across processes.
    (pairs,) = claim_files.load_paper_comparisons("tcp")
    times = Quantities(operation=("receive",), role=("server",), metric=("wall_time",))
    together = pairs.model_copy(
        update={
            "pairs": tuple((codec, base) for codec in DECODERS[language] if codec != base),
            "quantities": (times,),
            "labels": {},
            "missing": False,
        }
    )
    apart = together.model_copy(update={"loose": ("format", "json_codec", "xml_codec")})
    means = select_rows(analysis.means, cell_id=[*rows["cell_id"]])
    table = Comparison.to_frame(compare_tables(means, [together, apart]))

    kinds = dict(zip(rows["codec"], rows["format"], strict=True))
    return [
        {
            "n": row.n,
            "format": kinds[row.a],
            "codec": row.a,
            "language": language,
            "base": base,
            "ratio": row.estimate,
            "low": row.low,
            "high": row.high,
            "blocks": row.blocks,
            "published": row.published if kinds[row.a] == "xml" else math.nan,
        }
        for row in iterate_rows(table.drop_duplicates(["n", "a"]))
    ]


def _set_ratios(ratios: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the ratios as a table, the nearest to the paper's at each n marked."""
    if not ratios:
        return pd.DataFrame(columns=[*DECODER_COLUMNS])
    rows = pd.DataFrame(ratios)
    rows["factor"] = rows["ratio"] / rows["published"]
    distances = rows["factor"].map(math.log).abs().dropna()
    nearest = distances.groupby(rows["n"]).idxmin()
    rows["nearest"] = rows.index.isin(nearest)
    order = ["n", "format", "ratio"]
    rows = rows.sort_values(order, ascending=[True, False, False], kind="stable")
    table = {}
    for head, write in DECODER_COLUMNS.items():
        table[head] = [write(row) for row in iterate_rows(rows)]
    return pd.DataFrame(table)


DECODER_COLUMNS: Final[dict[str, Callable[[FrameRow], str]]] = {
    "Objects": lambda row: f"{row.n:,}",
    "Format": lambda row: names.FORMATS[row.format],
    "Codec": lambda row: names.name_level("codec", row.codec),
    "Stack": lambda row: row.language,
    "Over": lambda row: names.name_level("codec", row.base),
    "Time, published": lambda row: format_number(row.published),
    "Time, here": lambda row: format_estimate(row.ratio, row.low, row.high),
    "Here / published": lambda row: format_number(row.factor),
    "Nearest": lambda row: "nearest" if row.nearest else "",
}
"""The columns of the table of decoders, and a codec's text in each."""

FIGURES: Final[dict[str, Maker]] = {
    **list_claim_sheets("tcp"),
    "tcp_fig3_json": partial(draw_shares, figure=3, formats=("JSON",)),
    "tcp_fig4_xml": partial(draw_shares, figure=4, formats=("XML",)),
    "tcp_fig5_both": partial(draw_shares, figure=5, formats=PRINTED_FORMATS),
    "tcp_ratios": draw_ratios,
    "tcp_networks": _ratios(
        title="XML compared with JSON, on the loopback and in a network",
        levels=APART_LEVELS,
        language_levels=LANGUAGE_LEVELS,
        panel=lambda row: f"{names.LANGUAGES[row.language]}: {name_a_over_b(row)}",
        series=lambda row: names.name_network(row.settings["network"]),
        one_n=True,
        factor="network",
    ),
}
TABLES: Final[dict[str, Maker]] = {
    "tcp_table1_scenario1_time": partial(set_timing, source="Table 1"),
    "tcp_table2_scenario1_resources": partial(set_resources, number=2),
    "tcp_table3_scenario2_time": partial(set_timing, source="Table 3"),
    "tcp_table4_json_resources": partial(set_resources, number=4),
    "tcp_table5_xml_resources": partial(set_resources, number=5),
    "tcp_table6_overview": set_overview,
    "tcp_table7_samples": set_samples,
    "tcp_table8_p_values": set_p_values,
    "tcp_decoders": set_decoders,
    "tcp_setup": partial(
        make_setup_table,
        study="tcp",
        source="Section 4.2",
        about="the machines",
        rows=("workstations", "operating system", "network cards", "cables"),
        facts={
            "workstations": lambda cells: "1 (client and server on one machine)" if cells else ""
        },
    ),
}
PAPER: Final = PaperExhibits(
    headline=Headline(
        claim="tcp.scenario-2.xml-slower",
        asks="What does a server spend on receiving objects as JSON or XML?",
        says="The server took {} as long to receive XML as to receive JSON.",
        label="XML / JSON, time",
    ),
    levels=PAPER_LEVELS,
    figures=FIGURES,
    tables=TABLES,
)
