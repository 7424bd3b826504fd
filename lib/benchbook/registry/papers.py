"""The table of papers, which every other list of papers reads.

A paper's study is the module of its name in `benchbook.studies`, and its figures and tables are in
that of `benchbook.papers`. Both are imported when they are used. A paper's name is one word: names
of figures begin with it and an underscore. To add a paper, add a line here; CONTRIBUTING.md says
what else it needs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Language: TypeAlias = Literal["python", "java", "node"]


@dataclass(frozen=True)
class Paper:
    """What the library has to know of a paper before it imports the paper's modules."""

    # Units of `benchbook.grid.units` that its study uses, besides that of its own module.
    uses: tuple[str, ...]
    # The language of each codec or driver that only another language than Python has.
    languages: Mapping[str, Language] = field(default_factory=dict)
    # Version of what its notebook measures.
    notebook_version: int = 1


PAPERS: Final = {
    "bookstore": Paper(("books", "formats"), {"jackson": "java", "moxy": "java", "jaxb": "java"}),
    "tcp": Paper(
        ("persons", "formats", "sockets"),
        dict.fromkeys(("jackson", "jaxb", "jaxb_context", "dom", "xmldecoder"), "java"),
    ),
    "drivers": Paper(("players", "databases"), {"mongoclient": "node", "mongoose": "node"}),
    "crud": Paper(("blog", "databases")),
    "replication": Paper(("phones", "databases")),
}
"""Every paper by the name of its study, in the order of their notebooks."""


def find_language(level: object) -> Language:
    """Return the language of a codec or driver: the other one that alone has it, or Python."""
    for paper in PAPERS.values():
        if level in paper.languages:
            return paper.languages[str(level)]
    return "python"
