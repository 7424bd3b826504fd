"""No margin asks of the paper's own numbers what they do not show, unless the claim says why."""

from collections import Counter

import pytest

from benchbook import evidence, paths
from benchbook.evidence.claims import Bound, Directed, Level, Rank, Ratio, Untestable, published_ratio
from benchbook.evidence.claims import Tested as Statement

CLAIMS = [claim for claim in evidence.claims() if not isinstance(claim, Untestable | Bound)]


def borne_out(claim: Statement, levels: dict[str, Level]) -> bool | None:
    """Return whether the paper's own ratio is beyond the margin, or within it for "equal"; None without a ratio."""
    paper = published_ratio(claim, levels).ratio / claim.than
    if paper != paper:
        return None
    claimed = claim.claimed if isinstance(claim, Directed) else "more"  # a ranking's smallest lead
    beyond = {"more": paper > claim.margin, "less": paper < 1 / claim.margin}
    inside = 1 / claim.margin <= paper <= claim.margin
    return {**beyond, "equal": inside, "different": not inside}[claimed]


def of_paper(claim: Statement) -> list[bool]:
    return [one for levels in claim.contrasts() if (one := borne_out(claim, levels)) is not None]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_the_papers_own_ratio_is_beyond_the_margin_or_the_claim_says_why_not(claim: Statement) -> None:
    found = of_paper(claim)
    holds = sum(found) * 2 > len(found) if claim.most else all(found)
    if not found or holds:
        assert not claim.why_within, "a reason for what is not so"
    else:
        named = [levels for levels in claim.contrasts() if borne_out(claim, levels) is False]
        assert claim.why_within, f"published {[published_ratio(claim, one).ratio for one in named]} in {named}"


def test_the_papers_own_numbers_bear_out_all_but_fifteen_claims() -> None:
    assert Counter(claim.study for claim in CLAIMS if claim.why_within) == {"bookstore": 1, "crud": 13, "tcp": 1}


def test_the_docs_count_the_claims() -> None:
    every = evidence.claims()
    untestable = sum(isinstance(claim, Untestable) for claim in every)
    words = " ".join((paths.root() / "docs" / "method.md").read_text().split())
    assert f"mapped to some of {len(every)} claims" in words
    assert f"{untestable} no observation here can answer" in words
    assert f"its own numbers do not bear it out ({sum(bool(claim.why_within) for claim in CLAIMS)} do not)" in words


def test_a_ranking_and_a_ratio_are_held_against_what_is_printed() -> None:
    counted = [claim for claim in CLAIMS if of_paper(claim)]
    assert {type(claim) for claim in counted} >= {Rank, Ratio}
    assert len(counted) > 50


def test_differences_have_a_margin_in_the_metrics_unit_where_values_may_be_zero_or_negative() -> None:
    signed = [claim for claim in evidence.claims() if not isinstance(claim, Untestable)]
    wanting = [one.id for one in signed if one.quantity.metric == "memory_change_kb" and one.margin_difference is None]
    assert wanting == []
