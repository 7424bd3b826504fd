"""Every claim of the papers against what was measured: a verdict each, and why."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import nan
from typing import Any, Final, TypeAlias

import pandas as pd

from benchbook.evidence import verdict_words as words
from benchbook.evidence.claim_files import claims as all_claims
from benchbook.evidence.claim_sides import Printed, divisor, leads, printed_ratio, sides_of
from benchbook.evidence.claims import Claim, Interaction, Level, Rank, Ratio, Tested, Trend, Untestable, label
from benchbook.evidence.derived import ended
from benchbook.evidence.effects import Effect, effect, share, weakest
from benchbook.evidence.judging import Verdict, judge, together
from benchbook.evidence.proven import Stated, stated
from benchbook.evidence.sides import Measured, Place, Side
from benchbook.evidence.trust import untrusted

Row: TypeAlias = dict[str, Any]

ALPHA: Final = 0.05
SURE: Final = 1 - ALPHA
"""The confidence of an interval, and the share of bootstrap resamples in which a ranking must hold to be reproduced."""

LANES: Final = {"bookstore": "java", "tcp": "java", "drivers": "node"}
"""The lane of each paper's own stack, where it is one of ours; the first lane of the others is Python's."""

CONTRASTS: Final = [
    *("id", "study", "host", "lane", "contrast", "compare", "claimed", "margin", "ratio", "low", "high", "confidence"),
    *("published", "published_source", "blocks", "test", "share", "stood", "stand_in", "censored"),
    *("untrusted", "verdict", "why"),
]
VERDICTS: Final = [
    *("id", "study", "says", "where", "compare", "claimed", "margin", "host", "lane", "verdict", "judged", "contrasts"),
    *("contrast", "ratio", "low", "high", "published", "published_source", "blocks", "untrusted", "why"),
]


NUMBERS: Final = ("margin", "ratio", "low", "high", "published")


def judged(
    means: pd.DataFrame, claims: Iterable[Claim] | None = None, controls: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return every contrast of every claim that observations can answer, a row for each host and lane.

    A ratio is that of geometric means over blocks, its interval Student's on the logarithms, paired by block where the
    sides share two or more. A claim of several contrasts holds when each of them does: each is judged at 95 %, for all
    of them are mistaken together more rarely than one is (an intersection-union test). It is contradicted when one of
    them contradicts it, which among many one soon does by chance: that asks for an interval as wide as Bonferroni's
    correction for the number of contrasts that ran, and so does a claim of most contrasts only. A ranking's leads count
    as contrasts, too.

    Parameters
    ----------
    means
        As `benchbook.evidence.measures` returns them.
    claims
        What is judged; None for all of `data/claims`.
    controls
        As `benchbook.evidence.controls` returns them of the same observations; None: they are made here.

    Returns
    -------
    pandas.DataFrame
        Columns `CONTRASTS`. ``contrast`` is its levels, as ``n=1000``; ``ratio, low, high`` are without unit (of a
        ranking the smallest lead, above 1 where the order holds; an end of 0 or infinity when a wait ran out);
        ``confidence`` is the interval's; ``published`` is the paper's own ratio, ``share`` that of bootstrap resamples
        in which a ranking holds; ``stood`` says what ran in place of alternatives and defaults.

    References
    ----------
    Berger, Technometrics 24 (1982) 295-300, of intersection-union tests.
    """
    rows = _judged(means, list(all_claims() if claims is None else claims), controls)
    return pd.DataFrame(rows, columns=CONTRASTS)


def verdicts(
    means: pd.DataFrame, claims: Iterable[Claim] | None = None, controls: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return every claim with its verdict, a row for each host and lane that ran its study, the paper's lane first.

    Parameters
    ----------
    means, claims, controls
        As for `judged`.

    Returns
    -------
    pandas.DataFrame
        Columns `VERDICTS`. ``verdict`` is one of `benchbook.evidence.judging.VERDICTS`; ``judged`` of ``contrasts``
        could be judged; ``contrast, ratio, low, high, published, blocks`` are those of the one that decided; ``why``
        says in words what was found. ``untrusted`` is True when identical arms of the study differed on that host.
    """
    wanted = list(all_claims() if claims is None else claims)
    by_claim: dict[str, dict[Place, list[Row]]] = {}
    for row in _judged(means, wanted, controls):
        by_claim.setdefault(row["id"], {}).setdefault((row["host"], row["lane"]), []).append(row)
    rows = [row for claim in wanted for row in _verdicts(claim, by_claim.get(claim.id, {}))]
    return pd.DataFrame(rows, columns=VERDICTS)


def _judged(means: pd.DataFrame, claims: Sequence[Claim], controls: pd.DataFrame | None) -> list[Row]:
    """Return the rows of `judged`."""
    doubted = untrusted(means, controls)
    rows = [row for claim, found, place in _places(means, claims) for row in _contrasts(claim, found, place)]
    return [{**row, "untrusted": (row["study"], row["host"]) in doubted} for row in rows]


def _places(means: pd.DataFrame, claims: Sequence[Claim]) -> Iterator[tuple[Tested, Measured, Place]]:
    """Yield every claim that can be tested with the rows of its study, at every place that ran it."""
    known: dict[str, Measured] = {}
    means = ended(means)
    for claim in claims:
        if isinstance(claim, Untestable):
            continue
        if claim.study not in known:
            known[claim.study] = Measured(claim.study, means)
        found, own = known[claim.study], LANES.get(claim.study, "python")
        yield from ((claim, found, place) for place in sorted(found.places, key=lambda place: place[1] != own))


def _contrasts(claim: Tested, found: Measured, place: Place) -> list[Row]:
    """Return the rows of one claim at one place."""
    every = [(levels, stated(claim, _ran(claim, levels, found, place))) for levels in claim.contrasts()]
    tests = sum(len(leads(claim, one.sides)) for _, one in every if not one.missing)
    return [_row(claim, levels, one, 1 - ALPHA / max(tests, 1), place) for levels, one in every]


def _ran(claim: Tested, levels: dict[str, Level], found: Measured, place: Place) -> dict[str, Side]:
    common = {**claim.quantity.model_dump(), **claim.at, **levels}
    return found.sides(place, {name: {**common, **side} for name, side in sides_of(claim).items()})


def _row(claim: Tested, levels: dict[str, Level], one: Stated, corrected: float, place: Place) -> Row:
    paper = printed_ratio(claim, levels)
    sides = one.sides
    row: Row = {"id": claim.id, "study": claim.study, "host": place[0], "lane": place[1]}
    row |= {"contrast": label(levels), "compare": claim.compare, "claimed": words.claimed(claim)}
    row |= {"margin": claim.margin, "published": paper.ratio, "published_source": paper.source, "confidence": nan}
    row |= {"stood": words.stood(claim, sides), "stand_in": one.stand_in}
    row |= {"censored": any(side.censored for side in sides.values()), "blocks": 0, "test": "none"}
    row |= dict.fromkeys(("ratio", "low", "high", "share"), nan)
    if one.missing:
        return {**row, "verdict": "not testable here", "why": one.missing}
    ratios = leads(claim, sides)
    held = share(ratios, sides) if isinstance(claim, Rank) else nan

    def at(confidence: float) -> tuple[float, Effect, Verdict]:
        found = weakest([effect(terms, sides, divisor(claim), confidence) for terms in ratios])
        return confidence, found, _verdict(claim, found, held, paper)

    confidence, found, verdict = at(corrected if claim.most else SURE)
    if verdict == "contradicted" and confidence != corrected:
        confidence, found, verdict = at(corrected)
    row |= {"ratio": found.ratio, "low": found.low, "high": found.high, "confidence": confidence, "share": held}
    row |= {"blocks": found.blocks, "test": found.test}
    why = words.contrast(claim, found, held, paper.ratio, one.left_out)
    return {**row, "verdict": verdict, "why": why}


def _verdict(claim: Tested, found: Effect, held: float, paper: Printed) -> Verdict:
    if isinstance(claim, Rank):
        verdict = judge(found, "more", claim.margin)  # an order has no size
        return "inconclusive" if verdict in ("reproduced", "direction only") and not held >= SURE else verdict
    assert isinstance(claim, Ratio | Trend | Interaction)
    bound = replace(found, ratio=found.ratio / claim.than, low=found.low / claim.than, high=found.high / claim.than)
    size = None if claim.than != 1 or paper.ratio != paper.ratio else (paper.low, paper.high)
    return judge(bound, claim.claimed, claim.margin, size)


def _verdicts(claim: Claim, found: Mapping[Place, Sequence[Row]]) -> Iterator[Row]:
    """Yield the rows of one claim: one a place, or one that says why there is none."""
    about: Row = {name: getattr(claim, name) for name in ("id", "study", "says", "where", "compare")}
    nothing = {**dict.fromkeys(VERDICTS, ""), **dict.fromkeys(NUMBERS, nan), "verdict": "not testable here"}
    nothing |= {"judged": 0, "contrasts": 0, "blocks": 0, "untrusted": False}
    if isinstance(claim, Untestable):
        yield {**nothing, **about, "why": claim.why}
        return
    about |= {"claimed": words.claimed(claim), "margin": claim.margin, "contrasts": len(claim.contrasts())}
    if not found:
        yield {**nothing, **about, "why": f"nothing of {claim.study} ran here"}
    for (host, lane), rows in found.items():
        yield {**about, "host": host, "lane": lane, **_overall(claim, rows)}


def _overall(claim: Tested, rows: Sequence[Row]) -> Row:
    """Return one claim's verdict at one place, with the numbers of the contrast that decided."""
    verdict = together((row["verdict"] for row in rows), most=claim.most)
    able = [row for row in rows if row["verdict"] != "not testable here"]
    decided = next((row for row in able if row["verdict"] == verdict), (able or rows)[0])
    names = ("contrast", "ratio", "low", "high", "published", "published_source", "blocks", "untrusted")
    found = {name: decided[name] for name in names}
    return {**found, "verdict": verdict, "judged": len(able), "why": words.overall(rows)}
