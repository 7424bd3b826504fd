"""Every claim of the papers against what was measured: a verdict each, and why."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import inf, log, nan
from typing import Any, Final

import pandas as pd

from benchbook.evidence import claim_files
from benchbook.evidence.claims import Claim, Rank, Tested, Untestable
from benchbook.evidence.contrasts import NOT_RUN, OVERALL, grouped
from benchbook.evidence.judge import IN_PART, NOT_TESTABLE, Verdict, together
from benchbook.evidence.sides import Place
from benchbook.registry import title

VERDICTS: Final = [
    *("id", "study", "says", "where", "compare", "claimed", "margin", "host", "lane", "verdict", "wording"),
    *("products_judged", "products", "products_missing", "judged", "contrasts"),
    *("contrast", "common", "ratio", "low", "high", *OVERALL, "published", "published_source", "look", "blocks"),
    *("open", "untrusted", "why"),
]


def verdicts(contrasts: pd.DataFrame, claims: Iterable[Claim] | None = None) -> pd.DataFrame:
    """Return every claim with its verdict, a row for each host and lane that ran its study, the paper's lane first.

    `benchbook.evidence.judge.together` says how the contrasts' verdicts make one: a claim of every size, product or
    ranking falls by one contrast that contradicts it, and is not open because one is; its ``wording`` counts those that
    say otherwise. A claim over several products (the fastest of six; in each of three) is judged on those that ran
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
        Columns `VERDICTS`. ``verdict`` is one of `benchbook.evidence.judge.VERDICTS`, ``wording`` what is printed for
        it; ``products_judged`` of the ``products`` that the claim is over could be judged, 0 of 0 where these are not
        several, and ``products_missing`` names the others with the reason; ``judged`` of ``contrasts`` could be judged;
        ``contrast, common, ratio, low, high, overall, published, look, blocks`` are those of the one that decided;
        ``open`` names those that more blocks may still decide; ``why`` says in words what was found. ``untrusted`` is
        True when identical arms of the study differed on that host.
    """
    by_claim: dict[str, dict[Place, list[Mapping[Any, Any]]]] = {}
    for row in contrasts.to_dict("records"):
        by_claim.setdefault(row["id"], {}).setdefault((row["host"], row["lane"]), []).append(row)
    wanted = claim_files.claims() if claims is None else claims
    rows = [row for claim in wanted for row in _verdicts(claim, by_claim.get(claim.id, {}))]
    return pd.DataFrame(rows, columns=VERDICTS)


def _verdicts(claim: Claim, found: Mapping[Place, Sequence[Mapping[Any, Any]]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one claim: one a place, or one that says why there is none."""
    about: dict[str, Any] = {name: getattr(claim, name) for name in ("id", "study", "says", "where", "compare")}
    nothing = dict.fromkeys(VERDICTS, "") | dict.fromkeys(("margin", "ratio", "low", "high", "published"), nan)
    nothing |= {"verdict": NOT_TESTABLE, "wording": NOT_TESTABLE, "untrusted": False}
    nothing |= dict.fromkeys(OVERALL, nan) | {"overall_blocks": 0}
    nothing |= dict.fromkeys(("products_judged", "products", "judged", "contrasts", "look", "blocks"), 0)
    if isinstance(claim, Untestable):
        yield {**nothing, **about, "why": claim.why}
        return
    about |= {"claimed": claim.direction, "margin": claim.tolerance}
    about |= {"contrasts": len(claim.contrasts()), "products": len(claim.products)}
    if not found:
        missing = grouped((title(name), NOT_RUN) for name in claim.products)
        asked = f" in {' or '.join(claim.lanes)}" if claim.lanes else ""
        yield {**nothing, **about, "products_missing": missing, "why": f"nothing of {claim.study} ran here{asked}"}
    for (host, lane), rows in found.items():
        yield {**about, "contrasts": len(rows), "host": host, "lane": lane, **_overall(claim, rows)}


def _overall(claim: Tested, rows: Sequence[Mapping[Any, Any]]) -> dict[str, Any]:
    """Return one claim's verdict at one place, with the numbers of the contrast that decided."""
    able = [row for row in rows if row["verdict"] != NOT_TESTABLE]
    counts: Counter[Verdict] = Counter(row["verdict"] for row in able)
    found = together(counts.elements(), most=claim.most)
    decided = _decisive(found, claim, able) if able else rows[0]
    ran = {name for row in able for name, why in row["lacking"].items() if not why}
    missing = _missing(claim, rows, ran)
    among = f" {'among' if isinstance(claim, Rank) else 'in'} {len(ran)} of the {len(claim.products)} products"
    among = f";{among}" if len(counts) > 1 else among
    final = found == NOT_TESTABLE or (found == "contradicted" and not claim.most)  # whatever a missing one would say
    names = ("contrast", "common", "ratio", "low", "high", *OVERALL, "published", "published_source", "look", "blocks")
    return {
        **{name: decided[name] for name in (*names, "untrusted")},
        "verdict": IN_PART if missing and found == "reproduced" else found,
        "wording": _counted(found, counts) + (among if missing and not final else "") + _of_size(found, able),
        "products_judged": len(ran),
        "products_missing": missing,
        "judged": len(able),
        "open": "; ".join(row["contrast"] or claim.id for row in rows if row["open"]),
        "why": _overall_words(rows),
    }


def _decisive(found: Verdict, claim: Tested, able: Sequence[Mapping[Any, Any]]) -> Mapping[Any, Any]:
    """Return the contrast on which a verdict rests: what contradicts most, what bears out least, or what is widest."""
    if found == "contradicted":
        return max((row for row in able if row["verdict"] == found), key=lambda row: -_beyond(row, against=True))
    of = {IN_PART: "reproduced", "direction only": "direction only"}.get(found, found)
    rest = [row for row in able if row["verdict"] == of] or able
    held = sorted(rest, key=_beyond, reverse=True)
    return held[min(len(able) // 2, len(held) - 1)] if claim.most else held[-1]


def _beyond(row: Mapping[Any, Any], *, against: bool = False) -> float:
    """Return by how much, as a logarithm, a contrast's interval lies on the claimed side of 1; `against`: its far end.

    Of what is claimed to be equal, minus by how much the nearer or the farther end is off.
    """
    ends = [log(end) if 0 < end < inf else (inf if end else -inf) for end in (row["low"], row["high"])]
    if any(end != end for end in ends):
        return -inf if not against else inf
    if row["claimed"] == "equal":
        near = max(ends[0], -ends[1], 0.0)
        return -near if against else -max(map(abs, ends))
    low, high = (-ends[1], -ends[0]) if row["claimed"] == "less" else ends
    return high if against else low


def _counted(found: Verdict, counts: Mapping[Verdict, int]) -> str:
    """Return a verdict, with how many contrasts say so and what the others say, where they differ."""
    if len(counts) < 2:
        return found
    every = sum(counts.values())
    first = "reproduced" if found == IN_PART else found
    shown = sorted(counts, key=lambda one: (one != first, -counts[one]))
    said = [f"{'open' if one == 'inconclusive' else one} in {counts[one]}" for one in shown]
    said[0] = f"{first} in {counts[first]} of {every} contrasts" if first in counts else f"{first}: {said[0]}"
    return ", ".join(said)


def _of_size(found: Verdict, able: Sequence[Mapping[Any, Any]]) -> str:
    """Return that only the size is open, where nothing else keeps a claim from being reproduced."""
    sizes = {row["size"] for row in able if row["verdict"] == "direction only"}
    return "; size open" if found == "direction only" and sizes == {"open"} else ""


def _missing(claim: Tested, rows: Sequence[Mapping[Any, Any]], ran: Collection[str]) -> str:
    """Return which products no contrast judged, and why; of what ran and could not be judged, nothing."""
    found = []
    able = any(row["verdict"] != NOT_TESTABLE for row in rows)
    for product in claim.products:
        every = [row["lacking"][product] for row in rows if product in row["lacking"]]
        if product not in ran and all(every):
            why = max(every, key=lambda why: why != NOT_RUN, default=NOT_RUN)  # rather what stood in for it
            found.append((title(product), why))
        elif product not in ran and able:
            found.append((title(product), "ran in other contrasts only"))
    return grouped(found)


def _overall_words(rows: Sequence[Mapping[Any, Any]]) -> str:
    """Return why a claim has its verdict: what each contrast found, and which were not judged."""
    if len(rows) == 1:
        return str(rows[0]["why"])
    able = [row for row in rows if row["verdict"] != NOT_TESTABLE]
    listed = [f"{row['contrast']}: {row['why']}" for row in able]
    absent: dict[str, list[str]] = {}
    for row in rows:
        if row["verdict"] == NOT_TESTABLE:
            absent.setdefault(row["why"], []).append(row["contrast"])
    missing = [f"{why}: {_listed(names, len(rows))}" for why, names in absent.items()]
    return "; ".join(listed + missing)


def _listed(names: Sequence[str], of: int) -> str:
    """Return the contrasts' names, or how many they are."""
    if len(names) == of:
        return f"all {of} contrasts"
    return " and ".join(names) if len(names) < 4 else f"{len(names)} of {of} contrasts, {names[0]} to {names[-1]}"
