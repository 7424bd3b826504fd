"""All figures and tables by name, each paper's own, and drawing them all."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from benchbook import workers
from benchbook.analysis import Analysis
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.digits import estimate
from benchbook.papers import load
from benchbook.plots import ratios, style, verdicts
from benchbook.plots.exhibit import Exhibit, Maker
from benchbook.plots.points import where
from benchbook.plots.provenance import Provenance, provenance
from benchbook.studies import SLUGS

_PAPERS: Final = {study: load(study) for study in SLUGS}
HEADLINES: Final[dict[str, ratios.Headline]] = {study: paper.HEADLINE for study, paper in _PAPERS.items()}
"""What stands for each study: in the report, README, explorer and by `benchbook number STUDY.headline`."""

_WORKERS: Final = 2
PAGE: Final = "page"
"""The folder, beside the figures, of their drawings for the report's page."""

_DRAWN_FROM: Final[list[tuple[Analysis, Path, str]]] = []
VERDICTS: Final = re.compile("(^|_)verdicts(_[0-9]+)?$")
"""Figures of claims."""

# whatever draws a series asks for its look by the name alone
for _paper in _PAPERS.values():
    style.LOOKS.update(getattr(_paper, "LOOKS", {}))


def overview(analysis: Analysis) -> Exhibit:
    """Draw each paper's headline on one sheet."""
    return ratios.overview(analysis, HEADLINES)


def judge_headline(analysis: Analysis, study: str) -> ClaimVerdict:
    """Return the verdict on the claim that stands for a study; its estimate is NaN where nothing was compared."""
    (verdict,) = ClaimVerdict.of(where(analysis.verdicts, id=HEADLINES[study].claim))
    return verdict


def say_headline(study: str, verdict: ClaimVerdict, ratio: str = "") -> str:
    """Return a study's headline as a sentence, with the ratio and its interval where none is given."""
    written = ratio or f"{estimate(verdict.estimate, verdict.low, verdict.high)} times"
    says: str = HEADLINES[study].says
    return says.format(written, b=verdict.b)


FIGURES: Final[dict[str, Maker]] = {"verdicts": verdicts.counts, "overview": overview}
"""Every figure: a name that begins with its study (that of all studies has no underscore), and what makes it."""

TABLES: Final[dict[str, Maker]] = {}
"""Every table; as `FIGURES`."""

for _paper in _PAPERS.values():
    FIGURES.update(_paper.FIGURES)
    TABLES.update(_paper.TABLES)


def draw_all(analysis: Analysis, folder: Path, run: str, names: Sequence[str] = (*FIGURES, *TABLES)) -> list[Path]:
    """Make tables and figures, write each with its data and provenance, and return what was written.

    Files are named as in `FIGURES` and `TABLES`, of which all are made; studies may be missing from what was observed.
    """
    (folder / PAGE).mkdir(parents=True, exist_ok=True)
    # computed once, here: the workers are given it
    for part in ("published", "comparisons", "verdicts", "tables", "measured"):
        getattr(analysis, part)
    with workers.start_pool(_WORKERS, _begin, analysis, folder, run) as pool:
        return [path for paths in pool.map(_write, names) for path in paths]


def _begin(analysis: Analysis, folder: Path, run: str) -> None:
    """Keep, in a process that draws, what all exhibits are drawn from: it is sent once."""
    _DRAWN_FROM.append((analysis, folder, run))


def _write(name: str) -> list[Path]:
    """Write one exhibit."""
    from benchbook.plots.save import save, save_for_page  # matplotlib is slow to import, and numbers need none

    ((analysis, folder, run),) = _DRAWN_FROM
    exhibit = made(analysis, name)
    save_for_page(exhibit, folder / PAGE, name)
    return save(exhibit, folder / name, about(analysis, name, run))


def made(analysis: Analysis, name: str) -> Exhibit:
    """Return one figure or table, with a note where blocks were left out."""
    exhibit = {**FIGURES, **TABLES}[name](analysis)
    note = _noisy(analysis, name)
    return replace(exhibit, notes=(*exhibit.notes, note)) if note else exhibit


def _noisy(analysis: Analysis, name: str) -> str:
    """Return how many of a study's cells other programs disturbed; nothing of figures of all studies."""
    if "_" not in name:
        return ""
    means = where(analysis.means, study=name.partition("_")[0])
    cells = means.groupby(["cell_id", "block"])["noisy"].any()
    if not cells.any():
        return ""
    which = f"all {len(cells)}" if cells.all() else f"{int(cells.sum())} of {len(cells)}"
    return f"left out: {which} cells of this study, beside which other programs ran"


def about(analysis: Analysis, name: str, run: str) -> Mapping[str, Any]:
    """Return the provenance of one figure or table, and the note on the blocks that it leaves out."""
    return {**measured(analysis, studies_of(name), run), "left_out": _noisy(analysis, name)}


@lru_cache(maxsize=16)
def measured(analysis: Analysis, studies: tuple[str, ...], run: str) -> Provenance:
    """Return the provenance of what some studies measured; exhibits of the same ones share it: it is not changed."""
    return provenance(where(analysis.means, study=list(studies)), run)


def studies_of(name: str) -> tuple[str, ...]:
    """Return the studies that a figure or table shows, by its name."""
    return (name.partition("_")[0],) if "_" in name else tuple(SLUGS)
