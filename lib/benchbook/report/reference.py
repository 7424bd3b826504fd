"""Keep a profile's figures, block means and verdicts where a visitor sees them before running anything.

``python -m benchbook.report.reference PROFILE FOLDER`` builds the report and copies into the folder every figure (PNG),
its data (CSV) and its provenance (JSON); the block means that all of them were drawn from, as one Parquet file; and the
verdicts as a page of Markdown, with what did not run and why.
"""

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any, Final

import pandas as pd

from benchbook import report
from benchbook.evidence.comparisons import figures as ratio_in_words
from benchbook.plots.points import each
from benchbook.report import merge
from benchbook.report.builder import STAMP
from benchbook.report.show import TEMPLATES

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
    studies = [
        (study, group["verdict"].value_counts().to_dict(), list(map(_row, each(group))))
        for study, group in verdicts.groupby("study", sort=False)
    ]
    absent = [list(unfinished), *unfinished.to_numpy().tolist()] if len(unfinished) else []
    template = TEMPLATES.get_template("verdicts.md.j2")
    return template.render(profile=profile, means=MEANS, studies=studies, absent=absent) + "\n"


def _row(row: Any) -> list[str]:
    here, low, high = (_number(value) for value in (row.ratio, row.low, row.high))
    here += f" ({low} to {high or '…'})" if here and low else ""
    return [row.says, row.lane or "", row.wording, here, _number(row.published), row.why]


def _number(value: float) -> str:
    return ratio_in_words(value) if abs(value) < float("inf") else ""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchbook.report.reference")
    parser.add_argument("profile")
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    keep(asked.profile, asked.folder)
    sys.stdout.write(f"{asked.folder}\n")
