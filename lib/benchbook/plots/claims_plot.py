"""The sheet of a paper's claims, a row each, and the bars of how many have which verdict."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.text import Text

from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.plots import style
from benchbook.plots.claim_lines import ClaimLine, write_line
from benchbook.plots.exhibit import ClaimSheet, Exhibit
from benchbook.plots.sheet import log_scale, mark, start_sheet, text_height, text_width, tick_gap, wrap
from benchbook.plots.style import Layout
from benchbook.plots.verdicts import LOOKS

CLAIMED: Final = "#e9eef3"
"""The tint of where a claim says that its ratio lies."""

_BAR_INCHES: Final = 0.3
_BARS_SHARE: Final = 0.8  # of a sheet's width
_WIDEST: Final = 300.0
_PALE: Final = {"mostly holds": "holds", "not comparable": "undecided", "not run": "undecided"}
"""Verdicts whose colours are too pale for text, with the one whose colour it takes."""


def draw_claims(exhibit: Exhibit, claims: ClaimSheet, layout: Layout) -> Figure:
    """Draw a row per claim: its sentence, its ratio with interval beside the printed one, and its line's other parts.

    In one column of a page the sentence stands above the ratio. To be called inside `style.applied`.
    """
    rows, stacked, size = claims.rows, layout.narrow, layout.small
    shares = (0.54, 0.46) if stacked else (0.42, 0.24, 0.34)
    lines = [write_line(row) for row in rows]
    divided = Counter(line.divided for line in lines)
    axis = divided.most_common(1)[0][0] if divided else ""

    # rows are as high as the longest sentence, or what stands right of the ratio
    width = layout.width - 0.15 if stacked else layout.width * shares[0] - 0.1
    sentences = [
        wrap(line.says if line.divided == axis else f"{line.says}\n{line.divided}", width, size) for line in lines
    ]
    rights = [wrap(_list_parts(line), layout.width * shares[-1] - 0.15, size) for line in lines]
    longest = max((sentence.count("\n") + 1 for sentence in sentences), default=2)
    deepest = max((text.count("\n") + 2 for text in rights), default=2)
    row_lines = longest + deepest + 0.8 if stacked else max(longest, deepest) + 0.8
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
    axes.set_xlabel(wrap(axis, layout.width * shares[-2], layout.rc["axes.labelsize"]))
    ends = find_limits(rows)
    log_scale(axes, "x", *ends, tick_gap(layout.width * shares[-2], layout))
    axes.grid(visible=not stacked)
    for column in (*texts, right):
        column.set_axis_off()

    # the rows
    for y, (row, sentence, parts) in enumerate(zip(rows, sentences, rights, strict=True)):
        if stacked:
            _write(left, 0.0, y - 0.6 * line, sentence, size, va="bottom").set_in_layout(False)
        else:
            _write(left, 0.0, y, sentence, size, va="center")
        _draw_ratio(axes, row, y, line if stacked else 1 - 0.8 * line, ends, layout)
        # in one column the verdict stands beside the marks, below the sentence
        top = y - line / 2 if stacked else y - (parts.count("\n") + 2) * line / 2
        ink = LOOKS[_PALE.get(row.verdict, row.verdict)].colour
        _write(right, 0.03, top, row.verdict, size, va="top", color=ink, fontweight="bold")
        _write(right, 0.03, top + line, parts, size, va="top", color=style.FAINT)
    return figure


def _list_parts(line: ClaimLine) -> str:
    """Return what stands below a verdict: counts, the ratio and the printed one, and in what it was measured."""
    counts = line.counts.rpartition("; ")[2] if line.verdict == "mixed" else line.counts
    size = f"{line.size} than printed" if line.size in ("larger", "smaller") else line.size
    printed = f"printed {line.printed}" if line.printed else ""
    ratio = "; ".join(filter(None, [line.here, printed, size]))
    return "\n".join(filter(None, [counts, ratio, line.measured]))


def _list_handles(rows: Sequence[ClaimVerdict], layout: Layout) -> list[Artist]:
    """Return the legend's entries."""
    handles: list[Artist] = [mark("printed", style.Look(style.INK, "o"), layout.marks, filled=False)]
    verdicts = {row.verdict for row in rows}
    handles += [mark(name, look, layout.marks) for name, look in LOOKS.items() if name in verdicts]
    handles.append(Patch(fc=CLAIMED, ec="none", label="here the claim holds"))
    return handles


def _write(axes: Axes, x: float, y: float, text: str, size: float, **about: Any) -> Text:
    """Write a text in a column, whose width is 1, at the height of a row."""
    return axes.text(x, y, text, fontsize=size, linespacing=1.2, transform=axes.get_yaxis_transform(), **about)


def claimed_range(row: ClaimVerdict) -> tuple[float, float] | None:
    """Return between which ratios a claim has it, 0 and infinity where open; None where it may be either side."""
    least, most = row.than / row.margin, row.than * row.margin
    match row.claimed.partition(" ")[0]:
        case "more" | "last:":
            return most, math.inf
        case "equal":
            return least, most
        case "different":
            return None
    return 0.0, least  # less, or one before others


def _draw_ratio(
    axes: Axes, row: ClaimVerdict, y: float, height: float, ends: tuple[float, float], layout: Layout
) -> None:
    """Draw where the claim puts the ratio, the ratio here with its interval and range, and the published one."""
    if row.kind == "difference":
        _write(axes, 0.5, y, "a difference, not a ratio", layout.small, ha="center", va="center", color=style.FAINT)
        return
    look, top, size = LOOKS[row.verdict], y - height / 2, layout.marks
    axes.vlines(1.0, top, top + height, color=style.INK, linewidth=0.9 * size, zorder=1)
    claimed = claimed_range(row)
    if claimed:
        left, right = np.clip(claimed, *ends)
        axes.add_patch(Rectangle((left, top), right - left, height, fc=CLAIMED, ec="none", zorder=0.2))
    about: dict[str, Any] = {"color": look.colour, "solid_capstyle": "butt", "zorder": 3}
    axes.plot(np.clip([row.smallest, row.largest], *ends), [y, y], linewidth=0.6 * size, **about)
    if math.isfinite(row.published):
        _draw_mark(axes, row.published, y, ends, style.Look(style.INK, "o"), size, filled=False)
    if not math.isnan(row.low):
        axes.plot(np.clip([row.low, row.high], *ends), [y, y], linewidth=2 * size, **about)
    if math.isnan(row.estimate):
        _draw_mark(axes, row.noisy_estimate, y, ends, look, size, filled=False)
    else:
        _draw_mark(axes, row.estimate, y, ends, look, size, filled=True)


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


def find_limits(rows: Sequence[ClaimVerdict]) -> tuple[float, float]:
    """Return the scale's ends: all marks, and intervals and ranges as far as they leave the marks apart."""
    ratios = [row for row in rows if row.kind == "ratio"]
    marks = [
        value
        for row in ratios
        for value in (row.estimate, row.noisy_estimate, row.published, row.than)
        if 0 < value < math.inf
    ]
    reach = [
        value for row in ratios for value in (row.low, row.high, row.smallest, row.largest) if 0 < value < math.inf
    ]
    low, high = min([*marks, 1.0]), max([*marks, 1.0])
    low = max(min([low, *reach]), low / 3, 1 / _WIDEST)
    high = min(max([high, *reach]), high * 3, _WIDEST)
    space = max((high / low) ** 0.05, 1.06)
    return low / space, high * space


def draw_bars(exhibit: Exhibit, layout: Layout) -> Figure:
    """Draw how many claims of each study have which verdict; to be called inside `style.applied`."""
    counts = exhibit.frame.pivot(index="level", columns="series", values="value").fillna(0).astype(int)
    counts = counts.loc[[*dict.fromkeys(exhibit.frame["level"])]]
    shown = [name for name in LOOKS if counts[name].any()]
    handles = [Patch(fc=LOOKS[name].colour, ec=style.INK, lw=0.4, label=name) for name in shown]
    figure = start_sheet(exhibit, layout, handles, 0.5 + _BAR_INCHES * len(counts))
    axes = figure.subplots()
    # a bar that is narrower than its number has none: it would lie on its neighbour's
    claims_an_inch = counts.sum(axis=1).max() / (layout.width * _BARS_SHARE)
    least = 1.5 * text_width(["0"], layout.small) * claims_an_inch
    edge: dict[str, Any] = {"edgecolor": style.INK, "linewidth": 0.4, "height": 0.66}
    left = 0 * counts.sum(axis=1)
    for name in shown:
        bars = axes.barh(counts.index, counts[name], left=left, color=LOOKS[name].colour, **edge)
        labels = [str(count) if count >= least else "" for count in counts[name]]
        ink = style.INK if name in _PALE else "white"
        axes.bar_label(bars, labels, label_type="center", fontsize=layout.small, color=ink)
        left += counts[name]
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    axes.set_xlabel("claims")
    return figure
