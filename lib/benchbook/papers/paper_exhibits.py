"""What the module of each paper ends with: its figures and tables, and its headline."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchbook.plots.exhibit import Maker
from benchbook.plots.ratio_plot import Headline


@dataclass(frozen=True)
class PaperExhibits:
    """A paper's figures and tables by name, and the number that represents it in summaries."""

    headline: Headline
    levels: Mapping[str, str | int]  # the paper's level of each parameter that no figure shows
    figures: Mapping[str, Maker]
    tables: Mapping[str, Maker]
    # Those of `figures` that each show several of the paper's own at once, as wide as a page.
    grids: Mapping[str, Maker] = field(default_factory=dict)
