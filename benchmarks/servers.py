"""Print how long servers take to be ready and to be gone: ``python benchmarks/servers.py [REPEATS]``.

A product whose image is here, too, is started in containers beside, in turns.
Those at given addresses are ready when a cell's store has been made, and followed, on them, and gone when nothing of
the suite's is left there. The target is a pair ready within 3 s, in containers within 5.
"""

import itertools
import os
import statistics
import sys
import time
from collections import defaultdict

from benchbook import databases, registry, servers
from benchbook.datasets import phones
from benchbook.deployment import Topology
from benchbook.servers import containers, programs

STORE = phones.smartphones(1, 1).schema


def measure(product: str, topology: Topology) -> tuple[float, float]:
    """Return the seconds to start, ready and the replica following, and to stop."""
    started = time.perf_counter()
    with servers.up(product, topology) as running, databases.use_fresh_database(running.deployment):
        if running.deployment.given:
            name = next(name for name in databases.NAMES if servers.product_of(name) == product)
            with databases.open(name, running.deployment) as adapter:
                adapter.create(STORE)
        ready = time.perf_counter()
    return ready - started, time.perf_counter() - ready


def arms(product: str) -> list[str]:
    """Return what a product's variable is set to: nothing, and, where its image is here, that."""
    image = registry.images().get(product)
    try:
        return ["", "pinned"] if image and containers.find(image) else [""]
    except containers.NoEngineError:
        return [""]


def main(repeats: int) -> None:
    """Print the median of `repeats` starts of everything that is here."""
    topologies: tuple[Topology, ...] = ("single", "replicated")
    for product, topology in itertools.product(servers.PRODUCTS, topologies):
        said, times = {}, defaultdict(list)
        for _, arm in itertools.product(range(repeats), arms(product)):
            os.environ[programs.image_variable(product)] = arm
            found = servers.find(product, topology)
            if isinstance(found, servers.Missing):
                said[arm] = f"{product}, {topology}: {found.why}"
            else:
                said[arm] = f"{product} {found.version} ({found.source}), {topology}"
                times[arm].append(measure(product, topology))
        for arm, text in said.items():
            if times[arm]:
                ready, gone = (statistics.median(seconds) for seconds in zip(*times[arm], strict=True))
                text += f": ready in {ready:.2f} s, gone in {gone:.2f} s (median of {repeats})"
            print(text, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
