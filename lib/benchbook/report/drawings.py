"""Drawings: pictures in a notebook, SVG that takes the page's colours inside a page, and in words what each shows.

A notebook is opened anywhere: without the page's colours, and where its outputs are not trusted, and SVG is left out.
"""

import base64
import math
import re
from typing import Any, Final

import pandas as pd

from benchbook.digits import between, estimate
from benchbook.plots.points import each

LETTER: Final = "DejaVuSans"
"""What the ids of letters' outlines begin with."""

_THEME: Final = {
    "#ffffff": "var(--paper)",
    "#1a1a1a": "var(--ink)",
    "#000000": "var(--ink)",
    "#6b6b6b": "var(--faint)",
    "#e4e4e4": "var(--grid)",
    "#e9eef3": "var(--tint)",
    "#e6e6e6": "var(--tint)",
    "#f1f1f1": "var(--tint)",
    "#0173b2": "var(--drawn-blue)",
    "#d55e00": "var(--drawn-vermilion)",
    "#029e73": "var(--drawn-green)",
}
"""Colours of `benchbook.plots.style` that a dark page has others for."""

_MOST: Final = 100
"""Points that are read out; the data has them all."""

_PICTURE: Final = "data:image/svg+xml;base64,"


def picture(svg: str) -> str:
    """Return the address of a picture that holds a drawing."""
    return _PICTURE + base64.b64encode(svg.encode()).decode()


def drawing(picture: str) -> str:
    """Return the drawing that is in the picture at such an address."""
    return base64.b64decode(picture.removeprefix(_PICTURE)).decode()


def inline(svg: str, name: str) -> str:
    """Return a drawing's SVG for a page: without what files need, with the page's colours, ids of its own.

    Parameters
    ----------
    svg
        As `benchbook.plots.exhibit.save` writes it.
    name
        The figure's, which its ids begin with; those of letters stay, for all figures share them.
    """
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<(metadata|title)>.*?</\1>|<!--.*?-->", "", body, flags=re.DOTALL)
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', body))
    body = re.sub(r' id="([^"]+)"', lambda match: match[0] if match[1] in used else "", body)
    body = re.sub(rf'(\bid="|url\(#|href="#)(?!{LETTER})', rf"\g<1>{name}-", body)
    for colour, variable in _THEME.items():
        body = body.replace(colour, variable)
    body = body.replace("xlink:href", "href").replace('xmlns:xlink="http://www.w3.org/1999/xlink" ', "")
    body = re.sub(
        r'<svg [^>]*?(viewBox="[^"]+")[^>]*>', r'<svg aria-hidden="true" focusable="false" \1>', body, count=1
    )
    return re.sub(r">\s+<", "><", body)


def in_words(points: pd.DataFrame) -> str:
    """Return the values that a figure shows, as text: each published one and each of this machine with its interval."""
    values = [_point(row) for row in each(points.head(_MOST))]
    if len(points) > _MOST:
        values.append(f"and {len(points) - _MOST} more, in the data")
    return "; ".join(values)


def _point(row: Any) -> str:
    where = ", ".join(str(name) for name in (row.panel, row.level, row.series) if name != "")
    unit = "" if row.unit == "ratio" else str(row.unit)
    if math.isnan(row.value):
        return f"{where}: {row.source} bounds ({between(row.low, row.high)}) {unit}".rstrip()
    return f"{where}: {row.source} {estimate(row.value, row.low, row.high, unit)}"
