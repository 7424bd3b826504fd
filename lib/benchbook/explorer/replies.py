"""Answers about your own documents, from the cells that ran: per operation a sentence, a bar per level, what is open.

`answers` returns a `Reply` per question. `benchbook ask` prints its `Reply.text`; pages and the notebook show its
findings as bars. `write_csv` has the numbers.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from benchbook import grid
from benchbook.analysis import Comparison
from benchbook.analysis.block_means import ended
from benchbook.analysis.comparisons import A_OVER_B, compare
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.analysis.runs import Run
from benchbook.analysis.sides import Measured, Side, first_arms
from benchbook.digits import estimate, number, plural, quantity
from benchbook.explorer.documents import QUESTIONS, Question, Request, without_folder
from benchbook.explorer.precision import MARGIN, State, describe_need, hardest_need, state_of, state_of_fastest
from benchbook.explorer.questions import call_level
from benchbook.plots import names
from benchbook.registry import title
from benchbook.studies.cell import CellParameters

_WIDEST: Final = 20
"""Characters of the longest bar in a terminal."""

_SIZE: Final = "size"
"""The operation under which sizes stand in a file of numbers."""

_STATES: Final = {"todo": "its cell has not run yet", "failed": "its cell failed; the run's lines above say why"}


@dataclass(frozen=True)
class Bar:
    """One level's value in one operation."""

    level: str
    value: float  # in `unit`
    unit: str
    share: float  # of the largest value of the operation, 0 to 1
    state: State
    ratio: float = 1.0  # to the first bar, with its 99 % interval
    low: float = nan
    high: float = nan
    blocks: int = 0
    machine_days: int = 0
    noisy: int = 0  # blocks that ran while other programs were busy

    @property
    def shown(self) -> str:
        """The value with its unit."""
        return quantity(self.value, self.unit)

    @property
    def times(self) -> str:
        """The ratio with its interval, or what the bar is where it has none."""
        if self.state in ("fastest", "smallest"):
            return self.state
        if isnan(self.low) and self.ratio == 1:
            return "× 1"
        ratio = f"× {estimate(self.ratio, self.low, self.high)}"
        return f"{ratio}, {self.state}" if self.state in ("alike", "undecided") else ratio


@dataclass(frozen=True)
class Finding:
    """What a question comes to in one operation."""

    operation: str  # ``to write``, or ``size``
    label: str  # of which level of the question's row; empty where there is one
    sentence: str
    advice: str  # what would settle it; empty where it is settled
    blocks: int  # how many blocks in all would settle it; 0 where it is settled, or where none will
    bars: tuple[Bar, ...]  # the fastest first
    noisy: str  # in how many blocks other programs were busy; empty where they were not

    @property
    def line(self) -> str:
        """The sentence with its mark and the advice."""
        mark = f" [{self.noisy}]" if self.noisy else ""
        return f"{self.sentence}{mark}{f' {self.advice}.' if self.advice else ''}"


@dataclass(frozen=True)
class Reply:
    """The answer to a question."""

    question: Question
    findings: tuple[Finding, ...]
    untried: Mapping[str, Sequence[str]]  # by the reason, the levels that could not be tried
    through: tuple[str, ...] = ()  # the libraries that did the work, with their versions
    records: int = 0  # that each time is of
    measured: int = 0  # cells and blocks
    noisy: int = 0  # how many of them ran while other programs were busy

    @property
    def text(self) -> str:
        """The answer as lines of text: sentences with bars, then what could not be tried and how it was measured."""
        lines = [self.question.text]
        if not self.findings:
            lines.append("  No answer: at least two must run to be compared.")
        width = max((len(bar.level) for finding in self.findings for bar in finding.bars), default=0)
        for finding in self.findings:
            lines.append(f"  {finding.line}")
            for bar in finding.bars:
                drawn = "▇" * max(round(_WIDEST * bar.share), 1)
                lines.append(f"    {bar.level:{width}}  {drawn:{_WIDEST}}  {bar.shown:>8}  {bar.times}")
        lines += [f"  Not tried: {', '.join(levels)}: {why}" for why, levels in self.untried.items()]
        lines += [f"  {words}" for words in self.small_print]
        return "\n".join(lines)

    @property
    def small_print(self) -> list[str]:
        """How it was measured, in sentences."""
        said = []
        if self.records:
            said.append(f"Each time is of {plural(self.records, 'record')}, handled {self.question.conditions}.")
        if self.findings and self.question.by != "format":
            said.append("Bytes are not measured here, only times.")
        if self.noisy:
            said.append(f"{self.noisy} of {plural(self.measured, 'cell')} ran while other programs were busy.")
        if self.through:
            said.append(f"Measured through {', '.join(self.through)}.")
        return said


def answers(chosen: Sequence[str], asked: Sequence[Request]) -> list[Reply]:
    """Return the answers that the finished cells of those requests give."""
    return [_answer(QUESTIONS[name], request) for name, request in zip(chosen, asked, strict=True)]


def write_csv(replies: Sequence[Reply]) -> str:
    """Return the numbers of answers as a table: one row per question, operation and level."""
    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow([
        *("question", "of", "operation", "level", "value", "unit", "ratio_to_smallest", "low_99", "high_99"),
        *("blocks", "machine_days", "noisy_blocks", "state"),
    ])  # fmt: skip
    for reply in replies:
        for finding in reply.findings:
            for bar in finding.bars:
                numbers = [f"{end:.6g}" if end == end else "" for end in (bar.ratio, bar.low, bar.high)]
                counts = [bar.blocks, bar.machine_days, bar.noisy]
                about = [reply.question.text, finding.label, finding.operation, bar.level]
                rows.writerow([*about, f"{bar.value:.6g}", bar.unit, *numbers, *counts, bar.state])
    return table.getvalue()


def _answer(question: Question, request: Request) -> Reply:
    """Return the answer to a question: each level against the fastest, operation by operation."""
    cells, untried = _list_untried(question, request)
    means = first_arms(Run.of_results("own documents", grid.keys(cells)).means)
    if means.empty:
        return Reply(question, (), untried)
    ran = means.drop_duplicates(["cell_id", "block"])
    noisy = int(ran["noisy"].fillna(False).astype(bool).sum())

    versions = names.versions(means)
    findings = []
    measured = Measured(question.study, ended(means))
    quantities = [(operation, "client", question.metric) for operation in question.operations]
    for (operation, *_), language, common, sides in measured.alike(question.by, question.loose, quantities):
        levels = {}
        for level, side in sides.items():
            levels[level] = _name_level(question.by, level, {level: side}, versions)
        about: dict[str, Any] = {"operation": operation, "language": language, "settings": common, "label": ""}
        if question.row:
            about["label"] = _name_level(question.row, common.get(question.row), sides, versions)
        finding = _compare_with_fastest(question, about, sides, levels, measured, counts_noisy=request.noisy)
        findings += [finding] if finding else []
    # One row of the question after the other.
    labels = list(dict.fromkeys(finding.label for finding in findings))
    findings.sort(key=lambda finding: labels.index(finding.label))
    findings += _compare_sizes(question, means)
    records = int(means["n"].max())
    return Reply(question, tuple(findings), untried, _libraries(means), records, len(ran), noisy)


def _compare_with_fastest(
    question: Question,
    about: Mapping[str, Any],
    sides: Mapping[str, Side],
    levels: Mapping[str, str],
    measured: Measured,
    *,
    counts_noisy: bool,
) -> Finding | None:
    """Return how many times the fastest level's time each other one took; None where fewer than two ran.

    Parameters
    ----------
    about
        The comparison's operation, language, settings and label.
    sides, levels
        What was measured at each level, and what the level is called.
    counts_noisy
        Whether noisy blocks count: they do unless a person waited for a quiet machine.
    """
    noisy = {level: side.noisy for level, side in sides.items()}
    counted = {level: side.with_noisy if counts_noisy else side for level, side in sides.items()}
    ran = {level: side for level, side in counted.items() if len(side.blocks)}
    if len(ran) < 2:
        return None
    fastest, *others = sorted(ran, key=lambda level: float(np.log(ran[level].values).mean()))
    rows = [
        Comparison(
            study=question.study,
            name=question.text,
            role="client",
            metric=question.metric,
            a=levels[level],
            b=levels[fastest],
            n=about["settings"].get("n"),
            **about,
            **compare(A_OVER_B, {"a": ran[level], "b": ran[fastest]}, measured.machine_days),
        )
        for level in others
    ]

    # A bar per level, with the noisy blocks of its own.
    first = state_of_fastest(rows)
    largest = max(float(side.values.mean()) for side in ran.values())
    bars = []
    for level, row in zip((fastest, *others), (None, *rows), strict=True):
        side = ran[level]
        value = float(side.values.mean())
        numbers: dict[str, Any] = {"blocks": len(side.blocks), "noisy": noisy[level]}
        numbers["machine_days"] = rows[0].machine_days
        if row:
            numbers |= {"ratio": row.estimate, "low": row.low, "high": row.high}
        state = state_of(row) if row else first
        bars.append(Bar(levels[level], value, side.unit, value / largest, state, **numbers))

    operation = question.operations[about["operation"]]
    blocks = min(row.blocks for row in rows)
    need = hardest_need(rows)
    most = max(bar.noisy for bar in bars)
    return Finding(
        operation=operation,
        label=about["label"],
        sentence=write_sentence(operation, rows),
        advice=describe_need(need, blocks, noisy=most > 0) if need else "",
        blocks=blocks + need.blocks if need and need.blocks else 0,
        bars=tuple(bars),
        noisy=_mark(most, blocks, counts=counts_noisy),
    )


def _mark(noisy: int, blocks: int, *, counts: bool) -> str:
    """Return the mark of a finding with noisy blocks; empty without any."""
    if not noisy:
        return ""
    return f"noisy: {noisy} of {plural(blocks, 'block')}" if counts else f"{plural(noisy, 'noisy block')} left out"


def _compare_sizes(question: Question, means: pd.DataFrame) -> list[Finding]:
    """Return how many bytes each format's document has; sizes are exact. Nothing of other questions."""
    if question.by != "format":
        return []
    sizes = means[(means["operation"] == "marshal") & (means["metric"] == "size")].groupby("format")["value"].mean()
    if len(sizes) < 2:
        return []
    ascending = sizes.sort_values()
    small, large = float(ascending.iloc[0]), float(ascending.iloc[-1])
    bars = []
    for place, (level, size) in enumerate(ascending.items()):
        state: State = "larger" if place else "smallest"
        bars.append(Bar(call_level("format", level), float(size), "B", float(size) / large, state, float(size) / small))
    most, least = bars[-1], bars[0]
    said = f"{most.level} takes {number(large / small)} times the bytes of {least.level}: {most.shown}, {least.shown}."
    return [Finding(_SIZE, "", said, "", 0, tuple(bars), "")]


def write_sentence(operation: str, rows: Sequence[Comparison]) -> str:
    """Return which level was fastest and by how much, or between which it is undecided.

    Parameters
    ----------
    operation
        ``to write``.
    rows
        Each other level over the fastest, by their estimates.
    """
    before = f"{rows[0].label}: " if rows[0].label else ""
    fastest, blocks = rows[0].b, min(row.blocks for row in rows)
    times = f"{rows[0].a} took {rows[0].words} times as long"
    if rows[0].reason and isnan(rows[0].estimate):
        return f"{before}{rows[0].a} and {fastest} {operation}: {rows[0].reason}."
    if blocks < MIN_BLOCKS:
        return f"{before}{times} {operation} as {fastest}, in {plural(blocks, 'block')}: no interval."

    # The others that may be as fast as the fastest.
    near = [row for row in rows if not row.low > 1]
    if near and all(state_of(row) == "alike" for row in near):
        listed = _list_words([fastest, *(row.a for row in near)], "and")
        return f"{before}{listed} are alike {operation}, within {100 * (MARGIN - 1):.0f} %."
    if near:
        listed = _list_words([fastest, *(row.a for row in near)], "or")
        faster = "faster" if len(near) == 1 else "fastest"
        undecided = "undecided" if before else "Undecided"
        return f"{before}{undecided} which is {faster} {operation}: {listed}."
    if len(rows) == 1:
        return f"{before}{times} {operation} as {fastest}."
    return f"{before}{fastest} was the fastest {operation}; the next, {times}."


def _list_words(words: Sequence[str], last: str) -> str:
    """Return words as a list: ``a, b or c``."""
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def _list_untried(question: Question, request: Request) -> tuple[list[grid.Cell], dict[str, list[str]]]:
    """Return the cells that a question asks for, and by the reason the levels that could not be tried."""
    untried: dict[str, dict[str, None]] = {}
    file = Path(str(request.settings["dataset_file"]))
    try:
        plan = request.plan()
    except grid.NoneFitsError as error:
        plan = grid.Plan([], error.skipped)
    for left_out in plan.skipped:
        why = without_folder(left_out.why, file)
        for parameters in left_out.refused:
            untried.setdefault(why, {})[_name_levels(question, parameters)] = None
    for cell in plan.cells:
        why = cell.missing or ("" if cell.state == "done" else _STATES.get(cell.state, f"its cell {cell.state}"))
        if why:
            untried.setdefault(why, {})[_name_levels(question, cell.parameters)] = None
    return plan.cells, {why: [*levels] for why, levels in untried.items()}


def _libraries(means: pd.DataFrame) -> tuple[str, ...]:
    """Return the products and libraries that did the work, with their versions."""
    servers = means[["database", "database_version"]].dropna().drop_duplicates().to_numpy()
    products = {f"{title(database.partition('+')[0])} {version}" for database, version in servers if version}
    drivers = {part for text in means["driver_version"].dropna().unique() for part in text.split(", ")}
    written = means.dropna(subset=["codec"]).drop_duplicates("codec")
    codecs = []
    for codec, environment in zip(written["codec"], written["environment"], strict=True):
        libraries = json.loads(environment or "{}").get("libraries", {})
        codecs.append(f"{names.codec(codec)} {libraries.get(codec, '')}".strip())
    return (*sorted(products), *sorted(drivers), *codecs)


def _name_level(factor: str, level: object, sides: Mapping[str, Side], versions: Mapping[str, str]) -> str:
    """Return what a level is called: a store's with its version, a format with the library that wrote it."""
    words = call_level(factor, level)
    if factor == "database" and str(level) in versions:
        product, bracket, model = words.partition(" (")
        return f"{product} {versions[str(level)]}{bracket}{model}"
    if factor == "format":
        return f"{words} ({' and '.join(sorted({names.codec(side.settings['codec']) for side in sides.values()}))})"
    return words


def _name_levels(question: Question, parameters: CellParameters) -> str:
    """Return which levels a cell would have answered for: those that it takes in turn, or its own."""
    arms = parameters.arms()
    levels = [arm[question.by] for arm in arms if question.by in arm] or [getattr(parameters, question.by)]
    words = " and ".join(call_level(question.by, level) for level in levels)
    return f"{call_level(question.row, getattr(parameters, question.row))}, {words}" if question.row else words
