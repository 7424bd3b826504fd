"""One result a claim: of the lanes and hosts that could judge it the one that counts, and at which look it fell."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Any, Final, Self

import pandas as pd

from benchbook.digits import number
from benchbook.evidence import judge
from benchbook.evidence.effects import of_a_mean
from benchbook.evidence.judge import DECIDED, NOT_TESTABLE
from benchbook.evidence.verdicts import ClaimVerdict
from benchbook.stats.campaigns import FEWEST, sittings
from benchbook.stats.sequential import LOOKS


@dataclass(frozen=True)
class Outcome(ClaimVerdict):
    """The one result of a claim."""

    stage: str = ""  # the look at which it was decided, or that it is open; empty where it cannot be judged
    others: Sequence[Mapping[str, object]] = ()  # what each other lane and host found, each with its ``stage``


_NOTES: Final = {
    "in_the_paper": "the paper's own numbers",
    "objections": "held against this verdict",
    "may_change": "what may change it",
}


def notes(outcome: Mapping[str, Any]) -> list[str]:
    """Return what stands beside a verdict: the paper's own contradictions, objections, and levels to try.

    And the ratio of typical repetitions, where that is another than the means' by more than the margin.
    """
    found = [f"{says}: {outcome[name]}" for name, says in _NOTES.items() if outcome[name]]
    mean, typical = outcome["overall"], outcome["typical"]
    if mean and typical and 0 < typical / mean < inf and abs(log(typical / mean)) > log(outcome["margin"]):
        found.insert(0, f"of the blocks' median repetitions {number(typical)}, where their means give {number(mean)}")
    return found


@dataclass(frozen=True)
class Counts:
    """How many claims there are, and how many have which verdict: the one count of pages, figures and commands."""

    by_verdict: Mapping[str, int]  # all of `benchbook.evidence.judge.VERDICTS`, in their order
    by_sittings: Mapping[int, int]  # of those decided in so few campaigns that their verdicts are of these alone

    @classmethod
    def of(cls, outcomes: pd.DataFrame) -> Self:
        """Return the counts of some claims, one row each: of `outcomes`, not of lanes or hosts."""
        counts = Counter(outcomes["verdict"])
        decided = outcomes[outcomes["verdict"].isin(DECIDED)]
        few = Counter(int(campaigns) for campaigns in decided["campaigns"] if sittings(campaigns))
        return cls({name: counts[name] for name in judge.VERDICTS}, few)

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
    def in_sittings(self) -> int:
        """How many of those decided speak of so few sittings alone."""
        return sum(self.by_sittings.values())

    @property
    def sittings(self) -> str:
        """In how few sittings something was decided, in words: ``in one sitting``; empty where all of it is of days."""
        if not self.by_sittings:
            return ""
        words = sittings(max(self.by_sittings))
        return words if len(self.by_sittings) == 1 else words.replace("in ", "in at most ")

    @property
    def of_sittings(self) -> str:
        """How many of those decided speak of these alone, in words: ``all of them in one sitting``; empty if none."""
        share = "all" if self.in_sittings == self.decided else str(self.in_sittings)
        return f"{share} of them {self.sittings}" if self.sittings else ""

    @property
    def listed(self) -> str:
        """How many have which verdict: ``30 reproduced, 2 equivalent``."""
        return ", ".join(f"{count} {name}" for name, count in self.by_verdict.items() if count)

    @property
    def listed_with_sittings(self) -> str:
        """The same, and how many speak of few sittings alone: ``30 reproduced; 2 decided in one sitting``."""
        return f"{self.listed}; {self.in_sittings} decided {self.sittings}" if self.sittings else self.listed

    def __str__(self) -> str:
        """Return all of it in a line."""
        every = f"{self.claims} claim{'' if self.claims == 1 else 's'}"
        parts = [every, f"{self.decided} decided by what ran here", self.of_sittings]
        return ", ".join(filter(None, parts)) + (f": {self.listed}" if self.claims else "")


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
    by_campaign = verdict.campaigns >= FEWEST
    of = f"{verdict.campaigns} campaigns, {verdict.blocks} blocks" if by_campaign else f"{verdict.blocks} blocks"
    if verdict.objected or verdict.verdict in DECIDED:
        return f"{'judged' if verdict.objected else 'decided'} at look {verdict.look} of {len(LOOKS)} ({of})"
    return f"open after {of}" if by_campaign else f"open after {verdict.blocks} of {LOOKS[-1]} blocks"
