"""Keep a profile's figures, block means and verdicts where a visitor sees them before running anything.

``python -m benchbook.report.reference PROFILE FOLDER`` builds the report and copies into the folder every figure (PNG),
its data (CSV) and its provenance (JSON); the block means that all of them were drawn from, as one Parquet file; and the
verdicts as a page of Markdown, with what did not run and why.
"""

import argparse
import shutil
import sys
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pandas as pd

from benchbook import report
from benchbook.evidence.comparisons import figures
from benchbook.report import merge
from benchbook.report.builder import STAMP

MEANS: Final = "block_means.parquet"
PAGE: Final = "verdicts.md"
_KINDS: Final = ("*.png", "*.csv", "*.json")


def keep(profile: str, folder: Path) -> None:
    """Replace the folder by what a profile's results give today."""
    drawn = report.build(profile).parent
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in sorted(path for kind in _KINDS for path in drawn.glob(kind) if path.name != STAMP):
        shutil.copyfile(file, folder / file.name)
    merged = merge.merge(profile)
    merged.means.to_parquet(folder / MEANS, compression="zstd", index=False)
    text = page(profile, merged.evidence.verdicts, merge.unfinished(merged))
    (folder / PAGE).write_text(text, encoding="utf-8")


def page(profile: str, verdicts: pd.DataFrame, unfinished: pd.DataFrame) -> str:
    """Return a profile's verdicts as Markdown, a table a study, and what did not run."""
    said = [
        f"# Verdicts on what the papers claim, from profile `{profile}`",
        "",
        "A verdict rests on the effect's 95 % interval and the margin that was fixed beforehand, never on p alone. "
        f"The numbers behind it are in `{MEANS}`; `benchbook claims` prints the same of your own run.",
    ]
    for study, group in verdicts.groupby("study", sort=False):
        counts = ", ".join(f"{count} {verdict}" for verdict, count in group["verdict"].value_counts().items())
        said += ["", f"## {study}", "", counts + ".", "", "| claim | lane | verdict | here | published | why |"]
        said += ["|---|---|---|---|---|---|", *(_row(row) for row in group.to_dict("records"))]
    if len(unfinished):
        said += ["", "## What did not run", "", "A cell is a point of the grid in one block.", ""]
        said += [_cells(unfinished.columns), "|---|---|--:|---|---|", *map(_cells, unfinished.to_numpy())]
    return "\n".join(said) + "\n"


def _row(row: Mapping[Hashable, Any]) -> str:
    here = _number(row["ratio"])
    if here and _number(row["low"]):
        here += f" ({_number(row['low'])} to {_number(row['high']) or '…'})"
    return _cells([row["says"], row["lane"] or "", row["verdict"], here, _number(row["published"]), row["why"]])


def _cells(values: Iterable[object]) -> str:
    return f"| {' | '.join(str(value).replace('|', '/') for value in values)} |"


def _number(value: object) -> str:
    return figures(value) if isinstance(value, float) and abs(value) < float("inf") else ""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchbook.report.reference")
    parser.add_argument("profile")
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    keep(asked.profile, asked.folder)
    sys.stdout.write(f"{asked.folder}\n")
