"""Ratio plots: comparisons as dots, the paper's hollow, this machine's with 99 % intervals.

A `RatioFigure` draws one study's comparisons of one kind. `draw_overview` has the headlines of all
studies, `draw_own_cells` a user's own cells.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, isnan, nan
from typing import Any, Final, TypeAlias

import pandas as pd

from benchbook.analysis.claim_files import find_paper_language
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.configurations import build_settings_frame
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.analysis.runs import Analysis
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.plots import labels
from benchbook.plots.exhibit import NOISY, NOT_RUN, Dots, Exhibit
from benchbook.plots.points import (
    FrameRow,
    Levels,
    choose_levels_by_language,
    describe_blocks,
    describe_missing,
    describe_missing_studies,
    frame_points,
    iterate_rows,
    join_points,
    select_rows,
)
from benchbook.registry.products import name_database, name_level
from benchbook.text import names
from benchbook.text.names import name_metric, sort_databases, write_settings
from benchbook.text.number_format import format_comparison

ComparisonIndex: TypeAlias = dict[tuple[Any, ...], FrameRow]
"""Comparisons by the language and the levels of some factors."""

RATIO_METRICS: Final = (
    *("wall_time", "elapsed_time", "cpu_time", "size", "bandwidth", "bytes_received"),
    *("card_bytes_sent", "card_bytes_received", "cpu_percent", "cpu_user_percent"),
    *("cpu_system_percent", "memory_percent", "memory_rss_mb"),
)
"""Metrics whose ratios are drawn. The ratio of times per item is that of the times."""


def name_a_over_b(row: FrameRow) -> str:
    """Return the two levels that a comparison divides: ``XML / JSON``."""
    return f"{row.a} / {row.b}"


def describe_n(row: FrameRow) -> str:
    """Return a comparison's number of records, objects or books: ``n = 1,000``."""
    return f"n = {int(row.n):,}"


def describe_quantity(row: FrameRow) -> str:
    """Return the metric that is compared, and its role."""
    return f"{name_metric(row.metric)}, {row.role}"


def write_estimate(row: FrameRow | None) -> str:
    """Return a comparison's ratio or difference with its interval, or that it did not run."""
    if row is None:
        return NOT_RUN
    return format_comparison(row.kind, row.estimate, row.low, row.high, row.unit)


@dataclass(frozen=True)
class RatioFigure:
    """A figure of one study's comparisons of one kind; call it with the analysis to draw it."""

    study: str
    name: str  # of the paper's comparison
    title: str
    row: Callable[[FrameRow], str]  # names the row of a comparison, as `panel` and `series` do
    levels: Levels  # of factors that are not shown
    axis: str = "XML / JSON"
    # Levels that one language prefers, by its name in print.
    language_levels: Mapping[str, Levels] = field(default_factory=dict)
    panel: Callable[[FrameRow], str] = describe_n
    series: Callable[[FrameRow], str] = lambda row: ""
    operations: tuple[str, ...] = ()  # all when empty
    # The level that all others are divided by; comparisons as they are when empty.
    base: str = ""
    panels: tuple[str, ...] = ()  # their order; the comparisons' when empty
    most_columns: int = 4
    # A factor of `levels` that is shown: comparisons that ran at several of its levels.
    factor: str = ""
    one_n: bool = False  # whether only the largest n is drawn that most rows have

    def __call__(self, analysis: Analysis) -> Exhibit:
        """Return the figure, with the published ratios that the comparisons have."""
        rows, notes = self._choose_rows(analysis)
        title, axis = self.title, self.axis
        if self.one_n and rows:
            title += f", {describe_n(rows[0])}"
        points = self._make_points(analysis, rows)
        notes = [*_write_notes(points), *notes]

        # A series that all points share is named at the axis.
        series = set(points["series"])
        if len(series) == 1 and series != {""}:
            (shared,) = series
            points = points.assign(series="")
            axis = shared if "/" in shared else axis

        # The panels in their order, on as few lines as their columns allow.
        present = list(dict.fromkeys(points["panel"]))
        panels = [panel for panel in self.panels if panel in present]
        panels = panels or _sort_rows(present) or [""]
        lines = ceil(len(panels) / self.most_columns)
        columns = ceil(len(panels) / lines)
        levels = _sort_rows(list(dict.fromkeys(points["level"])))
        drawing = Dots(axis, levels, panels, reference=1.0, columns=columns)
        return Exhibit(title, points, tuple(notes), drawing)

    def _choose_rows(self, analysis: Analysis) -> tuple[list[FrameRow], list[str]]:
        """Return the comparisons that are drawn, in their order, and notes on their levels."""
        compared = [
            row
            for row in analysis.tables
            if row.study == self.study and row.name == self.name and row.kind == "ratio"
        ]
        table = select_rows(frame_comparisons(compared), metric=RATIO_METRICS)
        if self.operations:
            table = select_rows(table, operation=self.operations)
        table = table[(table["operation"] != "marshal") | (table["metric"] != "wall_time")]

        # Of a factor that is shown, only cells that ran at several levels.
        if self.factor:
            table = _keep_several_levels(table[table["estimate"].notna()], self.factor)

        # One level of each factor that is not shown.
        levels = {factor: level for factor, level in self.levels.items() if factor != self.factor}
        by_language, notes = choose_levels_by_language(table, levels, self.language_levels)
        chosen = pd.concat(by_language.values())

        # The paper's large record set, with more attributes, comes before the small one.
        order = [name for name in ("case", "attributes", "model", "n") if name in chosen]
        ascending = [name != "attributes" for name in order]
        chosen = chosen.sort_values(order, kind="stable", ascending=ascending)
        chosen = chosen[chosen["estimate"].notna()]

        rows = [*iterate_rows(chosen)]
        if self.base:
            rows = [_divide_by(row, self.base) for row in rows if self.base in (row.a, row.b)]
        return keep_one_n(rows, notes) if self.one_n else (rows, notes)

    def _make_points(self, analysis: Analysis, rows: Sequence[FrameRow]) -> pd.DataFrame:
        by_database = labels.list_caveats(select_rows(analysis.means, study=self.study))
        caveats = {name_database(name): text for name, text in by_database.items()}
        # The paper's ratio stands once in a row, in its own language where that ran.
        own = find_paper_language(self.study)
        own_ran = any(row.language == own for row in rows)
        parts = []
        for row in rows:
            if own_ran and row.language != own:
                row = row._replace(published=nan)
            of_cell = name_database(str(row.settings.get("database")))
            databases = dict.fromkeys((row.a, row.b, of_cell))
            caveat = "; ".join(caveats[name] for name in databases if name in caveats)
            parts.append(
                make_ratio_points(row, self.row(row), self.panel(row), self.series(row), caveat)
            )
        points = join_points(*parts)
        repeats = points.duplicated(["panel", "level", "source", "value"])
        kept = points[~repeats | points["source"].ne("published")]
        return kept.reset_index(drop=True)


def _keep_several_levels(compared: pd.DataFrame, factor: str) -> pd.DataFrame:
    """Return the comparisons of cells that ran at several levels of a factor."""
    if factor not in compared:
        return compared[:0]
    # Cells that are alike in all settings but the factor.
    alike = sorted({"a", "b"}.union(*compared["settings"]) - {factor, "repetitions"})
    levels = compared.groupby(alike, dropna=False)[factor].transform("nunique")
    return compared[levels > 1]


def draw_own_cells(comparisons: Iterable[Comparison], study: str) -> Exhibit:
    """Draw comparisons of a study's cells that are in no profile; only times if there are any."""
    ratios = [row for row in comparisons if row.kind == "ratio" and not isnan(row.estimate)]
    rows = [row for row in ratios if row.metric in RATIO_METRICS]
    times = [row for row in rows if row.metric in ("wall_time", "elapsed_time")]
    rows = times or rows

    # Levels that all rows share are in a note.
    levels, shared = list_own_levels(rows)
    parts = []
    for row, of_row in zip(rows, levels, strict=True):
        label = ", ".join([row.operation.replace("_", " "), *of_row])
        points = make_ratio_points(row, label, name_a_over_b(row))
        if row.noisy:
            points["source"] = points["source"].replace("here", NOISY)
        parts.append(points)
    points = join_points(*parts)
    notes = _write_notes(points)
    if shared:
        notes.append(f"all: {', '.join(shared)}")
    places, panels = (list(dict.fromkeys(points[name])) for name in ("level", "panel"))
    drawing = Dots("first / second (log scale)", places, panels or [""], reference=1.0)
    return Exhibit(f"{study}: cells of your own", points, tuple(notes), drawing)


def list_own_levels(rows: Sequence[Comparison]) -> tuple[list[list[str]], list[str]]:
    """Return the levels of each comparison of a user's own cells, and those that all share.

    A file comes first. Shared levels are left out of the single comparisons.
    """
    levels = []
    for row in rows:
        words = [row.settings.get("dataset_file"), *row.label.split(", ")]
        levels.append([str(word) for word in words if word])
    shared: list[str] = []
    if levels:
        shared = [level for level in levels[0] if all(level in others for others in levels)]
    return [[level for level in of_row if level not in shared] for of_row in levels], shared


def frame_comparisons(rows: Iterable[Comparison]) -> pd.DataFrame:
    """Return comparisons as a frame, with a column for each of their settings, too."""
    table = Comparison.to_frame(rows)
    settings = build_settings_frame(table["settings"]).set_axis(table.index)
    return table.join(settings.drop(columns=[name for name in settings if name in table]))


def index_comparisons(
    rows: Iterable[Comparison],
    factors: Sequence[str],
    preferred: Levels,
    by_language: Mapping[str, Levels] | None = None,
) -> tuple[ComparisonIndex, list[str]]:
    """Return comparisons by language and levels of some factors, and notes on other levels."""
    tables, notes = choose_levels_by_language(frame_comparisons(rows), preferred, by_language)
    index: ComparisonIndex = {}
    for language, table in tables.items():
        for row in iterate_rows(table):
            levels = [getattr(row, name) for name in factors]
            index[(language, *levels)] = row
    return index, notes


def describe_languages(compared: ComparisonIndex, languages: Iterable[str]) -> list[str]:
    """Return notes with the number of blocks, and the languages that did not run."""
    notes = []
    if compared:
        notes.append(describe_blocks([row.blocks for row in compared.values()]))
    ran = {language for language, *_ in compared}
    for language in languages:
        if language not in ran:
            notes += describe_missing([language])
    return notes


def keep_one_n(rows: list[FrameRow], notes: list[str]) -> tuple[list[FrameRow], list[str]]:
    """Return the rows of the largest n that most have, and the notes with that n."""
    if not rows:
        return rows, notes
    counts = Counter(row.n for row in rows)
    n = max(counts, key=lambda size: (counts[size], size))
    remark = "; the other n are in the table of comparisons" if len(counts) > 1 else ""
    return [row for row in rows if row.n == n], [*notes, f"all at n = {int(n):,}{remark}"]


def make_ratio_points(
    row: FrameRow, level: str, panel: str = "", series: str = "", caveat: str = ""
) -> pd.DataFrame:
    """Return the points of a comparison or claim: the paper's ratio, and this machine's."""
    return frame_points(
        list_marks(row), unit="ratio", panel=panel, level=level, series=series, caveat=caveat
    )


def list_marks(row: FrameRow) -> list[dict[str, object]]:
    """Return the paper's ratio of a comparison or claim, where it has one, and this machine's."""
    here = {
        "source": "here",
        "value": row.estimate,
        "low": row.low,
        "high": row.high,
        "blocks": row.blocks,
    }
    if isnan(row.published):
        return [here]
    return [{"source": "published", "value": row.published}, here]


def _divide_by(row: FrameRow, base: str) -> FrameRow:
    """Return a comparison whose b is the base; as it is where the base is not its a."""
    if row.a != base:
        return row
    return row._replace(
        a=row.b,
        b=row.a,
        estimate=1 / row.estimate,
        low=1 / row.high,
        high=1 / row.low,
        published=1 / row.published,
    )


def _write_notes(points: pd.DataFrame) -> list[str]:
    measured = points[points["source"] != "published"]
    if measured.empty:
        return ["not run in this profile"]
    return [
        "right of 1: the first takes more",
        describe_blocks(measured["blocks"]),
        *sorted(set(measured["caveat"]) - {""}),
    ]


def _sort_rows(rows: list[str]) -> list[str]:
    """Return databases in the papers' order, other rows with those together that begin alike."""
    if set(rows) <= set(names.DATABASES.values()):
        return sort_databases(rows)
    # Rows are alike up to a colon.
    beginnings = list(dict.fromkeys(row.partition(":")[0] for row in rows))
    return sorted(rows, key=lambda row: beginnings.index(row.partition(":")[0]))


@dataclass(frozen=True)
class Headline:
    """The claim about a paper's own main number, which represents the study in summaries."""

    claim: str  # its id; the number is the claim's own headline, of the largest size that ran
    asks: str  # the paper's question
    # The result, with the ratio at ``{}``, and the divisor at ``{b}`` where that may vary.
    says: str
    label: str  # what is divided: ``XML / JSON, time``


def draw_overview(analysis: Analysis, headlines: Mapping[str, Headline]) -> Exhibit:
    """Draw each study's headline on one sheet."""
    parts = []
    for study, headline in headlines.items():
        ran = [one for one in analysis.verdicts if one.id == headline.claim and one.estimate > 0]
        for claim in ran:
            label = headline.label.format(b=claim.b)
            level = f"{study}: {label} ({describe_place(claim)})"
            parts.append(make_ratio_points(claim, level))
    points = join_points(*parts)
    notes = [
        "the paper's own main comparison, at the largest size that ran, with its 99 % interval",
        "right of 1: the first named is larger or slower",
        *describe_missing_studies(analysis),
    ]
    if points.empty:
        notes = [f"nothing compared yet: an interval needs {MIN_BLOCKS} blocks"]
    drawing = Dots(
        "first / second (log scale)", list(dict.fromkeys(points["level"])), reference=1.0
    )
    return Exhibit("Five studies: published and here", points, tuple(notes), drawing)


def describe_place(claim: ClaimVerdict) -> str:
    """Return the levels of a claim's headline that its a and b do not name, and the language."""
    words = []
    for level in filter(None, claim.label.split(", ")):
        name, _, value = level.partition("=")
        if name in ("database", "codec"):
            level = name_level(name, value)
        if name != "driver" and level not in (claim.a, claim.b):
            words.append(level)
    if claim.n and "n=" not in claim.label:
        words.append(f"n={claim.n}")
    return write_settings(", ".join([*words, names.LANGUAGES[claim.language]]))
