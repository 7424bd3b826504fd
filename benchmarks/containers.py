"""The cost of a container: a server on this machine and in a container, in turns.

Each block starts three single servers of a product, and three pairs, in random order: two on the
machine itself (their ratio is what nothing but chance makes, A/A), and one in a container of an
image made of the very same programs. Each is given the same comments, one call each, after some
that are not timed; then all are looked for; a pair's time lasts until the replica holds them, too.
The ratio is of means over blocks, with the 99 % interval that claims have.

Run it on an idle machine, as root, with Podman or Docker: ``python benchmarks/containers.py
[BLOCKS]``, one minute per block. Images that are made here replace the product's images of that
name.
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

from benchbook.analysis.intervals import compute_interval
from benchbook.databases import catalogue
from benchbook.datasets import blog
from benchbook.servers import containers, launcher, programs
from benchbook.servers.deployment import Topology
from benchbook.text.number_format import format_estimate

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import container_engine

ENGINES: Final = {"mongodb": "mongodb", "postgresql": "postgresql+relational"}
ARMS: Final = ("native", "native again", "container")
COUNT: Final = 2_000
UNTIMED: Final = 500
DATA: Final = blog.generate_comments(UNTIMED + COUNT, 20150501, per_article=10)

Times = dict[tuple[str, str, str], list[float]]
"""Nanoseconds a comment, a block each, by product, operation and arm."""


def time_operations(product: str, topology: Topology) -> dict[str, float]:
    """Return the time of each operation on the chosen arm's servers, in ns per comment."""
    with (
        launcher.start_servers(product, topology) as running,
        catalogue.open_adapter(
            ENGINES[product], running.deployment, durability="relaxed"
        ) as engine,
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
        return {
            "insert": (inserted - start) / COUNT,
            "find": (perf_counter_ns() - inserted) / COUNT,
        }


def block(product: str, times: Times) -> None:
    """Measure each arm once in each topology, in random order."""
    topologies: tuple[Topology, ...] = ("single", "replicated")
    for topology in topologies:
        for arm in random.sample(ARMS, len(ARMS)):
            os.environ[programs.name_image_variable(product)] = (
                "pinned" if arm == "container" else ""
            )
            for operation, value in time_operations(product, topology).items():
                times[product, operation, arm].append(value)


def main(blocks: int) -> None:
    """Print the ratios of so many blocks."""
    engine = containers.find_engine()
    for product in ENGINES:
        container_engine.add_product(engine.socket, product)
    times: Times = defaultdict(list)
    for _ in range(blocks):
        for product in ENGINES:
            block(product, times)
    print(
        f"{engine.name}, {blocks} blocks of {COUNT:,} comments; container / native, and native /"
        " native (A/A)"
    )
    for product, operation in dict.fromkeys(key[:2] for key in times):
        native = times[product, operation, "native"]
        said = []
        for arm in ("container", "native again"):
            logs = np.log(times[product, operation, arm]) - np.log(native)
            ratio = compute_interval(logs, ["today"] * len(logs))
            said.append(format_estimate(exp(ratio.estimate), exp(ratio.low), exp(ratio.high)))
        print(
            f"{product}, {operation}: {said[0]}; A/A {said[1]}; native"
            f" {sum(native) / len(native) / 1e3:,.0f} µs"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
