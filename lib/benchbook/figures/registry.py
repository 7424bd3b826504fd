"""All figures and tables by name, and drawing them all."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pandas as pd

from benchbook import evidence, workers
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

_ORDER: Final = ("study", "cell_id", "block", "repetition", "operation", "role", "metric", "format", "codec")
_WORKERS: Final = 2


@dataclass(frozen=True)
class _Sources:
    """What every exhibit is made of, and where it goes."""

    observations: pd.DataFrame
    published: pd.DataFrame
    folder: Path
    profile: str
    untrusted: frozenset[str]


def draw_all(observations: pd.DataFrame, folder: Path, profile: str) -> list[Path]:
    """Make every table and figure, and write each with its data and provenance.

    Parameters
    ----------
    observations
        Rows as in `benchbook.results.schema.OBSERVATIONS`, or their block means; studies may be missing.
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
    order = [name for name in _ORDER if name in observations]
    ordered = observations.sort_values(order, ignore_index=True)  # so that equal data gives equal bytes
    untrusted = frozenset(study for study, _ in evidence.untrusted(evidence.measures(ordered)))
    sources = _Sources(ordered, evidence.published(), folder, profile, untrusted)
    written = workers.each(partial(_write, sources), [*FIGURES, *TABLES], _WORKERS)
    return [path for paths in written for path in paths]


def _write(sources: _Sources, name: str) -> list[Path]:
    make = FIGURES.get(name) or TABLES[name]
    observations, study = sources.observations, name.partition("_")[0]
    about = provenance(observations[observations["study"] == study] if "_" in name else observations, sources.profile)
    exhibit = make(observations, sources.published)
    if sources.untrusted & ({study} if "_" in name else set(evidence.STUDIES)):
        exhibit = doubted(exhibit)
    return save(exhibit, sources.folder / name, about)
