"""What changed between two runs: each ratio, and each cell's own values, that both measured.

Begin with `compare_ratios` and `compare_values`.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import exp, inf, log, sqrt
from typing import Any, Final

import numpy as np

from benchbook.analysis.comparisons import Comparison, add_holm
from benchbook.analysis.configurations import Configuration
from benchbook.analysis.intervals import (
    CONFIDENCE,
    Interval,
    compute_interval,
    compute_t_quantile,
)
from benchbook.analysis.published import CellSettings, format_level
from benchbook.analysis.runs import Analysis
from benchbook.studies.catalogue import load_study

_NOT_NAMED: Final = ("seed", "repetitions", "cell_format")
"""Settings that do not tell comparisons apart."""

_ABOUT: Final = ("study", "language", "operation", "role", "metric", "unit", "settings", "n")


def compare_ratios(before: Analysis, after: Analysis) -> list[Comparison]:
    """Return how each ratio of the papers' tables changed; another machine moves times, not these.

    Returns
    -------
    list of Comparison
        ``after`` over ``before``, the largest changes first. ``mean_a`` and ``mean_b`` are the two
        ratios; ``p_holm`` is corrected over the study.
    """
    # Each comparison of either run, by a key that is the same in both.
    first_rows, second_rows = (
        {make_comparison_key(row): row for row in run.tables} for run in (before, after)
    )
    rows = []
    for key, first in first_rows.items():
        second = second_rows.get(key)
        if second is None or first.kind != "ratio":
            continue
        if first.estimate > 0 and second.estimate > 0:
            about = {**vars(second), "unit": ""}
            about |= {"mean_a": second.estimate, "mean_b": first.estimate}
            change = _divide(_log_interval(first), _log_interval(second))
            rows.append(_describe_change(about, f"{second.a} / {second.b}", change))
    return _sort_changes(rows)


def compare_values(before: Analysis, after: Analysis) -> list[Comparison]:
    """Return how each cell's own values changed.

    Returns
    -------
    list of Comparison
        As `compare_ratios`; ``mean_a`` and ``mean_b`` are geometric means of blocks.
    """
    first_values, second_values = (_list_values(run) for run in (before, after))
    rows = []
    for key, (first, _) in first_values.items():
        if key not in second_values:
            continue
        study, language, cell, operation, role, metric = key
        second, unit = second_values[key]
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
        rows.append(_describe_change(about, "", _divide(first, second)))
    return _sort_changes(rows)


def select_changes(rows: Iterable[Comparison]) -> list[Comparison]:
    """Return the changes of `compare_ratios` or `compare_values` that are beyond noise."""
    return [row for row in rows if row.p_holm < 1 - CONFIDENCE]


def find_disjoint_studies(
    before: Analysis, after: Analysis
) -> dict[str, dict[str, tuple[str, str]]]:
    """Return the studies that both ran without a cell in common, and why they have none.

    Returns
    -------
    dict
        By study and parameter the levels of each run, in words: of parameters without a common
        level if there are any, else of all whose levels differ.
    """
    first_cells, second_cells = (_list_cells(run) for run in (before, after))
    disjoint = {}
    for study in sorted(first_cells.keys() & second_cells.keys()):
        if first_cells[study] & second_cells[study]:
            continue
        # Parameters without a common level are the reason; one of them is enough.
        first, second = (_list_levels(cells[study]) for cells in (first_cells, second_cells))
        differing = [name for name in sorted({*first, *second}) if first[name] != second[name]]
        without_common = [name for name in differing if not first[name] & second[name]]
        words = {}
        for name in without_common or differing:
            words[name] = ", ".join(sorted(first[name])), ", ".join(sorted(second[name]))
        disjoint[study] = words
    return disjoint


def make_comparison_key(row: Comparison) -> tuple[object, ...]:
    """Return the key by which a comparison is the same in two runs."""
    # Where the topology is a parameter, each has comparisons of its own.
    parameters = load_study(row.study).Parameters.model_fields
    not_named = {*_NOT_NAMED, "arm"}
    if "topology" not in parameters:
        not_named.add("topology")
    settings = {name: level for name, level in row.settings.items() if name not in not_named}
    settings = {name: level for name, level in settings.items() if level is not None}
    about = (row.study, row.name, row.language, row.operation, row.role, row.metric, row.a, row.b)
    return (*about, json.dumps(settings, sort_keys=True, default=str))


def _describe_change(about: Mapping[str, Any], ratio: str, change: dict[str, Any]) -> Comparison:
    """Return a change as a comparison of the run after with the one before.

    `about` has the fields of `_ABOUT`, ``mean_a`` and ``mean_b``; `ratio` names what is divided.
    """
    settings = {"language": about["language"], **about["settings"]}
    words = [ratio, _format_settings(about["study"], settings)]
    return Comparison(
        name="run against run",
        a="after",
        b="before",
        label=", ".join(filter(None, words)),
        mean_a=about["mean_a"],
        mean_b=about["mean_b"],
        **{name: about[name] for name in _ABOUT},
        **change,
    )


def _divide(first: Interval, second: Interval) -> dict[str, Any]:
    """Return the factor from the first to the second, from the intervals of their logarithms.

    The interval and the test are those of Welch and Satterthwaite.
    """
    difference = second.estimate - first.estimate
    numbers = {
        "estimate": exp(difference),
        "blocks": min(first.blocks, second.blocks),
        "machine_days": first.machine_days + second.machine_days,
    }
    # An error is NaN where there is no interval, which is not above 0 either.
    squares = [first.error**2, second.error**2]
    if not sum(squares) > 0:
        reason = first.reason or second.reason or "the values do not vary"
        return {**numbers, "reason": reason}

    df = sum(squares) ** 2 / (squares[0] ** 2 / first.df + squares[1] ** 2 / second.df)
    change = Interval(difference, error=sqrt(sum(squares)), blocks=int(df) + 1)
    reach = compute_t_quantile(change.df, 0.5 + CONFIDENCE / 2) * change.error
    return {
        **numbers,
        "low": exp(difference - reach),
        "high": exp(difference + reach),
        "error": change.error,
        "t": change.t(),
        "df": change.df,
        "p": change.p(),
    }


def _log_interval(row: Comparison) -> Interval:
    return Interval(
        log(row.estimate),
        error=row.error,
        blocks=row.blocks,
        machine_days=row.machine_days,
        reason=row.reason,
    )


def _list_values(run: Analysis) -> dict[tuple[str, ...], tuple[Interval, str]]:
    """Return the interval of the logarithm, and the unit, of each cell's own values.

    By study, language, cell (its settings in JSON), operation, role and metric.
    """
    # The other metrics derive from these, or are shares.
    compared = {
        *("wall_time", "elapsed_time", "cpu_time", "size", "bandwidth", "bytes_received"),
        "memory_rss_mb",
    }
    values: dict[tuple[str, ...], tuple[Interval, str]] = {}
    for study, measured in run.studies.items():
        for configuration, quantity, means in measured.iterate_means():
            if quantity[2] not in compared or not len(means.blocks):
                continue
            if (means.values > 0).all():
                days = measured.machine_days[means.blocks]
                key = (study, configuration.language, _write_cell(configuration), *quantity)
                values[key] = compute_interval(np.log(means.values), days), means.unit
    return values


def _list_cells(run: Analysis) -> Mapping[str, set[str]]:
    """Return the cells of each study whose own values are compared, as settings in JSON."""
    cells: dict[str, set[str]] = defaultdict(set)
    for study, _, cell, *_ in _list_values(run):
        cells[study].add(cell)
    return cells


def _list_levels(cells: Iterable[str]) -> Mapping[str, set[str]]:
    """Return the levels of each parameter of some cells, in words."""
    levels: dict[str, set[str]] = defaultdict(set)
    for cell in cells:
        for name, level in json.loads(cell).items():
            levels[name].add(format_level(level))
    return levels


def _write_cell(configuration: Configuration) -> str:
    """Return a configuration's settings as JSON; parameters that came later have their defaults."""
    fields = load_study(configuration.study).Parameters.model_fields
    defaults = {name: field.default for name, field in fields.items() if not field.is_required()}
    settings = {**defaults, **configuration.settings}
    for name in ("seed", "repetitions"):
        settings.pop(name, None)
    settings = {name: level for name, level in settings.items() if level is not None}
    return json.dumps(settings, sort_keys=True, default=str)


def _format_settings(study: str, settings: CellSettings) -> str:
    """Return settings in words, without defaults and what every cell of the study has."""
    fields = load_study(study).Parameters.model_fields
    words = []
    for name, level in settings.items():
        if name in _NOT_NAMED or level in (None, "none", "default"):
            continue
        # A topology that is not a parameter is the same in every cell of the study.
        if name == "topology" and name not in fields:
            continue
        is_always_shown = name in ("n", "language", "database", "topology")
        if is_always_shown or name not in fields or level != fields[name].default:
            words.append(f"{name} {level}")
    return ", ".join(words)


def _sort_changes(rows: Sequence[Comparison]) -> list[Comparison]:
    """Return changes corrected over each study, the largest first."""

    def measure(row: Comparison) -> float:
        return -abs(log(row.estimate)) if row.estimate > 0 else inf

    return sorted(add_holm(rows, lambda row: row.study), key=measure)
