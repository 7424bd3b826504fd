"""Points: one row per mark of a figure, a printed number or the mean of this machine's blocks.

`make_printed_points` and `make_measured_points` make them, `join_points` puts them together, and
`describe_points` says in notes what did not run. Nothing here draws.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

from benchbook.analysis.claim_files import find_paper_language
from benchbook.analysis.configurations import ALTERNATING_SETTINGS
from benchbook.analysis.intervals import (
    MIN_BLOCKS,
    Interval,
    compute_geometric_interval,
    compute_interval,
    compute_share_interval,
)
from benchbook.analysis.published import load_published_numbers
from benchbook.analysis.quantities import COUNTED_METRICS, SIGNED_METRICS
from benchbook.analysis.runs import Analysis
from benchbook.plots.labels import list_caveats
from benchbook.studies.catalogue import SLUGS, load_study
from benchbook.text.names import LANGUAGES
from benchbook.text.number_format import format_count

POINT_COLUMNS: Final = (
    "panel",  # the part of the figure
    "level",  # the row of a dot plot, the x of a line plot
    "series",
    "source",  # published or here; `exhibit.NOISY` of a user's own cells
    "value",  # NaN where the paper prints only a bound: low..high is then a band
    "low",
    "high",
    "blocks",  # 0 for a printed number
    "unit",
    "timed_out",
    "caveat",  # a warning about the server or its adapter
    "printed",  # a printed number, its characters
)
"""Columns of the points of every figure, and of its CSV."""

BLOCK_COLUMNS: Final = ("number", "machine_day", "noisy", "timed_out")
"""Columns that `make_measured_points` reads, besides a point's value and place."""

_PLACE_COLUMNS: Final = ["panel", "level", "series"]
_DEFAULTS: Final[dict[str, Any]] = {
    "panel": "",
    "series": "",
    "blocks": 0,
    "timed_out": False,
    "caveat": "",
    "printed": "",
}

Levels: TypeAlias = Mapping[str, str | int]
"""The level of each factor that a figure does not show."""

FrameRow: TypeAlias = Any
"""A frame's row, as `iterate_rows` yields it: a named tuple whose types pandas does not know."""

Column: TypeAlias = "pd.Series[Any] | str"
"""A value per row, or one for all rows."""


def iterate_rows(table: pd.DataFrame) -> Iterator[FrameRow]:
    """Yield a frame's rows as named tuples."""
    yield from table.itertuples()


def select_rows(table: pd.DataFrame, **levels: object) -> pd.DataFrame:
    """Return the rows in which each column has that level, or one of those levels."""
    for name, level in levels.items():
        table = table[table[name].isin(level if isinstance(level, list | tuple) else [level])]
    return table


def select_printed(study: str, source: str) -> pd.DataFrame:
    """Return the numbers that one table, figure or section of a paper prints."""
    return select_rows(load_published_numbers(study), source=source)


def get_measured_table(analysis: Analysis, study: str) -> pd.DataFrame:
    """Return a study's block means as `benchbook.analysis.study_means.StudyMeans.table`.

    Metrics are those stored and those derived from them, of arm a. Figures share the table: do not
    change it.
    """
    if study in analysis.studies:
        return analysis.studies[study].table
    columns = [*analysis.means, "number", *load_study(study).Parameters.model_fields]
    return pd.DataFrame(columns=list(dict.fromkeys(columns)))


def choose_levels(table: pd.DataFrame, preferred: Levels) -> tuple[pd.DataFrame, list[str]]:
    """Keep one level of each factor that a figure does not show.

    It is the preferred level where that ran, else the first that did. Return the rows that are
    kept, and a note for every factor with another level than the preferred one.
    """
    notes = []
    for factor, wanted in preferred.items():
        if table.empty or factor not in table:
            continue
        present = table[factor].dropna().unique()
        level = wanted
        if len(present) and wanted not in present:
            level = sorted(present, key=str)[0]
        if level != wanted:
            name = factor
            if factor in ALTERNATING_SETTINGS:
                name = f"{factor.removeprefix('cell_')} in turn"
            notes.append(f"here {name} = {level}, not {wanted}")
        table = table[table[factor].isna() | (table[factor] == level)]
    return table, notes


def make_measured_points(
    table: pd.DataFrame,
    metric: str,
    *,
    unit: str,
    scale: float = 1.0,
    over: str | None = None,
    **places: Column,
) -> pd.DataFrame:
    """Return this machine's points: the geometric mean over blocks, with its 99 % interval.

    A metric of `SIGNED_METRICS` can be negative: its mean is arithmetic. That of shares in percent
    is `compute_share_interval`'s. Noisy blocks are left out.

    Parameters
    ----------
    table
        Rows of `get_measured_table`, after `choose_levels`.
    metric
        The column that is drawn; without that column there are no points.
    unit, scale
        The unit of the points, and how many of it one of the column's is.
    over
        A factor whose levels are averaged with equal weight in each block that has them all.
    places
        ``panel``, ``level`` and ``series`` of each row, or one for all.
    """
    if metric not in table:
        return join_points()
    rows = table[[name for name in (*BLOCK_COLUMNS, over) if name in table]]
    columns = ["drawn", *rows]
    rows = rows.assign(drawn=table[metric] * scale)
    rows = rows.assign(**{name: places.get(name, "") for name in _PLACE_COLUMNS})
    rows = rows.dropna(subset=["drawn", "level"])
    if metric not in COUNTED_METRICS:
        rows = rows[~rows["noisy"].fillna(False).astype(bool)]

    make_interval = compute_geometric_interval
    if metric in SIGNED_METRICS:
        make_interval = compute_interval
    elif unit == "%":
        make_interval = compute_share_interval
    databases = table.reindex(columns=["database", "checked"])
    caveats = list_caveats(databases)
    points = []
    keys = [rows[name] for name in _PLACE_COLUMNS]
    # The groups have no texts: copying texts takes longest.
    for place, group in rows[columns].groupby(keys, sort=False):
        present = databases.loc[group.index, "database"].unique()
        caveat = "; ".join(caveats[name] for name in sorted(caveats) if name in present)
        points.append({
            **dict(zip(_PLACE_COLUMNS, place, strict=True)),
            **_average_blocks(group, over, make_interval),
            "unit": unit,
            "caveat": caveat,
        })  # fmt: skip
    return pd.DataFrame(points, columns=list(POINT_COLUMNS))


def _average_blocks(
    group: pd.DataFrame, over: str | None, make_interval: Callable[..., Interval]
) -> dict[str, object]:
    blocks = group.groupby(["number", over] if over else "number")["drawn"].mean()
    if over:
        blocks = blocks.unstack(over).dropna().mean(axis=1)
    days = dict(zip(group["number"], group["machine_day"], strict=True))
    mean = make_interval(blocks.to_numpy(dtype=float), [days[number] for number in blocks.index])
    return {
        "source": "here",
        "value": mean.estimate,
        "low": mean.low,
        "high": mean.high,
        "blocks": mean.blocks,
        "timed_out": bool(group["timed_out"].any()),
        "printed": "",
    }


def make_printed_points(rows: pd.DataFrame, *, unit: str, **places: Column) -> pd.DataFrame:
    """Return the paper's points of published rows; misprints get a star."""
    values = rows[["value"]].astype(float)
    points = values.assign(low=np.nan, high=np.nan, source="published", unit=unit)
    points = points.assign(**_DEFAULTS | places | {"printed": mark_misprints(rows)})
    return points[list(POINT_COLUMNS)].reset_index(drop=True)


def mark_misprints(rows: pd.DataFrame) -> "pd.Series[str]":
    """Return published numbers as printed, with a star behind each that has a note."""
    return rows["printed"].where(rows["note"].fillna("") == "", rows["printed"] + " *")


def frame_points(rows: Iterable[Mapping[str, object]], **shared: object) -> pd.DataFrame:
    """Return rows as points, with the fields that all share and defaults for the others."""
    points = pd.DataFrame([{**_DEFAULTS, **shared, **row} for row in rows])
    return points.reindex(columns=[*dict.fromkeys([*POINT_COLUMNS, *points])])


def join_points(*parts: pd.DataFrame) -> pd.DataFrame:
    """Return all points as one frame, in the order given."""
    full = [part for part in parts if len(part)]
    return pd.concat(full, ignore_index=True) if full else pd.DataFrame(columns=list(POINT_COLUMNS))


def describe_points(points: pd.DataFrame, levels: Mapping[str, object]) -> list[str]:
    """Return notes for a figure's reader: blocks, missing levels, timed-out values, caveats.

    Parameters
    ----------
    points
        Of the figure.
    levels
        The paper's levels by their names in print, each a ``panel`` or a ``level`` of its points.
    """
    measured = points[points["source"] == "here"]
    if measured.empty:
        return ["not run in this profile: nothing of this machine to show"]
    present = {*measured["level"], *measured["panel"]}
    missing = [name for name, level in levels.items() if level not in present]
    notes = [describe_blocks(measured["blocks"]), *describe_missing(missing)]
    if measured["timed_out"].any():
        notes.append("an arrow marks a wait that ran out: the true value is larger")
    return notes + sorted(set(measured["caveat"]) - {""})


def describe_blocks(blocks: Iterable[float]) -> str:
    """Return a note with how many blocks values have, from the fewest: ``here: 5 to 8 blocks``."""
    counts = [int(count) for count in blocks]
    fewest, most = min(counts), max(counts)
    text = format_count(most, "block") if fewest == most else f"{fewest} to {most} blocks"
    remark = f" (an interval needs {MIN_BLOCKS})" if fewest < MIN_BLOCKS else ""
    return f"here: {text}{remark}"


def describe_missing(names: Sequence[str]) -> list[str]:
    """Return a note with the names of what did not run; no note without names."""
    return [f"not run in this profile: {'; '.join(names)}"] if names else []


def describe_missing_studies(analysis: Analysis) -> list[str]:
    """Return a note with the studies that did not run; no note when all did."""
    ran = analysis.means["study"].unique()
    missing = [study for study in SLUGS if study not in ran]
    return describe_missing([", ".join(missing)] if missing else [])


def split_by_language(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of each language that ran, by its name in print; Python's when none did."""
    tables = {name: table[table["language"] == key] for key, name in LANGUAGES.items()}
    ran = {name: rows for name, rows in tables.items() if len(rows)}
    return ran or {LANGUAGES["python"]: table}


def choose_levels_by_language(
    table: pd.DataFrame, preferred: Levels, by_language: Mapping[str, Levels] | None = None
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Choose levels for each language as `choose_levels` does.

    Parameters
    ----------
    table
        Rows with a column ``language``.
    preferred
        The level of each factor.
    by_language
        Levels that one language prefers, by its name in print.
    """
    kept, said = {}, {}
    for language, rows in split_by_language(table).items():
        levels = {**preferred, **(by_language or {}).get(language, {})}
        kept[language], said[language] = choose_levels(rows, levels)

    # What is so in all languages is said once.
    first, *others = said.values()
    notes = [note for note in first if all(note in other for other in others)]
    for language, of_language in said.items():
        notes += [f"{language}: {note}" for note in of_language if note not in notes]
    return kept, notes


def split_panels_by_language(
    study: str,
    published: pd.DataFrame,
    by_language: Mapping[str, pd.DataFrame],
    panels: Sequence[str] = ("",),
) -> tuple[pd.DataFrame, list[str]]:
    """Return points with a panel per language, the paper's in that of its own; and the panels.

    Panels keep their names, and have the paper's points, where only Python ran.
    """
    if list(by_language) == [LANGUAGES["python"]]:
        return join_points(published, *by_language.values()), list(panels)
    parts = []
    own = LANGUAGES[find_paper_language(study)]
    for language, points in ((own, published), *by_language.items()):
        names = [_join_panel(panel, language) for panel in points["panel"]]
        parts.append(points.assign(panel=names))
    split = []
    for panel in panels:
        split += [_join_panel(panel, language) for language in dict.fromkeys([*by_language, own])]
    return join_points(*parts), split


def _join_panel(panel: str, language: str) -> str:
    return f"{panel}, {language}" if panel else language
