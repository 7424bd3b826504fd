"""One result a claim: of the lanes and hosts that could judge it the one that counts, and at which look it fell."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import pandas as pd

from benchbook.evidence import judge
from benchbook.evidence.effects import of_a_mean
from benchbook.evidence.judge import DECIDED, NOT_TESTABLE
from benchbook.evidence.verdicts import ClaimVerdict
from benchbook.stats.sequential import LOOKS


@dataclass(frozen=True)
class Outcome(ClaimVerdict):
    """The one result of a claim."""

    stage: str = ""  # the look at which it was decided, or that it is open; empty where it cannot be judged
    others: Sequence[Mapping[str, object]] = ()  # what each other lane and host found, each with its ``stage``


@dataclass(frozen=True)
class Counts:
    """How many claims there are, and how many have which verdict: the one count of pages, figures and commands."""

    by_verdict: Mapping[str, int]  # all of `benchbook.evidence.judge.VERDICTS`, in their order

    @classmethod
    def of(cls, verdicts: Iterable[str]) -> Self:
        """Return the counts of some claims' verdicts, one a claim: of `outcomes`, not of lanes or hosts."""
        counts = Counter(verdicts)
        return cls({name: counts[name] for name in judge.VERDICTS})

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
        The fields of `Outcome` are its columns; in the claims' order.
    """
    by_claim: dict[str, list[ClaimVerdict]] = {}
    for verdict in ClaimVerdict.of(verdicts):
        by_claim.setdefault(verdict.id, []).append(verdict)
    return Outcome.frame(map(_outcome, by_claim.values()))


def _outcome(verdicts: Sequence[ClaimVerdict]) -> Outcome:
    """Return the outcome of one claim."""
    able = [verdict for verdict in verdicts if verdict.verdict != NOT_TESTABLE] or verdicts
    of_its_lane = [verdict for verdict in able if verdict.lane == able[0].lane]
    first = next((verdict for verdict in of_its_lane if of_a_mean(verdict.host)), of_its_lane[0])
    others = [{**vars(verdict), "stage": stage(verdict)} for verdict in verdicts if verdict is not first]
    return Outcome(**vars(first), stage=stage(first), others=others)


def stage(verdict: ClaimVerdict) -> str:
    """Return at which look a claim was decided, or that it is open."""
    if verdict.verdict == NOT_TESTABLE:
        return f"open: fewer than the {LOOKS[0]} blocks of a first look" if verdict.open else ""
    if verdict.objected:
        return f"judged at look {verdict.look} of {len(LOOKS)} ({verdict.blocks} blocks)"
    if verdict.verdict in DECIDED:
        return f"decided at look {verdict.look} of {len(LOOKS)} ({verdict.blocks} blocks)"
    return f"open after {verdict.blocks} of {LOOKS[-1]} blocks"
