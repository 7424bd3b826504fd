"""What a container costs: the same server on this machine and in a container, in turns, and twice on the machine.

Each block starts three single servers of a product, and three pairs, in random order: two on the machine itself (their
ratio is what nothing but chance makes, A/A), and one in a container of an image made of the very same programs. Each is
given the same comments, one call each, after some that are not timed; then all are looked for; a pair's time lasts
until the replica holds them, too. The ratio is of means over blocks, with the 99 % interval that claims have.

Run it on an idle machine, as root, with Podman or Docker: ``python benchmarks/containers.py [BLOCKS]``, a minute a
block. The product's images of that name are replaced by those that are made here.
"""

import os
import random
import sys
from collections import defaultdict
from math import exp
from pathlib import Path
from time import perf_counter_ns
from typing import Final

import numpy as np

from benchbook import databases, servers
from benchbook.analysis.intervals import mean_interval
from benchbook.datasets import blog
from benchbook.deployment import Topology
from benchbook.digits import estimate
from benchbook.servers import containers, programs

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import local_engine

ENGINES: Final = {"mongodb": "mongodb", "postgresql": "postgresql+relational"}
ARMS: Final = ("native", "native again", "container")
COUNT: Final = 2_000
UNTIMED: Final = 500
DATA: Final = blog.comments(UNTIMED + COUNT, 20150501, per_article=10)

Times = dict[tuple[str, str, str], list[float]]
"""Nanoseconds a comment, a block each, by product, operation and arm."""


def measured(product: str, topology: Topology) -> dict[str, float]:
    """Return what each operation took on servers of an arm that has been chosen, in ns a comment."""
    with (
        servers.start(product, topology) as running,
        databases.open(ENGINES[product], running.deployment, durability="relaxed") as engine,
    ):
        engine.create(DATA.schema, parents=DATA.parents)
        for record in DATA.records[:UNTIMED]:
            engine.insert(record)
        start = perf_counter_ns()
        for record in DATA.records[UNTIMED:]:
            engine.insert(record)
        if topology == "replicated" and not engine.wait_for(engine.position(), 60):
            raise SystemExit(f"{product}'s replica has not caught up within 60 s")
        inserted = perf_counter_ns()
        if topology == "replicated":
            return {"replicated insert": (inserted - start) / COUNT}
        for record in DATA.records[UNTIMED:]:
            engine.find("_id", record["_id"])
        return {"insert": (inserted - start) / COUNT, "find": (perf_counter_ns() - inserted) / COUNT}


def block(product: str, times: Times) -> None:
    """Measure each arm once in each topology, in random order."""
    topologies: tuple[Topology, ...] = ("single", "replicated")
    for topology in topologies:
        for arm in random.sample(ARMS, len(ARMS)):
            os.environ[programs.image_variable(product)] = "pinned" if arm == "container" else ""
            for operation, value in measured(product, topology).items():
                times[product, operation, arm].append(value)


def main(blocks: int) -> None:
    """Print the ratios of so many blocks."""
    engine = containers.engine()
    for product in ENGINES:
        local_engine.add_product(engine.socket, product)
    times: Times = defaultdict(list)
    for _ in range(blocks):
        for product in ENGINES:
            block(product, times)
    print(f"{engine.name}, {blocks} blocks of {COUNT:,} comments; container / native, and native / native (A/A)")
    for product, operation in dict.fromkeys(key[:2] for key in times):
        native = times[product, operation, "native"]
        said = []
        for arm in ("container", "native again"):
            logs = np.log(times[product, operation, arm]) - np.log(native)
            ratio = mean_interval(logs, ["today"] * len(logs))
            said.append(estimate(exp(ratio.estimate), exp(ratio.low), exp(ratio.high)))
        print(f"{product}, {operation}: {said[0]}; A/A {said[1]}; native {sum(native) / len(native) / 1e3:,.0f} µs")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
