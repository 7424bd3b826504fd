"""Questions about your own documents: which format, store or driver, what a replica costs, how to keep arrays.

`requests` says what is to be measured of a file. `benchbook.explorer.replies` has the answers of the finished cells,
which `benchbook ask` prints and `notebooks/06_your_documents.ipynb` shows as cards.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchbook import grid
from benchbook.analysis.claims import several
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.analysis.published import CellSettings, text
from benchbook.datasets import own_records
from benchbook.digits import plural

RECORDS: Final = 200
"""Records that are measured if nothing else is asked for: all of a smaller file."""

BLOCKS: Final = MIN_BLOCKS
"""Blocks that are measured if nothing else is asked for."""

FIELDS: Final = 40
"""Fields of a file that are listed at most."""

_ONE_BY_ONE: Final = "one call per record, as an application that answers requests makes them"

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
    loose: tuple[str, ...]  # what may differ with it
    row: str  # the column whose levels are answered one by one; empty where there is one
    metric: str  # what is compared, of the client
    operations: Mapping[str, str]  # each with what it is called in the answer
    conditions: str  # how the records were handled, and what a reader could wrongly assume


_STORED: Final = {"insert": "to insert", "select": "to read", "update": "to update", "delete": "to delete"}
QUESTIONS: Final[dict[str, Question]] = {
    "json-or-xml": Question(
        "JSON or XML?", "bookstore",
        {"language": "python", "case": 1, "keys": "paper", "process": "together", "json_codec": "orjson",
         "xml_codec": "lxml", "network": "none", "repetitions": 10},
        "format", ("codec",), "", "wall_time",
        {"marshal": "to write", "unmarshal": "to read", "round_trip": "to write and read back"},
        "as one document, in a file",
    ),
    "which-store": Question(
        "Which store?", "crud",
        {"language": "python", "database": _STORES, "topology": "single", "constraints": "on", "repetitions": 2},
        "database", ("model", "driver"), "", "elapsed_time", _STORED,
        f"{_ONE_BY_ONE}. Durability is each database's default: MongoDB answers before the disk has the write, "
        "PostgreSQL and MySQL after it. With benchbook run crud --set durability=strict all of them wait",
    ),
    "which-driver": Question(
        "Driver or object mapper?", "drivers",
        {"language": "python", "driver": "pymongo+mongoengine", "process": "together", "attributes": 89,
         "repetitions": 3},
        "driver", ("database",), "", "wall_time",
        {"insert": "to insert", "find": "to find", "update": "to update", "delete": "to delete"},
        "in one call for all",
    ),
    "replica": Question(
        "What does a replica cost?", "crud",
        {"language": "python", "database": _PAIRS, "topology": "single,replicated", "constraints": "on",
         "repetitions": 2},
        "topology", (), "database", "elapsed_time",
        {name: words for name, words in _STORED.items() if name != "select"},
        f"{_ONE_BY_ONE}, until the replica has all of it",
    ),
    "arrays": Question(
        "Arrays in a column or in tables?", "crud",
        {"language": "python", "database": _TABLES, "topology": "single", "constraints": "on", "arrays": "json,table",
         "repetitions": 2},
        "arrays", (), "database", "elapsed_time", _STORED, _ONE_BY_ONE,
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
    """Return a share in percent; a small one is not 0 %."""
    if not count:
        return "–"
    percent = 100 * count / of if of else 0
    return "< 1 %" if percent < 1 else f"{percent:.0f} %"


def describe_scope(measured: int, records: int, blocks: int) -> str:
    """Return how much of a file is measured, and how to measure more: one line.

    Parameters
    ----------
    measured, records
        How many records are measured, and how many the file has.
    blocks
        How often each cell is measured.
    """
    if measured < records:
        scope = f"Measured: the first {measured:,} of your {records:,} records (all of them: --records {records})"
    elif measured == records:
        scope = f"Measured: all {plural(records, 'record')}"
    else:
        scope = f"Measured: your {plural(records, 'record')}, repeated up to {measured:,}"
    least = "the least for an interval" if blocks == MIN_BLOCKS else f"an interval needs {MIN_BLOCKS}"
    often = f"in {plural(blocks, 'block')}" if blocks > MIN_BLOCKS else f"in {plural(blocks, 'block')} ({least})"
    return f"{scope}, {often}."


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


def without_folder(words: str, file: Path) -> str:
    """Return words about a file without its folder: a file picked in a browser is a copy in another folder."""
    return words.replace(f"{file.parent}{os.sep}", "")
