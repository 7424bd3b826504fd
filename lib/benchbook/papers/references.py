"""Who wrote each paper, and where it was published, from ``data/papers.yaml``."""

from dataclasses import dataclass
from functools import cache

import yaml

from benchbook import paths


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
