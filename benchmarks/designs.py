"""How often `benchbook versus` errs, beside designs that run A to its end and then B.

Records series of runs of one command on this machine: quiet, beside busy processes, and with a
drift. Then cuts measurements out of each series, in which B is A, or A slowed by a known factor.
The recorded order is kept, so that a design meets the load as it was.

    python -m benchmarks.designs --runs 20000 --measurements 1000 --series FOLDER
"""

import argparse
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from benchbook.analysis.intervals import compute_interval
from benchbook.sides.commands import CommandRunner
from benchbook.sides.measurement import BLOCK_S, BLOCKS, MAX_ROUNDS

Series = NDArray[np.float64]
Measurement = tuple[float, float, float]
"""The estimated ratio with the ends of its interval."""

COMMAND: Final = f"{sys.executable} -S -c pass"
FACTORS: Final = (1.0, 1.03, 1.05, 1.1)
DRIFT_PERIOD_S: Final = 60.0


def burn(share: Callable[[float], float]) -> None:
    """Use a share of a processor, which depends on the time, in slices of 20 ms."""
    while True:
        begin = time.monotonic()
        while time.monotonic() - begin < 0.02 * share(begin):
            pass
        time.sleep(max(0.0, 0.02 - (time.monotonic() - begin)))


def stay_busy(_: float) -> float:
    """Return the share of a process that is always busy."""
    return 1.0


def drift(at: float) -> float:
    """Return a share that rises and falls slowly."""
    return 0.5 - 0.5 * math.cos(2 * math.pi * at / DRIFT_PERIOD_S)


CONDITIONS: Final = {"quiet": None, "busy": stay_busy, "drift": drift}


@contextmanager
def load_machine(share: Callable[[float], float] | None) -> Iterator[None]:
    """Run a busy process per processor but one meanwhile, and at least one."""
    count = max(1, (os.cpu_count() or 2) - 1) if share else 0
    burners = [
        multiprocessing.Process(target=burn, args=(share,), daemon=True) for _ in range(count)
    ]
    for burner in burners:
        burner.start()
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()


def record_series(runs: int, share: Callable[[float], float] | None) -> Series:
    """Return the wall time of each run in ns, in their order."""
    runner = CommandRunner([COMMAND])
    with load_machine(share), runner.start_block() as run_side:
        return np.array([run_side(0).values["wall_time"] for _ in range(runs)])


def measure_in_turns(runs: Series, factor: float, random: np.random.Generator) -> Measurement:
    """Return the answer of `benchbook versus`: both sides twice per round, in blocks."""
    per_block = len(runs) // BLOCKS // 8 * 8
    logs = []
    for block in runs[: BLOCKS * per_block].reshape(BLOCKS, per_block // 8, 8):
        # The order of a round is drawn, and that of the next one is the reverse.
        drawn = random.permuted(np.tile([True, True, False, False], (len(block), 1)), axis=1)
        is_b = np.hstack([drawn, drawn[:, ::-1]])
        logs.append(math.log(block[is_b].mean() * factor / block[~is_b].mean()))
    found = compute_interval(logs, ["one day"] * BLOCKS)
    return math.exp(found.estimate), math.exp(found.low), math.exp(found.high)


def measure_by_mean(runs: Series, factor: float, _: np.random.Generator) -> Measurement:
    """Return the ratio plus or minus the error that hyperfine prints: A to its end, then B."""
    a, b = np.array_split(runs, 2)
    b = b * factor
    ratio = b.mean() / a.mean()
    error = ratio * math.hypot(b.std(ddof=1) / b.mean(), a.std(ddof=1) / a.mean())
    return ratio, ratio - error, ratio + error


def measure_by_test(runs: Series, factor: float, _: np.random.Generator) -> Measurement:
    """Return the ratio with a 95 % interval of Welch's test: A to its end, then B."""
    a, b = np.array_split(runs, 2)
    found = stats.ttest_ind(b * factor, a, equal_var=False).confidence_interval(0.95)
    ratio = b.mean() * factor / a.mean()
    return ratio, 1 + found.low / a.mean(), 1 + found.high / a.mean()


DESIGNS: Final = {
    "in turns, blocks (versus)": measure_in_turns,
    "A, then B: standard deviations (hyperfine)": measure_by_mean,
    "A, then B: Welch's test at 95 % (pyperf)": measure_by_test,
}


def judge_designs(series: Series, measurements: int) -> Iterator[dict[str, object]]:
    """Yield how often each design says that B differs, and how often it covers the true ratio."""
    # As many runs as `benchbook versus` makes by default.
    round_s = 2 * float(np.mean(series)) / 1e9
    rounds = min(2 * max(1, round(BLOCK_S / round_s / 4)), MAX_ROUNDS)
    length = min(BLOCKS * rounds * 4, len(series) // 2)
    for name, measure in DESIGNS.items():
        for factor in FACTORS:
            random = np.random.default_rng(20261129)
            differs = covers = 0
            for _ in range(measurements):
                start = random.integers(0, len(series) - length + 1)
                _, low, high = measure(series[start : start + length], factor, random)
                differs += low > 1 or high < 1
                covers += low <= factor <= high
            yield {
                "design": name,
                "true ratio": factor,
                "says that it differs": differs / measurements,
                "covers the true ratio": covers / measurements,
            }


def main() -> None:
    """Record the series that are not there yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--measurements", type=int, default=1_000)
    parser.add_argument("--series", type=Path, required=True, help="a folder for the series")
    options = parser.parse_args()
    options.series.mkdir(parents=True, exist_ok=True)
    rows = []
    for condition, share in CONDITIONS.items():
        file = options.series / f"{condition}.npy"
        if not file.exists():
            np.save(file, record_series(options.runs, share))
        table = pd.DataFrame([*judge_designs(np.load(file), options.measurements)])
        rows.append(table.assign(condition=condition))
    print(pd.concat(rows).to_string(index=False))


if __name__ == "__main__":
    main()
