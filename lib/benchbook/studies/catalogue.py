"""The studies by name: the five papers' and those that plug-ins add, each imported only when used.

A plug-in announces its `benchbook.studies.study.Study` in the entry-point group
``benchbook.studies``. Its package has ``<name>.yaml`` and ``<name>.ipynb``.
"""

import importlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchbook import paths
from benchbook.files.inputs import InputError
from benchbook.registry import plugins
from benchbook.registry.papers import PAPERS

if TYPE_CHECKING:
    from benchbook.studies.cell import CellParameters
    from benchbook.studies.study import Study

SLUGS: Final = tuple(PAPERS)
"""The papers' studies, in the order of their notebooks; claims and figures are of these."""

_ADDED: Final = plugins.list_plugins("studies", SLUGS)

STUDIES: Final = (*SLUGS, *_ADDED)
"""All studies that can be planned and run."""


def find_study_module(slug: str) -> str:
    """Return the dotted name of a study's module; raises `KeyError` when no study has that name."""
    if slug not in STUDIES:
        raise KeyError(f"no study {slug!r}: there are {', '.join(STUDIES)}")
    return _ADDED[slug].module if slug in _ADDED else f"benchbook.studies.{slug}"


@cache
def load_study(slug: str) -> "Study[CellParameters]":
    """Import a study and return it.

    Raises `KeyError` when no study has that name, and `InputError` when a plug-in's study cannot be
    loaded or is not a `Study`.
    """
    # Imported here, because commands that only name the studies must start fast.
    from benchbook.studies.study import Study

    module = find_study_module(slug)
    study = _ADDED[slug].load() if slug in _ADDED else importlib.import_module(module).STUDY
    if not isinstance(study, Study):
        raise InputError(
            _ADDED[slug].distribution,
            f"the study {slug} is not a benchbook.studies.study.Study: write STUDY = Study(...) in"
            f" {module} and announce {module}:STUDY in pyproject.toml (docs/extending.md)",
        )
    return study


def find_grid(slug: str) -> Path:
    """Return the path of a study's grid, whether the file exists or not."""
    if slug in _ADDED:
        return plugins.find_folder(_ADDED[slug].package) / f"{slug}.yaml"
    return paths.grids() / f"{slug}.yaml"


def find_notebook(slug: str) -> Path:
    """Return the path of a study's notebook; raises `FileNotFoundError` when it has none."""
    if slug in _ADDED:
        folder, pattern = plugins.find_folder(_ADDED[slug].package), f"{slug}.ipynb"
    else:
        folder, pattern = paths.notebooks(), f"[0-9][0-9]_{slug}.ipynb"
    for path in sorted(folder.glob(pattern)):
        return path
    raise FileNotFoundError(f"{folder.name} has no notebook of the study {slug}")
