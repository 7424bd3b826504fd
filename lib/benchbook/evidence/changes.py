"""What changed between two runs beyond noise: each ratio of sides, and each cell's own value, that both measured."""

import json
from collections.abc import Mapping
from math import exp, log, nan
from typing import Any, Final

import numpy as np
import pandas as pd

from benchbook import stats, studies
from benchbook.evidence import Evidence
from benchbook.evidence.sides import Configuration, Measured, Side
from benchbook.stats.inference import quantile

COLUMNS: Final = (
    "study",
    "what",
    "settings",
    "before",
    "after",
    "unit",
    "change",
    "low",
    "high",
    "p",
    "p_holm",
    "blocks",
)
METRICS: Final = ("wall_time", "elapsed_time", "cpu_time", "size", "bandwidth", "bytes_received", "memory_rss_mb")
"""Whose own values are compared: the others are made of them, or are shares."""

_UNTOLD: Final = ("seed", "repetitions", "format in turn", "topology", "arm")


def ratios(before: Evidence, after: Evidence) -> pd.DataFrame:
    """Return how each comparison's ratio changed: another machine moves times, but ratios are what studies ask for.

    Returns
    -------
    pandas.DataFrame
        `COLUMNS`, a row for each of `benchbook.evidence.comparisons` that both runs have, largest changes first:
        ``before`` and ``after`` are ratios, ``change`` how many times the one before the one after is, with its 95 %
        interval by Welch on the logarithms; NaN where a run has too few blocks. ``p_holm`` is corrected over the study.
    """
    theirs, mine = ({key(row): row for row in run.comparisons.to_dict("records")} for run in (before, after))
    rows = []
    for one in [one for one in theirs if one in mine]:
        first, second = theirs[one], mine[one]
        what = f"{second['a']} / {second['b']}, {second['operation']}, {second['metric']} of the {second['role']}"
        blocks = tuple(min(int(one["n_a"]), int(one["n_b"])) for one in (first, second))
        found = _of_logs(_error(first, before), _error(second, after))
        sides = first["ratio"], second["ratio"], ""
        rows.append((second["study"], what, _said(second["study"], second["settings"]), *sides, *found, blocks))
    return _ordered(rows)


def values(before: Evidence, after: Evidence) -> pd.DataFrame:
    """Return how each cell's own values changed, as `ratios`: ``before`` and ``after`` are means of blocks."""
    sides = [_values(run.means) for run in (before, after)]
    rows = []
    for key in [key for key in sides[0] if key in sides[1]]:
        logs = [np.log(side[key].values) for side in sides]
        study, about, *quantity = key
        parts = [(float(one.mean()), float(one.std(ddof=1) / len(one) ** 0.5) if len(one) > 1 else nan, len(one) - 1)
                 for one in logs]  # fmt: skip
        named = json.loads(about)
        what = "{0}, {2} of the {1}".format(*quantity)
        means, blocks = [exp(one[0]) for one in parts], tuple(len(one) for one in logs)
        rows.append((study, what, _said(study, named), *means, sides[1][key].unit, *_of_logs(*parts), blocks))
    return _ordered(rows)


def changed(table: pd.DataFrame, alpha: float = 0.05) -> pd.DataFrame:
    """Return the rows of `ratios` or `values` that changed beyond noise, by Holm's p."""
    return table[table["p_holm"] < alpha]


def _ordered(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=[name for name in COLUMNS if name != "p_holm"])
    corrected = table.groupby("study")["p"].transform(lambda p: stats.holm(p.to_numpy(dtype=float)))
    table = table.assign(p_holm=corrected.astype(float))[list(COLUMNS)]
    size = table["change"].astype(float).map(lambda one: abs(log(one)) if one > 0 else -1.0)
    return table.loc[size.sort_values(ascending=False, kind="stable").index].reset_index(drop=True)


Estimate = tuple[float, float, float]
"""Of a logarithm: the mean, its standard error and the degrees of freedom."""


def _of_logs(first: Estimate, second: Estimate) -> tuple[float, float, float, float]:
    """Return the factor between two estimates with its 95 % interval and p, by Welch and Satterthwaite."""
    difference = second[0] - first[0]
    squares = [one[1] ** 2 for one in (first, second)]
    if not sum(squares) > 0 or min(first[2], second[2]) < 1:
        return (exp(difference) if difference == difference else nan), nan, nan, nan
    df = sum(squares) ** 2 / sum(square**2 / one[2] for square, one in zip(squares, (first, second), strict=True))
    error = sum(squares) ** 0.5
    from scipy.special import stdtr

    reach = quantile(df, 0.975) * error
    p = 2 * float(stdtr(df, -abs(difference / error)))
    return exp(difference), exp(difference - reach), exp(difference + reach), p


def _error(row: Mapping[Any, Any], run: Evidence) -> Estimate:
    """Return a ratio's logarithm with the standard error that its 95 % interval states."""
    if not (row["ratio"] > 0 and 0 < row["low"] < row["high"] < float("inf")):
        return (log(row["ratio"]) if row["ratio"] > 0 else nan), nan, 0
    counts = [int(row["n_a"]), int(row["n_b"])]
    df = float(min(counts) - 1 if row["test"].startswith("paired") else sum(counts) - 2)
    if "campaign" in row["test"]:
        df = float(run.means.loc[run.means["study"] == row["study"], "campaign"].nunique() - 1)
    return log(row["ratio"]), (log(row["high"]) - log(row["low"])) / 2 / quantile(df, 0.975), df


def key(row: Mapping[Any, Any]) -> tuple[str, ...]:
    """Return what a row of `benchbook.evidence.comparisons` has in common with the same comparison of another run."""
    names = ("study", "comparison", "operation", "role", "metric", "side_a", "side_b")
    settings = {name: level for name, level in row["settings"].items() if name not in _UNTOLD and level is not None}
    return (*(str(row[name]) for name in names), json.dumps(settings, sort_keys=True, default=str))


def _values(means: pd.DataFrame) -> dict[tuple[str, str, str, str, str], Side]:
    """Return the blocks' values by study, cell (its settings as JSON), operation, role and metric.

    Of a cell that several versions of the code ran those of the latest.
    """
    means = means[(means["value"] > 0) & means["metric"].isin(METRICS)]
    values: dict[tuple[str, str, str, str, str], Side] = {}
    for study, rows in means.groupby("study", sort=False):
        measured = Measured(str(study), rows)
        cells = measured.configured.map({number: _cell(about) for number, about in measured.configurations.items()})
        latest = rows.assign(cell=cells).sort_values("started_at").groupby("cell")["cell_id"].last()
        measured = Measured(str(study), rows[rows["cell_id"] == cells.map(latest)])
        values |= {(str(study), _cell(about), *quantity): side for about, quantity, side in measured.each()}
    return values


def _cell(about: Configuration) -> str:
    """Return how a cell ran, as JSON, with those parameters at their defaults that were not there when it ran."""
    model = studies.load(about.study).Parameters.model_fields
    defaults = {name: field.default for name, field in model.items() if not field.is_required()}
    settings = {**defaults, **about.settings}
    kept = {name: level for name, level in settings.items() if name not in ("seed", "repetitions")}
    return json.dumps({name: level for name, level in kept.items() if level is not None}, sort_keys=True, default=str)


def _said(study: str, settings: dict[str, Any]) -> str:
    """Return settings in words, without what every cell has by default or is said already."""
    model = studies.load(study).Parameters.model_fields
    shown = {name: level for name, level in settings.items()
             if name not in (*_UNTOLD, "study", "stand_in") and level not in (None, "none", "default")
             and (name in ("n", "lane", "engine") or name not in model or level != model[name].default)}  # fmt: skip
    return ", ".join(f"{'implementation' if name == 'lane' else name} {level}" for name, level in shown.items())
