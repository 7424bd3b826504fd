"""Compare the measurements of this checkout's code with another's, in pairs of blocks.

``python benchmarks/unmoved.py OTHER [--pairs 16] [-- STUDY... OPTIONS]``, both set up, on an idle
machine. Each pair runs one block of the same cells (those of profile quick, or what follows ``--``,
as of `benchbook run`) with either code, in random order. Of every quantity's ratio, this over the
other, the mean over a study's cells is taken in each pair; printed is its mean over the pairs with
the 90 % interval, inside which two one-sided tests at 5 % find the two equivalent (Schuirmann
1987), and whether that is within 2 %. Where two arms took turns in a cell their ratio is held
against the other code's, too: the machine's mood is not in it.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from scipy import stats

from benchbook import paths
from benchbook.results.schema import ALTERNATING_COLUMNS
from benchbook.results.views import load_observations
from benchbook.studies.levels import read_parameters

MARGIN: Final = 1.02
UNIT: Final = ["study", "language", "cell", "operation", "role", "metric", *ALTERNATING_COLUMNS]
SHOWN: Final = (
    "wall_time",
    "cpu_total",
    "cpu_user",
    "cpu_system",
    "elapsed_time",
    "memory_rss",
    "memory_change",
)


def measure_block(checkout: Path, folder: Path, asked: list[str]) -> "pd.Series[float]":
    """Return the mean of the logarithms of each quantity in a block."""
    command = [checkout / ".venv" / "bin" / "benchbook", "run", *asked, "--set", "blocks=1"]
    env = {**os.environ, "BENCHBOOK_RESULTS": str(folder)}
    done = subprocess.run(command, cwd=checkout, env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{checkout}: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    os.environ["BENCHBOOK_RESULTS"] = str(folder)
    rows = load_observations()
    rows = rows[rows["metric"].isin(SHOWN) & (rows["value"] > 0) & ~rows["timed_out"].fillna(False)]
    cells = rows.drop_duplicates("cell_id")
    known = {row["cell_id"]: read_parameters(row) for row in cells.to_dict("records")}
    rows = rows.assign(cell=rows["cell_id"].map(known))
    logs = np.log(rows.set_index(UNIT)["value"]).groupby(UNIT, dropna=False).mean()
    return pd.concat([logs, _contrasts(logs)])


def _contrasts(logs: "pd.Series[float]") -> "pd.Series[float]":
    """Return the logarithm of one arm's mean over the other's, of arms that took turns."""
    cell = [name for name in UNIT if name not in ALTERNATING_COLUMNS]
    two = logs.groupby(cell, dropna=False).filter(lambda some: len(some) == 2)
    ratios = (
        two.groupby(cell, dropna=False)
        .agg(lambda some: some.iloc[1] - some.iloc[0])
        .rename("value")
        .reset_index()
    )
    ratios["metric"] += ", one arm over the other"
    return ratios.assign(**dict.fromkeys(ALTERNATING_COLUMNS, "")).set_index(UNIT)["value"]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", type=Path)
    parser.add_argument("--pairs", type=int, default=16)
    own, _, cells = " ".join(sys.argv[1:]).partition(" -- ")
    asked = parser.parse_args(own.split())
    here, found = paths.root(), []
    for pair in range(asked.pairs):
        with tempfile.TemporaryDirectory() as folder:
            logs = {}
            for checkout in random.sample([here, asked.other], 2):
                logs[checkout] = measure_block(
                    checkout,
                    Path(folder) / ("here" if checkout == here else "other"),
                    cells.split(),
                )
        found.append((logs[here] - logs[asked.other]).rename(pair))
        print(f"pair {pair + 1} of {asked.pairs}", file=sys.stderr, flush=True)
    each = pd.concat(found, axis=1).dropna()
    moved = 0
    for (study, language, metric), rows in each.groupby(["study", "language", "metric"]):
        means = rows.mean()
        half = stats.t.ppf(0.95, len(means) - 1) * means.std() / np.sqrt(len(means))
        low, ratio, high = np.exp([means.mean() - half, means.mean(), means.mean() + half])
        same = low > 1 / MARGIN and high < MARGIN
        apart = low > 1 or high < 1
        moved += bool(apart and not same)
        line = {
            "study": study,
            "language": language,
            "metric": metric,
            "quantities": len(rows),
            "ratio": round(ratio, 4),
        }
        print(
            json.dumps(
                line
                | {
                    "low": round(low, 4),
                    "high": round(high, 4),
                    "within_2_percent": bool(same),
                }
            )
        )
    return moved


if __name__ == "__main__":
    sys.exit(main())
