"""Every contrast of every claim: what ran of it, the look at which it was decided, and what was found."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import isnan, nan
from typing import Final

import pandas as pd

from benchbook import stats
from benchbook.digits import detectable, estimate, interval, number, plural
from benchbook.evidence import claim_files
from benchbook.evidence.claims import (
    Bound,
    Claim,
    Directed,
    Level,
    Rank,
    Settings,
    Tested,
    Untestable,
    in_words,
    label,
    published_ratio,
    several,
)
from benchbook.evidence.controls import KINDS, unseen, untrusted
from benchbook.evidence.controls import controls as identical_arms
from benchbook.evidence.effects import BY_CAMPAIGN, Effect, effect, over_hosts, weakest
from benchbook.evidence.judge import AGAINST, ALPHA, DECIDED, HOLDS, NOT_TESTABLE, Errors, Verdict, errors, judge, met
from benchbook.evidence.measured import Measured, Place, by_study, first_arms
from benchbook.evidence.published import PublishedRatio, text
from benchbook.evidence.rows import Row
from benchbook.evidence.sides import Side, shared
from benchbook.registry import is_experimental, title
from benchbook.stats.campaigns import FEWEST, FEWEST_HOSTS
from benchbook.stats.sequential import LOOKS, confidence

NOT_RUN: Final = "did not run"

SPREAD_FROM: Final = 10
"""Of how many repetitions a block's spread says something: a deviation of two is a difference over a square root."""
FEW_REPETITIONS: Final = (
    f"ran with fewer than {SPREAD_FROM} repetitions a block, of which no spread is judged"
    f" (--set repetitions={SPREAD_FROM})"
)


@dataclass(frozen=True)
class Contrast(Row):
    """What one contrast of a claim came to, on one host and lane; numbers are NaN where there are none.

    Ratios have no unit: they are those of geometric means over blocks, of a ranking the smallest lead, above 1 where
    the order holds.
    """

    id: str  # the claim's
    study: str
    host: str  # ``4 hosts``: what holds on hosts like those
    lane: str
    contrast: str  # its levels, as ``n=1000``
    common: str  # the number of records, objects or books where that is not among these
    compare: str
    claimed: str
    margin: float
    ratio: float = nan  # on which the verdict rests; an end of 0 or infinity when a wait ran out
    low: float = nan
    high: float = nan
    confidence: float = nan  # of that interval
    difference: float = nan  # in the metric's unit, where there is no ratio
    difference_low: float = nan
    difference_high: float = nan
    overall: float = nan  # of all blocks that ran, with the plain 95 % interval: what a reader is told of the size
    overall_low: float = nan
    overall_high: float = nan
    typical: float = nan  # the same of the blocks' median repetitions, of which slow first ones are no part
    overall_blocks: int = 0
    overall_campaigns: int = 0
    newest: str = ""  # of these the last, by its start
    published: float = nan  # the paper's own ratio
    published_source: str = ""
    # whether that is ``met``, ``missed`` or ``open``; with the direction open at most ``refuted``; empty without one
    size: str = ""
    look: int = 0  # from 1; 0 when there was none
    blocks: int = 0  # after which it was
    campaigns: int = 0  # that these are of; from `benchbook.stats.campaigns.FEWEST` on their means were its units
    test: str = "none"
    stood: str = ""  # what ran in place of alternatives and defaults
    censored: bool = False  # whether a wait ran out
    untrusted: bool = False  # whether identical arms of the study differed on that host
    verdict: Verdict = NOT_TESTABLE
    in_most: Verdict = NOT_TESTABLE  # at the error that a test of more than half of the claim's contrasts allows each
    decided: bool = False  # whether that look left it a verdict
    open: bool = False  # whether more blocks may
    lacking: Mapping[str, str] = field(default_factory=dict)  # as `Eligible.lacking`
    why: str = ""  # what was found, in words, or why there is nothing to judge

    @property
    def by_campaign(self) -> bool:
        """Whether its units were campaigns, and what it found is of sittings like these; else of these alone."""
        return self.campaigns >= FEWEST

    @property
    def testable(self) -> bool:
        """Whether it could be judged."""
        return self.verdict != NOT_TESTABLE


def judged(
    means: pd.DataFrame, claims: Iterable[Claim] | None = None, controls: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return every contrast of every claim that observations can answer, a row for each host and lane.

    A ratio is that of geometric means over the blocks that all its sides share, with Student's interval on the
    logarithms. Its units are the blocks, and it holds in these sittings alone; from five campaigns on they are the
    campaigns' means, and it holds for sittings like these. Contrasts are looked at after as many units as
    `benchbook.stats.sequential.LOOKS` says, by intervals that hold the truth at all looks together. What is decided
    stays so: later looks only settle whether it is as large as published. Blocks that other processes disturbed count
    in no look; a contrast of fewer blocks than the first look is not judged; and one stays open that is smaller than a
    bias which identical arms could have hidden. Hosts are not pooled; where four or more ran a lane, a row of ``host``
    ``4 hosts`` says what holds on hosts like them. `benchbook.evidence.judge.errors` says how often a contrast may err.

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
        The fields of `Contrast` are its columns.
    """
    arms = identical_arms(means) if controls is None else controls
    doubted, unseen_bias = untrusted(arms), unseen(arms)
    at_places = list(places(means, claim_files.claims() if claims is None else claims))
    rows = []
    for claim, measured, place in at_places:
        kind = KINDS.get(claim.quantity.metric, "")
        bias = unseen_bias.get((claim.study, place[0], kind), 1.0)
        rows += [_doubted(row, claim, bias) for row in _of_host(claim, measured, place)]
    for claim, measured, (host, lane) in at_places:
        hosts = [other for other, ran in measured.places if ran == lane]
        if host == hosts[0] and len(hosts) >= FEWEST_HOSTS:
            rows += _over_hosts(claim, measured, lane)
    return Contrast.frame(replace(row, untrusted=(row.study, row.host) in doubted) for row in rows)


def _doubted(contrast: Contrast, claim: Tested, bias: float) -> Contrast:
    """Return a contrast that stays open where a bias that identical arms did not show could make its whole effect.

    The effect is what a ratio is beyond the number that it is held against. A bound is not of two sides, and that two
    are alike rests on no effect: nothing of either is a bias between sides.
    """
    directed = contrast.verdict in HOLDS | AGAINST
    alike = isinstance(claim, Directed) and claim.claimed == "equal" and contrast.verdict == "reproduced"
    beyond = contrast.ratio / claim.than
    if isinstance(claim, Bound) or not directed or alike or not 1 / bias < beyond < bias:
        return contrast
    why = f"smaller than a bias of {detectable(bias)}, which identical arms could have hidden here; {contrast.why}"
    return replace(contrast, verdict="inconclusive", in_most="inconclusive", decided=False, open=True, why=why)


def places(means: pd.DataFrame, claims: Iterable[Claim]) -> Iterator[tuple[Tested, Measured, Place]]:
    """Yield every claim that can be tested with the rows of its study, at every place that ran it."""
    measured = by_study(first_arms(means))
    for claim in claims:
        if not isinstance(claim, Untestable) and claim.study in measured:
            of_study, own = measured[claim.study], claim_files.stack(claim.study)
            asked = [place for place in of_study.places if not claim.lanes or place[1] in claim.lanes]
            yield from ((claim, of_study, place) for place in sorted(asked, key=lambda place: place[1] != own))


@dataclass(frozen=True)
class Eligible:
    """The sides of a contrast that may be judged: what the product itself ran, through an adapter that has met it."""

    sides: Mapping[str, Side]
    missing: str  # why there is nothing to judge; empty when there is
    lacking: Mapping[str, str]  # of the claim's products in this contrast: why each is missing, empty if it is not
    left_out: str = ""  # what a ranking goes without, and why
    open: bool = False  # whether all that is missing are blocks


def eligible(claim: Tested, levels: Mapping[str, Level], ran: Mapping[str, Side], blocks: int = LOOKS[0]) -> Eligible:
    """Return the sides of a contrast without those that no real product ran, or not in so many blocks."""
    engine: Settings = {name: level for name, level in {**claim.at, **levels}.items() if name == "engine"}
    fewest = 0 if claim.statistic == "mean" else SPREAD_FROM
    lacks = {name: _lacking({**engine, **side}, ran.get(name), blocks, fewest) for name, side in claim.sides().items()}
    absent = {name: lack for name, lack in lacks.items() if lack}
    sides = {name: side.undisturbed for name, side in ran.items() if name not in absent}
    testable = bool(claim.needed() <= set(sides) and claim.ratios(sides))
    listed = grouped(absent.values()) if ran else NOT_RUN
    missing = "" if testable else listed
    lacking = {name: absent[name][1] if name in absent else "" for name in claim.products}
    if "engine" in levels:
        own = title(str(levels["engine"]))  # a side may be of another product
        why = "; ".join(dict.fromkeys(why for product, why in absent.values() if product == own)) if ran else NOT_RUN
        lacking = {str(levels["engine"]): "" if testable else why}
    few = any(name in ran and why == _few(ran[name]) for name, (_, why) in absent.items())
    return Eligible(sides, missing, lacking, listed if testable else "", open=few and not testable)


@dataclass(frozen=True)
class Look:
    """What one look found: after so many units, blocks or campaigns, by an interval of that confidence."""

    units: int
    confidence: float
    effect: Effect
    verdict: Verdict
    size: str  # as in `Contrast`
    in_most: Verdict = NOT_TESTABLE  # as in `Contrast`


def _lacking(wanted: Settings, side: Side | None, blocks: int, repetitions: int) -> tuple[str, str] | None:
    """Return what of a side cannot be judged, its product where it has one, and why; None when it can.

    It lacks blocks, or repetitions in one of them.
    """
    why = NOT_RUN if side is None else _why_not(side, blocks, repetitions)
    if not why:
        return None
    product = " or ".join(title(str(engine)) for engine in several(wanted.get("engine", ())))
    named = in_words({name: level for name, level in wanted.items() if name != "engine"})
    if side is None:
        return product or named or "it", f"{why} with {named}" if product and named else why
    engine = str(side.settings.get("engine") or "")
    return title(engine) if engine else named or "it", why


def _why_not(side: Side, blocks: int, repetitions: int) -> str:
    """Return why a side that ran cannot be judged; empty when it can."""
    if is_experimental(str(side.settings.get("engine") or "")):
        return "ran through an experimental adapter"
    if side.repetitions < repetitions:
        return FEW_REPETITIONS
    return _few(side) if len(side.undisturbed.blocks) < blocks else ""


def _few(side: Side) -> str:
    disturbed = int(side.disturbed.sum())
    more = f", and disturbed by other processes in {disturbed} more" if disturbed else ""
    return f"ran in {len(side.blocks) - disturbed} of the {LOOKS[0]} blocks of a first look{more}"


def _of_host(claim: Tested, measured: Measured, place: Place) -> list[Contrast]:
    """Return the contrasts of one claim at one place."""
    contrasts = [
        (levels, eligible(claim, levels, _ran(claim, levels, measured, place))) for levels in claim.contrasts(place[1])
    ]
    leads = [len(claim.ratios(ran.sides)) or 1 for _, ran in contrasts if claim.most or ran.open or not ran.missing]
    allowed = errors(len(leads), sum(leads), most=claim.most)
    return [_contrast(claim, levels, ran, allowed, place) for levels, ran in contrasts]


def _contrast(claim: Tested, levels: dict[str, Level], ran: Eligible, allowed: Errors, place: Place) -> Contrast:
    """Return what one contrast came to at one place."""
    paper = published_ratio(claim, levels, None if ran.missing else ran.sides)
    contrast = _unjudged(claim, levels, ran, place, paper)
    if ran.missing:
        return contrast
    sides = aligned(claim, ran.sides)
    campaigns = next(iter(sides.values())).campaigns  # of each shared block, alike on all sides
    contrast = replace(contrast, overall_campaigns=len(set(campaigns)), newest=max(campaigns, default=""))
    if not (look := _looked_at(claim, sides, stats.campaigns.units(campaigns), allowed, paper)):
        few = f"the sides share {len(campaigns)} of the {LOOKS[0]} blocks of a first look"
        return replace(contrast, open=True, why=few)
    overall = weakest([effect(terms, sides, claim.divisor) for terms in claim.ratios(sides)])
    contrast = _judged(contrast, claim, look, overall, "; ".join(filter(None, [ran.left_out, _partly(claim, sides)])))
    if claim.statistic == "mean":
        medians = {name: replace(side, values=side.typical) for name, side in sides.items()}
        typical = weakest([effect(terms, medians, claim.divisor) for terms in claim.ratios(sides)]).ratio
        contrast = replace(contrast, typical=typical)
    return replace(contrast, look=LOOKS.index(look.units) + 1)


def _over_hosts(claim: Tested, measured: Measured, lane: str) -> list[Contrast]:
    """Return the contrasts of one claim on hosts like those that ran a lane, of which so many of them judge each."""
    contrasts = []
    for levels in claim.contrasts(lane):
        hosts = []
        for place in measured.places:
            if place[1] == lane:
                ran = eligible(claim, levels, _ran(claim, levels, measured, place))
                sides = {} if ran.missing else aligned(claim, ran.sides)
                if sides and min(len(side.blocks) for side in sides.values()) >= LOOKS[0]:
                    hosts.append(replace(ran, sides=sides))
        alike = [ran for ran in hosts if set(ran.sides) == set(hosts[0].sides)]
        if len(alike) >= FEWEST_HOSTS:
            contrasts.append((levels, alike))
    leads = [len(claim.ratios(alike[0].sides)) for _, alike in contrasts]
    leads += [1] * (len(claim.contrasts(lane)) - len(leads)) if claim.most else []
    allowed = errors(len(leads), sum(leads), most=claim.most)
    rows = []
    for levels, alike in contrasts:
        paper = published_ratio(claim, levels, alike[0].sides)
        at = partial(_look_over_hosts, claim, alike, paper)
        row = _unjudged(claim, levels, alike[0], (f"{len(alike)} hosts", lane), paper)
        rows.append(_judged(row, claim, _strict(at, allowed), at(ALPHA).effect, alike[0].left_out))
    return rows


def _look_over_hosts(claim: Tested, hosts: Sequence[Eligible], paper: PublishedRatio, error: float) -> Look:
    """Return what is found of hosts like these."""
    leads = [
        over_hosts([effect(terms, host.sides, claim.divisor) for host in hosts], 1 - error)
        for terms in claim.ratios(hosts[0].sides)
    ]
    least = weakest(leads)
    return Look(0, 1 - error, least, *verdict_on(claim, least, paper))


def asked(claim: Tested, levels: dict[str, Level]) -> dict[str, Settings]:
    """Return by a side's name all that a contrast asks of it."""
    common = {**claim.quantity.model_dump(), **claim.at, **levels}
    return {name: {**common, **side} for name, side in claim.sides().items()}


def _ran(claim: Tested, levels: dict[str, Level], measured: Measured, place: Place) -> dict[str, Side]:
    return measured.sides(place, asked(claim, levels), claim.statistic, claim.pooled)


def _unjudged(claim: Tested, levels: dict[str, Level], ran: Eligible, place: Place, paper: PublishedRatio) -> Contrast:
    """Return a contrast of which nothing is found yet."""
    return Contrast(
        claim.id, claim.study, *place, label(levels), _common(claim, levels, ran.sides), claim.compare,
        claim.direction, claim.tolerance,
        published=paper.ratio, published_source=paper.source, stood=_stood(claim, ran.sides),
        censored=any(side.censored.any() for side in ran.sides.values()), open=ran.open, lacking=ran.lacking,
        why=ran.missing,
    )  # fmt: skip


def _common(claim: Tested, levels: dict[str, Level], sides: Mapping[str, Side]) -> str:
    """Return the number of records that all sides of a contrast have, or over which their mean is taken."""
    if pooled := (claim.pooled or {}).get("n"):
        ran = next((side.levels for side in sides.values()), ()) or pooled
        return f"mean over n={ran[0]} to {ran[-1]}" if len(ran) > 2 else f"mean over n={ran[0]} and {ran[-1]}"
    sizes = {side.settings.get("n") for side in sides.values()}
    return f"n={sizes.pop()}" if len(sizes) == 1 and None not in sizes and "n" not in levels else ""


def _partly(claim: Tested, sides: Mapping[str, Side]) -> str:
    """Return over how few of the levels that the paper averages a contrast was taken; empty where over all."""
    for factor, levels in (claim.pooled or {}).items():
        if (ran := next(iter(sides.values())).levels) and len(ran) < len(levels):
            return f"over {factor}={' and '.join(map(str, ran))}, where the paper's mean is over {len(levels)} of them"
    return ""


def _judged(contrast: Contrast, claim: Tested, look: Look, overall: Effect, left_out: str) -> Contrast:
    """Return a contrast with what a look found, beside the effect of all blocks."""
    decided = look.verdict in DECIDED
    difference, difference_low, difference_high = look.effect.difference
    return replace(
        contrast, ratio=look.effect.ratio, low=look.effect.low, high=look.effect.high, confidence=look.confidence,
        difference=difference, difference_low=difference_low, difference_high=difference_high,
        overall=overall.ratio, overall_low=overall.low, overall_high=overall.high, overall_blocks=overall.blocks,
        size=look.size, blocks=look.effect.blocks, campaigns=look.effect.campaigns, test=look.effect.test,
        verdict=look.verdict, in_most=look.in_most, decided=decided, open=not decided,
        why=_words(claim, look, contrast.published, left_out),
    )  # fmt: skip


def aligned(claim: Tested, sides: Mapping[str, Side]) -> dict[str, Side]:
    """Return the sides of a contrast's ratios, in the blocks that all of them have from one campaign."""
    names = dict.fromkeys(name for terms in claim.ratios(sides) for _, name in terms)
    blocks = shared([sides[name] for name in names])
    return {name: sides[name].only(blocks) for name in names}


def _looked_at(
    claim: Tested, sides: Mapping[str, Side], units: int, allowed: Errors, paper: PublishedRatio
) -> Look | None:
    """Return what the first look found that left nothing open, else the last of so many units; None before the first.

    What has a direction keeps it: later looks can only say more of its size, and whether it is one of most.
    """
    last: Look | None = None
    in_most: Verdict = NOT_TESTABLE
    for count in [count for count in LOOKS if count <= units]:
        look = _strict(partial(_look, claim, sides, paper, count), allowed)
        if last is None or last.verdict not in DECIDED or (last.size == "open" and look.size in ("met", "missed")):
            last = look
        if in_most not in DECIDED or (in_most == "direction only" and look.in_most == "reproduced"):
            in_most = look.in_most
        size_is_settled = last.size != "open" and (in_most != "direction only" or last.size != "met")
        if last.verdict in DECIDED and in_most in DECIDED and size_is_settled:
            break
    return last and replace(last, in_most=in_most)


def _look(claim: Tested, sides: Mapping[str, Side], paper: PublishedRatio, units: int, error: float) -> Look:
    """Return what is found after so many units."""
    sure = confidence(units, error)
    least = weakest([effect(terms, sides, claim.divisor, sure, units) for terms in claim.ratios(sides)])
    return Look(units, sure, least, *verdict_on(claim, least, paper))


def _strict(at: Callable[[float], Look], allowed: Errors) -> Look:
    """Return what is found at the error that is allowed: contradicting a claim may be allowed a smaller one."""
    look = at(allowed.bearing_out)
    in_most = look if allowed.in_most == allowed.bearing_out else at(allowed.in_most)
    return replace(at(allowed.contradicting) if look.verdict in AGAINST else look, in_most=in_most.verdict)


def verdict_on(claim: Tested, effect: Effect, paper: PublishedRatio) -> tuple[Verdict, str]:
    """Return the verdict on a contrast, and whether its size is met, missed or open; empty where that is not asked."""
    if isinstance(claim, Rank):
        return judge(effect, "more", claim.margin, None, claim.tolerance_difference), ""  # an order has no size
    assert isinstance(claim, Directed | Bound)
    bound = replace(effect, ratio=effect.ratio / claim.than, low=effect.low / claim.than, high=effect.high / claim.than)
    size = None if claim.than != 1 or isnan(paper.ratio) else (paper.low, paper.high)
    verdict = judge(bound, claim.claimed, claim.tolerance, size, claim.tolerance_difference)
    if size is None or claim.claimed == "equal":
        return verdict, ""
    as_large = met(bound, size)
    if verdict in HOLDS:
        return verdict, {True: "met", False: "missed", None: "open"}[as_large]
    return verdict, "refuted" if as_large is False and verdict not in DECIDED else ""


def grouped(lacking: Iterable[tuple[str, str]]) -> str:
    """Return what is lacking, and why, the reason once: ``A and B did not run; C ran in too few blocks``."""
    names: dict[str, list[str]] = {}
    for what, why in dict.fromkeys(lacking):
        names.setdefault(why, []).append(what)
    return "; ".join(f"{enumerated(of_reason)} {why}" for why, of_reason in names.items())


def enumerated(names: Sequence[str]) -> str:
    """Return names as people list them: ``A``, ``A and B``, ``A, B and C``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _stood(claim: Tested, sides: Mapping[str, Side]) -> str:
    """Return which of the alternatives that the claim allows stood on each side."""
    parts = []
    for name, side in sides.items():
        own: Settings = getattr(claim, name.partition(" ")[0], {})
        open_ = [key for key, value in {**claim.at, **own}.items() if isinstance(value, tuple)]
        chosen = [f"{key}={text(side.settings[key])}" for key in open_ if key in side.settings]
        parts += [f"{name}: {', '.join(chosen)}"] if chosen else []
    return "; ".join(parts)


def _words(claim: Tested, look: Look, published: float, left_out: str) -> str:
    """Return what one contrast came to, beside the published ratio and what a ranking goes without."""
    parts = [_effect_in_words(claim, look.effect)]
    if not isnan(published):
        parts.append(f"published {number(published)}")
    if look.size in ("open", "refuted"):
        parts.append(f"size {look.size}")
    return "; ".join([*parts, left_out] if left_out else parts)


def _effect_in_words(claim: Tested, effect: Effect) -> str:
    blocks = plural(effect.blocks, "block")
    if effect.test == BY_CAMPAIGN:
        blocks += f" of {effect.campaigns} campaigns"
    if not isnan(effect.low):
        name = "smallest lead " if isinstance(claim, Rank) else ""
        of = f" times {claim.against}" if isinstance(claim, Bound) else ""
        bound = f"; {effect.reason}" if effect.reason else ""
        return f"{name}{estimate(effect.ratio, effect.low, effect.high)}{of} in {blocks}{bound}"
    if not isnan(effect.difference[1]):
        ends = interval(*effect.difference, effect.unit, sign="+") or number(effect.difference[0], sign="+")
        of = f" from {claim.against}" if isinstance(claim, Bound) else ""
        return f"the difference{of} is {ends} {effect.unit} in {blocks}; {effect.reason}"
    ratio = "" if isnan(effect.ratio) else f"{number(effect.ratio)} in {blocks}; "
    return f"{ratio}{effect.reason}"
