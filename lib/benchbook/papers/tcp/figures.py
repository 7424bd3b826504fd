"""Tables 1 to 8 and Figs. 3 to 5 of study `tcp`: objects sent to a server, JSON and XML; and every decoder's ratio."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import pandas as pd

from benchbook.analysis import Analysis, claim_files, paper_comparisons
from benchbook.analysis.pairs import Quantities
from benchbook.digits import NOT_PRINTED, estimate, number, p_value
from benchbook.papers.setups import setup
from benchbook.papers.tcp import students
from benchbook.papers.tcp.students import MEASURES, TRIALS
from benchbook.plots import names, style
from benchbook.plots.exhibit import Exhibit, Lines, Maker
from benchbook.plots.points import (
    NOT_RUN,
    OF_A_BLOCK,
    FrameRow,
    by_source,
    chosen,
    each,
    group_digits,
    headed,
    here,
    joined,
    misprints,
    not_run,
    paper,
    printed,
    ran,
    remarks,
    side_by_side,
    table,
    where,
    wide,
)
from benchbook.plots.ratios import Headline, Ratios, count_blocks, quantity, sides
from benchbook.plots.verdicts import sheets

MILLION: Final = 1_000_000
FORMATS: Final = ("JSON", "XML")
STACKS: Final = {"Python": {"json": "orjson", "xml": "lxml"}, "Java": {"json": "jackson", "xml": "jaxb"}}
"""Each stack's main codecs; the paper's own are Java's, and its XML decoder may have been another: see the ratios."""

PAPERS_WAY: Final[dict[str, str | int]] = {
    "transport": "framed",
    "connections": 1,
    "encode": "before",
    "fields": 12,
    "held_mb": 0,
    "trials": "sequence",
    "heap": "default",
    "network": "none",
}
"""How its objects went: decoding is what the server's clock is about, so they are encoded before it starts."""

OWN: Final[dict[str, dict[str, str | int]]] = {"Java": {"heap": "64m"}}
"""What of it is a stack's own: the heap that a JVM of the paper's time took."""

AS_RUN: Final[dict[str, str | int]] = {**PAPERS_WAY, "process": "apart"}
TOGETHER: Final[dict[str, str | int]] = {**PAPERS_WAY, "trials": "alone", "process": "together"}
"""Both formats in turn with one server, in which the decoders are compared."""
SHARES: Final = {"User CPU": "user CPU", "System CPU": "system CPU", "Memory": "memory"}
Cells = dict[str, tuple[pd.DataFrame, list[str]]]
"""By stack its rows, one a cell, block and measure, and which of their factors are not as in the paper."""


def cells(analysis: Analysis) -> Cells:
    """Return the rows of each stack that ran, Python's empty when none did.

    Columns ``cell_id, n, Format, measure, drawn`` and those of undisturbed blocks; measures are the paper's: total
    and average time in ms on the server's clock, and the machine's user CPU, system CPU and memory in percent.
    """
    stacks = {}
    for stack, rows in ran(wide(analysis, "tcp")).items():
        codecs = {f"{kind}_codec": codec for kind, codec in STACKS[stack].items()}
        quiet = rows[~rows["noisy"].fillna(False).astype(bool)]
        kept, notes = chosen(quiet, PAPERS_WAY | OWN.get(stack, {}) | codecs)
        # in the paper's order a process has a format to itself; where that did not run it has for memory alone
        in_turn = "apart" if _in_sequence(kept) else "together"
        parts = []
        for measure, (role, unit, metric, scale) in MEASURES.items():
            process = "apart" if measure == "Memory" else in_turn
            rows = where(kept, process=process, role=role, operation="receive")
            drawn = rows[metric] * scale if metric in rows else math.nan
            kinds = rows["format"].map(names.FORMATS)
            columns = rows[["cell_id", "n", "format", *OF_A_BLOCK]]
            parts.append(columns.assign(Format=kinds, measure=measure, unit=unit, drawn=drawn))
        stacks[stack] = pd.concat(parts, ignore_index=True), notes
    return stacks


def _in_sequence(rows: pd.DataFrame) -> bool:
    return "trials" in rows and bool((rows["trials"] == "sequence").any())


def absent(rows: pd.DataFrame, sizes: Iterable[int]) -> list[str]:
    """Return which of the sizes did not run."""
    present = set(rows["n"])
    return [f"n = {n:,}" for n in sizes if n not in present]


def by_stack(analysis: Analysis, sizes: Iterable[int]) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Return each stack's rows, and what must be said of them: which of the sizes did not run, and variants."""
    stacks = cells(analysis)
    notes = []
    for stack, (rows, variants) in stacks.items():
        of_stack = [*not_run(absent(rows, sizes)), *variants]
        notes += [f"{stack}: {note}" for note in of_stack] if len(stacks) > 1 else of_stack
    return {stack: rows for stack, (rows, _) in stacks.items()}, notes


def shares_figure(analysis: Analysis, *, figure: int, formats: tuple[str, ...]) -> Exhibit:
    """Draw one of Figs. 3 to 5: CPU and memory in percent, by trial."""
    prefixes = {kind: f"{kind} " if len(formats) > 1 else "" for kind in formats}
    published = joined(*(_printed_shares(analysis, kind, prefix) for kind, prefix in prefixes.items()))
    stacks = cells(analysis)
    measured = {
        stack: joined(*(_shares(rows, kind, prefix) for kind, prefix in prefixes.items()))
        for stack, (rows, _) in stacks.items()
    }
    points, panels = side_by_side(published, measured)
    notes = remarks(points, {f"trial {trial} (n = {n:,})": trial for n, trial in TRIALS.items()})
    notes += [note for _, stack_notes in stacks.values() for note in stack_notes]
    title = f"tcp, Fig. {figure}: the server machine's resources, {' and '.join(formats)}"
    drawing = Lines(
        ("trial", "share, %"), list(TRIALS.values()), panels, log=(False, False), limits=(0, 104), height=3.3
    )
    return Exhibit(title, points, tuple(notes), drawing)


def _printed_shares(analysis: Analysis, kind: str, prefix: str) -> pd.DataFrame:
    rows = paper(analysis, "tcp", {"JSON": "Table 4", "XML": "Table 5"}[kind])
    level = rows["row"].str.removeprefix("Trial ").astype(int)
    return printed(rows, unit="%", level=level, series=prefix + rows["column"].map(SHARES))


def _shares(rows: pd.DataFrame, kind: str, prefix: str) -> pd.DataFrame:
    shares = where(rows, Format=kind, measure=list(SHARES), n=list(TRIALS))
    return here(shares, "drawn", unit="%", level=shares["n"].map(TRIALS), series=prefix + shares["measure"].map(SHARES))


TIMES: Final = ("Number Of Objects", "Total Time", "Average Time")


def timing(analysis: Analysis, *, source: str) -> Exhibit:
    """Set Table 1 or 3: number of objects, total and average time."""
    scenario, sizes, trials = (
        (1, (MILLION,), ("",)) if source == "Table 1" else (2, tuple(TRIALS), [_trial(n) for n in TRIALS])
    )
    rows = paper(analysis, "tcp", source)
    measured, notes = _here(analysis, sizes, TIMES[1:])
    parts = {}
    for stack, of_stack in measured.items():
        trial = of_stack["n"].map(_trial).astype(str) if scenario == 2 else ""
        counts = where(of_stack, measure="Total Time").drop_duplicates(["n", "Format"])
        parts[stack] = joined(
            here(of_stack, "drawn", unit="ms", level=trial + of_stack["measure"], panel=of_stack["Format"]),
            counts.assign(level=trial + TIMES[0], panel=counts["Format"], printed=counts["n"].map("{:,}".format)),
        )
    points, sources = by_source(printed(rows, unit="", level=rows["row"], panel=rows["column"]), parts)
    levels = [trial + measure for trial in trials for measure in TIMES]
    frame = table(points, corner="Measure (times in ms)", rows=levels, columns=FORMATS, sources=sources)
    title = f"tcp, {source}: scenario {scenario}, time on the server's clock, ms"
    return Exhibit(title, frame, (*_notes(parts, measured, sizes, notes), *misprints(rows)))


def _trial(n: int) -> str:
    return f"Trial {TRIALS[n]} "


def resources(analysis: Analysis, *, number: int) -> Exhibit:
    """Set Table 2, 4 or 5: the server machine's CPU and memory."""
    rows = paper(analysis, "tcp", f"Table {number}")
    kind = {4: "JSON", 5: "XML"}.get(number)
    sizes = tuple(TRIALS) if kind else (MILLION,)
    measured, notes = _here(analysis, sizes, tuple(SHARES), (kind,) if kind else FORMATS)
    parts = {
        stack: here(of_stack, "drawn", unit="%", panel=of_stack["measure"],
                    level=of_stack["n"].map(_trial).astype(str).str.strip() if kind else of_stack["Format"])
        for stack, of_stack in measured.items()
    }  # fmt: skip
    points, sources = by_source(printed(rows, unit="%", level=rows["row"], panel=rows["column"]), parts)
    levels = [_trial(n).strip() for n in TRIALS] if kind else FORMATS
    corner, about = ("Trial", f"scenario 2, {kind}") if kind else ("Format", "scenario 1")
    frame = table(points, corner=corner, rows=levels, columns=tuple(SHARES), sources=sources)
    title = f"tcp, Table {number}: {about}, the server machine's CPU and memory, %"
    return Exhibit(title, frame, (*_notes(parts, measured, sizes, notes), *misprints(rows)))


def _here(
    analysis: Analysis, sizes: Sequence[int], measures: Sequence[str], formats: Sequence[str] = FORMATS
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Return each stack's rows of those sizes, measures and formats, and what must be said of the stacks."""
    stacks = cells(analysis)
    measured = {
        stack: where(rows, n=sizes, measure=measures, Format=formats).dropna(subset=["drawn"])
        for stack, (rows, _) in stacks.items()
    }
    return measured, [note for _, notes in stacks.values() for note in notes]


def _notes(
    points: Mapping[str, pd.DataFrame], rows: Mapping[str, pd.DataFrame], sizes: Sequence[int], notes: list[str]
) -> list[str]:
    missing = absent(pd.concat(rows.values()), sizes)
    if len(missing) == len(sizes):
        return not_run(missing)
    return [*remarks(joined(*points.values()), {}), *not_run(missing), *notes]


def overview(analysis: Analysis) -> Exhibit:
    """Set Table 6: the results at a glance, ranges over the trials that ran."""
    rows = paper(analysis, "tcp", "Table 6")
    rows = rows[~rows["column"].str.endswith(" to")]  # a range is printed once
    published = printed(rows, unit="", level=rows["row"], panel=rows["column"].str.split().str[0])
    levels = list(dict.fromkeys(rows["row"]))
    measured, notes = by_stack(analysis, (MILLION, *TRIALS))
    points, sources = by_source(published, {stack: _glances(of_stack, levels) for stack, of_stack in measured.items()})
    frame = table(points, corner="Scenario and measure", rows=levels, columns=FORMATS, sources=sources)
    return Exhibit("tcp, Table 6: the results at a glance", frame, (*notes, *misprints(rows)))


def _glances(rows: pd.DataFrame, levels: list[str]) -> pd.DataFrame:
    """Return one stack's column of Table 6 for each format."""
    glances = [
        {"level": level, "panel": kind, "printed": text}
        for level in levels
        for kind in FORMATS
        if (text := _glance(rows, level, kind))
    ]
    return pd.DataFrame(glances, columns=["level", "panel", "printed"])


def _glance(rows: pd.DataFrame, level: str, kind: str) -> str:
    """Return one cell of Table 6 from this machine's block means: a mean, or the range of the trials' means."""
    scenario, measure = level.removeprefix("Scenario ").split(" ", 1)
    name = next(known for known in MEASURES if measure.startswith(known))
    sizes = list(TRIALS)
    if scenario == "1":
        sizes = [MILLION]
    elif "100,000" in measure:
        sizes = [100_000]
    means = _means(rows, name, kind, sizes)
    if means.empty:
        return ""
    low, high, unit = number(means.min()), number(means.max()), MEASURES[name][1]
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def _means(rows: pd.DataFrame, measure: str, kind: str, sizes: Sequence[int]) -> "pd.Series[float]":
    """Return the mean of one measure at each size that ran."""
    at_sizes = where(rows, Format=kind, measure=measure, n=sizes)
    return at_sizes.groupby("n")["drawn"].mean().dropna()


def distributions(analysis: Analysis) -> Exhibit:
    """Set Table 7: the five trials of each measure as the samples of the paper's t-tests."""
    rows = paper(analysis, "tcp", "Table 7")
    measured, notes = by_stack(analysis, TRIALS)
    body: dict[str, list[str]] = {"Measure": list(MEASURES)}
    for kind in FORMATS:
        of_kind = rows[rows["column"].str.startswith(kind)]
        texts = of_kind["printed"].map(group_digits).groupby(of_kind["row"]).agg("; ".join)
        body[f"{kind}, published"] = ["{" + texts.get(measure, "") + "}" for measure in MEASURES]
        for head, of_stack in headed(measured).items():
            samples = [_means(of_stack, measure, kind, list(TRIALS)) for measure in MEASURES]
            body[f"{kind}, {head}"] = [
                "{" + "; ".join(map(number, sample)) + "}" if len(sample) else NOT_RUN for sample in samples
            ]
    title = "tcp, Table 7: the samples of the t-tests, a value a trial (ms, %)"
    return Exhibit(title, pd.DataFrame(body), (*notes, *misprints(rows)))


def p_values(analysis: Analysis) -> Exhibit:
    """Set Table 8: Student's tests as printed, recomputed from the printed samples, and repeated on new data."""
    published = students.as_published()
    columns = {"p printed": published.drop_duplicates("measure").set_index("measure")["printed"]}
    for reading, of_reading in published.groupby("reading", sort=False):
        columns[f"p recomputed ({reading})"] = of_reading.set_index("measure")["p"].map(p_value)
    measured, notes = by_stack(analysis, TRIALS)
    for head, of_stack in headed(measured).items():
        columns[f"p, {head}"] = pd.Series({measure: _test(of_stack, measure) for measure in MEASURES})
    frame = pd.DataFrame(columns).reindex(list(MEASURES)).rename_axis("Measure").reset_index().fillna(NOT_PRINTED)
    why = "the test takes sizes that differ on purpose for one sample (Table 7): it is repeated, not recommended"
    title = "tcp, Table 8: Student's unpaired t-tests, JSON against XML"
    return Exhibit(title, frame, (*notes, why, *misprints(paper(analysis, "tcp", "Table 8"))))


def _test(rows: pd.DataFrame, measure: str) -> str:
    """Return the p of Student's test of the samples that Table 7 has of this machine."""
    json, xml = (_means(rows, measure, kind, list(TRIALS)) for kind in FORMATS)
    if json.empty or xml.empty:
        return NOT_RUN
    p = float(students.t_test(json.tolist(), xml.tolist()).pvalue)
    return "no test" if math.isnan(p) else p_value(p)


_ratios = partial(Ratios, "tcp", "XML against JSON", row=quantity, series=sides, keep=("receive",))


def ratios(analysis: Analysis) -> Exhibit:
    """Draw every ratio of XML over JSON: in the paper's order where that ran, else with both in turn."""
    in_sequence = _in_sequence(wide(analysis, "tcp"))
    way, own = (AS_RUN, OWN) if in_sequence else (TOGETHER, {})
    return _ratios(title="XML compared with JSON", way=way, own=own)(analysis)


DECODERS: Final = {
    "Java": ("jaxb", "jaxb_context", "dom", "xmldecoder", "jackson"),
    "Python": ("lxml", "etree", "xsdata", "orjson", "json", "msgspec"),
}
"""What each stack can decode with, XML before JSON."""


def decoders(analysis: Analysis) -> Exhibit:
    """Set each codec's elapsed time on the server's clock over that of its stack's own JSON codec, for each n."""
    title = "tcp, decoders: elapsed time on the server's clock over that of the stack's own JSON codec, 99 % intervals"
    measured = wide(analysis, "tcp")
    stacks = ran(measured)
    rows: list[dict[str, Any]] = []
    sentences = []
    for stack, codecs in DECODERS.items():
        rows_of_stack = stacks.get(stack, measured[:0])
        in_turn = bool((rows_of_stack["process"] == "together").any())
        of_stack, notes = chosen(rows_of_stack, TOGETHER if in_turn else AS_RUN | OWN.get(stack, {}))
        missing = [names.codec(codec) for codec in codecs if codec not in set(of_stack["codec"])]
        rows += _over_json(analysis, of_stack, stack)
        sentences += [f"{stack}: {note}" for note in [*notes, *not_run(missing)]]
    if rows:
        sentences = [
            count_blocks([row["blocks"] for row in rows]),
            "nearest: the XML codec whose ratio is the least factor away from the published one at that n",
            *sentences,
        ]
    return Exhibit(title, _set(rows), tuple(sentences))


def _over_json(analysis: Analysis, rows: pd.DataFrame, stack: str) -> list[dict[str, Any]]:
    """Return one stack's ratios, one an n and codec: in one process where both shared it; none without its JSON."""
    base = STACKS[stack]["json"]
    (compared,) = claim_files.pairs("tcp")
    pairs = tuple((codec, base) for codec in DECODERS[stack] if codec != base)
    times = (Quantities(operation=("receive",), role=("server",), metric=("wall_time",)),)
    wanted = compared.model_copy(update={"pairs": pairs, "quantities": times, "labels": {}, "missing": False})
    apart = wanted.model_copy(update={"loose": ("format", "json_codec", "xml_codec")})
    kinds = dict(zip(rows["codec"], rows["format"], strict=True))
    table = paper_comparisons(where(analysis.means, cell_id=[*rows["cell_id"]]), [wanted, apart])
    return [
        {
            **{"n": row.n, "format": kinds[row.a], "codec": row.a, "stack": stack, "base": base},
            **{"ratio": row.estimate, "low": row.low, "high": row.high, "blocks": row.blocks},
            "published": row.published if kinds[row.a] == "xml" else math.nan,
        }
        for row in each(table.drop_duplicates(["n", "a"]))
    ]


def _set(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the ratios as a table, the nearest to the paper's at each n marked."""
    if not rows:
        return pd.DataFrame(columns=[*DECODED])
    decoded = pd.DataFrame(rows)
    far = decoded["ratio"] / decoded["published"]
    nearest = far.map(math.log).abs().dropna().groupby(decoded["n"]).idxmin()
    decoded = decoded.assign(far=far, nearest=[index in set(nearest) for index in decoded.index])
    decoded = decoded.sort_values(["n", "format", "ratio"], ascending=[True, False, False], kind="stable")
    return pd.DataFrame({head: [text(row) for row in each(decoded)] for head, text in DECODED.items()})


DECODED: Final[dict[str, Callable[[FrameRow], str]]] = {
    "Objects": lambda row: f"{row.n:,}",
    "Format": lambda row: names.FORMATS[row.format],
    "Codec": lambda row: names.codec(row.codec),
    "Stack": lambda row: row.stack,
    "Over": lambda row: names.codec(row.base),
    "Elapsed time, published": lambda row: number(row.published),
    "Elapsed time, here": lambda row: estimate(row.ratio, row.low, row.high),
    "Here / published": lambda row: number(row.far),
    "Nearest": lambda row: "nearest" if row.nearest else "",
}
"""The table's columns, and a codec's text in each."""

LOOKS: Final = {
    "XML (etree) / JSON (json)": style.Look(style.GREEN, "^"),
    "XML (xsdata) / JSON (msgspec)": style.Look(style.GREEN, "v"),
    "XML (JAXB) / JSON (Jackson)": style.Look(style.VERMILION, "s"),
    "XML (JAXB, a context an object) / JSON (Jackson)": style.Look(style.VERMILION, "D"),
    "XML (DOM) / JSON (Jackson)": style.Look(style.VERMILION, "X"),
    "XML (XMLDecoder) / JSON (Jackson)": style.Look(style.PINK, "*"),
    "user CPU": style.Look(style.BLUE, "o"),
    "system CPU": style.Look(style.VERMILION, "s", "--"),
    "memory": style.Look(style.GREEN, "^", ":"),
    "JSON user CPU": style.Look(style.BLUE, "o"),
    "JSON system CPU": style.Look(style.BLUE, "s", "--"),
    "JSON memory": style.Look(style.BLUE, "^", ":"),
    "XML user CPU": style.Look(style.VERMILION, "o"),
    "XML system CPU": style.Look(style.VERMILION, "s", "--"),
    "XML memory": style.Look(style.VERMILION, "^", ":"),
}
"""The looks of the paper's own series, in the order of legends."""

FIGURES: Final[dict[str, Maker]] = {
    **sheets("tcp"),
    "tcp_fig3_json": partial(shares_figure, figure=3, formats=("JSON",)),
    "tcp_fig4_xml": partial(shares_figure, figure=4, formats=("XML",)),
    "tcp_fig5_both": partial(shares_figure, figure=5, formats=FORMATS),
    "tcp_ratios": ratios,
    "tcp_networks": _ratios(
        title="XML compared with JSON, on the loopback and in a network",
        way=TOGETHER,
        own=OWN,
        panel=lambda row: f"{names.STACKS[row.language]}, {names.network(row.settings['network'])}",
        one_n=True,
        across="network",
    ),
}
TABLES: Final[dict[str, Maker]] = {
    "tcp_table1_scenario1_time": partial(timing, source="Table 1"),
    "tcp_table2_scenario1_resources": partial(resources, number=2),
    "tcp_table3_scenario2_time": partial(timing, source="Table 3"),
    "tcp_table4_json_resources": partial(resources, number=4),
    "tcp_table5_xml_resources": partial(resources, number=5),
    "tcp_table6_overview": overview,
    "tcp_table7_samples": distributions,
    "tcp_table8_p_values": p_values,
    "tcp_decoders": decoders,
    "tcp_setup": partial(
        setup,
        study="tcp",
        source="Section 4.2",
        about="Section 4.2: the machines",
        rows=("workstations", "operating system", "network cards", "cables"),
        here={"workstations": lambda cells: "1 (client and server on one machine)" if cells else ""},
    ),
}
HEADLINE: Final = Headline(
    claim="tcp.scenario-2.xml-slower",
    asks="What does a server spend on receiving objects as JSON or XML?",
    says="The server took {} as long to receive XML as to receive JSON.",
    label="XML / JSON, time",
)
"""What stands for the study wherever it is named."""
