"""Seconds to generate the largest sets: median of five. Run: ``python benchmarks/datasets.py``."""

from collections.abc import Callable
from statistics import median
from time import perf_counter

from benchbook.datasets import blog, players
from benchbook.datasets.dataset import Dataset

GOAL = 1.0
"""Seconds, for each."""

SETS: dict[str, Callable[[], Dataset]] = {
    "18,000 x 89 wide records": lambda: players.generate_players(18_000, 20150501),
    "100,000 comments": lambda: blog.generate_comments(100_000, 20150501),
}


def seconds(action: Callable[[], object]) -> float:
    start = perf_counter()
    action()
    return perf_counter() - start


if __name__ == "__main__":
    for name, make in SETS.items():
        taken = [seconds(make) for _ in range(5)]
        print(
            f"{name}: {median(taken):.2f} s (from {min(taken):.2f} to {max(taken):.2f}; goal"
            f" {GOAL:.0f} s)"
        )
