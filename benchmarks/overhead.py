"""What a study's timed insert loop costs over the same loop written bare on the database's driver.

Both loops fill the same store on the same live server in short blocks and take turns: the study's
first in one pair, the bare one first in the next. Printed is the median of the pairs' ratios with a
bootstrap interval over the pairs. Run it on an idle machine: ``python benchmarks/overhead.py``.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from time import perf_counter_ns
from typing import Any, get_args

import paired
from bare import BARE, Bare, open_bare
from benchbook.databases import catalogue
from benchbook.databases.adapter import Adapter, Durability
from benchbook.datasets import blog
from benchbook.measure import time_action
from benchbook.servers import launcher
from benchbook.servers.programs import MissingServer
from benchbook.studies.cell_database import call_each

GOAL = 1.02
"""Largest ratio, study's over bare."""

PAIRS, N = 20, 100
"""Pairs of blocks before each emptying, and inserts per block: few, for an equal disk."""


def time_study(adapter: Adapter, records: Sequence[dict[str, Any]]) -> int:
    return int(time_action(partial(call_each, adapter.insert, records))[1][0].value)


def time_bare(bare: Bare, records: Sequence[dict[str, Any]]) -> int:
    started = perf_counter_ns()
    bare.insert(records)
    return perf_counter_ns() - started


def times(name: str, rounds: int, durability: Any) -> paired.Times:
    """Return the pairs' times, rounds * PAIRS: the study's and the bare loop's.

    A third session empties the store, so that the two that are compared have done the same work
    when a round begins.
    """
    data = blog.generate_comments(2 * PAIRS * N, 20150501, per_article=10)
    blocks = [data.records[start : start + N] for start in range(0, len(data.records), N)]
    taken: paired.Times = []
    with (
        launcher.open_deployment(name, "single") as deployment,
        catalogue.open_adapter(name, deployment, durability=durability) as adapter,
        catalogue.open_adapter(name, deployment, durability=durability) as emptier,
    ):
        adapter.create(data.schema, parents=data.parents)
        with open_bare(name, deployment, durability) as bare:
            loops = partial(time_study, adapter), partial(time_bare, bare)
            for number in range(rounds + 1):
                emptier.create(data.schema, parents=data.parents)
                done = paired.take_pairs(*loops, iter(blocks), PAIRS, swapped=number % 2 == 1)
                taken += done if number else []  # the first round warms both up
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("databases", nargs="*", help=f"of {', '.join(BARE)} (default: all)")
    parser.add_argument("--rounds", type=int, default=20, help=f"of {PAIRS} pairs of {N} inserts")
    parser.add_argument("--durability", choices=get_args(Durability), default="default")
    parser.add_argument(
        "--check", action="store_true", help=f"exit with 1 when a ratio is above {GOAL}"
    )
    options = parser.parse_args()
    unknown = set(options.databases) - set(BARE)
    if unknown:
        parser.error(f"no such database: {', '.join(unknown)}")
    worst = 0.0
    for name in options.databases or BARE:
        server = launcher.find_server(launcher.name_product(name))
        if isinstance(server, MissingServer):
            print(f"{name}: {server.why}")
            continue
        taken = times(name, options.rounds, options.durability)
        ratio = paired.ratio(taken)
        study, bare = (block / N / 1000 for block in paired.medians_ns(taken))
        worst = max(worst, ratio.median)
        print(f"{name}: study {study:.1f} us per insert, bare {bare:.1f}; {ratio}")
    return int(options.check and worst > GOAL)


if __name__ == "__main__":
    sys.exit(main())
