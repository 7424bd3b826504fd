"""Every claim of the papers against what was measured: a verdict each, and why."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, nan
from typing import Any, Final

import pandas as pd

from benchbook.compliance import untested
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
from benchbook.evidence.comparisons import controls as identical_arms
from benchbook.evidence.comparisons import figures, first_arms, untrusted
from benchbook.evidence.judge import (
    ALPHA,
    IN_PART,
    NOT_TESTABLE,
    UNPAIRED,
    Effect,
    Verdict,
    across,
    effect,
    judge,
    share,
    together,
    weakest,
)
from benchbook.evidence.means import ended
from benchbook.evidence.published import PublishedRatio, text
from benchbook.evidence.sides import Measured, Place, Side, by_study
from benchbook.registry import title

SURE: Final = 1 - ALPHA
"""The confidence of an interval, and the share of bootstrap resamples in which a ranking must hold to be reproduced."""

NOT_RUN: Final = "did not run"

LANES: Final = {"bookstore": "java", "tcp": "java", "drivers": "node"}
"""The lane of each paper's own stack, where it is one of ours; the first lane of the others is Python's."""

CONTRASTS: Final = [
    *("id", "study", "host", "lane", "contrast", "compare", "claimed", "margin", "ratio", "low", "high", "confidence"),
    *("published", "published_source", "blocks", "test", "share", "stood", "stand_in", "censored"),
    *("untrusted", "verdict", "lacking", "why"),
]
VERDICTS: Final = [
    *("id", "study", "says", "where", "compare", "claimed", "margin", "host", "lane", "verdict", "wording"),
    *("products_judged", "products", "products_missing", "judged", "contrasts"),
    *("contrast", "ratio", "low", "high", "published", "published_source", "blocks", "untrusted", "why"),
]


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
        in which a ranking holds; ``stood`` says what ran in place of alternatives and defaults; ``lacking``, of a claim
        over several products, why each of those that this contrast holds is missing, empty where it is not.

    References
    ----------
    Berger, Technometrics 24 (1982) 295-300, of intersection-union tests.
    """
    doubted = untrusted(identical_arms(means) if controls is None else controls)
    wanted = claim_files.claims() if claims is None else claims
    rows = [row for claim, found, place in places(means, wanted) for row in _contrasts(claim, found, place)]
    table = pd.DataFrame(rows, columns=[name for name in CONTRASTS if name != "untrusted"])
    where = pd.MultiIndex.from_frame(table[["study", "host"]])
    return table.assign(untrusted=[place in doubted for place in where])[CONTRASTS]


def verdicts(contrasts: pd.DataFrame, claims: Iterable[Claim] | None = None) -> pd.DataFrame:
    """Return every claim with its verdict, a row for each host and lane that ran its study, the paper's lane first.

    A claim over several products (the fastest of six; in each of three) is judged on those that ran here. It is of all
    of them, so that one product that contradicts it is enough, whatever the others say or would: the correction for the
    contrasts that ran keeps such mistakes to 5 %. Where all that ran bear it out, each at 95 %, the intersection-union
    test speaks of these products and of no other: the verdict is *reproduced in part*, counted apart, and its
    ``wording``, like that of every verdict which a missing product could change, says of how many. A stand-in, or an
    adapter that has met no server, is no product that ran. A size that did not run is no missing product: a product
    counts as judged where any contrast judged it, and ``why`` names the others.

    Parameters
    ----------
    contrasts
        As `judged` returns them of the same claims.
    claims
        What is judged; None for all of `data/claims`.

    Returns
    -------
    pandas.DataFrame
        Columns `VERDICTS`. ``verdict`` is one of `benchbook.evidence.judge.VERDICTS`, ``wording`` what is printed for
        it; ``products_judged`` of the ``products`` that the claim is over could be judged, 0 of 0 where these are not
        several, and ``products_missing`` names the others with the reason; ``judged`` of ``contrasts`` could be judged;
        ``contrast, ratio, low, high, published, blocks`` are those of the one that decided; ``why`` says in words what
        was found. ``untrusted`` is True when identical arms of the study differed on that host.
    """
    by_claim: dict[str, dict[Place, list[Mapping[Any, Any]]]] = {}
    for row in contrasts.to_dict("records"):
        by_claim.setdefault(row["id"], {}).setdefault((row["host"], row["lane"]), []).append(row)
    wanted = claim_files.claims() if claims is None else claims
    rows = [row for claim in wanted for row in _verdicts(claim, by_claim.get(claim.id, {}))]
    return pd.DataFrame(rows, columns=VERDICTS)


def places(means: pd.DataFrame, claims: Iterable[Claim]) -> Iterator[tuple[Tested, Measured, Place]]:
    """Yield every claim that can be tested with the rows of its study, at every place that ran it."""
    measured = by_study(ended(first_arms(means)))
    for claim in claims:
        if not isinstance(claim, Untestable) and claim.study in measured:
            found, own = measured[claim.study], LANES.get(claim.study, "python")
            asked = sorted((one for one in found.places if claim.asks(one[1])), key=lambda place: place[1] != own)
            yield from ((claim, found, place) for place in asked)


@dataclass(frozen=True)
class Eligible:
    """The sides of a contrast that may be judged: what the product itself ran, through an adapter that has met it."""

    sides: Mapping[str, Side]
    missing: str  # why there is nothing to judge; empty when there is
    lacking: Mapping[str, str]  # of the claim's products in this contrast: why each is missing, empty if it is not
    left_out: str = ""  # what a ranking goes without, and why
    stand_in: bool = False  # whether a stand-in took some side's place


def eligible(claim: Tested, levels: Mapping[str, Level], ran: Mapping[str, Side]) -> Eligible:
    """Return the sides of a contrast without those that no real product ran."""
    engine: Settings = {name: level for name, level in {**claim.at, **levels}.items() if name == "engine"}
    every = {name: _lacking({**engine, **side}, ran.get(name)) for name, side in claim.sides().items()}
    absent = {name: one for name, one in every.items() if one}
    sides = {name: side for name, side in ran.items() if name not in absent}
    able = bool(claim.needed() <= set(sides) and claim.ratios(sides))
    listed = _grouped(absent.values())
    missing = "" if able else listed if ran else NOT_RUN
    lacking = {name: absent[name][1] if name in absent else "" for name in claim.products}
    if "engine" in levels:
        own = title(str(levels["engine"]))  # a side may be of another product
        why = "; ".join(dict.fromkeys(why for product, why in absent.values() if product == own)) if ran else NOT_RUN
        lacking = {str(levels["engine"]): "" if able else why}
    stand_in = any(side.stand_in for side in ran.values())
    return Eligible(sides, missing, lacking, listed if able else "", stand_in)


def _lacking(wanted: Settings, side: Side | None) -> tuple[str, str] | None:
    """Return what of a side cannot be judged, its product where it has one, and why; None when it can."""
    if side is None:
        levels = {name: value if isinstance(value, tuple) else (value,) for name, value in wanted.items()}
        product = " or ".join(title(str(one)) for one in levels.pop("engine", ()))
        named = ", ".join(f"{name}={' or '.join(map(text, some))}" for name, some in levels.items())
        return (product, f"{NOT_RUN} with {named}" if named else NOT_RUN) if product else (named or "it", NOT_RUN)
    engine = str(side.settings.get("engine") or "")
    if side.stand_in:
        return title(engine), "had only a stand-in"
    return (title(engine), "ran through an untested adapter") if untested(engine) else None


def _contrasts(claim: Tested, found: Measured, place: Place) -> list[dict[str, Any]]:
    """Return the rows of one claim at one place."""
    every = [
        (levels, eligible(claim, levels, _ran(claim, levels, found, place))) for levels in claim.contrasts(place[1])
    ]
    tests = sum(len(claim.ratios(one.sides)) for _, one in every if not one.missing)
    return [_row(claim, levels, one, 1 - ALPHA / max(tests, 1), place) for levels, one in every]


def asked(claim: Tested, levels: dict[str, Level]) -> dict[str, Settings]:
    """Return by a side's name all that a contrast asks of it."""
    common = {**claim.quantity.model_dump(), **claim.at, **levels}
    return {name: {**common, **side} for name, side in claim.sides().items()}


def _ran(claim: Tested, levels: dict[str, Level], found: Measured, place: Place) -> dict[str, Side]:
    return found.sides(place, asked(claim, levels), claim.statistic, claim.pooled)


def _row(claim: Tested, levels: dict[str, Level], one: Eligible, corrected: float, place: Place) -> dict[str, Any]:
    sides = one.sides
    paper = published_ratio(claim, levels, None if one.missing else sides)
    row: dict[str, Any] = {"id": claim.id, "study": claim.study, "host": place[0], "lane": place[1]}
    row |= {"contrast": label(levels), "compare": claim.compare, "claimed": claim.direction}
    row |= {"margin": claim.tolerance, "published": paper.ratio, "published_source": paper.source, "confidence": nan}
    row |= {"stood": _stood(claim, sides), "stand_in": one.stand_in, "lacking": one.lacking}
    row |= {"censored": any(side.censored.any() for side in sides.values()), "blocks": 0, "test": "none"}
    row |= dict.fromkeys(("ratio", "low", "high", "share"), nan)
    if one.missing:
        return {**row, "verdict": NOT_TESTABLE, "why": one.missing}
    ratios = claim.ratios(sides)
    held = share(ratios, sides) if isinstance(claim, Rank) else nan

    def at(confidence: float) -> tuple[float, Effect, Verdict]:
        found = weakest([effect(terms, sides, claim.divisor, confidence) for terms in ratios])
        return confidence, found, _verdict(claim, found, held, paper)

    confidence, found, verdict = at(corrected if claim.most else SURE)
    if verdict == "contradicted" and confidence != corrected:
        confidence, found, verdict = at(corrected)
    row |= {"ratio": found.ratio, "low": found.low, "high": found.high, "confidence": confidence, "share": held}
    row |= {"blocks": found.blocks, "test": found.test}
    why = _contrast_words(claim, found, held, paper.ratio, one.left_out)
    return {**row, "verdict": verdict, "why": why}


def _verdict(claim: Tested, found: Effect, held: float, paper: PublishedRatio) -> Verdict:
    if isinstance(claim, Rank):
        verdict = judge(found, "more", claim.margin)  # an order has no size
        return "inconclusive" if verdict in ("reproduced", "direction only") and not held >= SURE else verdict
    assert isinstance(claim, Directed | Bound)
    bound = replace(found, ratio=found.ratio / claim.than, low=found.low / claim.than, high=found.high / claim.than)
    size = None if claim.than != 1 or paper.ratio != paper.ratio else (paper.low, paper.high)
    return judge(bound, claim.claimed, claim.tolerance, size)


def _verdicts(claim: Claim, found: Mapping[Place, Sequence[Mapping[Any, Any]]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one claim: one a place, or one that says why there is none."""
    about: dict[str, Any] = {name: getattr(claim, name) for name in ("id", "study", "says", "where", "compare")}
    nothing = dict.fromkeys(VERDICTS, "") | dict.fromkeys(("margin", "ratio", "low", "high", "published"), nan)
    nothing |= {"verdict": NOT_TESTABLE, "wording": NOT_TESTABLE, "untrusted": False}
    nothing |= dict.fromkeys(("products_judged", "products", "judged", "contrasts", "blocks"), 0)
    if isinstance(claim, Untestable):
        yield {**nothing, **about, "why": claim.why}
        return
    about |= {"claimed": claim.direction, "margin": claim.tolerance}
    about |= {"contrasts": len(claim.contrasts()), "products": len(claim.products)}
    if not found:
        missing = _grouped((title(name), NOT_RUN) for name in claim.products)
        yield {**nothing, **about, "products_missing": missing, "why": f"nothing of {claim.study} ran here"}
    for (host, lane), rows in found.items():
        yield {**about, "contrasts": len(rows), "host": host, "lane": lane, **_overall(claim, rows)}


def _overall(claim: Tested, rows: Sequence[Mapping[Any, Any]]) -> dict[str, Any]:
    """Return one claim's verdict at one place, with the numbers of the contrast that decided."""
    found = _combined(claim, rows)
    able = [row for row in rows if row["verdict"] != NOT_TESTABLE]
    decided = next((row for row in able if row["verdict"] == found), (able or rows)[0])
    ran = {name for row in able for name, why in row["lacking"].items() if not why}
    missing = _missing(claim, rows, ran)
    among = f" {'among' if isinstance(claim, Rank) else 'in'} {len(ran)} of the {len(claim.products)} products"
    final = found == NOT_TESTABLE or (found == "contradicted" and not claim.most)  # whatever a missing one would say
    names = ("contrast", "ratio", "low", "high", "published", "published_source", "blocks", "untrusted")
    return {
        **{name: decided[name] for name in names},
        "verdict": IN_PART if missing and found == "reproduced" else found,
        "wording": found + (among if missing and not final else ""),
        "products_judged": len(ran),
        "products_missing": missing,
        "judged": len(able),
        "why": _overall_words(rows),
    }


def _combined(claim: Tested, rows: Sequence[Mapping[Any, Any]]) -> Verdict:
    """Return the verdict from those of the contrasts; where each is of one product, from the products' own."""
    if claim.most:
        return together((row["verdict"] for row in rows), most=True)
    by_product: dict[tuple[str, ...], list[Verdict]] = {}
    for row in rows:
        by_product.setdefault(tuple(row["lacking"]), []).append(row["verdict"])
    return across(map(together, by_product.values()))


def _missing(claim: Tested, rows: Sequence[Mapping[Any, Any]], ran: Collection[str]) -> str:
    """Return which products no contrast judged, and why; of what ran and could not be judged, nothing."""
    found = []
    able = any(row["verdict"] != NOT_TESTABLE for row in rows)
    for product in claim.products:
        every = [row["lacking"][product] for row in rows if product in row["lacking"]]
        if product not in ran and all(every):
            found.append((title(product), max(every, key=lambda why: why != NOT_RUN)))  # rather what stood in for it
        elif product not in ran and able:
            found.append((title(product), "ran in other contrasts only"))
    return _grouped(found)


def _grouped(lacking: Iterable[tuple[str, str]]) -> str:
    """Return what is lacking, and why, the reason once: ``A and B did not run; C had only a stand-in``."""
    names: dict[str, list[str]] = {}
    for what, why in dict.fromkeys(lacking):
        names.setdefault(why, []).append(what)
    joined = {why: " and ".join(filter(None, (", ".join(some[:-1]), some[-1]))) for why, some in names.items()}
    return "; ".join(f"{some} {why}" for why, some in joined.items())


def _contrast_words(claim: Tested, found: Effect, held: float, size: float, left_out: str) -> str:
    """Return what one contrast found."""
    said = [_found_words(claim, found)]
    if held == held:
        said.append(f"the order holds in {held:.1%} of resamples of the blocks")
    if size == size:
        said.append(f"published {figures(size)}")
    return "; ".join([*said, left_out] if left_out else said)


def _stood(claim: Tested, sides: Mapping[str, Side]) -> str:
    """Return which of the alternatives that the claim allows stood on each side."""
    parts = []
    for name, side in sides.items():
        own: Settings = getattr(claim, name.partition(" ")[0], {})
        open_ = [key for key, value in {**claim.at, **own}.items() if isinstance(value, tuple)]
        chosen = [f"{key}={text(side.settings[key])}" for key in open_ if key in side.settings]
        parts += [f"{name}: {', '.join(chosen)}"] if chosen else []
    return "; ".join(parts)


def _overall_words(rows: Sequence[Mapping[Any, Any]]) -> str:
    """Return why a claim has its verdict: what each contrast found, those that say the same verdict counted."""
    if len(rows) == 1:
        return str(rows[0]["why"])
    able = [row for row in rows if row["verdict"] != NOT_TESTABLE]
    counts = Counter(row["verdict"] for row in able)
    counted = ", ".join(f"{one} in {count} of {len(able)} contrasts" for one, count in counts.items())
    listed = [f"{row['contrast']}: {row['why']}" for row in able]
    absent: dict[str, list[str]] = {}
    for row in rows:
        if row["verdict"] == NOT_TESTABLE:
            absent.setdefault(row["why"], []).append(row["contrast"])
    missing = [f"{why}: {_listed(names, len(rows))}" for why, names in absent.items()]
    return "; ".join(([f"{counted}: {listed[0]}", *listed[1:]] if able else []) + missing)


def _listed(names: Sequence[str], of: int) -> str:
    """Return the contrasts' names, or how many they are."""
    if len(names) == of:
        return f"all {of} contrasts"
    return " and ".join(names) if len(names) < 4 else f"{len(names)} of {of} contrasts, {names[0]} to {names[-1]}"


def _found_words(claim: Tested, found: Effect) -> str:
    blocks = f"{found.blocks} block{'' if found.blocks == 1 else 's'}"
    if found.low == found.low:
        how = f"{blocks}, unpaired" if found.test == UNPAIRED else blocks
        name = "smallest lead " if isinstance(claim, Rank) else ""
        bound = f"; {found.reason}" if found.reason else ""
        return f"{name}{figures(found.ratio)} ({_end(found.low)} to {_end(found.high)}) in {how}{bound}"
    if found.difference[1] == found.difference[1]:
        _, low, high = found.difference
        return f"the difference is {low:+.3g} to {high:+.3g} {found.unit} in {blocks}; {found.reason}"
    estimate = f"{figures(found.ratio)} in {blocks}; " if found.ratio == found.ratio else ""
    return f"{estimate}{found.reason}"


def _end(value: float) -> str:
    return "any more" if value == inf else "0" if value == 0 else figures(value)
