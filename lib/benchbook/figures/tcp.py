"""Study `tcp`: what Tables 1 to 8 and Figs. 3 to 5 are made of, and the figures."""

from functools import partial
from typing import Any, Final

import pandas as pd

from benchbook.figures import names
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.lines import lines
from benchbook.figures.points import chosen, here, joined, printed, remarks, wide

TRIALS: Final = {20000: 1, 40000: 2, 60000: 3, 80000: 4, 100000: 5}
MILLION: Final = 1_000_000
CODECS: Final = {"json": "orjson", "xml": "lxml"}
PAPERS_WAY: Final[dict[str, Any]] = {"transport": "framed", "connections": 1, "encode": "inside", "fields": 12}
SHARES: Final = {"User CPU": "user CPU", "System CPU": "system CPU", "Memory": "memory"}
FIGURE_TABLES: Final = {"JSON": "Table 4", "XML": "Table 5"}


def rows(published: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return what one of the paper's tables prints."""
    return published[(published["study"] == "tcp") & (published["source"] == source)]


def cells(observations: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return one row a cell, block and measure: ``n, block, Format, measure, value``, and which variant it is.

    Measures are the paper's: total and average time in ms on the server's clock, and the machine's user CPU, system
    CPU and memory in percent.
    """
    every, notes = chosen(wide(observations, "tcp"), PAPERS_WAY)
    if every.empty:
        return every, notes
    parts = []
    for name, codec in CODECS.items():
        mine, more = chosen(every[every["format"] == name], {"codec": codec})
        parts.append(mine)
        notes = [*notes, *more]
    table = pd.concat(parts)
    return pd.concat([_measured(table, measure) for measure in MEASURES], ignore_index=True), notes


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
    kept = mine[["n", "block", "format", "censored", "stand_in"]]
    drawn = mine[metric] * scale if metric in mine else float("nan")
    return kept.assign(Format=mine["format"].map(names.FORMATS), measure=measure, unit=unit, drawn=drawn)


def shares(
    observations: pd.DataFrame, published: pd.DataFrame, formats: tuple[str, ...]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the points of Figs. 3 to 5: CPU and memory in percent, by trial."""
    mine, notes = cells(observations)
    parts = []
    for name in formats:
        prefix = f"{name} " if len(formats) > 1 else ""
        paper = rows(published, FIGURE_TABLES[name])
        series = prefix + paper["column"].map(SHARES)
        parts.append(printed(paper, unit="%", level=paper["row"].str.removeprefix("Trial ").astype(int), series=series))
        if len(mine):
            some = mine[(mine["Format"] == name) & mine["measure"].isin(list(SHARES)) & mine["n"].isin(list(TRIALS))]
            series = prefix + some["measure"].map(SHARES)
            parts.append(here(some, some["drawn"], unit="%", level=some["n"].map(TRIALS), series=series))
    points = joined(*parts)
    trials = {f"trial {trial} (n = {n:,})": trial for n, trial in TRIALS.items()}
    return points, [*remarks(points, trials), *notes]


def shares_figure(
    observations: pd.DataFrame, published: pd.DataFrame, *, figure: int, formats: tuple[str, ...]
) -> Exhibit:
    """Draw one of Figs. 3 to 5."""
    points, notes = shares(observations, published, formats)
    title = f"tcp, Fig. {figure}: the server machine's resources, {' and '.join(formats)}"
    drawing = lines(
        points,
        title=title,
        axes_names=("trial", "share, %"),
        ticks=list(TRIALS.values()),
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
