"""A table or a figure with what must be said beneath it, and how it is saved."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import pandas as pd
from matplotlib.figure import Figure

from benchbook import atomic
from benchbook.evidence import Evidence
from benchbook.plots import latex, style
from benchbook.results.spreadsheet import to_csv


@dataclass(frozen=True)
class Exhibit:
    """What is shown and what is said of it."""

    title: str  # study, the paper's own number of it, quantity and unit
    frame: pd.DataFrame  # a table as it is set, a figure's points as they are drawn
    notes: tuple[str, ...] = ()  # blocks, levels that did not run, censored values
    figure: Figure | None = None  # none of a table


Maker = Callable[[Evidence], Exhibit]
"""From all that a run's observations say to an exhibit."""

DRAWN: Final = ("pdf", "svg", "png")
WRITTEN: Final = ("tex", "csv", "json")
"""The formats of drawings, and those of tables and of a figure's points, caption and provenance."""

UNTRUSTED: Final = "untrusted run: identical arms differed here (A/A), so that other differences may be as empty"


def doubted(exhibit: Exhibit) -> Exhibit:
    """Return the exhibit marked as of an untrusted run: in its title, its notes and across its drawing."""
    if exhibit.figure is not None:
        red: dict[str, Any] = {"color": style.VERMILION}
        layout = style.layout()
        if not layout.narrow:  # where a title has no room beside it
            exhibit.figure.text(
                0.99, 0.995, "UNTRUSTED RUN", ha="right", va="top", fontsize=9, fontweight="bold", **red
            )
        across: dict[str, Any] = {"fontsize": 60 * layout.width / style.WIDTH, "alpha": 0.12, "rotation": 25}
        exhibit.figure.text(0.5, 0.5, "untrusted", ha="center", va="center", **across, **red)
    return replace(exhibit, title=f"{exhibit.title} (untrusted run)", notes=(UNTRUSTED, *exhibit.notes))


def save(
    exhibit: Exhibit, stem: Path, provenance: Mapping[str, Any], formats: Sequence[str] = ("csv", "svg")
) -> list[Path]:
    """Write the exhibit in some formats, and beside them its provenance (``.json``); return the files.

    The same exhibit gives the same bytes: no date, no version of the drawing library, fixed identifiers. Each file but
    a CSV holds title and provenance, too.

    Parameters
    ----------
    formats
        Of `DRAWN` and `WRITTEN`; those of drawings are left out where there is no drawing.
    """
    data = to_csv(exhibit.frame)
    sha = hashlib.sha256(data.encode()).hexdigest()
    about = {"title": exhibit.title, "notes": list(exhibit.notes), **provenance, "data_sha256": sha}
    texts = {"csv": data, "json": json.dumps(about, indent=1, ensure_ascii=False) + "\n"}
    written = []
    for kind in dict.fromkeys([*formats, "json"]):
        path = stem.with_name(f"{stem.name}.{kind}")
        if kind in DRAWN:
            if exhibit.figure is None:
                continue
            atomic.write(path, _draw(exhibit.figure, kind, about))
        elif kind == "tex":
            atomic.write(path, _latex(exhibit, stem.name, about))
        else:
            atomic.write(path, texts[kind])
        written.append(path)
    return written


def _draw(figure: Figure, kind: str, about: Mapping[str, Any]) -> bytes:
    """Return a drawing as the content of a file of that format."""
    file = BytesIO()
    with style.applied():
        figure.savefig(file, format=kind, metadata=_metadata(kind, about))
    drawn = file.getvalue()
    return _compact(drawn.decode()).encode() if kind == "svg" else drawn


def _metadata(kind: str, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a drawing's file says of itself, under the names that its format has for it."""
    suite = about.get("drawn_by")
    origin = json.dumps({name: value for name, value in about.items() if name not in ("title", "notes")})
    notes = ". ".join(about["notes"])
    if kind == "pdf":
        named = {"Title": about["title"], "Subject": notes, "Keywords": origin, "Creator": suite}
        return {**named, "Producer": None, "CreationDate": None}
    if kind == "svg":
        return {"Title": about["title"], "Description": f"{notes} {origin}".strip(), "Creator": suite, "Date": None}
    return {"Title": about["title"], "Description": notes, "Source": origin, "Software": suite}


def _latex(exhibit: Exhibit, name: str, about: Mapping[str, Any]) -> str:
    """Return what a manuscript's ``input`` takes: a table, or a figure's drawing with its caption."""
    if exhibit.figure is None:
        return latex.table(exhibit.frame, title=exhibit.title, notes=exhibit.notes, name=name, about=about)
    layout = style.layout()
    return latex.figure(
        exhibit.title, exhibit.notes, name=name, about=about, width=layout.width, wide=not layout.narrow
    )


def _compact(svg: str) -> str:
    """Return the drawing with its paths on one line each and its coordinates to a hundredth: half the size."""

    def shorter(where: "re.Match[str]") -> str:
        short = re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), where[0])
        return re.sub(r"\s*\n", " ", short).replace(' "', '"')

    places = re.sub(r'\b(?:d|x|y)="[^"]+"|translate\([^)]+\)', shorter, svg)
    return re.sub(r'(<use [^>]*?) transform="translate\(([\d.]+) 0\)"', r'\1 x="\2"', places)
