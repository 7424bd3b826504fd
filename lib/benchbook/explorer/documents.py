"""Your own documents measured by questions: which format, store or driver, what a replica costs, which tables.

`requests` says what is to be measured of a file, and `answers` what the finished cells say. `benchbook ask` prints the
answers, and `notebooks/06_your_documents.ipynb` shows them as cards.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from benchbook import grid
from benchbook.analysis import Comparison
from benchbook.analysis.block_means import ended
from benchbook.analysis.claims import several
from benchbook.analysis.comparisons import A_OVER_B, compare
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.analysis.published import CellSettings, text
from benchbook.analysis.runs import Run
from benchbook.analysis.sides import Measured, Side, first_arms
from benchbook.datasets import own_records
from benchbook.digits import estimate, number, plural, quantity
from benchbook.explorer.questions import call_level
from benchbook.plots import names
from benchbook.registry import title
from benchbook.studies.cell import CellParameters

RECORDS: Final = 200
"""Records that are measured if nothing else is asked for: all of a smaller file."""

BLOCKS: Final = MIN_BLOCKS
"""Blocks that are measured if nothing else is asked for."""

MARGIN: Final = 1.1
"""Two levels whose ratio's interval lies within this are alike."""

FIELDS: Final = 40
"""Fields of a file that are listed at most."""

_ONE_BY_ONE: Final = "one call a record, as an application does that answers requests"

_STORES: Final = "mongodb,couchdb,postgresql+jsonb,mysql+json,postgresql+relational,mysql+relational"
_TABLES: Final = "postgresql+relational,mysql+relational"
_PAIRS: Final = f"mongodb,{_TABLES}"


@dataclass(frozen=True)
class Question:
    """What a person asks of documents, and how a study answers it."""

    text: str
    study: str
    settings: CellSettings  # parameters of its cells, as `Request` takes them
    by: str  # the column whose levels are the possible answers
    loose: tuple[str, ...]  # what may differ beside it
    row: str  # the column whose levels are asked one by one; empty where there is one
    metric: str  # what is compared, of the client
    operations: Mapping[str, str]  # each with what it is called in the answer
    way: str  # how the records were handled, and what a reader may take for granted and should not


_STORED: Final = {"insert": "to insert", "select": "to read", "update": "to update", "delete": "to delete"}
QUESTIONS: Final[dict[str, Question]] = {
    "json-or-xml": Question(
        "JSON or XML?", "bookstore",
        {"lane": "python", "case": 1, "keys": "paper", "process": "together", "json_codec": "orjson",
         "xml_codec": "lxml", "room": "none", "repetitions": 10},
        "format", ("codec",), "", "wall_time",
        {"marshal": "to write", "unmarshal": "to read", "round_trip": "to write and read back"},
        "as one document, in a file",
    ),
    "which-store": Question(
        "Which store?", "crud",
        {"lane": "python", "engine": _STORES, "topology": "single", "constraints": "on", "repetitions": 2},
        "engine", ("model", "driver"), "", "elapsed_time", _STORED,
        f"{_ONE_BY_ONE}. Each store has its own default of what a write waits for: MongoDB answers before the disk has "
        "it, PostgreSQL and MySQL after; benchbook run crud --set durability=strict has all of them wait",
    ),
    "which-driver": Question(
        "Driver or object mapper?", "drivers",
        {"lane": "python", "driver": "pymongo+mongoengine", "process": "together", "attributes": 89,
         "repetitions": 3},
        "driver", ("engine",), "", "wall_time",
        {"insert": "to insert", "find": "to find", "update": "to update", "delete": "to delete"},
        "in one call for all of them",
    ),
    "replica": Question(
        "What does a replica cost?", "crud",
        {"lane": "python", "engine": _PAIRS, "topology": "single,replicated", "constraints": "on", "repetitions": 2},
        "topology", (), "engine", "elapsed_time",
        {name: words for name, words in _STORED.items() if name != "select"},
        f"{_ONE_BY_ONE}, until the replica has all of it",
    ),
    "arrays": Question(
        "Arrays in a column or in tables?", "crud",
        {"lane": "python", "engine": _TABLES, "topology": "single", "constraints": "on", "arrays": "json,table",
         "repetitions": 2},
        "arrays", (), "engine", "elapsed_time", _STORED, _ONE_BY_ONE,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Request:
    """Some cells of a study, as `benchbook run` is asked for them."""

    study: str
    settings: CellSettings  # of one parameter several as a tuple or by commas; others are as in the quick profile
    blocks: int  # how often each cell is measured, at different times
    noisy: bool  # whether it is measured at once, whatever else the machine does

    @property
    def changes(self) -> list[str]:
        """The settings as ``--set`` takes them."""
        named = {**self.settings, "blocks": self.blocks}
        return [f"{name}={','.join(map(text, several(setting)))}" for name, setting in named.items()]

    @property
    def arguments(self) -> list[str]:
        """The words of the command."""
        sets = [part for change in self.changes for part in ("--set", change)]
        noisy = ["--noisy"] if self.noisy else []
        return ["run", self.study, "--profile", _PROFILE, "--where", _ONE_ARM, *sets, *noisy]

    def plan(self) -> grid.Plan:
        """Return its cells, done or not, and which refuse the records that they were given.

        Raises
        ------
        benchbook.grid.NoneFitsError
            When all refuse the records.
        benchbook.inputs.InputError
            When a value is wrong, with the nearest right one.
        """
        return grid.plan([self.study], _PROFILE, [_ONE_ARM], self.changes)


_PROFILE: Final = "quick"
_ONE_ARM: Final = "arm=a"


@dataclass(frozen=True)
class Reply:
    """The answer to a question."""

    question: Question
    comparisons: Sequence[Comparison]  # of each other level with the fastest, whose `label` is the row of the question
    sentences: tuple[str, ...]
    untried: Mapping[str, Sequence[str]]  # by the reason, the levels that could not be tried
    through: tuple[str, ...] = ()  # the libraries that did the work, with their versions
    records: int = 0  # that each time is of
    measured: int = 0  # cells and blocks
    noisy: int = 0  # of them, those that ran while other programs were busy

    def rows(self) -> list[dict[str, str]]:
        """Return the times as they are read: a row per level, a column per operation."""
        rows: dict[str, dict[str, str]] = {}
        for one in self.comparisons:
            operation = self.question.operations[one.operation]
            fastest, other = (f"{one.label} {level}".strip() for level in (one.b, one.a))
            of_fastest = f"{number(one.mean_b / 1e6)} ms, the fastest"
            rows.setdefault(fastest, {"": fastest}).setdefault(operation, of_fastest)
            ratio = estimate(one.estimate, one.low, one.high)
            rows.setdefault(other, {"": other})[operation] = f"{number(one.mean_a / 1e6)} ms, × {ratio}"
        heads = ["", *self.question.operations.values()]
        return [{head: row.get(head, "–") for head in heads} for row in rows.values()]


def field_rows(known: own_records.Understood, most: int = FIELDS) -> list[dict[str, str]]:
    """Return a file's fields as they are read: the type of each, and how many documents do not have it."""
    rows = []
    for field in known.fields[:most]:
        kind = _TYPES.get(field.type, field.type)
        if field.item not in (None, "json"):
            kind += f" of {_TYPES.get(field.item, field.item)}s"
        shares = {"absent": _share(field.absent, field.of), "null": _share(field.null, field.of)}
        rows.append({"field": field.path, "type": kind, **shares})
    if len(known.fields) > most:
        rows.append({"field": f"and {len(known.fields) - most} more", "type": "", "absent": "", "null": ""})
    return rows


def _share(count: int, of: int) -> str:
    """Return a share in percent: one that is not none is not 0 %."""
    if not count:
        return "–"
    percent = 100 * count / of if of else 0
    return "< 1 %" if percent < 1 else f"{percent:.0f} %"


_TYPES: Final = {"json": "differs in kind", "datetime": "moment", "date": "day", "string": "text"}


def requests(
    file: str | Path, chosen: Sequence[str], n: int | None = None, blocks: int = BLOCKS, *, noisy: bool = True
) -> list[Request]:
    """Return what is to be measured to answer some questions of a file.

    Parameters
    ----------
    file
        JSON, CSV or Parquet; what `benchbook.datasets.record_files` is told may stand behind its name.
    chosen
        Names in `QUESTIONS`.
    n
        How many records; None: all, at most `RECORDS`.
    blocks
        How often each cell is measured.
    noisy
        Whether it is measured at once, whatever else the machine does.

    Raises
    ------
    benchbook.inputs.InputError
        When the file cannot be taken: with its line and the reason.
    """
    path = Path(file).expanduser().resolve()
    records = own_records.understood(path).records
    given = {"dataset_file": str(path), "n": min(records, RECORDS) if n is None else n}
    asked = [QUESTIONS[name] for name in chosen]
    return [Request(question.study, {**question.settings, **given}, blocks, noisy) for question in asked]


def answers(chosen: Sequence[str], asked: Sequence[Request]) -> list[Reply]:
    """Return the answers that the finished cells of those requests give."""
    return [_answer(QUESTIONS[name], request) for name, request in zip(chosen, asked, strict=True)]


def _answer(question: Question, request: Request) -> Reply:
    cells, untried = _tried(question, request)
    means = first_arms(Run.of_results("own documents", grid.keys(cells)).means)
    if means.empty:
        return Reply(question, [], (), untried)
    ran = means.drop_duplicates(["cell_id", "block"])
    noisy = int(ran["disturbed"].fillna(False).astype(bool).sum())
    # Who does not wait for a quiet machine wants these blocks to count; the answer says how many there are.
    if request.noisy:
        means = means.assign(disturbed=False)

    # Each level against the fastest, operation by operation.
    comparisons, sentences = [], []
    versions = names.versions(means)
    measured = Measured(question.study, ended(means))
    quantities = [(operation, "client", question.metric) for operation in question.operations]
    for (operation, *_), language, common, sides in measured.alike(question.by, question.loose, quantities):
        label = _named(question.row, common.get(question.row), sides, versions) if question.row else ""
        called = {level: _named(question.by, level, {level: side}, versions) for level, side in sides.items()}
        about = {"operation": operation, "language": language, "label": label, "settings": common}
        rows = _compare_with_fastest(question, about, sides, called, measured)
        if rows:
            comparisons += rows
            sentences.append(_sentence(question.operations[operation], rows))
    sentences += _compare_sizes(question, means)
    records = int(means["n"].max())
    return Reply(question, comparisons, tuple(sentences), untried, _libraries(means), records, len(ran), noisy)


def _compare_with_fastest(
    question: Question,
    about: Mapping[str, Any],
    sides: Mapping[str, Side],
    called: Mapping[str, str],
    measured: Measured,
) -> list[Comparison]:
    """Return how many times the fastest level's time each other one took, the shortest first."""
    ran = {level: side for level, side in sides.items() if len(side.blocks)}
    if len(ran) < 2:
        return []
    fastest, *others = sorted(ran, key=lambda level: float(np.log(ran[level].values).mean()))
    return [
        Comparison(
            study=question.study,
            name=question.text,
            role="client",
            metric=question.metric,
            a=called[level],
            b=called[fastest],
            n=about["settings"].get("n"),
            **about,
            **compare(A_OVER_B, {"a": ran[level], "b": ran[fastest]}, measured.machine_days),
        )
        for level in others
    ]


def _compare_sizes(question: Question, means: pd.DataFrame) -> list[str]:
    """Return which format's documents are larger, in a sentence; sizes are exact. Nothing of other questions."""
    if question.by != "format" or means.empty:
        return []
    sizes = means[(means["operation"] == "marshal") & (means["metric"] == "size")].groupby("format")["value"].mean()
    if len(sizes) < 2:
        return []
    small, large = sizes.nsmallest(1), sizes.nlargest(1)
    said = [f"{call_level('format', side.index[0])} {quantity(side.iloc[0], 'B')}" for side in (large, small)]
    return [f"Size: {said[0]}, {said[1]}: {number(large.iloc[0] / small.iloc[0])} times."]


def without_folder(words: str, file: Path) -> str:
    """Return words about a file without its folder: a file that was picked in a browser is a copy in another folder."""
    return words.replace(f"{file.parent}{os.sep}", "")


def _tried(question: Question, request: Request) -> tuple[list[grid.Cell], dict[str, list[str]]]:
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
            untried.setdefault(why, {})[_asked(question, parameters)] = None
    for cell in plan.cells:
        why = cell.missing or ("" if cell.state == "done" else f"its cell {_STATES.get(cell.state, cell.state)}")
        if why:
            untried.setdefault(why, {})[_asked(question, cell.parameters)] = None
    return plan.cells, {why: [*levels] for why, levels in untried.items()}


def _libraries(means: pd.DataFrame) -> tuple[str, ...]:
    """Return the products and libraries that did the work, with their versions."""
    servers = means[["engine", "engine_version"]].dropna().drop_duplicates().to_numpy()
    products = {f"{title(engine.partition('+')[0])} {version}" for engine, version in servers if version}
    drivers = {part for text in means["driver_version"].dropna().unique() for part in text.split(", ")}
    written = means.dropna(subset=["codec"]).drop_duplicates("codec")
    codecs = []
    for codec, environment in zip(written["codec"], written["environment"], strict=True):
        libraries = json.loads(environment or "{}").get("libraries", {})
        codecs.append(f"{names.codec(codec)} {libraries.get(codec, '')}".strip())
    return (*sorted(products), *sorted(drivers), *codecs)


def _named(factor: str, level: object, sides: Mapping[str, Side], versions: Mapping[str, str]) -> str:
    """Return what a level is called: a store's with its version, a format with the library that wrote it."""
    words = call_level(factor, level)
    if factor == "engine" and str(level) in versions:
        product, bracket, model = words.partition(" (")
        return f"{product} {versions[str(level)]}{bracket}{model}"
    if factor == "format":
        return f"{words} ({' and '.join(sorted({names.codec(side.settings['codec']) for side in sides.values()}))})"
    return words


def _asked(question: Question, parameters: CellParameters) -> str:
    """Return which levels a cell would have answered for: those that it takes in turn, or its own."""
    arms = parameters.arms()
    levels = [arm[question.by] for arm in arms if question.by in arm] or [getattr(parameters, question.by)]
    words = " and ".join(call_level(question.by, level) for level in levels)
    return f"{call_level(question.row, getattr(parameters, question.row))}, {words}" if question.row else words


_STATES: Final = {"todo": "has not run yet", "failed": "failed; the run's lines above say why"}


def _sentence(operation: str, rows: Sequence[Comparison]) -> str:
    """Return which level was fastest, by how much, and which ones cannot be told apart from it.

    Where blocks are missing for an interval, or for a decision, the sentence says how to add them.
    """
    before = f"{rows[0].label}: " if rows[0].label else ""
    fastest, blocks = rows[0].b, min(row.blocks for row in rows)
    times = f"{rows[0].a} took {rows[0].words} times as long"
    if rows[0].reason and isnan(rows[0].estimate):
        return f"{before}{rows[0].a} and {fastest} {operation}: {rows[0].reason}."
    if blocks < MIN_BLOCKS:
        missing = f"{plural(MIN_BLOCKS - blocks, 'block')} more for an interval: --blocks {MIN_BLOCKS}"
        return f"{before}{times} {operation} as {fastest}, in {plural(blocks, 'block')}. {missing}."

    # The others that may be as fast as the fastest.
    near = [row for row in rows if not row.low > 1]
    if near:
        alike = " and ".join([", ".join([fastest, *(row.a for row in near[:-1])]), near[-1].a])
        found = f": {near[0].a} took {near[0].words} times as long" if len(near) == 1 else ""
        slower = [row.a for row in rows if row.low > 1]
        rest = f"; {', '.join(slower)} took longer" if slower else ""
        if all(row.low >= 1 / MARGIN and row.high <= MARGIN for row in near):
            advice = f"They are alike within {MARGIN - 1:.0%}"
        else:
            advice = f"More blocks narrow the interval, most on another day: --blocks {2 * blocks}"
        said = f"{alike} cannot be told apart {operation} in {plural(blocks, 'block')}"
        return f"{before}{said}{found}{rest}. {advice}."
    if len(rows) == 1:
        return f"{before}{times} {operation} as {fastest}."
    return f"{before}{fastest} was the fastest {operation}; the next, {times}."
