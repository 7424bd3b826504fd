"""A figure's sheet: title and legend on top, panels in the middle, notes below; and its scales' ticks.

Matplotlib's constrained layout places the panels. How many letters fit a line is counted, not measured.
"""

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullLocator
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from benchbook.digits import short
from benchbook.plots import style
from benchbook.plots.exhibit import Exhibit
from benchbook.plots.style import Layout

Numbers: TypeAlias = "float | pd.Series[Any]"
Weight: TypeAlias = Literal["normal", "bold"]

REACH = 10.0
"""Times a mark: an interval that goes further leaves its panel, and so shows no end."""

_SIDE_INCHES: Final = 0.07
_LETTER: Final[dict[Weight, float]] = {"normal": 0.55, "bold": 0.61}
"""How wide a letter of DejaVu Sans is on average, times the text's size: a little more than in English sentences."""

_LINE: Final = 1.25
"""How far a line of text is from the next, times its size."""

_ENTRY: Final = 4.0
_BETWEEN: Final = 1.2
"""How wide a legend's mark is with what capitals add to its entry, and how far columns are apart, times the size."""


def start_sheet(exhibit: Exhibit, layout: Layout, handles: Sequence[Artist], height: float) -> Figure:
    """Return a figure with its title, legend and notes, and so many inches of height for its panels.

    The handles are the legend's entries. To be called inside `style.applied`.
    """
    size, title_size = layout.rc["legend.fontsize"], layout.rc["figure.titlesize"]
    room = layout.width - 2 * _SIDE_INCHES
    title = notes = ""
    if layout.titled:
        title = wrap(exhibit.title, room, title_size, "bold")
        sentences = ". ".join(note[0].upper() + note[1:] for note in exhibit.notes if note)
        notes = wrap(f"{sentences}.", room, layout.small) if sentences else ""
    columns = _count_columns([str(handle.get_label()) for handle in handles], room, size)
    rows = math.ceil(len(handles) / columns)
    # what stands above and below the panels
    about = text_height(title, title_size) + rows * 1.3 * _LINE * size / 72 + text_height(notes, layout.small)
    figure = Figure(figsize=(layout.width, height + about + 0.2), layout="constrained")
    legend = figure.legend(
        handles=list(handles), loc="outside upper left", ncols=columns, alignment="left", title=title or None,
        title_fontproperties={"size": title_size, "weight": "bold"}, handletextpad=0.5, columnspacing=_BETWEEN,
        borderpad=0.1, borderaxespad=0.3,
    )  # fmt: skip
    legend.get_title().set_linespacing(_LINE)
    left = _SIDE_INCHES / layout.width
    if notes:
        figure.supxlabel(notes, x=left, ha="left", fontsize=layout.small, color=style.FAINT, linespacing=_LINE)
    return figure


def wrap(text: str, inches: float, points: float, weight: Weight = "normal") -> str:
    """Return a text in lines of so many inches, its own lines kept; a word that is longer has a line to itself."""
    letters = max(1, int(inches * 72 / points / _LETTER[weight]))
    return "\n".join(textwrap.fill(line, letters, break_long_words=False) for line in text.split("\n"))


def text_width(texts: Iterable[str], points: float, weight: Weight = "normal") -> float:
    """Return about how many inches wide the longest line of some texts is."""
    letters = max((len(line) for text in texts for line in text.split("\n")), default=0)
    return letters * _LETTER[weight] * points / 72


def text_height(text: str, points: float) -> float:
    """Return how many inches high a text's lines are."""
    return (text.count("\n") + 1) * _LINE * points / 72 if text else 0.0


def _count_columns(entries: Sequence[str], inches: float, points: float) -> int:
    """Return how many columns of entries fit side by side, split as matplotlib does: the first ones are the longer."""
    for columns in range(len(entries), 1, -1):
        letters = [max(map(len, part)) for part in np.array_split(entries, columns)]
        widths = 0.5 * sum(letters) + columns * _ENTRY + (columns - 1) * _BETWEEN
        if widths * points / 72 <= inches:
            return columns
    return 1


def settle(figure: Figure) -> None:
    """Lay the figure out once, so that each format that it is saved in has its panels at the same place."""
    engine = figure.get_layout_engine()
    assert engine
    engine.execute(figure)
    figure.set_layout_engine("none")
    for axes in figure.axes:
        axes.set_position(Bbox.from_bounds(*(round(part, 5) for part in axes.get_position().bounds)))


def legend(points: pd.DataFrame, series: Sequence[str], layout: Layout, *, line: bool = True) -> list[Artist]:
    """Return the legend's entries: hollow, filled (a mean of blocks), and a shape for each of several series."""
    size = layout.marks
    published = points[points["source"] == "published"]
    measured = set(points.loc[points["source"] == "here", "series"])
    handles: list[Artist] = []
    if published["value"].notna().any():
        handles.append(mark("published", style.Look(style.INK, "o"), size, filled=False))
    if published["value"].isna().any():
        handles.append(Patch(label="published, as a bound", **style.BOUND))
    several = len(series) > 1
    here = style.Look(style.INK if several else style.BLUE, "o")
    handles.append(mark("here, mean and 99 % interval", here, size))
    if several:
        for name in series:
            filled = name in measured or not measured
            handles.append(mark(name, style.look(name), size, line=line, filled=filled))
    return handles


def mark(label: str, look: style.Look, size: float, *, filled: bool = True, line: bool = False) -> Line2D:
    """Return one legend entry, drawn as the marks are; the size is a layout's."""
    return Line2D(
        [], [], color=look.colour, marker=look.marker, ls=look.dash if line else "none", label=label,
        markerfacecolor=look.colour if filled else "none", markeredgewidth=1.3 * size,
        markersize=(6 if filled else 8) * size,
    )  # fmt: skip


def draw_marks(axes: Axes, x: Numbers, y: Numbers, look: style.Look, size: float, *, hollow: bool = False) -> None:
    """Draw marks of one series: a paper's hollow, and over all that is drawn of this machine."""
    if hollow:
        about: dict[str, Any] = {"markersize": 8.5 * size, "markerfacecolor": "none", "markeredgewidth": 1.2 * size}
        axes.plot(x, y, look.marker, color=look.colour, zorder=4, **about)
    else:
        axes.plot(x, y, look.marker, color=look.colour, markersize=5 * size, zorder=3.5)


def log_scale(axes: Axes, along: Literal["x", "y"], low: float, high: float, gap: float = 0.1) -> None:
    """Scale x or y logarithmically from one end to the other, with ticks that have names, as `log_ticks`."""
    axes.set(**{f"{along}scale": "log", f"{along}lim": (low, high)})
    axis = axes.xaxis if along == "x" else axes.yaxis
    axis.set_ticks(log_ticks(low, high, gap))
    axis.set_major_formatter(short)
    axis.set_minor_locator(NullLocator())


def tick_gap(inches: float, layout: Layout) -> float:
    """Return how far the names of two ticks are apart at least, a share of an axis so many inches long."""
    return (text_width(["1000"], layout.rc["xtick.labelsize"]) + 0.04) / inches


def within_reach(marks: NDArray[np.float64], ends: NDArray[np.float64]) -> tuple[float, float]:
    """Return the limits of all marks, and of intervals' ends as far as their `REACH`."""
    numbers = np.append(ends, marks)
    return max(numbers.min(), marks.min() / REACH), min(numbers.max(), marks.max() * REACH)


def panel_title(title: str, inches: float, layout: Layout, *, ran: bool) -> str:
    """Return a panel's title in lines of so many inches; it says when nothing of this machine is in the panel."""
    if not ran:
        title = f"{title}\nnot run here" if title else "not run here"
    # short titles have more capitals than sentences
    return wrap(title, inches / 1.1, layout.rc["axes.titlesize"], "bold")


def log_ticks(low: float, high: float, gap: float = 0.1) -> list[float]:
    """Return round ticks of a logarithmic axis: as many as are at least `gap` apart, a share of its length."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    choices: list[list[float]] = []
    # from many ticks to few; 1 is in each that has it in reach
    if high / low <= 2.5:
        choices += [[*MaxNLocator(count, steps=[1, 2, 5, 10]).tick_values(low, high)] for count in (5, 3)]
    if high / low <= 300:
        for digits in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3)):
            choices.append([digit * 10.0**power for power in decades for digit in digits])
    choices += [[10.0**power for power in decades if power % step == 0] for step in range(1, len(decades) + 1)]
    fewest: list[float] = []
    for choice in choices:
        ticks = [float(tick) for tick in choice if low <= tick <= high]
        if len(ticks) > 1 and np.diff(np.log(ticks)).min() >= gap * math.log(high / low):
            return ticks
        fewest = ticks[:1] or fewest
    return fewest
