"""A table or a figure with what must be said beneath it, and how it is saved."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pandas as pd
from matplotlib.figure import Figure

from benchbook.evidence import Evidence
from benchbook.plots import style


@dataclass(frozen=True)
class Exhibit:
    """What is shown and what is said of it.

    Parameters
    ----------
    title
        Study, the paper's own number of it, quantity and unit.
    frame
        A table as it is set, a figure's points as they are drawn.
    notes
        Blocks, levels that did not run, stand-ins, censored values.
    figure
        The drawing; None for a table.
    """

    title: str
    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    figure: Figure | None = None


Maker = Callable[[Evidence], Exhibit]
"""From all that a run's observations say to an exhibit."""

UNTRUSTED: Final = "untrusted run: identical arms differed here (A/A), so that other differences may be as empty"


def doubted(exhibit: Exhibit) -> Exhibit:
    """Return the exhibit marked as of an untrusted run: in its title, its notes and across its drawing."""
    if exhibit.figure is not None:
        red: dict[str, Any] = {"color": style.VERMILION}
        exhibit.figure.text(0.99, 0.995, "UNTRUSTED RUN", ha="right", va="top", fontsize=9, fontweight="bold", **red)
        exhibit.figure.text(
            0.5, 0.5, "untrusted", ha="center", va="center", fontsize=60, alpha=0.12, rotation=25, **red
        )
    return replace(exhibit, title=f"{exhibit.title} (untrusted run)", notes=(UNTRUSTED, *exhibit.notes))


def save(exhibit: Exhibit, stem: Path, provenance: Mapping[str, Any]) -> list[Path]:
    """Write the exhibit beside its data and provenance: ``.csv`` and ``.json``, and a figure's ``.svg`` and ``.png``.

    The same exhibit gives the same bytes: no date, no version of the drawing library, fixed identifiers.
    """
    about = {"title": exhibit.title, "notes": list(exhibit.notes), **provenance}
    written = [stem.with_suffix(".csv"), stem.with_suffix(".json")]
    written[0].write_text(exhibit.frame.to_csv(index=False, lineterminator="\n"), encoding="utf-8")
    written[1].write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if exhibit.figure is not None:
        written += [stem.with_suffix(".svg"), stem.with_suffix(".png")]
        with style.applied():
            exhibit.figure.savefig(written[2], metadata={"Date": None, "Creator": None})
            written[2].write_text(_compact(written[2].read_text(encoding="utf-8")), encoding="utf-8")
            exhibit.figure.savefig(written[3], metadata={"Software": None})
    return written


def _compact(svg: str) -> str:
    """Return the drawing with its paths on one line each and their coordinates to a hundredth: half the size."""

    def shorter(path: "re.Match[str]") -> str:
        return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), path[0])

    paths = re.sub(r'\bd="[^"]+"', lambda path: re.sub(r"\s*\n", " ", shorter(path)).replace(' "', '"'), svg)
    return re.sub(r'(<use [^>]*?) transform="translate\(([\d.]+) 0\)"', r'\1 x="\2"', paths)
