"""The lessons' own data, in ``notebooks/lessons/data``: a fixed part of the reference run.

Lessons read nothing else that was measured before, so their numbers stay when the reference run
grows. ``python -m tools.lesson_data`` makes these files.
"""

from functools import cache
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa

from benchbook import paths
from benchbook.analysis.block_means import compute_block_means
from benchbook.analysis.runs import Analysis
from benchbook.plots.points import select_rows
from benchbook.results.files import DamagedError, read_table
from benchbook.results.schema import name_parameter_column

ROUND_TRIPS_FILE: Final = "round_trips.parquet"
MEANS_FILE: Final = "block_means.parquet"
STORES_FILE: Final = "stores.parquet"


def find_folder() -> Path:
    """Return the folder of the lessons' data."""
    return paths.notebooks() / "lessons" / "data"


@cache
def _read(name: str) -> pd.DataFrame:
    stored = read_table(find_folder() / name)
    # No checksum covers the footer, which says what kind of values a column has.
    if any(pa.types.is_binary(kind) for kind in stored.schema.types):
        raise DamagedError(f"{name}: its columns are not those that were written")
    table: pd.DataFrame = stored.to_pandas()
    # The files have seven digits, to be small.
    return table.astype(dict.fromkeys(table.select_dtypes("float32"), "float64"))


def load_round_trips(**levels: object) -> pd.DataFrame:
    """Return single round trips of study bookstore.

    Parameters
    ----------
    levels
        Of ``language`` (java, python), ``n`` (books) and ``format`` (json, xml).

    Returns
    -------
    pandas.DataFrame
        ``language, n, format, block, repetition, us``. A block is a fresh process. In Java XML
        begins the blocks with odd numbers, and JSON the others.
    """
    return select_rows(_read(ROUND_TRIPS_FILE), **levels)


@cache
def load_means() -> pd.DataFrame:
    """Return block means of all studies, as `compute_block_means` returns them."""
    stored = _read(MEANS_FILE)
    # No wait of these blocks timed out, so each mean is its own lower bound.
    return compute_block_means(stored.assign(at_least=stored["value"], environment=None))


@cache
def load_analysis() -> Analysis:
    """Return the analysis of `load_means`.

    It is kept here because `benchbook_lessons.marking` reads a lesson's module again, not this one.
    """
    return Analysis(load_means())


def select_cells(rows: pd.DataFrame, **levels: object) -> pd.DataFrame:
    """Return the rows of the cells whose parameters have these levels."""
    for name, level in levels.items():
        column = name_parameter_column(name)
        rows = rows[rows[column] == level] if column in rows else rows[:0]
    return rows


def load_stores(table: str) -> pd.DataFrame:
    """Load the measurements of lesson 7 that machines without servers show.

    Parameters
    ----------
    table
        ``mapper``, ``replication`` or ``durability``.

    Returns
    -------
    pandas.DataFrame
        ``driver, operation, metric, durability, repetition, ms``; a column that the table does not
        need is absent.
    """
    rows = _read(STORES_FILE)
    chosen = rows[rows["table"] == table].dropna(axis="columns", how="all")
    return chosen.drop(columns="table").reset_index(drop=True)
