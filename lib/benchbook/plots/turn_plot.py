"""What going first in a process costs: a figure per study whose sides take turns."""

from typing import Final

import pandas as pd

from benchbook.analysis.intervals import compute_interval, exponentiate
from benchbook.analysis.orders import compare_turns
from benchbook.analysis.runs import Analysis
from benchbook.analysis.study_means import select_first_arms
from benchbook.plots.exhibit import Dots, Exhibit
from benchbook.plots.points import (
    FrameRow,
    describe_blocks,
    frame_points,
    iterate_rows,
    join_points,
    select_rows,
)
from benchbook.text.names import LANGUAGES, name_metric

SHOWN_METRICS: Final = ("wall_time", "cpu_time")


def draw_turns(analysis: Analysis, study: str) -> Exhibit:
    """Draw a side's mean in processes that it began over its mean in the others, by n."""
    costs = _list_costs(analysis, study)
    parts = []
    for _, group in costs.groupby(["n", "operation", "metric", "language"], sort=True):
        row: FrameRow = next(iterate_rows(group))
        # One number per block, of all cells of that n.
        blocks = group.groupby(["machine_day", "begun"])["cost"].mean().reset_index()
        found = compute_interval(blocks["cost"], blocks["machine_day"].to_numpy())
        mark = {
            "source": "here",
            "value": exponentiate(found.estimate),
            "low": exponentiate(found.low),
            "high": exponentiate(found.high),
            "blocks": found.blocks,
        }
        level = f"{row.operation.replace('_', ' ')}: {name_metric(row.metric)}"
        series = LANGUAGES[row.language]
        panel = f"n = {int(row.n):,}"
        parts.append(frame_points([mark], panel=panel, level=level, series=series, unit="ratio"))
    points = join_points(*parts)
    rows, panels = (list(dict.fromkeys(points[name])) for name in ("level", "panel"))
    notes = ["not run in this profile: no side began one block and not another"]
    if parts:
        notes = [
            "right of 1: the side that begins a process takes longer than it does elsewhere",
            describe_blocks(points["blocks"]),
        ]
    drawing = Dots("first / later", rows, panels or [""], reference=1.0)
    title = "what going first in a process costs"
    return Exhibit(title, points, tuple(notes), drawing)


def _list_costs(analysis: Analysis, study: str) -> pd.DataFrame:
    """Return the cost of going first in the quiet blocks of a study's times."""
    means = select_rows(analysis.means, study=study, metric=list(SHOWN_METRICS))
    means = select_first_arms(means[~means["noisy"].fillna(False).astype(bool)])
    if "process" in means:
        means = select_rows(means, process="together")
    return compare_turns(means)
