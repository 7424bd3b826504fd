"""Drawing exhibits, and writing them with their data, caption and provenance."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from matplotlib import rc_context
from matplotlib.figure import Figure

from benchbook import atomic
from benchbook.plots import latex, style
from benchbook.plots.claims_plot import draw_bars, draw_claims
from benchbook.plots.dots import draw_dots
from benchbook.plots.exhibit import Bars, ClaimSheet, Dots, Exhibit, Lines
from benchbook.plots.lines import draw_lines
from benchbook.plots.sheet import settle
from benchbook.plots.style import PAGE, REPORT, Layout
from benchbook.results.spreadsheet import to_csv

DRAWN: Final = ("pdf", "svg", "png")
WRITTEN: Final = ("tex", "csv", "json")
"""The formats of drawings, and those of tables and of a figure's points, caption and provenance."""


def draw(exhibit: Exhibit, layout: Layout = REPORT) -> Figure:
    """Return the drawing of a figure's points; a ValueError where the exhibit is a table."""
    drawing = exhibit.drawing
    with style.applied(layout):
        match drawing:
            case Dots():
                figure = draw_dots(exhibit, drawing, layout)
            case Lines():
                figure = draw_lines(exhibit, drawing, layout)
            case ClaimSheet():
                figure = draw_claims(exhibit, drawing, layout)
            case Bars():
                figure = draw_bars(exhibit, layout)
            case None:
                raise ValueError(f"{exhibit.title} is a table: it has no drawing")
        settle(figure)
    return figure


def save(
    exhibit: Exhibit,
    stem: Path,
    provenance: Mapping[str, Any],
    formats: Sequence[str] = ("csv", "svg"),
    layout: Layout = REPORT,
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
    figure = draw(exhibit, layout) if exhibit.drawing and {*formats} & {*DRAWN} else None
    written = []
    for kind in dict.fromkeys([*formats, "json"]):
        path = stem.with_name(f"{stem.name}.{kind}")
        if kind in DRAWN:
            if figure is None:
                continue
            atomic.write(path, _encode(figure, kind, about, layout))
        elif kind == "tex":
            atomic.write(path, _latex(exhibit, stem.name, about, layout))
        else:
            atomic.write(path, texts[kind])
        written.append(path)
    return written


def save_for_page(exhibit: Exhibit, folder: Path, name: str) -> None:
    """Write a figure's drawings for the report's page, ``NAME.wide.svg`` and ``NAME.narrow.svg``; of a table none."""
    if exhibit.drawing is None:
        return
    for screen, layout in PAGE.items():
        file = BytesIO()
        figure = draw(exhibit, layout)
        with style.applied(layout), rc_context({"svg.fonttype": "none"}):
            figure.savefig(file, format="svg", metadata={"Date": None})
        atomic.write(folder / f"{name}.{screen}.svg", shrink(file.getvalue().decode()).encode())


def shrink(svg: str) -> str:
    """Return a drawing without what only its file needs: a third of the bytes, and few of them spaces."""
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->|<\?xml.*?\?>|<!DOCTYPE.*?>", "", svg, flags=re.DOTALL)

    def shorten(path: "re.Match[str]") -> str:
        data = re.sub(r"\s*([A-Za-z])\s*", r"\1", path[1])
        data = re.sub(r"\s+", ",", data.strip())
        return f' d="{data}"'

    svg = re.sub(r'\sd="([^"]*)"', shorten, _compact(svg))
    named = set(re.findall(r'#([^")]+)[")]', svg))
    svg = re.sub(r' id="([^"]*)"', lambda name: name[0] if name[1] in named else "", svg)
    # A reader's machine may have no DejaVu Sans; Verdana's letters are as wide.
    svg = svg.replace("'DejaVu Sans'", "DejaVu Sans,Verdana,sans-serif")
    svg = re.sub(r' transform="rotate\(-0 [^)]*\)"|<g ?/>', "", svg)
    svg = re.sub(r'style="[^"]*"', lambda style: re.sub(r"([;:]) ", r"\1", style[0]), svg)
    return re.sub(r">\s+<", "><", svg).strip()


def _encode(figure: Figure, kind: str, about: Mapping[str, Any], layout: Layout) -> bytes:
    """Return a drawing as the content of a file of that format."""
    file = BytesIO()
    with style.applied(layout):
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


def _latex(exhibit: Exhibit, name: str, about: Mapping[str, Any], layout: Layout) -> str:
    """Return what a manuscript's ``input`` takes: a table, or a figure's drawing with its caption."""
    if exhibit.drawing is None:
        return latex.table(exhibit.frame, title=exhibit.title, notes=exhibit.notes, name=name, about=about)
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
