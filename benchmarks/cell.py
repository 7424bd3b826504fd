"""The runner's share of a cell's time: all but that of the notebook cell that runs the study.

``python benchmarks/cell.py [STUDY...] [--profile smoke]`` runs the cells into a temporary folder,
on real servers, and prints the median and quantiles, each study's median, and where the run's time
went. The goal is half a second.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Final

import nbformat

from benchbook import cli
from benchbook.cli.execution import SPENT
from benchbook.results.folder import ResultsFolder

GOAL_S: Final = 0.5


def compute_overheads(folder: Path) -> dict[str, list[float]]:
    """Return the seconds of each study's cells outside the study, one value per cell."""
    found: dict[str, list[float]] = {}
    for one in ResultsFolder(folder).list_finished_files():
        notebook = nbformat.read(
            folder / one.facts.study / "notebooks" / f"{one.key}.ipynb", nbformat.NO_CONVERT
        )
        marks = [cell.metadata["papermill"] for cell in notebook.cells]
        ran = [
            [datetime.fromisoformat(mark[end]) for end in ("start_time", "end_time")]
            for mark in marks
        ]
        study_s = max((end - start).total_seconds() for start, end in ran)
        found.setdefault(one.facts.study, []).append(one.facts.took_s - study_s)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", nargs="*")
    parser.add_argument("--profile", default="smoke")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BENCHBOOK_RESULTS"] = folder
        status = cli.main(["run", *asked.study, "--profile", asked.profile])
        if status:
            return status
        found = compute_overheads(Path(folder))
        spent = json.loads((Path(folder) / SPENT).read_text())["spent_s"]
    every = sorted(chain.from_iterable(found.values()))
    quantiles = (
        statistics.quantiles(every, n=10, method="inclusive") if len(every) > 1 else every * 9
    )
    figures = {
        "cells": len(every),
        "median_s": statistics.median(every),
        "p10_s": quantiles[0],
        "p90_s": quantiles[8],
    }
    medians = {study: round(statistics.median(values), 3) for study, values in found.items()}
    rounded = {key: round(value, 3) for key, value in figures.items()}
    print(json.dumps({**rounded, "by_study": medians, "spent_s": spent}))
    return 0 if figures["median_s"] <= GOAL_S else 1


if __name__ == "__main__":
    sys.exit(main())
