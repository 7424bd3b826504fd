"""Comparisons as ratios: the paper's hollow, this machine's with its 99 % interval, a study's own or all studies'."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import ceil, isnan
from pathlib import Path
from typing import Any, Final, TypeAlias

import pandas as pd

from benchbook import registry
from benchbook.analysis import Analysis
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.analysis.sides import settings_frame
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.plots import names
from benchbook.plots.exhibit import Dots, Exhibit
from benchbook.plots.points import FrameRow, Way, counted, each, framed, joined, not_run, not_run_of, settled, where

METRICS: Final = {
    "wall_time": "time",
    "elapsed_time": "time",
    "cpu_time": "CPU time",
    "size": "size",
    "bandwidth": "bandwidth",
    "bytes_received": "bytes",
    "card_bytes_sent": "bytes at the card, sent",
    "card_bytes_received": "bytes at the card, received",
    "cpu_percent": "share of the CPU",
    "cpu_user_percent": "user CPU share",
    "cpu_system_percent": "system CPU share",
    "memory_percent": "memory share",
    "memory_rss_mb": "resident memory",
    "memory_change_kb": "new memory",
}
"""What is compared as a ratio, in print. The ratio of times an object is that of the times: it stands in the tables."""

Compared: TypeAlias = dict[tuple[Any, ...], FrameRow]
"""Comparisons by the stack and the levels of some factors."""

_ratio_dots: Final = partial(Dots, reference=1.0)
"""Dots around the line at 1; the axis says what is over what."""


def sides(row: FrameRow) -> str:
    """Return a comparison's sides in words."""
    return f"{row.a} / {row.b}"


def of_n(row: FrameRow) -> str:
    """Return a comparison's number of records, objects or books."""
    return f"n = {int(row.n):,}"


def quantity(row: FrameRow) -> str:
    """Return what is compared, and of which role."""
    return f"{METRICS[row.metric]}, {row.role}"


@dataclass(frozen=True)
class Ratios:
    """A figure of one study's comparisons of one kind; called with the analysis it draws itself."""

    study: str
    name: str  # of the paper's comparison
    title: str
    row: Callable[[FrameRow], str]  # where a comparison is drawn, as `panel` and `series`
    way: Way  # levels of factors that are not shown
    axis: str = "XML / JSON"  # what is over what in the whole figure
    own: Mapping[str, Way] = field(default_factory=dict)  # which of them are a stack's own, by its name
    panel: Callable[[FrameRow], str] = of_n
    series: Callable[[FrameRow], str] = lambda row: ""
    keep: tuple[str, ...] = ()  # operations; all when empty
    over: str = ""  # the one side that all others are drawn over; every pair as it stands when empty
    panels: tuple[str, ...] = ()  # their order; as they come when empty
    abreast: int = 4  # how many panels stand side by side
    across: str = ""  # a factor of `way` that is shown: only what ran at several of its levels; all when empty
    one_n: bool = False  # whether only the largest n is drawn that most rows have

    def __call__(self, analysis: Analysis) -> Exhibit:
        """Draw the ratios; the published ones come with the comparisons."""
        points, notes, at = self._drawn(analysis)
        title, axis = f"{self.study}: {self.title}", self.axis
        pairs = set(points["series"])
        if len(pairs) == 1 and pairs != {""}:
            (pair,) = pairs
            points = points.assign(series="")
            axis = pair if "/" in pair else axis
        title += at
        present = list(dict.fromkeys(points["panel"]))
        panels = [panel for panel in self.panels if panel in present] or _ordered(present) or [""]
        lines = ceil(len(panels) / self.abreast)
        columns = ceil(len(panels) / lines)
        rows = _ordered(list(dict.fromkeys(points["level"])))
        return Exhibit(title, points, tuple(notes), _ratio_dots(axis, rows, panels, columns=columns))

    def _drawn(self, analysis: Analysis) -> tuple[pd.DataFrame, list[str], str]:
        """Return the points, what must be said of them, and the one n that all have, for the title."""
        table = where(analysis.tables, study=self.study, name=self.name, kind="ratio", metric=list(METRICS))
        table = where(table, operation=self.keep) if self.keep else table
        table = table[(table["operation"] != "marshal") | (table["metric"] != "wall_time")]
        way = {factor: level for factor, level in self.way.items() if factor != self.across}
        by_stack, notes = settled(with_settings(table), way, self.own)
        kept = pd.concat(by_stack.values())
        order = [name for name in ("case", "attributes", "model", "n") if name in kept]
        kept = kept.sort_values(order, kind="stable", ascending=[name != "attributes" for name in order])
        kept = kept[kept["estimate"].notna()]
        if self.across:
            kept = _at_several(kept, self.across)
        rows = [_over(row, self.over) for row in each(kept) if self.over in ("", row.a, row.b)]
        rows, notes = of_one_n(rows, notes) if self.one_n else (rows, notes)
        at = f", {of_n(rows[0])}" if self.one_n and rows else ""
        caveats = {
            names.database(database): said
            for database, said in names.caveats(where(analysis.means, study=self.study)).items()
        }
        points = joined(*(
            points_of(row, self.row(row), self.panel(row), self.series(row), _caveat(row, caveats)) for row in rows
        ))  # fmt: skip
        return points, [*_notes(points), *notes], at


def _at_several(compared: pd.DataFrame, factor: str) -> pd.DataFrame:
    """Return the comparisons of cells that ran at several levels of a factor."""
    if factor not in compared:
        return compared[:0]
    cells = []
    for row in each(compared):
        settings = {name: level for name, level in row.settings.items() if name not in (factor, "repetitions")}
        cells.append(json.dumps([row.a, row.b, settings], default=str))
    return compared[compared.groupby(cells)[factor].transform("nunique").gt(1).to_numpy()]


def own(analysis: Analysis, study: str) -> Exhibit:
    """Draw the comparisons of a study's cells that are in no profile: of their times, where they have any."""
    table = where(analysis.tables, study=study, kind="ratio", metric=list(METRICS)).dropna(subset="estimate")
    times = where(table, metric=["wall_time", "elapsed_time"])
    rows = [*each(times if len(times) else table)]
    # Levels that all rows share are said once.
    levels = [row.label.split(", ") for row in rows]
    common = [level for level in levels[0] if all(level in others for others in levels)] if rows else []
    files = {Path(row.settings["dataset_file"]).name for row in rows if row.settings.get("dataset_file")}
    parts = []
    for row, of_row in zip(rows, levels, strict=True):
        named = [row.operation.replace("_", " "), *(level for level in of_row if level not in common)]
        parts.append(points_of(row, ", ".join(named), sides(row)))
    points = joined(*parts)
    notes = [*_notes(points), f"all: {', '.join([*sorted(files), *common])}"]
    places, panels = (list(dict.fromkeys(points[name])) for name in ("level", "panel"))
    return Exhibit(
        f"{study}: cells of your own", points, tuple(notes), _ratio_dots("first / second", places, panels or [""])
    )


def with_settings(table: pd.DataFrame) -> pd.DataFrame:
    """Return comparisons with a column for each of their settings, and the ``language``."""
    settings = settings_frame(table["settings"]).set_axis(table.index)
    settings = settings.drop(columns=[name for name in settings if name in table])
    return table.join(settings).assign(language=table["language"])


def by_condition(
    table: pd.DataFrame, factors: Sequence[str], way: Way, own: Mapping[str, Way] | None = None
) -> tuple[Compared, list[str]]:
    """Return the comparisons of a table by stack and the levels of some factors, and what must be said of them."""
    by_stack, notes = settled(with_settings(table), way, own)
    compared = ((stack, row) for stack, rows in by_stack.items() for row in each(rows))
    return {(stack, *(getattr(row, name) for name in factors)): row for stack, row in compared}, notes


def count_blocks(counts: Iterable[float]) -> str:
    """Say of how many blocks on each side the ratios are."""
    return f"here: {counted(counts)}"


def of_stacks(compared: Compared, stacks: Iterable[str]) -> list[str]:
    """Say of how many blocks ratios are, and which of the stacks did not run."""
    blocks = [count_blocks([row.blocks for row in compared.values()])] if compared else []
    ran = {stack for stack, *_ in compared}
    return [*blocks, *(note for stack in stacks if stack not in ran for note in not_run([stack]))]


def of_one_n(rows: list[FrameRow], notes: list[str]) -> tuple[list[FrameRow], list[str]]:
    """Return the rows of one n, the largest of those that most have, and the notes with which it is."""
    if not rows:
        return rows, notes
    counts = Counter(row.n for row in rows)
    n = max(counts, key=lambda size: (counts[size], size))
    remark = "; the other n are in the table of comparisons" if len(counts) > 1 else ""
    return [row for row in rows if row.n == n], [*notes, f"all at n = {int(n):,}{remark}"]


def points_of(row: FrameRow, level: str, panel: str = "", series: str = "", caveat: str = "") -> pd.DataFrame:
    """Return a comparison's points: the paper's ratio where it prints one, and this machine's."""
    about = {"panel": panel, "level": level, "series": series, "caveat": caveat}
    marks = beside(row.published, row.estimate, row.low, row.high, row.blocks)
    return framed(marks, unit="ratio", **about)


def beside(published: float, ratio: float, low: float, high: float, blocks: int) -> list[dict[str, object]]:
    """Return the paper's ratio, where it prints one, and this machine's."""
    here = {"source": "here", "value": ratio, "low": low, "high": high, "blocks": blocks}
    return [here] if isnan(published) else [{"source": "published", "value": published}, here]


def _over(row: FrameRow, side: str) -> FrameRow:
    """Return a comparison with that side below the line; as it stands when it has no such side above it."""
    if row.a != side:
        return row
    ratios = {"estimate": 1 / row.estimate, "low": 1 / row.high, "high": 1 / row.low}
    return row._replace(a=row.b, b=row.a, published=1 / row.published, **ratios)


def _caveat(row: FrameRow, caveats: Mapping[str, str]) -> str:
    """Return what must be said of a comparison's databases, of what is said of all databases."""
    databases = dict.fromkeys((row.a, row.b, names.database(str(row.settings.get("database")))))
    return "; ".join(caveats[database] for database in databases if database in caveats)


def _notes(points: pd.DataFrame) -> list[str]:
    measured = points[points["source"] == "here"]
    if measured.empty:
        return ["not run in this profile: nothing of this machine to compare"]
    return [
        "right of 1: the first takes more",
        count_blocks(measured["blocks"]),
        *sorted(set(measured["caveat"]) - {""}),
    ]


def _ordered(rows: list[str]) -> list[str]:
    """Bring databases into the papers' order, and rows that begin alike (up to a colon) together, else as they come."""
    if set(rows) <= set(names.DATABASES.values()):
        return names.ordered(set(rows))
    first = {row.partition(":")[0]: rank for rank, row in reversed(list(enumerate(rows)))}
    return sorted(rows, key=lambda row: first[row.partition(":")[0]])


@dataclass(frozen=True)
class Headline:
    """What stands for a study wherever it is named: the claim about the paper's own main number."""

    claim: str  # its id; the number is the claim's own headline, of the largest size that ran
    asks: str  # the paper's question
    says: str  # what came out, with the ratio at ``{}``, and what it is over at ``{b}`` where that may vary
    label: str  # what is divided: ``XML / JSON, time``


def overview(analysis: Analysis, headlines: Mapping[str, Headline]) -> Exhibit:
    """Draw each study's headline on one sheet."""
    parts = []
    for study, headline in headlines.items():
        for claim in ClaimVerdict.of(where(analysis.verdicts, id=headline.claim).dropna(subset="estimate")):
            about = {"level": f"{study}: {headline.label.format(b=claim.b)} ({place(claim)})", "unit": "ratio"}
            marks = beside(claim.published, claim.estimate, claim.low, claim.high, claim.blocks)
            parts.append(framed(marks, **about))
    points = joined(*parts)
    notes = [
        "the paper's own main comparison, at the largest size that ran, with its 99 % interval",
        "right of 1: the first named is larger or slower",
        *not_run_of(analysis),
    ]
    if points.empty:
        notes = [f"nothing compared yet: an interval needs {MIN_BLOCKS} blocks"]
    rows = list(dict.fromkeys(points["level"]))
    return Exhibit("Five studies: published and here", points, tuple(notes), _ratio_dots("first / second", rows))


def place(claim: ClaimVerdict) -> str:
    """Return where a claim's headline ran, in words: its levels that its sides do not name, and the language."""
    words = []
    for level in filter(None, claim.label.split(", ")):
        name, _, value = level.partition("=")
        match name:
            case "database":
                level = registry.title(value)
            case "codec":
                level = names.codec(value)
        if name != "driver" and level not in (claim.a, claim.b):
            words.append(level)
    if claim.n and "n=" not in claim.label:
        words.append(f"n={claim.n}")
    said = ", ".join([*words, names.STACKS[claim.language]])
    return re.sub(r"\d{4,}", lambda digits: f"{int(digits[0]):,}", said).replace("=", " = ")
