"""Wall time of a cell beyond its measured work: median and quantiles of a real run, and where the run's time went.

``python benchmarks/cell.py [STUDY...] [--profile smoke]`` runs the cells into a temporary folder, on real servers.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from benchbook import cli, results
from benchbook.cli.run import SPENT
from benchbook.runner import batch


def beyond(folder: Path) -> dict[str, list[float]]:
    """Return each study's seconds beyond measured work, a value a cell."""
    os.environ["BENCHBOOK_RESULTS"] = str(folder)
    found: dict[str, list[float]] = {}
    for (study, _), rows in results.observations().groupby(["study", "cell_id"]):
        first = rows.iloc[0]
        wall = (first["cell_ended_at"] - first["cell_started_at"]).total_seconds()
        found.setdefault(study, []).append(wall - batch.measured_s(rows))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", nargs="*")
    parser.add_argument("--profile", default="smoke")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BENCHBOOK_RESULTS"] = folder
        if status := cli.main(["run", *asked.study, "--profile", asked.profile]):
            return status
        found = beyond(Path(folder))
        spent = json.loads((Path(folder) / SPENT).read_text())["spent_s"]
    every = sorted(value for values in found.values() for value in values)
    quantiles = statistics.quantiles(every, n=10, method="inclusive") if len(every) > 1 else every * 9
    figures = {"cells": len(every), "median_s": statistics.median(every), "p10_s": quantiles[0], "p90_s": quantiles[8]}
    medians = {study: round(statistics.median(values), 3) for study, values in found.items()}
    rounded = {key: round(value, 3) for key, value in figures.items()}
    print(json.dumps({**rounded, "by_study": medians, "spent_s": spent}))
    return 0 if figures["median_s"] <= 1.2 else 1


if __name__ == "__main__":
    sys.exit(main())
