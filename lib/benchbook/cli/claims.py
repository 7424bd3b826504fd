"""`benchbook claims`: every claim of the papers and its one result, from a profile's results or the committed run."""

import argparse
import shutil
import textwrap
from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from benchbook import cli, grid, paths, studies
from benchbook.cli import output

NARROW: Final = 60
"""Columns of the narrowest text."""
_INDENT: Final = 4 * " "
_OF_LANES: Final = ("host", "lane", "verdict", "wording", "stage", "products_judged", "products_missing", "why")


def main(asked: argparse.Namespace) -> int:
    """Print every claim with its result."""
    from benchbook import evidence  # after the parser: it is slow to import

    evidence.claims()  # a mistake in their files is told before any result is read
    rows = _committed() if asked.reference else _measured(asked.profile)
    print(output.as_json(rows) if asked.json else _text(rows))
    return cli.DONE


def _measured(profile: str) -> list[dict[str, Any]]:
    """Return a row a claim, from a profile's results."""
    from benchbook import evidence
    from benchbook.report import ahead

    cells = grid.plan(studies.SLUGS, profile)
    output.report_damage()
    found = evidence.Evidence.of(evidence.stored_means(grid.keys(cells)))
    return _rows(found.outcomes, ahead.waits(profile, cells, found))


def _committed() -> list[dict[str, Any]]:
    """Return the same from the reference run, on a machine where nothing need have run."""
    from benchbook import evidence
    from benchbook.evidence import reference

    if (means := reference.means()).empty:
        raise cli.UsageError(f"--reference: there is no {reference.MEANS} in {paths.reference()}: restore it from git")
    return _rows(evidence.Evidence.of(means).outcomes, {})


def _rows(outcomes: pd.DataFrame, waits: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return one row a claim, the verdicts of other lanes and hosts under ``lanes``."""
    rows = []
    for row in outcomes.to_dict("records"):
        lanes = [{name: other[name] for name in _OF_LANES} for other in row.pop("others")]
        first = {str(name): _plain(value) for name, value in row.items()}
        rows.append({**first, "waits_for": waits.get(row["id"]), "lanes": lanes})
    return rows


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: no NaN, no infinity."""
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value


def _text(rows: list[dict[str, Any]]) -> str:
    """Return each claim with its result and why, nothing cut, then how many have which verdict."""
    from benchbook.evidence import Counts

    wide = max(shutil.get_terminal_size().columns, NARROW)
    return "\n\n".join([*(_entry(row, wide) for row in rows), str(Counts.of(row["verdict"] for row in rows))])


def _entry(row: dict[str, Any], wide: int) -> str:
    """Return a claim's name and verdict with its numbers; indented, its sentence, and why it has that verdict."""
    from benchbook.evidence.digits import number

    verdict = row["wording"] + (" (untrusted run)" if row["untrusted"] else "")
    numbers = [row["stage"], f"here {ratio}" if (ratio := _ratio(row)) else ""]
    numbers += [] if row["published"] is None else [f"published {number(row['published'])}"]
    head = "; ".join(filter(None, [f"{row['id']}: {verdict}", *numbers]))
    why = "; ".join(filter(None, (row["waits_for"], row["why"])))
    wrap = textwrap.TextWrapper(wide, initial_indent=_INDENT, subsequent_indent=_INDENT, break_long_words=False)
    return "\n".join(wrap.fill(text) for text in (head, row["says"], why) if text).removeprefix(_INDENT)


def _ratio(row: dict[str, Any]) -> str:
    """Return the ratio with its interval; an open end is that of a wait that ran out."""
    from benchbook.evidence.digits import estimate

    if row["ratio"] is None:
        return ""
    if row["low"] is None:
        return estimate(row["ratio"])
    high = float("inf") if row["high"] is None else row["high"]
    return f"{estimate(row['ratio'], row['low'], high)}, repeated 95 % interval"
