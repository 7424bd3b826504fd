"""Every contrast of every claim: what ran of it, the look at which it was decided, and what was found."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Any, Final

import pandas as pd

from benchbook.compliance import untested
from benchbook.digits import estimate, interval, number
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
    label,
    published_ratio,
)
from benchbook.evidence.controls import controls as identical_arms
from benchbook.evidence.controls import untrusted
from benchbook.evidence.effects import Effect, effect, over_hosts, weakest
from benchbook.evidence.judge import ALPHA, DECIDED, NOT_TESTABLE, Errors, Verdict, errors, judge, met
from benchbook.evidence.published import PublishedRatio, text
from benchbook.evidence.sides import Measured, Place, Side, by_study, first_arms, shared
from benchbook.registry import title
from benchbook.stats.between_hosts import FEWEST
from benchbook.stats.sequential import LOOKS, confidence

NOT_RUN: Final = "did not run"

LANES: Final = {"bookstore": "java", "tcp": "java", "drivers": "node"}
"""The lane of each paper's own stack, where it is one of ours; the first lane of the others is Python's."""

DIFFERENCE: Final = ("difference", "difference_low", "difference_high")
OVERALL: Final = ("overall", "overall_low", "overall_high", "overall_blocks")
CONTRASTS: Final = [
    *(
        "id",
        "study",
        "host",
        "lane",
        "contrast",
        "common",
        "compare",
        "claimed",
        "margin",
        "ratio",
        "low",
        "high",
        "confidence",
    ),
    *DIFFERENCE,
    *OVERALL,
    *("published", "published_source", "size", "look", "blocks", "test", "stood", "stand_in", "censored"),
    *("untrusted", "verdict", "decided", "open", "lacking", "why"),
]


def judged(
    means: pd.DataFrame, claims: Iterable[Claim] | None = None, controls: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return every contrast of every claim that observations can answer, a row for each host and lane.

    A ratio is that of geometric means over the blocks that all its sides share, its interval Student's on the
    logarithms, over campaigns where these differ. Contrasts are looked at after as many blocks as
    `benchbook.stats.sequential.LOOKS` says, by intervals that hold the truth at all looks together; one that is decided
    stays so, and later blocks only settle whether it is as large as published. What has fewer blocks than the first
    look is not judged. Hosts are not pooled; from four on that have run a lane, a row of ``host`` ``4 hosts`` says what
    holds on hosts like them. How often a contrast may err is what `benchbook.evidence.judge.errors` says.

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
        Columns `CONTRASTS`. ``contrast`` is its levels, as ``n=1000``, and ``common`` the number of records, objects or
        books where that is not among them; ``ratio, low, high``, on which the verdict rests, are those of its look,
        without unit (of a ranking the smallest lead, above 1 where the order holds; an end of 0 or infinity when a wait
        ran out); ``overall`` is the ratio of all ``overall_blocks`` that ran, with its plain 95 % interval, as
        `benchbook.evidence.comparisons` gives it: what a reader is told of the size;
        ``difference`` and its ends, in the metric's unit, stand where there is no ratio;
        ``confidence`` is the interval's; ``look``, from 1, was after ``blocks`` blocks, 0 when there was none;
        ``decided`` says whether that look left the contrast a verdict, ``open`` that more blocks may; ``published`` is
        the paper's own ratio, ``size`` whether it was ``met``, ``missed`` or is ``open``, empty without one or without
        the direction; ``stood`` says what ran in place of alternatives and defaults; ``lacking``, of a claim over
        several products, why each of those that this contrast holds is missing, empty where it is not.
    """
    doubted = untrusted(identical_arms(means) if controls is None else controls)
    wanted = claim_files.claims() if claims is None else claims
    every = list(places(means, wanted))
    rows = [row for claim, found, place in every for row in _contrasts(claim, found, place)]
    rows += [row for claim, found, lane in _lanes(every) for row in _over_hosts(claim, found, lane)]
    table = pd.DataFrame(rows, columns=[name for name in CONTRASTS if name != "untrusted"])
    where = pd.MultiIndex.from_frame(table[["study", "host"]])
    return table.assign(untrusted=[place in doubted for place in where])[CONTRASTS]


def places(means: pd.DataFrame, claims: Iterable[Claim]) -> Iterator[tuple[Tested, Measured, Place]]:
    """Yield every claim that can be tested with the rows of its study, at every place that ran it."""
    measured = by_study(first_arms(means))
    for claim in claims:
        if not isinstance(claim, Untestable) and claim.study in measured:
            found, own = measured[claim.study], LANES.get(claim.study, "python")
            ran = sorted((one for one in found.places if claim.asks(one[1])), key=lambda place: place[1] != own)
            yield from ((claim, found, place) for place in ran)


@dataclass(frozen=True)
class Eligible:
    """The sides of a contrast that may be judged: what the product itself ran, through an adapter that has met it."""

    sides: Mapping[str, Side]
    missing: str  # why there is nothing to judge; empty when there is
    lacking: Mapping[str, str]  # of the claim's products in this contrast: why each is missing, empty if it is not
    left_out: str = ""  # what a ranking goes without, and why
    stand_in: bool = False  # whether a stand-in took some side's place
    open: bool = False  # whether all that is missing are blocks


def eligible(claim: Tested, levels: Mapping[str, Level], ran: Mapping[str, Side], blocks: int = LOOKS[0]) -> Eligible:
    """Return the sides of a contrast without those that no real product ran, or not in so many blocks."""
    engine: Settings = {name: level for name, level in {**claim.at, **levels}.items() if name == "engine"}
    every = {name: _lacking({**engine, **side}, ran.get(name), blocks) for name, side in claim.sides().items()}
    absent = {name: one for name, one in every.items() if one}
    sides = {name: side for name, side in ran.items() if name not in absent}
    able = bool(claim.needed() <= set(sides) and claim.ratios(sides))
    listed = grouped(absent.values())
    missing = "" if able else listed if ran else NOT_RUN
    lacking = {name: absent[name][1] if name in absent else "" for name in claim.products}
    if "engine" in levels:
        own = title(str(levels["engine"]))  # a side may be of another product
        why = "; ".join(dict.fromkeys(why for product, why in absent.values() if product == own)) if ran else NOT_RUN
        lacking = {str(levels["engine"]): "" if able else why}
    stand_in = any(side.stand_in for side in ran.values())
    few = any(name in ran and why == _few(ran[name]) for name, (_, why) in absent.items())
    return Eligible(sides, missing, lacking, listed if able else "", stand_in, open=few and not able)


def _lacking(wanted: Settings, side: Side | None, blocks: int) -> tuple[str, str] | None:
    """Return what of a side cannot be judged, its product where it has one, and why; None when it can."""
    levels = {name: value if isinstance(value, tuple) else (value,) for name, value in wanted.items()}
    product = " or ".join(title(str(one)) for one in levels.pop("engine", ()))
    named = ", ".join(f"{name}={' or '.join(map(text, some))}" for name, some in levels.items())
    if side is None:
        return (product, f"{NOT_RUN} with {named}" if named else NOT_RUN) if product else (named or "it", NOT_RUN)
    engine = str(side.settings.get("engine") or "")
    if side.stand_in:
        return title(engine), "had only a stand-in"
    if untested(engine):
        return title(engine), "ran through an untested adapter"
    return (title(engine) if engine else named or "it", _few(side)) if len(side.blocks) < blocks else None


def _few(side: Side) -> str:
    return f"ran in {len(side.blocks)} of the {LOOKS[0]} blocks of a first look"


def _contrasts(claim: Tested, found: Measured, place: Place) -> list[dict[str, Any]]:
    """Return the rows of one claim at one place."""
    wanted = claim.contrasts(place[1])
    every = [(levels, eligible(claim, levels, _ran(claim, levels, found, place))) for levels in wanted]
    leads = [len(claim.ratios(one.sides)) or 1 for _, one in every if one.open or not one.missing]
    allowed = errors(len(leads), sum(leads), most=claim.most)
    return [_row(claim, levels, one, allowed, place) for levels, one in every]


def _lanes(every: Iterable[tuple[Tested, Measured, Place]]) -> Iterator[tuple[Tested, Measured, str]]:
    """Yield every claim that can be tested with each lane that so many hosts ran that they have a mean."""
    for claim, found, place in every:
        hosts = [host for host, lane in found.places if lane == place[1]]
        if place[0] == hosts[0] and len(hosts) >= FEWEST:
            yield claim, found, place[1]


def _over_hosts(claim: Tested, found: Measured, lane: str) -> list[dict[str, Any]]:
    """Return the rows of one claim on hosts like those that ran a lane, of the contrasts that so many of them judge."""
    every = []
    for levels in claim.contrasts(lane):
        ran = [eligible(claim, levels, _ran(claim, levels, found, place)) for place in found.places if place[1] == lane]
        able = [one for one in ran if not one.missing and _shared(claim, one.sides) >= LOOKS[0]]
        alike = [one for one in able if set(one.sides) == set(able[0].sides)]
        if len(alike) >= FEWEST:
            every.append((levels, alike))
    leads = [len(claim.ratios(some[0].sides)) for _, some in every]
    allowed = errors(len(leads), sum(leads), most=claim.most)
    rows = []
    for levels, some in every:
        paper = published_ratio(claim, levels, some[0].sides)

        def at(error: float, some: Sequence[Eligible] = some, paper: PublishedRatio = paper) -> _Found:
            each = [
                over_hosts([effect(terms, one.sides, claim.divisor) for one in some], 1 - error)
                for terms in claim.ratios(some[0].sides)
            ]
            found = weakest(each)
            return _Found(found.blocks, 1 - error, found, *verdict_on(claim, found, paper))

        row = _about(claim, levels, some[0], (f"{len(some)} hosts", lane), paper)
        row |= _overall(at(ALPHA).effect)
        rows.append(_told(row, claim, _strict(at, allowed), paper, some[0].left_out))
    return rows


def asked(claim: Tested, levels: dict[str, Level]) -> dict[str, Settings]:
    """Return by a side's name all that a contrast asks of it."""
    common = {**claim.quantity.model_dump(), **claim.at, **levels}
    return {name: {**common, **side} for name, side in claim.sides().items()}


def _ran(claim: Tested, levels: dict[str, Level], found: Measured, place: Place) -> dict[str, Side]:
    return found.sides(place, asked(claim, levels), claim.statistic, claim.pooled)


def _row(claim: Tested, levels: dict[str, Level], one: Eligible, allowed: Errors, place: Place) -> dict[str, Any]:
    paper = published_ratio(claim, levels, None if one.missing else one.sides)
    row = _about(claim, levels, one, place, paper)
    if one.missing:
        return row
    if not (found := _looked_at(claim, one.sides, allowed, paper)):
        few = f"the sides share {_shared(claim, one.sides)} of the {LOOKS[0]} blocks of a first look"
        return {**row, "open": True, "why": few}
    row |= _overall(weakest([effect(terms, one.sides, claim.divisor) for terms in claim.ratios(one.sides)]))
    told = _told(row, claim, found, paper, one.left_out)
    return {**told, "look": LOOKS.index(found.blocks) + 1}


def _overall(found: Effect) -> dict[str, Any]:
    return dict(zip(OVERALL, (found.ratio, found.low, found.high, found.blocks), strict=True))


def _about(
    claim: Tested, levels: dict[str, Level], one: Eligible, place: Place, paper: PublishedRatio
) -> dict[str, Any]:
    """Return a contrast's row before anything is found."""
    row: dict[str, Any] = {"id": claim.id, "study": claim.study, "host": place[0], "lane": place[1]}
    row |= {"contrast": label(levels), "common": _common(claim, levels, one.sides)}
    row |= {"compare": claim.compare, "claimed": claim.direction}
    row |= {"margin": claim.tolerance, "published": paper.ratio, "published_source": paper.source, "confidence": nan}
    row |= {"stood": _stood(claim, one.sides), "stand_in": one.stand_in, "lacking": one.lacking, "test": "none"}
    row |= {"censored": any(side.censored.any() for side in one.sides.values()), "look": 0, "blocks": 0}
    row |= {"size": "", "decided": False, "open": one.open, "verdict": NOT_TESTABLE, "why": one.missing}
    return row | dict.fromkeys(("ratio", "low", "high", *DIFFERENCE, *OVERALL), nan) | {OVERALL[-1]: 0}


def _common(claim: Tested, levels: dict[str, Level], sides: Mapping[str, Side]) -> str:
    """Return the number of records that all sides of a contrast have, or over which their mean is taken."""
    if pooled := (claim.pooled or {}).get("n"):
        return f"mean over n={pooled[0]} to {pooled[-1]}"
    every = {side.settings.get("n") for side in sides.values()}
    return f"n={every.pop()}" if len(every) == 1 and None not in every and "n" not in levels else ""


def _told(row: dict[str, Any], claim: Tested, found: "_Found", paper: PublishedRatio, left_out: str) -> dict[str, Any]:
    """Return a contrast's row with what was found."""
    ends = found.effect
    row |= {"ratio": ends.ratio, "low": ends.low, "high": ends.high, "confidence": found.confidence, "test": ends.test}
    row |= dict(zip(DIFFERENCE, ends.difference, strict=True))
    row |= {"blocks": found.blocks, "verdict": found.verdict, "size": found.size}
    row |= {"decided": found.verdict in DECIDED, "open": found.verdict not in DECIDED}
    return {**row, "why": _words(claim, found, paper.ratio, left_out)}


@dataclass(frozen=True)
class _Found:
    """What one look found."""

    blocks: int
    confidence: float
    effect: Effect
    verdict: Verdict
    size: str


def _shared(claim: Tested, sides: Mapping[str, Side]) -> int:
    """Return in how many blocks every ratio of a contrast can be had."""
    return min(len(shared(sides[name] for _, name in terms)) for terms in claim.ratios(sides))


def _looked_at(claim: Tested, sides: Mapping[str, Side], allowed: Errors, paper: PublishedRatio) -> _Found | None:
    """Return what the first look found that left nothing open, else the last; None before the first.

    What has a direction keeps it: later looks can only say more of its size.
    """
    found: _Found | None = None
    count = _shared(claim, sides)
    for blocks in (look for look in LOOKS if look <= count):
        new = _look(claim, sides, blocks, allowed, paper)
        if found is None or found.verdict not in DECIDED or (found.size == "open" and new.size in ("met", "missed")):
            found = new
        if found.verdict in DECIDED and found.size != "open":
            break
    return found


def _look(claim: Tested, sides: Mapping[str, Side], blocks: int, allowed: Errors, paper: PublishedRatio) -> _Found:
    def at(error: float) -> _Found:
        sure = confidence(blocks, error)
        found = weakest([effect(terms, sides, claim.divisor, sure, blocks) for terms in claim.ratios(sides)])
        return _Found(blocks, sure, found, *verdict_on(claim, found, paper))

    return _strict(at, allowed)


def _strict(at: Callable[[float], _Found], allowed: Errors) -> _Found:
    """Return what is found at the error that is allowed: contradicting a claim may be allowed a smaller one."""
    found = at(allowed.bearing_out)
    return at(allowed.contradicting) if found.verdict == "contradicted" else found


def verdict_on(claim: Tested, found: Effect, paper: PublishedRatio) -> tuple[Verdict, str]:
    """Return the verdict on a contrast, and whether its size is met, missed or open; empty where that is not asked."""
    if isinstance(claim, Rank):
        return judge(found, "more", claim.margin), ""  # an order has no size
    assert isinstance(claim, Directed | Bound)
    bound = replace(found, ratio=found.ratio / claim.than, low=found.low / claim.than, high=found.high / claim.than)
    size = None if claim.than != 1 or paper.ratio != paper.ratio else (paper.low, paper.high)
    verdict = judge(bound, claim.claimed, claim.tolerance, size, claim.margin_difference)
    if size is None or claim.claimed == "equal" or verdict not in ("reproduced", "direction only"):
        return verdict, ""
    return verdict, {True: "met", False: "missed", None: "open"}[met(bound, size)]


def grouped(lacking: Iterable[tuple[str, str]]) -> str:
    """Return what is lacking, and why, the reason once: ``A and B did not run; C had only a stand-in``."""
    names: dict[str, list[str]] = {}
    for what, why in dict.fromkeys(lacking):
        names.setdefault(why, []).append(what)
    joined = {why: " and ".join(filter(None, (", ".join(some[:-1]), some[-1]))) for why, some in names.items()}
    return "; ".join(f"{some} {why}" for why, some in joined.items())


def _stood(claim: Tested, sides: Mapping[str, Side]) -> str:
    """Return which of the alternatives that the claim allows stood on each side."""
    parts = []
    for name, side in sides.items():
        own: Settings = getattr(claim, name.partition(" ")[0], {})
        open_ = [key for key, value in {**claim.at, **own}.items() if isinstance(value, tuple)]
        chosen = [f"{key}={text(side.settings[key])}" for key in open_ if key in side.settings]
        parts += [f"{name}: {', '.join(chosen)}"] if chosen else []
    return "; ".join(parts)


def _words(claim: Tested, found: _Found, size: float, left_out: str) -> str:
    """Return what one contrast found."""
    said = [_found_words(claim, found.effect)]
    if size == size:
        said.append(f"published {number(size)}" + ("; size open" if found.size == "open" else ""))
    return "; ".join([*said, left_out] if left_out else said)


def _found_words(claim: Tested, found: Effect) -> str:
    blocks = f"{found.blocks} block{'' if found.blocks == 1 else 's'}"
    if found.low == found.low:
        name = "smallest lead " if isinstance(claim, Rank) else ""
        of = f" times {claim.against}" if isinstance(claim, Bound) else ""
        bound = f"; {found.reason}" if found.reason else ""
        return f"{name}{estimate(found.ratio, found.low, found.high)}{of} in {blocks}{bound}"
    if not isnan(found.difference[1]):
        ends = interval(*found.difference, found.unit, sign="+")
        of = f" from {claim.against}" if isinstance(claim, Bound) else ""
        return f"the difference{of} is {ends} {found.unit} in {blocks}; {found.reason}"
    ratio = f"{number(found.ratio)} in {blocks}; " if found.ratio == found.ratio else ""
    return f"{ratio}{found.reason}"
