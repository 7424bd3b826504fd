"""Print the seconds of servers to start and to end: ``python benchmarks/servers.py [REPEATS]``.

A product whose image is here, too, is also started in containers, in turns. Those at given
addresses are ready when a cell's store has been made, and followed, on them, and gone when nothing
of the suite's is left there. The target is a pair ready within 3 s, in containers within 5.
"""

import itertools
import os
import statistics
import sys
import time
from collections import defaultdict

from benchbook.databases import catalogue
from benchbook.datasets import phones
from benchbook.registry import products
from benchbook.registry.products import PRODUCTS
from benchbook.servers import containers, launcher, programs
from benchbook.servers.deployment import Topology
from benchbook.servers.programs import MissingServer

STORE = phones.generate_smartphones(1, 1).schema


def measure(product: str, topology: Topology) -> tuple[float, float]:
    """Return the seconds to start, ready and the replica following, and to stop."""
    started = time.perf_counter()
    with (
        launcher.provide_servers(product, topology) as running,
        catalogue.use_fresh_database(running.deployment),
    ):
        if running.deployment.is_given:
            name = next(
                name for name in catalogue.DATABASE_NAMES if launcher.name_product(name) == product
            )
            with catalogue.open_adapter(name, running.deployment) as adapter:
                adapter.create(STORE)
        ready = time.perf_counter()
    return ready - started, time.perf_counter() - ready


def arms(product: str) -> list[str]:
    """Return the values of a product's variable: none, and the image where it is here."""
    image = products.load_images().get(product)
    try:
        return ["", "pinned"] if image and containers.find_image(image) else [""]
    except containers.NoEngineError:
        return [""]


def main(repeats: int) -> None:
    """Print the median of `repeats` starts of everything that is here."""
    topologies: tuple[Topology, ...] = ("single", "replicated")
    for product, topology in itertools.product(PRODUCTS, topologies):
        said, times = {}, defaultdict(list)
        for _, arm in itertools.product(range(repeats), arms(product)):
            os.environ[programs.name_image_variable(product)] = arm
            found = launcher.find_server(product, topology)
            if isinstance(found, MissingServer):
                said[arm] = f"{product}, {topology}: {found.why}"
            else:
                said[arm] = f"{product} {found.version} ({found.source}), {topology}"
                times[arm].append(measure(product, topology))
        for arm, text in said.items():
            if times[arm]:
                ready, gone = (
                    statistics.median(seconds) for seconds in zip(*times[arm], strict=True)
                )
                text += f": ready in {ready:.2f} s, gone in {gone:.2f} s (median of {repeats})"
            print(text, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
