"""Cold starts split from steady states, in the repetitions of each cell and block."""

from typing import Any, Final

import numpy as np
import pandas as pd

from benchbook import stats
from benchbook.evidence.effects import Values
from benchbook.evidence.means import UNIT
from benchbook.evidence.sides import parameters
from benchbook.stats.steadiness import ENOUGH

COLUMNS: Final = [
    *("study", "host", "parameters", "operation", "format", "codec", "blocks", "shape", "shapes", "start"),
    *("mean", "steady", "cold_over_steady"),
]


def split(observations: pd.DataFrame) -> pd.DataFrame:
    """Return where the times of every cell with enough repetitions settle, a row a cell, operation and format.

    Parameters
    ----------
    observations
        Single repetitions, as in `benchbook.results.schema.OBSERVATIONS`.

    Returns
    -------
    pandas.DataFrame
        The cell's ``study, host, parameters, operation, format, codec``; ``blocks``; ``shape``: that of most blocks, as
        in `benchbook.stats.Steadiness`, and ``shapes``, all with their counts; ``start``: the median first repetition
        of the steady state; ``mean`` of all repetitions and ``steady``, of those of the steady states, both in the
        stored unit and means over blocks; ``cold_over_steady``: the mean before it over the mean in it. NaN where no
        block has a steady state or none was cold.
    """
    rows = observations[observations["metric"].eq("wall_time") & observations["value"].notna()]
    apart = [name for name in UNIT if name in rows]
    keys = [name for name in apart if name not in ("block", "metric")]
    records: list[dict[str, Any]] = []
    for _, cell in rows.sort_values("repetition", kind="stable").groupby(keys, dropna=False, sort=False):
        blocks = [block["value"].to_numpy(dtype=float) for _, block in cell.groupby("block")]
        if min(map(len, blocks)) >= ENOUGH:
            about: dict[str, Any] = {name: cell[name].iloc[0] for name in COLUMNS[:6] if name in cell}
            records.append(about | _cell(blocks))
    return pd.DataFrame(records, columns=COLUMNS)


def _cell(blocks: list[Values]) -> dict[str, object]:
    settled = [stats.steadiness(block) for block in blocks]
    counts = pd.Series([state.shape for state in settled]).value_counts()
    starts = [(block, state.start) for block, state in zip(blocks, settled, strict=True) if state.start is not None]
    parts = [(block[:start], block[start:]) for block, start in starts]
    cold = [float(before.mean() / after.mean()) for before, after in parts if len(before)]
    return {
        "blocks": len(blocks),
        "shape": str(counts.index[0]),
        "shapes": ", ".join(f"{shape} {count}" for shape, count in counts.items()),
        "start": float(np.median([len(before) for before, _ in parts])) if parts else np.nan,
        "mean": float(np.mean([block.mean() for block in blocks])),
        "steady": float(np.mean([after.mean() for _, after in parts])) if parts else np.nan,
        "cold_over_steady": float(np.exp(np.mean(np.log(cold)))) if cold else np.nan,
    }


def in_print(table: pd.DataFrame) -> pd.DataFrame:
    """Return what `split` found as it is shown: times in ms, case and n for the parameters."""
    given = [parameters(text) for text in table["parameters"]]
    return pd.DataFrame(
        {
            "Case": [cell.get("case") for cell in given],
            "n": [f"{cell.get('n'):,}" for cell in given],
            "Format": table["format"].str.upper(),
            "Operation": table["operation"].str.replace("_", " "),
            "Blocks": table["shapes"],
            "Steady from": table["start"],
            "Mean, ms": table["mean"] / 1e6,
            "Steady, ms": table["steady"] / 1e6,
            "Cold / steady": table["cold_over_steady"],
        }
    )
