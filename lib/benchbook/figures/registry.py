"""All figures and tables by name, and drawing them all."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from benchbook import workers
from benchbook.evidence import STUDIES, Evidence
from benchbook.figures import (
    bookstore,
    bookstore_ratios,
    crud,
    drivers,
    drivers_ratios,
    libraries,
    overview,
    progress,
    ratios,
    replication,
    setups,
    tcp,
    tcp_decoders,
    tcp_summaries,
    tcp_tables,
    verdicts,
)
from benchbook.figures.exhibit import Maker, doubted, save
from benchbook.figures.points import of_study
from benchbook.figures.provenance import provenance

FIGURES: Final[dict[str, Maker]] = {
    **verdicts.FIGURES,
    **overview.FIGURES,
    **bookstore.FIGURES,
    **libraries.FIGURES,
    **tcp.FIGURES,
    **drivers.FIGURES,
    **crud.FIGURES,
    **replication.FIGURES,
    **ratios.FIGURES,
    **progress.FIGURES,
}
"""Every figure: a name that begins with its study (that of all studies has no underscore), and what makes it."""

TABLES: Final[dict[str, Maker]] = {
    **bookstore.TABLES,
    **bookstore_ratios.TABLES,
    **tcp_tables.TABLES,
    **tcp_summaries.TABLES,
    **tcp_decoders.TABLES,
    **drivers.TABLES,
    **drivers_ratios.TABLES,
    **crud.TABLES,
    **progress.TABLES,
    **setups.TABLES,
}
"""Every table; as `FIGURES`."""

_SHARED: Final = ("published", "comparisons", "verdicts", "untrusted")
_WORKERS: Final = 2


@dataclass(frozen=True)
class _Sources:
    """What every exhibit is made of, and where it goes."""

    evidence: Evidence
    folder: Path
    profile: str


def draw_all(evidence: Evidence, folder: Path, profile: str) -> list[Path]:
    """Make every table and figure, and write each with its data and provenance.

    Parameters
    ----------
    evidence
        All that the observations say; studies may be missing.
    folder
        Where the files go, named as in `FIGURES` and `TABLES`.
    profile
        Name of the selection that the observations are.

    Returns
    -------
    list of Path
        What was written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for part in _SHARED:
        getattr(evidence, part)  # computed once, here: the workers are given it
    written = workers.each(partial(_write, _Sources(evidence, folder, profile)), [*FIGURES, *TABLES], _WORKERS)
    return [path for paths in written for path in paths]


def _write(sources: _Sources, name: str) -> list[Path]:
    make = FIGURES.get(name) or TABLES[name]
    evidence, study = sources.evidence, name.partition("_")[0]
    about = provenance(of_study(evidence, study) if "_" in name else evidence.means, sources.profile)
    exhibit = make(evidence)
    if {slug for slug, _ in evidence.untrusted} & ({study} if "_" in name else set(STUDIES)):
        exhibit = doubted(exhibit)
    return save(exhibit, sources.folder / name, about)
