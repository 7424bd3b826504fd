"""Your own documents measured by questions: which format, store or driver, what a replica costs, which tables.

`requests` says what is to be measured of a file, and `answers` what the finished cells say. `benchbook ask` prints the
answers, and `notebooks/06_your_documents.ipynb` shows them as cards.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan, log, nan, sqrt
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from benchbook import grid
from benchbook.datasets import own_records
from benchbook.digits import estimate, number, plural, quantity
from benchbook.evidence.claims import several
from benchbook.evidence.comparisons import A_OVER_B, MARGIN, equivalent
from benchbook.evidence.contrasts import enumerated
from benchbook.evidence.effects import Effect, effect
from benchbook.evidence.means import Triple, ended
from benchbook.evidence.measured import Measured, first_arms
from benchbook.evidence.published import CellSettings, text
from benchbook.evidence.runs import Run
from benchbook.evidence.sides import Side
from benchbook.explorer.contrasts import called_level
from benchbook.plots import names
from benchbook.plots.points import each
from benchbook.registry import title
from benchbook.stats.inference import quantile
from benchbook.studies.cell import CellParameters

RECORDS: Final = 200
BLOCKS: Final = 3
"""How much is measured if nothing else is asked for: of a file with fewer records all of them."""

FIELDS: Final = 40
"""Fields of a file that are listed at most."""

MOST_BLOCKS: Final = 30
"""Who cannot be told apart in so many blocks is not worth the wait."""

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
    """An answer to a question."""

    question: Question
    sentences: tuple[str, ...]
    table: pd.DataFrame  # ``what`` (where several were asked one by one), ``operation``, and the fields of `Raced`
    untried: Mapping[str, Sequence[str]]  # by the reason, the levels that could not be tried
    through: tuple[str, ...] = ()  # the libraries that did the work, with their versions
    records: int = 0  # that each time is of
    blocks: int = 0  # that would decide what is open, if the estimates stay; 0: nothing is, or too many would
    measured: int = 0  # cells and blocks that the answer is of
    disturbed: int = 0  # of them, those that ran while other programs were busy

    @property
    def levels(self) -> int:
        """How many levels raced."""
        return self.table["level"].nunique() if len(self.table) else 0

    def rows(self) -> list[dict[str, str]]:
        """Return the times as they are read: a row per level, a column per operation."""
        rows: dict[tuple[str, str], dict[str, str]] = {}
        for raced in each(self.table):
            shown = rows.setdefault((raced.what, raced.level), {"": f"{raced.what} {raced.level}".strip()})
            times = (
                "the fastest"
                if isnan(raced.low) and raced.ratio == 1
                else f"× {estimate(raced.ratio, raced.low, raced.high)}"
            )
            shown[self.question.operations[raced.operation]] = f"{number(raced.ms)} ms, {times}"
        heads = ["", *self.question.operations.values()]
        return [{head: row.get(head, "–") for head in heads} for row in rows.values()]


@dataclass(frozen=True)
class Raced:
    """One of the levels that raced, and how many times the fastest's time its is, with the 95 % interval or NaN."""

    level: str
    ms: float
    ratio: float
    low: float
    high: float


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
    """Return the answers that the finished cells of those requests give; a question without any says what it lacks."""
    return [_answer(QUESTIONS[name], request) for name, request in zip(chosen, asked, strict=True)]


def _answer(question: Question, request: Request) -> Reply:
    cells, untried = _tried(question, request)
    means = first_arms(Run.of_results("own documents", grid.keys(cells)).means)
    versions = names.versions(means)
    quantities = [(operation, "client", question.metric) for operation in question.operations]
    measured: Iterable[tuple[Triple, str, CellSettings, Mapping[str, Side]]] = ()
    if len(means):
        measured = Measured(question.study, ended(means)).every(question.by, question.loose, quantities)
    rows: list[dict[str, object]] = []
    sentences, needed = [], []
    for (operation, _, _), _, common, sides in measured:
        what = _named(question.row, common.get(question.row), sides, versions) if question.row else ""
        raced, leads = _race(question.by, sides, versions)
        rows += [{"what": what, "operation": operation, **vars(row)} for row in raced]
        if leads:
            wanting = [blocks_that_decide(lead) for lead in leads if not lead.low > 1]
            more = max(wanting, default=0) if all(wanting) else 0
            sentences.append(_sentence(what, question.operations[operation], raced, leads[0].blocks, more))
            needed.append(more)
    sentences += _compare_sizes(question, means)
    records = int(means["n"].max()) if len(means) else 0
    libraries, blocks = _libraries(means), max(needed, default=0)
    ran = means.drop_duplicates(["cell_id", "block"]) if len(means) else means
    disturbed = int(ran["disturbed"].fillna(False).astype(bool).sum()) if len(ran) else 0
    counts = (records, blocks, len(ran), disturbed)
    return Reply(question, tuple(sentences), pd.DataFrame(rows), untried, libraries, *counts)


def _compare_sizes(question: Question, means: pd.DataFrame) -> list[str]:
    """Return which format's documents are larger, in a sentence; sizes are exact. Nothing of other questions."""
    if question.by != "format" or means.empty:
        return []
    sizes = means[(means["operation"] == "marshal") & (means["metric"] == "size")].groupby("format")["value"].mean()
    if len(sizes) < 2:
        return []
    small, large = sizes.nsmallest(1), sizes.nlargest(1)
    said = [f"{called_level('format', side.index[0])} {quantity(side.iloc[0], 'B')}" for side in (large, small)]
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


def _race(factor: str, sides: Mapping[str, Side], versions: Mapping[str, str]) -> tuple[list[Raced], list[Effect]]:
    """Return a factor's levels, the fastest first, and how many times its time each of the others took."""
    (first, fastest), *others = sorted(sides.items(), key=lambda named_side: _mean_ns(named_side[1]))
    raced = [Raced(_named(factor, first, {first: fastest}, versions), _mean_ns(fastest) / 1e6, 1.0, nan, nan)]
    leads = []
    for level, side in others:
        lead = effect(A_OVER_B, {"a": side, "b": fastest})
        ends = (lead.low, lead.high) if isfinite(lead.high) else (nan, nan)
        raced.append(Raced(_named(factor, level, {level: side}, versions), _mean_ns(side) / 1e6, lead.ratio, *ends))
        leads.append(lead)
    return raced, leads


def _mean_ns(side: Side) -> float:
    """Return the geometric mean of a side's blocks, in ns: that of which a ratio is made."""
    return float(np.exp(np.log(side.values).mean()))


def _libraries(means: pd.DataFrame) -> tuple[str, ...]:
    """Return the products and libraries that did the work, with their versions."""
    if means.empty:
        return ()
    servers = means[["engine", "engine_version"]].dropna().drop_duplicates().to_numpy()
    products = {f"{title(engine.partition('+')[0])} {version}" for engine, version in servers if version}
    drivers = {part for text in means["driver_version"].dropna().unique() for part in text.split(", ")}
    written = means.dropna(subset=["codec"]).drop_duplicates("codec")
    codecs = []
    for codec, environment in zip(written["codec"], written["environment"], strict=True):
        libraries = json.loads(environment or "{}").get("libraries", {})
        codecs.append(f"{names.codec(codec)} {libraries.get(codec, '')}".strip())
    return (*sorted(products), *sorted(drivers), *codecs)


def blocks_that_decide(lead: Effect) -> int:
    """Return how many blocks would tell two sides apart, if their ratio stays where it is, and its spread.

    0 where they are apart already, where nothing is known of the spread, or more than `MOST_BLOCKS` would be needed.
    """
    if not lead.low <= 1 <= lead.high or not isfinite(lead.error) or lead.ratio <= 0:
        return 0
    spread = lead.error * sqrt(lead.blocks)
    for blocks in range(lead.blocks + 1, MOST_BLOCKS + 1):
        if quantile(blocks - 1, 0.975) * spread / sqrt(blocks) < abs(log(lead.ratio)):
            return blocks
    return 0


def _named(factor: str, level: object, sides: Mapping[str, Side], versions: Mapping[str, str]) -> str:
    """Return what a level is called: a store's with its version, a format with the library that wrote it."""
    words = called_level(factor, level)
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
    words = " and ".join(called_level(question.by, level) for level in levels)
    return f"{called_level(question.row, getattr(parameters, question.row))}, {words}" if question.row else words


_STATES: Final = {"todo": "has not run yet", "failed": "failed; the run's lines above say why"}


def _sentence(what: str, operation: str, raced: Sequence[Raced], blocks: int, needed: int) -> str:
    """Return who was fastest, by how much and how surely; who cannot be told apart from it is named, however near.

    Where some cannot in so many `blocks`, it says how many are `needed` if all stays as it is.
    """
    before, fastest, second = f"{what}: " if what else "", raced[0].level, raced[1]
    if isnan(second.low):
        return f"{before}{fastest} was faster than {second.level} {operation}, in one block: nothing says how surely."
    if near := [other for other in raced[1:] if not other.low > 1]:
        if needed:
            hope = f"{plural(needed - blocks, 'block')} more would do it, if the difference is what it seems"
        elif all(equivalent(other.low, other.high) for other in near):
            hope = f"They are alike within {round(100 * (MARGIN - 1))} %"
        else:
            hope = f"No difference is shown, nor that there is none; {MOST_BLOCKS} blocks would hardly show it"
        apart = f"{enumerated([fastest, *(other.level for other in near)])} cannot be told apart {operation}"
        found = ""  # of several the table has the ratios
        if len(near) == 1:
            found = f": {near[0].level} took {estimate(near[0].ratio, near[0].low, near[0].high)} times as long"
        longer = [other.level for other in raced[1:] if other.low > 1]
        rest = f"; {enumerated(longer)} took longer" if longer else ""
        return f"{before}{apart} in {plural(blocks, 'block')}{found}{rest}. {hope}."
    times = f"{estimate(second.ratio, second.low, second.high)} times"
    if len(raced) == 2:
        return f"{before}{second.level} took {times} as long {operation} as {fastest}."
    return f"{before}{fastest} was the fastest {operation}; the next, {second.level}, took {times} as long."
