"""A figure's sheet: title and legend on top, panels in the middle, what must be said below; and its scales' ticks."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullLocator
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from benchbook.digits import short
from benchbook.plots import style

Numbers: TypeAlias = "float | pd.Series[Any]"

REACH = 10.0
"""Times a mark: an interval that goes further leaves its panel, and so shows no end."""

_TOP_INCHES = 0.06
_SIDE_INCHES = 0.07
_LINES = 1.3  # how far a line of text is from the next, times its size
_POINTS = 72.0
_MEASURED = 120.0
_HANDLE = 2.6  # how wide a legend's mark is with its gap, times the text's size
_BETWEEN = 1.6  # and how far its columns are apart


def sheet(title: str, notes: Sequence[str], handles: Sequence[Artist], height: float) -> Figure:
    """Return a figure whose middle, so many inches high, is free for panels; the handles are its legend's entries.

    It is as wide as `style.layout` says; to be called inside `style.applied`.
    """
    layout, sizes = style.layout(), style.layout().rc
    room = layout.width - 2 * _SIDE_INCHES
    sentences = ". ".join(note[0].upper() + note[1:] for note in notes if note) + "."
    headed, lines = ([*wrapped(title, room, sizes["figure.titlesize"], "bold")], wrapped(sentences, room, layout.small))
    if not layout.titled:
        headed, lines = [], []
    columns = _columns([str(handle.get_label()) for handle in handles], room, sizes["legend.fontsize"])
    under_title = _TOP_INCHES + _inches(len(headed), sizes["figure.titlesize"], 1.6)
    head = under_title + _inches(-(-len(handles) // columns), sizes["legend.fontsize"], 1.62) + 0.06
    foot = 0.06 + _inches(len(lines), layout.small, 1.44)
    total = head + height + foot
    figure = Figure(figsize=(layout.width, total))
    FigureCanvasAgg(figure)
    figure.set_layout_engine("constrained", rect=(0, foot / total, 1, height / total))
    left = _SIDE_INCHES / layout.width
    figure.text(left, 1 - _TOP_INCHES / total, "\n".join(headed), ha="left", va="top", fontweight="bold",
                fontsize=sizes["figure.titlesize"], linespacing=_LINES)  # fmt: skip
    figure.legend(handles=list(handles), loc="upper left", bbox_to_anchor=(0, 1 - under_title / total), ncols=columns,
                  handletextpad=0.5, columnspacing=_BETWEEN, borderpad=0.1, borderaxespad=0.3)  # fmt: skip
    figure.text(left, foot / total, "\n".join(lines), ha="left", va="top", fontsize=layout.small, color=style.FAINT,
                linespacing=1.25)  # fmt: skip
    return figure


def _inches(lines: int, points: float, spacing: float) -> float:
    """Return how high so many lines of text stand."""
    return lines * points * spacing / _POINTS


@cache
def width(text: str, points: float, weight: str = "normal") -> float:
    """Return how many inches wide a text is, its longest line, in the font of figures."""
    font = get_font(findfont(FontProperties(family=style.RC["font.family"], weight=weight)))
    font.set_size(_MEASURED, _POINTS)  # large, for hinting moves small letters
    widths = []
    for line in text.split("\n"):
        font.set_text(line, 0.0)
        widths.append(font.get_width_height()[0] / 64)  # FreeType counts in 64ths
    return 1.02 * max(widths) * points / _MEASURED / _POINTS


def wrapped(text: str, room: float, points: float, weight: str = "normal") -> list[str]:
    """Return a text's lines, none wider than so many inches unless one word is."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width(longer, points, weight) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def settle(figure: Figure) -> None:
    """Lay the figure out once and round where its panels are, so that drawing it again gives the same bytes.

    A tick whose name would touch another's loses it: the first and the last keep theirs.
    """
    engine = figure.get_layout_engine()
    assert engine
    engine.execute(figure)  # without drawing what is drawn once it is saved
    figure.set_layout_engine(None)
    for axes in figure.axes:
        axes.set_position(Bbox.from_bounds(*(round(part, 5) for part in axes.get_position().bounds)))
    done: set[Axes] = set()
    for axes in figure.axes:
        named = any(tick.label1.get_visible() for tick in axes.xaxis.get_major_ticks())
        if axes.get_visible() and named and axes not in done:
            _thin(axes.xaxis)
            done.update(axes.get_shared_x_axes().get_siblings(axes))


def _thin(axis: Axis) -> None:
    """Take the name of each tick away that would touch one that is kept: the ends are, then as many as have room."""
    low, high = sorted(axis.get_view_interval())
    boxes: dict[float, Bbox] = {}
    for tick in axis.get_major_ticks():
        if low <= tick.get_loc() <= high and tick.label1.get_text():
            boxes[tick.get_loc()] = tick.label1.get_window_extent()
    order = sorted(boxes)
    kept: dict[float, Bbox] = {}
    for place in [*order[:1], *order[:0:-1][:1], *order[1:-1]]:
        box = boxes[place]
        # less than half a letter between two names
        gap = 0.25 * box.height
        if not any(box.x0 < other.x1 + gap and other.x0 < box.x1 + gap for other in kept.values()):
            kept[place] = box
    if len(kept) < len(boxes):
        axis.set_ticks(order, [short(place) if place in kept else "" for place in order])


def _columns(entries: Sequence[str], room: float, points: float) -> int:
    """Return how many columns of entries fit side by side, split as matplotlib does: the first ones are the longer."""
    widths = [width(entry, points) + _HANDLE * points / _POINTS for entry in entries]
    for columns in range(len(widths), 1, -1):
        gaps = (columns - 1) * _BETWEEN * points / _POINTS
        if sum(part.max() for part in np.array_split(widths, columns)) + gaps <= room:
            return columns
    return 1


def legend(points: pd.DataFrame, series: Sequence[str], *, line: bool = True) -> list[Artist]:
    """Return the legend's entries: hollow, filled (a mean of blocks), and a shape for each of several series."""
    published = points[points["source"] == "published"]
    measured = set(points.loc[points["source"] == "here", "series"])
    handles: list[Artist] = []
    if published["value"].notna().any():
        handles.append(mark("published", style.Look(style.INK, "o"), filled=False))
    if published["value"].isna().any():
        handles.append(Patch(label="published, as a bound", **style.BOUND))
    several = len(series) > 1
    handles.append(mark("here, mean and 95 % interval", style.Look(style.INK if several else style.BLUE, "o")))
    if several:
        handles += [mark(name, style.look(name), line=line, filled=name in measured or not measured) for name in series]
    return handles


def mark(label: str, look: style.Look, *, filled: bool = True, line: bool = False) -> Line2D:
    """Return one legend entry, drawn as the marks are."""
    return Line2D(
        [], [], color=look.colour, marker=look.marker, ls=look.dash if line else "none", label=label,
        markerfacecolor=look.colour if filled else "none", markeredgewidth=1.3 * style.layout().marks,
        markersize=(6 if filled else 8) * style.layout().marks,
    )  # fmt: skip


def marks(axes: Axes, x: Numbers, y: Numbers, shape: str, colour: str, *, hollow: bool = False) -> None:
    """Draw marks of one series: a paper's hollow, and over all that is drawn of this machine."""
    size = style.layout().marks
    if hollow:
        about: dict[str, Any] = {"markersize": 8.5 * size, "markerfacecolor": "none", "markeredgewidth": 1.2 * size}
        axes.plot(x, y, shape, color=colour, zorder=4, **about)
    else:
        axes.plot(x, y, shape, color=colour, markersize=5 * size, zorder=3.5)


def log_scale(axes: Axes, along: Literal["x", "y"], low: float, high: float, most: int = 10) -> None:
    """Scale x or y logarithmically from one end to the other, with ticks that have names: so many at most."""
    axes.set(**{f"{along}scale": "log", f"{along}lim": (low, high)})
    name_ticks(axes.xaxis if along == "x" else axes.yaxis, log_ticks(low, high, most))


def within_reach(marks: NDArray[np.float64], ends: NDArray[np.float64]) -> tuple[float, float]:
    """Return the limits of all marks, and of intervals' ends as far as their `REACH`."""
    numbers = np.append(ends, marks)
    return max(numbers.min(), marks.min() / REACH), min(numbers.max(), marks.max() * REACH)


def not_run(axes: Axes, room: float) -> None:
    """Say in the title of a panel, so many inches wide, that nothing of this machine is in it."""
    remark, points = "not run here", style.layout().small
    title = axes.get_title(loc="left")
    if width(title, style.layout().rc["axes.titlesize"], "bold") + width(f"  {remark}", points) <= room:
        about: dict[str, Any] = {"fontsize": points, "style": "italic", "color": style.FAINT, "fontweight": "normal"}
        axes.set_title(remark, loc="right", **about)
    else:
        axes.set_title(f"{title}\n{remark}" if title else remark)


def name_ticks(axis: Axis, ticks: Sequence[float]) -> None:
    """Set the ticks of an axis, named as people write numbers, and none between them."""
    axis.set_ticks(list(ticks))
    axis.set_major_formatter(short)
    axis.set_minor_locator(NullLocator())


def log_ticks(low: float, high: float, most: int = 10) -> list[float]:
    """Return ticks of a logarithmic axis, all of which can be named: at most `most`, and as many as that allows."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    choices = [[float(tick) for tick in MaxNLocator(5).tick_values(low, high)]] if high / low <= 6 else []
    choices += [[digit * 10.0**power for power in decades for digit in (1, 2, 5)]] if high / low <= 300 else []
    choices += [[10.0**power for power in decades if power % step == 0] for step in range(1, len(decades) + 1)]
    inside = [[tick for tick in ticks if low <= tick <= high] for ticks in choices]
    return next((ticks for ticks in inside if 2 <= len(ticks) <= most), inside[0])
