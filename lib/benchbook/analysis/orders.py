"""Who goes first: what that costs, and blocks in which each side began once.

The side that begins a process pays for warming it up. `add_turn_means` tells a side's repetitions
in processes that it began from the others; `join_orders` joins blocks that only one side began.
"""

from itertools import chain
from typing import Final

import numpy as np
import pandas as pd

from benchbook.analysis.quantities import MEAN_KEYS
from benchbook.results.schema import ALTERNATING_COLUMNS

TURN_MEANS: Final = ("when_first", "when_later")
"""Columns of a side's mean in processes that it began, and in others; NaN where it has none."""

_SECTION: Final = tuple(name for name in MEAN_KEYS if name not in ALTERNATING_COLUMNS)
"""Columns that the sides of a block's quantity share."""


def add_turn_means(means: pd.DataFrame) -> pd.DataFrame:
    """Return block means with `TURN_MEANS`, also of rows that do not state their turns.

    There one process had all sides, and the one that started first began it.
    """
    known = means.reindex(columns=[*means.columns, *(set(TURN_MEANS) - {*means.columns})])
    sections = [means[name] for name in _SECTION if name in means]
    begun = means["started_at"].groupby(sections, dropna=False, sort=False).transform("min")
    last = means["started_at"].groupby(sections, dropna=False, sort=False).transform("max")
    is_first = means["started_at"].eq(begun)
    # Sides that started at the same time, as in made rows, have no order.
    is_unstated = known[[*TURN_MEANS]].isna().all(axis=1) & begun.ne(last)
    for name, chosen in zip(TURN_MEANS, (is_first, ~is_first), strict=True):
        values = known[name].astype(float)
        known[name] = values.mask(is_unstated & chosen, means["at_least"])
    return known


def join_orders(means: pd.DataFrame) -> pd.DataFrame:
    """Return block means in which each side of Node.js' drivers began as often as the other.

    A block that one side began makes one block with the next one of its machine-day that the other
    began; one without a partner is left out. That holds for finding and for processor time, where
    going first costs something. An A/A check is warmed up before.
    """
    # In version 1 of the Node.js harness chance chose who began. Since then each driver begins a
    # process of a block, as the sides of a new study do where going first costs something.
    is_of_pair = means["study"].eq("drivers") & means["language"].eq("node")
    if "process" in means:
        is_of_pair &= means["process"].eq("together")
    if not is_of_pair.any():
        return means
    is_costly = means["operation"].eq("find") | means["metric"].str.startswith("cpu_")
    chosen = (
        is_of_pair & is_costly & _has_one_turn(means) & ~means["noisy"].fillna(False).astype(bool)
    )
    for name in ("arm", "cell_arm"):
        if name in means:
            chosen &= means[name].fillna("a").eq("a")
    if not chosen.any():
        return means
    joined = pair_blocks(means[chosen])
    return pd.concat([means[~chosen], joined], ignore_index=True)


def _has_one_turn(means: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows are of a block whose processes the side began all, or none of them."""
    return means[[*TURN_MEANS]].notna().sum(axis=1).eq(1)


def pair_blocks(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each block that a side began with the next one that it did not begin.

    The n-th pair of a cell's machine-day has the number of its n-th block.
    """
    rows = rows.sort_values("started_at", kind="stable")
    side = [rows[name] for name in MEAN_KEYS if name != "block" and name in rows]
    side.append(rows["machine_day"])
    number = rows.groupby(side, dropna=False, sort=False).ngroup()
    is_first = rows["when_first"].notna()
    place = rows.groupby(number).cumcount()
    pair = rows.groupby([number, is_first]).cumcount()

    # Both blocks of each pair.
    blocks = rows.assign(_number=number, _pair=pair)
    begun = blocks[is_first].set_index(["_number", "_pair"])
    other = blocks[~is_first].set_index(["_number", "_pair"])
    both = begun.index.intersection(other.index)
    begun, other = begun.loc[both], other.loc[both]
    joined = begun.copy()
    joined["when_later"] = other["when_later"]
    joined["at_least"] = (begun["at_least"] + other["at_least"]) / 2
    joined["timed_out"] = begun["timed_out"] | other["timed_out"]
    joined["value"] = joined["at_least"].mask(joined["timed_out"].astype(bool))
    joined["rows"] = begun["rows"] + other["rows"]

    # The numbers of the blocks.
    named = blocks.assign(_pair=place).set_index(["_number", "_pair"])
    names = [name for name in ("block", "begun", "started_at", "last_started_at") if name in rows]
    joined[names] = named.loc[both, names]
    return joined.reset_index(drop=True)[[*rows.columns]]


def compare_turns(means: pd.DataFrame) -> pd.DataFrame:
    """Return the cost of going first in each block.

    Returns
    -------
    pandas.DataFrame
        One row per block, with the columns of `means` and ``cost``: the mean over sides of the
        logarithm of a side's mean in processes that it began over its mean in the others.
    """
    chosen = _has_one_turn(means)
    rows = means
    if chosen.any():
        rows = pd.concat([means[~chosen], pair_blocks(means[chosen])], ignore_index=True)
    rows = rows[rows[[*TURN_MEANS]].gt(0).all(axis=1)]
    rows = rows.assign(cost=np.log(rows["when_first"] / rows["when_later"]))
    block = [name for name in chain(_SECTION, ("machine_day", "begun")) if name in rows]
    first = rows.groupby(block, dropna=False, sort=False).first()
    cost = rows.groupby(block, dropna=False, sort=False)["cost"].mean()
    return first.assign(cost=cost).reset_index()
