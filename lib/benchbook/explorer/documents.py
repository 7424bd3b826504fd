"""One's own documents measured by questions: which format, which store, driver or mapper, replicated or not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan, nan
from pathlib import Path
from typing import Final

import pandas as pd

from benchbook import grid
from benchbook.datasets import own_records
from benchbook.digits import estimate
from benchbook.evidence.comparisons import A_OVER_B
from benchbook.evidence.effects import effect
from benchbook.evidence.means import ended
from benchbook.evidence.runs import Run
from benchbook.evidence.sides import Measured, Side, first_arms
from benchbook.explorer.contrasts import called_level
from benchbook.explorer.running import Request
from benchbook.inputs import InputError
from benchbook.plots import names
from benchbook.studies.cell import CellParameters

RECORDS: Final = 200
"""Records that are measured at most, unless more are asked for: a first look of a minute or two."""

BLOCKS: Final = 3
_STORES: Final = "mongodb,couchdb,postgresql+jsonb,mysql+json,postgresql+relational,mysql+relational"
_PAIRS: Final = "mongodb,postgresql+relational,mysql+relational"


@dataclass(frozen=True)
class Question:
    """What a person asks of documents, and how a study answers it.

    Parameters
    ----------
    text
        The question.
    settings
        Parameters of its cells, as `benchbook.explorer.running.Request` takes them.
    by
        The column whose levels are the possible answers.
    loose
        What may differ beside it.
    row
        The column whose levels are asked one by one; empty where there is one.
    metric, role
        What is compared.
    operations
        Each with what it is called in the answer.
    """

    text: str
    study: str
    settings: Mapping[str, object]
    by: str
    loose: tuple[str, ...]
    row: str
    metric: str
    operations: Mapping[str, str]


_STORED: Final = {"insert": "to insert", "select": "to read", "update": "to update", "delete": "to delete"}
QUESTIONS: Final[dict[str, Question]] = {
    "format": Question(
        "JSON or XML?", "bookstore",
        {"lane": "python", "case": 1, "keys": "paper", "process": "together", "json_codec": "orjson",
         "xml_codec": "lxml", "repetitions": 10},
        "format", ("codec",), "", "wall_time",
        {"marshal": "to write", "unmarshal": "to read", "round_trip": "to write and read back"},
    ),
    "store": Question(
        "Which store?", "crud",
        {"lane": "python", "engine": _STORES, "topology": "single", "constraints": "on", "repetitions": 2},
        "engine", ("model", "driver"), "", "elapsed_time", _STORED,
    ),
    "mapper": Question(
        "Driver or object mapper?", "drivers",
        {"lane": "python", "driver": "pymongo+mongoengine", "process": "together", "attributes": 89,
         "repetitions": 3},
        "driver", ("engine",), "", "wall_time",
        {"insert": "to insert", "find": "to find", "update": "to update", "delete": "to delete"},
    ),
    "replicated": Question(
        "What does a replica cost?", "crud",
        {"lane": "python", "engine": _PAIRS, "topology": "single,replicated", "constraints": "on", "repetitions": 2},
        "topology", (), "engine", "elapsed_time",
        {name: words for name, words in _STORED.items() if name != "select"},
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Reply:
    """An answer to a question.

    Parameters
    ----------
    question
        What was asked.
    sentences
        What came out, each beside an operation's name.
    table
        ``what`` (where several were asked one by one), ``operation``, ``level``, ``ms``, and against the fastest
        ``ratio, low, high``.
    untried
        By the reason, the levels that could not be tried.
    """

    question: Question
    sentences: tuple[str, ...]
    table: pd.DataFrame
    untried: Mapping[str, Sequence[str]]


def requests(file: str | Path, chosen: Sequence[str], n: int | None = None, blocks: int = BLOCKS) -> list[Request]:
    """Return what is to be measured to answer some questions of a file.

    Parameters
    ----------
    file
        CSV with a head or JSON Lines.
    chosen
        Names in `QUESTIONS`.
    n
        How many records; None: all, at most `RECORDS`.

    Raises
    ------
    benchbook.inputs.InputError
        When the file cannot be taken: with its line and the reason.
    """
    path = Path(file).expanduser().resolve()
    records = len(own_records.read(path).records)
    given = {"dataset_file": str(path), "n": min(records, RECORDS) if n is None else n}
    return [Request(QUESTIONS[name].study, {**QUESTIONS[name].settings, **given}, blocks) for name in chosen]


def answers(chosen: Sequence[str], asked: Sequence[Request]) -> list[Reply]:
    """Return the answers that the finished cells of those requests give; a question without any says what it lacks."""
    return [_answer(QUESTIONS[name], request) for name, request in zip(chosen, asked, strict=True)]


def _answer(question: Question, request: Request) -> Reply:
    missing: dict[str, dict[str, None]] = {}
    for left_out in request.refused():
        for parameters in left_out.refused:
            missing.setdefault(left_out.why, {})[_asked(question, parameters)] = None
    try:
        cells = request.cells()
    except InputError:
        if not missing:
            raise
        cells = []  # all refuse the records
    for cell in cells:
        if why := cell.missing or ("" if cell.state == "done" else f"its cell {_STATES.get(cell.state, cell.state)}"):
            missing.setdefault(why, {})[_asked(question, cell.parameters)] = None
    means = first_arms(Run.of_results("own documents", grid.keys(cells)).means)
    rows: list[dict[str, object]] = []
    sentences = []
    quantities = [(operation, "client", question.metric) for operation in question.operations]
    ways = Measured(question.study, ended(means)).every(question.by, question.loose, quantities) if len(means) else ()
    versions = names.versions(means)
    for (operation, _, _), _, common, sides in ways:
        what = _named(question.row, common.get(question.row), sides, versions) if question.row else ""
        ranked = sorted(sides.items(), key=lambda named_side: float(named_side[1].values.mean()))
        _, fastest = ranked[0]
        raced = [_row(_named(question.by, level, {level: side}, versions), side, fastest) for level, side in ranked]
        rows += [{"what": what, "operation": operation, **row} for row in raced]
        if len(raced) > 1:
            sentences.append(_sentence(what, question.operations[operation], raced[0], raced[1], len(raced)))
    return Reply(question, tuple(sentences), pd.DataFrame(rows), {why: [*levels] for why, levels in missing.items()})


def _named(factor: str, level: object, sides: Mapping[str, Side], versions: Mapping[str, str]) -> str:
    """Return what a level is called: a store's with what stood in for it, a format with the library that wrote it."""
    words = called_level(factor, level)
    if factor == "engine" and any(side.stand_in for side in sides.values()):
        return f"{versions[str(level)].removesuffix(' (stand-in)')} (standing in for {words})"
    if factor == "format":
        return f"{words} ({' and '.join(sorted({names.codec(side.settings['codec']) for side in sides.values()}))})"
    return words


def _asked(question: Question, parameters: CellParameters) -> str:
    """Return which levels a cell would have answered for: those that it takes in turn, or its own."""
    arms = parameters.arms()
    levels = [arm[question.by] for arm in arms if question.by in arm] or [getattr(parameters, question.by)]
    words = " and ".join(called_level(question.by, level) for level in levels)
    return f"{called_level(question.row, getattr(parameters, question.row))}, {words}" if question.row else words


_STATES: Final = {"todo": "has not run yet", "failed": "failed; the run's lines above say why"}


def _row(level: str, side: Side, fastest: Side) -> dict[str, object]:
    times = effect(A_OVER_B, {"a": side, "b": fastest})
    known = side is not fastest and isfinite(times.high)
    return {
        "level": level,
        "ms": float(side.values.mean()) / 1e6,
        "ratio": 1.0 if side is fastest else times.ratio,
        "low": times.low if known else nan,
        "high": times.high if known else nan,
    }


def _sentence(what: str, operation: str, first: Mapping[str, object], second: Mapping[str, object], of: int) -> str:
    """Return who was fastest, by how much and how surely; the interval is that of the second over the first."""
    ratio, low, high = (float(str(second[name])) for name in ("ratio", "low", "high"))
    before, fastest, other = f"{what}: " if what else "", first["level"], second["level"]
    if isnan(low):
        return f"{before}{fastest} was faster than {other} {operation}, in one block: nothing says how surely."
    times = f"{estimate(ratio, low, high)} times"
    if low <= 1:
        return f"{before}{fastest} and {other} cannot be told apart {operation} in so few blocks: {times} as long."
    if of == 2:
        return f"{before}{other} took {times} as long {operation} as {fastest}."
    return f"{before}{fastest} was the fastest {operation}; the next, {other}, took {times} as long."
