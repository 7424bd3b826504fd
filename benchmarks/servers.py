"""Print how long servers take to be ready and to be gone: ``python benchmarks/servers.py [REPEATS]``.

The target is a pair ready within 3 s.
"""

import itertools
import statistics
import sys
import time

from benchbook import servers
from benchbook.deployment import Topology


def measure(product: str, topology: Topology) -> tuple[float, float]:
    """Return the seconds to start, ready and the replica following, and to stop."""
    started = time.perf_counter()
    running = servers.start(product, topology)
    ready = time.perf_counter()
    running.stop()
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
