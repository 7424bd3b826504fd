"""A table or a figure as data: a frame, what must be said beneath it, and how a figure's points are to be drawn.

Nothing here draws: `benchbook.plots.save` does, so that a number or a caption needs no drawing library.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pandas as pd

from benchbook.analysis import Analysis
from benchbook.analysis.verdicts import ClaimVerdict


@dataclass(frozen=True)
class Dots:
    """Points as dots: a row per level, a panel per part; the columns of points are `points.COLUMNS`."""

    axis: str  # the quantity and its unit
    rows: Sequence[str]  # levels in their order
    panels: Sequence[str] = ("",)  # in their order; one without a point of this machine says so
    log: bool = True
    reference: float | None = None  # a value to draw a line at: 1 for ratios
    columns: int | None = None  # panels side by side; all of them when None


@dataclass(frozen=True)
class Lines:
    """Points as lines with markers: a panel per part, ``level`` along x."""

    axes_names: tuple[str, str]  # what x and y show, with units
    levels: Sequence[float]  # the paper's levels of x, which have a tick beside those of the points
    panels: Sequence[str] = ("",)
    log: tuple[bool, bool] = (True, True)  # of x and y
    limits: tuple[float, float] | None = None  # of y
    height: float = 2.25  # of a panel, in inches
    alike: bool = False  # whether the panels of one row share their scale of y
    heads: Mapping[str, str] = field(default_factory=dict)  # titles of panels that are not their names


@dataclass(frozen=True)
class ClaimSheet:
    """A row per claim: its sentence, its ratio beside the published one, its verdict."""

    rows: Sequence[ClaimVerdict]
    nothing: str  # what stands there instead where there is no claim


@dataclass(frozen=True)
class Bars:
    """Points as stacked bars: a bar per level, a part per series."""


Drawing: TypeAlias = Dots | Lines | ClaimSheet | Bars


@dataclass(frozen=True)
class Exhibit:
    """What is shown and what is said of it."""

    title: str  # study, the paper's own number of it, quantity and unit
    frame: pd.DataFrame  # a table as it is set, a figure's points as they are drawn
    notes: tuple[str, ...] = ()  # blocks, levels that did not run, timed-out values
    drawing: Drawing | None = None  # how the points are drawn; None of a table


Maker = Callable[[Analysis], Exhibit]
"""From all that a run's observations say to an exhibit."""
