"""What does not follow from a paper's own numbers: as printed, as recomputed, and why it matters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["misprint", "contradiction", "implausible", "unsupported", "not shown"]


@dataclass(frozen=True)
class Finding:
    """One place where a paper's text, tables and arithmetic do not fit, in own words and computed numbers.

    Parameters
    ----------
    name
        ``<study>.<what>``, unique.
    title
        What it is about.
    kind
        ``misprint``: a slip that another number corrects; ``contradiction``: two places cannot both be right;
        ``implausible``: possible on paper, not on a machine; ``unsupported``: a sentence that the numbers do not
        carry; ``not shown``: what the reader would need and does not get.
    source
        Table, figure or section.
    as_printed
        What the paper has.
    recomputed
        What its own numbers give.
    why
        What follows for whoever reads it.
    """

    name: str
    title: str
    kind: Kind
    source: str
    as_printed: str
    recomputed: str
    why: str

    @property
    def study(self) -> str:
        """The slug of the study."""
        return self.name.partition(".")[0]


def listed(values: Sequence[float], form: str = ".3g") -> str:
    """Return numbers as a list in a sentence: ``1.2, 3.4 and 5.6``."""
    texts = [format(value, form) for value in values]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
