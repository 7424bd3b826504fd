"""Tables in the papers' form: every printed number beside this machine's, which carries its interval."""

from collections.abc import Sequence
from itertools import product
from typing import Any, Final

import pandas as pd

from benchbook.digits import NOT_PRINTED, interval, rounded
from benchbook.plots.names import mark
from benchbook.plots.points import each

SOURCES: Final = ("published", "here")
NOT_RUN: Final = "not run"


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
    text = ("> " if point.censored else "") + rounded(point.value, point.low, point.high)[0]
    ends = interval(point.value, point.low, point.high, point.unit)
    text += f" ({ends})" if ends else ""
    return f"{text} {mark(point.caveat, stand_in=point.stand_in)}".rstrip()


def misprints(rows: pd.DataFrame) -> list[str]:
    """Return what the published numbers' notes say, one sentence a note, for the asterisks of a table."""
    places: dict[str, list[str]] = {}
    for row, column, note in zip(rows["row"], rows["column"], rows["note"], strict=True):
        if note:
            places.setdefault(str(note), []).append(f"{row}, {column}")
    return [f"* {'; '.join(where)}: {note}" for note, where in places.items()]
