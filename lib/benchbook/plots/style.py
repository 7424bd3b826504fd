"""One look for every figure: a paper's numbers hollow, this machine's filled, legible in black and white."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal

WIDTH: Final = 7.4
"""Inches: the width of a report's column."""

NARROW: Final = 6.8
"""Inches below which a figure is laid out as for one column of a journal's page."""

INK: Final = "#1a1a1a"
FAINT: Final = "#6b6b6b"

BOUND: Final[dict[str, Any]] = {"facecolor": "#f1f1f1", "edgecolor": "#bdbdbd", "hatch": "//", "linewidth": 0}
"""Where a paper says that its values lie."""

BLUE, ORANGE, GREEN, VERMILION, PINK, SKY = "#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc", "#56b4e9"
"""Of seaborn's palette for the colour-blind, and below of its style ``ticks``: to import it takes a second and more."""

RC: Final[dict[str, Any]] = {
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "w",
    "patch.force_edgecolor": True,
    "font.family": ["DejaVu Sans"],  # ships with matplotlib: the same glyphs, so the same bytes, on every machine
    "font.size": 9,
    "figure.titlesize": 11,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
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
    "hatch.linewidth": 0.5,
    "lines.markersize": 6.5,
    "lines.linewidth": 1.2,
    "savefig.dpi": 160,
    "svg.fonttype": "path",
    "svg.hashsalt": "benchbook",
    "pdf.fonttype": 42,
}
"""Matplotlib settings.

The fixed salt makes the SVG's identifiers, and so its bytes, repeatable. An SVG's text is drawn as outlines, which look
alike everywhere and need no font; a PDF embeds its font as TrueType, which journals ask for and which can be searched.
"""

_ONE_COLUMN: Final[dict[str, Any]] = {
    "font.size": 7,
    "figure.titlesize": 8,
    "axes.titlesize": 7,
    "axes.labelsize": 7,
    "axes.labelpad": 2,
    "axes.titlepad": 3,
    "axes.linewidth": 0.6,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "xtick.major.pad": 2,
    "ytick.major.pad": 2,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": 6.5,
    "savefig.dpi": 300,
    "grid.linewidth": 0.4,
    "lines.markersize": 4.5,
    "lines.linewidth": 0.9,
}
"""What is another in one column of a journal's page: nothing is below 6.5 points, which is also the printed size."""


@dataclass(frozen=True)
class Look:
    """How one series is drawn: colour, marker shape and line dash, any of which is enough to tell it apart."""

    colour: str
    marker: str
    dash: Literal["-", "--", ":"] = "-"


PLAIN: Final = Look(BLUE, "o")

LOOKS: Final[dict[str, Look]] = {
    "JSON": Look(BLUE, "o"),
    "XML": Look(VERMILION, "s", "--"),
    "Python": Look(BLUE, "o"),
    "Java": Look(VERMILION, "s"),
    "XML / JSON": Look(BLUE, "o"),
}
"""The look of each series, by its name and in the order of legends; what is not listed is `PLAIN`.

A paper's own series are in its folder, and `benchbook.papers.exhibits` adds them.
"""


def look(series: str) -> Look:
    """Return the look of a series."""
    return LOOKS.get(series, PLAIN)


def ordered(series: Iterable[str]) -> list[str]:
    """Return the names once each, those of `LOOKS` first and in its order."""
    names = list(dict.fromkeys(series))
    return [name for name in LOOKS if name in names] + [name for name in names if name not in LOOKS]


@dataclass(frozen=True)
class Layout:
    """How wide a figure is, in inches, and whether title and notes stand on it or in a caption."""

    width: float = WIDTH
    titled: bool = True
    labels_above: bool = False  # whether long names of rows stand above their rows, not to the left

    @property
    def narrow(self) -> bool:
        """Whether it is one column of a journal's page: smaller text, fewer panels side by side."""
        return self.width < NARROW

    @property
    def small(self) -> float:
        """Points of the smallest text."""
        return 6.5 if self.narrow else 7.5

    @property
    def marks(self) -> float:
        """How large marks are, times those of a report."""
        return 0.75 if self.narrow else 1.0

    @property
    def rc(self) -> dict[str, Any]:
        """Matplotlib's settings."""
        return {**RC, **_ONE_COLUMN} if self.narrow else RC


REPORT: Final = Layout()
"""How figures are laid out in a file."""

PAGE: Final = {"wide": Layout(titled=False), "narrow": Layout(3.5, titled=False, labels_above=True)}
"""How they are laid out in a report's page, which has title and notes as text: on a wide and on a narrow screen."""


@contextmanager
def applied(layout: Layout = REPORT) -> Iterator[None]:
    """Draw in the style of figures inside the context, and leave the caller's settings alone.

    What the first figure of a kernel sets lasts: its backend is loaded then and makes plots show by themselves, which
    `matplotlib.rc_context` would take back.
    """
    import matplotlib  # here: it takes an eighth of a second, and points need none

    settings: Any = matplotlib.rcParams
    before = {name: settings[name] for name in layout.rc}
    settings.update(layout.rc)
    try:
        yield
    finally:
        settings.update(before)
