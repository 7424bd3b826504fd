"""What of an engine's time is the harness's own: the time of an engine that stores nothing, over the engine's."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from benchbook.evidence.contrasts import CONTRASTS, Contrast
from benchbook.evidence.derived import ended
from benchbook.evidence.pairing import pairs

COLUMNS: Final = ["host", "engine", "operation", "n", "factors", "share", "blocks"]
_AMONG: Final = next(one for one in CONTRASTS if one.name == "engine against engine")
_COST: Final = Contrast(
    "crud",
    "the harness alone",
    by="engine",
    pairs=tuple(("noop", engine) for engine in (*_AMONG.labels, "mongodb+mongoengine")),
    quantities=_AMONG.quantities,
    factors=_AMONG.factors,
    labels=_AMONG.labels,
    loose=_AMONG.loose,
)


def harness_cost(means: pd.DataFrame) -> pd.DataFrame:
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
    rows = []
    for pair in pairs(_COST, ended(means)):
        sides = pair.left, pair.right
        shared = np.intersect1d(pair.left.block, pair.right.block, assume_unique=True)
        a, b = (side.of(shared) if len(shared) else side.value for side in sides)
        a, b = a[~np.isnan(a)], b[~np.isnan(b)]
        if len(a) and len(b) and (a > 0).all() and (b > 0).all():
            share = float(np.exp(np.log(a).mean() - np.log(b).mean()))
            about = {"host": pair.host, "engine": pair.b, "operation": pair.quantity.operation, "factors": pair.factors}
            rows.append({**about, "n": pair.settings.get("n"), "share": share, "blocks": min(len(a), len(b))})
    return pd.DataFrame(rows, columns=COLUMNS)


def harness_words(table: pd.DataFrame) -> str:
    """Return what `harness_cost` found, in a sentence or two."""
    if table.empty:
        return "No engine ran beside the one that stores nothing, so the harness's own cost is not known."
    rows = table.sort_values("share").to_dict("records")
    least, most = rows[0], rows[-1]
    said = [
        f"An engine that stores nothing took {_percent(least['share'])} ({_of(least)}) to {_percent(most['share'])} "
        f"({_of(most)}) of an engine's time on a single node: the harness's own cost."
    ]
    by_engine = table.groupby("engine", sort=False)["share"].median()
    said.append(f"Medians: {', '.join(f'{engine} {_percent(share)}' for engine, share in by_engine.items())}.")
    return " ".join(said)


def _of(row: Mapping[Any, Any]) -> str:
    return f"{row['engine']}, {row['operation']}, n={row['n']}"


def _percent(share: float) -> str:
    return f"{share:.2%}" if share < 0.01 else f"{share:.1%}" if share < 0.1 else f"{share:.0%}"
