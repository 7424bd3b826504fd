"""Every claim of the papers against what was measured: a verdict each, and why."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, log, nan
from typing import Final

import pandas as pd

from benchbook.evidence import claim_files
from benchbook.evidence.claims import Claim, Rank, Tested, Untestable
from benchbook.evidence.contrasts import NOT_RUN, Contrast, grouped
from benchbook.evidence.judge import AGAINST, DECIDED, IN_PART, NOT_TESTABLE, Verdict, together
from benchbook.evidence.published import text
from benchbook.evidence.rows import Row
from benchbook.evidence.sides import Place
from benchbook.registry import title
from benchbook.stats.campaigns import sittings


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
    *(
        "contrast",
        "common",
        "ratio",
        "low",
        "high",
        "overall",
        "overall_low",
        "overall_high",
        "overall_blocks",
        "typical",
    ),
    *("published", "published_source", "look", "blocks", "untrusted"),
)


def verdicts(contrasts: pd.DataFrame, claims: Iterable[Claim] | None = None) -> pd.DataFrame:
    """Return every claim with its verdict, a row for each host and lane that ran its study, the paper's lane first.

    One that would be contradicted, but for an objection that nobody has answered, is *inconclusive* and says so.
    `benchbook.evidence.judge.together` says how the contrasts' verdicts make one: a claim of every size, product or
    ranking falls by one contrast that contradicts it, and is not open because one is; its ``wording`` counts those that
    say otherwise, and what fewer campaigns decided than have a mean says *in one sitting*, for that day is all that it
    speaks of. A claim over several products (the fastest of six; in each of three) is judged on those that ran
    here. Where all that ran bear it out, the test speaks of these products and of no other: the verdict is *reproduced
    in part*, and its ``wording``, like that of every verdict which a missing product could change, says of how many. A
    stand-in, or an adapter that has met no server, is no product that ran. A size that did not run is no missing
    product: a product counts as judged where any contrast judged it, and ``why`` names the others.

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
    tries = [
        f"{variation.says} ({', '.join(f'--where {name}={text(level)}' for name, level in variation.try_.items())})"
        for variation in claim.variations
    ]
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


def _overall(claim: Tested, unjudged: ClaimVerdict, contrasts: Sequence[Contrast]) -> ClaimVerdict:
    """Return one claim's verdict at one place, with the numbers of the contrast that decided."""
    able = [contrast for contrast in contrasts if contrast.able]
    counts = Counter(contrast.verdict for contrast in able)
    verdict = together(
        [contrast.verdict for contrast in contrasts],
        most=claim.most,
        in_most=[contrast.in_most for contrast in contrasts],
    )
    decided = _decisive(verdict, claim, able) if able else contrasts[0]
    ran = {name for contrast in able for name, why in contrast.lacking.items() if not why}
    missing = _missing(claim, contrasts, ran)
    among = f" {'among' if isinstance(claim, Rank) else 'in'} {len(ran)} of the {len(claim.products)} products"
    objections = claim.objections if verdict == "contradicted" else ()
    objected = any(not objection.answer for objection in objections)
    # of most contrasts one that was not judged may say either
    wording = _counted(verdict, counts, len(contrasts) - len(able) if claim.most else 0)
    campaigns = decided.campaigns if verdict in AGAINST else min((contrast.campaigns for contrast in able), default=0)
    few = sittings(campaigns) if verdict in DECIDED else ""
    among = among if wording == verdict else f";{among}"
    # whatever a missing product would say
    final = verdict == NOT_TESTABLE or (verdict == "contradicted" and not claim.most)
    called: Verdict = IN_PART if missing and verdict == "reproduced" else verdict
    held_against = [f"{objection.says} {objection.answer or 'No answer yet.'}" for objection in objections]
    wording += among if missing and not final else ""
    wording += _of_size(verdict, able)
    if few:
        wording += f" {few}" if wording == verdict else f"; {few}"
    if objected:
        called = "inconclusive"
        wording += ", as measured; an objection has no answer"
    return replace(
        unjudged,
        verdict=called,
        objected=objected,
        wording=wording,
        campaigns=campaigns,
        products_judged=len(ran),
        products_missing=missing,
        judged=len(able),
        open="; ".join(contrast.contrast or claim.id for contrast in contrasts if contrast.open),
        objections=" ".join(held_against),
        why=_in_words(contrasts),
        **{name: getattr(decided, name) for name in _OF_THE_DECISIVE},
    )


def _decisive(verdict: Verdict, claim: Tested, able: Sequence[Contrast]) -> Contrast:
    """Return the contrast on which a verdict rests: what contradicts most, what bears out least, or what is widest."""
    if verdict in AGAINST:
        return max(
            (contrast for contrast in able if contrast.verdict == verdict),
            key=lambda contrast: -_beyond(contrast, against=True),
        )
    of = "reproduced" if verdict == IN_PART else verdict
    rest = [contrast for contrast in able if contrast.verdict == of] or able
    held = sorted(rest, key=_beyond, reverse=True)
    return held[min(len(able) // 2, len(held) - 1)] if claim.most else held[-1]


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
    every = sum(counts.values()) + unjudged
    first: Verdict = "reproduced" if verdict == IN_PART else verdict
    shown = sorted(counts, key=lambda other: (other != first, -counts[other]))
    parts = [f"{'open' if other == 'inconclusive' else other} in {counts[other]}" for other in shown]
    parts += [f"not judged in {unjudged}"] if unjudged else []
    parts[0] = f"{first} in {counts[first]} of {every} contrasts" if first in counts else f"{first}: {parts[0]}"
    return ", ".join(parts)


def _of_size(verdict: Verdict, able: Sequence[Contrast]) -> str:
    """Return that a claim's size alone is open, or that it is refuted whatever its direction; else nothing."""
    sizes = {contrast.size for contrast in able if contrast.verdict == "direction only"}
    if verdict == "direction only" and sizes == {"open"}:
        return "; size open"
    refuted = verdict in ("inconclusive", "other way") and {contrast.size for contrast in able} == {"refuted"}
    return "; size refuted" if refuted else ""


def _missing(claim: Tested, contrasts: Sequence[Contrast], ran: Collection[str]) -> str:
    """Return which products no contrast judged, and why; of what ran and could not be judged, nothing."""
    missing = []
    able = any(contrast.able for contrast in contrasts)
    for product in claim.products:
        every = [contrast.lacking[product] for contrast in contrasts if product in contrast.lacking]
        if product not in ran and all(every):
            why = max(every, key=lambda why: why != NOT_RUN, default=NOT_RUN)  # rather what stood in for it
            missing.append((title(product), why))
        elif product not in ran and able:
            missing.append((title(product), "ran in other contrasts only"))
    return grouped(missing)


def _in_words(contrasts: Sequence[Contrast]) -> str:
    """Return why a claim has its verdict: what each contrast found, and which were not judged."""
    if len(contrasts) == 1:
        return contrasts[0].why
    judged = [f"{contrast.contrast}: {contrast.why}" for contrast in contrasts if contrast.able]
    absent: dict[str, list[str]] = {}
    for contrast in contrasts:
        if not contrast.able:
            absent.setdefault(contrast.why, []).append(contrast.contrast)
    missing = [f"{why}: {_listed(names, len(contrasts))}" for why, names in absent.items()]
    return "; ".join(judged + missing)


def _listed(names: Sequence[str], of: int) -> str:
    """Return the contrasts' names, or how many they are."""
    if len(names) == of:
        return f"all {of} contrasts"
    return " and ".join(names) if len(names) < 4 else f"{len(names)} of {of} contrasts, {names[0]} to {names[-1]}"
