"""The null baseline: what of an engine's time is the harness's own, by the time of one that stores nothing."""

import math
from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from benchbook.evidence import claim_files
from benchbook.evidence.comparisons import A_OVER_B, pairs
from benchbook.evidence.effects import effect
from benchbook.evidence.means import ended
from benchbook.evidence.sides import Measured, first_arms
from benchbook.registry import STORES

COLUMNS: Final = ["host", "engine", "operation", "n", "factors", "share", "blocks"]


def shares(means: pd.DataFrame) -> pd.DataFrame:
    """Return the share of each engine's time that an engine takes which stores nothing, on a single node.

    Parameters
    ----------
    means
        As `benchbook.evidence.measures` returns them.

    Returns
    -------
    pandas.DataFrame
        ``host, engine, operation, n, factors``; ``share``: ratio of the geometric means over the blocks that both ran
        in, else over all of each; and ``blocks``, the fewer of the two.
    """
    among, *_ = claim_files.comparisons("crud")
    engines = [*(name for name in STORES if "@" not in name), "mongodb+mongoengine"]
    cost = among.model_copy(update={"pairs": tuple(("noop", engine) for engine in engines)})
    crud = Measured("crud", ended(first_arms(means[means["study"] == "crud"])))
    rows = []
    for pair in pairs(cost, crud):
        share = effect(A_OVER_B, pair.sides)
        if not math.isnan(share.ratio):
            about: dict[str, Any] = {"host": pair.host, "engine": pair.levels["b"], "operation": pair.quantity[0]}
            about |= {"n": pair.common.get("n"), "factors": pair.factors}
            rows.append({**about, "share": share.ratio, "blocks": share.blocks})
    return pd.DataFrame(rows, columns=COLUMNS)


def in_words(table: pd.DataFrame) -> str:
    """Return what `shares` found, in a sentence or two."""
    if table.empty:
        return "No engine ran beside the one that stores nothing, so the harness's own cost is not known."
    rows = table.sort_values("share").to_dict("records")
    least, most = rows[0], rows[-1]
    sentences = [
        f"An engine that stores nothing took {_percent(least['share'])} ({_label(least)}) to "
        f"{_percent(most['share'])} ({_label(most)}) of an engine's time on a single node: the harness's own cost."
    ]
    by_engine = table.groupby("engine", sort=False)["share"].median()
    sentences.append(f"Medians: {', '.join(f'{engine} {_percent(share)}' for engine, share in by_engine.items())}.")
    return " ".join(sentences)


def _label(row: Mapping[Any, Any]) -> str:
    return f"{row['engine']}, {row['operation']}, n={row['n']}"


def _percent(share: float) -> str:
    if share < 0.01:
        return f"{share:.2%}"
    return f"{share:.1%}" if share < 0.1 else f"{share:.0%}"
