"""Tables in the papers' form: every printed number beside this machine's, which carries its interval."""

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, Final

import pandas as pd

from benchbook.plots.names import mark
from benchbook.plots.points import each

SOURCES: Final = ("published", "here")
FAR: Final = 1_000
"""Beyond this ratio, and below its inverse, an interval's end is not printed."""

NOT_RUN: Final = "not run"
NOT_PRINTED: Final = "–"


def table(
    points: pd.DataFrame, *, corner: str, rows: Sequence[str], columns: Sequence[str], sources: Sequence[str] = SOURCES
) -> pd.DataFrame:
    """Return points as a table of text: a row a level, a column a source (published, here) of each panel.

    Rows are levels and columns are panels, in order; the corner is the first column's name.
    """
    cells = {(str(p.level), str(p.panel), str(p.source)): _text(p) for p in each(points)}
    body = {
        f"{column}, {source}": [
            cells.get((row, column, source), NOT_PRINTED if source == "published" else NOT_RUN) for row in rows
        ]
        for column, source in product(columns, sources)
    }
    return pd.DataFrame({corner: list(rows), **body})


def _text(point: Any) -> str:
    """Return a point as text: as printed, or the mean with its 95 % interval and, of a stand-in, that it is one."""
    if point.printed:
        return str(point.printed)
    text = ("> " if point.censored else "") + number(point.value)
    text += "" if math.isnan(point.low) else f" [{number(point.low)}, {number(point.high)}]"
    return f"{text} {mark(point.caveat, stand_in=point.stand_in)}".rstrip()


def estimate(value: float, low: float, high: float, unit: str = "") -> str:
    """Return a ratio, or a difference in its unit, with its interval; far out a ratio's ends say only that they are."""
    text = f"{number(value)} {unit}".rstrip()
    end = number if unit else _end
    return text if math.isnan(low) else f"{text} [{end(low)}, {end(high)}]"


def _end(ratio: float) -> str:
    return f"> {FAR:,}" if ratio > FAR else f"< {1 / FAR:g}" if ratio < 1 / FAR else number(ratio)


def number(value: float) -> str:
    """Return a number with three significant digits, thousands separated, never in powers of ten."""
    if math.isnan(value):
        return NOT_PRINTED
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{min(max(digits, 0), 6)}f}"


def misprints(rows: pd.DataFrame) -> list[str]:
    """Return what the published numbers' notes say, one sentence a note, for the asterisks of a table."""
    places: dict[str, list[str]] = {}
    for row, column, note in zip(rows["row"], rows["column"], rows["note"], strict=True):
        if note:
            places.setdefault(str(note), []).append(f"{row}, {column}")
    return [f"* {'; '.join(where)}: {note}" for note, where in places.items()]
