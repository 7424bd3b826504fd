"""Comparisons as ratios: the paper's hollow, this machine's with its 95 % interval, a study's own or all studies'."""

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

from benchbook.evidence import Evidence
from benchbook.evidence.claims import Level
from benchbook.evidence.contrasts import enumerated
from benchbook.evidence.effects import of_a_mean
from benchbook.evidence.published import CellSettings
from benchbook.plots import names
from benchbook.plots.exhibit import Dots, Exhibit
from benchbook.plots.points import FrameRow, Way, counted, each, framed, joined, not_run, not_run_of, settled, where
from benchbook.stats.sequential import LOOKS

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

_ratio_dots: Final = partial(Dots, "ratio", reference=1.0)
"""Dots around the line at 1."""


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
    """A figure of one study's comparisons of one kind; called with the evidence it draws itself."""

    study: str
    comparison: str  # as the table of comparisons names it
    title: str
    row: Callable[[FrameRow], str]  # where a comparison is drawn, as `panel` and `series`
    way: Way  # levels of factors that are not shown
    own: Mapping[str, Way] = field(default_factory=dict)  # which of them are a stack's own, by its name
    panel: Callable[[FrameRow], str] = of_n
    series: Callable[[FrameRow], str] = lambda row: ""
    keep: tuple[str, ...] = ()  # operations; all when empty
    over: str = ""  # the one side that all others are drawn over; every pair as it stands when empty
    panels: tuple[str, ...] = ()  # their order; as they come when empty
    abreast: int = 4  # how many panels stand side by side
    across: str = ""  # a factor of `way` that is shown: only what ran at several of its levels; all when empty
    one_n: bool = False  # whether only the largest n is drawn that most rows have

    def __call__(self, evidence: Evidence) -> Exhibit:
        """Draw the ratios; the published ones come with the comparisons."""
        points, notes, at = self._drawn(evidence)
        title = f"{self.study}: {self.title}"
        if len(only := set(points["series"])) == 1 and (pair := only.pop()):
            points, title = points.assign(series=""), f"{self.study}: {pair}" if "/" in pair else title
        title += at
        present = list(dict.fromkeys(points["panel"]))
        panels = [panel for panel in self.panels if panel in present] or _ordered(present) or [""]
        lines = ceil(len(panels) / self.abreast)
        columns = ceil(len(panels) / lines)
        rows = _ordered(list(dict.fromkeys(points["level"])))
        return Exhibit(title, points, tuple(notes), _ratio_dots(rows, panels, columns=columns))

    def _drawn(self, evidence: Evidence) -> tuple[pd.DataFrame, list[str], str]:
        """Return the points, what must be said of them, and the one n that all have, for the title."""
        table = where(evidence.comparisons, study=self.study, comparison=self.comparison, metric=list(METRICS))
        table = where(table, operation=self.keep) if self.keep else table
        table = table[(table["operation"] != "marshal") | (table["metric"] != "wall_time")]
        way = {factor: level for factor, level in self.way.items() if factor != self.across}
        by_stack, notes = settled(with_settings(table), way, self.own)
        kept = pd.concat(by_stack.values())
        order = [name for name in ("case", "attributes", "model", "n") if name in kept]
        kept = kept.sort_values(order, kind="stable", ascending=[name != "attributes" for name in order])
        kept = kept[kept["ratio"].notna()]
        if self.across:
            kept = _at_several(kept, self.across)
        rows = [_over(row, self.over) for row in each(kept) if self.over in ("", row.side_a, row.side_b)]
        rows, notes = of_one_n(rows, notes) if self.one_n else (rows, notes)
        at = f", {of_n(rows[0])}" if self.one_n and rows else ""
        caveats = names.caveats(where(evidence.means, study=self.study))
        points = joined(*(
            points_of(row, self.row(row), self.panel(row), self.series(row), _about(row, caveats)) for row in rows
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


def own(evidence: Evidence, study: str) -> Exhibit:
    """Draw the comparisons of a study's cells that are in no profile: of their times, where they have any."""
    table = where(evidence.comparisons, study=study, metric=list(METRICS))
    times = where(table, metric=["wall_time", "elapsed_time"])
    rows = [*each((times if len(times) else table).dropna(subset="ratio"))]
    rows = sorted(rows, key=lambda row: (row.operation, *map(in_order, _settings(row).values())))
    first = _settings(rows[0]) if rows else {}
    varying = {name for row in rows for name, level in _settings(row).items() if level != first.get(name)}
    parts = []
    for row in rows:
        condition = [_in_words(name, level) for name, level in _settings(row).items() if name in varying]
        level = ", ".join(filter(None, [row.operation.replace("_", " "), *condition]))
        parts.append(points_of(row, level, sides(row)))
    points = joined(*parts)
    levels, panels = (list(dict.fromkeys(points[name])) for name in ("level", "panel"))
    same = [_in_words(name, level) for name, level in first.items() if name not in varying]
    notes = [*_notes(points), f"all: {', '.join(filter(None, same))}"]
    return Exhibit(f"{study}: cells of your own", points, tuple(notes), _ratio_dots(levels, panels or [""]))


def _settings(row: FrameRow) -> CellSettings:
    """Return what a comparison's cells ran with, own records first; not what no reader asked for."""
    shown = {name: level for name, level in row.settings.items() if name not in _UNSAID}
    ran = {name: level for name, level in shown.items() if level not in (None, "none")}
    return {"dataset_file": row.settings.get("dataset_file") or "", **ran}


def in_order(level: object) -> tuple[float, str]:
    """Return what levels of one factor are sorted by: numbers by their size, before texts."""
    return (float(level), "") if isinstance(level, int | float) else (0.0, str(level))


def _in_words(name: str, level: Level) -> str:
    """Return a setting as a reader says it."""
    if name == "dataset_file":
        return Path(str(level)).name
    if name == "lane":
        return names.STACKS[str(level)]
    return f"{name.replace('_', ' ')} {f'{level:,}' if isinstance(level, int) else level}"


_UNSAID: Final = ("arm", "seed", "dataset_file", "format in turn", "repetitions")


def with_settings(table: pd.DataFrame) -> pd.DataFrame:
    """Return comparisons with a column for each of their settings, the lane always among them."""
    settings = pd.DataFrame([*table["settings"]], index=table.index)
    lane = [cell.get("lane") or "python" for cell in table["settings"]]
    return table.join(settings.drop(columns=[name for name in settings if name in table])).assign(lane=lane)


def by_condition(
    table: pd.DataFrame, factors: Sequence[str], way: Way, own: Mapping[str, Way] | None = None
) -> tuple[Compared, list[str]]:
    """Return the comparisons of a table by stack and the levels of some factors, and what must be said of them."""
    by_stack, notes = settled(with_settings(table), way, own)
    compared = ((stack, row) for stack, rows in by_stack.items() for row in each(rows))
    return {(stack, *(getattr(row, name) for name in factors)): row for stack, row in compared}, notes


def blocks_a_side(counts: Iterable[float]) -> str:
    """Say of how many blocks a side the ratios are."""
    return f"here: ratio of the blocks' geometric means, {counted(counts, ' a side')}"


def of_stacks(compared: Compared, stacks: Iterable[str]) -> list[str]:
    """Say of how many blocks ratios are, and which of the stacks did not run."""
    blocks = [blocks_a_side([row.blocks for row in compared.values()])] if compared else []
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
    flags = {"censored": bool(row.censored)}
    marks = beside(row.published_ratio, row.ratio, row.low, row.high, row.blocks)
    return framed(marks, unit="ratio", **about, **flags)


def beside(published: float, ratio: float, low: float, high: float, blocks: int) -> list[dict[str, object]]:
    """Return the paper's ratio, where it prints one, and this machine's."""
    here = {"source": "here", "value": ratio, "low": low, "high": high, "blocks": blocks}
    return [here] if isnan(published) else [{"source": "published", "value": published}, here]


def _over(row: FrameRow, side: str) -> FrameRow:
    """Return a comparison with that side below the line; as it stands when it has no such side above it."""
    if row.side_a != side:
        return row
    swapped = {"a": row.b, "b": row.a, "side_a": row.side_b, "side_b": row.side_a}
    ratios = {"ratio": 1 / row.ratio, "low": 1 / row.high, "high": 1 / row.low}
    return row._replace(**swapped, **ratios, published_ratio=1 / row.published_ratio)


def _about(row: FrameRow, caveats: Mapping[str, str]) -> str:
    """Return what must be said of a comparison's engines, of what is said of all engines."""
    engines = dict.fromkeys((row.side_a, row.side_b, row.settings.get("engine")))
    return "; ".join(caveats[engine] for engine in engines if engine in caveats)


def _notes(points: pd.DataFrame) -> list[str]:
    measured = points[points["source"] == "here"]
    if measured.empty:
        return ["not run in this profile: nothing of this machine to compare"]
    return [
        blocks_a_side(measured["blocks"]),
        "right of 1: the first named is larger or slower",
        *sorted(set(measured["caveat"]) - {""}),
    ]


def _ordered(rows: list[str]) -> list[str]:
    """Bring engines into the papers' order, and rows that begin alike (up to a colon) together, else as they come."""
    if set(rows) <= set(names.ENGINES.values()):
        return names.ordered(set(rows))
    first = {row.partition(":")[0]: rank for rank, row in reversed(list(enumerate(rows)))}
    return sorted(rows, key=lambda row: first[row.partition(":")[0]])


@dataclass(frozen=True)
class Headline:
    """One claim that says what a paper is about, and how its ratio is called."""

    label: str
    claim: str  # its id
    levels: tuple[str, ...] = ()  # which of its contrasts, as ``case=1``; all when empty
    says: str = ""  # the finding as a sentence, with the ratio at ``{}``, and what is compared; none when empty


def overview(evidence: Evidence, headlines: Mapping[str, Sequence[Headline]]) -> Exhibit:
    """Draw each study's headlines on one sheet: contrasts of claims, on the lane that counts."""
    points = joined(
        *(_contrast(evidence, study, headline) for study, several in headlines.items() for headline in several)
    )
    notes = [
        "contrasts of the papers' claims, of each the last that could be judged, on the paper's own stack where it ran",
        "here: of all blocks, with the plain 95 % interval; verdicts rest on the wider ones of their looks",
        "right of 1: the first named is larger or slower",
        *not_run_of(evidence),
    ]
    if points.empty:
        notes = [f"nothing judged yet: it takes {LOOKS[0]} blocks of what claims ask, as benchbook run has them"]
    rows = list(dict.fromkeys(points["level"]))
    return Exhibit("Five studies: published and here", points, tuple(notes), _ratio_dots(rows))


def by_host(evidence: Evidence, headlines: Mapping[str, Sequence[Headline]]) -> Exhibit:
    """Draw the headlines on each host that ran them, and on hosts like them where so many have that there is a mean."""
    drawn = []
    for study, headline in [(study, headline) for study, several in headlines.items() for headline in several]:
        # on the lane that counts every host that judged it
        (outcome,) = each(where(evidence.outcomes, id=headline.claim))
        hosts = where(evidence.contrasts, id=headline.claim, lane=outcome.lane)["host"].unique()
        drawn += [_contrast(evidence, study, headline, outcome.lane, host).assign(host=host) for host in hosts if host]
    points = joined(*(part.assign(panel=part["level"].str.replace(" (", "\n("), level=part["host"]) for part in drawn))
    panels = list(dict.fromkeys(points["panel"]))
    rows = sorted(dict.fromkeys(points["level"]), key=lambda host: (of_a_mean(host), host))
    notes = ["each host's own blocks, with 95 % intervals"]
    if any(of_a_mean(host) for host in rows):
        notes.append("the last row: hosts like these, by Hartung & Knapp")
    if lacking := sorted({*evidence.means["host"]} - {*rows}):
        notes.append(f"too few blocks of any of these: {enumerated(lacking)}")
    return Exhibit("The same claims on each host", points, tuple(notes), _ratio_dots(rows, panels))


def judged(evidence: Evidence, headline: Headline, lane: str = "", host: str = "") -> FrameRow | None:
    """Return the last contrast of a headline that a lane and host could judge, by default those that count; or None."""
    (outcome,) = each(where(evidence.outcomes, id=headline.claim))
    contrasts = where(evidence.contrasts, id=headline.claim, lane=lane or outcome.lane, host=host or outcome.host)
    contrasts = contrasts[contrasts["overall"].notna()]
    rows = [row for row in each(contrasts) if set(headline.levels) <= set(row.contrast.split(", "))]
    return rows[-1] if rows else None


def condition(headline: Headline, row: FrameRow) -> str:
    """Return where a headline's contrast was judged, in words: its levels that are not in the name, and the stack."""
    shown = ", ".join(part for part in row.contrast.split(", ") if part not in ("", *headline.levels))
    place = ", ".join(filter(None, (shown, row.common, names.STACKS[row.lane])))
    return re.sub(r"\d{4,}", lambda digits: f"{int(digits[0]):,}", place).replace("=", " = ")


def _contrast(evidence: Evidence, study: str, headline: Headline, lane: str = "", host: str = "") -> pd.DataFrame:
    """Return the points of the last contrast of a headline that one host could judge."""
    if (row := judged(evidence, headline, lane, host)) is None:
        return joined()
    flags = {"censored": bool(row.censored)}
    level = f"{study}: {headline.label} ({condition(headline, row)})"
    marks = beside(row.published, row.overall, row.overall_low, row.overall_high, row.overall_blocks)
    return framed(marks, unit="ratio", level=level, **flags)
