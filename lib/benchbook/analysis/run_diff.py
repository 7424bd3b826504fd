"""What changed between two runs: each ratio, and each cell's own value, that both measured."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import exp, log, nan, sqrt
from typing import Any, Final

import numpy as np
import pandas as pd

from benchbook import studies
from benchbook.analysis import Analysis
from benchbook.analysis.comparisons import Comparison, with_holm
from benchbook.analysis.intervals import CONFIDENCE, Interval, mean_interval, quantile
from benchbook.analysis.published import CellSettings, text
from benchbook.analysis.sides import Configuration

METRICS: Final = ("wall_time", "elapsed_time", "cpu_time", "size", "bandwidth", "bytes_received", "memory_rss_mb")
"""Whose own values are compared: the others are made of them, or are shares."""

ALPHA: Final = 1 - CONFIDENCE

_UNSAID: Final = ("seed", "repetitions", "cell_format")


def ratios(before: Analysis, after: Analysis) -> pd.DataFrame:
    """Return how each ratio of the papers' tables changed: another machine moves times, but ratios are what is asked.

    Returns
    -------
    pandas.DataFrame
        The fields of `benchbook.analysis.comparisons.Comparison`, ``after`` over ``before``, the largest changes first:
        ``mean_a`` and ``mean_b`` are the two ratios; and ``p_holm``, corrected over the study.
    """
    firsts, seconds = ({comparison_key(row): row for row in Comparison.of(run.tables)} for run in (before, after))
    rows = []
    for key in [key for key in firsts if key in seconds]:
        first, second = firsts[key], seconds[key]
        if first.kind == "ratio" and first.estimate > 0 and second.estimate > 0:
            change = _factor(_interval(first), _interval(second))
            what = f"{second.a} / {second.b}"
            about = {**vars(second), "unit": "", "mean_a": second.estimate, "mean_b": first.estimate}
            rows.append(_row(about, what, change))
    return _ordered(rows)


def values(before: Analysis, after: Analysis) -> pd.DataFrame:
    """Return how each cell's own values changed, as `ratios`: ``mean_a`` and ``mean_b`` are means of blocks."""
    firsts, seconds = (_values(run) for run in (before, after))
    rows = []
    for key in [key for key in firsts if key in seconds]:
        study, language, cell, operation, role, metric = key
        (first, _), (second, unit) = firsts[key], seconds[key]
        settings = json.loads(cell)
        about = {
            "study": study,
            "language": language,
            "operation": operation,
            "role": role,
            "metric": metric,
            "unit": unit,
            "settings": settings,
            "n": settings.get("n"),
            "mean_a": exp(second.estimate),
            "mean_b": exp(first.estimate),
        }
        rows.append(_row(about, "", _factor(first, second)))
    return _ordered(rows)


def changed(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `ratios` or `values` that changed beyond noise, by Holm's p."""
    return table[table["p_holm"] < ALPHA]


def apart(before: Analysis, after: Analysis) -> dict[str, dict[str, tuple[str, str]]]:
    """Return the studies that both ran without a cell in common, and in which parameters their cells differ.

    Returns
    -------
    dict
        By study and parameter the levels of each run, in words: of parameters without a level in common where there
        are such, else of all in which the levels differ.
    """
    firsts, seconds = (_cells(run) for run in (before, after))
    lacking = {}
    for study in sorted(firsts.keys() & seconds.keys()):
        if firsts[study] & seconds[study]:
            continue
        first, second = _levels(firsts[study]), _levels(seconds[study])
        differ = [name for name in sorted({*first, *second}) if first[name] != second[name]]
        never_alike = [name for name in differ if not first[name] & second[name]]
        words = {}
        for name in never_alike or differ:
            words[name] = ", ".join(sorted(first[name])), ", ".join(sorted(second[name]))
        lacking[study] = words
    return lacking


def _row(about: Mapping[str, Any], what: str, change: dict[str, Any]) -> Comparison:
    """Return a change as a comparison of the run after with the one before."""
    known = {
        name: about[name] for name in ("study", "language", "operation", "role", "metric", "unit", "settings", "n")
    }
    shown = _in_words(about["study"], {"language": about["language"], **about["settings"]})
    label = ", ".join(filter(None, [what, shown]))
    means = {"mean_a": about["mean_a"], "mean_b": about["mean_b"]}
    return Comparison(name="run against run", a="after", b="before", label=label, **known, **means, **change)


def _factor(first: Interval, second: Interval) -> dict[str, Any]:
    """Return the factor between two runs, by Welch and Satterthwaite, from the intervals of their logarithms."""
    difference = second.estimate - first.estimate
    counts = {
        "estimate": exp(difference),
        "blocks": min(first.blocks, second.blocks),
        "machine_days": first.machine_days + second.machine_days,
    }
    squares = [first.error**2, second.error**2]
    if not sum(squares) > 0:
        reason = first.reason or second.reason or "the values do not vary"
        return {**counts, "reason": reason}
    df = sum(squares) ** 2 / (squares[0] ** 2 / first.df + squares[1] ** 2 / second.df)
    whole = Interval(difference, error=sqrt(sum(squares)), blocks=int(df) + 1)
    reach = quantile(whole.df, 0.5 + CONFIDENCE / 2) * whole.error
    ends = {"low": exp(difference - reach), "high": exp(difference + reach)}
    return {**counts, **ends, "error": whole.error, "t": whole.t(), "df": whole.df, "p": whole.p()}


def _interval(row: Comparison) -> Interval:
    """Return a ratio's interval, of its logarithm."""
    return Interval(
        log(row.estimate), error=row.error, blocks=row.blocks, machine_days=row.machine_days, reason=row.reason
    )


def comparison_key(row: Comparison) -> tuple[object, ...]:
    """Return what a comparison has in common with the same one of another run."""
    # A study that is given its topology has another comparison at each.
    given = {"topology"} & studies.load(row.study).Parameters.model_fields.keys()
    unsaid = {*_UNSAID, "arm", "topology"} - given
    settings = {name: level for name, level in row.settings.items() if name not in unsaid and level is not None}
    about = (row.study, row.name, row.language, row.operation, row.role, row.metric, row.a, row.b)
    return (*about, json.dumps(settings, sort_keys=True, default=str))


def _values(run: Analysis) -> dict[tuple[str, ...], tuple[Interval, str]]:
    """Return the intervals of the logarithms, and the units, by study, language, cell and quantity.

    A cell is its settings in JSON.
    """
    values: dict[tuple[str, ...], tuple[Interval, str]] = {}
    for study, measured in run.measured.items():
        for about, quantity, side in measured.each():
            if quantity[2] in METRICS and len(side.blocks) and (side.values > 0).all():
                interval = mean_interval(np.log(side.values), measured.machine_days[side.blocks])
                values[study, about.language, _cell(about), *quantity] = interval, side.unit
    return values


def _cells(run: Analysis) -> Mapping[str, set[str]]:
    """Return by study the cells whose own values are compared, each as its settings in JSON."""
    cells: dict[str, set[str]] = defaultdict(set)
    for study, _, cell, *_ in _values(run):
        cells[study].add(cell)
    return cells


def _levels(cells: Iterable[str]) -> Mapping[str, set[str]]:
    """Return the levels, in words, of each parameter that some cells have."""
    levels: dict[str, set[str]] = defaultdict(set)
    for cell in cells:
        for name, level in json.loads(cell).items():
            levels[name].add(text(level))
    return levels


def _cell(about: Configuration) -> str:
    """Return how a cell ran, as JSON: parameters that were not there then at their defaults."""
    model = studies.load(about.study).Parameters.model_fields
    defaults = {name: field.default for name, field in model.items() if not field.is_required()}
    settings = {**defaults, **about.settings}
    kept = {name: level for name, level in settings.items() if name not in ("seed", "repetitions")}
    return json.dumps({name: level for name, level in kept.items() if level is not None}, sort_keys=True, default=str)


def _in_words(study: str, settings: CellSettings) -> str:
    """Return settings in words, without what every cell has by default or is said already."""
    model = studies.load(study).Parameters.model_fields
    shown = []
    for name, level in settings.items():
        # A topology that is no parameter is every cell's of the study.
        if name in _UNSAID or level in (None, "none", "default") or (name == "topology" and name not in model):
            continue
        if name in ("n", "language", "database", "topology") or name not in model or level != model[name].default:
            shown.append(f"{name} {level}")
    return ", ".join(shown)


def _ordered(rows: Iterable[Comparison]) -> pd.DataFrame:
    """Return the changes as a frame, corrected over each study, the largest first."""
    table = with_holm(Comparison.frame(rows), ["study"])
    size = table["estimate"].astype(float).map(lambda change: abs(log(change)) if change > 0 else nan)
    return table.loc[size.sort_values(ascending=False, kind="stable").index].reset_index(drop=True)
