"""How often verdicts are wrong, on simulated runs of known truth, and what each campaign of the reference decides.

``python benchmarks/decisions.py [--machines 2000] [--contrasts 1 10 24 64]`` lets so many machines measure claims of so
many contrasts on the schedule of twelve days (12 campaigns of two blocks, looks after 5, 8 and 12), of quick (one
sitting of five blocks) and of one sitting until decided (30 blocks), and judges them by the code that judges real runs.
Of a larger claim fewer machines are simulated, so that every number takes as long. Goal: at most 5 % wrong a claim.

A verdict is wrong when, with every ratio at 1, one side is found above the other; at 1/1.049, inside the margin on the
other side, when the claim is contradicted or borne out; at the margin of 1.1, when the claim is reproduced or called
equivalent; with half of the ratios at 1.5 and half at 1, when it is said to hold in all, in most or nowhere.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from math import sqrt
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import simulated
from benchbook import evidence
from benchbook.evidence import contrasts
from benchbook.evidence.claims import Claim, Tested
from benchbook.evidence.contrasts import Contrast
from benchbook.evidence.forecast import at_look
from benchbook.evidence.runs import Run
from benchbook.evidence.verdicts import Counts

MARGIN: Final = 1.1
SIDES: Final = ("postgresql+relational", "mongodb")
QUANTITY: Final = {"operation": "insert", "role": "client", "metric": "elapsed_time"}
NOISE: Final = 0.05
FEWEST: Final = 200
"""Machines, of however large a claim."""

SCHEDULES: Final[dict[str, dict[str, Any]]] = {
    "twelve days": {"blocks": 24, "campaigns": tuple(range(2, 24, 2))},
    "quick": {"blocks": 5},
    "one sitting": {"blocks": 30},
}


def of_days(correlation: float) -> simulated.Machine:
    """Return a machine on which that share of a block's variance is its campaign's."""
    return simulated.Machine(noise=NOISE, days=NOISE * sqrt(correlation / (1 - correlation)))


FRAMES: Final = {
    "normal": of_days(0.0),
    "heavy tails": simulated.Machine(noise=NOISE, tails=True),
    "one bad block": simulated.Machine(noise=NOISE, bad=3.0),
    "AR .3": simulated.Machine(noise=NOISE, lingers=0.3),
    "ICC .2": of_days(0.2),
    "ICC .35": of_days(0.35),
    "ICC .5": of_days(0.5),
}

HOLDS: Final = {"reproduced", "reproduced in part", "direction only"}
DIRECTED: Final = {*HOLDS, "contradicted", "other way"}
TRUTHS: Final = {
    "at 1": ([1.0], DIRECTED),
    "at 1/1.049": ([1 / 1.049], {*HOLDS, "contradicted"}),
    "at the margin": ([MARGIN], {"reproduced", "reproduced in part", "equivalent", "contradicted", "other way"}),
    "half at 1.5": ([1.5, 1.0], {*HOLDS, "equivalent"}),
}


def stated(sizes: Sequence[int]) -> Tested:
    """Return the claim that the first side takes longer at each of the sizes."""
    whole = {
        **{"id": "crud.it", "says": "It is.", "where": "here", "compare": "ratio", "why_margin": "so"},
        **{"a": {"engine": SIDES[0]}, "b": {"engine": SIDES[1]}, "each": {"n": list(sizes)}},
        **{"quantity": QUANTITY, "claimed": "more", "margin": MARGIN},
    }
    claim = TypeAdapter(Claim).validate_python(whole, strict=False)
    assert isinstance(claim, Tested)
    return claim


def verdicts(ratios: Sequence[float], machines: int, machine: simulated.Machine, **schedule: Any) -> "pd.Series[str]":
    """Return the verdict on a claim of as many contrasts as there are ratios, on each machine."""
    sizes = range(1000, 1000 + len(ratios))
    times = {(SIDES[0], n, "a"): 1e6 * ratio for n, ratio in zip(sizes, ratios, strict=True)}
    times |= {(SIDES[1], n, "a"): 1e6 for n in sizes}
    means = evidence.measures(simulated.observations(times, machines=machines, machine=machine, **schedule))
    table = evidence.verdicts(evidence.judged(means, [stated(sizes)]), [stated(sizes)])
    return table["verdict"]


def wrong(machines: int, counts: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield a row a schedule, truth and frame: in how many per cent of machines a claim of so many contrasts is wrong.

    Days are simulated where there are several.
    """
    for schedule, settings in SCHEDULES.items():
        for truth, (ratios, mistaken) in TRUTHS.items():
            for frame, machine in FRAMES.items():
                if machine.days and "campaigns" not in settings:
                    continue
                row: dict[str, Any] = {"schedule": schedule, "truth": truth, "frame": frame}
                for count in counts:
                    if count >= len(ratios):
                        every = np.resize(ratios, count).tolist()
                        found = verdicts(every, max(machines // count, FEWEST), machine, **settings)
                        row[f"N={count}"] = f"{100 * found.isin(mistaken).mean():.1f}"
                yield row


def decided() -> Iterator[dict[str, Any]]:
    """Yield what the reference run's claims come to after each of its campaigns, and are forecast to after 8 and 12."""
    means = Run.of_reference().means
    campaigns = sorted(set(means["campaign"]))
    for count in range(1, len(campaigns) + 1):
        table = evidence.judged(means[means["campaign"].isin(campaigns[:count])])
        counts = Counts.of(evidence.outcomes(evidence.verdicts(table)))
        yield {"campaigns": str(count), "decided": counts.decided, "of": counts.testable, "in": counts.sittings}
    tested = {claim.id: claim for claim in evidence.claims() if isinstance(claim, Tested)}
    for later in (8, 12):
        rows = Contrast.of(table)
        foretold = [(at_look(row, tested[row.id], later) if row.open else None) or row.verdict for row in rows]
        counts = Counts.of(evidence.outcomes(evidence.verdicts(table.assign(verdict=foretold))))
        yield {"campaigns": f"{later}, forecast", "decided": counts.decided, "of": counts.testable, "in": ""}


def main() -> None:
    """Print both tables."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--machines", type=int, default=2000)
    asked.add_argument("--contrasts", type=int, nargs="*", default=[1, 10, 24, 64])
    given = asked.parse_args()
    print(pd.DataFrame(decided()).to_string(index=False))
    contrasts.FEWEST_HOSTS = 10**9  # what holds on machines like these takes as long as all of them
    print(f"\nwrong verdicts a claim of N contrasts, per cent of {given.machines} / N machines, {FEWEST} at least")
    for row in wrong(given.machines, given.contrasts):
        print("  ".join(f"{text:{width}}" for text, width in zip(row.values(), (12, 14, 14, 6, 6, 6, 6), strict=False)))


if __name__ == "__main__":
    main()
