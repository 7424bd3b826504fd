"""Repetitions: the figure of a study's notebook, one dot each, the paper's numbers hollow.

`collect_repetitions` has the values, `draw_repetitions` draws them.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from math import ceil
from typing import Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchbook.analysis import claim_files
from benchbook.analysis.paper_comparisons import find_published_place
from benchbook.analysis.published import find_published_number
from benchbook.analysis.study_means import MatchedMeans, StudyMeans
from benchbook.plots import style
from benchbook.plots.points import iterate_rows
from benchbook.plots.sheet import set_log_scale
from benchbook.registry.products import label_level
from benchbook.text.names import name_metric
from benchbook.text.number_format import PRINTED_UNITS, choose_unit

COLOURS: Final = (style.BLUE, style.ORANGE, style.GREEN, style.PINK)
MARKS: Final = ("D", "s", "^", "v")
_ROW_INCHES: Final = 0.42
_MOST_COLUMNS: Final = 3


def collect_repetitions(means: StudyMeans, metrics: Collection[str] = ()) -> pd.DataFrame:
    """Return the values of a run in one process, and what the paper prints of the same.

    Parameters
    ----------
    means
        Of the run, each repetition as a block.
    metrics
        What is collected; when empty, what the paper prints, or all if it prints none of it.

    Returns
    -------
    pandas.DataFrame
        ``panel`` (the quantity and its unit)``, row`` (what was done)``, side`` (the level
        compared)``, source`` (``here`` or ``paper``)``, value``
    """
    # The quantities that the paper compares. The time per item is the time once more.
    pairs, *_ = claim_files.load_paper_comparisons(means.study)
    printed = {*chain.from_iterable(place.metric for place in pairs.places)} - {"time_per_item"}
    compared = pairs.list_quantities()
    wanted = {*metrics} or printed or {metric for _, _, metric in compared}
    quantities = [quantity for quantity in compared if quantity[2] in wanted]
    matches = [*means.match_levels(pairs.by, pairs.loose, quantities)]

    # Their values, and the paper's number beside them.
    points: list[dict[str, object]] = []
    for match, row in zip(matches, _name_rows(matches), strict=True):
        for level, side in match.by_level.items():
            about = {
                "metric": match.quantity[2],
                "row": row,
                "side": pairs.words(level),
                "unit": side.unit,
                "source": "here",
            }
            points += [{**about, "value": value} for value in side.values]
            settings = {**side.settings, **match.settings}
            place = find_published_place(pairs, match.quantity, settings, level)
            number = find_published_number(means.study, *place.key) if place else None
            if number:
                size = PRINTED_UNITS.get((number.unit, side.unit), 1.0)
                points.append({**about, "source": "paper", "value": size * number.value})

    # Each quantity in one unit, in which our values have few digits.
    table = pd.DataFrame(points)
    for metric, rows in table.groupby("metric"):
        here = rows.loc[rows["source"] == "here", "value"]
        size, unit = choose_unit(here, rows["unit"].iloc[0])
        table.loc[rows.index, "value"] = rows["value"] / size
        table.loc[rows.index, "panel"] = f"{name_metric(str(metric))}, {unit}"
    return table


def _name_rows(matches: Sequence[MatchedMeans]) -> list[str]:
    """Return a name for each match: its operation, role and levels, as far as these differ."""
    known = []
    for match in matches:
        operation, role, _ = match.quantity
        known.append({"operation": operation.replace("_", " "), "role": role, **match.settings})
    levels_by_name = pd.DataFrame(known).astype(str)
    differing = [*levels_by_name.columns[levels_by_name.nunique() > 1]] or ["operation"]
    rows = []
    for levels in known:
        rows.append(", ".join(label_level(name, levels.get(name)) for name in differing))
    return rows


def draw_repetitions(points: pd.DataFrame, *, in_order: bool = False) -> Figure:
    """Draw the repetitions of a run.

    Parameters
    ----------
    points
        As `collect_repetitions` returns them. Values that are not finite are left out, such as a
        share of CPU time in a window shorter than a tick of its clock.
    in_order
        Whether to draw the first row again in the order of repetitions, for warm-up and drift.
    """
    panels, rows = (list(dict.fromkeys(points[name])) for name in ("panel", "row"))
    sides = sorted(set(points["side"]))
    colours = dict(zip(sides, COLOURS, strict=False))
    marks = dict(zip(sides, MARKS, strict=False))
    finite = points[np.isfinite(points["value"])]
    values, printed = finite[finite["source"] == "here"], finite[finite["source"] == "paper"]

    with style.use_style():
        count = len(panels) + in_order
        lines = ceil(count / _MOST_COLUMNS)
        columns = ceil(count / lines)
        height = 0.8 + lines * (0.7 + _ROW_INCHES * max(len(rows), 3 if in_order else 1))
        size = (min(9.5, 2.5 + 2.9 * columns), height)
        figure, grid = plt.subplots(
            lines, columns, figsize=size, squeeze=False, layout="constrained"
        )
        for number, axes in enumerate(grid.flat):
            if number < len(panels):
                measured = values[values["panel"] == panels[number]]
                of_paper = printed[printed["panel"] == panels[number]]
                _draw_panel(axes, measured, of_paper, rows, colours, marks)
                axes.set(title=panels[number], xlabel="", ylabel="")
                axes.tick_params(labelleft=number % columns == 0)
            elif number < count:
                first = values[(values["panel"] == panels[0]) & (values["row"] == rows[0])]
                _draw_in_order(axes, first, colours)
                axes.set(title=f"{rows[0]}, in order", xlabel="repetition")
            else:
                axes.axis("off")
        # The legend's entries are lines without points.
        first_axes = grid[0][0]
        for side in sides:
            label = f"here: {side}, one repetition"
            first_axes.plot([], [], "o", color=colours[side], label=label)
        for side in dict.fromkeys(printed["side"]):
            first_axes.plot(
                [], [], marks[side], mfc="none", mec=style.INK, label=f"the paper: {side}"
            )
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
    # Rows by their numbers, because seaborn leaves out those without values.
    numbered = values.assign(row=values["row"].map(rows.index))
    order = range(len(rows))
    sns.stripplot(
        numbered,
        x="value",
        y="row",
        orient="h",
        order=order,
        hue="side",
        hue_order=list(colours),
        palette=colours,
        dodge=len(colours) > 1,
        size=4.5,
        alpha=0.7,
        legend=False,
        ax=axes,
    )
    axes.set(ylim=(len(rows) - 0.5, -0.5))
    axes.set_yticks(order, rows)
    for point in iterate_rows(printed):
        axes.plot(
            point.value,
            rows.index(point.row),
            marks[point.side],
            mfc="none",
            mec=style.INK,
            ms=8,
            zorder=3,
        )
    # Logarithmic where values differ by several times, else from zero.
    drawn = [*values["value"], *printed["value"]]
    if drawn and min(drawn) > 0 and max(drawn) > 3 * min(drawn):
        set_log_scale(axes, "x", min(drawn) / 1.4, max(drawn) * 1.4, 0.2)
    elif drawn and min(drawn) >= 0:
        axes.set_xlim(0, max(drawn) * 1.1 or 1)


def _draw_in_order(axes: Axes, values: pd.DataFrame, colours: Mapping[str, str]) -> None:
    for side, of_side in values.groupby("side", sort=False):
        numbers = range(1, len(of_side) + 1)
        axes.plot(numbers, of_side["value"], "o-", color=colours[str(side)], ms=3.5, lw=0.7)
    low, high = values["value"].min(), values["value"].max()
    if low > 0:
        set_log_scale(axes, "y", low / 1.2, high * 1.2)
