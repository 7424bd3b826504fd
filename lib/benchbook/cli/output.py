"""Output that several commands share: tables, JSON, and what is missing or damaged."""

import argparse
import json
import math
import os
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, TypeAlias

from benchbook.cli.command import UsageError
from benchbook.registry import products
from benchbook.results.folder import open_results, verify_files
from benchbook.servers.address import name_url_variables
from benchbook.text.control_characters import escape_controls
from benchbook.text.number_format import format_number
from benchbook.text.suggestions import suggest_from_many, suggest_name

if TYPE_CHECKING:
    from benchbook.grid.cells import SkippedCells

TableRows: TypeAlias = Sequence[Mapping[str, object]]


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--json``."""
    parser.add_argument(
        "--json", action="store_true", help="print one array of objects, and nothing else"
    )


@contextmanager
def show_activity(text: str) -> Iterator[None]:
    """Show on a terminal what the command does while it prints nothing; elsewhere do nothing."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    # Here, because it is slow to import, and scripts do without.
    from rich.console import Console

    # The real stream, because an answer that is recorded has no moving line.
    with Console(file=sys.__stderr__).status(text):
        yield


def make_names_parser(kind: str, known: Collection[str]) -> Callable[[str], list[str]]:
    """Return a function that reads an option's value: known names, separated by commas.

    Parameters
    ----------
    kind
        What the names are, as errors say it.
    """

    def parse_names(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",")]
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"no {kind} {name!r}: {suggest_name(name, known)}")
        return names

    return parse_names


def check_names(names: Iterable[str], known: Collection[str], error: str, more: str) -> None:
    """Raise `UsageError`, with the nearest right name, at the first name that is not known.

    Parameters
    ----------
    error
        How the message begins, such as ``no number``.
    more
        What else to do, such as ``benchbook number lists all keys``.
    """
    for name in names:
        if name not in known:
            raise UsageError(f"{error} {name!r}: {suggest_from_many(name, known, more)}")


def format_json(rows: TableRows) -> str:
    """Return rows as a JSON array, with one object per line."""
    # In ASCII, which any terminal and any program takes.
    lines = ",\n ".join(json.dumps(row, default=str) for row in rows)
    return f"[{lines}]"


def to_json_value(value: object) -> object:
    """Return a value for JSON: NaN and infinities are null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def format_table(rows: TableRows) -> str:
    """Return rows as columns under their names; a column without values is left out.

    On a terminal the last column is broken into lines if it is wider.
    """
    # The columns, and how wide each is.
    all_names = list(rows[0]) if rows else []
    names = [name for name in all_names if any(row[name] not in (None, "") for row in rows)]
    table = [
        [*map(escape_controls, names)],
        *([_format_value(row[name]) for name in names] for row in rows),
    ]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]

    # The width that is left for the last column. A program reads one row per line.
    margin = sum(widths[:-1]) + 2 * len(widths[:-1])
    is_terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if is_terminal else 1_000_000
    last_width = max(width - margin, 30)

    lines = []
    for row in table:
        before = ""
        for text, column_width in zip(row[:-1], widths, strict=False):
            before += f"{text.ljust(column_width)}  "
        parts: list[str] = []
        if row:
            parts = textwrap.wrap(
                row[-1], last_width, break_long_words=False, break_on_hyphens=False
            )
        lines.append(f"{before}{parts[0] if parts else ''}".rstrip())
        lines += [" " * margin + part for part in parts[1:]]
    return "\n".join(lines)


def _format_value(value: object) -> str:
    if isinstance(value, float):
        return format_number(value)
    return "" if value is None else escape_controls(str(value))


def print_absences(
    reasons: Iterable[str],
    absent: "Iterable[SkippedCells]",
    *,
    in_full: bool = True,
    out: TextIO | None = None,
) -> None:
    """Print why cells are skipped or left out, one line per reason.

    Parameters
    ----------
    reasons
        The reason of each skipped cell.
    absent
        The products that the plan leaves out.
    in_full
        Whether to give the reason of every product. Otherwise those that `benchbook doctor`
        explains are only named, unless the user gave their address.
    out
        Where to print; None: on standard output.
    """
    for reason, count in Counter(reasons).items():
        print(escape_controls(f"Skipped {count}: {reason}"), file=out)
    named = []
    for left_out in absent:
        if in_full or left_out.refused or is_address_given(left_out.what):
            studies = ", ".join(left_out.studies)
            line = f"Left out: {left_out.what} ({studies}): {left_out.why}"
            print(escape_controls(line), file=out)
        else:
            named.append(left_out.what)
    if named:
        listed = ", ".join(named)
        print(f"Left out, because missing here: {listed} (benchbook doctor --missing)", file=out)


def is_address_given(product: str) -> bool:
    """Return whether the user gave an address of a product's servers."""
    if product not in products.PRODUCTS:
        return False
    names = set[str]()
    for topology in ("single", "replicated"):
        names |= {*name_url_variables(product, topology).values()}
    return any(os.environ.get(name) for name in names)


def report_damage(*, values: bool) -> bool:
    """Set damaged results aside, and name them and files that are no results on stderr.

    Return whether there are any.

    Parameters
    ----------
    values
        Whether the command reads values, and not only which cells are done.
    """
    results = open_results()
    if values:
        verify_files(results.list_files())
    lines = results.set_damaged_aside()
    others = results.find_unknown_files()
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        lines.append(f"{others[0]}{more}: not read, because the name is not that of a result")
    for line in lines:
        print(escape_controls(f"benchbook: {line}"), file=sys.stderr)
    return bool(lines)
