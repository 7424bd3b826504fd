"""Answers about your own documents, from the cells that ran.

Begin with `answer_questions`: a `Reply` per question, with an `OperationAnswer` per operation,
which has a `Bar` per level. `benchbook.explorer.your_documents` shows them.
"""

import gc
import gzip
import json
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isnan, nan
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa

from benchbook import codecs, grid
from benchbook.analysis.block_means import BlockMeans, compute_block_means, load_block_means
from benchbook.analysis.comparisons import (
    A_OVER_B,
    Comparison,
    add_noisy_blocks,
    compare_means,
)
from benchbook.analysis.forecast import Need, estimate_need
from benchbook.analysis.intervals import MIN_BLOCKS, compute_geometric_interval
from benchbook.analysis.quantities import name_elapsed_times
from benchbook.analysis.study_means import StudyMeans, select_first_arms
from benchbook.explorer.documents import QUESTIONS, Question, Request
from benchbook.explorer.text import (
    State,
    classify_fastest,
    classify_level,
    describe_need,
    omit_folder,
    write_sentence,
)
from benchbook.grid.cells import list_result_keys
from benchbook.plots import labels
from benchbook.registry.products import name_database, name_level, parse_name
from benchbook.results.folder import open_results
from benchbook.studies import bookstore
from benchbook.studies.cell import CellParameters
from benchbook.text.number_format import (
    format_count,
    format_estimate,
    format_number,
    format_quantity,
)
from benchbook.text.sentences import mark_noisy_blocks, write_comparison

_PACKINGS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "": bytes,
    "gzip": partial(gzip.compress, compresslevel=6),
    "zstd": partial(pa.Codec("zstd", compression_level=3).compress, asbytes=True),
}
"""How a document's bytes can be packed, at the levels that both programs take by themselves."""


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
    noisy: int = 0  # of these blocks, how many ran while other programs were busy

    @property
    def value_text(self) -> str:
        """The value with its unit."""
        return format_quantity(self.value, self.unit)

    @property
    def ratio_text(self) -> str:
        """The ratio with its interval and its state; only the state of the first bar."""
        if self.state in ("fastest", "smallest"):
            return self.state
        if isnan(self.low) and self.ratio == 1:
            return "× 1"
        ratio = f"× {format_estimate(self.ratio, self.low, self.high)}"
        return f"{ratio}, {self.state}" if self.state in ("alike", "undecided") else ratio


@dataclass(frozen=True)
class OperationAnswer:
    """The answer to a question in one operation."""

    operation: str  # ``to write``, or ``size``
    label: str  # of which level of the question's row; empty where there is one
    sentence: str
    advice: str  # what would settle it; empty where it is settled
    blocks: int  # how many blocks in all would settle it; 0 where it is settled, or none will
    bars: tuple[Bar, ...]  # the fastest first
    noisy: str  # in how many blocks other programs were busy; empty where they were not

    @property
    def line(self) -> str:
        """The sentence with its mark and the advice."""
        mark = f" [{self.noisy}]" if self.noisy else ""
        advice = f" {self.advice}." if self.advice else ""
        return f"{self.sentence}{mark}{advice}"


@dataclass(frozen=True)
class Reply:
    """The answer to a question."""

    name: str  # in `QUESTIONS`
    answers: tuple[OperationAnswer, ...]
    not_tried: Mapping[str, Sequence[str]]  # by the reason, the levels that could not be tried
    libraries: tuple[str, ...] = ()  # that did the work, with their versions
    records: int = 0  # that each time is of
    blocks: int = 0  # that were asked for
    measured: int = 0  # cells and blocks
    noisy: int = 0  # how many of them ran while other programs were busy
    memory: float = 0.0  # bytes of the records as Python's objects, once they are read; 0: unknown

    @property
    def question(self) -> Question:
        """The question."""
        return QUESTIONS[self.name]

    @property
    def small_print(self) -> list[str]:
        """How it was measured, in sentences."""
        sentences = []
        if self.answers:
            sentences.append(f"It holds for {self.question.holds_for}.")
        if self.records:
            records = format_count(self.records, "record")
            sentences.append(f"Each time is of {records}, handled {self.question.conditions}.")
            sentences.append("A bar is the geometric mean of its blocks, as the ratios are.")
        if self.memory:
            size = format_quantity(self.memory, "B")
            sentences.append(
                f"Once read, the records take about {size} of memory, from either format."
            )
        if self.answers and self.question.by != "format":
            sentences.append("Bytes are not measured here, only times.")
        if self.noisy:
            cells = format_count(self.measured, "cell")
            is_counted = any(answer.noisy for answer in self.answers)
            advice = "; a quiet machine measures better" if is_counted else ", and are left out"
            sentences.append(f"{self.noisy} of {cells} ran while other programs were busy{advice}.")
        if self.libraries:
            sentences.append(f"Measured through {', '.join(self.libraries)}.")
        return sentences


def answer_questions(chosen: Sequence[str], requests: Sequence[Request]) -> list[Reply]:
    """Return the answers that the finished cells of some requests give, a reply per question."""
    return [_answer_question(name, one) for name, one in zip(chosen, requests, strict=True)]


def _answer_question(name: str, request: Request) -> Reply:
    """Return the answer to a question: each level against the fastest, by operation."""
    question = QUESTIONS[name]
    cells, not_tried = _list_not_tried(question, request)
    means = select_first_arms(
        compute_block_means(load_block_means(open_results(), list_result_keys(cells)))
    )
    if means.empty:
        return Reply(name, (), not_tried)

    # The times, then the sizes.
    answers = _compare_times(question, means)
    memory = 0.0
    if question.by == "format":
        answers += _compare_sizes(request)
        memory = measure_memory(request)
    ran = means.drop_duplicates(["cell_id", "block"])
    return Reply(
        name,
        tuple(answers),
        not_tried,
        libraries=_list_libraries(means),
        records=int(means["n"].max()),
        blocks=request.blocks,
        measured=len(ran),
        noisy=int(ran["noisy"].fillna(False).astype(bool).sum()),
        memory=memory,
    )


def _compare_times(question: Question, means: pd.DataFrame) -> list[OperationAnswer]:
    """Return the answer in each operation, one row of the question after the other."""
    versions = labels.list_versions(means)
    measured = StudyMeans(question.study, name_elapsed_times(means))
    quantities = [(operation, "client", question.metric) for operation in question.operations]
    answers = []
    for quantity, language, common, sides in measured.match_levels(
        question.by, question.loose, quantities
    ):
        names = {
            level: _name_level(question.by, level, {level: side}, versions)
            for level, side in sides.items()
        }
        label = ""
        if question.row:
            label = _name_level(question.row, common.get(question.row), sides, versions)
        about = {"operation": quantity[0], "language": language, "settings": common, "label": label}
        answer = _compare_with_fastest(question, about, sides, names, measured)
        if answer:
            answers.append(answer)

    order = list(dict.fromkeys(answer.label for answer in answers))
    return sorted(answers, key=lambda answer: order.index(answer.label))


def _compare_with_fastest(
    question: Question,
    about: Mapping[str, Any],
    sides: Mapping[str, BlockMeans],
    names: Mapping[str, str],
    measured: StudyMeans,
) -> OperationAnswer | None:
    """Return how many times the fastest level's time each other took; None if fewer than two ran.

    Noisy blocks count where there are too few others for an interval.

    Parameters
    ----------
    about
        The comparison's operation, language, settings and label.
    sides, names
        What was measured at each level, and the level's name in the answer.
    """
    ran = {}
    for level, side in sides.items():
        counted = add_noisy_blocks({level: side})[level]
        if len(counted.blocks):
            ran[level] = counted
    if len(ran) < 2:
        return None
    # Each other level over the fastest. Ratios are of logarithms, so a bar is a geometric mean.
    means = {
        level: compute_geometric_interval(side.values, measured.machine_days[side.blocks]).estimate
        for level, side in ran.items()
    }
    fastest, *others = sorted(means, key=means.__getitem__)
    rows = []
    for level in others:
        terms = add_noisy_blocks({"a": sides[level], "b": sides[fastest]})
        row = Comparison(
            study=question.study,
            name=question.text,
            role="client",
            metric=question.metric,
            a=names[level],
            b=names[fastest],
            n=about["settings"].get("n"),
            **about,
            **compare_means(A_OVER_B, terms, measured.machine_days),
        )
        rows.append(row)
    bars = _make_bars([(means[level], ran[level]) for level in (fastest, *others)], rows)
    return _summarise(question.operations[about["operation"]], rows, bars)


def _make_bars(sides: Sequence[tuple[float, BlockMeans]], rows: Sequence[Comparison]) -> list[Bar]:
    """Return a bar per level, the fastest first.

    Parameters
    ----------
    sides
        The mean of each level and its blocks that count, the fastest first.
    rows
        The other levels over the fastest, in the same order.
    """
    # The values, as shares of the largest.
    largest = max(mean for mean, _ in sides)
    bars = []
    for level, (mean, side) in zip((rows[0].b, *(row.a for row in rows)), sides, strict=True):
        bar = Bar(
            level,
            mean,
            side.unit,
            mean / largest,
            classify_fastest(rows),
            blocks=len(side.blocks),
            machine_days=rows[0].machine_days,
            noisy=side.noisy,
        )
        bars.append(bar)
    # The ratios; the first bar is what the others are compared with.
    for number, row in enumerate(rows, 1):
        state = classify_level(row)
        bars[number] = replace(
            bars[number], state=state, ratio=row.estimate, low=row.low, high=row.high
        )
    return bars


def _summarise(operation: str, rows: Sequence[Comparison], bars: Sequence[Bar]) -> OperationAnswer:
    """Return the answer in one operation, with what would settle it."""
    blocks = min(row.blocks for row in rows)
    noisy = max(row.noisy for row in rows)
    need = find_hardest_need(rows)
    return OperationAnswer(
        operation=operation,
        label=rows[0].label,
        sentence=write_sentence(operation, rows),
        advice=describe_need(need, blocks, noisy=noisy > 0) if need else "",
        blocks=blocks + need.blocks if need and need.blocks else 0,
        bars=tuple(bars),
        noisy=mark_noisy_blocks(noisy, blocks),
    )


def find_hardest_need(rows: Sequence[Comparison]) -> Need | None:
    """Return the blocks that would decide all comparisons with the fastest level, if any."""
    blocks = min(row.blocks for row in rows)
    needs = []
    for row in rows:
        state = classify_level(row)
        if state == "too few blocks":
            return Need(blocks=MIN_BLOCKS - blocks, interval=True)
        if state == "undecided":
            needs.append(estimate_need(row))

    def rank(need: Need) -> tuple[bool, bool, int, int]:
        """Return a key that is larger for what is harder to get."""
        is_out_of_reach = not need.blocks and not need.days
        return need.parity, is_out_of_reach, need.days, need.blocks

    return max(needs, key=rank, default=None)


def _compare_sizes(request: Request) -> list[OperationAnswer]:
    """Return how many bytes each format's document has, plain and packed; sizes are exact."""
    # The document of each format, as the cells of the request write it.
    parameters = bookstore.Parameters.model_validate(request.settings)
    document = bookstore.build_object(parameters)
    records = document.build()
    documents: dict[str, bytes] = {}
    for name in parameters.codecs():
        codec = codecs.load_codec(name)
        documents[codec.format] = document.encoder(codec)(records)

    answers = []
    for packing, pack in _PACKINGS.items():
        sizes = {name: float(len(pack(data))) for name, data in documents.items()}
        (least, smallest), (most, largest) = sorted(sizes.items(), key=lambda item: item[1])
        ratio = largest / smallest
        bars = (
            Bar(name_level("format", least), smallest, "B", smallest / largest, "smallest"),
            Bar(name_level("format", most), largest, "B", 1.0, "larger", ratio),
        )
        compared = write_comparison(
            bars[1].level, bars[0].level, "ratio", "size", format_number(ratio)
        )
        after = f", packed by {packing}" if packing else ""
        sentence = f"{compared}{after}: {bars[1].value_text}, {bars[0].value_text}."
        operation = f"size, {packing}" if packing else "size"
        answers.append(OperationAnswer(operation, "", sentence, "", 0, bars, ""))
    return answers


def measure_memory(request: Request) -> float:
    """Return the bytes of the objects that a request's records are in Python, once they are read.

    They are rounded to two digits. Both formats are read into equal objects, so one is enough.
    """
    parameters = bookstore.Parameters.model_validate(request.settings)
    document = bookstore.build_object(parameters)
    codec = codecs.load_codec(parameters.json_codec)
    data = document.encoder(codec)(document.build())
    decode = document.decoder(codec)
    # What a codec keeps is not counted, and nothing that Python would use again is left.
    decode(data)
    gc.collect()
    tracemalloc.start()
    read = decode(data)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del read
    return float(f"{size:.2g}")  # a run differs from the next by a few hundred bytes


def _list_not_tried(
    question: Question, request: Request
) -> tuple[list[grid.Cell], dict[str, list[str]]]:
    """Return a request's cells, and by the reason the levels that could not be tried."""
    try:
        plan = request.plan()
    except grid.NoneFitsError as error:
        plan = grid.Plan([], error.skipped)

    # Levels once each, in their order.
    not_tried: dict[str, dict[str, None]] = {}
    file = Path(str(request.settings["dataset_file"]))
    for left_out in plan.skipped:
        why = omit_folder(left_out.why, file)
        for parameters in left_out.refused:
            not_tried.setdefault(why, {})[_label_levels(question, parameters)] = None
    for cell in plan.cells:
        why = cell.missing or ""
        if not why and cell.state == "failed":
            why = "its cell failed; the run's lines above say why"
        elif not why and cell.state == "todo":
            why = "its cell has not run yet"
        if why:
            not_tried.setdefault(why, {})[_label_levels(question, cell.parameters)] = None
    return plan.cells, {why: [*levels] for why, levels in not_tried.items()}


def _list_libraries(means: pd.DataFrame) -> tuple[str, ...]:
    """Return the products, drivers and codecs that did the work, with their versions."""
    products = set()
    servers = means[["database", "database_version"]].dropna().drop_duplicates()
    for database, version in servers.to_numpy():
        if version:
            products.add(f"{name_database(parse_name(database).product)} {version}")

    drivers: set[str] = set()
    for text in means["driver_version"].dropna().unique():
        drivers |= set(text.split(", "))

    codecs = []
    written = means.dropna(subset=["codec"]).drop_duplicates("codec")
    for codec, environment in zip(written["codec"], written["environment"], strict=True):
        libraries = json.loads(environment or "{}").get("libraries", {})
        codecs.append(f"{name_level('codec', codec)} {libraries.get(codec, '')}".strip())
    return (*sorted(products), *sorted(drivers), *codecs)


def _name_level(
    factor: str, level: object, sides: Mapping[str, BlockMeans], versions: Mapping[str, str]
) -> str:
    """Return a level's name: a database with its version, a format with its library."""
    name = name_level(factor, level)
    if factor == "database" and str(level) in versions:
        product, bracket, model = name.partition(" (")
        return f"{product} {versions[str(level)]}{bracket}{model}"
    if factor == "format":
        names = {str(side.settings["codec"]) for side in sides.values()}
        return f"{name} ({' and '.join(sorted(names))})"
    return name


def _label_levels(question: Question, parameters: CellParameters) -> str:
    """Return the levels that a cell stands for: those that it alternates, or its own."""
    levels = [arm[question.by] for arm in parameters.variants() if question.by in arm]
    if not levels:
        levels = [getattr(parameters, question.by)]
    names = " and ".join(name_level(question.by, level) for level in levels)
    if not question.row:
        return names
    return f"{name_level(question.row, getattr(parameters, question.row))}, {names}"
