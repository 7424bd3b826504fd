"""The rows of study `tcp` that its tables and figures show, at the paper's levels and sizes."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

import pandas as pd

from benchbook.analysis.runs import Analysis
from benchbook.papers.printed_tests import MEASURES, TRIALS
from benchbook.plots import labels
from benchbook.plots.points import (
    BLOCK_COLUMNS,
    choose_levels,
    describe_missing,
    get_measured_table,
    select_rows,
    split_by_language,
)

MILLION: Final = 1_000_000

MAIN_CODECS: Final = {
    "Python": {"json": "orjson", "xml": "lxml"},
    "Java": {"json": "jackson", "xml": "jaxb"},
}
"""Each language's main codecs.

The paper's own are Java's; its XML decoder may have been another, as
`benchbook.papers.tcp.set_decoders` shows.
"""

PAPER_LEVELS: Final[dict[str, str | int]] = {
    "transport": "framed",
    "connections": 1,
    "encode": "before",
    "fields": 12,
    "held_mb": 0,
    "trials": "sequence",
    "heap": "default",
    "network": "none",
}
"""Objects are encoded before the server's clock starts: it measures decoding."""

LANGUAGE_LEVELS: Final[dict[str, dict[str, str | int]]] = {"Java": {"heap": "64m"}}
"""The heap that a JVM of the paper's time took."""

APART_LEVELS: Final[dict[str, str | int]] = {**PAPER_LEVELS, "process": "apart"}
TOGETHER_LEVELS: Final[dict[str, str | int]] = {
    **PAPER_LEVELS,
    "trials": "alone",
    "process": "together",
}
"""Both formats alternate with one server."""

SIZES: Final = tuple(TRIALS)
"""Numbers of objects of scenario 2."""


def collect_rows(
    analysis: Analysis, sizes: Iterable[int]
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Return each language's rows, and notes on missing sizes and levels.

    Columns are ``cell_id, n, Format, measure, unit, drawn`` and `BLOCK_COLUMNS`. Measures are the
    paper's: total and average time in ms on the server's clock; user CPU, system CPU and memory of
    the machine in percent. Noisy blocks are left out.
    """
    rows, notes = collect_measures(analysis)
    all_notes = []
    for language, of_language in rows.items():
        prefix = f"{language}: " if len(rows) > 1 else ""
        missing = describe_missing(list_missing_sizes(of_language, sizes))
        all_notes += [f"{prefix}{note}" for note in [*missing, *notes[language]]]
    return rows, all_notes


def collect_measures(
    analysis: Analysis,
) -> tuple[dict[str, pd.DataFrame], dict[str, list[str]]]:
    """Return each language's rows and notes on its levels; Python's are empty when none ran."""
    rows, notes = {}, {}
    for language, table in split_by_language(get_measured_table(analysis, "tcp")).items():
        codecs = {f"{kind}_codec": codec for kind, codec in MAIN_CODECS[language].items()}
        levels = PAPER_LEVELS | LANGUAGE_LEVELS.get(language, {}) | codecs
        quiet = table[~table["noisy"].fillna(False).astype(bool)]
        chosen, notes[language] = choose_levels(quiet, levels)

        # In the paper's order each format has its own process. Where that did not run, only memory
        # was measured so.
        usual = "apart" if has_sequence(chosen) else "together"
        parts = []
        for measure, (role, unit, metric, scale) in MEASURES.items():
            process = "apart" if measure == "Memory" else usual
            part = select_rows(chosen, process=process, role=role, operation="receive")
            drawn = part[metric] * scale if metric in part else math.nan
            kinds = part["format"].map(labels.FORMATS)
            columns = part[["cell_id", "n", "format", *BLOCK_COLUMNS]]
            parts.append(columns.assign(Format=kinds, measure=measure, unit=unit, drawn=drawn))
        rows[language] = pd.concat(parts, ignore_index=True)
    return rows, notes


def has_sequence(rows: pd.DataFrame) -> bool:
    """Return whether the trials ran in the paper's order, one after the other."""
    return "trials" in rows and bool((rows["trials"] == "sequence").any())


def list_missing_sizes(rows: pd.DataFrame, sizes: Iterable[int]) -> list[str]:
    """Return the sizes that did not run: ``n = 1,000``."""
    present = set(rows["n"])
    return [f"n = {n:,}" for n in sizes if n not in present]


def average_sizes(
    rows: pd.DataFrame, measure: str, kind: str, sizes: Sequence[int]
) -> "pd.Series[float]":
    """Return the mean of one measure at each size that ran."""
    at_sizes = select_rows(rows, Format=kind, measure=measure, n=sizes)
    return at_sizes.groupby("n")["drawn"].mean().dropna()
