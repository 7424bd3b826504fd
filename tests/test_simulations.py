"""The whole chain, from repetitions to verdicts, on runs whose truth is known: a thousand machines in each frame."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

import simulated
from benchbook import evidence, stats
from benchbook.evidence import contrasts
from benchbook.evidence.claims import Claim
from benchbook.stats import sequential

A, B, C = "postgresql+relational", "mongodb", "postgresql+jsonb"
TIME = {"operation": "insert", "role": "client", "metric": "elapsed_time"}
STILL = simulated.Machine(drift=0.0)
HOLDS = ("reproduced", "direction only")
FEW = 300
"""Machines that show what holds on nearly all; an error rate, which is to lie below a bound close to it, takes more."""


def claim(**parts: Any) -> Claim:
    common = {"id": "crud.simulated", "says": "It is so.", "where": "nowhere", "quantity": TIME, "why_margin": "so"}
    return TypeAdapter(Claim).validate_python({**common, "margin": 1.1, **parts}, strict=False)


def ratio(claimed: str, **parts: Any) -> Claim:
    return claim(compare="ratio", a={"engine": A}, b={"engine": B}, claimed=claimed, **parts)


def verdicts(means: pd.DataFrame, stated: Claim) -> pd.DataFrame:
    """Return the verdict on each machine, without that on machines like them: it takes as long as all the others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contrasts, "_over_hosts", lambda claim, measured, lane: ())
        return evidence.verdicts(evidence.judged(means, [stated]), [stated])


def judged(stated: Claim, times: dict[simulated.Side, float], **how: Any) -> pd.DataFrame:
    table = verdicts(measured(times, **how), stated)
    assert table["host"].is_unique
    return table


def measured(times: dict[simulated.Side, float], **how: Any) -> pd.DataFrame:
    return evidence.measures(simulated.observations(times, **how))


def two(true: float) -> dict[simulated.Side, float]:
    return {(A, 1000, "a"): 1e6 * true, (B, 1000, "a"): 1e6}


def covers(table: pd.DataFrame, true: float) -> float:
    return float(((table["low"] <= true) & (true <= table["high"])).mean())


def decided_wrongly(table: pd.DataFrame) -> float:
    """Return the share of machines on which identical sides were found to differ."""
    return float((~table["verdict"].isin(["inconclusive", "equivalent"])).mean())


FRAMES = {
    "normal": simulated.Machine(),
    "heavy tails": simulated.Machine(tails=True),
    "one bad block": simulated.Machine(bad=3.0),
}


@pytest.mark.parametrize("frame", FRAMES)
def test_all_looks_together_find_a_difference_of_identical_sides_in_five_percent_of_runs(frame: str) -> None:
    table = judged(ratio("more", margin=1.0001), two(1.0), blocks=30, machine=FRAMES[frame])
    assert 0.005 <= decided_wrongly(table) <= 0.05 + 0.015


def test_days_that_differ_are_told_from_blocks_that_do() -> None:
    """Four fifths of the variance lie between blocks, one fifth between the days that some of them share."""
    spread = simulated.Machine(days=0.025)
    rows = simulated.observations(two(1.0), blocks=30, machine=spread, campaigns=(5, 10, 15, 20, 25))
    means, stated = evidence.measures(rows), ratio("more")
    pooled, told = (decided_wrongly(verdicts(one, stated)) for one in (means.assign(campaign=""), means))
    assert told <= pooled <= 0.12


def test_intervals_of_a_first_look_cover_the_true_ratio_as_often_as_they_say() -> None:
    table = judged(ratio("more"), two(1.37), blocks=5, seed=2)
    assert covers(table, 1.37) == pytest.approx(sequential.confidence(5), abs=0.01)


@pytest.mark.parametrize("blocks", (5, 8))
def test_an_effect_as_large_as_promised_detectable_is_found_with_80_percent_power(blocks: int) -> None:
    """Without drift the spread of a block's log ratio is known, so that the promise can be asked for it."""
    spread = np.sqrt(2 * (STILL.noise**2 + 0.01**2 / 2))
    unit = np.linspace(-1, 1, blocks)
    values = np.exp(spread * unit / unit.std(ddof=1))
    error = 1 - sequential.confidence(blocks)
    promised = stats.detectable_ratio(values, np.ones(blocks), alpha=error)
    stated = ratio("more", margin=1.0001)
    table = judged(stated, two(promised), blocks=blocks, machine=STILL, seed=3)
    assert table["verdict"].isin(HOLDS).mean() == pytest.approx(0.8 if blocks == 5 else 0.83, abs=0.03)


def test_sides_that_differ_by_the_margin_are_seldom_called_equivalent() -> None:
    rows = simulated.observations(two(1.1), blocks=12, machine=simulated.Machine(noise=0.02), seed=4)
    means = evidence.measures(rows)
    level = float((verdicts(means, ratio("equal"))["verdict"] == "reproduced").mean())
    assert 0.005 <= level <= 0.025 + 0.01
    assert 0.005 <= (verdicts(means, ratio("more"))["verdict"] == "equivalent").mean() <= level  # or in direction


def test_identical_sides_that_hardly_vary_are_called_equivalent() -> None:
    table = judged(ratio("equal"), two(1.0), machine=simulated.Machine(drift=0.02, noise=0.015), seed=5, machines=FEW)
    assert (table["verdict"] == "reproduced").mean() > 0.95


def test_hosts_that_differ_have_a_mean_with_an_interval_that_holds_it() -> None:
    """Machines in groups of five, each with a ratio of its own beside its blocks' noise."""
    random = np.random.Generator(np.random.PCG64(6))
    true = random.normal(0.3, 0.1, (2000, 5))
    errors = random.uniform(0.02, 0.2, true.shape)
    found = [stats.over_hosts(*one) for one in zip(random.normal(true, errors), errors, strict=True)]
    assert np.mean([one.low <= 0.3 <= one.high for one in found]) == pytest.approx(0.96, abs=0.02)
    assert stats.over_hosts([0.1, 0.2, 0.3], [0.1, 0.1, 0.1]).reason == "3 hosts: a mean of hosts asks for 4"
    assert stats.over_hosts([0.3] * 4, [0.0] * 4) == stats.Interval(0.3, 0.3, 0.3)  # sizes, which are counted


def test_from_four_hosts_on_a_claim_is_judged_on_hosts_like_them_too() -> None:
    means = evidence.measures(simulated.observations(two(1.5), machines=6))
    for machines, expected in ((3, []), (6, ["6 hosts"])):
        some = means[means["host"] < f"machine-{machines:05}"]
        table = evidence.verdicts(evidence.judged(some, [ratio("more")]), [ratio("more")])
        assert sorted(set(table["host"]) - set(some["host"])) == expected
    pooled = table[table["host"] == "6 hosts"].iloc[0]
    assert (pooled["verdict"], pooled["ratio"]) == ("reproduced", pytest.approx(1.5, rel=0.1))
    (outcome,) = evidence.outcomes(table).to_dict("records")
    assert outcome["host"] == "6 hosts" and len(outcome["others"]) == 6


def test_ratios_of_ratios_and_trends_cover_their_truth() -> None:
    times = {(A, 1000, "a"): 1.5e6, (B, 1000, "a"): 1e6, (A, 100000, "a"): 3.0e8, (B, 100000, "a"): 1e8}
    over = {"n": [1000, 100000]}
    gap = claim(compare="interaction", a={"engine": A}, b={"engine": B}, over=over, claimed="more")
    means = evidence.measures(simulated.observations(times, seed=7))
    sure = sequential.confidence(5)
    assert covers(verdicts(means, gap), 2.0) == pytest.approx(sure, abs=0.01)
    growth = claim(compare="trend", a={"engine": A}, over=over, per_item=True, claimed="more")
    assert covers(verdicts(means, growth), 2.0) == pytest.approx(sure, abs=0.01)


SIZES = (1000, 10000, 100000)


def of_sizes(*true: float) -> dict[simulated.Side, float]:
    """Return times of which A's are so many times B's, at each of the sizes."""
    sides = {(A, n, "a"): 1e3 * n * ratio for n, ratio in zip(SIZES, true, strict=True)}
    return sides | {(B, n, "a"): 1e3 * n for n in SIZES}


def test_a_claim_of_several_contrasts_is_seldom_borne_out_whole_when_it_fails_in_one() -> None:
    """The worst case of an intersection-union test: all the others hold beyond doubt, which the wording says."""
    each = ratio("more", margin=1.0001, each={"n": list(SIZES)})
    table = judged(each, of_sizes(5.0, 5.0, 1.0), seed=8)
    assert (table["verdict"] == "reproduced").mean() <= 0.025
    assert (table["wording"] == "reproduced in 2 of 3 contrasts, open in 1; in one sitting").mean() > 0.95


def test_a_claim_of_most_contrasts_is_seldom_borne_out_when_most_of_them_fail() -> None:
    """Beyond doubt in one of three, nothing in the others: of two one soon holds by chance."""
    most = ratio("more", margin=1.0001, each={"n": list(SIZES)}, most=True)
    assert judged(most, of_sizes(5.0, 1.0, 1.0), seed=8)["verdict"].isin(HOLDS).mean() <= 0.025 + 0.01


def test_a_claim_of_several_contrasts_is_seldom_contradicted_by_chance_in_one_of_them() -> None:
    """At 5 % each, some 7 % would be."""
    each = ratio("more", margin=1.0001, each={"n": list(SIZES)})
    table = judged(each, of_sizes(1.0, 1.0, 1.0), seed=8)
    assert 0.002 <= table["verdict"].isin(["contradicted", "other way"]).mean() <= 0.025 + 0.01
    assert table["verdict"].isin(HOLDS).mean() <= 0.025


TEN = tuple(range(1000, 11000, 1000))


def ten(*true: float) -> dict[simulated.Side, float]:
    """Return times of which A's are so many times B's at each of ten sizes."""
    sides = {(A, n, "a"): 1e6 * ratio for n, ratio in zip(TEN, true, strict=True)}
    return sides | {(B, n, "a"): 1e6 for n in TEN}


def test_ten_contrasts_inside_the_margin_on_the_other_side_seldom_contradict_a_claim() -> None:
    """By an interval that excludes 1 one of ten would contradict it on every fourth machine; at the margin, in 5 %."""
    each = ratio("more", each={"n": list(TEN)})
    narrow = simulated.Machine(noise=0.02)
    table = judged(each, ten(*[1 / 1.049] * 10), seed=13, machines=FEW, machine=narrow)
    assert (table["verdict"] == "contradicted").mean() <= 0.01
    assert (table["verdict"] == "other way").mean() > 0.02
    at_margin = judged(each, ten(*[1 / 1.1] * 10), seed=14, machines=FEW, machine=narrow)
    assert (at_margin["verdict"] == "contradicted").mean() <= 0.05 + 0.025


def test_what_holds_in_half_of_ten_contrasts_is_seldom_said_to_hold_in_most() -> None:
    half = measured(ten(*[1.5] * 5, *[1.0] * 5), seed=15, machines=FEW)
    for most in (False, True):
        table = verdicts(half, ratio("more", margin=1.0001, each={"n": list(TEN)}, most=most))
        borne_out = table["verdict"].isin([*HOLDS, "reproduced in part"])
        assert borne_out.mean() <= 0.025 + 0.025
        assert not (table["verdict"] == "equivalent").any()


def test_a_claim_over_products_is_seldom_contradicted_by_chance_in_one_of_them() -> None:
    """One that contradicts is enough; at 95 % each, some 7 % would be."""
    each = {"engine": [A, B, C]}
    grows = claim(compare="trend", over={"n": list(SIZES[:2])}, per_item=True, each=each, claimed="more", margin=1.0001)
    times = {(engine, n, "a"): 1e3 * n for engine in each["engine"] for n in SIZES[:2]}
    table = judged(grows, times, seed=11)
    assert 0.002 <= (table["verdict"] == "contradicted").mean() <= 0.025 + 0.01
    growing = {side: time * (3.0 if side[1] == SIZES[1] else 1.0) for side, time in times.items()}
    held = judged(grows, growing, seed=12, machines=FEW)
    assert (held["verdict"] == "reproduced").mean() > 0.9


def test_a_ranking_is_seldom_seen_where_there_is_none_and_often_where_there_is_one() -> None:
    first = claim(compare="rank", among={"engine": [A, B, C]}, claimed={"first": B})
    none = judged(first, {(engine, 1000, "a"): 1e6 for engine in (A, B, C)}, seed=9)
    assert none["verdict"].isin(HOLDS).mean() <= 0.05
    clear = judged(first, {(A, 1000, "a"): 1.5e6, (B, 1000, "a"): 1e6, (C, 1000, "a"): 1.6e6}, seed=10, machines=FEW)
    assert (clear["verdict"] == "reproduced").mean() > 0.9
