"""Real measurements of one command against itself, by `benchbook versus`, hyperfine and pyperf.

Counts how often each tool says that two equal commands differ. It needs hyperfine and pyperf:

    python -m benchmarks.beside_tools --measurements 20 --pyperf PYTHON_WITH_PYPERF
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.designs import COMMAND

Outcome = tuple[bool, float]
"""Whether the tool says that the sides differ, and the ratio of B to A."""


def run(command: Sequence[str]) -> str:
    """Run a tool, and return what it printed."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def ask_versus(folder: Path, number: int, _: str) -> Outcome:
    """Return whether `benchbook versus` excludes a ratio of 1."""
    command = [sys.executable, "-m", "benchbook.cli", "versus", COMMAND, COMMAND, "--json"]
    printed = run(["env", f"BENCHBOOK_RESULTS={folder}", *command, "--name", f"equal{number}"])
    wall = next(row for row in json.loads(printed) if row["metric"] == "wall_time")
    return wall["low"] > 1 or wall["high"] < 1, wall["ratio"]


def ask_hyperfine(folder: Path, _: int, __: str) -> Outcome:
    """Return whether the ratio's error, as hyperfine prints it, excludes 1."""
    file = folder / "hyperfine.json"
    run(["hyperfine", "--shell=none", "--export-json", str(file), COMMAND, COMMAND])
    a, b = json.loads(file.read_text())["results"]
    ratio = b["mean"] / a["mean"]
    error = ratio * math.hypot(b["stddev"] / b["mean"], a["stddev"] / a["mean"])
    return abs(ratio - 1) > error, ratio


def ask_pyperf(folder: Path, _: int, python: str) -> Outcome:
    """Return whether `pyperf compare_to` calls the difference significant."""
    means = []
    for side in ("a", "b"):
        file = folder / f"{side}.json"
        file.unlink(missing_ok=True)
        run([python, "-m", "pyperf", "command", "--quiet", "-o", str(file), *COMMAND.split()])
        runs = json.loads(file.read_text())["benchmarks"][0]["runs"]
        # A run that calibrates has no values.
        values = [np.mean(each["values"]) for each in runs if "values" in each]
        means.append(float(np.mean(values)))
    files = [str(folder / f"{side}.json") for side in ("a", "b")]
    printed = run([python, "-m", "pyperf", "compare_to", *files])
    return "not significant" not in printed.lower(), means[1] / means[0]


TOOLS: Final[Mapping[str, Callable[[Path, int, str], Outcome]]] = {
    "versus": ask_versus,
    "hyperfine": ask_hyperfine,
    "pyperf": ask_pyperf,
}
"""The tools; each is asked with a folder, the measurement's number, and a Python with pyperf."""


def main() -> None:
    """Print each tool's outcomes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--measurements", type=int, default=20)
    parser.add_argument("--pyperf", default=sys.executable, help="a Python that has pyperf")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=TOOLS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.tools:
            ask = TOOLS[name]
            began = time.monotonic()
            outcomes = [
                ask(Path(folder), number, options.pyperf) for number in range(options.measurements)
            ]
            seconds = (time.monotonic() - began) / options.measurements
            ratios = sorted(ratio for _, ratio in outcomes)
            alarms = sum(differs for differs, _ in outcomes)
            print(
                f"{name}: {alarms} of {len(outcomes)} say that equal commands differ; "
                f"ratios {ratios[0]:.3f} to {ratios[-1]:.3f}; {seconds:.0f} s each",
                flush=True,
            )


if __name__ == "__main__":
    main()
