"""The five papers: the module of each, its citation, and the names that it gives to levels."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import yaml

from benchbook import paths
from benchbook.studies.catalogue import SLUGS


def load_paper(slug: str) -> ModuleType:
    """Return a paper's module, with its ``FIGURES``, ``TABLES`` and ``HEADLINE``.

    Parameters
    ----------
    slug
        Of the study, one of `benchbook.studies.catalogue.SLUGS`.
    """
    return importlib.import_module(f"benchbook.papers.{slug}")


@cache
def name_levels(factor: str) -> Mapping[str, str]:
    """Return the names in print that only papers give to levels of a factor: ``LEVEL_NAMES``."""
    words: dict[str, str] = {}
    for slug in SLUGS:
        words |= getattr(load_paper(slug), "LEVEL_NAMES", {}).get(factor, {})
    return words


@dataclass(frozen=True)
class Citation:
    """A paper; unknown facts are None."""

    authors: tuple[str, ...]
    title: str
    venue: str
    year: int | None = None
    doi: str | None = None

    @property
    def url(self) -> str | None:
        """The address that its DOI leads to."""
        return self.doi and f"https://doi.org/{self.doi}"

    @property
    def short(self) -> str:
        """Its authors and year in a few words: ``Nurseitov et al. (2009)``."""
        names = [name.rpartition(" ")[2] for name in self.authors]
        who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        return who + (f" ({self.year})" if self.year else "")

    def __str__(self) -> str:
        """Return it as an item of a list of references."""
        year = f" ({self.year})" if self.year else ""
        url = f" {self.url}" if self.url else ""
        return f"{', '.join(self.authors)}{year}: {self.title}. {self.venue}.{url}"


@cache
def load_citation(slug: str) -> Citation:
    """Return the citation of a study's paper."""
    facts = yaml.safe_load(paths.papers().read_text(encoding="utf-8"))[slug]
    return Citation(**facts | {"authors": tuple(facts["authors"])})
