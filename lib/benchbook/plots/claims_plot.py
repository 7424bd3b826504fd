"""Claims plots: the sheet of a paper's claims, one row each, and bars with counts of verdicts.

A sheet has three columns: the claim's sentence, its ratio, and its verdict with the numbers. In
one column of a page the sentence is above the ratio.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.text import Text

from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.plots import style
from benchbook.plots.claim_lines import VERDICT_STYLES, write_line
from benchbook.plots.exhibit import ClaimSheet, Exhibit
from benchbook.plots.sheet import (
    compute_tick_gap,
    estimate_height,
    estimate_width,
    make_legend_mark,
    set_log_scale,
    start_sheet,
    wrap_text,
)
from benchbook.plots.style import Layout

CLAIMED_COLOUR: Final = "#e9eef3"
"""The tint of the ratios for which the claim holds."""

_WIDEST: Final = 300.0  # the largest ratio of a scale, and the inverse of the smallest
_PALE_VERDICTS: Final = {
    "mostly holds": "holds",
    "not comparable": "undecided",
    "not run": "undecided",
}
"""Verdicts whose colours are too pale for text, with the verdict whose colour their text has."""


@dataclass(frozen=True)
class _RowTexts:
    """The texts of all rows, in lines, and how many lines a row is high."""

    sentences: list[str]  # left
    numbers: list[str]  # right, below the verdicts
    axis: str  # what most rows divide
    shares: tuple[float, ...]  # of the columns in the sheet's width
    most_lines: int  # of a sentence
    row_lines: float


def draw_claims(exhibit: Exhibit, claims: ClaimSheet, layout: Layout) -> Figure:
    """Draw a row per claim: its sentence, its ratio with the printed one, its verdict and numbers.

    Call it inside `style.use_style`.
    """
    # The sheet, as high as its rows.
    rows = claims.rows
    texts = _write_rows(rows, layout)
    height = texts.row_lines * estimate_height("a line", layout.small) * max(1, len(rows))
    figure = start_sheet(exhibit, layout, _list_handles(rows, layout), height + 0.7)
    if not rows:
        axes = figure.subplots()
        axes.set_axis_off()
        axes.text(
            0.5, 0.5, claims.nothing, ha="center", va="center", style="italic", color=style.FAINT
        )
        return figure

    # Three columns: sentences, ratios on one scale, verdicts.
    limits = find_limits(rows)
    left, axes, right = _start_columns(figure, texts, len(rows), limits, layout)
    for y in range(len(rows)):
        _draw_row(left, axes, right, texts, y, rows[y], limits, layout)
    return figure


def _write_rows(rows: Sequence[ClaimVerdict], layout: Layout) -> _RowTexts:
    """Return the texts of all rows, wrapped to their columns."""
    shares = (0.54, 0.46) if layout.narrow else (0.42, 0.24, 0.34)
    width = layout.width - 0.15 if layout.narrow else layout.width * shares[0] - 0.1
    lines = [write_line(row) for row in rows]
    # The axis has ratios, and says what most of them divide.
    ratios = [
        line.divided for row, line in zip(rows, lines, strict=True) if row.kind != "difference"
    ]
    axis = Counter(ratios).most_common(1)[0][0] if ratios else ""
    sentences, numbers = [], []
    for line in lines:
        sentence = line.says if line.divided == axis else f"{line.says}\n{line.divided}"
        sentences.append(wrap_text(sentence, width, layout.small))
        # Below a verdict: its counts, the ratio and the printed one, the blocks.
        counts = line.counts.rpartition("; ")[2] if line.verdict == "mixed" else line.counts
        ratio = "; ".join(filter(None, [line.here, line.paper, line.size]))
        below = "\n".join(filter(None, [counts, ratio, line.measured]))
        numbers.append(wrap_text(below, layout.width * shares[-1] - 0.15, layout.small))

    # A row is as high as the longest texts; the verdict has a line of its own.
    most_lines = max((sentence.count("\n") + 1 for sentence in sentences), default=2)
    most_numbers = max((text.count("\n") + 2 for text in numbers), default=2)
    tallest = max(most_lines, most_numbers)
    if layout.narrow:
        tallest = most_lines + most_numbers
    return _RowTexts(sentences, numbers, axis, shares, most_lines, tallest + 0.8)


def _start_columns(
    figure: Figure,
    texts: _RowTexts,
    count: int,
    limits: tuple[float, float],
    layout: Layout,
) -> tuple[Axes, Axes, Axes]:
    """Return the columns of sentences, ratios and verdicts; y is the number of the row."""
    columns = figure.subplots(1, len(texts.shares), sharey=True, width_ratios=texts.shares)
    left, axes, right = columns[0], columns[-2], columns[-1]
    above = (texts.most_lines + 0.9) * (1 / texts.row_lines) if layout.narrow else 0.5
    axes.set_ylim(count - above, -above)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    inches = layout.width * texts.shares[-2]
    axes.set_xlabel(wrap_text(texts.axis, inches - 0.15, layout.rc["axes.labelsize"]))
    set_log_scale(axes, "x", *limits, compute_tick_gap(inches, layout))
    axes.grid(visible=not layout.narrow)
    right.set_axis_off()
    if left is not axes:
        left.set_axis_off()
    return left, axes, right


def _draw_row(
    left: Axes,
    axes: Axes,
    right: Axes,
    texts: _RowTexts,
    y: int,
    row: ClaimVerdict,
    limits: tuple[float, float],
    layout: Layout,
) -> None:
    sentence, numbers, size = texts.sentences[y], texts.numbers[y], layout.small
    line = 1 / texts.row_lines
    if layout.narrow:
        # The verdict is beside the marks, below the sentence.
        _write_text(left, 0.0, y - 0.6 * line, sentence, size, va="bottom").set_in_layout(False)
        height, top = line, y - line / 2
    else:
        _write_text(left, 0.0, y, sentence, size, va="center")
        height, top = 1 - 0.8 * line, y - (numbers.count("\n") + 2) * line / 2
    _draw_ratio(axes, row, y, height, limits, layout)
    ink = VERDICT_STYLES[_PALE_VERDICTS.get(row.verdict, row.verdict)].colour
    _write_text(right, 0.03, top, row.verdict, size, va="top", color=ink, fontweight="bold")
    _write_text(right, 0.03, top + line, numbers, size, va="top", color=style.FAINT)


def _list_handles(rows: Sequence[ClaimVerdict], layout: Layout) -> list[Artist]:
    paper = style.SeriesStyle(style.INK, "o")
    name = "from the paper's numbers"
    handles: list[Artist] = [make_legend_mark(name, paper, layout.marks, filled=False)]
    verdicts = {row.verdict for row in rows}
    for name, look in VERDICT_STYLES.items():
        if name in verdicts:
            handles.append(make_legend_mark(name, look, layout.marks))
    handles.append(Patch(fc=CLAIMED_COLOUR, ec="none", label="here the claim holds"))
    return handles


def _write_text(axes: Axes, x: float, y: float, text: str, size: float, **about: Any) -> Text:
    """Write a text in a column, whose width is 1, at the height of a row."""
    return axes.text(
        x, y, text, fontsize=size, linespacing=1.2, transform=axes.get_yaxis_transform(), **about
    )


def find_claimed_range(row: ClaimVerdict) -> tuple[float, float] | None:
    """Return the ratios for which a claim holds, from and to; None where it claims no direction.

    An end that is open is 0 or infinity.
    """
    least, most = row.than / row.margin, row.than * row.margin
    match row.claimed.partition(" ")[0]:
        case "more" | "last:":
            return most, math.inf
        case "equal":
            return least, most
        case "different":
            return None
    # "less", or one before others
    return 0.0, least


def _draw_ratio(
    axes: Axes,
    row: ClaimVerdict,
    y: float,
    height: float,
    limits: tuple[float, float],
    layout: Layout,
) -> None:
    """Draw the claimed ratios, the measured one with interval and range, and the printed one."""
    if row.kind == "difference":
        _write_text(
            axes,
            0.5,
            y,
            "a difference, not a ratio",
            layout.small,
            ha="center",
            va="center",
            color=style.FAINT,
        )
        return
    look, top, size = VERDICT_STYLES[row.verdict], y - height / 2, layout.marks
    axes.vlines(1.0, top, top + height, color=style.INK, linewidth=0.9 * size, zorder=1)
    # The ratios for which the claim holds.
    claimed = find_claimed_range(row)
    if claimed:
        left, right = np.clip(claimed, *limits)
        axes.add_patch(
            Rectangle((left, top), right - left, height, fc=CLAIMED_COLOUR, ec="none", zorder=0.2)
        )
    # The range over all comparisons, the printed ratio, and the measured one on top.
    bar: dict[str, Any] = {"color": look.colour, "solid_capstyle": "butt", "zorder": 3}
    axes.plot(np.clip([row.smallest, row.largest], *limits), [y, y], linewidth=0.6 * size, **bar)
    if math.isfinite(row.published):
        printed = style.SeriesStyle(style.INK, "o")
        _draw_mark(axes, row.published, y, limits, printed, size, filled=False)
    if not math.isnan(row.low):
        axes.plot(np.clip([row.low, row.high], *limits), [y, y], linewidth=2 * size, **bar)
    if math.isnan(row.estimate):
        _draw_mark(axes, row.noisy_estimate, y, limits, look, size, filled=False)
    else:
        _draw_mark(axes, row.estimate, y, limits, look, size, filled=True)


def _draw_mark(
    axes: Axes,
    value: float,
    y: float,
    limits: tuple[float, float],
    look: style.SeriesStyle,
    size: float,
    *,
    filled: bool,
) -> None:
    """Draw a mark, or an arrow at the end of the scale that it lies beyond."""
    shape = look.marker
    if value < limits[0]:
        shape = "<"
    elif value > limits[1]:
        shape = ">"
    axes.plot(
        np.clip(value, *limits),
        y,
        shape,
        clip_on=False,
        color=look.colour,
        markersize=(5.2 if filled else 8) * size,
        markerfacecolor=look.colour if filled else "none",
        markeredgewidth=0.8 if filled else 1.1,
        zorder=4 if filled else 3.5,
    )


def find_limits(rows: Sequence[ClaimVerdict]) -> tuple[float, float]:
    """Return the ends of the scale: all marks, and intervals up to three times as far."""
    marks, ends = [1.0], []
    for row in rows:
        if row.kind == "ratio":
            marks += _list_finite(row.estimate, row.noisy_estimate, row.published, row.than)
            ends += _list_finite(row.low, row.high, row.smallest, row.largest)
    low, high = min(marks), max(marks)
    low = max(min([low, *ends]), low / 3, 1 / _WIDEST)
    high = min(max([high, *ends]), high * 3, _WIDEST)
    space = max((high / low) ** 0.05, 1.06)
    return low / space, high * space


def _list_finite(*ratios: float) -> list[float]:
    return [ratio for ratio in ratios if 0 < ratio < math.inf]


def draw_bars(exhibit: Exhibit, layout: Layout) -> Figure:
    """Draw how many claims of each study have which verdict; call it inside `style.use_style`."""
    counts = exhibit.frame.pivot(index="level", columns="series", values="value")
    counts = counts.fillna(0).astype(int).loc[[*dict.fromkeys(exhibit.frame["level"])]]
    colours = {name: look.colour for name, look in VERDICT_STYLES.items() if counts[name].any()}
    handles = [Patch(fc=fill, ec=style.INK, lw=0.4, label=name) for name, fill in colours.items()]
    figure = start_sheet(exhibit, layout, handles, 0.5 + 0.3 * len(counts))
    axes = figure.subplots()
    # A bar that is narrower than its number has none: the number would cover the next one. The
    # longest bar takes four fifths of the sheet.
    claims_an_inch = counts.sum(axis=1).max() / (layout.width * 0.8)
    least = 1.5 * estimate_width(["0"], layout.small) * claims_an_inch
    left = 0 * counts.sum(axis=1)
    for name, colour in colours.items():
        bars = axes.barh(
            counts.index,
            counts[name],
            left=left,
            height=0.66,
            color=colour,
            edgecolor=style.INK,
            linewidth=0.4,
        )
        labels = [str(count) if count >= least else "" for count in counts[name]]
        ink = style.INK if name in _PALE_VERDICTS else "white"
        axes.bar_label(bars, labels, label_type="center", fontsize=layout.small, color=ink)
        left += counts[name]
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    axes.set_xlabel("claims")
    return figure
