"""All that a run's observations say: block means, comparisons, claims and their verdicts, what qualifies them.

In come observations, a row a repetition, or what `stored_means` makes of the files they lie in. Out come frames, each
made of typed rows: `comparisons` (`Compared`), `controls` (`Control`), `judged` (`Contrast`), `verdicts`
(`ClaimVerdict`) and `outcomes` (`Outcome`); `Evidence` makes each when it is first asked for, and keeps it. Begin with
`means` (the unit of analysis), then `measured` (which rows stand for what is asked), `effects` and `judge`.
"""

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, Self, TypeVar

import pandas as pd

from benchbook.evidence.claim_files import claims
from benchbook.evidence.claims import Claim
from benchbook.evidence.comparisons import comparisons
from benchbook.evidence.contrasts import judged
from benchbook.evidence.controls import arms, controls, untrusted
from benchbook.evidence.kept import Kept
from benchbook.evidence.means import DERIVED, Derived, block_means, derive, measures, stored_means
from benchbook.evidence.measured import by_cells
from benchbook.evidence.published import number, published
from benchbook.evidence.verdicts import Counts, notes, outcomes, verdicts

__all__ = [
    "DERIVED",
    "Claim",
    "Counts",
    "Derived",
    "Evidence",
    "arms",
    "block_means",
    "claims",
    "comparisons",
    "controls",
    "derive",
    "judged",
    "measures",
    "notes",
    "number",
    "outcomes",
    "published",
    "stored_means",
    "untrusted",
    "verdicts",
]

T = TypeVar("T")


class Evidence:
    """What was measured and what follows from it; each part is computed when it is first asked for, and kept.

    Parameters
    ----------
    means
        Block means of all quantities, stored and derived, of both arms, as `benchbook.evidence.measures` returns them;
        or what returns them.
    kept
        Where the parts are kept from one process to the next; None: nowhere.
    """

    def __init__(
        self,
        means: pd.DataFrame | Callable[[], pd.DataFrame],
        kept: Kept | None = None,
    ) -> None:
        self._means = means
        self._kept = kept
        self._made: dict[Hashable, Any] = {}

    @classmethod
    def of(cls, observations: pd.DataFrame) -> Self:
        """Return the evidence of observations, or of their block means."""
        return cls(measures(observations))

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` makes of these means: once, so that nobody is to change it."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    def of_one_host(self, study: str) -> "Evidence":
        """Return what the host that ran most of a study measured of it, where several did; else this."""

        def make() -> Evidence:
            rows = self.means[self.means["study"] == study]
            hosts = by_cells(rows)
            return self if len(hosts) < 2 else Evidence(rows[rows["host"].fillna("") == hosts[0]])

        return self.once(("of one host", study), make)

    def compared(self, study: str) -> pd.DataFrame:
        """Return the rows of `comparisons` of a study, of the host that ran most of it."""
        table, alone = self.comparisons[self.comparisons["study"] == study], self.of_one_host(study)
        return table if alone is self else table[table["host"] == alone.means["host"].iloc[0]]

    def part(self, name: str, make: Callable[[], pd.DataFrame], more: str = "") -> pd.DataFrame:
        """Return a table that follows from these means, from `more` and from nothing else but code: kept, or made."""
        return make() if self._kept is None else self._kept.table(name, make, more)

    def known(self, name: str) -> pd.DataFrame | None:
        """Return a part that is kept, without making it."""
        return None if self._kept is None else self._kept.read(name)

    @cached_property
    def means(self) -> pd.DataFrame:
        """Block means of all quantities, stored and derived, of both arms."""
        if isinstance(self._means, pd.DataFrame):
            return self._means
        measured = self._means
        return self.part("means", lambda: measures(measured()))

    @cached_property
    def published(self) -> pd.DataFrame:
        """Every number that the papers print, as `benchbook.evidence.published` returns them."""
        return published()

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """Every comparison of the five papers, as `benchbook.evidence.comparisons` returns them."""
        return self.part("comparisons", lambda: comparisons(self.means))

    @cached_property
    def controls(self) -> pd.DataFrame:
        """What each study's identical arms came to, as `benchbook.evidence.controls` returns it."""
        return self.part("controls", lambda: controls(self.means))

    @cached_property
    def untrusted(self) -> frozenset[tuple[str, str]]:
        """The studies and hosts whose identical arms differ."""
        return untrusted(self.controls)

    @cached_property
    def contrasts(self) -> pd.DataFrame:
        """Every contrast of every claim, as `benchbook.evidence.judged` returns them."""
        return self.part("contrasts", lambda: judged(self.means, controls=self.controls))

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """Every claim with its verdict, as `benchbook.evidence.verdicts` returns them."""
        return self.part("verdicts", lambda: verdicts(self.contrasts))

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """Every claim with its one result, as `benchbook.evidence.outcomes` returns them."""
        return self.part("outcomes", lambda: outcomes(self.verdicts))
