"""All figures and tables by name, and drawing them all."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import pandas as pd

from benchbook import evidence
from benchbook.figures import (
    bookstore,
    crud,
    drivers,
    libraries,
    overview,
    ratios,
    replication,
    setups,
    tcp,
    tcp_tables,
)
from benchbook.figures.exhibit import Maker, save
from benchbook.figures.provenance import provenance

FIGURES: Final[dict[str, Maker]] = {
    **overview.FIGURES,
    **bookstore.FIGURES,
    **libraries.FIGURES,
    **tcp.FIGURES,
    **drivers.FIGURES,
    **crud.FIGURES,
    **replication.FIGURES,
    **ratios.FIGURES,
}
"""Every figure: a name that begins with its study, and the function that makes it."""

TABLES: Final[dict[str, Maker]] = {
    **bookstore.TABLES,
    **tcp_tables.TABLES,
    **drivers.TABLES,
    **crud.TABLES,
    **setups.TABLES,
}
"""Every table; as `FIGURES`."""

_ORDER: Final = ("study", "cell_id", "block", "repetition", "operation", "role", "metric", "format", "codec")
_WORKERS: Final = 2
_shared: dict[str, Any] = {}


def draw_all(observations: pd.DataFrame, folder: Path, profile: str) -> list[Path]:
    """Make every table and figure, and write each with its data and provenance.

    Parameters
    ----------
    observations
        Rows as in `benchbook.results.schema.OBSERVATIONS`; studies may be missing.
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
    ordered = observations.sort_values(list(_ORDER), ignore_index=True)  # so that equal data gives equal bytes
    sources = (ordered, evidence.published(), folder, profile)
    with ProcessPoolExecutor(_WORKERS, get_context("spawn"), _share, sources) as pool:
        return [path for paths in pool.map(_write, [*FIGURES, *TABLES]) for path in paths]


def _share(observations: pd.DataFrame, published: pd.DataFrame, folder: Path, profile: str) -> None:
    _shared.update(observations=observations, published=published, folder=folder, profile=profile)


def _write(name: str) -> list[Path]:
    observations: pd.DataFrame = _shared["observations"]
    make = FIGURES.get(name) or TABLES[name]
    mine = observations[observations["study"] == name.partition("_")[0]]
    about = provenance(observations if name == "overview" else mine, _shared["profile"])
    return save(make(observations, _shared["published"]), _shared["folder"] / name, about)
