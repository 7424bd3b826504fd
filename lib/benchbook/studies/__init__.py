"""The studies, found by name and imported only when used: a module for each of the five papers, and installed ones.

In come a cell's ``Parameters``; out goes a row for each value that its ``run`` measured. Begin with a paper's module,
such as `crud`; `cell` has what all studies share, `cell_store` what those of databases do. A package that announces a
study (`benchbook.plugins`, group ``benchbook.studies``) holds ``<name>.yaml`` and ``<name>.ipynb`` in its folder, too.
"""

import importlib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final

from benchbook import paths, plugins

SLUGS: Final = ("bookstore", "tcp", "drivers", "crud", "replication")
"""The papers' studies, in the order of their notebooks: what claims, figures and the report are about."""

_ADDED: Final = plugins.added("studies", SLUGS)

NAMES: Final = (*SLUGS, *_ADDED)
"""All studies that can be planned and run."""


def module(slug: str) -> str:
    """Return the module of a study; raises `KeyError` when no study has that name."""
    if slug not in NAMES:
        raise KeyError(f"no study {slug!r}: there are {', '.join(NAMES)}")
    return _ADDED[slug].module if slug in _ADDED else f"{__name__}.{slug}"


@cache
def load(slug: str) -> ModuleType:
    """Return the module of a study: its ``Parameters``, ``run``, ``expected``, ``deployment`` and ``dataset``.

    Its ``run`` is decorated with `benchbook.studies.cell.state_parameters`, else the runner takes no rows of it.

    And ``modules``: what a cell imports by the names in its parameters, such as its database's adapter, whose versions
    are part of its identity; and, if it has it, ``checks``: what a person's own records are held against when a plan is
    made, each hashable, with a method ``hold(schema, records)`` that raises `benchbook.schemas.UnfitError`. And, if it
    has it, ``beside``: the products whose servers a cell starts itself, beside those of its deployment. Raises
    `KeyError` when no study has that name, `InputError` when another package's cannot be loaded.
    """
    name = module(slug)
    study: ModuleType = _ADDED[slug].load() if slug in _ADDED else importlib.import_module(name)
    return study


def grid(slug: str) -> Path:
    """Return the file of a study's grid, whether it is there or not."""
    if slug in _ADDED:
        return plugins.folder(_ADDED[slug].package) / f"{slug}.yaml"
    return paths.grids() / f"{slug}.yaml"


def notebook(slug: str) -> Path:
    """Return a study's notebook; raises `FileNotFoundError` when it has none."""
    if slug in _ADDED:
        folder, pattern = plugins.folder(_ADDED[slug].package), f"{slug}.ipynb"
    else:
        folder, pattern = paths.notebooks(), f"[0-9][0-9]_{slug}.ipynb"
    for path in sorted(folder.glob(pattern)):
        return path
    raise FileNotFoundError(f"{folder.name} has no notebook of the study {slug}")
