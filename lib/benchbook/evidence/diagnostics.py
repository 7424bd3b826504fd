"""What may stand between a measurement and its meaning: the machine's drift, the harness's own cost, cold starts."""

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from benchbook import stats
from benchbook.evidence import claim_files
from benchbook.evidence.comparisons import A_OVER_B, factors, first_arms, pairs
from benchbook.evidence.judge import Values, effect
from benchbook.evidence.means import UNIT, ended
from benchbook.evidence.sides import Measured
from benchbook.registry import STORES
from benchbook.stats.steadiness import ENOUGH

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


def drift_words(table: pd.DataFrame) -> str:
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
    told = [json.loads(text) for text in cells.get("environment", pd.Series(dtype=str)).dropna()]
    loads = [one["load"][0] for one in told if one.get("load")]
    clocks = [one["frequency_mhz"] for one in told if one.get("frequency_mhz")]
    governors = sorted({str(one["governor"]) for one in told if one.get("governor")})
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


NULL_BASELINE: Final = ["host", "engine", "operation", "n", "factors", "share", "blocks"]


def null_baseline(means: pd.DataFrame) -> pd.DataFrame:
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
    rows = []
    for (operation, *_), host, common, levels, sides in pairs(cost, Measured("crud", ended(first_arms(means)))):
        found = effect(A_OVER_B, sides)
        if found.ratio == found.ratio:
            about = {"host": host, "engine": levels["b"], "operation": operation, "factors": factors(cost, common)}
            rows.append({**about, "n": common.get("n"), "share": found.ratio, "blocks": found.blocks})
    return pd.DataFrame(rows, columns=NULL_BASELINE)


def null_baseline_words(table: pd.DataFrame) -> str:
    """Return what `null_baseline` found, in a sentence or two."""
    if table.empty:
        return "No engine ran beside the one that stores nothing, so the harness's own cost is not known."
    rows = table.sort_values("share").to_dict("records")
    least, most = rows[0], rows[-1]
    said = [
        f"An engine that stores nothing took {_percent(least['share'])} ({_label(least)}) to "
        f"{_percent(most['share'])} ({_label(most)}) of an engine's time on a single node: the harness's own cost."
    ]
    by_engine = table.groupby("engine", sort=False)["share"].median()
    said.append(f"Medians: {', '.join(f'{engine} {_percent(share)}' for engine, share in by_engine.items())}.")
    return " ".join(said)


def _label(row: Mapping[Any, Any]) -> str:
    return f"{row['engine']}, {row['operation']}, n={row['n']}"


def _percent(share: float) -> str:
    return f"{share:.2%}" if share < 0.01 else f"{share:.1%}" if share < 0.1 else f"{share:.0%}"


WARMUPS: Final = [
    *("study", "host", "parameters", "operation", "format", "codec", "blocks", "shape", "shapes", "start"),
    *("mean", "steady", "cold_over_steady"),
]


def warmups(observations: pd.DataFrame, metric: str = "wall_time") -> pd.DataFrame:
    """Return where the repetitions of every cell with enough of them settle, a row a cell, operation and format.

    Parameters
    ----------
    observations
        Single repetitions, as in `benchbook.results.schema.OBSERVATIONS`.
    metric
        The stored time that is looked at.

    Returns
    -------
    pandas.DataFrame
        The cell's ``study, host, parameters, operation, format, codec``; ``blocks``; ``shape``: that of most blocks, as
        in `benchbook.stats.Steadiness`, and ``shapes``, all with their counts; ``start``: the median first repetition
        of the steady state; ``mean`` of all repetitions and ``steady``, of those of the steady states, both in the
        stored unit and means over blocks; ``cold_over_steady``: the mean before it over the mean in it. NaN where no
        block has a steady state or none was cold.
    """
    rows = observations[observations["metric"].eq(metric) & observations["value"].notna()]
    keys = [name for name in UNIT if name not in ("block", "metric") and name in rows]
    found: list[dict[str, Any]] = []
    for _, cell in rows.sort_values("repetition", kind="stable").groupby(keys, dropna=False, sort=False):
        blocks = [block["value"].to_numpy(dtype=float) for _, block in cell.groupby("block")]
        if min(map(len, blocks)) >= ENOUGH:
            about: dict[str, Any] = {name: cell[name].iloc[0] for name in WARMUPS[:6] if name in cell}
            found.append(about | _cell(blocks))
    return pd.DataFrame(found, columns=WARMUPS)


def _cell(blocks: list[Values]) -> dict[str, object]:
    settled = [stats.steadiness(block) for block in blocks]
    counts = pd.Series([one.shape for one in settled]).value_counts()
    starts = [(block, one.start) for block, one in zip(blocks, settled, strict=True) if one.start is not None]
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
