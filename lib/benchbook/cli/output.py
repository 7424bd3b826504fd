"""What several commands print: tables, what does not run here and why, and what of the results is damaged."""

import argparse
import difflib
import json
import math
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from benchbook.digits import number

if TYPE_CHECKING:
    from benchbook.grid import LeftOut

Rows = Sequence[Mapping[str, object]]

_ENDLESS: Final = 1_000_000  # columns of what is no terminal: a pipe's reader wants a row a line
_NARROWEST: Final = 30
_NEAREST: Final = 3
_ALIKE: Final = 0.8


def add_json(parser: argparse.ArgumentParser) -> None:
    """Let a command be asked for what a program reads."""
    parser.add_argument("--json", action="store_true", help="one array of objects and nothing else")


def several(kind: str, known: Collection[str]) -> Callable[[str], list[str]]:
    """Return a parser of an option's value: one or several of the known names, separated by commas."""

    def read(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",")]
        for name in names:
            if name not in known:
                from benchbook import strict  # now: every command would wait for it

                raise argparse.ArgumentTypeError(f"no {kind} {name!r}: {strict.nearest(name, known)}")
        return names

    return read


def as_json(rows: Rows) -> str:
    """Return the rows as a JSON array of objects, one a line."""
    lines = ",\n ".join(json.dumps(row, ensure_ascii=False, default=str) for row in rows)
    return f"[{lines}]"


def plain(value: object, digits: int | None = None) -> object:
    """Return a value as JSON has it, a float with so many decimals: NaN and infinities are null."""
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    return value if digits is None else round(value, digits)


def as_text(rows: Rows) -> str:
    """Return the rows as columns under their names; a column without a value is left out.

    On a terminal the last column is broken into lines where it is wider.
    """
    names = [name for name in (rows[0] if rows else {}) if any(row[name] not in (None, "") for row in rows)]
    table = [names, *([_text(row[name]) for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    margin = sum(widths[:-1]) + 2 * len(widths[:-1])
    terminal = sys.stdout is not None and sys.stdout.isatty()  # None: it is closed
    wide = shutil.get_terminal_size().columns if terminal else _ENDLESS
    room = max(wide - margin, _NARROWEST)
    lines = []
    for line in table:
        before = "".join(f"{text.ljust(width)}  " for text, width in zip(line[:-1], widths, strict=False))
        parts = textwrap.wrap(line[-1], room, break_long_words=False, break_on_hyphens=False) if line else []
        lines += [f"{before}{parts[0] if parts else ''}".rstrip(), *(" " * margin + part for part in parts[1:])]
    return "\n".join(lines)


def _text(value: object) -> str:
    """Return a value as the pages have it, too."""
    if isinstance(value, float):
        return number(value)
    return "" if value is None else str(value)


def nearest(name: str, names: Iterable[str], otherwise: str) -> str:
    """Return the advice to a wrong name where there are hundreds of right ones: the nearest, if any, and `otherwise`.

    What was typed may be the beginning of longer names, with a slip in it or not.
    """
    names = [*names]
    near = [right for right in names if right.startswith(name)][:_NEAREST]
    near = near or difflib.get_close_matches(name, names, n=1)
    if not near:
        begun = {right[: len(name) + 1]: right for right in reversed(names)}
        near = [begun[start] for start in difflib.get_close_matches(name, begun, n=1, cutoff=_ALIKE)]
    listed = " or ".join(map(repr, near))
    return f"did you mean {listed}? {otherwise}" if near else otherwise


def print_absences(reasons: Iterable[str], absent: "Iterable[LeftOut]") -> None:
    """Print a line for each reason that cells are skipped for, never a line a cell, and for each product left out."""
    for reason, count in Counter(reasons).items():
        print(f"skipped {count}: {reason}")
    for left_out in absent:
        print(f"left out: {left_out.product} ({', '.join(left_out.studies)}): {left_out.why}")


def report_damage(*, values: bool) -> None:
    """Set damaged results aside; say so on stderr, and name what is not read, a line each.

    `values`: whether the command reads them, and not only which cells are done.
    """
    from benchbook.results import folder  # here, for it is slow to import and not all commands need it

    if values:
        folder.verified(folder.whole())
    lines = folder.set_aside()
    if others := folder.strangers():
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        lines.append(f"{others[0]}{more}: no result's name, not read")
    for line in lines:
        print(f"benchbook: {line}", file=sys.stderr)
