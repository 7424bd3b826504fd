"""Drawing exhibits, and writing them with their data, caption and provenance.

`draw_exhibit` returns a figure, `save_exhibit` writes the files of an exhibit, `save_for_page`
those of a report's page.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from benchbook.files import suite_files
from benchbook.plots import latex, style
from benchbook.plots.claims_plot import draw_bars, draw_claims
from benchbook.plots.exhibit import (
    DRAWING_FORMATS,
    Bars,
    ClaimSheet,
    Dots,
    Drawing,
    Exhibit,
    Lines,
)
from benchbook.plots.point_plots import draw_dots, draw_lines
from benchbook.plots.sheet import fix_layout
from benchbook.plots.style import PAGE_LAYOUTS, REPORT_LAYOUT, Layout
from benchbook.results.views import format_csv


def draw_exhibit(exhibit: Exhibit, layout: Layout = REPORT_LAYOUT) -> Figure:
    """Return the drawing of a figure's points; a ValueError where the exhibit is a table."""
    drawing = exhibit.drawing
    with style.use_style(layout):
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
                raise ValueError(f"{exhibit.name} is a table: it has no drawing")
        fix_layout(figure)
    return figure


def save_exhibit(
    exhibit: Exhibit,
    stem: Path,
    provenance: Mapping[str, Any],
    formats: Sequence[str] = ("csv", "svg"),
    layout: Layout = REPORT_LAYOUT,
) -> list[Path]:
    """Write an exhibit in some formats and its provenance (``.json``); return the files.

    The same exhibit gives the same bytes: no date, no version of the drawing library, fixed
    identifiers. Each file but a CSV also has title and provenance.

    Parameters
    ----------
    stem
        The path of the files without their suffix.
    provenance
        As `benchbook.plots.provenance.describe_provenance` returns it.
    formats
        Of `DRAWING_FORMATS` and `benchbook.plots.exhibit.DATA_FORMATS`; a table has no drawings.
    layout
        Of the drawings.
    """
    # The digest of the data ties drawings and tables to their numbers.
    data = format_csv(exhibit.frame)
    sha = hashlib.sha256(data.encode()).hexdigest()
    said = {"title": exhibit.name, "result": exhibit.result, "after": exhibit.after}
    said = {name: text for name, text in said.items() if text}
    about = {**said, "notes": list(exhibit.notes), **provenance, "data_sha256": sha}
    contents: dict[str, str | bytes] = {"csv": data}
    if "tex" in formats:
        texts: dict[str, Any] = {"name": stem.name, "about": about}
        if exhibit.drawing is None:
            contents["tex"] = latex.write_table(exhibit.frame, exhibit.caption, **texts)
        else:
            contents["tex"] = latex.write_figure(
                exhibit.caption, **texts, width=layout.width, wide=not layout.narrow
            )
    drawings = [kind for kind in formats if kind in DRAWING_FORMATS]
    if exhibit.drawing and drawings:
        figure = draw_exhibit(exhibit, layout)
        # Only the report's page reads the artists' identifiers.
        for artist in figure.findobj():
            artist.set_gid(None)
        for kind in drawings:
            file = BytesIO()
            with style.use_style(layout):
                figure.savefig(file, format=kind, metadata=_list_metadata(kind, about))
            drawn = file.getvalue()
            contents[kind] = _compact_svg(drawn.decode()) if kind == "svg" else drawn
    # Provenance is written beside every format.
    contents["json"] = json.dumps(about, indent=1, ensure_ascii=False) + "\n"

    written = []
    for kind in dict.fromkeys([*formats, "json"]):
        if kind in contents:
            path = stem.with_name(f"{stem.name}.{kind}")
            suite_files.write_file(path, contents[kind])
            written.append(path)
    return written


def save_for_page(exhibit: Exhibit, folder: Path, name: str) -> None:
    """Write a figure for the report's page as ``NAME.wide.svg`` and ``NAME.narrow.svg``."""
    if exhibit.drawing is None:
        return
    for screen, page in PAGE_LAYOUTS.items():
        layout = fit_layout(exhibit.drawing, page)
        file = BytesIO()
        figure = draw_exhibit(exhibit, layout)
        with style.use_style(layout), rc_context({"svg.fonttype": "none"}):
            figure.savefig(file, format="svg", metadata={"Date": None})
        # Identifiers of `sheet.write_gid` become attributes, which need not be unique.
        named = r'data-series="\1" data-source="\2" data-points="\3"'
        drawn = re.sub(r'id="([^"|]*)\|([^"|]*)\|([^"]*)"', named, file.getvalue().decode())
        svg = shrink_svg(drawn)
        suite_files.write_file(folder / f"{name}.{screen}.svg", svg.encode())


def fit_layout(drawing: Drawing, layout: Layout) -> Layout:
    """Return one of `PAGE_LAYOUTS` as wide as the drawing is on the page."""
    if drawing.whole and not layout.narrow:
        return replace(layout, width=style.WHOLE_WIDTH)
    return layout


def shrink_svg(svg: str) -> str:
    """Return a drawing for a page without what only a file needs: a third of the bytes."""
    only_of_files = r"<metadata>.*?</metadata>|<!--.*?-->|<\?xml.*?\?>|<!DOCTYPE.*?>"
    svg = re.sub(only_of_files, "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sd="([^"]*)"', _shorten_path, _compact_svg(svg))
    # Identifiers stay where something refers to them.
    named = set(re.findall(r'#([^")]+)[")]', svg))
    svg = re.sub(r' id="([^"]*)"', lambda name: name[0] if name[1] in named else "", svg)
    # A reader's machine may have no DejaVu Sans; Verdana's letters are as wide.
    svg = svg.replace("'DejaVu Sans'", "DejaVu Sans,Verdana,sans-serif")
    svg = re.sub(r' transform="rotate\(-0 [^)]*\)"|<g ?/>', "", svg)
    svg = re.sub(r'style="[^"]*"', lambda style: re.sub(r"([;:]) ", r"\1", style[0]), svg)
    return re.sub(r">\s+<", "><", svg).strip()


def _shorten_path(path: "re.Match[str]") -> str:
    data = re.sub(r"\s*([A-Za-z])\s*", r"\1", path[1])
    data = re.sub(r"\s+", ",", data.strip())
    return f' d="{data}"'


def _list_metadata(kind: str, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return a drawing's title, notes and provenance, under the names that its format has."""
    title, notes, suite = about["title"], ". ".join(about["notes"]), about.get("drawn_by")
    rest = {name: value for name, value in about.items() if name not in ("title", "notes")}
    origin = json.dumps(rest)
    if kind == "pdf":
        named = {"Title": title, "Subject": notes, "Keywords": origin, "Creator": suite}
        return {**named, "Producer": None, "CreationDate": None}
    if kind == "svg":
        description = f"{notes} {origin}".strip()
        return {"Title": title, "Description": description, "Creator": suite, "Date": None}
    return {"Title": title, "Description": notes, "Source": origin, "Software": suite}


def _compact_svg(svg: str) -> str:
    """Return a drawing of half the size: coordinates to a hundredth, each path on one line."""
    svg = re.sub(r'\b(?:d|x|y)="[^"]+"|translate\([^)]+\)', _round_coordinates, svg)
    return re.sub(r'(<use [^>]*?) transform="translate\(([\d.]+) 0\)"', r'\1 x="\2"', svg)


def _round_coordinates(attribute: "re.Match[str]") -> str:
    def shorten(number: "re.Match[str]") -> str:
        return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")

    rounded = re.sub(r"\d+\.\d{3,}", shorten, attribute[0])
    return re.sub(r"\s*\n", " ", rounded).replace(' "', '"')
