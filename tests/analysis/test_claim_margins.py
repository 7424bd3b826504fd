"""No margin asks of the paper's own numbers what they do not show, unless the claim says so."""

from itertools import product

import pytest

from benchbook.analysis.claim_files import load_claims
from benchbook.analysis.claims import AnyMeasuredClaim as MeasuredClaim
from benchbook.analysis.claims import (
    UnmeasuredClaim,
    find_published_ratio,
    format_levels,
)
from benchbook.analysis.published import find_published_number

MEASURED = [claim for claim in load_claims() if not isinstance(claim, UnmeasuredClaim)]
JUDGED = [claim for claim in MEASURED if not claim.fact]


def not_borne_out(claim: MeasuredClaim) -> list[str]:
    """Return the comparisons in which the paper's own ratio is not what the claim says."""
    failing = []
    for levels in claim.list_combinations():
        for terms in claim.list_terms():
            paper = find_published_ratio(claim, levels, terms).ratio / claim.than
            inside = 1 / claim.margin <= paper <= claim.margin
            beyond = {"more": paper > claim.margin, "less": paper < 1 / claim.margin}
            expected = {**beyond, "equal": inside, "different": not inside}
            is_printed = paper == paper
            if is_printed and not expected[claim.find_direction(terms)]:
                failing.append(f"{format_levels(levels)}: {terms} {paper:.3g}")
    return failing


@pytest.mark.parametrize("claim", JUDGED, ids=lambda claim: claim.id)
def test_the_papers_own_ratio_is_beyond_the_margin_or_the_claim_says_why_not(
    claim: MeasuredClaim,
) -> None:
    assert claim.in_the_paper or not not_borne_out(claim)


def test_many_claims_are_compared_with_printed_numbers() -> None:
    printed = [
        claim
        for claim in JUDGED
        if any(
            find_published_ratio(claim, levels, terms).ratio > 0
            for levels, terms in product(claim.list_combinations(), claim.list_terms())
        )
    ]
    assert len(printed) > 50


def test_each_number_in_a_margin_has_its_reason_and_likeness_of_the_drivers_is_a_quarter() -> None:
    assert [claim.id for claim in MEASURED if not claim.why_margin.strip()] == []
    alike = [
        claim
        for claim in JUDGED
        if claim.study == "drivers" and claim.claimed_text == "equal" and claim.than == 1
    ]
    assert len(alike) >= 9
    assert {claim.margin for claim in alike} == {1.25}


def test_the_numbers_that_facts_quote_are_printed() -> None:
    quoted = []
    for claim in load_claims():
        if isinstance(claim, UnmeasuredClaim):
            quoted += [(claim.study, key) for key in claim.published.values()]
    assert quoted
    assert [key for study, key in quoted if find_published_number(study, *key) is None] == []
