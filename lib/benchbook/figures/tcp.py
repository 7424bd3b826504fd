"""Study `tcp`: what Tables 1 to 8 and Figs. 3 to 5 are made of, and the figures."""

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

import pandas as pd

from benchbook.evidence import Evidence
from benchbook.figures import names, stacks
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.lines import lines
from benchbook.figures.points import chosen, here, joined, paper_rows, printed, remarks, wide

TRIALS: Final = {20000: 1, 40000: 2, 60000: 3, 80000: 4, 100000: 5}
MILLION: Final = 1_000_000
FORMATS: Final = ("JSON", "XML")
CODECS: Final = {"json": "orjson", "xml": "lxml"}
STACKS: Final = {"Python": CODECS, "Java": {"json": "jackson", "xml": "jaxb"}}
"""Each stack's main codecs; the paper's own are Java's, and its XML decoder may have been another: see the ratios."""

PAPERS_WAY: Final[dict[str, Any]] = {"transport": "framed", "connections": 1, "encode": "inside", "fields": 12}
SHARES: Final = {"User CPU": "user CPU", "System CPU": "system CPU", "Memory": "memory"}
FIGURE_TABLES: Final = {"JSON": "Table 4", "XML": "Table 5"}


def rows(evidence: Evidence, source: str) -> pd.DataFrame:
    """Return what one of the paper's tables prints."""
    return paper_rows(evidence, "tcp", source)


def cells(evidence: Evidence, stack: str = "Python") -> tuple[pd.DataFrame, list[str]]:
    """Return one stack's rows, one a cell, block and measure: ``cell_id, n, block, Format, measure, drawn``; and notes.

    Measures are the paper's: total and average time in ms on the server's clock, and the machine's user CPU, system
    CPU and memory in percent.
    """
    every, notes = chosen(stacks.ran(wide(evidence, "tcp")).get(stack, pd.DataFrame()), PAPERS_WAY)
    if every.empty:
        return every, notes
    parts = []
    for name, codec in STACKS[stack].items():
        mine, more = chosen(every[every["format"] == name], {"codec": codec})
        parts.append(mine)
        notes = [*notes, *more]
    table = pd.concat(parts)
    return pd.concat([_measured(table, measure) for measure in MEASURES], ignore_index=True), notes


def by_stack(evidence: Evidence, sizes: Iterable[int]) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Return each stack's rows, as `cells`, and what must be said of them: which of the sizes did not run, variants."""
    mine: dict[str, pd.DataFrame] = {}
    said: list[tuple[str, str]] = []
    for stack in ran(evidence):
        mine[stack], notes = cells(evidence, stack)
        present = set(mine[stack]["n"]) if len(mine[stack]) else set()
        absent = [f"n = {n:,}" for n in sizes if n not in present]
        notes = [*([f"not run in this profile: {'; '.join(absent)}"] if absent else []), *notes]
        said += [(stack, note) for note in notes]
    return mine, [f"{stack}: {note}" if len(mine) > 1 else note for stack, note in said]


def ran(evidence: Evidence) -> list[str]:
    """Return the stacks that ran, Python when none did."""
    return [*stacks.ran(wide(evidence, "tcp"))]


MEASURES: Final = {
    "Total Time": ("server", "ms", "wall_time", 1e-6),
    "Average Time": ("server", "ms", "time_per_item", 1.0),
    "User CPU": ("machine", "%", "cpu_user_percent", 1.0),
    "System CPU": ("machine", "%", "cpu_system_percent", 1.0),
    "Memory": ("machine", "%", "memory_percent", 1.0),
}
"""Role, unit, metric and scale of each of the paper's measures."""


def _measured(table: pd.DataFrame, measure: str) -> pd.DataFrame:
    role, unit, metric, scale = MEASURES[measure]
    mine = table[table["role"] == role]
    kept = mine[["cell_id", "n", "block", "format", "censored", "stand_in"]]
    drawn = mine[metric] * scale if metric in mine else float("nan")
    return kept.assign(Format=mine["format"].map(names.FORMATS), measure=measure, unit=unit, drawn=drawn)


def shares(evidence: Evidence, formats: tuple[str, ...]) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Return the points of Figs. 3 to 5, CPU and memory in percent, by trial; the panels; and what must be said."""
    theirs = joined(*(_theirs(evidence, name, len(formats) > 1) for name in formats))
    mine, said = {}, []
    for stack in ran(evidence):
        table, notes = cells(evidence, stack)
        mine[stack] = joined(*(_mine(table, name, len(formats) > 1) for name in formats)) if len(table) else table
        said += notes
    points, panels = stacks.panels(theirs, mine)
    trials = {f"trial {trial} (n = {n:,})": trial for n, trial in TRIALS.items()}
    return points, panels, [*remarks(points, trials), *said]


def _theirs(evidence: Evidence, name: str, several: bool) -> pd.DataFrame:
    paper = rows(evidence, FIGURE_TABLES[name])
    series = (f"{name} " if several else "") + paper["column"].map(SHARES)
    return printed(paper, unit="%", level=paper["row"].str.removeprefix("Trial ").astype(int), series=series)


def _mine(table: pd.DataFrame, name: str, several: bool) -> pd.DataFrame:
    some = table[(table["Format"] == name) & table["measure"].isin(list(SHARES)) & table["n"].isin(list(TRIALS))]
    series = (f"{name} " if several else "") + some["measure"].map(SHARES)
    return here(some, some["drawn"], unit="%", level=some["n"].map(TRIALS), series=series)


def shares_figure(evidence: Evidence, *, figure: int, formats: tuple[str, ...]) -> Exhibit:
    """Draw one of Figs. 3 to 5."""
    points, panels, notes = shares(evidence, formats)
    title = f"tcp, Fig. {figure}: the server machine's resources, {' and '.join(formats)}"
    drawing = lines(
        points,
        title=title,
        axes_names=("trial", "share, %"),
        ticks=list(TRIALS.values()),
        panels=panels,
        notes=notes,
        log=(False, False),
        limits=(0, 104),
        height=3.3,
    )
    return Exhibit(title, points, tuple(notes), drawing)


FIGURES: Final[dict[str, Maker]] = {
    "tcp_fig3_json": partial(shares_figure, figure=3, formats=("JSON",)),
    "tcp_fig4_xml": partial(shares_figure, figure=4, formats=("XML",)),
    "tcp_fig5_both": partial(shares_figure, figure=5, formats=("JSON", "XML")),
}
