"""How often verdicts are wrong, and what stopping when they are decided saves, on simulated runs whose truth is known.

``python benchmarks/decisions.py [--machines 2000] [--rows 137]`` lets so many machines measure two identical sides in
30 blocks, in several frames, and judges them by the code that judges real runs: a verdict is wrong when it finds one
side above the other. Then it takes so many contrasts of the reference run, each with its estimate and its spread for
the truth, and counts how many are decided by looks at 5, 8, 12, 20 and 30 blocks, going on only while a contrast is
open and not hopeless, and how many by one plain 95 % interval after 30 blocks. Goals: at most 5 % wrong, and 12 %
where days differ (a fifth of the variance) and the blocks are pooled; as many decisions less one for two thirds of the
blocks.
"""

import argparse
import sys
from dataclasses import replace
from math import exp
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import simulated
from benchbook import evidence, paths, stats
from benchbook.evidence.claims import Bound, Claim, Directed, Tested
from benchbook.evidence.contrasts import Contrast, asked, eligible, places
from benchbook.evidence.effects import Effect, paired
from benchbook.evidence.forecast import at_best
from benchbook.evidence.judge import DECIDED, judge
from benchbook.stats.sequential import LOOKS

BLOCKS: Final = LOOKS[-1]
SIDES: Final = ("postgresql+relational", "mongodb")
QUANTITY: Final = {"operation": "insert", "role": "client", "metric": "elapsed_time"}
DAYS: Final = (5, 10, 15, 20, 25)

FRAMES: Final = {
    "normal": simulated.Machine(),
    "heavy tails": simulated.Machine(tails=True),
    "one bad block": simulated.Machine(bad=3.0),
    "days that differ": simulated.Machine(days=0.025),
    "days, blocks pooled": simulated.Machine(days=0.025),
}


def stated(margin: float, claimed: str = "more") -> Tested:
    """Return the claim that the first side takes longer."""
    parts: dict[str, Any] = {"id": "crud.it", "says": "It is.", "where": "here", "compare": "ratio", "why_margin": "so"}
    sides = {"a": {"engine": SIDES[0]}, "b": {"engine": SIDES[1]}}
    whole = {**parts, **sides, "quantity": QUANTITY, "claimed": claimed, "margin": margin}
    claim = TypeAdapter(Claim).validate_python(whole, strict=False)
    assert isinstance(claim, Tested)
    return claim


def measured(
    ratio: float, machines: int, machine: simulated.Machine, days: bool = False, seed: int = 1
) -> pd.DataFrame:
    """Return the block means of so many machines."""
    times = {(SIDES[0], 1000, "a"): 1e6 * ratio, (SIDES[1], 1000, "a"): 1e6}
    campaigns = DAYS if days else ()
    rows = simulated.observations(
        times, machines=machines, blocks=BLOCKS, machine=machine, campaigns=campaigns, seed=seed
    )
    return evidence.measures(rows)


def judged(means: pd.DataFrame, claim: Tested) -> pd.DataFrame:
    """Return a row a machine."""
    table = evidence.judged(means, [claim])
    return table[table["host"].str.startswith("machine")]


def wrong(machines: int) -> None:
    """Print how often identical sides are found to differ."""
    print(f"{machines} machines, two identical sides: verdicts that are wrong, by margin and frame")
    for margin in (1.1, 1.0001):
        for name, machine in FRAMES.items():
            means = measured(1.0, machines, machine, days="days" in name)
            means = means.assign(campaign="") if "pooled" in name else means
            verdicts = judged(means, stated(margin))["verdict"]
            share = (~verdicts.isin(["inconclusive", "equivalent"])).mean()
            print(f"  margin {margin:<7} {name:20} {share:6.1%}")


def contrasts() -> list[tuple[float, float, float, str]]:
    """Return estimate and spread of a block (logarithms), margin and direction of the reference run's contrasts."""
    means = evidence.measures(pd.read_parquet(paths.figures("reference") / "block_means.parquet"))
    found = []
    for claim, ran, place in places(means, evidence.claims()):
        for levels in claim.contrasts(place[1]):
            one = eligible(claim, levels, ran.sides(place, asked(claim, levels), claim.statistic), blocks=3)
            if one.missing or isinstance(claim, Bound):
                continue
            for terms in claim.ratios(one.sides):
                both = paired(terms, one.sides)
                if both.positive and len(both.values[0]) >= 3:
                    logs = np.sum([sign * np.log(v) for (sign, _), v in zip(terms, both.values, strict=True)], axis=0)
                    claimed = claim.claimed if isinstance(claim, Directed) else "more"
                    found.append((float(logs.mean()), float(logs.std(ddof=1)), claim.margin, claimed))
    return [one for one in found if one[1] > 1e-6]  # what never varies is decided at once


def saved(rows: int, machines: int) -> None:
    """Print what looks decide and cost beside one fixed look."""
    every = contrasts()
    chosen = [every[one] for one in np.random.default_rng(1).permutation(len(every))[:rows]]
    decided = fixed = blocks = parked = 0
    for seed, (mean, spread, margin, claimed) in enumerate(chosen):
        machine = simulated.Machine(drift=0.0, noise=spread / 2**0.5)
        means, claim = measured(exp(mean), machines, machine, seed=seed), stated(margin, claimed)
        going = set(means["host"])
        for look in LOOKS:
            table = judged(means[(means["block"] < look) & means["host"].isin(going)], claim)
            ended = table[table["verdict"].isin(DECIDED)]
            rest = table.drop(ended.index)
            hopeless = [row.host for row in Contrast.of(rest) if at_best(row, claim) not in DECIDED]
            decided += len(ended)
            parked += len(hopeless) if look < BLOCKS else 0
            done = {*ended["host"], *hopeless} if look < BLOCKS else going
            blocks += look * len(done & going)
            going -= done
            if not going:
                break
        fixed += sum(plain(rows_, claim) in DECIDED for _, rows_ in means.groupby("host"))
    of = len(chosen) * machines
    print(f"{len(chosen)} contrasts as in the reference run ({len(every)} with a spread), {machines} machines each")
    print(
        f"  decided by looks        {decided / of:6.1%}, {decided / machines:.1f} rows; parked early {parked / of:.1%}"
    )
    print(f"  decided after 30 blocks {fixed / of:6.1%}, {fixed / machines:.1f} rows, by one plain interval")
    print(f"  blocks of the looks over those of 30: {blocks / (BLOCKS * of):.2f}")


def plain(rows: pd.DataFrame, claim: Tested) -> str:
    """Return the verdict of all blocks' plain 95 % interval."""
    assert isinstance(claim, Directed)
    times = rows[rows["metric"] == "wall_time"].pivot(index="block", columns="engine", values="geometric")
    interval = stats.mean_interval(np.log(times[SIDES[0]] / times[SIDES[1]]))
    ends = (exp(value) for value in (interval.estimate, interval.low, interval.high))
    return judge(
        replace(Effect(), **dict(zip(("ratio", "low", "high"), ends, strict=True))), claim.claimed, claim.margin
    )


if __name__ == "__main__":
    asked_for = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked_for.add_argument("--machines", type=int, default=2000)
    asked_for.add_argument("--rows", type=int, default=137)
    given = asked_for.parse_args()
    wrong(given.machines)
    saved(given.rows, max(given.machines // 100, 5))
