"""The reference run that is committed, as it is read: all its observations, and the block means that are judged."""

import json
from pathlib import Path
from typing import Final

import pandas as pd

from benchbook import paths, results
from benchbook.evidence.means import block_means, drop_former_parameters, measures
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
    try:
        committed = pd.read_parquet(intact(MEANS, folder))
    except FileNotFoundError:
        return nothing
    if lacking := [name for name in nothing if name not in committed]:
        where = str((folder or paths.reference()) / MEANS)
        raise InputError(where, f"it is of another version of benchbook: it has no column {lacking[0]!r}")
    return measures(drop_former_parameters(committed))


def profile() -> str:
    """Return the profile whose cells the committed run has."""
    return str(json.loads((paths.reference() / ABOUT).read_text(encoding="utf-8"))["profile"])


def intact(name: str, folder: Path | None = None) -> Path:
    """Return the path of `MEANS` or `REPETITIONS`, once the file is known to hold what was written.

    Raises
    ------
    benchbook.inputs.InputError
        When it does not.
    FileNotFoundError
        When there is none.
    """
    path = (folder or paths.reference()) / name
    try:
        files.check(path)
    except files.DamagedError as error:
        raise InputError(str(path), f"the reference run is damaged ({error}): {paths.remedy()}") from error
    return path
