"""`benchbook claims`: every claim of the papers and its verdict, from a profile's results."""

import argparse
import shutil
from collections import Counter
from typing import Any, Final

import pandas as pd

from benchbook import cli, grid
from benchbook.cli import output

NARROW: Final = 100
"""Columns below which a line does not wrap any narrower."""
_OF_LANES: Final = ("host", "lane", "verdict", "wording", "products_judged", "products_missing", "why")


def main(asked: argparse.Namespace) -> int:
    """Print every claim with its verdict."""
    from benchbook import evidence  # after the parser: it is slow to import

    cells = grid.plan(profile=asked.profile)
    evidence.claims()  # a mistake in their files is told before any result is read
    output.report_damage()
    found = evidence.Evidence.of(evidence.stored_means(cell.key for cell in cells))
    rows = _one_a_claim(found.verdicts)
    print(output.as_json(rows) if asked.json else _text(rows))
    return cli.DONE


def _one_a_claim(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one row a claim: the verdict of its first lane, those of others under ``lanes``."""
    rows = []
    for _, group in table.groupby("id", sort=False):
        first, *others = ({str(name): _plain(value) for name, value in row.items()} for row in group.to_dict("records"))
        lanes = [{name: row[name] for name in _OF_LANES} for row in others]
        rows.append({**first, "lanes": lanes})
    return rows


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: no NaN, no infinity."""
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value


def _text(rows: list[dict[str, Any]]) -> str:
    from benchbook.evidence.comparisons import figures

    wide = max(shutil.get_terminal_size().columns, NARROW)
    shown = [
        {
            "claim": row["id"],
            "verdict": row["wording"] + (" (untrusted run)" if row["untrusted"] else ""),
            "ratio": _ratio(row),
            "published": "" if row["published"] is None else figures(row["published"]),
            "why": row["why"],
        }
        for row in rows
    ]
    lines = [line if len(line) <= wide else line[: wide - 1] + "…" for line in output.as_text(shown).splitlines()]
    counts = Counter(row["verdict"] for row in rows)
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    return "\n".join([*lines, f"claims: {len(rows)}, {summary}"])


def _ratio(row: dict[str, Any]) -> str:
    """Return the ratio with its interval; an open end is that of a wait that ran out."""
    from benchbook.evidence.comparisons import figures

    if row["ratio"] is None:
        return ""
    if row["low"] is None:
        return figures(row["ratio"])
    high = "…" if row["high"] is None else figures(row["high"])
    return f"{figures(row['ratio'])} [{figures(row['low'])}, {high}]"
