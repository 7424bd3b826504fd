"""What is true of one paper alone, a module or a folder each, found by the study's name and imported only when used.

In come a run's `benchbook.analysis.Analysis`, and of ``data`` what the papers print and what is said of it. Out come
every figure and table by name (`exhibits`, written by `exhibits.draw_all`), single numbers by key (`numbers`), and the
papers' own analyses, recomputed (`recomputed`, of which `checks` has a module per paper). Begin with `exhibits`, then
one paper: its ``FIGURES``, ``TABLES``, ``HEADLINE``, and what its words are in print (``CALLED``).
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import yaml

from benchbook import paths
from benchbook.studies import SLUGS


def load(slug: str) -> ModuleType:
    """Return what is a paper's own; `benchbook.studies.SLUGS` names the papers."""
    return importlib.import_module(f"{__name__}.{slug}")


@cache
def called(factor: str) -> Mapping[str, str]:
    """Return what papers alone call the levels of a factor in print, as their ``CALLED`` says."""
    words: dict[str, str] = {}
    for slug in SLUGS:
        words |= getattr(load(slug), "CALLED", {}).get(factor, {})
    return words


@dataclass(frozen=True)
class Reference:
    """A paper; what is not known of it is None."""

    authors: tuple[str, ...]
    title: str
    venue: str
    year: int | None = None
    doi: str | None = None

    @property
    def url(self) -> str | None:
        """Where its DOI leads."""
        return self.doi and f"https://doi.org/{self.doi}"

    @property
    def short(self) -> str:
        """Who wrote it, in a few words, and when: ``Nurseitov et al. (2009)``."""
        names = [name.rpartition(" ")[2] for name in self.authors]
        who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        return who + (f" ({self.year})" if self.year else "")

    def __str__(self) -> str:
        """Return it as a list of references has it."""
        year = f" ({self.year})" if self.year else ""
        return f"{', '.join(self.authors)}{year}: {self.title}. {self.venue}." + (f" {self.url}" if self.url else "")


@cache
def reference(slug: str) -> Reference:
    """Return a study's paper; `benchbook.studies.SLUGS` names them."""
    facts = yaml.safe_load(paths.papers().read_text(encoding="utf-8"))[slug]
    return Reference(**facts | {"authors": tuple(facts["authors"])})
