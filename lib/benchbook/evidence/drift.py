"""What the machine did beside the work: its load and frequency as cells began, and how its blocks' times moved."""

import json
from typing import Any, Final

import numpy as np
import pandas as pd

BUSY: Final = 0.5
"""A load average (one minute) as a cell began from which something else was at work."""

MOVED: Final = 1.1
"""The ratio of the slowest block to the fastest from which a run has drifted."""

_TIMES: Final = ("wall_time", "elapsed_time")
DRIFT: Final = [
    *("study", "host", "load_low", "load_median", "load_high", "mhz_low", "mhz_high", "governor", "blocks", "moved"),
]


def drift(means: pd.DataFrame) -> pd.DataFrame:
    """Return for each study and host how steady the machine was.

    Parameters
    ----------
    means
        As `benchbook.evidence.measures` returns them.

    Returns
    -------
    pandas.DataFrame
        ``study, host``; ``load_low, load_median, load_high``: load averages of the last minute as cells began;
        ``mhz_low, mhz_high``: frequency of the first processor then, in MHz; ``governor``: of its frequency, all that
        were seen; ``blocks``; and ``moved``: the slowest block's times over the fastest's, geometric mean of all that
        ran in every block. Pairing by block takes that out of the comparisons. NaN and empty where nothing is told.
    """
    rows = [
        {"study": study, "host": host, **_machine(group), **_blocks(group)}
        for (study, host), group in means.groupby(["study", "host"], sort=False)
    ]
    return pd.DataFrame(rows, columns=DRIFT)


def in_words(table: pd.DataFrame) -> str:
    """Return what `drift` found, in sentences."""
    if table.empty:
        return "Nothing ran, so nothing drifted."
    said = []
    if (loads := table["load_high"].dropna()).size:
        busy = sorted(table.loc[table["load_median"] > BUSY, "study"])
        said.append(
            f"The load as a cell began was {table['load_low'].min():.2f} to {loads.max():.2f}"
            + (f"; half the cells of {', '.join(busy)} began above {BUSY:g}, with other work beside." if busy else ".")
        )
    governors = sorted({name for names in table["governor"] for name in names.split(", ") if name})
    said.append(f"Frequency governor: {', '.join(governors)}." if governors else "The frequency governor is not told.")
    if (moved := table["moved"].dropna()).size:
        study = table["study"].tolist()[int(np.nanargmax(table["moved"]))]
        said.append(
            f"The slowest block took {moved.max():.2f} times as long as the fastest in {study}, the study "
            f"that moved most" + (": it drifted, which pairing by block takes out." if moved.max() > MOVED else ".")
        )
    return " ".join(said)


def _machine(group: pd.DataFrame) -> dict[str, Any]:
    """Return load, frequency and governor of the cells' environments."""
    cells = group.drop_duplicates(["cell_id", "block"]) if "environment" in group else group.iloc[:0]
    environments = [json.loads(text) for text in cells.get("environment", pd.Series(dtype=str)).dropna()]
    loads = [one["load"][0] for one in environments if one.get("load")]
    clocks = [one["frequency_mhz"] for one in environments if one.get("frequency_mhz")]
    governors = sorted({str(one["governor"]) for one in environments if one.get("governor")})
    low, median, high = np.quantile(loads, (0, 0.5, 1)) if loads else (np.nan,) * 3
    ends = {"mhz_low": min(clocks, default=np.nan), "mhz_high": max(clocks, default=np.nan)}
    return {"load_low": low, "load_median": median, "load_high": high, **ends, "governor": ", ".join(governors)}


def _blocks(group: pd.DataFrame) -> dict[str, Any]:
    """Return the number of blocks, and the slowest over the fastest."""
    times = group[group["metric"].isin(_TIMES) & (group["value"] > 0)]
    keys = ["cell_id", "operation", "role", "metric", "format"]
    table = times.assign(log=np.log(times["value"])).pivot_table("log", keys, "block", dropna=False)
    whole = table.dropna()
    moods = (whole.sub(whole.mean(axis=1), axis=0)).mean()
    moved = float(np.exp(moods.max() - moods.min())) if len(whole) and len(moods) > 1 else np.nan
    return {"blocks": group["block"].nunique(), "moved": moved}
