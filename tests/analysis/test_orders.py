"""Who goes first: blocks of Node.js that each driver began, joined; and what going first costs."""

import numpy as np
import pandas as pd
import pytest

from benchbook.analysis.block_means import compute_block_means
from benchbook.analysis.orders import compare_turns
from benchbook.analysis.runs import Analysis
from benchbook.plots.turn_plot import draw_turns

BEGIN = pd.Timestamp("2026-11-01 12:00", tz="UTC")
FIRST_COSTS = 1.25
"""The factor of going first in the rows."""


def make_block(
    block: int, beginner: str, *, hours: float = 0.0, both: bool = False, metric: str = "wall_time"
) -> pd.DataFrame:
    """Return one find of each driver, with its turn if both drivers began a process."""
    sides = ["mongoclient", "mongoose"]
    if beginner == "mongoose":
        sides.reverse()
    orders = [sides, sides[::-1]] if both else [sides]
    rows = []
    for repetition, order in enumerate(orders):
        for turn, driver in enumerate(order, 1):
            mean = 100.0 if driver == "mongoclient" else 200.0
            seconds = 60 * block + 10 * repetition + turn
            started_at = BEGIN + pd.Timedelta(hours=hours, seconds=seconds)
            rows.append({
                "study": "drivers",
                "language": "node",
                "process": "together",
                "cell_driver": "mongoclient+mongoose",
                "cell_id": "cell",
                "host": "a",
                "block": block,
                "state": "done",
                "driver": driver,
                "operation": "find",
                "role": "client",
                "metric": metric,
                "unit": "ns",
                "source": "",
                "repetition": repetition,
                "value": mean * (FIRST_COSTS if turn == 1 else 1.0),
                "count": 1,
                "timed_out": False,
                "noisy": False,
                "started_at": started_at,
                "turn": turn if both else None,
            })  # fmt: skip
    return pd.DataFrame(rows)


def compute_ratios(*blocks: pd.DataFrame) -> list[float]:
    """Return Mongoose over MongoClient of each block that is read."""
    means = compute_block_means(pd.concat(blocks))
    means = means[means["metric"].isin(["wall_time", "cpu_total"])]
    if means.empty:
        return []
    values = means.set_index(["block", "driver"])["value"].unstack()
    return list(values["mongoose"] / values["mongoclient"])


def test_a_block_is_joined_with_the_next_that_the_other_side_began() -> None:
    client, mongoose = "mongoclient", "mongoose"
    assert compute_ratios(make_block(0, client), make_block(1, mongoose)) == [2.0]
    three = [make_block(0, client), make_block(1, client), make_block(2, mongoose)]
    assert compute_ratios(*three) == [2.0], "one has no partner"
    assert not compute_ratios(make_block(0, client), make_block(1, client))


def test_blocks_of_two_days_are_not_joined() -> None:
    assert not compute_ratios(make_block(0, "mongoclient"), make_block(1, "mongoose", hours=24.0))


def test_a_block_that_both_sides_began_is_read_as_it_is() -> None:
    blocks = [make_block(number, "mongoclient", both=True) for number in range(2)]
    assert compute_ratios(*blocks) == [2.0, 2.0]
    assert compute_ratios(*blocks, make_block(2, "mongoclient")) == [2.0, 2.0]


@pytest.mark.parametrize(
    ("column", "level"),
    [("process", "apart"), ("language", "python"), ("operation", "insert"), ("study", "crud")],
)
def test_other_blocks_are_read_as_they_are(column: str, level: str) -> None:
    blocks = pd.concat([make_block(0, "mongoclient"), make_block(1, "mongoclient")])
    assert len(compute_ratios(blocks.assign(**{column: level}))) == 2


def test_processor_time_is_joined_whatever_the_operation() -> None:
    parts = [make_block(number, side) for number, side in enumerate(["mongoclient", "mongoose"])]
    rows = pd.concat(parts).assign(operation="insert", metric="cpu_total")
    assert compute_ratios(rows) == [2.0]


def test_noisy_blocks_are_not_joined_with_quiet_ones() -> None:
    noisy = make_block(0, "mongoclient").assign(noisy=True)
    means = compute_block_means(pd.concat([noisy, make_block(1, "mongoose")]))
    assert set(means["noisy"]) == {True}


@pytest.mark.parametrize("both", [True, False])
def test_what_going_first_costs_is_a_sides_mean_when_first_over_its_mean_when_later(
    both: bool,
) -> None:
    blocks = [make_block(0, "mongoclient", both=both)]
    if not both:
        blocks.append(make_block(1, "mongoose"))
    costs = compare_turns(compute_block_means(pd.concat(blocks)).query("metric == 'wall_time'"))
    assert np.exp(costs["cost"]).tolist() == pytest.approx([FIRST_COSTS])


def test_the_figure_shows_what_going_first_costs_on_the_committed_run(committed: Analysis) -> None:
    exhibit = draw_turns(committed, "drivers")
    frame = exhibit.frame.set_index(["panel", "level", "series"])
    assert frame.loc[("n = 200,000", "find: time", "Node.js"), "value"] > 1.1
    assert {*exhibit.frame["series"]} == {"Node.js", "Python"}
    assert (exhibit.frame["value"] > 0).all() and exhibit.frame["blocks"].min() >= 1
