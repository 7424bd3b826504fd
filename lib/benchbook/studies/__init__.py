"""The studies, found by name and imported only when used: those of the five papers, and those of installed packages.

A package that announces a study (`benchbook.plugins`, group ``benchbook.studies``) holds its grid and its notebook too:
``<name>.yaml`` and ``<name>.ipynb`` in its folder.
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

    And ``modules``: what a cell imports by the names in its parameters, such as its engine's adapter; and, if it has
    it, ``checks``: what a person's own records are held against when a plan is made, each hashable, with a method
    ``hold(schema, records)`` that raises `benchbook.schemas.UnfitError`. Raises `KeyError` when no study has that name,
    `InputError` when another package's cannot be loaded.
    """
    name = module(slug)
    found: ModuleType = _ADDED[slug].load() if slug in _ADDED else importlib.import_module(name)
    return found


def grid(slug: str) -> Path:
    """Return the file of a study's grid, whether it is there or not."""
    if slug in _ADDED:
        return plugins.folder(_ADDED[slug].package) / f"{slug}.yaml"
    return paths.grids() / f"{slug}.yaml"


def notebook(slug: str) -> Path:
    """Return a study's notebook; raises `FileNotFoundError` when it has none."""
    if slug in _ADDED:
        there = plugins.folder(_ADDED[slug].package)
        found = list(there.glob(f"{slug}.ipynb"))
    else:
        there = paths.notebooks()
        found = sorted(there.glob(f"[0-9][0-9]_{slug}.ipynb"))
    if not found:
        raise FileNotFoundError(f"{there.name} has no notebook of the study {slug}")
    return found[0]
