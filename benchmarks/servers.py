"""Print how long servers take to be ready and to be gone: ``python benchmarks/servers.py [REPEATS]``.

Those at given addresses are ready when a cell's store has been made, and followed, on them, and gone when nothing of
the suite's is left there. The target is a pair ready within 3 s.
"""

import itertools
import statistics
import sys
import time

from benchbook import databases, servers
from benchbook.datasets import phones
from benchbook.deployment import Topology

STORE = phones.smartphones(1, 1).schema


def measure(product: str, topology: Topology) -> tuple[float, float]:
    """Return the seconds to start, ready and the replica following, and to stop."""
    started = time.perf_counter()
    with servers.up(product, topology) as running:
        deployment = running.deployment
        databases.reserve(deployment)
        if deployment.given:
            name = next(name for name in databases.NAMES if servers.product_of(name) == product)
            with databases.open(name, deployment) as engine:
                engine.create(STORE)
        ready = time.perf_counter()
        databases.release(deployment)
    return ready - started, time.perf_counter() - ready


def main(repeats: int) -> None:
    """Print the median of `repeats` starts of everything that is here."""
    topologies: tuple[Topology, ...] = ("single", "replicated")
    for product, topology in itertools.product(servers.PRODUCTS, topologies):
        found = servers.find(product, topology)
        if isinstance(found, servers.Missing):
            print(f"{product}, {topology}: {found.why}")
        else:
            ready, gone = zip(*(measure(product, topology) for _ in range(repeats)), strict=True)
            times = f"ready in {statistics.median(ready):.2f} s, gone in {statistics.median(gone):.2f} s"
            print(f"{product} {found.version} ({found.source}), {topology}: {times} (median of {repeats})")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
