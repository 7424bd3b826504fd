"""The explorer's figure: the ratio of every block, how the blocks lie on each side, and repetitions in time."""

from math import isfinite, isnan
from typing import Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from benchbook.evidence.comparisons import MARGIN
from benchbook.explorer.contrasts import Answer, Asked, called_factor, called_level, called_measure
from benchbook.plots import style
from benchbook.plots.exhibit import Exhibit
from benchbook.plots.sheet import log_scale, wrapped

_SIDES: Final = (("a", style.VERMILION, "s"), ("b", style.BLUE, "o"))
_MOST: Final = 600
"""Repetitions that are drawn of a side: more are thinned evenly, which the note says."""

_SCALES: Final = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "B": ((1e6, "MB"), (1e3, "kB")),
}


def draw(asked: Asked, answer: Answer, repetitions: dict[str, pd.DataFrame]) -> Exhibit:
    """Draw an answer.

    Parameters
    ----------
    repetitions
        By side, ``a`` and ``b``, as `benchbook.explorer.sources.Source.repetitions` returns them; a side may lack them.

    Returns
    -------
    benchbook.plots.exhibit.Exhibit
        With the blocks' values as its data, to be saved like any other figure.
    """
    words = {name: asked.pair.words(name) for name in ("a", "b")}
    largest = float(answer.points[["a", "b"]].abs().to_numpy().max()) if len(answer.points) else 0.0
    divisor, unit = scale(largest, answer.row.unit)
    notes, thinned = [], {}
    for name, rows in repetitions.items():
        step = -(-len(rows) // _MOST) if len(rows) else 1
        thinned[name] = rows.iloc[::step]
        notes += [f"{words[name]}: every {step}th repetition is drawn"] if step > 1 else []
    with style.applied():
        figure = plt.figure(figsize=(style.layout().width, 4.6), layout="constrained")
        grid = figure.add_gridspec(2, 2, height_ratios=(1, 1.75), width_ratios=(1, 2.1))
        _ratios(figure.add_subplot(grid[0, :]), answer)
        left = figure.add_subplot(grid[1, 0])
        right = figure.add_subplot(grid[1, 1], sharey=left)
        right.tick_params(labelleft=False)
        _blocks(left, answer, words, divisor)
        measure = called_measure(*asked.quantity[1:])
        left.set_ylabel(f"{measure} ({unit})" if unit else measure)
        _in_time(right, thinned, divisor)
        _scaled(left, [answer.points["a"], answer.points["b"], *(rows["value"] for rows in thinned.values())], divisor)
        if engine := figure.get_layout_engine():
            engine.execute(figure)
        figure.set_layout_engine(None)  # once is enough: it would be laid out twice more while it is written
        plt.close(figure)
    factors = "; ".join(f"{called_factor(name)} {called_level(name, level)}" for name, level in asked.factors.items())
    title = f"{asked.comparison.study}: {words['a']} over {words['b']}, {asked.quantity[0]}, {measure}"
    # as everywhere that people read: the first block is block 1
    frame = answer.points.assign(
        block=answer.points["block"] + 1, a_is=words["a"], b_is=words["b"], unit=answer.row.unit
    )
    return Exhibit(title, frame, tuple(filter(None, (factors, *notes))), figure)


def scale(largest: float, unit: str) -> tuple[float, str]:
    """Return what values up to the largest are divided by, and the unit that they then have."""
    return next(((by, name) for by, name in _SCALES.get(unit, ()) if largest >= by), (1.0, unit))


def _ratios(axes: Axes, answer: Answer) -> None:
    """Draw each block's ratio, their mean with its interval, the margin around 1 and the paper's own."""
    points = answer.points
    ratio, low, high, published = (answer.row.ratio, answer.row.low, answer.row.high, answer.row.published_ratio)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_ylim(-1.1, 1.1)
    if isnan(ratio):
        reason = answer.row.reason or "no ratio: a mean is zero or negative"
        axes.text(0.5, 0.5, reason, transform=axes.transAxes, ha="center", color=style.FAINT)
        axes.set_xticks([])
        return
    values = points["ratio"][points["ratio"] > 0].to_numpy()
    ends = [end for end in (low, high) if isfinite(end)]
    shown = [*values, ratio, 1.0, *ends, *([] if isnan(published) else [published])]
    span = max(max(shown) / min(shown), 1.25) ** 0.05
    log_scale(axes, "x", min(shown) / span, max(shown) * span, 8)
    axes.axvspan(1 / MARGIN, MARGIN, color="#f1f1f1", zorder=0)
    axes.axvline(1, color=style.INK, linewidth=0.9)
    campaigns = list(dict.fromkeys(points["campaign"]))
    heights = [-0.75 + 0.5 * (campaigns.index(name) / max(1, len(campaigns) - 1)) for name in points["campaign"]]
    axes.plot(points["ratio"], heights, "o", color=style.FAINT, markersize=4, alpha=0.75, label="a block")
    if ends:
        axes.plot(ends, [0.35, 0.35], color=style.INK, linewidth=2)
    axes.plot(ratio, 0.35, "D", color=style.INK, markersize=7, label="this ratio, 95 % interval")
    if not isnan(published):
        axes.plot(published, 0.35, "o", mec=style.VERMILION, mfc="none", mew=1.6, ms=10, label="the paper's")
    axes.set_title("Ratio, all blocks and each" if len(points) > 1 else "Ratio")
    axes.legend(loc="upper right", bbox_to_anchor=(1, 1.32), ncols=3, handletextpad=0.3, columnspacing=1.2)


def _blocks(axes: Axes, answer: Answer, words: dict[str, str], divisor: float) -> None:
    """Draw each side's block means, and their middle half."""
    random = np.random.default_rng(1)  # where marks lie across says nothing
    for place, (name, colour, marker) in enumerate(_SIDES):
        values = answer.points[name].to_numpy(dtype=float) / divisor
        spread = random.uniform(-0.16, 0.16, len(values))
        axes.plot(place + spread, values, marker, color=colour, markersize=4, alpha=0.7)
        if len(values) > 1:
            low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
            axes.plot([place + 0.3, place + 0.3], [low, high], color=colour, linewidth=3, solid_capstyle="butt")
            axes.plot(place + 0.3, middle, "_", color=colour, markersize=11, markeredgewidth=2)
    labels = ["\n".join(wrapped(words[name], 0.95, 8.5)) for name, _, _ in _SIDES]
    axes.set_xticks([0, 1], labels)
    axes.set_xlim(-0.5, 1.6)
    axes.set_title("Block means")


def _scaled(axes: Axes, values: list["pd.Series[float]"], divisor: float) -> None:
    """Scale what both panels share: logarithmically where values differ by several times."""
    shown = np.concatenate([series.to_numpy(dtype=float) for series in values])
    if shown.size and shown.min() > 0 and shown.max() / shown.min() > 3:
        log_scale(axes, "y", shown.min() / divisor / 1.15, shown.max() / divisor * 1.15, 6)


def _in_time(axes: Axes, repetitions: dict[str, pd.DataFrame], divisor: float) -> None:
    """Draw the repetitions in the order of their time; pauses between blocks are taken out."""
    axes.set_title("Repetitions, in the order of time")
    rows = pd.concat([of_side.assign(side=name) for name, of_side in repetitions.items()], ignore_index=True)
    if rows.empty:
        axes.text(0.5, 0.5, "none kept", transform=axes.transAxes, ha="center", color=style.FAINT)
        axes.set_xticks([])
        return
    blocks = rows.groupby("block")["started_at"].min().sort_values().index
    rank = rows["block"].map({block: place for place, block in enumerate(blocks)})
    inside = rows.groupby("block")["started_at"].rank(method="first", pct=True)
    rows["x"] = rank + 0.06 + 0.88 * inside
    for name, colour, marker in _SIDES:
        of_side = rows[rows["side"] == name]
        axes.plot(of_side["x"], of_side["value"] / divisor, marker, color=colour, markersize=2.5, alpha=0.55, mew=0)
    edges = range(1, len(blocks))
    axes.vlines(edges, 0, 1, transform=axes.get_xaxis_transform(), color="#e4e4e4", linewidth=0.6, zorder=0)
    step = -(-len(blocks) // 10)
    shown = range(0, len(blocks), step)
    axes.set_xticks([place + 0.5 for place in shown], [str(int(blocks[place]) + 1) for place in shown])
    axes.set_xlabel("block")
    axes.grid(visible=False, axis="x")
