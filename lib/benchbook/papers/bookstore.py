"""JSON and XML marshalled and unmarshalled in Java (study `bookstore`).

In come the study's block means and comparisons; out come its figures, tables and headlines. Begin with ``FIGURES`` and
``TABLES`` at the end; `cold_starts` splits single repetitions where their times settle.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook.analysis import Analysis
from benchbook.analysis import number as published_number
from benchbook.analysis.block_means import UNIT
from benchbook.analysis.comparisons import A_OVER_B, compare
from benchbook.analysis.sides import Measured, Side
from benchbook.analysis.steadiness import ENOUGH, steadiness
from benchbook.digits import estimate, number
from benchbook.papers.setups import setup
from benchbook.plots import names
from benchbook.plots.exhibit import Dots, Exhibit, Lines, Maker
from benchbook.plots.points import (
    NOT_RUN,
    FrameRow,
    by_source,
    chosen,
    framed,
    here,
    joined,
    misprints,
    paper,
    printed,
    remarks,
    settled,
    side_by_side,
    table,
    where,
    wide,
)
from benchbook.plots.provenance import distinct
from benchbook.plots.ratios import METRICS, Headline, Ratios, by_condition, of_n, of_stacks
from benchbook.plots.verdicts import sheets

N: Final = (1, 10, 100, 1000, 10000)
ANY_LIBRARY: Final = {"process": "together", "sink": "file", "keys": "paper", "binding": "once", "network": "none"}
PAPERS_WAY: Final = {**ANY_LIBRARY, "json_codec": "orjson", "xml_codec": "lxml"}
OWN: Final = {"Java": {"json_codec": "jackson", "xml_codec": "jaxb"}}
"""What is another on the paper's own stack."""

HEADS: Final = {"time": "time (µs)", "size": "size (here in bytes)"}
UNITS: Final = {"time": "µs", "size": "B"}
BYTES: Final = {"B": 1, "KB": 1_000, "MB": 1_000_000}


def drawn(analysis: Analysis, case: int) -> tuple[pd.DataFrame, dict[str, pd.DataFrame], list[str]]:
    """Return the paper's points of one case and each stack's, times in µs and sizes in bytes, and what must be said."""
    rows = _printed(analysis, case)
    series, panel = (rows["column"].str.split().str[part] for part in (0, 1))
    in_bytes = rows.assign(value=rows["value"] * rows["unit"].map(BYTES).fillna(1))
    published = printed(in_bytes, unit="", panel=panel, level=rows["row"].astype(int), series=series)
    published["unit"] = published["panel"].map(UNITS)
    cells, notes = settled(where(wide(analysis, "bookstore"), case=case), PAPERS_WAY, OWN)
    by_stack = {stack: _here(of_stack) for stack, of_stack in cells.items()}
    return published, by_stack, [*remarks(joined(published, *by_stack.values()), {f"n = {n:,}": n for n in N}), *notes]


def _printed(analysis: Analysis, case: int) -> pd.DataFrame:
    return paper(analysis, "bookstore", f"Case {case} table")


def _here(cells: pd.DataFrame) -> pd.DataFrame:
    parts = []
    for panel, operation, metric, scale in (("time", "round_trip", "wall_time", 1e-3), ("size", "marshal", "size", 1)):
        rows = where(cells, operation=operation)
        series = rows["format"].map(names.FORMATS)
        level = rows["n"].astype(int)
        parts.append(here(rows, metric, unit=UNITS[panel], scale=scale, panel=panel, level=level, series=series))
    return joined(*parts)


def case_table(analysis: Analysis, *, case: int) -> Exhibit:
    """Set one case's table: average time of marshalling and unmarshalling, and file size."""
    published, by_stack, notes = drawn(analysis, case)
    points, sources = by_source(published, by_stack)
    sizes = sorted({*N, *points["level"]})
    panel = points["series"] + " " + points["panel"].map(HEADS)
    points = points.assign(level=points["level"].map("{:,}".format), panel=panel)
    columns = [f"{kind} {head}" for head in HEADS.values() for kind in ("XML", "JSON")]
    frame = table(points, corner="Number of books", rows=[f"{n:,}" for n in sizes], columns=columns, sources=sources)
    title = f"bookstore, case {case}: marshalling and unmarshalling, and size on disk"
    return Exhibit(title, frame, (*notes, *misprints(_printed(analysis, case))))


def case_figure(analysis: Analysis, *, case: int) -> Exhibit:
    """Draw one case's table: time and size over the number of books."""
    published, by_stack, notes = drawn(analysis, case)
    title = f"bookstore, case {case}: time and size over the number of books"
    points, panels = side_by_side(published, by_stack, ("time", "size"))
    heads = {panel: panel.replace("time", "Time in µs").replace("size", "Size in bytes") for panel in panels}
    drawing = Lines(("books", ""), N, panels, alike=len(by_stack) > 1, heads=heads)
    return Exhibit(title, points, tuple(notes), drawing)


NEAR: Final = 0.3
WITHIN: Final = f"within {100 * NEAR:.0f} %"
OPERATIONS: Final = {"written and read": "round_trip", "written": "marshal", "read": "unmarshal"}
STACKS: Final = ("Java", "Python")
"""The paper's own first."""


def cold_ratios(analysis: Analysis) -> Exhibit:
    """Set XML's time over JSON's for both cases and every number of books, the paper's own stack first."""
    times = where(analysis.tables, study="bookstore", metric="wall_time")
    times = times.loc[[settings["process"] != "warm" for settings in times["settings"]]].dropna(subset=["estimate"])
    compared, notes = by_condition(times, ("case", "n", "operation"), PAPERS_WAY, OWN)
    conditions = list(product((1, 2), sorted({*N, *(int(n) for _, _, n, _ in compared)})))
    frame = pd.DataFrame({"Case": [case for case, _ in conditions], "Books": [f"{n:,}" for _, n in conditions]})
    published = [_printed_time(case, n, "XML") / _printed_time(case, n, "JSON") for case, n in conditions]
    frame["written and read, published"] = [number(ratio) for ratio in published]
    for stack, (what, operation) in product(STACKS, OPERATIONS.items()):
        rows = [compared.get((stack, *condition, operation)) for condition in conditions]
        frame[f"{stack}: {what}, here"] = [
            NOT_RUN if row is None else estimate(row.estimate, row.low, row.high) for row in rows
        ]
        if operation == "round_trip":
            frame[f"{stack}: {WITHIN}"] = [_near(row, ratio) for row, ratio in zip(rows, published, strict=True)]
    sentences = [
        *of_stacks(compared, STACKS),
        "each cell is one process without warm-up, and the mean holds its first repetition, as in the paper",
        f"{WITHIN}: the ratio here over the published one lies in {1 - NEAR:g} to {1 + NEAR:g}",
        "the paper prints the sum of writing and reading alone",
    ]
    title = "bookstore: XML over JSON, time from a cold start, ratios with their 99 % intervals"
    return Exhibit(title, frame, (*sentences, *notes))


def _printed_time(case: int, n: int, kind: str) -> float:
    return published_number("bookstore", f"Case {case} table", str(n), f"{kind} time")


def _near(row: FrameRow | None, published: float) -> str:
    if row is None:
        return NOT_RUN
    share = row.estimate / published
    return f"{'yes' if abs(share - 1) <= NEAR else 'no'} ({number(share)})"


def libraries(analysis: Analysis) -> Exhibit:
    """Draw each library's round trip over the fastest one's of the same case; the papers print nothing of the kind."""
    measured, notes = chosen(where(wide(analysis, "bookstore"), operation="round_trip"), ANY_LIBRARY)
    n = 1000 if 1000 in set(measured["n"]) else measured["n"].max()
    measured = where(measured, n=n)
    cases = {f"case {case}": _libraries(analysis, cells["cell_id"]) for case, cells in measured.groupby("case")}
    points = joined(*(_over_the_fastest(case, of_case) for case, of_case in cases.items()))
    notes = [*remarks(points, {}), *(_library_notes(int(n), cases) if cases else []), *notes]
    rows = points.sort_values(["series", "value"], kind="stable")["level"].drop_duplicates().tolist()
    title = "bookstore: what the choice of library is worth beside the choice of format"
    drawing = Dots("time, times the fastest", rows, [*cases] or ["case 1", "case 2"], reference=1.0)
    return Exhibit(title, points, tuple(notes), drawing)


@dataclass(frozen=True)
class Libraries:
    """Block means of one case's round trip by codec and language, the fastest first."""

    sides: dict[tuple[str, str], Side]
    machine_days: NDArray[np.object_]

    def compare(self, a: Side, b: Side) -> dict[str, Any]:
        """Return a's time over b's; NaN where there is no ratio."""
        none = {"estimate": np.nan, "low": np.nan, "high": np.nan}
        return none | compare(A_OVER_B, {"a": a, "b": b}, self.machine_days)

    def in_words(self, a: Side, b: Side) -> str:
        """Return a's time over b's with its interval."""
        times = self.compare(a, b)
        return estimate(times["estimate"], times["low"], times["high"])


def _libraries(analysis: Analysis, cells: Iterable[str]) -> Libraries:
    measured = Measured("bookstore", where(analysis.measured["bookstore"].means, cell_id=[*cells]))
    apart = ("format", "json_codec", "xml_codec")
    sides: dict[tuple[str, str], Side] = {}
    for _, language, _, by_codec in measured.alike("codec", apart, [("round_trip", "client", "wall_time")]):
        for codec, side in by_codec.items():
            if len(side.blocks) and (side.values > 0).all():
                sides.setdefault((codec, language), side)
    fastest_first = sorted(sides.items(), key=lambda library: float(np.log(library[1].values).mean()))
    return Libraries(dict(fastest_first), measured.machine_days)


def _over_the_fastest(case: str, libraries: Libraries) -> pd.DataFrame:
    points = []
    for (codec, language), side in libraries.sides.items():
        place = {"level": f"{names.codec(codec)}, {names.STACKS[language]}", "series": _format(side)}
        fastest = next(iter(libraries.sides.values()))
        if side is fastest:
            points.append({**place, "value": 1.0, "blocks": len(side.blocks)})
            continue
        times = libraries.compare(side, fastest)
        if times["blocks"]:
            ends = {"value": times["estimate"], "low": times["low"], "high": times["high"], "blocks": times["blocks"]}
            points.append({**place, **ends})
    return framed(points, source="here", unit="ratio", panel=case)


def _format(side: Side) -> str:
    return names.FORMATS[side.settings["format"]]


def _library_notes(n: int, cases: Mapping[str, Libraries]) -> list[str]:
    """Say what is shown, and in each case what each of the two choices is worth."""
    sentences = [f"{n:,} books: time to a file and back, over the fastest library's of the same case"]
    for case, libraries in cases.items():
        of_format: dict[str, list[Side]] = {"JSON": [], "XML": []}
        for side in libraries.sides.values():
            of_format[_format(side)].append(side)
        worth = []
        for kind, ranked in of_format.items():
            if len(ranked) > 1:
                times = libraries.in_words(ranked[-1], ranked[0])
                worth.append(f"the slowest {kind} library took {times} times the fastest one's time")
        if all(of_format.values()):
            times = libraries.in_words(of_format["XML"][0], of_format["JSON"][0])
            worth.append(f"the fastest XML {times} times the fastest JSON's")
        sentences.append(f"{case}: {', '.join(worth)}")
    return sentences


_ABOUT: Final = ("study", "host", "case", "n", "operation", "format", "codec")
_SETTLED: Final = ("blocks", "shape", "shapes", "start", "mean", "steady", "cold_over_steady")


def cold_starts(observations: pd.DataFrame) -> pd.DataFrame:
    """Return where the times of every cell with enough repetitions settle, a row a cell, operation and format.

    Parameters
    ----------
    observations
        Single repetitions, as in `benchbook.results.schema.OBSERVATIONS`.

    Returns
    -------
    pandas.DataFrame
        The cell's ``study, host, case, n, operation, format, codec``; ``blocks``; ``shape``: that of most blocks, as
        in `benchbook.analysis.steadiness.Steadiness`, and ``shapes``, all with their counts; ``start``: the median
        first repetition of the steady state; ``mean`` of all repetitions and ``steady``, of those of the steady states,
        both in the stored unit and means over blocks; ``cold_over_steady``: the mean before it over the mean in it. NaN
        where no block has a steady state or none was cold.
    """
    rows = observations[observations["metric"].eq("wall_time") & observations["value"].notna()]
    apart = [name for name in UNIT if name in rows]
    keys = [name for name in apart if name not in ("block", "metric")]
    records: list[dict[str, object]] = []
    for _, cell in rows.sort_values("repetition", kind="stable").groupby(keys, dropna=False, sort=False):
        blocks = [block["value"].to_numpy(dtype=float) for _, block in cell.groupby("block")]
        if min(map(len, blocks)) >= ENOUGH:
            about: dict[str, object] = {name: cell[name].iloc[0] for name in _ABOUT if name in cell}
            records.append(about | _settled(blocks))
    return pd.DataFrame(records, columns=[*_ABOUT, *_SETTLED])


def _settled(blocks: list[NDArray[np.float64]]) -> dict[str, object]:
    settled = [steadiness(block) for block in blocks]
    counts = pd.Series([state.shape for state in settled]).value_counts()
    starts = [(block, state.start) for block, state in zip(blocks, settled, strict=True) if state.start is not None]
    parts = [(block[:start], block[start:]) for block, start in starts]
    cold = [float(before.mean() / after.mean()) for before, after in parts if len(before)]
    return {
        "blocks": len(blocks),
        "shape": str(counts.index[0]),
        "shapes": ", ".join(f"{shape} {count}" for shape, count in counts.items()),
        "start": float(np.median([len(before) for before, _ in parts])) if parts else np.nan,
        "mean": float(np.mean([block.mean() for block in blocks])),
        "steady": float(np.mean([after.mean() for _, after in parts])) if parts else np.nan,
        "cold_over_steady": float(np.exp(np.mean(np.log(cold)))) if cold else np.nan,
    }


def cold_starts_in_print(table: pd.DataFrame) -> pd.DataFrame:
    """Return what `cold_starts` found as it is shown: times in ms."""
    return pd.DataFrame(
        {
            "Case": table["case"].astype(int),
            "n": table["n"].map("{:,}".format),
            "Format": table["format"].str.upper(),
            "Operation": table["operation"].str.replace("_", " "),
            "Blocks": table["shapes"],
            "Steady from": table["start"],
            "Mean, ms": table["mean"] / 1e6,
            "Steady, ms": table["steady"] / 1e6,
            "Cold / steady": table["cold_over_steady"],
        }
    )


_ratios = partial(Ratios, "bookstore", "XML against JSON", way=PAPERS_WAY)

FIGURES: Final[dict[str, Maker]] = {
    **sheets("bookstore"),
    **{f"bookstore_case{case}": partial(case_figure, case=case) for case in (1, 2)},
    "bookstore_libraries": libraries,
    "bookstore_ratios": _ratios(
        title="XML compared with JSON",
        row=lambda row: f"{METRICS[row.metric]}, {of_n(row)}",
        own=OWN,
        panel=lambda row: f"case {row.settings['case']}",
        keep=("round_trip", "marshal"),
        series=lambda row: names.STACKS[row.language],
    ),
    "bookstore_networks": _ratios(
        title="XML compared with JSON, on the loopback and in a network",
        row=lambda row: f"{row.operation.replace('_', ' ')}: {METRICS[row.metric]}",
        panel=lambda row: f"case {row.settings['case']}, {names.network(row.settings['network'])}",
        across="network",
        one_n=True,
    ),
}
TABLES: Final[dict[str, Maker]] = {
    **{f"bookstore_table_case{case}": partial(case_table, case=case) for case in (1, 2)},
    "bookstore_cold": cold_ratios,
    "bookstore_setup": partial(
        setup,
        study="bookstore",
        source="Section IV",
        about="Section IV: the machine",
        rows=("processor", "word length", "JVM", "Apache Maven"),
        here={"word length": lambda cells: "64 bit" if "64" in distinct(cells, "kernel") else ""},
    ),
}
HEADLINE: Final = Headline(
    claim="bookstore.round-trip.xml-slower",
    asks="What does it cost to turn an object into JSON or XML and back?",
    says="XML took {} as long as JSON to be written and read back.",
    label="XML / JSON, time",
)
"""What stands for the study wherever it is named."""
