"""Draws claims as rows: the claim in words, its ratio with the interval, the published ratio, the verdict."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, log10
from typing import Any, Final

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FuncFormatter, NullLocator
from matplotlib.transforms import blended_transform_factory

from benchbook.evidence.comparisons import figures as digits
from benchbook.figures import style
from benchbook.figures.dots import plain
from benchbook.figures.sheet import mark, sheet

LOOKS: Final = {
    "reproduced": style.Look(style.BLUE, "o"),
    "direction only": style.Look(style.GREEN, "^"),
    "equivalent": style.Look(style.PINK, "D"),
    "contradicted": style.Look(style.VERMILION, "X"),
    "inconclusive": style.Look(style.FAINT, "s"),
}
"""How each verdict is marked: colour and shape, either of which tells it apart."""

CLAIMED: Final = "#e9eef3"
"""The tint of where a claim says that its ratio lies."""

UNTRUSTED: Final = " †"
_TEXT_POINTS: Final = 7.2
_LINE_INCHES: Final = 0.125
_GAP_INCHES: Final = 0.085
_CHARACTERS: Final = 62
_AXIS_INCHES: Final = 0.42
_PLOT: Final = (0.47, 0.325)  # left end and width of the axes, of the sheet's width
_PUBLISHED: Final = 0.852
_VERDICT: Final = 0.866
_WIDEST: Final = 300.0


@dataclass(frozen=True)
class Row:
    """One claim as it is drawn.

    Parameters
    ----------
    says
        The claim in words.
    claimed
        From where to where the claim says that the ratio lies; 0 and infinity where open.
    ratio, low, high
        Here; NaN where there is none, infinity where an end is open.
    published
        The paper's own ratio; NaN where it prints none.
    verdict
        One of `LOOKS`.
    untrusted
        Whether identical arms of the study differed.
    """

    says: str
    claimed: tuple[float, float]
    ratio: float
    low: float
    high: float
    published: float
    verdict: str
    untrusted: bool

    @property
    def lines(self) -> list[str]:
        """The claim as lines of text."""
        return textwrap.wrap(self.says, _CHARACTERS)

    @property
    def height(self) -> float:
        """Inches."""
        return _GAP_INCHES + _LINE_INCHES * len(self.lines)


def draw(rows: Sequence[Row], title: str, notes: Sequence[str], nothing: str) -> Figure:
    """Return a sheet with a row a claim.

    Parameters
    ----------
    rows
        In the order drawn.
    title
        What is judged.
    notes
        Printed below.
    nothing
        What stands in the middle when there is no row.
    """
    height = sum(row.height for row in rows) or 0.5
    with style.applied():
        figure = sheet(title, notes, _legend(rows), height + _AXIS_INCHES + 0.16)
        axes = _axes(figure, height)
        if not rows:
            figure.text(0.5, 0.5, nothing, ha="center", va="center", style="italic", color=style.FAINT)
            axes.set_visible(False)
            return figure
        low, high = _limits(rows)
        axes.set_xlim(low, high)
        top = 0.0
        for row in rows:
            _row(axes, row, top, (low, high))
            top += row.height
        _heads(axes)
        _scale(axes, low, high)
    return figure


def _axes(figure: Figure, height: float) -> Axes:
    """Return axes whose y is inches from the top, with room at both sides for text."""
    engine: Any = figure.get_layout_engine()
    _, foot, _, share = engine.get()["rect"]
    figure.set_layout_engine("none")
    total = figure.get_figheight()
    bottom = round(foot + _AXIS_INCHES / total, 5)
    axes = figure.add_axes((_PLOT[0], bottom, _PLOT[1], round(height / total, 5)))
    axes.set_ylim(height, 0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    assert share > 0
    return axes


def _row(axes: Axes, row: Row, top: float, ends: tuple[float, float]) -> None:
    middle, look = top + row.height / 2, LOOKS[row.verdict]
    beside = blended_transform_factory(axes.figure.transFigure, axes.transData)
    left, right = (min(max(end, ends[0]), ends[1]) for end in row.claimed)
    axes.add_patch(Rectangle((left, top + 0.015), right - left, row.height - 0.03, fc=CLAIMED, ec="none", zorder=0.2))
    written: dict[str, Any] = {"transform": beside, "va": "center", "fontsize": _TEXT_POINTS}
    axes.text(0.012, middle, "\n".join(row.lines), linespacing=1.2, **written)
    if isfinite(row.published):
        axes.text(_PUBLISHED, middle, digits(row.published), ha="right", color=style.FAINT, **written)
        _point(axes, row.published, middle, ends, style.Look(style.INK, "o"), filled=False)
    said = row.verdict + (UNTRUSTED if row.untrusted else "")
    axes.text(_VERDICT, middle, said, color=look.colour, fontweight="bold", **written)
    if row.low == row.low:
        low, high = (min(max(end, ends[0]), ends[1]) for end in (row.low, row.high))
        axes.plot([low, high], [middle, middle], color=look.colour, linewidth=1.6, solid_capstyle="butt", zorder=3)
    if row.ratio == row.ratio:
        _point(axes, row.ratio, middle, ends, look, filled=True)


def _point(axes: Axes, value: float, y: float, ends: tuple[float, float], look: style.Look, *, filled: bool) -> None:
    """Draw a mark, or an arrow at the end of the scale that it lies beyond."""
    shape = "<" if value < ends[0] else ">" if value > ends[1] else look.marker
    axes.plot(
        min(max(value, ends[0]), ends[1]), y, shape, color=look.colour, markersize=5.2 if filled else 8, clip_on=False,
        markerfacecolor=look.colour if filled else "none", markeredgewidth=0.8 if filled else 1.1,
        zorder=4 if filled else 3.5,
    )  # fmt: skip


def _limits(rows: Sequence[Row]) -> tuple[float, float]:
    """Return the scale's ends: all estimates and printed ratios, and the intervals as far as they leave those apart."""
    marks = [value for row in rows for value in (row.ratio, row.published, *row.claimed) if 0 < value < inf]
    reach = [value for row in rows for value in (row.low, row.high) if 0 < value < inf]
    low, high = min([*marks, 1.0]), max([*marks, 1.0])
    low = max(min([low, *reach]), low / 3, 1 / _WIDEST)
    high = min(max([high, *reach]), high * 3, _WIDEST)
    room = max((high / low) ** 0.05, 1.06)
    return low / room, high * room


def _heads(axes: Axes) -> None:
    """Name the columns."""
    beside = blended_transform_factory(axes.figure.transFigure, axes.transData)
    for x, text, side in (
        (0.012, "claim", "left"),
        (_PUBLISHED, "published", "right"),
        (_VERDICT, "verdict here", "left"),
    ):
        axes.text(x, -0.09, text, transform=beside, ha=side, va="center", fontsize=_TEXT_POINTS, color=style.FAINT)


def _scale(axes: Axes, low: float, high: float) -> None:
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_xticks(ticks(low, high))
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.axvline(1.0, color=style.INK, linewidth=0.9, zorder=1)
    axes.set_xlabel("ratio")


def ticks(low: float, high: float) -> list[float]:
    """Return ticks of a logarithmic axis around 1, round ones first, none closer than a tenth of it to another."""
    wanted = [
        digit * 10.0**power for digit in (1, 2, 5, 3, 1.5, 1.2, 1.1, 7, 8, 9) for power in (0, -1, 1, -2, 2, -3, 3)
    ]
    kept: list[float] = []
    for tick in wanted:
        apart = all(abs(log10(tick / other)) > 0.1 * log10(high / low) for other in kept)
        kept += [tick] if low <= tick <= high and apart else []
    return sorted(kept)


def _legend(rows: Sequence[Row]) -> list[Artist]:
    handles: list[Artist] = [mark("published", style.Look(style.INK, "o"), filled=False)]
    handles += [mark(name, look) for name, look in LOOKS.items() if any(row.verdict == name for row in rows)]
    return [*handles, Patch(fc=CLAIMED, ec="none", label="where the claim puts it")]


def open_ended(claimed: str, margin: float, than: float = 1.0) -> tuple[float, float]:
    """Return from where to where a claim puts its ratio."""
    sides = {"more": (than * margin, inf), "less": (0.0, than / margin), "equal": (1 / margin, margin)}
    return sides.get(claimed, (margin, inf))  # a ranking's smallest lead
