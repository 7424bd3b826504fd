"""Repetitions: the figure of a study's notebook, one dot each, the paper's numbers hollow."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchbook.plots import style
from benchbook.plots.points import iterate_rows
from benchbook.plots.sheet import set_log_scale

COLOURS: Final = (style.BLUE, style.ORANGE, style.GREEN, style.PINK)
MARKS: Final = ("D", "s", "^")
_ROW_INCHES: Final = 0.42


def draw_repetitions(
    values: pd.DataFrame,
    paper: pd.DataFrame | None = None,
    *,
    title: str,
    called: str = "paper",
    order: bool = False,
) -> Figure:
    """Draw the repetitions of a run.

    Parameters
    ----------
    values
        One row per repetition: ``panel`` (the quantity and its unit), ``row`` (what was done),
        ``side`` (the level compared), ``repetition`` and ``value``. Values that are not finite are
        left out, such as a share of CPU time in a window shorter than a tick of its clock.
    paper
        The paper's numbers: ``panel``, ``row``, ``series`` and ``value``, which may be missing.
    called
        The paper's name in the legend.
    order
        Whether to draw the first panel again in the order of repetitions, for warm-up and drift.
    """
    panels, rows = (list(dict.fromkeys(values[name])) for name in ("panel", "row"))
    colours = dict(zip(sorted(set(values["side"])), COLOURS, strict=False))
    values = values[np.isfinite(values["value"])]
    printed = pd.DataFrame(columns=["panel", "row", "series", "value"])
    if paper is not None:
        printed = paper.dropna()
    rows += [row for row in dict.fromkeys(printed["row"]) if row not in rows]
    series = dict.fromkeys(printed["series"])
    marks = {name: MARKS[rank % len(MARKS)] for rank, name in enumerate(series)}

    with style.use_style():
        count = len(panels) + order
        height = 1.3 + _ROW_INCHES * max(len(rows), 3 if order else 1)
        size = (min(9.5, 2.5 + 2.9 * count), height)
        figure, grid = plt.subplots(1, count, figsize=size, squeeze=False, layout="constrained")
        first = grid[0][0]
        for axes, panel in zip(grid[0], panels, strict=False):
            in_panel = printed[printed["panel"] == panel]
            _draw_panel(axes, values[values["panel"] == panel], in_panel, rows, colours, marks)
            axes.set(title=panel, xlabel="", ylabel="")
            axes.tick_params(labelleft=axes is first)
        if order:
            _draw_in_order(grid[0][-1], values[values["panel"] == panels[0]], colours)
        # The legend's entries are lines without points.
        for level, colour in colours.items():
            first.plot([], [], "o", color=colour, label=f"here: {level}, one repetition")
        for name, mark in marks.items():
            label = f"{called}: {name}" if name else called
            first.plot([], [], mark, mfc="none", mec=style.INK, label=label)
        figure.suptitle(title)
        figure.legend(loc="outside lower center", ncols=3)
    # A notebook would show an open figure a second time.
    plt.close(figure)
    return figure


def _draw_panel(
    axes: Axes,
    values: pd.DataFrame,
    printed: pd.DataFrame,
    rows: Sequence[str],
    colours: Mapping[str, str],
    marks: Mapping[str, str],
) -> None:
    """Draw one quantity: a dot per repetition, and the paper's numbers hollow."""
    # Seaborn is slow to import.
    import seaborn as sns

    if values.empty:
        axes.text(0.5, 0.5, "not measured", ha="center", va="center", transform=axes.transAxes)
    dots = {
        "hue": "side",
        "hue_order": list(colours),
        "palette": colours,
        "dodge": len(colours) > 1,
        "size": 4.5,
    }
    sns.stripplot(values, x="value", y="row", order=rows, ax=axes, alpha=0.7, legend=False, **dots)
    hollow: dict[str, Any] = {"mfc": "none", "mec": style.INK, "ms": 8, "zorder": 3}
    for point in iterate_rows(printed):
        axes.plot(point.value, rows.index(point.row), marks[point.series], **hollow)
    # Logarithmic where values differ by several times, else from zero.
    drawn = [*values["value"], *printed["value"]]
    if drawn and min(drawn) > 0 and max(drawn) > 3 * min(drawn):
        set_log_scale(axes, "x", min(drawn) / 1.4, max(drawn) * 1.4, 0.2)
    elif drawn and min(drawn) >= 0:
        axes.set_xlim(0, max(drawn) * 1.1 or 1)


def _draw_in_order(axes: Axes, values: pd.DataFrame, colours: Mapping[str, str]) -> None:
    for level, colour in colours.items():
        for _, row in values[values["side"] == level].groupby("row", sort=False):
            axes.plot(row["repetition"], row["value"], "o-", color=colour, ms=3.5, lw=0.7)
    low, high = values["value"].min(), values["value"].max()
    if low > 0:
        set_log_scale(axes, "y", low / 1.2, high * 1.2)
    axes.set(title="In their order", xlabel="repetition")
