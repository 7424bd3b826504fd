"""The numbers that the five papers print, as data."""

import re
from functools import cache
from pathlib import Path
from typing import Final

import pandas as pd

from benchbook import paths

STUDIES: Final = ("bookstore", "tcp", "drivers", "crud", "replication")
_COLUMNS: Final = ["study", "source", "row", "column", "printed", "value", "unit", "note"]


def published(study: str | None = None) -> pd.DataFrame:
    """Return every number that the papers print, a row a number.

    Parameters
    ----------
    study
        The slug of one study; None for all five.

    Returns
    -------
    pandas.DataFrame
        ``study, source`` (table, figure or section)``, row, column, printed`` (the characters, misprints kept)``,
        value`` (float, NaN where the print is text such as a version)``, unit, note`` (misprints and what is meant).
        ``study, source, row, column`` is unique. A misprinted number keeps the printed value; a comma that stands for
        the decimal point is read as one.

    Raises
    ------
    ValueError
        When there is no such study.
    """
    if study is not None and study not in STUDIES:
        raise ValueError(f"no study {study!r}: there are {', '.join(STUDIES)}")
    folder = paths.published()
    frames = [_read(folder / f"{slug}.csv") for slug in STUDIES if study in (None, slug)]
    return pd.concat(frames, ignore_index=True)


def number(study: str, source: str, row: str, column: str) -> float:
    """Return one published number; NaN when the papers do not print it."""
    return _numbers(paths.published()).get((study, source, row, column), float("nan"))


@cache
def rounding(study: str, source: str, row: str, column: str) -> float:
    """Return half a unit of the last digit printed, in the number's unit: what rounding may hide."""
    table = published(study)
    found = table[table["source"].eq(source) & table["row"].eq(row) & table["column"].eq(column)].iloc[0]
    for number_, decimals in re.findall(r"(\d+(?:[.,](\d+))?)", str(found["printed"])):
        if float(number_.replace(",", ".")) == found["value"]:
            return float(0.5 * 10.0 ** -len(decimals))
    return 0.5 if float(found["value"]).is_integer() else 0.0  # "one million", "100,000"


@cache
def _numbers(folder: Path) -> dict[tuple[str, str, str, str], float]:
    """Return value by study, source, row and column."""
    table = pd.concat([_read(folder / f"{slug}.csv") for slug in STUDIES])
    keys = zip(table["study"], table["source"], table["row"], table["column"], strict=True)
    return dict(zip(keys, table["value"].tolist(), strict=True))


def _read(path: Path) -> pd.DataFrame:
    """Return one study's file, text as text and values as floats."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    if list(table.columns) != _COLUMNS:
        raise ValueError(f"{path}: the columns are {', '.join(table.columns)}, not {', '.join(_COLUMNS)}")
    return table.assign(value=pd.to_numeric(table["value"].where(table["value"] != "")))
