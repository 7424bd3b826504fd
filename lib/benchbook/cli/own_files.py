"""The user's files in the terminal: progress while one is read, and how it is understood."""

import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from benchbook.cli import output
from benchbook.files.inputs import InputError
from benchbook.grid import Cell
from benchbook.grid.expansion import split_levels
from benchbook.own_data import own_records
from benchbook.own_data.opened_file import FileDescription
from benchbook.own_data.record_files import split_options
from benchbook.text.control_characters import escape_controls

MAX_LISTED_FIELDS: Final = 12
"""Fields of a file that are listed in a terminal."""

_SILENT_S: Final = 1.0
"""Seconds of reading without progress: most files take less."""

shown: Final[set[str]] = set()
"""Files that runs need not print: `benchbook ask` printed them before its runs."""


def read_file(path: str) -> FileDescription:
    """Return the description of a file, with progress on the terminal while it is read.

    Raises `benchbook.files.inputs.InputError` when the file cannot be read.
    """
    name = split_options(path)[0].name
    start = time.monotonic()
    reported = False

    def report(share: float) -> None:
        nonlocal reported
        if sys.stderr and sys.stderr.isatty() and time.monotonic() - start > _SILENT_S:
            reported = True
            line = f"\rreading {escape_controls(name)}: {share:.0%}"
            print(line, end="", file=sys.stderr, flush=True)

    try:
        return own_records.describe_file(path, report)
    finally:
        if reported:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def read_files(changes: Iterable[str]) -> None:
    """Read the files that ``--set`` names, with progress; a plan then knows them.

    A file that cannot be read is named by the plan.
    """
    for change in changes:
        name, _, levels = change.partition("=")
        files = split_levels(name, levels) if name == "dataset_file" else []
        for file in files:
            with suppress(InputError):
                read_file(file)


def print_files(cells: Iterable[Cell]) -> None:
    """Print how the files of some cells are understood."""
    counts: dict[str, dict[int, None]] = {}
    for cell in cells:
        file, n = cell.parameters.dataset_file, cell.parameters.record_count
        if file:
            counts.setdefault(file, {}).update({n: None} if n and n > 1 else {})
    for file, numbers in counts.items():
        if file not in shown:
            print_file(file, own_records.describe_file(file), [*numbers])


def print_file(file: str, known: FileDescription, counts: Sequence[int]) -> None:
    """Print how a file is understood: its format, its fields, and each change of values.

    One record is said to be repeated by the counts of records that are measured.
    """
    print(escape_controls(f"{file}: {known.words}"))
    # A line end in a name would break the table.
    rows = known.list_fields(MAX_LISTED_FIELDS)
    for row in rows:
        row["field"] = row["field"].replace("\n", "\\n")
    print(output.format_table(rows))
    for note in known.notes:
        if note == own_records.ONE_RECORD_NOTE and counts:
            times = " or ".join(f"{count:,}" for count in counts)
            note = f"It is one record, repeated {times} times."
        print(escape_controls(note))
