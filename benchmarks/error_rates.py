"""Print how often verdicts of simulated claims are wrong: the table of docs/method.md.

``python benchmarks/error_rates.py [--draws 4000]`` simulates so many claims of one comparison for
each number, and fewer of larger claims, down to 400. A number is the worst of seven kinds of noise,
in % of claims: at the end, and for those who look at the end of each day.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import simulated

SIZES = (1, 10, 24)
LEAST_DRAWS = 400


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=4000)
    draws = parser.parse_args().draws
    truths = {**simulated.TRUTHS, "5 of 8 are true": simulated.SHORT_OF_TWO_THIRDS}
    jobs = []
    for schedule, (name, truth), n in product(simulated.SCHEDULES, truths.items(), SIZES):
        if n >= len(truth.ratios):
            jobs.append((schedule, name, truth, n))
    with ProcessPoolExecutor() as pool:
        tasks = [
            pool.submit(worst, truth, schedule, n, max(draws // n, LEAST_DRAWS))
            for schedule, _, truth, n in jobs
        ]
        for (schedule, name, _, n), task in zip(jobs, tasks, strict=True):
            of_noise = task.result()
            end = max(of_noise, key=lambda noise: of_noise[noise].at_end)
            ever = max(of_noise, key=lambda noise: of_noise[noise].ever)
            print(
                f"{schedule}, {name}, N = {n}: {100 * of_noise[end].at_end:.1f} at the end ({end}),"
                f" {100 * of_noise[ever].ever:.1f} at the end of some day ({ever})",
                flush=True,
            )


def worst(truth: simulated.Truth, schedule: str, n: int, draws: int) -> dict[str, simulated.Wrong]:
    """Return the shares of wrong verdicts for each kind of noise."""
    days = simulated.SCHEDULES[schedule]
    return {
        name: simulated.wrong_verdicts(truth, noise, days, n, draws)
        for name, noise in simulated.NOISES.items()
    }


if __name__ == "__main__":
    main()
