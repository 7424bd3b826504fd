"""What several commands print: tables, what does not run here and why, and what of the results is damaged."""

import argparse
import difflib
import json
import math
import os
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from benchbook.digits import number

if TYPE_CHECKING:
    from rich.console import Console

    from benchbook.grid import LeftOut

Rows = Sequence[Mapping[str, object]]

_ENDLESS: Final = 1_000_000  # columns of a pipe, whose reader wants one row per line
_NARROWEST: Final = 30
_NEAREST: Final = 3
_ALIKE: Final = 0.8


def add_json(parser: argparse.ArgumentParser) -> None:
    """Let a command be asked for what a program reads."""
    parser.add_argument("--json", action="store_true", help="print one array of objects, and nothing else")


def console() -> "Console":
    """Return what prints in colour: only on a terminal that has colours, and not where ``NO_COLOR`` is set."""
    from rich.console import Console  # now: most commands would wait for it

    return Console(highlight=False, soft_wrap=True, emoji=False)


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


def print_absences(reasons: Iterable[str], absent: "Iterable[LeftOut]", *, in_full: bool = True) -> None:
    """Print why cells are skipped or left out, one line per reason.

    What `benchbook doctor` explains is only named, unless it is asked for in full or the user gave its address.
    """
    for reason, count in Counter(reasons).items():
        print(f"Skipped {count}: {reason}")
    named = []
    for left_out in absent:
        if in_full or left_out.refused or address_is_given(left_out.product):
            print(f"Left out: {left_out.product} ({', '.join(left_out.studies)}): {left_out.why}")
        else:
            named.append(left_out.product)
    if named:
        print(f"Left out, because missing here: {', '.join(named)} (benchbook doctor --missing)")


def address_is_given(product: str) -> bool:
    """Return whether the user gave an address of a product's servers; of anything else none can be given."""
    from benchbook import registry  # here, for most commands need neither
    from benchbook.servers.address import variables

    if product not in registry.PRODUCTS:
        return False
    names = {*variables(product, "single").values(), *variables(product, "replicated").values()}
    return any(os.environ.get(name) for name in names)


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
        lines.append(f"{others[0]}{more}: not read, because the name is not that of a result")
    for line in lines:
        print(f"benchbook: {line}", file=sys.stderr)
