"""Every claim of the papers against what was measured: a verdict on each host and lane, and why.

Then one result a claim: of the lanes and hosts that could judge it one counts, and it says at which look it fell.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, log, nan
from typing import Any, Final, Self

import pandas as pd

from benchbook.digits import number, plural
from benchbook.evidence import claim_files
from benchbook.evidence.claims import Claim, Rank, Tested, Untestable, Variation
from benchbook.evidence.contrasts import NOT_RUN, Contrast, grouped
from benchbook.evidence.effects import of_a_mean
from benchbook.evidence.judge import AGAINST, DECIDED, IN_PART, NOT_TESTABLE, VERDICTS, Verdict, together
from benchbook.evidence.measured import Place
from benchbook.evidence.published import text
from benchbook.evidence.rows import Row
from benchbook.registry import title
from benchbook.stats.campaigns import FEWEST, sittings
from benchbook.stats.sequential import LOOKS


@dataclass(frozen=True)
class ClaimVerdict(Row):
    """The verdict on one claim, on one host and lane; numbers are NaN where there are none."""

    id: str
    study: str
    says: str
    where: str
    compare: str
    claimed: str = ""  # of a claim that no observation can answer, empty
    margin: float = nan
    host: str = ""  # where nothing ran, empty
    lane: str = ""
    verdict: Verdict = NOT_TESTABLE
    wording: str = NOT_TESTABLE  # what is printed for it
    objected: bool = False  # whether it is contradicted as measured, and not called so for an unanswered objection
    products_judged: int = 0  # how many could be judged
    products: int = 0  # of how many that the claim is over; 0 where these are not several
    products_missing: str = ""  # the others, with the reason
    judged: int = 0  # how many contrasts could be judged
    contrasts: int = 0  # of how many
    contrast: str = ""  # the one that decided; from here to `blocks` as `benchbook.evidence.contrasts.Contrast` has it
    common: str = ""
    ratio: float = nan
    low: float = nan
    high: float = nan
    overall: float = nan
    overall_low: float = nan
    overall_high: float = nan
    typical: float = nan
    overall_blocks: int = 0
    published: float = nan
    published_source: str = ""
    look: int = 0
    blocks: int = 0
    campaigns: int = 0  # the fewest that a contrast on which the verdict rests was measured in
    open: str = ""  # the contrasts that more blocks may still decide
    untrusted: bool = False  # whether identical arms of the study differed on that host
    in_the_paper: str = ""  # what the paper's own numbers say against its sentence
    objections: str = ""  # against calling it contradicted where it is, each with its answer
    may_change: str = ""  # what of the way in which cells run may change the verdict, to try
    why: str = ""  # what was found, in words


_OF_THE_DECISIVE: Final = (
    *("contrast", "common", "ratio", "low", "high", "overall", "overall_low", "overall_high", "overall_blocks"),
    *("typical", "published", "published_source", "look", "blocks", "untrusted"),
)


def verdicts(contrasts: pd.DataFrame, claims: Iterable[Claim] | None = None) -> pd.DataFrame:
    """Return the verdict on every claim: a row for each host and lane that ran its study, the paper's own lane first.

    `benchbook.evidence.judge.together` makes it of the verdicts on the contrasts. A contradiction is *inconclusive*
    while an objection to it has no answer. The ``wording`` adds what a verdict does not hold for: contrasts that say
    otherwise, and other days, where so few campaigns ran that it speaks of these sittings alone.

    A claim over several products is judged on those that ran; what ran through an adapter that has met no server is
    none of them. Where all of these bear it out and some are missing it is *reproduced in part*, and the ``wording``
    says of how many products a verdict is that a missing one could change. A product counts as judged where any
    contrast judged it: a size that did not run is no missing product.

    Parameters
    ----------
    contrasts
        As `judged` returns them of the same claims.
    claims
        What is judged; None for all of `data/claims`.

    Returns
    -------
    pandas.DataFrame
        The fields of `ClaimVerdict` are its columns.
    """
    by_claim: dict[str, dict[Place, list[Contrast]]] = {}
    for row in Contrast.of(contrasts):
        by_claim.setdefault(row.id, {}).setdefault((row.host, row.lane), []).append(row)
    wanted = claim_files.claims() if claims is None else claims
    return ClaimVerdict.frame(row for claim in wanted for row in _verdicts(claim, by_claim.get(claim.id, {})))


def _verdicts(claim: Claim, judged: Mapping[Place, Sequence[Contrast]]) -> Iterator[ClaimVerdict]:
    """Yield the rows of one claim: one a place, or one that says why there is none."""
    unjudged = ClaimVerdict(claim.id, claim.study, claim.says, claim.where, claim.compare)
    if isinstance(claim, Untestable):
        yield replace(unjudged, why=claim.why)
        return
    tries = [f"{variation.says} ({to_try(claim.study, variation)})" for variation in claim.variations]
    unjudged = replace(
        unjudged, claimed=claim.direction, margin=claim.tolerance, products=len(claim.products),
        in_the_paper=claim.why_within, may_change="; ".join(tries),
    )  # fmt: skip
    if not judged:
        missing = grouped((title(name), NOT_RUN) for name in claim.products)
        asked = f" in {' or '.join(claim.lanes)}" if claim.lanes else ""
        why = f"nothing of {claim.study} ran here{asked}"
        yield replace(unjudged, contrasts=len(claim.contrasts()), products_missing=missing, why=why)
    for (host, lane), contrasts in judged.items():
        yield _overall(claim, replace(unjudged, host=host, lane=lane, contrasts=len(contrasts)), contrasts)


def to_try(study: str, variation: Variation) -> str:
    """Return the command that runs a variation: of the whole grid, for other profiles may not have its levels."""
    where = " ".join(f"--where {name}={text(level)}" for name, level in variation.try_.items())
    return f"benchbook run {study} --profile paper {where}"


def _overall(claim: Tested, unjudged: ClaimVerdict, contrasts: Sequence[Contrast]) -> ClaimVerdict:
    """Return one claim's verdict at one place, with the numbers of the contrast that decided."""
    testable = [contrast for contrast in contrasts if contrast.testable]
    verdict = together(
        [contrast.verdict for contrast in contrasts],
        most=claim.most,
        in_most=[contrast.in_most for contrast in contrasts],
    )
    decisive = _decisive(verdict, claim, testable) if testable else contrasts[0]
    fewest = min((contrast.campaigns for contrast in testable), default=0)
    campaigns = decisive.campaigns if verdict in AGAINST else fewest
    ran = {name for contrast in testable for name, why in contrast.lacking.items() if not why}
    missing = _missing(claim, contrasts, ran)
    objections = claim.objections if verdict == "contradicted" else ()
    objected = any(not objection.answer for objection in objections)
    called: Verdict = IN_PART if missing and verdict == "reproduced" else verdict
    wording = _wording(claim, verdict, contrasts, len(ran) if missing else None, campaigns)
    return replace(
        unjudged,
        verdict="inconclusive" if objected else called,
        objected=objected,
        wording=f"{wording}, as measured; an objection has no answer" if objected else wording,
        campaigns=campaigns,
        products_judged=len(ran),
        products_missing=missing,
        judged=len(testable),
        open="; ".join(contrast.contrast or claim.id for contrast in contrasts if contrast.open),
        objections=" ".join(f"{objection.says} {objection.answer or 'No answer yet.'}" for objection in objections),
        why=_in_words(contrasts),
        **{name: getattr(decisive, name) for name in _OF_THE_DECISIVE},
    )


def _wording(claim: Tested, verdict: Verdict, contrasts: Sequence[Contrast], ran: int | None, campaigns: int) -> str:
    """Return what is printed for a verdict, with all that it does not hold for.

    That is contrasts that say otherwise, products that are missing (where so many ran; None: none is), a size that is
    open or refuted, and the other days where so few campaigns decided that it is of these sittings alone.
    """
    testable = [contrast for contrast in contrasts if contrast.testable]
    counts = Counter(contrast.verdict for contrast in testable)
    # of most contrasts one that was not judged may say either
    wording = _counted(verdict, counts, len(contrasts) - len(testable) if claim.most else 0)
    # whatever a missing product would say
    final = verdict == NOT_TESTABLE or (verdict == "contradicted" and not claim.most)
    if ran is not None and not final:
        among = f" {'among' if isinstance(claim, Rank) else 'in'} {ran} of the {len(claim.products)} products"
        wording += among if wording == verdict else f";{among}"
    sizes = {contrast.size for contrast in testable if contrast.verdict == verdict or verdict != "direction only"}
    if verdict == "direction only" and sizes == {"open"}:
        wording += "; size open"
    elif verdict in ("inconclusive", "other way") and sizes == {"refuted"}:
        wording += "; size refuted"
    if few := sittings(campaigns) if verdict in DECIDED else "":
        wording += f" {few}" if wording == verdict else f"; {few}"
    return wording


def _decisive(verdict: Verdict, claim: Tested, testable: Sequence[Contrast]) -> Contrast:
    """Return the contrast on which a verdict rests: what contradicts most, what bears out least, or what is widest."""
    if verdict in AGAINST:
        return max(
            (contrast for contrast in testable if contrast.verdict == verdict),
            key=lambda contrast: -_beyond(contrast, against=True),
        )
    of = "reproduced" if verdict == IN_PART else verdict
    rest = [contrast for contrast in testable if contrast.verdict == of] or testable
    held = sorted(rest, key=_beyond, reverse=True)
    return held[min(len(testable) // 2, len(held) - 1)] if claim.most else held[-1]


def _beyond(contrast: Contrast, *, against: bool = False) -> float:
    """Return by how much, as a logarithm, a contrast's interval lies on the claimed side of 1; `against`: its far end.

    Of what is claimed to be equal, minus by how much the nearer or the farther end is off.
    """
    low, high = _log(contrast.low), _log(contrast.high)
    if contrast.claimed == "equal":
        near = max(low, -high, 0.0)
        return -near if against else -max(abs(low), abs(high))
    if contrast.claimed == "less":
        low, high = -high, -low
    return high if against else low


def _log(end: float) -> float:
    """Return the logarithm of an interval's end: infinity where it is open or unknown."""
    if end == 0:
        return -inf
    return log(end) if 0 < end < inf else inf


def _counted(verdict: Verdict, counts: Mapping[Verdict, int], unjudged: int) -> str:
    """Return a verdict, with how many contrasts say so, what the others say, and how many say nothing."""
    if not counts or len(counts) + bool(unjudged) < 2:
        return verdict
    total = sum(counts.values()) + unjudged
    first: Verdict = "reproduced" if verdict == IN_PART else verdict
    shown = sorted(counts, key=lambda other: (other != first, -counts[other]))
    parts = [f"{'open' if other == 'inconclusive' else other} in {counts[other]}" for other in shown]
    parts += [f"not judged in {unjudged}"] if unjudged else []
    parts[0] = f"{first} in {counts[first]} of {total} contrasts" if first in counts else f"{first}: {parts[0]}"
    return ", ".join(parts)


def _missing(claim: Tested, contrasts: Sequence[Contrast], ran: Collection[str]) -> str:
    """Return which products no contrast judged, and why; of what ran and could not be judged, nothing."""
    missing = []
    testable = any(contrast.testable for contrast in contrasts)
    for product in claim.products:
        reasons = [contrast.lacking[product] for contrast in contrasts if product in contrast.lacking]
        if product not in ran and all(reasons):
            why = max(reasons, key=lambda why: why != NOT_RUN, default=NOT_RUN)  # rather what stood in for it
            missing.append((title(product), why))
        elif product not in ran and testable:
            missing.append((title(product), "ran in other contrasts only"))
    return grouped(missing)


def _in_words(contrasts: Sequence[Contrast]) -> str:
    """Return why a claim has its verdict: what each contrast found, and which were not judged."""
    if len(contrasts) == 1:
        return contrasts[0].why
    judged = [f"{contrast.contrast}: {contrast.why}" for contrast in contrasts if contrast.testable]
    absent: dict[str, list[str]] = {}
    for contrast in contrasts:
        if not contrast.testable:
            absent.setdefault(contrast.why, []).append(contrast.contrast)
    for why, names in absent.items():
        listed = " and ".join(names)
        if len(names) == len(contrasts):
            listed = f"all {len(names)} contrasts"
        elif len(names) > 3:
            listed = f"{len(names)} of {len(contrasts)} contrasts, {names[0]} to {names[-1]}"
        judged.append(f"{why}: {listed}")
    return "; ".join(judged)


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
    notes = [f"{says}: {outcome[name]}" for name, says in _NOTES.items() if outcome[name]]
    mean, typical = outcome["overall"], outcome["typical"]
    if mean and typical and 0 < typical / mean < inf and abs(log(typical / mean)) > log(outcome["margin"]):
        notes.insert(0, f"of the blocks' median repetitions {number(typical)}, where their means give {number(mean)}")
    return notes


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
        return cls({name: counts[name] for name in VERDICTS}, few)

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
        return self.decided_by("by what ran here")

    def decided_by(self, run: str) -> str:
        """Return all of it in a line, which says by which run: ``in the reference run``."""
        parts = [plural(self.claims, "claim"), f"{self.decided} decided {run}", self.of_sittings]
        return ", ".join(filter(None, parts)) + (f": {self.listed}" if self.claims else "")


def outcomes(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return one row a claim: the verdict of the first lane and host that could judge it.

    The paper's own lane comes first, and the host that ran most. Lanes are never pooled; where enough hosts ran a lane,
    what holds on hosts like them counts. What each lane and host found by itself stands beside it and counts nowhere.

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
    rows = []
    for of_claim in by_claim.values():
        testable = [verdict for verdict in of_claim if verdict.verdict != NOT_TESTABLE] or of_claim
        of_its_lane = [verdict for verdict in testable if verdict.lane == testable[0].lane]
        first = next((verdict for verdict in of_its_lane if of_a_mean(verdict.host)), of_its_lane[0])
        others = [{**vars(verdict), "stage": stage(verdict)} for verdict in of_claim if verdict is not first]
        rows.append(Outcome(**vars(first), stage=stage(first), others=others))
    return Outcome.frame(rows)


def stage(verdict: ClaimVerdict) -> str:
    """Return at which look a claim was decided, or that it is open."""
    if verdict.verdict == NOT_TESTABLE:
        return f"open: fewer than the {LOOKS[0]} blocks of a first look" if verdict.open else ""
    by_campaign = verdict.campaigns >= FEWEST
    of = f"{verdict.campaigns} campaigns, {verdict.blocks} blocks" if by_campaign else f"{verdict.blocks} blocks"
    if verdict.objected or verdict.verdict in DECIDED:
        return f"{'judged' if verdict.objected else 'decided'} at look {verdict.look} of {len(LOOKS)} ({of})"
    return f"open after {of}" if by_campaign else f"open after {verdict.blocks} of {LOOKS[-1]} blocks"
