"""What is true of one paper alone, a folder each, found by the study's name and imported only when used.

In come a run's `benchbook.evidence.Evidence`, and of ``data`` what the papers print and what is said of it. Out come
every figure and table by name (`exhibits`, written by `exhibits.draw_all`), single numbers by key (`numbers`), and the
papers' own analyses, recomputed (`recomputed`, by `formulas` and `check`). Begin with `exhibits`, then one paper's
``figures``; a folder may have ``recomputed``, too, ``CALLED``, and what no other paper needs.
"""

import importlib
from collections.abc import Mapping
from functools import cache
from types import ModuleType

from benchbook.studies import SLUGS


def load(slug: str, part: str) -> ModuleType:
    """Return one module of a paper's folder, such as its ``recomputed``; `benchbook.studies.SLUGS` names the papers."""
    return importlib.import_module(f"{__name__}.{slug}.{part}")


@cache
def called(factor: str) -> Mapping[str, str]:
    """Return what papers alone call the levels of a factor in print, as their folders' ``CALLED`` says."""
    words: dict[str, str] = {}
    for slug in SLUGS:
        words |= getattr(importlib.import_module(f"{__name__}.{slug}"), "CALLED", {}).get(factor, {})
    return words
