"""How steady the machine was: what governed its frequency, and how its blocks' times moved."""

import json
from typing import Any, Final

import numpy as np
import pandas as pd

from benchbook.digits import number

MOVED: Final = 1.1
"""The ratio of the slowest block to the fastest from which a run has drifted."""

_TIMES: Final = ("wall_time", "elapsed_time")
DRIFT: Final = ["study", "host", "governor", "blocks", "moved"]


def drift(means: pd.DataFrame) -> pd.DataFrame:
    """Return for each study and host how steady the machine was.

    Parameters
    ----------
    means
        As `benchbook.evidence.measures` returns them.

    Returns
    -------
    pandas.DataFrame
        ``study, host``; ``governor``: of the processors' frequency, all that were seen; ``blocks``; and ``moved``: the
        slowest block's times over the fastest's, geometric mean of all that ran in every block. Pairing by block takes
        that out of the comparisons. NaN and empty where nothing is told.
    """
    rows = [
        {"study": study, "host": host, "governor": _governors(group), **_blocks(group)}
        for (study, host), group in means.groupby(["study", "host"], sort=False)
    ]
    return pd.DataFrame(rows, columns=DRIFT)


def in_words(table: pd.DataFrame) -> str:
    """Return what `drift` found, in sentences."""
    if table.empty:
        return "Nothing ran, so nothing drifted."
    sentences = []
    governors = sorted({name for names in table["governor"] for name in names.split(", ") if name})
    known = f"Frequency governor: {', '.join(governors)}."
    sentences.append(known if governors else "The frequency governor is not told.")
    if (moved := table["moved"].dropna()).size:
        study = table["study"].tolist()[int(np.nanargmax(table["moved"]))]
        sentences.append(
            f"The slowest block took {number(moved.max())} times as long as the fastest in {study}, the study "
            f"that moved most" + (": it drifted, which pairing by block takes out." if moved.max() > MOVED else ".")
        )
    return " ".join(sentences)


def _governors(group: pd.DataFrame) -> str:
    """Return the governors of the cells' environments."""
    cells = group.drop_duplicates(["cell_id", "block"]) if "environment" in group else group.iloc[:0]
    environments = [json.loads(text) for text in cells.get("environment", pd.Series(dtype=str)).dropna()]
    governors = {str(environment.get("governor") or "") for environment in environments}
    return ", ".join(sorted(governors - {""}))


def _blocks(group: pd.DataFrame) -> dict[str, Any]:
    """Return the number of blocks, and the slowest over the fastest."""
    times = group[group["metric"].isin(_TIMES) & (group["value"] > 0)]
    keys = ["cell_id", "operation", "role", "metric", "format"]
    table = times.assign(log=np.log(times["value"])).pivot_table("log", keys, "block", dropna=False)
    whole = table.dropna()
    moods = (whole.sub(whole.mean(axis=1), axis=0)).mean()
    moved = float(np.exp(moods.max() - moods.min())) if len(whole) and len(moods) > 1 else np.nan
    return {"blocks": group["block"].nunique(), "moved": moved}
