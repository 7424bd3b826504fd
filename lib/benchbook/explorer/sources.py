"""Where the explorer's numbers come from: the reference run of the checkout, or what ran on this machine."""

from dataclasses import dataclass, field
from typing import Final, Self

import pandas as pd

from benchbook import grid
from benchbook.evidence import means
from benchbook.evidence.measured import Measured, first_arms
from benchbook.evidence.runs import Run

REFERENCE: Final = "the reference run"
HERE: Final = "this machine's results"


@dataclass(frozen=True, eq=False)
class Source:
    """Block means to compare."""

    name: str  # what it is called on the page
    means: pd.DataFrame  # of all quantities, as `benchbook.evidence.measures` returns them
    _measured: dict[str, Measured] = field(default_factory=dict)

    @classmethod
    def of_reference(cls) -> Self:
        """Return the committed run."""
        return cls(REFERENCE, first_arms(Run.of_reference().means))

    @classmethod
    def of_here(cls) -> Self:
        """Return what ran here with the code as it is now."""
        return cls(HERE, first_arms(Run.of_results(HERE, grid.finished()).means))

    @property
    def studies(self) -> list[str]:
        """The studies that ran."""
        return sorted(self.means["study"].unique()) if len(self.means) else []

    def measured(self, study: str) -> Measured:
        """Return a study's block means, by what was measured."""
        if study not in self._measured:
            rows = self.means[self.means["study"] == study]
            self._measured[study] = Measured(study, means.ended(rows))
        return self._measured[study]
