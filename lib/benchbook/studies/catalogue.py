"""The studies by name: the five papers' and those that plug-ins add, each imported only when used.

A plug-in announces a study in the entry-point group ``benchbook.studies``. Its package has the
study's module, ``<name>.yaml`` and ``<name>.ipynb``.
"""

import importlib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final

from benchbook import paths
from benchbook.registry import plugins

SLUGS: Final = ("bookstore", "tcp", "drivers", "crud", "replication")
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
def load_study(slug: str) -> ModuleType:
    """Import a study and return its module.

    A study's module has these names:

    ``Parameters``
        A subclass of `benchbook.studies.cell.CellParameters`: the parameters of one cell.
    ``run(parameters)``
        Measures a cell and returns its rows. It is decorated with
        `benchbook.studies.cell.state_parameters`; the runner refuses rows without parameters.
    ``expected(parameters)``
        The operation, role and metric of each value that a repetition must deliver.
    ``deployment(parameters)``
        The product and topology of the servers that the cell needs.
    ``dataset(parameters)``
        The name of the cell's data set.
    ``modules(parameters)``
        The modules that a cell imports by the names in its parameters, such as its database's
        adapter. Their versions are part of the cell's identity.
    ``checks(parameters)``, optional
        Checks of a user's own records, made when a cell is planned: hashable objects with a method
        ``check_records(schema, records)`` that raises `benchbook.schema.UnfitError`.
    ``ALL_OUTPUTS``, optional
        The operation, role and metric of each value that some cell of the study delivers.
    ``other_products(parameters)``, optional
        The products whose servers a cell starts itself, in addition to those of its deployment.

    Raises `KeyError` when no study has that name, and `InputError` when a plug-in's study cannot be
    loaded.
    """
    name = find_study_module(slug)
    study: ModuleType = _ADDED[slug].load() if slug in _ADDED else importlib.import_module(name)
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
