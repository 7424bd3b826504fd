"""The verdicts on the papers' claims: a row a claim, its ratio beside the published one, and how many came out how."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, isfinite, isnan, log10
from typing import Any, Final, Self

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.transforms import blended_transform_factory

from benchbook.digits import number, short
from benchbook.evidence import Counts, Evidence, claims
from benchbook.evidence.judge import DECIDED, IN_PART, NOT_TESTABLE
from benchbook.plots import style
from benchbook.plots.exhibit import Exhibit, Maker
from benchbook.plots.points import COLUMNS, FrameRow, each, framed, not_run_of, where
from benchbook.plots.ratios import beside
from benchbook.plots.sheet import mark, name_ticks, settle, sheet, width, wrapped
from benchbook.studies import SLUGS

LOOKS: Final[dict[str, style.Look]] = {
    "reproduced": style.Look(style.BLUE, "o"),
    IN_PART: style.Look(style.SKY, "p"),
    "direction only": style.Look(style.GREEN, "^"),
    "equivalent": style.Look(style.PINK, "D"),
    "contradicted": style.Look(style.VERMILION, "X"),
    "other way": style.Look(style.ORANGE, "v"),
    "inconclusive": style.Look(style.FAINT, "s"),
}
"""How each verdict is marked: colour and shape, either of which tells it apart."""

UNTRUSTED: Final = " †"
CLAIMED: Final = "#e9eef3"
"""The tint of where a claim says that its ratio lies."""

_OF_A_ROW: Final = ("says", "verdict", "wording", "products_judged", "products", "products_missing", "untrusted")
_COLUMNS: Final = [*COLUMNS, "claim", *_OF_A_ROW]
_BAR_INCHES: Final = 0.3
_BARS_SHARE: Final = 0.8  # of a sheet's width
_AXIS_INCHES: Final = 0.42
_LEFT: Final = 0.012  # where sentences begin, of the sheet's width
_WIDEST: Final = 300.0


@dataclass(frozen=True)
class Columns:
    """Where a sheet's columns stand, in shares of its width, and how large their text is."""

    sentence: float  # how wide it may be
    plot: tuple[float, float]  # left end and width of the axes
    published: float  # right end
    verdict: float  # left end
    points: float
    line: float  # inches from a line of text to the next
    gap: float  # inches between claims
    stacked: bool  # whether a claim's sentence stands above its marks

    @classmethod
    def here(cls) -> Self:
        """Return the columns for the layout in which figures are drawn."""
        if style.layout().narrow:
            return cls(0.976, (0.03, 0.49), 0.635, 0.665, 6.5, 0.108, 0.11, True)
        return cls(0.44, (0.47, 0.3), 0.822, 0.836, 7.2, 0.125, 0.085, False)


def sheets(study: str, parts: int = 1) -> dict[str, Maker]:
    """Return the figures of a paper's claims, on so many sheets that each fits a printed page."""
    names = [f"{study}_verdicts{'' if part == 1 else f'_{part}'}" for part in range(1, parts + 1)]
    return {name: partial(claims_sheet, study=study, part=at, parts=parts) for at, name in enumerate(names)}


def claims_sheet(evidence: Evidence, *, study: str, part: int, parts: int) -> Exhibit:
    """Draw one part of a paper's claims, a row each, that have a verdict here."""
    table = where(evidence.outcomes, study=study)
    size = -(-len(table) // parts)
    table = table.iloc[part * size : (part + 1) * size]
    judged = table[table["verdict"] != NOT_TESTABLE]
    than = {claim.id: getattr(claim, "than", 1.0) for claim in claims(study)}
    rows = [_drawn(row, several=judged["lane"].nunique() > 1, than=than[row.id]) for row in each(judged)]
    of_parts = f" (sheet {part + 1} of {parts})" if parts > 1 else ""
    title = f"{study}: {decided_of(table)}{of_parts}"
    ran = study in set(evidence.means["study"])
    nothing = f"{study}: nothing ran that could judge these claims" if ran else "not run in this profile"
    notes = _notes(judged, nothing)
    return Exhibit(title, _points(judged, rows), tuple(notes), draw(rows, title, notes, nothing))


def _notes(judged: pd.DataFrame, nothing: str) -> list[str]:
    if judged.empty:
        return [nothing]
    notes = [
        "ratio of the blocks' geometric means, first named over second, with its repeated 95 % interval, which holds "
        "at all looks together, and wider for the number of contrasts where one contradicts or most suffice",
        "of several contrasts the one that decided; of a ranking the smallest lead, of a bound the value here over it",
        "beyond the tint's edge a difference is larger than the margin fixed beforehand",
    ]
    if any(map(_of_products, each(judged))):
        notes.append("2 of 6 products: judged among those that ran; the table of claims names the others")
    if judged["ratio"].isna().any():
        notes.append("no mark: only a difference could be had, or no interval")
    if judged["untrusted"].any():
        notes.append(f"{UNTRUSTED.strip()} identical arms differed here: untrusted")
    return notes


def _points(judged: pd.DataFrame, rows: "list[DrawnClaim]") -> pd.DataFrame:
    """Return what is drawn: the published ratios, and those of here."""
    points = []
    for row, drawn in zip(each(judged), rows, strict=True):
        about = {name: getattr(row, name) for name in _OF_A_ROW}
        about |= {"level": drawn.says, "claim": row.id, "series": row.verdict}
        points += [about | point for point in beside(row.published, row.ratio, row.low, row.high, row.blocks)]
    return framed(points, unit="ratio").reindex(columns=_COLUMNS)


@dataclass(frozen=True)
class DrawnClaim:
    """One claim as it is drawn; numbers are NaN where there are none."""

    says: str
    claimed: tuple[float, float]  # from where to where the claim says that the ratio lies; 0 and infinity where open
    ratio: float
    low: float
    high: float  # infinity where open
    published: float
    verdict: str  # one of `LOOKS`
    untrusted: bool  # whether identical arms of the study differed
    beneath: tuple[str, ...] = ()  # what stands under the verdict: of how many products it is, and the look

    @property
    def lines(self) -> list[str]:
        """The claim as lines of text."""
        columns = Columns.here()
        return wrapped(self.says, columns.sentence * style.layout().width, columns.points)

    @property
    def head(self) -> float:
        """Inches that its sentence takes above its marks; none where it stands beside them."""
        columns = Columns.here()
        return columns.line * len(self.lines) if columns.stacked else 0.0

    @property
    def height(self) -> float:
        """Inches."""
        columns, beneath = Columns.here(), 1 + len(self.beneath)
        lines = len(self.lines) + beneath if columns.stacked else max(len(self.lines), beneath)
        return columns.gap + columns.line * lines


def _drawn(row: FrameRow, *, several: bool, than: float) -> DrawnClaim:
    about = [*([row.contrast] if row.contrasts > 1 and row.contrast else []), *([row.lane] if several else [])]
    says = str(row.says).rstrip(".") + (f" ({', '.join(about)})" if about else "")
    claimed = open_ended(row.claimed, row.margin, than)
    at = f"look {row.look}, {row.blocks} blocks" if row.verdict in DECIDED else f"after {row.blocks} blocks"
    beneath = tuple(filter(None, (_of_products(row), "" if Columns.here().stacked else at)))
    numbers = (row.ratio, row.low, row.high, row.published)
    return DrawnClaim(says, claimed, *numbers, row.verdict, bool(row.untrusted), beneath)


def _of_products(row: FrameRow) -> str:
    """Return of how many products a verdict is, where some are missing."""
    return f"{row.products_judged} of {row.products} products" if row.products_judged < row.products else ""


def draw(rows: Sequence[DrawnClaim], title: str, notes: Sequence[str], nothing: str) -> Figure:
    """Return a sheet with a row a claim; when there is none, what is then said stands in the middle."""
    height = sum(row.height for row in rows) or 0.5
    with style.applied():
        handles: list[Artist] = [mark("published", style.Look(style.INK, "o"), filled=False)]
        handles += [mark(name, look) for name, look in LOOKS.items() if any(row.verdict == name for row in rows)]
        handles.append(Patch(fc=CLAIMED, ec="none", label="where the claim puts it"))
        figure = sheet(title, notes, handles, height + _AXIS_INCHES + 0.16)
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
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        name_ticks(axes.xaxis, ticks(low, high, Columns.here().plot[1] * style.layout().width))
        axes.grid(visible=not Columns.here().stacked)
        axes.set_xlabel("ratio")
    return figure


def _axes(figure: Figure, height: float) -> Axes:
    """Return axes whose y is inches from the top, with room at both sides for text."""
    engine: Any = figure.get_layout_engine()
    foot = engine.get()["rect"][1]
    # "none" is an engine, too: the figure would be drawn once more before each saving.
    figure.set_layout_engine(None)
    total = figure.get_figheight()
    bottom = round(foot + _AXIS_INCHES / total, 5)
    left, wide = Columns.here().plot
    axes = figure.add_axes((left, bottom, wide, round(height / total, 5)))
    axes.set_ylim(height, 0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    return axes


def _row(axes: Axes, row: DrawnClaim, top: float, ends: tuple[float, float]) -> None:
    columns, look, size = Columns.here(), LOOKS[row.verdict], style.layout().marks
    first = top + (columns.gap / 2 + row.head if columns.stacked else 0)  # where its marks may begin
    room = top + row.height - first - (columns.gap / 2 if columns.stacked else 0)
    middle = first + room / 2
    beside = blended_transform_factory(axes.figure.transFigure, axes.transData)
    left, right = (min(max(end, ends[0]), ends[1]) for end in row.claimed)
    axes.vlines(1.0, first, first + room, color=style.INK, linewidth=0.9 * size, zorder=1)
    axes.add_patch(Rectangle((left, first + 0.015), right - left, room - 0.03, fc=CLAIMED, ec="none", zorder=0.2))
    written: dict[str, Any] = {"transform": beside, "va": "center", "fontsize": columns.points}
    sentence = top + columns.gap / 2 + row.head / 2 if columns.stacked else middle
    axes.text(_LEFT, sentence, "\n".join(row.lines), linespacing=1.2, **written)
    if isfinite(row.published):
        axes.text(columns.published, middle, number(row.published), ha="right", color=style.FAINT, **written)
        _point(axes, row.published, middle, ends, style.Look(style.INK, "o"), filled=False)
    first = middle - columns.line / 2 * len(row.beneath)
    verdict = row.verdict + (UNTRUSTED if row.untrusted else "")
    ink = LOOKS["reproduced"].colour if row.verdict == IN_PART else look.colour  # sky blue is no ink
    axes.text(columns.verdict, first, verdict, color=ink, fontweight="bold", **written)
    for line, text in enumerate(row.beneath, 1):
        axes.text(columns.verdict, first + columns.line * line, text, color=style.FAINT, **written)
    if not isnan(row.low):
        low, high = (min(max(end, ends[0]), ends[1]) for end in (row.low, row.high))
        axes.plot(
            [low, high], [middle, middle], color=look.colour, linewidth=1.6 * size, solid_capstyle="butt", zorder=3
        )
    if not isnan(row.ratio):
        _point(axes, row.ratio, middle, ends, look, filled=True)


def _point(axes: Axes, value: float, y: float, ends: tuple[float, float], look: style.Look, *, filled: bool) -> None:
    """Draw a mark, or an arrow at the end of the scale that it lies beyond."""
    shape = look.marker
    if value < ends[0]:
        shape = "<"
    elif value > ends[1]:
        shape = ">"
    size = style.layout().marks
    axes.plot(
        min(max(value, ends[0]), ends[1]), y, shape, color=look.colour, markersize=(5.2 if filled else 8) * size,
        clip_on=False,
        markerfacecolor=look.colour if filled else "none", markeredgewidth=0.8 if filled else 1.1,
        zorder=4 if filled else 3.5,
    )  # fmt: skip


def _limits(rows: Sequence[DrawnClaim]) -> tuple[float, float]:
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
    columns = Columns.here()
    heads = ((_LEFT, "claim", "left"), (columns.published, "published", "right"))
    for x, text, side in (*heads, (columns.verdict, "verdict here", "left")):
        axes.text(x, -0.09, text, transform=beside, ha=side, va="center", fontsize=columns.points, color=style.FAINT)


def ticks(low: float, high: float, inches: float = 2.2) -> list[float]:
    """Return ticks of a logarithmic axis around 1, round ones first, whose names have room on so many inches of it."""
    points = style.layout().rc["xtick.labelsize"]
    wanted = [
        digit * 10.0**power for digit in (1, 2, 5, 3, 1.5, 1.2, 1.1, 7, 8, 9) for power in (0, -1, 1, -2, 2, -3, 3)
    ]
    kept: list[float] = []
    for tick in wanted:
        name = width(short(tick), points)
        needed = ((other, max(0.22, 0.6 * (name + width(short(other), points)))) for other in kept)
        apart = all(abs(log10(tick / other)) > room / inches * log10(high / low) for other, room in needed)
        kept += [tick] if low <= tick <= high and apart else []
    return sorted(kept)


def open_ended(claimed: str, margin: float, than: float = 1.0) -> tuple[float, float]:
    """Return from where to where a claim puts its ratio."""
    sides = {"more": (than * margin, inf), "less": (0.0, than / margin), "equal": (1 / margin, margin)}
    bounds = {"above": sides["more"], "below": sides["less"], "between": sides["equal"]}
    neither = {"different": (inf, inf)}  # more or less, and so no one place
    word = claimed.partition(" ")[0]
    return {**sides, **bounds, **neither}.get(word, (margin, inf))  # a ranking's smallest lead


def counts(evidence: Evidence) -> Exhibit:
    """Draw how many claims of each paper came out how."""
    tally = tallied(evidence.outcomes)
    title = decided_of(evidence.outcomes)
    first = "where several implementations or hosts judged a claim the first counts, the paper's own before others"
    notes = [*not_run_of(evidence), first]
    counted = ((study, name, count) for study, row in tally.iterrows() for name, count in row.items())
    bars = ({"level": study, "series": name, "value": count} for study, name, count in counted)
    points = framed(bars, source="here", unit="claims")
    return Exhibit(title, points, tuple(notes), _bars(tally, title, notes))


def decided_of(outcomes: pd.DataFrame) -> str:
    """Return how many of some claims were decided here, and how many are open."""
    counts = Counts.of(outcomes)
    few = f" ({counts.of_sittings})" if counts.of_sittings else ""
    return f"{counts.decided} of {counts.claims} claims decided here{few}, {counts.testable - counts.decided} open"


def tallied(table: pd.DataFrame) -> pd.DataFrame:
    """Return how many claims of each study have each verdict: a row a study, a column a verdict."""
    return pd.DataFrame({study: Counts.of(where(table, study=study)).by_verdict for study in SLUGS}).T


def _bars(tally: pd.DataFrame, title: str, notes: list[str]) -> Figure:
    looks = {**{name: look.colour for name, look in LOOKS.items()}, NOT_TESTABLE: "#e6e6e6"}
    with style.applied():
        handles = [Patch(fc=looks[name], ec=style.INK, lw=0.4, label=name) for name in looks if tally[name].any()]
        figure = sheet(title, notes, handles, 0.5 + _BAR_INCHES * len(SLUGS))
        axes = figure.subplots()
        left = pd.Series(0, index=tally.index)
        # a bar that is narrower than its number has none: it would lie on its neighbour's
        claims_an_inch = tally.sum(axis=1).max() / (style.layout().width * _BARS_SHARE)
        least = max(1, width("0", style.layout().small) * claims_an_inch)
        for name, colour in looks.items():
            bars = axes.barh(
                tally.index, tally[name], left=left, color=colour, edgecolor=style.INK, linewidth=0.4, height=0.66
            )
            labels = [str(count) if count >= least else "" for count in tally[name]]
            ink = style.INK if name in (IN_PART, NOT_TESTABLE) else "white"
            axes.bar_label(bars, labels, label_type="center", fontsize=style.layout().small, color=ink)
            left = left + tally[name]
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False)
        axes.set_xlabel("claims")
        settle(figure)
    return figure
