"""The numbers that the five papers print, as data, and the ratios that they make."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import isclose, isnan, nan, prod
from pathlib import Path
from typing import Any, Final, TypeAlias

import pandas as pd

from benchbook import paths
from benchbook.studies import SLUGS

Key: TypeAlias = tuple[str, str, str]
"""Source, row and column of a number in `data/published`; ``{name}`` stands for that factor's level."""

Called: TypeAlias = dict[str, dict[str, str]]
"""What a paper calls a factor's levels, by factor and level: the word that stands in a published number's key."""

CellSettings: TypeAlias = Mapping[str, Any]
"""What cells ran with, by name: parameters, and columns that their rows state; values are those of JSON."""

Terms: TypeAlias = tuple[tuple[int, str], ...]
"""Sides' names with 1 for each that multiplies a ratio and -1 for each that divides it."""

_COLUMNS: Final = ["study", "source", "row", "column", "printed", "value", "unit", "note"]


def published(study: str | None = None) -> pd.DataFrame:
    """Return every number that one paper prints, or all five, a row a number.

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
    if study is not None and study not in SLUGS:
        raise ValueError(f"no study {study!r}: there are {', '.join(SLUGS)}")
    folder = paths.published()
    frames = [_read(folder / f"{slug}.csv") for slug in SLUGS if study in (None, slug)]
    return pd.concat(frames, ignore_index=True)


def number(study: str, source: str, row: str, column: str) -> float:
    """Return one published number's value; NaN when the papers do not print it."""
    printed = printed_number(study, source, row, column)
    return printed.value if printed else nan


def printed_number(study: str, source: str, row: str, column: str) -> "Number | None":
    """Return one published number as it is printed; None when the papers do not print it."""
    return _numbers(paths.published()).get((study, source, row, column))


@dataclass(frozen=True)
class Number:
    """One number as a paper prints it: where it stands, its characters, what they mean and in which unit."""

    study: str
    source: str
    row: str
    column: str
    printed: str
    value: float
    unit: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Where it stands, as one value."""
        return self.study, self.source, self.row, self.column

    @property
    def rounding(self) -> float:
        """Half a unit of the last digit printed, in the number's unit: what rounding may hide.

        Point and comma stand for decimals in one paper and for thousands in the next: the value says which.
        """
        for run, decimals in product(re.findall(r"\d[\d., ]*", self.printed), range(5)):
            if isclose(int(re.sub(r"\D", "", run)) / 10**decimals, self.value, rel_tol=1e-12):
                return 0.5 * 10.0**-decimals
        return 0.5  # "one million"


@cache
def _numbers(folder: Path) -> dict[tuple[str, str, str, str], Number]:
    """Return the numbers by study, source, row and column."""
    rows = pd.concat([_read(folder / f"{slug}.csv") for slug in SLUGS]).drop(columns="note")
    numbers = (Number(*row) for row in rows.itertuples(index=False, name=None))
    return {number.key: number for number in numbers}


def _read(path: Path) -> pd.DataFrame:
    """Return one study's file, text as text and values as floats."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    if list(table.columns) != _COLUMNS:
        raise ValueError(f"{path}: the columns are {', '.join(table.columns)}, not {', '.join(_COLUMNS)}")
    return table.assign(value=pd.to_numeric(table["value"].where(table["value"] != "")))


@dataclass(frozen=True)
class PublishedRatio:
    """A ratio that a paper claims or prints: its value, the ends that rounding leaves it, and where; NaN for none."""

    ratio: float = nan
    low: float = nan
    high: float = nan
    source: str = ""


def ratio_of(study: str, terms: Terms, keys: Mapping[str, Key], divisor: float = 1.0) -> PublishedRatio:
    """Return the ratio of printed numbers, each as far off as its rounding allows; none when one is not printed."""
    if any(name not in keys for _, name in terms):
        return PublishedRatio()
    numbers = [(sign, printed_number(study, *keys[name])) for sign, name in terms]
    values = [(sign, term.value, term.rounding) for sign, term in numbers if term and not isnan(term.value)]
    if len(values) < len(terms):
        return PublishedRatio()
    ratio, low, high = (
        prod((value + sign * end * half) ** sign for sign, value, half in values) / divisor for end in (0, -1, 1)
    )
    return PublishedRatio(ratio, low, high, " / ".join(dict.fromkeys(keys[name][0] for _, name in terms)))


def filled(key: Key, called: Called, settings: CellSettings) -> Key:
    """Return a key with each ``{name}`` replaced by what the paper calls its level."""

    def word(name: "re.Match[str]") -> str:
        level = settings.get(name[1], name[0])
        return name[0] if isinstance(level, tuple) else called.get(name[1], {}).get(text(level), str(level))

    source, row, column = (re.sub(r"\{(\w+)\}", word, part) for part in key)
    return source, row, column


def text(level: bool | int | float | str) -> str:
    """Return a level as YAML writes it."""
    return str(level).lower() if isinstance(level, bool) else str(level)
