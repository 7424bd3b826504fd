"""Exhibits: a table or a figure as data, with its title, its notes and how its points are drawn.

Nothing here draws: `benchbook.plots.save` does, so that a number or a caption needs no drawing
library. `set_table` makes a table of points, in the form that the papers' tables have.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import ClassVar, Final, TypeAlias

import pandas as pd

from benchbook.analysis.runs import Analysis
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.plots.labels import UNCHECKED
from benchbook.plots.points import FrameRow, iterate_rows, join_points
from benchbook.text.names import LANGUAGES
from benchbook.text.number_format import NOT_PRINTED, format_interval, format_parts

SOURCES: Final = ("published", "here")
NOISY: Final = "here, noisy"
"""The source of a value with noisy blocks, which is drawn hollow."""

NOT_RUN: Final = "not run"
"""A table's cell without a value of this machine."""

DRAWING_FORMATS: Final = ("pdf", "svg", "png")
DATA_FORMATS: Final = ("tex", "csv", "json")
"""Formats of tables, and of a figure's points, caption and provenance."""


@dataclass(frozen=True)
class Dots:
    """Points as dots: a row per level, a panel per part; the columns are `points.POINT_COLUMNS`."""

    axis: str  # the quantity and its unit
    rows: Sequence[str]  # levels in their order
    panels: Sequence[str] = ("",)  # in their order; one without a point of this machine says so
    log: bool = True
    reference: float | None = None  # a value to draw a line at: 1 for ratios
    columns: int | None = None  # panels side by side; all of them when None
    whole: bool = False  # whether the figure takes the whole width of a page
    # Rows whose marks are not on the scale: their values are written at its lower end.
    beyond: Collection[str] = ()


@dataclass(frozen=True)
class Lines:
    """Points as lines with markers: a panel per part, ``level`` along x."""

    axes_names: tuple[str, str]  # what x and y show, with units
    levels: Sequence[float]  # the paper's levels of x, which have a tick beside those of the points
    panels: Sequence[str] = ("",)
    log: tuple[bool, bool] = (True, True)  # of x and y
    limits: tuple[float, float] | None = None  # of y
    height: float = 2.0  # of a panel, in inches, without its title
    shared_scale: bool = False  # whether the panels of one row share their scale of y
    # Titles of panels that are not their names.
    titles: Mapping[str, str] = field(default_factory=dict)
    whole: ClassVar = False


@dataclass(frozen=True)
class ClaimSheet:
    """A row per claim: its sentence, its ratio beside the published one, its verdict."""

    rows: Sequence[ClaimVerdict]
    nothing: str  # the text of a sheet without claims
    whole: ClassVar = True


@dataclass(frozen=True)
class Bars:
    """Points as stacked bars: a bar per level, a part per series."""

    whole: ClassVar = True


Drawing: TypeAlias = Dots | Lines | ClaimSheet | Bars


@dataclass(frozen=True)
class Exhibit:
    """A figure or a table."""

    title: str  # what it shows, with quantity and unit
    frame: pd.DataFrame  # a table as it is set, a figure's points as they are drawn
    notes: tuple[str, ...] = ()  # blocks, levels that did not run, timed-out values
    drawing: Drawing | None = None  # how the points are drawn; None of a table
    source: str = ""  # the paper's own number of it: ``Fig. 2``
    result: str = ""  # what came out, as `titles.write_result` says it
    study: str = ""  # whose paper it is of, and the authors; empty of all studies
    paper: str = ""

    @property
    def name(self) -> str:
        """What it is, in words that no other exhibit has: ``crud, Fig. 2: insert``."""
        place = ", ".join(filter(None, [self.study, self.source]))
        return f"{place}: {self.title}" if place else self.title

    @property
    def after(self) -> str:
        """What it is drawn or set after: ``After Fig. 2 of Truică et al. (2015)``."""
        return f"After {self.source} of {self.paper}" if self.source and self.paper else ""

    @property
    def caption(self) -> list[str]:
        """The sentences of its caption: the source, what came out, what is shown, the notes."""
        shown = self.title if self.after else self.name
        return [*filter(None, [self.after, self.result, shown]), *self.notes]


Maker = Callable[[Analysis], Exhibit]


def set_table(
    points: pd.DataFrame,
    *,
    corner: str,
    rows: Sequence[str],
    columns: Sequence[str],
    sources: Sequence[str] = SOURCES,
) -> pd.DataFrame:
    """Return points as a table of text: one row per level, one column per panel and source.

    Parameters
    ----------
    points
        With the columns `points.POINT_COLUMNS`.
    corner
        The name of the first column.
    rows, columns
        Levels and panels, in order.
    sources
        The sources of each panel, in order.
    """
    cells = {}
    for point in iterate_rows(points):
        cells[str(point.level), str(point.panel), str(point.source)] = _write_cell(point)
    table: dict[str, list[str]] = {corner: list(rows)}
    for column, source in product(columns, sources):
        empty = NOT_PRINTED if source == "published" else NOT_RUN
        table[f"{column}, {source}"] = [cells.get((row, column, source), empty) for row in rows]
    return pd.DataFrame(table)


def _write_cell(point: FrameRow) -> str:
    """Return a point as text: as printed, with separators, or the mean with its 99 % interval."""
    if point.printed:
        return group_digits(str(point.printed))
    text = ("> " if point.timed_out else "") + format_parts(point.value, point.low, point.high)[0]
    ends = format_interval(point.value, point.low, point.high, point.unit)
    if ends:
        text += f" ({ends})"
    return f"{text} {UNCHECKED}" if point.caveat else text


def group_digits(printed: str) -> str:
    """Return a printed number with a comma every three digits, as ours have; other texts as is."""
    parts = re.fullmatch(r"(-?)(\d{4,})(\.\d+)?( \*)?", printed)
    if parts is None:
        return printed
    return f"{parts[1]}{int(parts[2]):,}{parts[3] or ''}{parts[4] or ''}"


def list_misprints(rows: pd.DataFrame) -> list[str]:
    """Return the notes on published numbers, which a table marks with asterisks."""
    places: dict[str, list[str]] = {}
    for row, column, note in zip(rows["row"], rows["column"], rows["note"], strict=True):
        if note:
            places.setdefault(str(note), []).append(f"{row}, {column}")
    return [f"* {'; '.join(of_note)}: {note}" for note, of_note in places.items()]


def name_sources(by_language: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return each language's part by its source in a table: ``here`` where only Python ran."""
    if list(by_language) == [LANGUAGES["python"]]:
        return {"here": by_language[LANGUAGES["python"]]}
    return {f"{language}, here": measured for language, measured in by_language.items()}


def join_sources(
    published: pd.DataFrame, by_language: Mapping[str, pd.DataFrame]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the points for a table, each language's with its own source; and the sources."""
    parts = name_sources(by_language)
    measured = [points.assign(source=source) for source, points in parts.items()]
    return join_points(published, *measured), ["published", *parts]
