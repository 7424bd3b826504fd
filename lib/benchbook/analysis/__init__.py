"""All that a run's observations say: block means, comparisons, claims with their verdicts, A/A checks.

Observations come in, a row a repetition. `block_means` makes one mean a block, `sides` chooses which means stand on
each side of a comparison, `comparisons` has the one record of all that is compared, `intervals` its interval, and
`verdicts` the rule of judging. `Analysis` makes each table when it is first asked for.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Self

import pandas as pd

from benchbook.analysis.aa import aa_checks
from benchbook.analysis.block_means import DERIVED, block_means, measures, stored_means
from benchbook.analysis.claim_files import claims
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.published import number, published
from benchbook.analysis.sides import Measured, by_study, first_arms
from benchbook.analysis.tables import paper_comparisons
from benchbook.analysis.verdicts import DECIDED, VERDICTS, Counts, claim_comparisons, facts, verdicts

__all__ = [
    "DECIDED",
    "DERIVED",
    "VERDICTS",
    "Analysis",
    "Comparison",
    "Counts",
    "aa_checks",
    "block_means",
    "claim_comparisons",
    "claims",
    "facts",
    "measures",
    "number",
    "paper_comparisons",
    "published",
    "stored_means",
    "verdicts",
]


class Analysis:
    """What was measured and what follows from it; each part is computed when it is first asked for, and kept.

    Parameters
    ----------
    means
        Block means of all quantities, stored and derived, of both arms, as `benchbook.analysis.measures` returns them;
        or what returns them.
    """

    def __init__(self, means: pd.DataFrame | Callable[[], pd.DataFrame]) -> None:
        self._means = means

    @classmethod
    def of(cls, observations: pd.DataFrame) -> Self:
        """Return the analysis of observations, or of their block means."""
        return cls(measures(observations))

    @cached_property
    def means(self) -> pd.DataFrame:
        """Block means of all quantities, stored and derived, of both arms."""
        return measures(self._means if isinstance(self._means, pd.DataFrame) else self._means())

    @cached_property
    def measured(self) -> dict[str, Measured]:
        """The block means by study, of arm a, for whoever chooses among them."""
        return by_study(first_arms(self.means))

    @cached_property
    def published(self) -> pd.DataFrame:
        """Every number that the papers print, as `benchbook.analysis.published` returns them."""
        return published()

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """Every comparison of every claim, as `benchbook.analysis.claim_comparisons` returns them."""
        return claim_comparisons(self.means)

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """Every claim with its verdict, as `benchbook.analysis.verdicts` returns them."""
        return verdicts(self.comparisons)

    @cached_property
    def tables(self) -> pd.DataFrame:
        """Every comparison of the papers' tables, as `benchbook.analysis.paper_comparisons` returns them."""
        return paper_comparisons(self.means)

    @cached_property
    def aa(self) -> pd.DataFrame:
        """The A/A checks, as `benchbook.analysis.aa_checks` returns them."""
        return aa_checks(self.means)
