"""Style: the colours, marks and sizes of every figure, legible in black and white.

A figure is drawn inside `use_style`, for a `Layout`: a file, or a wide or narrow screen.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal

REPORT_WIDTH: Final = 7.4
"""The width of a report's column in inches."""

INK: Final = "#1a1a1a"
FAINT: Final = "#6b6b6b"

BOUND_STYLE: Final[dict[str, Any]] = {
    "facecolor": "#f1f1f1",
    "edgecolor": INK,
    "linewidth": 0.8,
}
"""The range between a paper's bounds: its edges are seen where it is thin."""

BLUE, ORANGE, GREEN, VERMILION, PINK, SKY = (
    "#0173b2",
    "#de8f05",
    "#029e73",
    "#d55e00",
    "#cc78bc",
    "#56b4e9",
)
"""Seaborn's palette for the colour-blind; importing seaborn takes more than a second."""

RC_PARAMS: Final[dict[str, Any]] = {
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "w",
    "patch.force_edgecolor": True,
    # Ships with matplotlib: the same glyphs, so the same bytes, on every machine.
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "figure.titlesize": 11,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titley": 1.0,  # else each layout measures all that a title could lie on
    "axes.labelsize": 9,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "axes.labelcolor": INK,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.markersize": 6.5,
    "lines.linewidth": 1.2,
    "savefig.dpi": 160,
    "svg.fonttype": "path",
    "svg.hashsalt": "benchbook",
    "pdf.fonttype": 42,
}
"""Matplotlib settings, those of seaborn's style ``ticks`` among them.

The fixed salt makes the SVG's identifiers, and so its bytes, repeatable. An SVG's text is drawn as
outlines, which look alike everywhere and need no font; a PDF embeds its font as TrueType, which
journals ask for and which can be searched.
"""

_TEXT_SIZES: Final = (
    *("font.size", "figure.titlesize", "axes.titlesize", "axes.labelsize"),
    *("xtick.labelsize", "ytick.labelsize", "legend.fontsize"),
)

_ONE_COLUMN_PARAMS: Final[dict[str, Any]] = {
    "font.size": 7,
    "figure.titlesize": 8,
    "axes.titlesize": 7,
    "axes.labelsize": 7,
    "axes.labelpad": 2,
    "axes.titlepad": 3,
    "axes.linewidth": 0.6,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.pad": 2,
    "ytick.major.pad": 2,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": 7,
    "savefig.dpi": 300,
    "grid.linewidth": 0.4,
    "lines.markersize": 4.5,
    "lines.linewidth": 0.9,
}
"""Settings that differ in one column of a journal's page.

Nothing is below 7 points, which is also the printed size.
"""


@dataclass(frozen=True)
class SeriesStyle:
    """How one series is drawn: colour, marker shape and line dash; each alone tells it apart."""

    colour: str
    marker: str
    dash: Literal["-", "--", ":"] = "-"


SERIES_STYLES: Final[dict[str, SeriesStyle]] = {
    "JSON": SeriesStyle(BLUE, "o"),
    "XML": SeriesStyle(VERMILION, "s", "--"),
    "Python": SeriesStyle(BLUE, "o"),
    "Java": SeriesStyle(VERMILION, "s"),
    "Node.js": SeriesStyle(VERMILION, "s"),
    "XML / JSON": SeriesStyle(BLUE, "o"),
    "loopback": SeriesStyle(BLUE, "o"),
    "100 Mbit/s": SeriesStyle(VERMILION, "s"),
    "1 Gbit/s": SeriesStyle(GREEN, "D"),
    "20 Mbit/s": SeriesStyle(PINK, "^"),
    "one core each": SeriesStyle(GREEN, "v"),
    "100 Mbit/s, one core each": SeriesStyle(PINK, "P"),
    # Of `benchbook.papers.tcp`.
    "XML (etree) / JSON (json)": SeriesStyle(GREEN, "^"),
    "XML (xsdata) / JSON (msgspec)": SeriesStyle(GREEN, "v"),
    "XML (JAXB) / JSON (Jackson)": SeriesStyle(VERMILION, "s"),
    "XML (JAXB, one context per object) / JSON (Jackson)": SeriesStyle(VERMILION, "D"),
    "XML (DOM) / JSON (Jackson)": SeriesStyle(VERMILION, "X"),
    "XML (XMLDecoder) / JSON (Jackson)": SeriesStyle(PINK, "*"),
    # Of `benchbook.papers.drivers`.
    "mongoengine / pymongo": SeriesStyle(BLUE, "o"),
    "Mongoose / MongoClient": SeriesStyle(VERMILION, "s"),
    "native driver, 89 attributes": SeriesStyle(BLUE, "o"),
    "native driver, 6 attributes": SeriesStyle(BLUE, "^", "--"),
    "mapper, 89 attributes": SeriesStyle(VERMILION, "s"),
    "mapper, 6 attributes": SeriesStyle(VERMILION, "D", "--"),
    # Of `benchbook.papers.crud`.
    "n = 1,000": SeriesStyle(SKY, "o"),
    "n = 10,000": SeriesStyle(BLUE, "s"),
    "n = 100,000": SeriesStyle(PINK, "D"),
    # Of `benchbook.papers.replication`.
    "JSON (document)": SeriesStyle(BLUE, "o"),
    "JSON (text)": SeriesStyle(BLUE, "^"),
    "XML (fields)": SeriesStyle(VERMILION, "s"),
    "XML (text)": SeriesStyle(VERMILION, "D"),
    "XML (text) / JSON (text)": SeriesStyle(BLUE, "o"),
    "XML (text) / JSON (document)": SeriesStyle(BLUE, "^"),
    "XML (fields) / JSON (text)": SeriesStyle(VERMILION, "D"),
    "XML (fields) / JSON (document)": SeriesStyle(VERMILION, "s"),
}
"""The style of each series by its name, in the order of legends; others are blue dots."""


def get_series_style(series: str) -> SeriesStyle:
    """Return the style of a series; one that has none is blue."""
    return SERIES_STYLES.get(series, SeriesStyle(BLUE, "o"))


def sort_series(series: Iterable[str]) -> list[str]:
    """Return the names once each, those of `SERIES_STYLES` first and in its order."""
    names = list(dict.fromkeys(series))
    return [name for name in SERIES_STYLES if name in names] + [
        name for name in names if name not in SERIES_STYLES
    ]


@dataclass(frozen=True)
class Layout:
    """A figure's width in inches, and whether title and notes are drawn or in a caption."""

    width: float = REPORT_WIDTH
    titled: bool = True
    labels_above: bool = False  # whether long names of rows are above their rows, not at the left
    text: float = 7.0  # points that no text is below

    @property
    def narrow(self) -> bool:
        """Whether it is one column of a page: smaller text and marks, fewer panels side by side."""
        return self.width < 5

    @property
    def small(self) -> float:
        """Points of the smallest text."""
        return max(self.text, 7.0 if self.narrow else 7.5)

    @property
    def marks(self) -> float:
        """The size of marks, as a multiple of a report's."""
        return 0.75 if self.narrow else 1.0

    @property
    def rc(self) -> dict[str, Any]:
        """Matplotlib's settings."""
        settings = RC_PARAMS | _ONE_COLUMN_PARAMS if self.narrow else RC_PARAMS
        return settings | {name: max(settings[name], self.text) for name in _TEXT_SIZES}


REPORT_LAYOUT: Final = Layout()
"""How figures are laid out in a file."""

PAGE_LAYOUTS: Final = {
    "wide": Layout(5.8, titled=False, text=9),
    "narrow": Layout(3.7, titled=False, labels_above=True, text=9),
}
"""Layouts on a report's page, which has title and notes as text: for two widths of screens.

9 points are 12 pixels where the page shows them: in half of its width of 1,280 pixels, and on a
telephone of 390.
"""

WHOLE_WIDTH: Final = 7.3
"""The width in inches of a figure that takes the whole width of a page, as 9 points are there."""


@contextmanager
def use_style(layout: Layout = REPORT_LAYOUT) -> Iterator[None]:
    """Draw in the style of figures inside the context; the caller's settings come back after it.

    `matplotlib.rc_context` does not do: it would take back that plots show themselves, which the
    first figure of a kernel sets when its backend is loaded.
    """
    # Importing it takes an eighth of a second, and points do not need it.
    import matplotlib

    settings: Any = matplotlib.rcParams
    before = {name: settings[name] for name in layout.rc}
    settings.update(layout.rc)
    try:
        yield
    finally:
        settings.update(before)
