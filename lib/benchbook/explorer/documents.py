"""Questions about your own documents: which format, store or driver, what a replica costs.

`request_cells` says which cells answer some questions about a file. `Inquiry` keeps what was asked
beside the results, so that answers survive a reload, a restart and another question.
`benchbook.explorer.replies` has the answers.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from benchbook import grid, paths
from benchbook.analysis.claims import list_levels
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.analysis.published import CellSettings
from benchbook.files import suite_files
from benchbook.files.inputs import InputError
from benchbook.own_data import own_records, record_files

DEFAULT_RECORDS: Final = 200
"""Records that are measured unless another number is asked for; all of a smaller file."""

DEFAULT_BLOCKS: Final = MIN_BLOCKS
"""Blocks that are measured unless another number is asked for."""

_PROFILE: Final = "quick"
_CONDITION: Final = {"arm": ["a"]}  # of two cells of an A/A check one is enough


@dataclass(frozen=True)
class Question:
    """What a person asks about documents, and how a study answers it."""

    text: str
    study: str
    settings: CellSettings  # parameters of its cells, as `Request` takes them
    by: str  # the column whose levels are the possible answers
    operations: Mapping[str, str]  # each with its name in the answer
    metric: str  # what is compared, of the client
    holds_for: str  # whose programs, because others have other times
    conditions: str  # how the records were handled, and what a reader could wrongly assume
    loose: tuple[str, ...] = ()  # the columns that may differ with `by`
    row: str = ""  # the column whose levels are answered one by one


_CRUD_OPERATIONS: Final = {
    "insert": "to insert",
    "select": "to read",
    "update": "to update",
    "delete": "to delete",
}
_ONE_CALL_PER_RECORD: Final = (
    "one call per record, as an application that answers requests makes them"
)
_TABLES: Final = ("postgresql+relational", "mysql+relational")
_ONE_CLIENT: Final = "one Python program that makes one call after the other"

_JSON_OR_XML: Final = Question(
    "JSON or XML?",
    "bookstore",
    {
        "language": "python",
        "case": 1,
        "keys": "paper",
        "process": "together",
        "json_codec": "orjson",
        "xml_codec": "lxml",
        "network": "none",
        "repetitions": 10,
    },
    by="format",
    loose=("codec",),
    metric="wall_time",
    holds_for="Python programs with the compiled libraries orjson and lxml",
    operations={
        "marshal": "to write",
        "unmarshal": "to read",
        "round_trip": "to write and read back",
    },
    conditions="as one document, in a file",
)

QUESTIONS: Final[dict[str, Question]] = {
    "json-or-xml": _JSON_OR_XML,
    "standard-library": replace(
        _JSON_OR_XML,
        text="JSON or XML, with Python's own libraries?",
        settings={**_JSON_OR_XML.settings, "json_codec": "json", "xml_codec": "etree"},
        holds_for="Python programs with the standard library's json and ElementTree",
    ),
    "which-store": Question(
        "Which store?",
        "crud",
        {
            "language": "python",
            "database": ("mongodb", "couchdb", "postgresql+jsonb", "mysql+json", *_TABLES),
            "topology": "single",
            "constraints": "on",
            "repetitions": 2,
        },
        by="database",
        loose=("model", "driver"),
        metric="elapsed_time",
        holds_for=_ONE_CLIENT,
        operations=_CRUD_OPERATIONS,
        conditions=f"{_ONE_CALL_PER_RECORD}. Durability is each database's default: "
        "MongoDB answers before the disk has the write, PostgreSQL and MySQL after it. "
        "With benchbook run crud --set durability=strict all of them wait",
    ),
    "which-driver": Question(
        "Driver or object mapper?",
        "drivers",
        {
            "language": "python",
            "driver": "pymongo+mongoengine",
            "process": "together",
            "attributes": 89,
            "repetitions": 3,
        },
        by="driver",
        loose=("database",),
        metric="wall_time",
        holds_for="Python programs that handle all records in one call",
        operations={
            "insert": "to insert",
            "find": "to find",
            "update": "to update",
            "delete": "to delete",
        },
        conditions="in one call for all",
    ),
    "replica": Question(
        "What does a replica cost?",
        "crud",
        {
            "language": "python",
            "database": ("mongodb", *_TABLES),
            "topology": ("single", "replicated"),
            "constraints": "on",
            "repetitions": 2,
        },
        by="topology",
        row="database",
        metric="elapsed_time",
        holds_for=_ONE_CLIENT,
        # A read does not wait for the replica.
        operations={"insert": "to insert", "update": "to update", "delete": "to delete"},
        conditions=f"{_ONE_CALL_PER_RECORD}, until the replica has all of it",
    ),
    "arrays": Question(
        "Arrays in a column or in tables?",
        "crud",
        {
            "language": "python",
            "database": _TABLES,
            "topology": "single",
            "constraints": "on",
            "arrays": ("json", "table"),
            "repetitions": 2,
        },
        by="arrays",
        row="database",
        metric="elapsed_time",
        holds_for=_ONE_CLIENT,
        operations=_CRUD_OPERATIONS,
        conditions=_ONE_CALL_PER_RECORD,
    ),
}


@dataclass(frozen=True)
class Request:
    """Some cells of a study."""

    study: str
    # A parameter that is not named here has its levels of the quick profile.
    settings: CellSettings
    blocks: int  # how often each cell is measured, at different times

    def plan(self) -> grid.Plan:
        """Return its cells, done or not, and which of them refuse the records.

        Raises
        ------
        benchbook.grid.NoneFitsError
            When all cells refuse the records.
        benchbook.files.inputs.InputError
            When a value is wrong, with the nearest right one.
        """
        named = {**self.settings, "blocks": self.blocks}
        changes = {name: list_levels(setting) for name, setting in named.items()}
        return grid.make_plan([self.study], _PROFILE, _CONDITION, changes)


def request_cells(
    file: str | Path,
    chosen: Sequence[str],
    n: int | None = None,
    blocks: int = DEFAULT_BLOCKS,
) -> list[Request]:
    """Return which cells answer some questions about a file, a request per question.

    Parameters
    ----------
    file
        JSON, CSV, XML or Parquet; options of `benchbook.own_data.record_files` may follow its name.
    chosen
        Names in `QUESTIONS`.
    n
        How many records; None: all, at most `DEFAULT_RECORDS`.
    blocks
        How often each cell is measured.

    Raises
    ------
    benchbook.files.inputs.InputError
        When the file cannot be read, with its line and the reason.
    """
    path = Path(file).expanduser().resolve()
    records = own_records.describe_file(path, n or DEFAULT_RECORDS).records
    given = {"dataset_file": str(path), "n": min(records, DEFAULT_RECORDS) if n is None else n}
    asked = [QUESTIONS[name] for name in chosen]
    return [Request(one.study, {**one.settings, **given}, blocks) for one in asked]


@dataclass(frozen=True)
class AskedQuestion:
    """A question that was asked about a file, with how much of the file was measured."""

    name: str  # in `QUESTIONS`
    records: int
    blocks: int


@dataclass(frozen=True)
class Inquiry:
    """The questions that were asked about a file."""

    file: str  # its path, with the options that follow it
    asked: tuple[AskedQuestion, ...]  # the newest first

    @property
    def name(self) -> str:
        """The file's name."""
        return record_files.split_options(self.file)[0].name

    def request_cells(self) -> list[Request]:
        """Return the measured values; raises `InputError` when the file cannot be read any more."""
        requests = []
        for question in self.asked:
            requests += request_cells(self.file, [question.name], question.records, question.blocks)
        return requests


def choose_page_name(file: str) -> str:
    """Return the name of a file's page: that of the file, with a number if another has it."""
    name = Inquiry(file, ()).name
    chosen, number = name, 1
    while True:
        stored = _load_inquiry(_locate_inquiry(chosen))
        if stored is None or stored.file == file:
            return chosen
        number += 1
        chosen = f"{name}-{number}"


def store_inquiry(inquiry: Inquiry) -> None:
    """Store an inquiry in place of an earlier one about its file."""
    path = _locate_inquiry(choose_page_name(inquiry.file))
    suite_files.write_file(path, json.dumps(asdict(inquiry), indent=2))


def load_inquiry(file: str) -> Inquiry:
    """Return the stored inquiry about a file, or a new one without questions."""
    return _load_inquiry(_locate_inquiry(choose_page_name(file))) or Inquiry(file, ())


def load_latest_inquiry() -> Inquiry | None:
    """Return the newest inquiry about a file that still exists."""
    stored = _locate_inquiry("*").parent.glob("*.json")
    for path in sorted(stored, key=lambda path: path.stat().st_mtime, reverse=True):
        inquiry = _load_inquiry(path)
        try:
            if inquiry and record_files.split_options(inquiry.file)[0].is_file():
                return inquiry
        except InputError:
            continue
    return None


def locate_uploads() -> Path:
    """Return the folder of files that were picked in a browser, and of inquiries."""
    return paths.results() / ".own"


def locate_samples(file: str) -> Path:
    """Return the folder of a file's samples."""
    path = record_files.split_options(file)[0].resolve()
    return locate_uploads() / hashlib.sha256(str(path).encode()).hexdigest()[:8]


def _locate_inquiry(name: str) -> Path:
    return locate_uploads() / "asked" / f"{name}.json"


def _load_inquiry(path: Path) -> Inquiry | None:
    """Return a stored inquiry; None if it is missing or of another version."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        asked = tuple(AskedQuestion(**question) for question in stored["asked"])
        inquiry = Inquiry(stored["file"], asked)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    is_known = all(question.name in QUESTIONS for question in asked)
    return inquiry if asked and is_known else None
