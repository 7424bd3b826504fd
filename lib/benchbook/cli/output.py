"""What several commands print: tables, what does not run here and why, and what of the results is damaged."""

import argparse
import difflib
import json
import math
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from benchbook.digits import number

if TYPE_CHECKING:
    from benchbook.grid import LeftOut

Rows = Sequence[Mapping[str, Any]]

_ENDLESS: Final = 1_000_000  # columns of what is no terminal: a pipe's reader wants a row a line
_NARROWEST: Final = 30


def add_json(parser: argparse.ArgumentParser) -> None:
    """Let a command be asked for what a program reads."""
    parser.add_argument("--json", action="store_true", help="one array of objects and nothing else")


def as_json(rows: Rows) -> str:
    """Return the rows as a JSON array of objects, one a line."""
    lines = ",\n ".join(json.dumps(row, ensure_ascii=False, default=str) for row in rows)
    return f"[{lines}]"


def plain(value: Any, digits: int | None = None) -> Any:
    """Return a value as JSON has it, a float with so many decimals: NaN and infinities are null."""
    if isinstance(value, float):
        return (value if digits is None else round(value, digits)) if math.isfinite(value) else None
    return value


def as_text(rows: Rows) -> str:
    """Return the rows as columns under their names; a column without a value is left out.

    On a terminal the last column is broken into lines where it is wider.
    """
    names = [name for name in (rows[0] if rows else {}) if any(row[name] not in (None, "") for row in rows)]
    table = [names, *([_text(row[name]) for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    margin = sum(widths[:-1]) + 2 * len(widths[:-1])
    wide = shutil.get_terminal_size().columns if sys.stdout.isatty() else _ENDLESS
    room = max(wide - margin, _NARROWEST)
    lines = []
    for line in table:
        before = "".join(f"{text.ljust(width)}  " for text, width in zip(line[:-1], widths, strict=False))
        parts = textwrap.wrap(line[-1], room, break_long_words=False, break_on_hyphens=False) if line else []
        lines += [f"{before}{parts[0] if parts else ''}".rstrip(), *(" " * margin + part for part in parts[1:])]
    return "\n".join(lines)


def _text(value: Any) -> str:
    """Return a value as the pages have it, too."""
    if isinstance(value, float):
        return number(value)
    return "" if value is None else str(value)


def nearest(name: str, names: Iterable[str], otherwise: str) -> str:
    """Return the advice to a wrong name where there are hundreds of right ones: the nearest, else `otherwise`."""
    near = difflib.get_close_matches(name, list(names), n=1)
    return f"did you mean {near[0]!r}?" if near else otherwise


def print_absences(reasons: Iterable[str], absent: "Iterable[LeftOut]") -> None:
    """Print a line for each reason that cells are skipped for, never a line a cell, and for each product left out."""
    for reason, count in Counter(reasons).items():
        print(f"skipped {count}: {reason}")
    for left_out in absent:
        print(f"left out: {left_out.product} ({', '.join(left_out.studies)}): {left_out.why}")


def print_hidden(slugs: Iterable[str], profile: str) -> None:
    """Say which levels of the grids of studies that were named their profile does not have."""
    from benchbook import grid, studies  # here, for not all commands need them

    for slug, levels in grid.hidden([slug for slug in slugs if slug in studies.SLUGS], profile).items():
        lacking = "; ".join(f"{name} {', '.join(values)}" for name, values in levels.items())
        advice = "--profile paper has all, --set takes any"
        print(f"not in the profile {profile}, though in {slug}'s grid: {lacking} ({advice})")


def report_damage() -> None:
    """Set damaged results aside; say so on stderr, and name what is not read, a line each."""
    from benchbook.results import folder  # here, for it is slow to import and not all commands need it

    lines = folder.set_aside()
    if others := folder.strangers():
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        lines.append(f"{others[0]}{more}: no result's name, not read")
    for line in lines:
        print("benchbook: " + "".join(letter if letter.isprintable() else "?" for letter in line), file=sys.stderr)
