"""One result a claim: of the lanes and hosts that could judge it the one that counts, and at which look it fell."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import pandas as pd

from benchbook.evidence import judge
from benchbook.evidence.effects import of_a_mean
from benchbook.evidence.judge import DECIDED, NOT_TESTABLE
from benchbook.evidence.verdicts import VERDICTS
from benchbook.stats.sequential import LOOKS

OUTCOMES: Final = [*VERDICTS, "stage", "others"]


@dataclass(frozen=True)
class Counts:
    """How many claims there are, and how many have which verdict: the one count of pages, figures and commands."""

    by_verdict: Mapping[str, int]  # all of `benchbook.evidence.judge.VERDICTS`, in their order

    @classmethod
    def of(cls, verdicts: Iterable[str]) -> Self:
        """Return the counts of some claims' verdicts, one a claim: of `outcomes`, not of lanes or hosts."""
        found = Counter(verdicts)
        return cls({name: found[name] for name in judge.VERDICTS})

    @property
    def claims(self) -> int:
        """How many there are."""
        return sum(self.by_verdict.values())

    @property
    def testable(self) -> int:
        """How many could be judged here."""
        return self.claims - self.by_verdict[NOT_TESTABLE]

    @property
    def decided(self) -> int:
        """How many of these are decided; the others are open."""
        return sum(count for name, count in self.by_verdict.items() if name in DECIDED)

    @property
    def listed(self) -> str:
        """How many have which verdict: ``30 reproduced, 2 equivalent``."""
        return ", ".join(f"{count} {name}" for name, count in self.by_verdict.items() if count)

    def __str__(self) -> str:
        """Return all of it in a line."""
        every = f"{self.claims} claim{'' if self.claims == 1 else 's'}"
        return f"{every}, {self.decided} decided by what ran here" + (f": {self.listed}" if self.claims else "")


def outcomes(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return one row a claim: the verdict of the first lane and host that could judge it, the paper's own lane first.

    Lanes are never pooled; where enough hosts ran a lane, what holds on hosts like them counts. What each lane and host
    found by itself stands beside it and counts nowhere.

    Parameters
    ----------
    verdicts
        As `benchbook.evidence.verdicts` returns them.

    Returns
    -------
    pandas.DataFrame
        Columns `OUTCOMES`, in the claims' order: those of `verdicts`; ``stage``, the look at which it was decided or
        after how many blocks it is open, empty where it cannot be judged; ``others``, a list of the other rows.
    """
    rows = []
    for _, group in verdicts.groupby("id", sort=False):
        every: list[dict[Any, Any]] = [row | {"stage": stage(row)} for row in group.to_dict("records")]
        able = [row for row in every if row["verdict"] != NOT_TESTABLE] or every
        of_its_lane = [row for row in able if row["lane"] == able[0]["lane"]]
        first = next((row for row in of_its_lane if of_a_mean(row["host"])), of_its_lane[0])
        rows.append(first | {"others": [row for row in every if row is not first]})
    return pd.DataFrame(rows, columns=OUTCOMES)


def stage(row: Mapping[Any, Any]) -> str:
    """Return at which look a row of `verdicts` was decided, or that it is open."""
    if row["verdict"] == NOT_TESTABLE:
        return f"open: fewer than the {LOOKS[0]} blocks of a first look" if row["open"] else ""
    if row["verdict"] in DECIDED:
        return f"decided at look {row['look']} of {len(LOOKS)} ({row['blocks']} blocks)"
    return f"open after {row['blocks']} of {LOOKS[-1]} blocks"
