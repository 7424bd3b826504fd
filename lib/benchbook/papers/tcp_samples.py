"""The samples of study `tcp`, as measured here.

Begin with `collect_rows`, the rows that its tables and figures show, at the paper's levels and
sizes.
"""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import pandas as pd

from benchbook.analysis.runs import Analysis
from benchbook.plots.points import (
    BLOCK_COLUMNS,
    choose_levels,
    describe_missing,
    get_measured_table,
    select_rows,
    split_by_language,
)
from benchbook.text import names

MEASURES: Final = {
    "Total Time": ("server", "ms", "wall_time", 1e-6),
    "Average Time": ("server", "ms", "time_per_item", 1.0),
    "User CPU": ("machine", "%", "cpu_user_percent", 1.0),
    "System CPU": ("machine", "%", "cpu_system_percent", 1.0),
    "Memory": ("machine", "%", "memory_percent", 1.0),
}
"""The paper's measures: role, the paper's unit, our metric, and its scale in that unit."""

TRIALS: Final = {20_000: 1, 40_000: 2, 60_000: 3, 80_000: 4, 100_000: 5}
"""Trials of scenario 2 by their numbers of objects.

The paper took their five values for one sample.
"""

MILLION: Final = 1_000_000
"""Number of objects of scenario 1."""

SIZES: Final = tuple(TRIALS)
"""Numbers of objects of scenario 2."""

PRINTED_FORMATS: Final = ("JSON", "XML")
RESOURCE_TABLES: Final = {"JSON": "Table 4", "XML": "Table 5"}
"""The tables of the trials' resources."""

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
        all_notes += [*(f"{prefix}{note}" for note in missing), *notes[language]]
    if any(len(of_language) for of_language in rows.values()):
        all_notes.append(
            "here: arithmetic means over blocks; Tables 1 to 5 have geometric ones, and of shares "
            "those of their logits"
        )
    return rows, all_notes


@lru_cache(maxsize=2)
def collect_measures(
    analysis: Analysis,
) -> tuple[dict[str, pd.DataFrame], dict[str, list[str]]]:
    """Return each language's rows and notes on its levels; Python's are empty when none ran.

    Exhibits share them: do not change them.
    """
    rows, notes = {}, {}
    for language, table in split_by_language(get_measured_table(analysis, "tcp")).items():
        codecs = {f"{kind}_codec": codec for kind, codec in MAIN_CODECS[language].items()}
        levels = PAPER_LEVELS | LANGUAGE_LEVELS.get(language, {}) | codecs
        quiet = table[~table["noisy"].fillna(False).astype(bool)]
        chosen, level_notes = choose_levels(quiet, levels)
        ran = {*chosen["format"]}
        chosen_codecs = []
        for kind, codec in MAIN_CODECS[language].items():
            if kind in ran:
                name = names.name_level("codec", codec)
                chosen_codecs.append(f"{names.FORMATS[kind]} by {name}")
        level_notes += [", ".join(chosen_codecs)] if chosen_codecs else []
        notes[language] = [f"{language}: {note}" for note in level_notes]

        # In the paper's order each format has its own process. Where that did not run, only memory
        # was measured so.
        usual = "apart" if has_sequence(chosen) else "together"
        parts = []
        for measure, (role, unit, metric, scale) in MEASURES.items():
            process = "apart" if measure == "Memory" else usual
            part = select_rows(chosen, process=process, role=role, operation="receive")
            drawn = part[metric] * scale if metric in part else math.nan
            kinds = part["format"].map(names.FORMATS)
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
