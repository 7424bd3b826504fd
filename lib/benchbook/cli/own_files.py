"""The user's files in the terminal: how each is understood."""

from collections.abc import Iterable, Sequence
from typing import Final

from benchbook.cli import output
from benchbook.grid import Cell
from benchbook.own_data import own_records
from benchbook.own_data.file_description import FileDescription
from benchbook.text.control_characters import escape_controls

MAX_LISTED_FIELDS: Final = 12
"""Fields of a file that are listed in a terminal."""


def print_files(cells: Iterable[Cell]) -> None:
    """Print how the files of some cells are understood, by as many records as the largest cell."""
    counts: dict[str, dict[int, None]] = {}
    for cell in cells:
        file, n = cell.parameters.dataset_file, cell.parameters.record_count or 1
        if file:
            counts.setdefault(file, {})[n] = None
    for file, numbers in counts.items():
        known = own_records.describe_file(file, max(numbers))
        print_file(file, known, [count for count in numbers if count > 1])


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
