"""The papers' exhibits by name: figures, tables and headlines, and what to cite.

`make_exhibit` makes one, `draw_all` writes all of them with their data and provenance.
`load_citation` has a paper's authors, title and year.
"""

import gc
import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, Final

import yaml

from benchbook import paths
from benchbook.analysis.runs import Analysis
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.papers.paper_exhibits import PaperExhibits
from benchbook.plots import claim_lines, ratio_plot
from benchbook.plots.exhibit import Exhibit, Maker
from benchbook.plots.points import select_rows
from benchbook.plots.provenance import Provenance, describe_provenance
from benchbook.servers import processes
from benchbook.studies.catalogue import SLUGS
from benchbook.studies.cell import iterate_repetitions
from benchbook.text.number_format import format_estimate

PAPER_EXHIBITS: Final[dict[str, PaperExhibits]] = {
    slug: importlib.import_module(f"benchbook.papers.{slug}").PAPER for slug in SLUGS
}
"""The exhibits of each study's paper."""

HEADLINES: Final[dict[str, ratio_plot.Headline]] = {
    study: paper.headline for study, paper in PAPER_EXHIBITS.items()
}
"""The headline of each study: in the report, README, explorer and `benchbook number`."""

PAGE_FOLDER: Final = "page"
"""The folder, beside the figures, of their drawings for the report's page."""

VERDICT_FIGURE: Final = re.compile("(^|_)verdicts(_[0-9]+)?$")
"""Names of figures of claims."""

FIGURES: Final[dict[str, Maker]] = {
    "verdicts": claim_lines.make_verdict_bars,
    "overview": partial(ratio_plot.draw_overview, headlines=HEADLINES),
}
"""Every figure: its name, which begins with its study, and the function that makes it.

The name of a figure of all studies has no underscore.
"""

TABLES: Final[dict[str, Maker]] = {}
"""Every table, as `FIGURES`."""

GRIDS: Final[dict[str, Maker]] = {}
"""The figures that each show several of a paper's own at once, as wide as a page."""

for _paper in PAPER_EXHIBITS.values():
    FIGURES.update(_paper.figures)
    TABLES.update(_paper.tables)
    GRIDS.update(_paper.grids)


@dataclass(frozen=True)
class Citation:
    """A paper; unknown facts are None."""

    authors: tuple[str, ...]
    title: str
    venue: str
    year: int | None = None
    doi: str | None = None

    @property
    def url(self) -> str | None:
        """The address that its DOI leads to."""
        return self.doi and f"https://doi.org/{self.doi}"

    @property
    def short(self) -> str:
        """Its authors and year in a few words: ``Nurseitov et al. (2009)``."""
        names = [name.rpartition(" ")[2] for name in self.authors]
        who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        return who + (f" ({self.year})" if self.year else "")

    def __str__(self) -> str:
        """Return it as an item of a list of references."""
        year = f" ({self.year})" if self.year else ""
        url = f" {self.url}" if self.url else ""
        return f"{', '.join(self.authors)}{year}: {self.title}. {self.venue}.{url}"


@cache
def load_citation(slug: str) -> Citation:
    """Return the citation of a study's paper."""
    facts = yaml.safe_load(paths.papers().read_text(encoding="utf-8"))[slug]
    return Citation(**facts | {"authors": tuple(facts["authors"])})


def judge_headline(analysis: Analysis, study: str) -> ClaimVerdict:
    """Return the verdict on a study's headline claim.

    Its estimate is NaN where nothing was compared.
    """
    (verdict,) = [claim for claim in analysis.verdicts if claim.id == HEADLINES[study].claim]
    return verdict


def write_headline(study: str, verdict: ClaimVerdict, ratio: str = "") -> str:
    """Return a study's headline as a sentence, with the ratio as given or with its interval."""
    written = ratio or f"{format_estimate(verdict.estimate, verdict.low, verdict.high)} times"
    return HEADLINES[study].says.format(written, b=verdict.b)


_DRAWN_FROM: Final[list[tuple[Analysis, Path, str]]] = []
"""What a process draws from: `_begin_worker` fills it."""


def draw_all(
    analysis: Analysis, folder: Path, run: str, names: Sequence[str] = (*FIGURES, *TABLES)
) -> list[Path]:
    """Write figures and tables with their data and provenance; return the files.

    Parameters
    ----------
    analysis
        Of a run; studies may be missing.
    folder
        Where the files are written.
    run
        The profile that ran, or `benchbook.paths.REFERENCE`.
    names
        Of `FIGURES` and `TABLES`, also the names of the files; all of them by default.
    """
    (folder / PAGE_FOLDER).mkdir(parents=True, exist_ok=True)
    # Compute them once, before the analysis is sent to the workers.
    for part in ("comparisons", "verdicts", "tables", "studies"):
        getattr(analysis, part)
    with processes.start_worker_pool(2, _begin_worker, analysis, folder, run) as pool:
        written: list[Path] = []
        drawn = pool.map(_write_exhibit, names)
        for _ in iterate_repetitions(len(names), "figure"):
            written += next(drawn)
        return written


def _begin_worker(analysis: Analysis, folder: Path, run: str) -> None:
    """Keep the analysis in a process that draws: it is sent once for all exhibits."""
    _DRAWN_FROM.append((analysis, folder, run))
    # Python would search all objects for garbage again and again; `_write_exhibit` does it once.
    gc.freeze()
    gc.disable()


def _write_exhibit(name: str) -> list[Path]:
    # Matplotlib is slow to import, and numbers need none.
    from benchbook.plots.save import save_exhibit, save_for_page

    ((analysis, folder, run),) = _DRAWN_FROM
    exhibit = make_exhibit(analysis, name)
    # The page shows no drawing of a study that did not run, and none without rows.
    if analysis.studies.keys() & find_studies(name) and not exhibit.frame.empty:
        save_for_page(exhibit, folder / PAGE_FOLDER, name)
    written = save_exhibit(exhibit, folder / name, describe_exhibit(analysis, name, run))
    # A drawing is garbage now; the rest stays, as imported modules do.
    gc.collect()
    gc.freeze()
    return written


def make_exhibit(analysis: Analysis, name: str) -> Exhibit:
    """Return one figure or table, with a note where noisy cells were left out."""
    exhibit = (FIGURES | TABLES)[name](analysis)
    note = _describe_noisy(analysis, name)
    if note:
        exhibit = replace(exhibit, notes=(*exhibit.notes, note))
    if "_" not in name:
        return exhibit
    (study,) = find_studies(name)
    return replace(exhibit, study=study, paper=load_citation(study).short)


def _describe_noisy(analysis: Analysis, name: str) -> str:
    """Return a note with the number of a study's noisy cells; empty for exhibits of all studies."""
    return _describe_noisy_cells(analysis, name.partition("_")[0]) if "_" in name else ""


@lru_cache(maxsize=16)
def _describe_noisy_cells(analysis: Analysis, study: str) -> str:
    means = select_rows(analysis.means, study=study)
    cells = means.groupby(["cell_id", "block"])["noisy"].any()
    if not cells.any():
        return ""
    which = f"all {len(cells)}" if cells.all() else f"{int(cells.sum())} of {len(cells)}"
    return f"left out: {which} cells of this study, beside which other programs ran"


def describe_exhibit(analysis: Analysis, name: str, run: str) -> Mapping[str, Any]:
    """Return the provenance of one figure or table, with the note on noisy cells."""
    provenance = get_provenance(analysis, find_studies(name), run)
    return {**provenance, "left_out": _describe_noisy(analysis, name)}


@lru_cache(maxsize=16)
def get_provenance(analysis: Analysis, studies: tuple[str, ...], run: str) -> Provenance:
    """Return the provenance of some studies' values.

    Exhibits of the same studies share it: do not change it.
    """
    return describe_provenance(select_rows(analysis.means, study=list(studies)), run)


def find_studies(name: str) -> tuple[str, ...]:
    """Return the studies that a figure or table shows, by its name."""
    return (name.partition("_")[0],) if "_" in name else tuple(SLUGS)
