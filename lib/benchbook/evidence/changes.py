"""What changed between two runs beyond noise: each ratio of sides, and each cell's own value, that both measured."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import exp, inf, log, nan
from typing import Final

import numpy as np
import pandas as pd

from benchbook import stats, studies
from benchbook.evidence import Evidence
from benchbook.evidence.comparisons import Compared
from benchbook.evidence.effects import BY_CAMPAIGN
from benchbook.evidence.judge import ALPHA
from benchbook.evidence.measured import Configuration, Measured
from benchbook.evidence.published import CellSettings, text
from benchbook.evidence.rows import Row
from benchbook.evidence.sides import Side
from benchbook.stats.inference import around, quantile, t_test

METRICS: Final = ("wall_time", "elapsed_time", "cpu_time", "size", "bandwidth", "bytes_received", "memory_rss_mb")
"""Whose own values are compared: the others are made of them, or are shares."""

_UNSAID: Final = ("seed", "repetitions", "format in turn")
_SAID: Final = ("n", "lane", "engine", "topology")
"""Settings that are said of every cell, at their defaults too."""


@dataclass(frozen=True)
class Change(Row):
    """One ratio, or one value, of two runs; numbers are NaN where a run has too few blocks."""

    study: str
    what: str
    settings: str  # in words
    before: float  # a ratio, or a mean of blocks in `unit`
    after: float
    unit: str  # empty of ratios
    change: float  # how many times the one before the one after is, with its 95 % interval
    low: float
    high: float
    p: float  # of Welch's test that nothing changed, uncorrected
    blocks: tuple[int, int]  # of each run


@dataclass(frozen=True)
class Estimate:
    """A logarithm: its mean, the standard error of that and the degrees of freedom, 0 where there is no error."""

    mean: float
    error: float
    df: float


def ratios(before: Evidence, after: Evidence) -> pd.DataFrame:
    """Return how each comparison's ratio changed: another machine moves times, but ratios are what studies ask for.

    Returns
    -------
    pandas.DataFrame
        Its columns are the fields of `Change` and ``p_holm``, corrected over the study; a row for each of
        `benchbook.evidence.comparisons` that both runs have, largest changes first.
    """
    firsts, seconds = ({row.key: row for row in _compared(run)} for run in (before, after))
    changes = []
    for key in [key for key in firsts if key in seconds]:
        first, second = firsts[key], seconds[key]
        what = f"{second.a} / {second.b}, {second.operation}, {second.metric} of the {second.role}"
        settings, blocks = _in_words(second.study, second.settings), (first.blocks, second.blocks)
        factor = _factor(_of_interval(first), _of_interval(second))
        changes.append(Change(second.study, what, settings, first.ratio, second.ratio, "", *factor, blocks))
    return _ordered(changes)


def values(before: Evidence, after: Evidence) -> pd.DataFrame:
    """Return how each cell's own values changed, as `ratios`: ``before`` and ``after`` are means of blocks."""
    firsts, seconds = (_values(_of_one_host(run)) for run in (before, after))
    changes = []
    for key in [key for key in firsts if key in seconds]:
        study, cell, operation, role, metric = key
        sides = firsts[key], seconds[key]
        estimates = [_of_blocks(side) for side in sides]
        what, settings = f"{operation}, {metric} of the {role}", _in_words(study, json.loads(cell))
        mean_before, mean_after = (exp(estimate.mean) for estimate in estimates)
        blocks = (len(sides[0].blocks), len(sides[1].blocks))
        factor = _factor(*estimates)
        changes.append(Change(study, what, settings, mean_before, mean_after, sides[1].unit, *factor, blocks))
    return _ordered(changes)


def apart(before: Evidence, after: Evidence) -> dict[str, dict[str, tuple[str, str]]]:
    """Return the studies that both ran without a cell in common, and in which parameters their cells differ.

    Returns
    -------
    dict
        By study and parameter the levels of each run, in words: of parameters without a level in common where there
        are such, else of all in which the levels differ.
    """
    both = {*before.means["study"]} & {*after.means["study"]}
    runs = (_of_one_host(run) for run in (before, after))
    firsts, seconds = (_cells(means[means["study"].isin(both)]) for means in runs)
    lacking = {}
    for study in sorted(both):
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


def changed(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `ratios` or `values` that changed beyond noise, by Holm's p."""
    return table[table["p_holm"] < ALPHA]


def _ordered(changes: Iterable[Change]) -> pd.DataFrame:
    """Return the changes as a frame, corrected over each study, the largest first."""
    table = Change.frame(changes)
    corrected = table.groupby("study")["p"].transform(lambda p: stats.holm(p.to_numpy(dtype=float)))
    table.insert(list(table).index("blocks"), "p_holm", corrected.astype(float))
    size = table["change"].astype(float).map(lambda change: abs(log(change)) if change > 0 else -1.0)
    return table.loc[size.sort_values(ascending=False, kind="stable").index].reset_index(drop=True)


def _factor(first: Estimate, second: Estimate) -> tuple[float, float, float, float]:
    """Return the factor between two estimates, its 95 % interval's ends and p, by Welch and Satterthwaite."""
    difference = second.mean - first.mean
    squares = [first.error**2, second.error**2]
    if not sum(squares) > 0 or min(first.df, second.df) < 1:
        return exp(difference), nan, nan, nan
    df = sum(squares) ** 2 / (squares[0] ** 2 / first.df + squares[1] ** 2 / second.df)
    error = sum(squares) ** 0.5
    logs = around(difference, error, df)
    return exp(difference), exp(logs.low), exp(logs.high), t_test(difference, error, df).p


def _of_interval(row: Compared) -> Estimate:
    """Return a ratio's logarithm with the standard error that its 95 % interval states."""
    if not row.ratio > 0:
        return Estimate(nan, nan, 0)
    if not 0 < row.low < row.high < inf:
        return Estimate(log(row.ratio), nan, 0)
    df = float((row.campaigns if row.test.startswith(BY_CAMPAIGN) else row.blocks) - 1)
    return Estimate(log(row.ratio), (log(row.high) - log(row.low)) / 2 / quantile(df, 0.975), df)


def _of_blocks(side: Side) -> Estimate:
    """Return the logarithm of a cell's mean with the standard error that its blocks' spread states."""
    logs, blocks = np.log(side.values), len(side.values)
    error = float(logs.std(ddof=1) / blocks**0.5) if blocks > 1 else nan
    return Estimate(float(logs.mean()), error, blocks - 1)


def _compared(run: Evidence) -> Iterable[Compared]:
    """Return a run's comparisons, of each study on the host that ran most of it."""
    return (row for study in run.means["study"].unique() for row in Compared.of(run.compared(study)))


def _of_one_host(run: Evidence) -> pd.DataFrame:
    """Return a run's means, of each study on the host that ran most of it."""
    by_study = {study: run.of_one_host(study).means for study in run.means["study"].unique()}
    means: pd.DataFrame = pd.concat(
        [run.means[:0], *(rows[rows["study"] == study] for study, rows in by_study.items())]
    )
    return means


def _values(means: pd.DataFrame) -> dict[tuple[str, str, str, str, str], Side]:
    """Return the blocks' values by study, cell (its settings as JSON), operation, role and metric.

    Of a cell that several versions of the code ran those of the latest.
    """
    means = means[(means["value"] > 0) & means["metric"].isin(METRICS)]
    values: dict[tuple[str, str, str, str, str], Side] = {}
    for study, rows in means.groupby("study", sort=False):
        measured = Measured(str(study), rows)
        named = {number: _cell(about) for number, about in measured.configurations.items()}
        cells = measured.configured.map(named)
        latest = rows.assign(cell=cells).sort_values("started_at").groupby("cell")["cell_id"].last()
        measured = Measured(str(study), rows[rows["cell_id"] == cells.map(latest)])
        for about, quantity, side in measured.each():
            values[str(study), _cell(about), *quantity] = side
    return values


def _cells(means: pd.DataFrame) -> Mapping[str, set[str]]:
    """Return by study the cells whose own values are compared, each as its settings in JSON."""
    cells: dict[str, set[str]] = defaultdict(set)
    for study, cell, *_ in _values(means):
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
        # a topology that is no parameter is every cell's of the study
        if name in _UNSAID or level in (None, "none", "default") or (name == "topology" and name not in model):
            continue
        if name in _SAID or name not in model or level != model[name].default:
            shown.append(f"{'implementation' if name == 'lane' else name} {level}")
    return ", ".join(shown)
