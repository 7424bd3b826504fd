"""From observations to verdicts: each verdict, and what may not lead to one, on small frames of known answers."""

import json
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from benchbook import cli, evidence, grid, results, studies
from benchbook.evidence import runs
from benchbook.evidence.claims import Claim, published_ratio
from benchbook.evidence.effects import Effect, weakest
from benchbook.evidence.judge import NOT_TESTABLE, VERDICTS, errors, judge, together
from benchbook.results import OBSERVATIONS, typed
from benchbook.stats import sequential

ROOT = Path(__file__).parents[1]
TIME = {"operation": "insert", "role": "client", "metric": "elapsed_time"}
A, B, C = "postgresql+relational", "mongodb", "postgresql+jsonb"
STEADY = [0.99, 1.0, 1.01, 1.0, 1.0]
MOOD = np.array([1.0, 1.3, 0.8, 1.1, 0.9])


def claim(**parts: Any) -> Claim:
    common = {"id": "crud.it", "says": "It is so.", "where": "Table II", "quantity": TIME, "why_margin": "so"}
    return TypeAdapter(Claim).validate_python({**common, "margin": 1.1, **parts}, strict=False)


def ratio(claimed: str = "more", **parts: Any) -> Claim:
    return claim(**{"compare": "ratio", "a": {"engine": A}, "b": {"engine": B}, "claimed": claimed, **parts})


def measured(times: list[float], *, metric: str = "wall_time", **columns: Any) -> pd.DataFrame:
    """Return one cell's observations, a repetition a block, a block a day; what is no parameter stays out of them."""
    about = {"engine": A, "topology": "single", "n": 1000, "lane": "python", "arm": "a", **columns}
    told = {"host", "operation", "role", "censored", "unit", "blocks"}
    parameters = {name: value for name, value in about.items() if name not in told}
    rows = [
        {
            **{"study": "crud", "host": "h", "operation": "insert", "role": "client"},
            **{"censored": False, "unit": "ns", **{name: about[name] for name in about if name in OBSERVATIONS.names}},
            **{"cell_id": json.dumps(about, default=str), "parameters": json.dumps(parameters), "count": about["n"]},
            **{"block": block, "campaign": f"day {block:02}", "repetition": 0, "metric": metric},
            **{"value": float(value), "state": "done"},
        }
        for block, value in zip(about.get("blocks", range(len(times))), times, strict=True)
    ]
    table: pd.DataFrame = typed(pd.DataFrame(rows).drop(columns="blocks", errors="ignore"), OBSERVATIONS).to_pandas()
    return table


def verdicts(rows: pd.DataFrame, stated: Claim) -> pd.DataFrame:
    return evidence.verdicts(evidence.judged(evidence.measures(rows), [stated]), [stated])


def verdict(stated: Claim, *rows: pd.DataFrame) -> pd.Series:
    table = verdicts(pd.concat(rows), stated)
    assert len(table) == 1
    return table.iloc[0]


def pair(factor: float, **columns: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return two engines of which the first takes `factor` times as long, within one percent."""
    a = measured(list(1e6 * factor * MOOD * STEADY), **{"engine": A, **columns})
    return a, measured(list(1e6 * MOOD), **{**columns, "engine": B})


@pytest.mark.parametrize(
    ("interval", "claimed", "size", "expected"),
    [
        ((1.4, 1.3, 1.5), "more", None, "reproduced"),
        ((1.4, 1.3, 1.5), "more", (1.6, 1.6), "reproduced"),  # within 1.25 of the published ratio
        ((1.4, 1.3, 1.5), "more", (1.0, 1.25), "reproduced"),  # as far as its rounding allows
        ((1.4, 1.2, 1.5), "more", (1.6, 1.6), "direction only"),  # it may be farther off
        ((1.4, 1.3, 1.5), "more", (2.0, 2.1), "direction only"),
        ((1.2, 1.05, 1.4), "more", None, "direction only"),
        ((1.03, 0.98, 1.08), "more", None, "equivalent"),
        ((1.05, 1.02, 1.09), "more", None, "equivalent"),
        ((1.2, 0.9, 1.6), "more", None, "inconclusive"),
        ((0.8, 0.7, 0.88), "more", None, "contradicted"),
        ((0.85, 0.75, 0.97), "more", None, "other way"),  # less, and whether by as much as matters is open
        ((0.95, 0.9, 0.99), "more", None, "other way"),
        ((1.6, 1.2, inf), "more", (40.0, 40.0), "direction only"),
        ((0.7, 0.0, 0.8), "more", None, "contradicted"),
        ((1.0, 0.95, 1.05), "equal", (3.0, 3.0), "reproduced"),
        ((1.3, 1.2, 1.4), "equal", None, "contradicted"),
        ((1.0, 0.8, 1.2), "equal", None, "inconclusive"),
        ((1.3, 1.2, inf), "equal", None, "contradicted"),
        ((nan, nan, nan), "more", None, "inconclusive"),
    ],
)
def test_a_verdict_follows_from_the_interval_and_the_margin(
    interval: tuple[float, float, float],
    claimed: Any,
    size: tuple[float, float] | None,
    expected: str,
) -> None:
    estimate, low, high = interval
    assert judge(Effect(estimate, low, high), claimed, 1.1, size) == expected
    if claimed == "more" and low:  # less is its mirror image
        mirrored = size and (1 / size[1], 1 / size[0])
        assert judge(Effect(1 / estimate, 1 / high, 1 / low), "less", 1.1, mirrored) == expected


def test_only_an_interval_inside_the_margin_says_that_there_is_no_difference() -> None:
    wide = [Effect(1.0, low, 1.3) for low in (0.5, 0.9, 0.99)]
    assert {judge(one, claimed, 1.1) for one in wide for claimed in ("more", "less", "equal")} == {"inconclusive"}


@pytest.mark.parametrize(
    ("difference", "claimed", "margin", "expected"),
    [
        ((1, 3), "more", None, "direction only"),
        ((1, 3), "less", None, "other way"),
        ((-1, 3), "more", None, "inconclusive"),
        ((-1, 3), "equal", None, "inconclusive"),
        ((-1, 3), "equal", 4.0, "reproduced"),
        ((5, 7), "equal", 4.0, "contradicted"),
        ((3, 7), "equal", 4.0, "inconclusive"),
        ((5, 7), "more", 4.0, "reproduced"),
        ((1, 7), "more", 4.0, "direction only"),
        ((1, 3), "more", 4.0, "equivalent"),
        ((-7, -3), "more", 4.0, "other way"),
        ((-7, -5), "more", 4.0, "contradicted"),
    ],
)
def test_where_no_ratio_can_be_had_the_difference_is_held_against_a_margin_in_its_unit(
    difference: tuple[float, float], claimed: Any, margin: float | None, expected: str
) -> None:
    assert judge(Effect(difference=(nan, *difference)), claimed, 1.1, None, margin) == expected


@pytest.mark.parametrize(
    ("parts", "whole", "most"),
    [
        (["reproduced"] * 3, "reproduced", "reproduced"),
        (["reproduced", "direction only"], "direction only", "direction only"),
        (["reproduced", "reproduced", "inconclusive"], "reproduced in part", "reproduced"),
        (["reproduced"] * 9 + ["equivalent"], "reproduced in part", "reproduced"),
        (["reproduced"] * 9 + ["contradicted"], "contradicted", "reproduced"),
        (["reproduced", "direction only", "contradicted"], "contradicted", "direction only"),
        (["reproduced", "contradicted"], "contradicted", "contradicted"),
        (["reproduced", "reproduced", "contradicted", "contradicted"], "contradicted", "contradicted"),
        (["contradicted", "inconclusive", "inconclusive"], "contradicted", "inconclusive"),
        (["direction only", "direction only", "inconclusive"], "direction only", "direction only"),
        (["equivalent", "reproduced"], "inconclusive", "inconclusive"),  # neither true nor without an effect
        (["equivalent", "equivalent", "reproduced"], "inconclusive", "equivalent"),
        (["reproduced", "reproduced", "other way"], "other way", "reproduced"),
        (["other way", "inconclusive"], "other way", "other way"),
        (["equivalent", "reproduced", "inconclusive"], "inconclusive", "inconclusive"),
        (["equivalent", "equivalent"], "equivalent", "equivalent"),
        (["reproduced", "not testable here"], "reproduced", "inconclusive"),  # what did not run may say either
        (["contradicted", "not testable here"], "contradicted", "contradicted"),
        (["not testable here"], "not testable here", "not testable here"),
    ],
)
def test_a_claim_s_verdict_follows_from_those_of_its_contrasts(parts: list[Any], whole: str, most: str) -> None:
    assert together(parts) == whole
    assert together(parts, most=True) == most


def test_that_more_than_half_hold_is_said_by_a_test_of_so_many_together() -> None:
    parts: list[Any] = ["reproduced"] * 3 + ["inconclusive"] * 2
    assert together(parts) == "reproduced in part"
    assert together(parts, in_most=parts) == "reproduced in part"
    assert together(parts, in_most=["direction only", *parts[1:]]) == "direction only"
    assert together(parts, in_most=["inconclusive", *parts[1:]]) == "inconclusive"


@pytest.mark.parametrize(
    ("contrasts", "leads", "bearing_out", "contradicting"),
    [(1, 1, 0.05, 0.05), (5, 5, 0.05 / 3, 0.05 / 3), (4, 4, 0.05 / 2, 0.05 / 3), (4, 8, 0.05 / 2, 0.05 / 6)],
)
def test_of_most_contrasts_each_may_err_as_their_partial_conjunction_allows(
    contrasts: int, leads: int, bearing_out: float, contradicting: float
) -> None:
    found = errors(contrasts, leads, most=True)
    assert (found.bearing_out, found.contradicting) == pytest.approx((bearing_out, contradicting))
    every = errors(contrasts, leads)
    assert (every.bearing_out, every.contradicting) == pytest.approx((0.05, 0.05 / leads))


@pytest.mark.parametrize(
    ("factor", "claimed", "expected"),
    [
        (1.5, "more", "reproduced"),
        (1 / 1.5, "less", "reproduced"),
        (1.0, "equal", "reproduced"),
        (1.0, "more", "equivalent"),
        (1 / 1.5, "more", "contradicted"),
        (1.11, "more", "direction only"),
    ],
)
def test_blocks_that_share_their_mood_lead_to_each_verdict(factor: float, claimed: str, expected: str) -> None:
    found = verdict(ratio(claimed), *pair(factor))
    assert found["verdict"] == expected
    assert found["ratio"] == pytest.approx(factor, rel=0.01)
    assert (found["host"], found["lane"], found["blocks"]) == ("h", "python", 5)
    assert "in 5 blocks" in found["why"]
    assert (found["look"], found["open"]) == (1, "")


def test_fewer_blocks_than_a_first_look_are_not_judged_and_say_so() -> None:
    found = verdict(ratio(), *(rows[rows["block"] < 4] for rows in pair(3.0)))
    assert (found["verdict"], found["look"], found["blocks"]) == (NOT_TESTABLE, 0, 0)
    assert "ran in 4 of the 5 blocks of a first look" in found["why"]
    assert found["open"]


def test_sides_of_different_blocks_are_not_compared_at_all() -> None:
    times = np.array([3e6, 3.1e6, 2.9e6, 3e6, 3e6])
    a, b = measured(list(times)), measured(list(times / 3), engine=B, blocks=[5, 6, 7, 8, 9])
    found = verdict(ratio(), a, b)
    assert (found["verdict"], found["why"]) == (NOT_TESTABLE, "the sides share 0 of the 5 blocks of a first look")
    both = evidence.comparisons(pd.concat([a, b]))
    assert set(both["reason"]) == {"no block has all sides"}


def test_a_side_of_few_blocks_neither_takes_the_others_blocks_nor_their_verdict() -> None:
    stated = claim(compare="rank", among={"engine": [A, B, C]}, claimed={"first": B})
    found = verdict(stated, *long(1.3, 8, spread=0.22), measured([1e6, 1e6], engine=C))
    assert (found["verdict"], found["blocks"]) == ("direction only", 8)
    assert "PostgreSQL (JSONB) ran in 2 of the 5 blocks of a first look" in found["why"]
    sizes = verdict(ratio(each={"n": [1000, 10000]}), *long(1.5, 8), *(one[:2] for one in pair(1.0, n=10000)))
    assert (sizes["verdict"], sizes["judged"]) == ("reproduced", 1)
    assert "n=10000" in sizes["open"]


def long(factor: float, blocks: int, spread: float = 0.01, **columns: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return two engines in so many blocks, of which the first takes `factor` times as long, with some spread."""
    noise = np.exp(spread * np.resize([-1.0, 1.0, 0.5, -0.5, 0.0], blocks))
    a = measured(list(1e6 * factor * noise), **{"engine": A, **columns})
    return a, measured([1e6] * blocks, **{**columns, "engine": B})


def test_a_contrast_is_decided_at_its_first_decisive_look_and_stays_so() -> None:
    table = evidence.judged(evidence.measures(pd.concat(long(1.5, 12))), [ratio()])
    assert table[["look", "blocks", "decided", "open"]].to_numpy().tolist() == [[1, 5, True, False]]


def test_an_open_contrast_is_looked_at_again_when_it_has_the_blocks() -> None:
    rows = pd.concat(long(1.2, 12, spread=0.2))
    found = {
        blocks: evidence.judged(evidence.measures(rows[rows["block"] < blocks]), [ratio()]).iloc[0]
        for blocks in (5, 7, 8, 12)
    }
    assert [one["look"] for one in found.values()] == [1, 1, 2, 3]
    assert not found[5]["decided"] and found[5]["open"]
    assert found[7]["low"] == found[5]["low"] < found[8]["low"] < found[12]["low"]


def test_a_wide_interval_leaves_the_size_open_until_a_later_look_settles_it() -> None:
    rows, stated = pd.concat(long(2.0, 30, spread=0.2)), ratio(size=2.0)
    first = verdict(stated, rows[rows["block"] < 5])
    assert (first["verdict"], first["wording"]) == ("direction only", "direction only; size open")
    assert verdict(stated, rows)["verdict"] == "reproduced"
    missed = verdict(ratio(size=4.0), rows)
    assert (missed["verdict"], missed["wording"], missed["look"]) == ("direction only", "direction only", 1)


def test_from_five_campaigns_on_their_means_are_the_units_and_of_fewer_only_these_sittings_are_spoken_of() -> None:
    a, b = long(1.5, 10)
    days = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.7, 1.7]
    rows = pd.concat([a.assign(value=a["value"] * np.array(days)), b])
    found = {}
    for campaigns in (1, 2, 5):
        in_campaigns = rows.assign(campaign=(rows["block"] * campaigns // 10).map("day {}".format))
        found[campaigns] = verdict(ratio(), in_campaigns)
    assert {count: (row["wording"], row["blocks"], row["campaigns"]) for count, row in found.items()} == {
        1: ("reproduced in one sitting", 5, 1),
        2: ("reproduced in one sitting", 5, 1),  # the look's blocks are those of the first
        5: ("reproduced", 10, 5),
    }
    units = np.log(a["value"].to_numpy() * days / 1e6).reshape(5, 2).mean(axis=1)
    mean, error = units.mean(), units.std(ddof=1) / np.sqrt(5)
    assert found[5]["low"] == pytest.approx(np.exp(mean - 3.72 * error), rel=1e-3)


def test_sides_that_ran_in_different_campaigns_are_no_block() -> None:
    a, b = long(1.5, 6)
    assert verdict(ratio(), a, b.assign(campaign=b["campaign"].where(b["block"] > 0, "another")))["blocks"] == 5
    apart = verdict(ratio(), a, b.assign(campaign="another"))
    assert (apart["verdict"], apart["why"]) == (
        "not testable here",
        "the sides share 0 of the 5 blocks of a first look",
    )


def test_an_interval_reaches_at_least_as_far_as_the_clock_s_tick() -> None:
    cpu = {"operation": "insert", "role": "client", "metric": "cpu_user"}
    sides = [measured([value] * 5, engine=engine, metric="cpu_user") for engine, value in ((A, 3e7), (B, 2e7))]
    means = evidence.measures(pd.concat(sides)).assign(resolution=1e7)
    found = evidence.judged(means, [ratio(quantity=cpu)]).iloc[0]
    assert (found["low"], found["high"]) == pytest.approx((1.5 / np.exp(1 / 3 + 1 / 2), 1.5 * np.exp(1 / 3 + 1 / 2)))
    assert not found["decided"]


def test_ends_beyond_any_float_are_open_ends() -> None:
    wild = measured([10.0**power for power in (-200, 200, -150, 150, 180)])
    found = verdict(ratio(), wild, measured([1.0] * 5, engine=B))
    assert (found["verdict"], found["high"]) == ("inconclusive", inf)


def test_repetitions_of_a_block_have_the_mean_that_papers_print() -> None:
    a, b = pair(1.0)
    twice = pd.concat([a.assign(value=a["value"] * 4), a.assign(repetition=1)])
    assert verdict(ratio(), twice, b)["ratio"] == pytest.approx(2.5, rel=0.01)


def test_typical_repetitions_stand_beside_means_that_slow_first_ones_make() -> None:
    a, b = pair(1.0)
    warm = [a.assign(repetition=repetition) for repetition in (1, 2)]
    slow = pd.concat([a.assign(value=a["value"] * 10), *warm])
    found = verdict(ratio(), slow, b)
    assert (found["ratio"], found["typical"]) == pytest.approx((4.0, 1.0), rel=0.01)
    assert evidence.notes(found) == ["of the blocks' median repetitions 1.000, where their means give 4.00"]
    assert evidence.notes(verdict(ratio(), a, b)) == []


def test_a_block_that_others_disturbed_enters_no_look_and_a_later_one_takes_its_place() -> None:
    a, b = pair(1.5)
    bad = a.assign(value=a["value"].mask(a["block"] == 1, 1e12), disturbed=a["block"] == 1)
    found = verdict(ratio(), bad, b)
    assert found["why"] == (
        "PostgreSQL (tables) ran in 4 of the 5 blocks of a first look, and disturbed by other processes in 1 more"
    )
    more = [rows.assign(block=5, cell_id=rows["cell_id"]) for rows in (a[a["block"] == 0], b[b["block"] == 0])]
    found = verdict(ratio(), bad, b, *more)
    assert (found["verdict"], found["ratio"]) == ("reproduced", pytest.approx(1.5, rel=0.02))


def test_what_an_objection_holds_against_a_contradiction_is_said_and_without_an_answer_it_is_none() -> None:
    objected = {"claims": ["crud.it"], "says": "Versions differ."}
    answered = ratio(objections=[objected | {"answer": "They differ on both sides."}])
    rows = pair(1 / 1.5)
    found = verdict(answered, *rows)
    assert (found["verdict"], found["wording"]) == ("contradicted", "contradicted")
    assert found["objections"] == "Versions differ. They differ on both sides."
    found = verdict(ratio(objections=[objected]), *rows)
    assert (found["verdict"], found["wording"]) == (
        "inconclusive",
        "contradicted, as measured; an objection has no answer",
    )
    assert found["objections"] == "Versions differ. No answer yet."
    assert evidence.outcomes(pd.DataFrame([found]))["stage"].iloc[0] == "judged at look 1 of 5 (5 campaigns, 5 blocks)"
    assert not verdict(ratio("less", objections=[objected]), *rows)["objections"]
    most = verdicts(pd.concat(replicating(0.5, 0.5)), in_each(most=True, objections=[objected]))
    (outcome,) = evidence.outcomes(most).to_dict("records")
    assert outcome["wording"].endswith("in 2 of the 3 products, as measured; an objection has no answer")
    assert outcome["stage"] == "judged at look 1 of 5 (5 campaigns, 5 blocks)"


def test_a_size_is_counted_whatever_else_runs() -> None:
    sizes = {"operation": "insert", "role": "client", "metric": "size"}
    rows = [side.assign(metric="size", unit="B", disturbed=True) for side in pair(1.5)]
    assert verdict(ratio(quantity=sizes), *rows)["verdict"] == "reproduced"


def test_an_effect_that_a_bias_of_identical_arms_could_explain_stays_open() -> None:
    rows = pd.concat(pair(1.2))
    arms = evidence.controls(evidence.measures(rows))
    vouched = pd.DataFrame([{**dict.fromkeys(arms.columns), "study": "crud", "host": "h", "kind": "time",
                             "untrusted": False, "state": "alike", "detectable": 1.1}])  # fmt: skip
    means = evidence.measures(rows)
    (seen,) = evidence.judged(means, [ratio()], vouched).to_dict("records")
    assert (seen["verdict"], seen["open"]) == ("reproduced", False)
    (hidden,) = evidence.judged(means, [ratio()], vouched.assign(detectable=1.3)).to_dict("records")
    assert (hidden["verdict"], hidden["open"]) == ("inconclusive", True)
    assert hidden["why"].startswith("smaller than a bias of 1.3")
    # What is beyond a number other than 1 is held against that; and that two are alike rests on no effect.
    (far,) = evidence.judged(means, [ratio(than=0.5)], vouched.assign(detectable=1.3)).to_dict("records")
    (near,) = evidence.judged(means, [ratio(than=1.05)], vouched.assign(detectable=1.3)).to_dict("records")
    assert (far["verdict"], near["verdict"]) == ("reproduced", "inconclusive")
    (alike,) = evidence.judged(means, [ratio(claimed="equal", margin=1.4)], vouched.assign(detectable=1.3)).to_dict(
        "records"
    )
    assert alike["verdict"] == "reproduced"


@pytest.mark.parametrize(("repetitions", "expected"), [(9, "not testable here"), (10, "reproduced")])
def test_a_spread_is_judged_from_ten_repetitions_a_block(repetitions: int, expected: str) -> None:
    random = np.random.Generator(np.random.PCG64(1))
    rows = [
        side.assign(repetition=repetition, value=side["value"] * np.exp(spread * random.standard_normal(len(side))))
        for side, spread in zip(pair(1.0), (0.2, 0.01), strict=True)
        for repetition in range(repetitions)
    ]
    found = verdict(ratio(statistic="deviation"), *rows)
    assert found["verdict"] == expected
    assert ("--set repetitions=10" in found["why"]) == (repetitions < 10)


def test_a_printed_size_is_refuted_though_the_direction_is_open() -> None:
    a, b = pair(1.0)
    wide = a.assign(value=a["value"] * np.array([0.7, 1.3, 0.8, 1.25, 1.05]))
    found = verdict(ratio(size=5.0), wide, b)
    assert (found["verdict"], found["wording"]) == ("inconclusive", "inconclusive; size refuted")


def test_values_that_never_vary_have_an_exact_ratio() -> None:
    size = {"operation": "insert", "role": "client", "metric": "size"}
    sizes = [measured([value] * 5, engine=engine, metric="size") for engine, value in ((A, 180.0), (B, 120.0))]
    found = verdict(ratio(quantity=size), *sizes)
    assert (found["verdict"], found["low"], found["high"]) == ("reproduced", pytest.approx(1.5), pytest.approx(1.5))
    equal = [measured([120.0] * 5, engine=engine, metric="size") for engine in (A, B)]
    assert verdict(ratio("equal", quantity=size), *equal)["verdict"] == "reproduced"


def test_an_adapter_that_met_no_server_supports_no_verdict() -> None:
    found = verdict(ratio(a={"engine": "arangodb"}), measured([9e6] * 5, engine="arangodb"), pair(1)[1])
    assert found["verdict"] == "not testable here"
    assert found["why"] == "ArangoDB ran through an experimental adapter"


def test_a_wait_that_ran_out_is_a_bound() -> None:
    a, b = pair(1.5)
    a.loc[a["block"] == 1, "censored"] = True
    more, less = verdict(ratio("more"), a, b), verdict(ratio("less"), a, b)
    assert (more["verdict"], less["verdict"], more["high"]) == ("reproduced", "contradicted", inf)
    assert "the ratio is larger" in more["why"]
    b.loc[b["block"] == 1, "censored"] = True
    assert verdict(ratio("more"), a, b)["verdict"] == "inconclusive"
    a["censored"] = False
    below = verdict(ratio("more"), a, b)
    assert (below["verdict"], below["low"]) == ("inconclusive", 0)


def test_memory_that_was_freed_has_a_direction_and_no_ratio() -> None:
    quantity = {"operation": "insert", "role": "client", "metric": "memory_change_kb"}
    rows = [
        measured(values, metric="memory_change", unit="B", engine=engine)
        for engine, values in ((A, [5e6, 5.1e6, 5.2e6, 5e6, 5.1e6]), (B, [-1e6, 0, 1e5, 1e5, -1e5]))
    ]
    found = verdict(ratio(quantity=quantity), *rows)
    assert found["verdict"] == "direction only"
    assert "no ratio: a mean is zero or negative" in found["why"]


def test_levels_that_did_not_run_are_said_and_the_others_are_judged() -> None:
    each = ratio(each={"n": [1000, 10000, 100000]})
    found = verdict(each, *pair(1.5), *pair(1.6, n=10000))
    assert (found["verdict"], found["judged"], found["contrasts"]) == ("reproduced", 2, 3)
    assert all(f"n={n}: " in found["why"] for n in (1000, 10000))
    assert "did not run: n=100000" in found["why"]
    assert verdict(each, *pair(1.5, n=7))["why"] == "did not run: all 3 contrasts"


def confidences(true: float, **parts: Any) -> list[float]:
    """Return at which confidence a claim of two contrasts and one of a single one are judged."""
    means = evidence.measures(pd.concat([*pair(true), *pair(true, n=10000)]))
    return evidence.judged(means, [ratio(each={"n": [1000, 10000]}, **parts), ratio()])["confidence"].tolist()


def test_of_several_contrasts_each_is_asked_at_5_percent_and_more_of_one_that_contradicts() -> None:
    one, half = sequential.confidence(5), sequential.confidence(5, 0.025)
    assert confidences(1.5) == pytest.approx([one, one, one])
    assert confidences(1.5, most=True) == pytest.approx([one, one, one])  # both must hold: u of n is 2 of 2
    assert confidences(0.5) == pytest.approx([half, half, one])


def test_one_contrast_of_several_contradicts_only_beyond_their_number_s_correction() -> None:
    b = [1e6] * 5
    a = [1e6 * np.exp(log) for log in (-0.46, -0.4, -0.41, -0.18, -0.22)]  # beyond 1/1.1 at 5 %, not at half of it
    rows = [measured(values, engine=engine, n=n) for n in (1000, 10000) for engine, values in ((A, a), (B, b))]
    assert verdict(ratio(), *rows[:2])["verdict"] == "contradicted"
    several = verdict(ratio(each={"n": [1000, 10000]}), *rows)
    assert (several["verdict"], several["open"]) == ("other way", "n=1000; n=10000")
    assert 1 / 1.1 < several["high"] < 1


def test_nothing_of_a_study_is_not_testable_and_neither_is_what_no_observation_answers() -> None:
    nothing = pair(1.0)[0].iloc[:0]
    assert verdict(ratio(), nothing)["why"] == "nothing of crud ran here"
    design = TypeAdapter(Claim).validate_python(
        {"id": "crud.d", "says": "s", "where": "w", "compare": "untestable", "why": "one machine"}, strict=False
    )
    assert verdict(design, *pair(1.0))[["verdict", "why"]].tolist() == ["not testable here", "one machine"]


def test_what_is_not_named_stands_at_its_default_and_alike_on_both_sides() -> None:
    strict = pair(9.0, durability="strict")
    found = verdict(ratio(), *pair(1.5, durability="default"), *strict)
    assert found["ratio"] == pytest.approx(1.5, rel=0.01)
    assert verdict(ratio(), *strict)["ratio"] == pytest.approx(9.0, rel=0.01)
    apart = verdict(ratio(), pair(1.5, durability="strict")[0], pair(1.5, durability="default")[1])
    assert apart["verdict"] == "not testable here"


def test_second_arms_are_no_side_of_a_claim() -> None:
    a, b = pair(1.5)
    assert verdict(ratio(), a, b, measured([9e6] * 5, engine=B, arm="b"))["ratio"] == pytest.approx(1.5, rel=0.01)


def test_of_alternatives_the_first_that_ran_stands_and_is_told() -> None:
    either = ratio(a={"engine": ["mysql+relational", A]})
    found = evidence.judged(evidence.measures(pd.concat(pair(1.5))), [either]).iloc[0]
    assert found["stood"] == f"a: engine={A}"
    assert found["verdict"] == "reproduced"


def test_each_lane_is_judged_and_the_papers_own_comes_first() -> None:
    rows = []
    for lane, factor in (("python", 1.5), ("java", 0.5)):
        for format_, time in (("xml", factor), ("json", 1.0)):
            values = list(1e6 * time * np.array(STEADY))
            one = measured(values, lane=lane, n=10, operation="round_trip", engine=None, topology=None)
            rows.append(one.assign(study="bookstore", format=format_))
    stated = claim(
        id="bookstore.it", compare="ratio", a={"format": "xml"}, b={"format": "json"}, claimed="more",
        quantity={"operation": "round_trip", "role": "client", "metric": "wall_time"},
    )  # fmt: skip
    table = verdicts(pd.concat(rows), stated)
    assert table[["lane", "verdict"]].to_numpy().tolist() == [["java", "contradicted"], ["python", "reproduced"]]


def test_a_run_whose_identical_arms_differ_keeps_its_verdict_and_is_marked() -> None:
    a, b = pair(1.5)
    other = measured(list(2e6 * MOOD), engine=B, arm="b")
    found = verdict(ratio(), a, b, other)
    assert (found["verdict"], found["untrusted"]) == ("reproduced", True)
    rows = pd.concat([a, b, other])
    told = evidence.verdicts(evidence.judged(evidence.measures(rows), [ratio()], evidence.controls(rows)), [ratio()])
    assert told["untrusted"].tolist() == [True]
    assert not verdict(ratio(), a, b, b.assign(arm="b", value=b["value"] * [1.0, 1.01, 0.99, 1.0, 1.0]))["untrusted"]


def test_a_trend_can_be_per_item_and_an_interaction_is_a_ratio_of_ratios() -> None:
    small, large = pair(1.5), pair(3.0, n=100000)
    large = tuple(rows.assign(value=rows["value"] * 100) for rows in large)  # type: ignore[assignment]
    over = {"n": [1000, 100000]}
    growth = {"compare": "trend", "a": {"engine": B}, "over": over}
    assert verdict(claim(**growth, per_item=True, claimed="equal"), *small, *large)["verdict"] == "reproduced"
    assert verdict(claim(**growth, claimed="more"), *small, *large)["ratio"] == pytest.approx(100)
    gap = claim(compare="interaction", a={"engine": A}, b={"engine": B}, over=over, claimed="more")
    found = verdict(gap, *small, *large)
    assert (found["verdict"], round(found["ratio"], 1)) == ("reproduced", 2.0)
    assert verdict(gap, *small)["verdict"] == "not testable here"


def test_a_bound_divides_the_ratio_and_has_no_size_to_meet() -> None:
    printed = {"a": ["Table II", "MySQL", "1000"], "b": ["Table II", "MongoDB", "1000"]}
    twice = ratio(than=2.0, published=printed)
    assert [verdict(twice, *pair(factor))["verdict"] for factor in (3.0, 2.0, 1.5)] == [
        "reproduced",
        "equivalent",
        "contradicted",
    ]


def ranked(*times: float, **columns: Any) -> list[pd.DataFrame]:
    return [
        measured(list(time * MOOD * np.roll(STEADY, shift)), engine=engine, **columns)
        for shift, (engine, time) in enumerate(zip((A, B, C), times, strict=True))
    ]


@pytest.mark.parametrize(
    ("times", "claimed", "expected"),
    [
        ((3e6, 1e6, 2e6), {"first": B}, "reproduced"),
        ((3e6, 1e6, 2e6), {"last": A}, "reproduced"),
        ((3e6, 1e6, 2e6), {"order": [B, C, A]}, "reproduced"),
        ((3e6, 1e6, 2e6), {"order": [B, A, C]}, "contradicted"),
        ((3e6, 1e6, 2e6), {"first": C}, "contradicted"),
        ((1e6, 1e6, 1e6), {"first": B}, "equivalent"),
        ((3e6, 1e6, 1.02e6), {"first": B}, "equivalent"),
    ],
)
def test_a_ranking_is_judged_by_its_smallest_lead(times: Any, claimed: Any, expected: str) -> None:
    stated = claim(compare="rank", among={"engine": [A, B, C]}, claimed=claimed)
    assert verdict(stated, *ranked(*times))["verdict"] == expected


def test_a_ranking_goes_without_what_did_not_run() -> None:
    stated = claim(compare="rank", among={"engine": ["couchdb", "rethinkdb", A, B]}, claimed={"first": B})
    found = verdict(stated, *pair(2.0))
    assert of_products(found) == ("reproduced in part", "reproduced among 2 of the 4 products", 2, 4)
    assert found["products_missing"] == "CouchDB and RethinkDB did not run"
    assert found["products_missing"] in found["why"]
    unnamed = claim(compare="rank", among={"engine": ["couchdb", A, B]}, claimed={"first": "couchdb"})
    nothing = verdict(unnamed, *pair(2.0))
    assert of_products(nothing) == (NOT_TESTABLE, NOT_TESTABLE, 0, 3)
    assert nothing["products_missing"] == nothing["why"] == "CouchDB did not run"


def test_a_ranking_is_contradicted_by_those_present_whatever_is_missing() -> None:
    found = verdict(claim(compare="rank", among={"engine": [A, B, C]}, claimed={"first": A}), *pair(2.0))
    assert of_products(found) == ("contradicted", "contradicted", 2, 3)
    assert found["products_missing"] == "PostgreSQL (JSONB) did not run"


def test_the_smallest_lead_has_no_low_end_beside_one_of_which_nothing_is_known() -> None:
    unknown = Effect(reason="cannot test")
    found = weakest([Effect(0.5, 0.4, 0.6), unknown, Effect(0.8, 0.7, 0.9)])
    assert (found.ratio, found.low, found.high) == (0.5, 0.0, 0.6)
    assert weakest([Effect(2.0, 1.5, 3.0), unknown]) == unknown


def test_a_ranking_s_published_lead_is_that_among_the_products_that_ran() -> None:
    engines = {"mongodb": "MongoDB", A: "PostgreSQL", "sqlserver+relational": "Microsoft SQL Server"}
    printed = {engine: ["Table IV", name, "1000"] for engine, name in engines.items()}
    stated = claim(compare="rank", among={"engine": list(engines)}, claimed={"first": B}, published=printed)
    found = published_ratio(stated, {})  # type: ignore[arg-type]
    among = published_ratio(stated, {}, (A, B))  # type: ignore[arg-type]
    assert found.ratio < among.ratio == verdict(stated, *pair(2.0))["published"]


def of_products(found: pd.Series) -> tuple[Any, ...]:
    return tuple(found[["verdict", "wording", "products_judged", "products"]])


def replicating(*factors: float, engines: tuple[str, ...] = (A, B, C), **columns: Any) -> list[pd.DataFrame]:
    """Return what engines take with a replica, so many times what each takes on one node, and the latter."""
    return [
        measured(list(times * MOOD), **{"engine": engine, "topology": topology, "metric": metric, **columns})
        for engine, factor in zip(engines, factors, strict=False)
        for topology, metric, times in (
            ("replicated", "elapsed_time", 1e6 * factor * np.array(STEADY)),
            ("single", "wall_time", 1e6 * np.ones(5)),
        )
    ]


def in_each(*engines: str, **parts: Any) -> Claim:
    sides = {"a": {"topology": "replicated"}, "b": {"topology": "single"}}
    return ratio(**{**sides, "each": {"engine": list(engines or (A, B, C))}, **parts})


@pytest.mark.parametrize(
    ("factors", "expected", "wording"),
    [
        ((1.5, 1.6, 1.7), "reproduced", "reproduced"),
        ((1.5, 1.6), "reproduced in part", "reproduced in 2 of the 3 products"),
        ((1.5,), "reproduced in part", "reproduced in 1 of the 3 products"),
        ((1.5, 1.11), "direction only", "direction only in 1 of 2 contrasts, reproduced in 1; in 2 of the 3 products"),
        ((1.0, 1.0), "equivalent", "equivalent in 2 of the 3 products"),
        ((1.0, 1.5), "inconclusive", "inconclusive: equivalent in 1, reproduced in 1; in 2 of the 3 products"),
        ((1.5, 0.5), "contradicted", "contradicted in 1 of 2 contrasts, reproduced in 1"),
        ((1.5, 0.5, 1.5), "contradicted", "contradicted in 1 of 3 contrasts, reproduced in 2"),
    ],
)
def test_a_claim_over_products_is_judged_on_those_present(factors: Any, expected: str, wording: str) -> None:
    found = verdict(in_each(), *replicating(*factors))
    assert of_products(found) == (expected, wording, len(factors), 3)
    missing = {1: "MongoDB and PostgreSQL (JSONB) did not run", 2: "PostgreSQL (JSONB) did not run", 3: ""}
    assert found["products_missing"] == missing[len(factors)]


def test_a_product_that_ran_on_one_side_alone_or_through_an_experimental_adapter_is_missing() -> None:
    arango = replicating(1.5, engines=("arangodb",))
    found = verdict(in_each(A, B, "couchdb", "arangodb"), *replicating(1.5, 1.6)[:-1], *arango)
    assert of_products(found) == ("reproduced in part", "reproduced in 1 of the 4 products", 1, 4)
    assert found["products_missing"] == (
        "MongoDB did not run with topology=single; CouchDB did not run; ArangoDB ran through an experimental adapter"
    )


def test_a_size_that_did_not_run_is_no_missing_product() -> None:
    sizes = in_each(A, B, each={"engine": [A, B], "n": [1000, 10000]})
    found = verdict(sizes, *replicating(1.5, 1.6), *replicating(1.5, n=10000))
    assert of_products(found) == ("reproduced", "reproduced", 2, 2)
    assert (found["judged"], found["contrasts"]) == (3, 4)
    ranking = claim(
        compare="rank", among={"engine": [A, B, C]}, claimed={"first": B}, each={"n": [1000, 10000, 100000]}
    )
    second = measured([3e6 * steady for steady in STEADY], engine=C, n=10000)
    both = verdict(ranking, *pair(2.0), *pair(2.0, n=10000), second)
    assert of_products(both) == ("reproduced", "reproduced", 3, 3)
    apart = verdict(ranking, *pair(2.0), second)
    assert apart["wording"] == "reproduced among 2 of the 3 products"
    assert apart["products_missing"] == "PostgreSQL (JSONB) ran in other contrasts only"


def test_of_most_products_one_that_contradicts_is_not_the_last_word() -> None:
    assert verdict(in_each(most=True), *replicating(1.5, 1.5, 0.5))["verdict"] == "reproduced"
    one = verdict(in_each(most=True), *replicating(0.5))["wording"]
    assert one == "inconclusive: contradicted in 1, not judged in 2; in 1 of the 3 products"


def test_what_no_product_runs_is_named_too() -> None:
    found = verdict(ratio(a={"engine": "noop"}), *pair(1.5))
    assert (found["verdict"], found["why"]) == (NOT_TESTABLE, "noop did not run")


def test_a_claim_on_one_product_or_its_alternatives_is_over_none() -> None:
    for stated in (ratio(a={"engine": ["mysql+relational", A]}), in_each(A)):
        assert (stated.products, verdict(stated, *pair(1.5))["products"]) == ((), 0)
    assert verdict(in_each(), pair(1.0)[0].iloc[:0])["products_missing"] == (
        "PostgreSQL (tables), MongoDB and PostgreSQL (JSONB) did not run"
    )


def test_the_papers_ratio_is_known_as_far_as_its_rounding() -> None:
    size = {"operation": "marshal", "role": "client", "metric": "size"}
    keys = {side: ["Case 1 table", "{n}", f"{name} size"] for side, name in (("a", "XML"), ("b", "JSON"))}
    stated = claim(
        id="bookstore.size", compare="ratio", a={"format": "xml"}, b={"format": "json"}, claimed="more", quantity=size,
        each={"n": [10]}, published=keys,
    )  # fmt: skip
    found = published_ratio(stated, {"n": 10})  # type: ignore[arg-type]
    assert (found.ratio, found.low, found.high) == pytest.approx((2.0, 1.5 / 1.5, 2.5 / 0.5))


def test_the_command_prints_each_claim_once_with_its_verdict(
    results_folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BENCHBOOK_HOME", str(ROOT))
    assert cli.main(["claims", "--profile", "smoke", "--json"]) == 0
    rows = json.loads(capfd.readouterr().out)
    assert [row["id"] for row in rows] == [one.id for one in evidence.claims()]
    for row in rows:
        assert {"id", "study", "where", "verdict", "wording", "why"} <= set(row)
        assert row["verdict"] in VERDICTS
        assert (row["products_judged"], bool(row["products_missing"])) == (0, row["products"] > 0)
        assert row["why"]
    assert cli.main(["claims", "--profile", "smoke", "--full"]) == 0
    assert f"{len(rows)} claims, " in capfd.readouterr().out
    assert cli.main(["claims", "--profile", "smoek"]) == 2
    assert "smoek" in capfd.readouterr().err


def test_the_command_says_of_how_many_products_and_which_are_missing(
    results_folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BENCHBOOK_HOME", str(ROOT))
    at = {"calls": "single", "durability": "default", "comments_per_article": "all", "article_index": False}
    monkeypatch.setattr(runs, "means_of", lambda _: pd.concat(pair(2.0, constraints="on", **at)))
    monkeypatch.setattr(evidence.Kept, "table", lambda _, __, make, ___: make())  # nothing here is of real results
    assert cli.main(["claims", "--profile", "smoke", "--json"]) == 0
    found = next(
        row for row in json.loads(capfd.readouterr().out) if row["id"] == "crud.insert.mongodb-before-relational"
    )
    told = {"verdict": "reproduced in part", "wording": "reproduced among 2 of the 4 products"}
    told |= {"products_judged": 2, "products": 4, "products_missing": "SQL Server and MySQL (tables) did not run"}
    assert {name: found[name] for name in told} == told
    assert cli.main(["claims", "--profile", "smoke", "--full"]) == 0
    *entries, counts = capfd.readouterr().out.split("\n\n")
    (entry,) = (" ".join(one.split()) for one in entries if one.startswith("crud.insert.mongodb-before-relational: "))
    assert entry.startswith(f"crud.insert.mongodb-before-relational: {told['wording']}; ")
    assert (
        found["says"] in entry
        and told["products_missing"] in entry
        and "here 2.00 (" in entry
        and "repeated 95 % interval" in entry
    )
    assert "1 reproduced in part" in counts


def run_smoke(study: str, blocks: int) -> None:
    """Run the smoke cells of a study that needs no server so often, and write their results as a runner does."""
    for cell in grid.plan([study], "smoke", changes=[f"blocks={blocks}"]).cells:
        columns = {"study": study, "cell_id": cell.identity, "block": cell.block, "position": cell.position}
        columns |= {"host": "here", "lane": "python", "arm": cell.arm, "n": cell.parameters.n, "state": "done"}
        columns |= {"parameters": cell.parameters.model_dump_json(), "environment": "{}"}
        results.write(columns, studies.load(study).run(cell.parameters))


def test_the_command_judges_what_a_smoke_run_measured_and_cannot_test_its_one_block(
    results_folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BENCHBOOK_HOME", str(ROOT))
    run_smoke("bookstore", 5)
    assert cli.main(["claims", "--profile", "smoke", "--json"]) == 0
    size = next(row for row in json.loads(capfd.readouterr().out) if row["id"] == "bookstore.size.xml-larger")
    assert (size["verdict"], size["look"], size["ratio"]) == (NOT_TESTABLE, 0, None)
    assert "in 1 of the 5 blocks of a first look" in size["why"]
    five = evidence.Evidence.of(evidence.stored_means()).verdicts.set_index("id")
    assert five["verdict"]["bookstore.size.xml-larger"] == "reproduced"
    assert five["blocks"]["bookstore.size.xml-larger"] == 5
