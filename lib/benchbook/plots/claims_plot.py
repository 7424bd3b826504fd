"""The sheet of a paper's claims, a row each, and the bars of how many came out how."""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.text import Text

from benchbook.digits import number
from benchbook.evidence.judge import IN_PART, NOT_TESTABLE
from benchbook.plots import style
from benchbook.plots.exhibit import ClaimRow, ClaimSheet, Exhibit
from benchbook.plots.sheet import log_scale, mark, start_sheet, text_height, text_width, tick_gap, wrap
from benchbook.plots.style import Layout
from benchbook.plots.verdicts import LOOKS, UNTRUSTED

CLAIMED: Final = "#e9eef3"
"""The tint of where a claim says that its ratio lies."""

_BAR_INCHES: Final = 0.3
_BARS_SHARE: Final = 0.8  # of a sheet's width
_WIDEST: Final = 300.0
_PUBLISHED: Final = 0.3
_VERDICT: Final = 0.36
"""Where published ratios end and verdicts begin, of the width of their column."""


def draw_claims(exhibit: Exhibit, claims: ClaimSheet, layout: Layout) -> Figure:
    """Draw a row per claim: its sentence, its ratio and interval, the published ratio, and its verdict.

    In one column of a page the sentence stands above the ratio. To be called inside `style.applied`.
    """
    rows, stacked, size = claims.rows, layout.narrow, layout.small
    shares = (0.58, 0.42) if stacked else (0.45, 0.33, 0.22)
    # rows are as high as the longest sentence, or a verdict with two remarks
    room = layout.width - 0.15 if stacked else layout.width * shares[0]
    sentences = [wrap(row.says, room, size) for row in rows]
    longest = max((sentence.count("\n") + 1 for sentence in sentences), default=2)
    row_lines = longest + 1.8 + any(row.products for row in rows) if stacked else max(longest, 3) + 1.0
    line = 1 / row_lines
    height = row_lines * text_height("a line", size) * max(1, len(rows))
    figure = start_sheet(exhibit, layout, _list_handles(rows, layout), height + 0.7)
    if not rows:
        axes = figure.subplots()
        axes.set_axis_off()
        axes.text(0.5, 0.5, claims.nothing, ha="center", va="center", style="italic", color=style.FAINT)
        return figure
    # the columns: y is the number of the row
    *texts, axes, right = figure.subplots(1, len(shares), sharey=True, width_ratios=shares)
    left = texts[0] if texts else axes
    above = (longest + 0.9) * line if stacked else 0.5
    axes.set_ylim(len(rows) - above, -above)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("ratio")
    low, high = _find_limits(rows)
    log_scale(axes, "x", low, high, tick_gap(layout.width * shares[-2], layout))
    axes.grid(visible=not stacked)
    for column in (*texts, right):
        column.set_axis_off()
    heads = ((left, 0.0, "claim", "left"), (right, _PUBLISHED, "published", "right"))
    for column, x, text, side in (*heads, (right, _VERDICT, "verdict here", "left")):
        _write(column, x, -above, text, size, ha=side, va="bottom", color=style.FAINT)
    # the rows
    for y, (row, sentence) in enumerate(zip(rows, sentences, strict=True)):
        if stacked:
            _write(left, 0.0, y - 0.6 * line, sentence, size, va="bottom").set_in_layout(False)
        else:
            _write(left, 0.0, y, sentence, size, va="center")
        _draw_ratio(axes, row, y, line if stacked else 1 - 0.8 * line, (low, high), layout.marks)
        _write_verdict(right, row, y, line, layout)
    return figure


def _list_handles(rows: Sequence[ClaimRow], layout: Layout) -> list[Artist]:
    """Return the legend's entries."""
    handles: list[Artist] = [mark("published", style.Look(style.INK, "o"), layout.marks, filled=False)]
    verdicts = {row.verdict for row in rows}
    handles += [mark(name, look, layout.marks) for name, look in LOOKS.items() if name in verdicts]
    handles.append(Patch(fc=CLAIMED, ec="none", label="where the claim puts it"))
    return handles


def _write(axes: Axes, x: float, y: float, text: str, size: float, **about: Any) -> Text:
    """Write a text in a column, whose width is 1, at the height of a row."""
    return axes.text(x, y, text, fontsize=size, linespacing=1.2, transform=axes.get_yaxis_transform(), **about)


def _write_verdict(axes: Axes, row: ClaimRow, y: float, line: float, layout: Layout) -> None:
    """Write the published ratio, and the verdict above its remarks."""
    # in one column the verdict stays beside the marks, below the sentence
    shift = 0.6 * line if layout.narrow else 0.0
    size = layout.small
    if math.isfinite(row.published):
        _write(axes, _PUBLISHED, y, number(row.published), size, ha="right", va="center", color=style.FAINT)
    remarks = "\n".join(filter(None, (row.products, "" if layout.narrow else row.at)))
    verdict = row.verdict + (UNTRUSTED if row.untrusted else "")
    # sky blue is no ink
    ink = LOOKS["reproduced" if row.verdict == IN_PART else row.verdict].colour
    _write(
        axes,
        _VERDICT,
        y,
        verdict,
        size,
        va="center" if shift or not remarks else "bottom",
        color=ink,
        fontweight="bold",
    )
    _write(axes, _VERDICT, y + shift, remarks, size, va="top", color=style.FAINT)


def _draw_ratio(axes: Axes, row: ClaimRow, y: float, height: float, ends: tuple[float, float], size: float) -> None:
    """Draw where the claim puts the ratio, the ratio here with its interval, and the published one."""
    look, top = LOOKS[row.verdict], y - height / 2
    left, right = np.clip(row.claimed, *ends)
    axes.vlines(1.0, top, top + height, color=style.INK, linewidth=0.9 * size, zorder=1)
    axes.add_patch(Rectangle((left, top), right - left, height, fc=CLAIMED, ec="none", zorder=0.2))
    if math.isfinite(row.published):
        _draw_mark(axes, row.published, y, ends, style.Look(style.INK, "o"), size, filled=False)
    if not math.isnan(row.low):
        about: dict[str, Any] = {"color": look.colour, "solid_capstyle": "butt", "zorder": 3}
        axes.plot(np.clip([row.low, row.high], *ends), [y, y], linewidth=1.6 * size, **about)
    if not math.isnan(row.ratio):
        _draw_mark(axes, row.ratio, y, ends, look, size, filled=True)


def _draw_mark(
    axes: Axes, value: float, y: float, ends: tuple[float, float], look: style.Look, size: float, *, filled: bool
) -> None:
    """Draw a mark, or an arrow at the end of the scale that it lies beyond."""
    shape = look.marker
    if value < ends[0]:
        shape = "<"
    elif value > ends[1]:
        shape = ">"
    axes.plot(
        np.clip(value, *ends), y, shape, color=look.colour, markersize=(5.2 if filled else 8) * size,
        clip_on=False,
        markerfacecolor=look.colour if filled else "none", markeredgewidth=0.8 if filled else 1.1,
        zorder=4 if filled else 3.5,
    )  # fmt: skip


def _find_limits(rows: Sequence[ClaimRow]) -> tuple[float, float]:
    """Return the scale's ends: all estimates and printed ratios, and the intervals as far as they leave those apart."""
    marks = [value for row in rows for value in (row.ratio, row.published, *row.claimed) if 0 < value < math.inf]
    reach = [value for row in rows for value in (row.low, row.high) if 0 < value < math.inf]
    low, high = min([*marks, 1.0]), max([*marks, 1.0])
    low = max(min([low, *reach]), low / 3, 1 / _WIDEST)
    high = min(max([high, *reach]), high * 3, _WIDEST)
    room = max((high / low) ** 0.05, 1.06)
    return low / room, high * room


def draw_bars(exhibit: Exhibit, layout: Layout) -> Figure:
    """Draw how many claims of each study came out how; to be called inside `style.applied`."""
    counts = exhibit.frame.pivot(index="level", columns="series", values="value").fillna(0).astype(int)
    counts = counts.loc[[*dict.fromkeys(exhibit.frame["level"])]]
    colours = {**{name: look.colour for name, look in LOOKS.items()}, NOT_TESTABLE: "#e6e6e6"}
    shown = [name for name in colours if counts[name].any()]
    handles = [Patch(fc=colours[name], ec=style.INK, lw=0.4, label=name) for name in shown]
    figure = start_sheet(exhibit, layout, handles, 0.5 + _BAR_INCHES * len(counts))
    axes = figure.subplots()
    # a bar that is narrower than its number has none: it would lie on its neighbour's
    claims_an_inch = counts.sum(axis=1).max() / (layout.width * _BARS_SHARE)
    least = 1.5 * text_width(["0"], layout.small) * claims_an_inch
    edge: dict[str, Any] = {"edgecolor": style.INK, "linewidth": 0.4, "height": 0.66}
    left = 0 * counts.sum(axis=1)
    for name in shown:
        bars = axes.barh(counts.index, counts[name], left=left, color=colours[name], **edge)
        labels = [str(count) if count >= least else "" for count in counts[name]]
        ink = style.INK if name in (IN_PART, NOT_TESTABLE) else "white"
        axes.bar_label(bars, labels, label_type="center", fontsize=layout.small, color=ink)
        left += counts[name]
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    axes.set_xlabel("claims")
    return figure
