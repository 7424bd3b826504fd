"""What is true of one paper alone, a folder each, found by the study's name and imported only when used."""

import importlib
from types import ModuleType


def load(slug: str, part: str) -> ModuleType:
    """Return one module of a paper's folder, such as its ``recomputed``; `benchbook.studies.SLUGS` names the papers."""
    return importlib.import_module(f"{__name__}.{slug}.{part}")
