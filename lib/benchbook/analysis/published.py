"""The numbers that the five papers print, and their ratios.

Begin with `load_published_numbers`, all of `data/published` in one frame.
"""

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
from benchbook.studies.catalogue import SLUGS

PublishedKey: TypeAlias = tuple[str, str, str]
"""Source, row and column of a number in `data/published`; ``{name}`` is replaced by a level."""

LevelNames: TypeAlias = dict[str, dict[str, str]]
"""What a paper calls the levels of a factor, by factor and level, in the keys of its numbers."""

CellSettings: TypeAlias = Mapping[str, Any]
"""Levels by the name of their parameter or column; they are values of JSON."""

Terms: TypeAlias = tuple[tuple[int, str], ...]
"""The names of a ratio's terms, each with 1 if it multiplies and -1 if it divides."""

_COLUMNS: Final = ["study", "source", "row", "column", "printed", "value", "unit", "note"]


def load_published_numbers(study: str | None = None) -> pd.DataFrame:
    """Return every number that the papers print, one row per number.

    Parameters
    ----------
    study
        Only the paper of this study; None: all five.

    Returns
    -------
    pandas.DataFrame
        ``study, source`` (table, figure or section)``, row, column, printed`` (the characters,
        with misprints)``, value`` (float; NaN for a text such as a version)``, unit, note``
        (misprints and what is meant). ``study, source, row, column`` is unique. A misprinted number
        has the printed value; a decimal comma is read as a point.

    Raises
    ------
    ValueError
        When there is no such study.
    """
    if study is not None and study not in SLUGS:
        raise ValueError(f"no study {study!r}: there are {', '.join(SLUGS)}")
    folder = paths.published_numbers()
    frames = [_read_numbers(folder / f"{slug}.csv") for slug in SLUGS if study in (None, slug)]
    return pd.concat(frames, ignore_index=True)


def find_published_value(study: str, source: str, row: str, column: str) -> float:
    """Return the value of a published number; NaN if the papers do not print it."""
    printed = find_published_number(study, source, row, column)
    return printed.value if printed else nan


def find_published_number(
    study: str, source: str, row: str, column: str
) -> "PublishedNumber | None":
    """Return a published number; None if the papers do not print it."""
    return _index_numbers(paths.published_numbers()).get((study, source, row, column))


@dataclass(frozen=True)
class PublishedNumber:
    """A number as a paper prints it: its place, its characters, their value and unit."""

    study: str
    source: str
    row: str
    column: str
    printed: str
    value: float
    unit: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Its place: study, source, row and column."""
        return self.study, self.source, self.row, self.column

    @property
    def rounding(self) -> float:
        """Half a unit of the last printed digit, in the number's unit.

        Papers differ in whether a comma separates decimals or thousands; the value shows which.
        """
        for run, decimals in product(re.findall(r"\d[\d., ]*", self.printed), range(5)):
            if isclose(int(re.sub(r"\D", "", run)) / 10**decimals, self.value, rel_tol=1e-12):
                return 0.5 * 10.0**-decimals
        return 0.5  # "one million"


@cache
def _index_numbers(folder: Path) -> dict[tuple[str, str, str, str], PublishedNumber]:
    rows = pd.concat([_read_numbers(folder / f"{slug}.csv") for slug in SLUGS]).drop(columns="note")
    numbers = (PublishedNumber(*row) for row in rows.itertuples(index=False, name=None))
    return {number.key: number for number in numbers}


def _read_numbers(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    if list(table.columns) != _COLUMNS:
        raise ValueError(
            f"{path}: the columns are {', '.join(table.columns)}, not {', '.join(_COLUMNS)}"
        )
    return table.assign(value=pd.to_numeric(table["value"].where(table["value"] != "")))


@dataclass(frozen=True)
class PublishedRatio:
    """A ratio that a paper claims or prints, with its bounds by rounding; NaN for none."""

    ratio: float = nan
    low: float = nan
    high: float = nan
    source: str = ""


def compute_published_ratio(
    study: str, terms: Terms, keys: Mapping[str, PublishedKey]
) -> PublishedRatio:
    """Return the ratio of printed numbers, with its bounds by their rounding.

    Parameters
    ----------
    study
        The slug of the paper's study.
    terms
        Which terms multiply and which divide.
    keys
        Where each term is printed, by its name. Without one of them there is no ratio.
    """
    signed = []
    for sign, name in terms:
        number = find_published_number(study, *keys[name]) if name in keys else None
        if number is None or isnan(number.value):
            return PublishedRatio()
        signed.append((sign, number))

    def divide(end: int) -> float:
        """Return the ratio with all numbers at one end of their rounding: -1, 0 or 1."""
        factors = [(one.value + sign * end * one.rounding) ** sign for sign, one in signed]
        return prod(factors)

    sources = dict.fromkeys(number.source for _, number in signed)
    return PublishedRatio(divide(0), divide(-1), divide(1), " / ".join(sources))


def fill_key(key: PublishedKey, called: LevelNames, settings: CellSettings) -> PublishedKey:
    """Return a key in which each ``{name}`` is replaced by what the paper calls its level."""

    def replace_name(match: "re.Match[str]") -> str:
        name = match[1]
        level = settings.get(name, match[0])
        # Several levels, of which the term has any, have no one word.
        if isinstance(level, tuple):
            return match[0]
        return called.get(name, {}).get(format_level(level), str(level))

    source, row, column = (re.sub(r"\{(\w+)\}", replace_name, part) for part in key)
    return source, row, column


def format_level(level: bool | int | float | str | None) -> str:
    """Return a level in the form of YAML: ``true``, ``null``."""
    if level is None:
        return "null"
    return str(level).lower() if isinstance(level, bool) else str(level)
