"""The reference run that is committed, as it is read: all its observations, and the block means that are judged."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pandas as pd

from benchbook import paths, results
from benchbook.analysis.block_means import block_means, measures
from benchbook.inputs import InputError
from benchbook.results import files

MEANS: Final = "block_means.parquet"
REPETITIONS: Final = "repetitions.parquet"
ABOUT: Final = "reference.json"


def means(folder: Path | None = None) -> pd.DataFrame:
    """Return the committed block means of all quantities, stored and derived; without a file none.

    Parameters
    ----------
    folder
        Where they lie; None: ``figures/reference`` of the checkout.
    """
    nothing = block_means(results.OBSERVATIONS.empty_table().to_pandas())
    path = (folder or paths.reference()) / MEANS
    try:
        with _damage_explained(path):
            committed = files.read(path).to_pandas()
    except FileNotFoundError:
        return nothing
    missing = [name for name in nothing if name not in committed]
    if missing:
        why = f"the reference run is damaged, or of another version (it has no column {missing[0]!r})"
        raise InputError(str(path), f"{why}: {paths.remedy()}")
    return measures(committed)


def profile() -> str:
    """Return the profile whose cells the committed run has."""
    return str(json.loads((paths.reference() / ABOUT).read_text(encoding="utf-8"))["profile"])


def intact(name: str, folder: Path | None = None) -> Path:
    """Return the path of `MEANS` or `REPETITIONS`, once all of the file can be read.

    Raises
    ------
    benchbook.inputs.InputError
        When it cannot.
    FileNotFoundError
        When there is none.
    """
    path = (folder or paths.reference()) / name
    with _damage_explained(path):
        files.check(path)
    return path


@contextmanager
def _damage_explained(path: Path) -> Iterator[None]:
    """Say of a damaged file how to restore it."""
    try:
        yield
    except files.DamagedError as error:
        raise InputError(str(path), f"the reference run is damaged ({error}): {paths.remedy()}") from error
