"""All figures and tables by name, each paper's own, and drawing them all."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchbook import workers
from benchbook.evidence import Evidence
from benchbook.evidence.judge import DECIDED
from benchbook.papers import load
from benchbook.plots import ratios, style, verdicts
from benchbook.plots.exhibit import Exhibit, Maker, mark_untrusted
from benchbook.plots.points import FrameRow, where
from benchbook.plots.provenance import Provenance, provenance
from benchbook.studies import SLUGS

_PAPERS: Final = {study: load(study) for study in SLUGS}
_HEADLINES: Final = {study: paper.HEADLINES for study, paper in _PAPERS.items()}
_SHARED: Final = ("published", "comparisons", "outcomes", "untrusted")
_WORKERS: Final = 2
_DRAWN_FROM: Final[list[tuple[Evidence, Path, str]]] = []
VERDICTS: Final = re.compile("(^|_)verdicts(_[0-9]+)?$")
"""Figures of claims, whichever host they were judged on."""

# whatever draws a series asks for its look by the name alone
for _paper in _PAPERS.values():
    style.LOOKS.update(getattr(_paper, "LOOKS", {}))


def overview(evidence: Evidence) -> Exhibit:
    """Draw what each paper is about on one sheet."""
    return ratios.overview(evidence, _HEADLINES)


def lead(evidence: Evidence, study: str) -> tuple[ratios.Headline, FrameRow] | None:
    """Return what a study comes to: its first headline with a sentence that could be judged, and the contrast; or None.

    Claims that were decided, by this contrast and all others, come before those that are open.
    """
    sentences = [headline for headline in _HEADLINES[study] if headline.says]
    judged = [(headline, row) for headline in sentences if (row := ratios.judged(evidence, headline)) is not None]
    of_claims = evidence.outcomes.set_index("id")["verdict"]
    decided = [(headline, row) for headline, row in judged if row.decided and of_claims[headline.claim] in DECIDED]
    return next(iter([*decided, *judged]), None)


def hosts(evidence: Evidence) -> Exhibit:
    """Draw the same on each host, one below the other."""
    return ratios.by_host(evidence, _HEADLINES)


def _of_one_host(make: Maker, study: str) -> Maker:
    """Return what makes an exhibit of the host that ran most, for means of several would be of none."""

    def made(evidence: Evidence) -> Exhibit:
        alone = evidence.of_one_host(study)
        exhibit = make(alone)
        if alone is evidence:
            return exhibit
        host = alone.means["host"].iloc[0]
        return replace(
            exhibit, notes=(*exhibit.notes, f"values of {host}, which ran most; other hosts are in figure hosts")
        )

    return made


FIGURES: Final[dict[str, Maker]] = {
    "verdicts": verdicts.counts,
    "overview": overview,
    **{
        name: make if VERDICTS.search(name) else _of_one_host(make, study)
        for study, paper in _PAPERS.items()
        for name, make in paper.FIGURES.items()
    },
}
"""Every figure: a name that begins with its study (that of all studies has no underscore), and what makes it."""

TABLES: Final[dict[str, Maker]] = {
    name: _of_one_host(make, study) for study, paper in _PAPERS.items() for name, make in paper.TABLES.items()
}
"""Every table; as `FIGURES`."""


HOSTS: Final = {"hosts": hosts}
"""What is drawn of several hosts alone."""


def draw_all(evidence: Evidence, folder: Path, run: str, names: Sequence[str] = (*FIGURES, *TABLES)) -> list[Path]:
    """Make tables and figures, write each with its data and provenance, and return what was written.

    Files are named as in `FIGURES` and `TABLES`, of which all are made, and as in `HOSTS`, where several hosts ran;
    studies may be missing from what was observed.
    """
    names = [*names, *(HOSTS if evidence.means["host"].nunique() > 1 else ())]
    folder.mkdir(parents=True, exist_ok=True)
    alone = (evidence.of_one_host(study) for study in SLUGS)
    for shown, parts in ((evidence, _SHARED), *((of_host, ("comparisons",)) for of_host in alone)):
        for part in parts:
            getattr(shown, part)  # computed once, here: the workers are given it
    with workers.start_pool(_WORKERS, _begin, evidence, folder, run) as pool:
        return [path for paths in pool.map(_write, names) for path in paths]


def _begin(evidence: Evidence, folder: Path, run: str) -> None:
    """Keep, in a process that draws, what all exhibits are drawn from: it is sent once."""
    _DRAWN_FROM.append((evidence, folder, run))


def _write(name: str) -> list[Path]:
    """Write one exhibit."""
    from benchbook.plots.save import save  # here: matplotlib takes a quarter of a second, and numbers need none

    ((evidence, folder, run),) = _DRAWN_FROM
    return save(made(evidence, name), folder / name, about(evidence, name, run))


def made(evidence: Evidence, name: str) -> Exhibit:
    """Return one figure or table, marked where its studies are untrusted, with a note where others disturbed them."""
    exhibit = {**FIGURES, **TABLES, **HOSTS}[name](evidence)
    if note := _disturbed(evidence, name):
        exhibit = replace(exhibit, notes=(*exhibit.notes, note))
    return mark_untrusted(exhibit) if {*studies_of(name)} & {study for study, _ in evidence.untrusted} else exhibit


def _disturbed(evidence: Evidence, name: str) -> str:
    """Return in how many of its study's cells others used the machine; nothing of what shows judged contrasts alone."""
    if "_" not in name:
        return ""
    cells = where(evidence.means, study=name.partition("_")[0]).groupby(["cell_id", "block"])["disturbed"].any()
    if not (marked := int(cells.sum())):
        return ""
    which = f"all {len(cells)}" if marked == len(cells) else f"{marked} of {len(cells)}"
    return f"others used the machine beside {which} cells of this study: no claim is judged on those"


def about(evidence: Evidence, name: str, run: str) -> Provenance:
    """Return the provenance of one figure or table."""
    return measured(evidence, studies_of(name), run)


def measured(evidence: Evidence, studies: Sequence[str], run: str) -> Provenance:
    """Return the provenance of what some studies measured; exhibits of the same ones share it: it is not changed."""

    def make() -> Provenance:
        return provenance(where(evidence.means, study=list(studies)), run)

    return evidence.once(("provenance", run, *studies), make)


def studies_of(name: str) -> tuple[str, ...]:
    """Return the studies that a figure or table shows, by its name."""
    return (name.partition("_")[0],) if "_" in name else tuple(SLUGS)
