"""Every repetition of one run as a dot, the paper's numbers hollow beside them: the figure of a study's notebook."""

from collections.abc import Mapping, Sequence
from typing import Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchbook.plots import style
from benchbook.plots.points import each
from benchbook.plots.sheet import log_scale

COLOURS: Final = (style.BLUE, style.ORANGE, style.GREEN, style.PINK)
MARKS: Final = ("D", "s", "^")
_ROW_INCHES: Final = 0.42


def repetitions(
    values: pd.DataFrame, paper: pd.DataFrame | None = None, *, title: str, called: str = "paper", order: bool = False
) -> Figure:
    """Draw the repetitions of a run.

    Parameters
    ----------
    values
        A row a repetition: ``panel`` (the quantity and its unit), ``row`` (what was done), ``side``, ``repetition`` and
        ``value``. Those that are not finite are not drawn: a share of processor time has no value where the window was
        shorter than a tick of its clock.
    paper
        The paper's numbers: ``panel``, ``row``, ``series`` and ``value``; those that are not finite are not drawn.
    called
        What the legend says of them.
    order
        Whether the first panel's are drawn once more in their order, to show warming up and drift.
    """
    import seaborn as sns  # here, for it is slow to import

    panels, rows = (list(dict.fromkeys(values[name])) for name in ("panel", "row"))
    sides = sorted(set(values["side"]))
    values = values[np.isfinite(values["value"])]
    printed = (paper if paper is not None else pd.DataFrame(columns=["panel", "row", "series", "value"])).dropna()
    rows += [row for row in dict.fromkeys(printed["row"]) if row not in rows]
    colours = dict(zip(sides, COLOURS, strict=False))
    series = list(dict.fromkeys(printed["series"]))
    with style.applied():
        count, height = len(panels) + order, 1.3 + _ROW_INCHES * max(len(rows), 3 if order else 1)
        figure, grid = plt.subplots(1, count, figsize=(min(9.5, 2.5 + 2.9 * count), height), squeeze=False,
                                    layout="constrained")  # fmt: skip
        for axes, panel in zip(grid[0], panels, strict=False):
            measured = values[values["panel"] == panel]
            if measured.empty:
                axes.text(0.5, 0.5, "not measured", ha="center", va="center", transform=axes.transAxes)
            dots = {"hue": "side", "hue_order": sides, "palette": colours, "dodge": len(sides) > 1, "size": 4.5}
            sns.stripplot(measured, x="value", y="row", order=rows, ax=axes, alpha=0.7, legend=False, **dots)
            published = printed[printed["panel"] == panel]
            for point in each(published):
                mark = MARKS[series.index(point.series) % len(MARKS)]
                axes.plot(point.value, rows.index(point.row), mark, mfc="none", mec=style.INK, ms=8, zorder=3)
            _scaled(axes, [*measured["value"], *published["value"]])
            axes.set(title=panel, xlabel="", ylabel="")
            if axes is not grid[0][0]:
                axes.tick_params(labelleft=False)
        if order:
            _in_order(grid[0][-1], values[values["panel"] == panels[0]], sides, colours)
        for side, colour in colours.items():
            grid[0][0].plot([], [], "o", color=colour, label=f"here: {side}, one repetition")
        for place, name in enumerate(series):
            label = f"{called}: {name}" if name else called
            grid[0][0].plot([], [], MARKS[place % len(MARKS)], mfc="none", mec=style.INK, label=label)
        figure.suptitle(title)
        figure.legend(loc="outside lower center", ncols=3)
    plt.close(figure)  # who is given it shows it: a notebook would show it twice
    return figure


def _in_order(axes: Axes, values: pd.DataFrame, sides: Sequence[str], colours: Mapping[str, str]) -> None:
    for side in sides:
        for _, in_row in values[values["side"] == side].groupby("row", sort=False):
            axes.plot(in_row["repetition"], in_row["value"], "o-", color=colours[side], ms=3.5, lw=0.7)
    drawn = values["value"]
    if drawn.min() > 0:
        log_scale(axes, "y", drawn.min() / 1.2, drawn.max() * 1.2)
    axes.set(title="In their order", xlabel="repetition")


def _scaled(axes: Axes, values: list[float]) -> None:
    """Scale logarithmically where values differ by several times, else from nought."""
    if values and all(value > 0 for value in values) and max(values) > 3 * min(values):
        log_scale(axes, "x", min(values) / 1.4, max(values) * 1.4, 0.2)
    elif values and min(values) >= 0:
        axes.set_xlim(0, max(values) * 1.1 or 1)
