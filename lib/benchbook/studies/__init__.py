"""The five studies, one module each, found by name and imported only when used."""

import importlib
from functools import cache
from types import ModuleType
from typing import Final

SLUGS: Final = ("bookstore", "tcp", "drivers", "crud", "replication")
"""The studies' names, in the order of their notebooks."""


@cache
def load(slug: str) -> ModuleType:
    """Return the module of a study: its ``Parameters``, ``run``, ``expected``, ``deployment`` and ``dataset``.

    And ``modules``: what a cell imports by the names in its parameters, such as its engine's adapter. Raises `KeyError`
    when no study has that name.
    """
    if slug not in SLUGS:
        raise KeyError(f"no study {slug!r}: there are {', '.join(SLUGS)}")
    return importlib.import_module(f"{__name__}.{slug}")
