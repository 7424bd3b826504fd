"""The cost of a language's harness over the same loop in a plain program, and of its start.

Both run the same work in a process of their own, in turn: the harness first in one pair, the plain
program first in the next. Printed is the median of the pairs' ratios of their mean repetition, with
a bootstrap interval over the pairs, and the time from start to end of a harness that does next to
nothing. A ratio below 1 is printed, too: a harness that read its request in the same JVM leaves it
a little less cold than a plain program does.

On an idle machine: ``python benchmarks/languages.py``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import numpy as np

import paired
from benchbook import codecs, paths
from benchbook.datasets import books, players
from benchbook.servers import launcher
from benchbook.studies import bookstore, drivers, harness

GOAL = 1.02
"""Largest ratio, harness over plain program."""

HERE = Path(__file__).parent / "languages_bare"
REPETITIONS = {"java": 30, "node": 5}
"""Per process: Java's as in the paper, cold; few of Node's, so that processes take turns often."""

Run = Callable[[int], float]
"""Runs so many repetitions in a fresh process and returns their mean time, in ns."""


def run_plain(command: list[str]) -> float:
    """Return the mean of the times that a plain program prints."""
    output = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | HARNESS
    ).stdout
    return float(np.mean([float(line) for line in output.split()]))


HARNESS = {"HARNESS": str(paths.harness("node"))}


def mean(repetitions: list[harness.Repetition], *operations: str) -> float:
    """Return the mean over repetitions of the operations' times, all formats together."""
    times = []
    for repetition in repetitions:
        time = 0.0
        for section in repetition.sections:
            if section.operation in operations:
                walls = [one.value for one in section.readings if one.metric == "wall_time"]
                time += sum(walls)
        times.append(time)
    return float(np.mean(times))


@contextmanager
def java(n: int, folder: str) -> Iterator[tuple[Run, Run]]:
    given = Path(folder, "bookstore.json")
    given.write_bytes(
        codecs.load_codec("orjson").encode_bookstore(books.generate_bookstore(n, 20150501, 1))
    )
    found = harness.find_harness("java")
    assert isinstance(found, harness.Harness), found
    java, *options, jar = found.command

    def run_harness(repetitions: int) -> float:
        parameters = bookstore.Parameters(
            language="java", json_codec="jackson", xml_codec="jaxb", n=n, repetitions=repetitions
        )
        answer, _ = harness.run_cell(
            "java", "bookstore", parameters.model_dump(mode="json"), folder, data=str(given)
        )
        return mean(answer, "round_trip")

    classes = Path(folder, "classes")
    javac = ["javac", "-cp", jar, "-d", str(classes), str(HERE / "Bookstore.java")]
    subprocess.run(javac, check=True)
    start = [
        java,
        *(one for one in options if one != "-jar"),
        "-cp",
        f"{jar}{os.pathsep}{classes}",
        "Bookstore",
    ]
    yield run_harness, lambda repetitions: run_plain([*start, str(given), folder, str(repetitions)])


@contextmanager
def node(n: int, folder: str) -> Iterator[tuple[Run, Run]]:
    data = players.generate_players(n, 20150501, attributes=6)
    records = list(map(codecs.load_codec("orjson").encode_record, data.records))
    fields = [field.as_json for field in data.schema.fields]
    dates = json.dumps([name for name, kind in fields if kind in ("date", "datetime")])
    updated = next(name for name, kind in fields if kind == "string" and name != "_id")
    given, bare = Path(folder, "given.json"), Path(folder, "bare.json")
    given.write_bytes(b"\n".join([json.dumps(fields).encode(), *records]))
    bare.write_bytes(b"\n".join(records))
    found = harness.find_harness("node")
    assert isinstance(found, harness.Harness), found
    with launcher.open_deployment("mongodb", "single") as deployment:
        url = deployment.node().url

        def run_harness(repetitions: int) -> float:
            parameters = drivers.Parameters(
                language="node",
                process="apart",
                driver="mongoclient",
                attributes=6,
                n=n,
                calls="single",
                repetitions=repetitions,
            )
            asked = parameters.model_dump(mode="json")
            answer, _ = harness.run_cell(
                "node", "drivers", asked, folder, data=str(given), url=url, database="benchbook"
            )
            return mean(answer, "insert", "find", "update", "delete")

        command = [*found.command[:-1], str(HERE / "drivers.js"), url, str(bare), dates, updated]
        yield run_harness, lambda repetitions: run_plain([*command, str(repetitions)])


def time_start(run: Run) -> float:
    """Return the seconds of a harness with one repetition."""
    begun = perf_counter()
    run(1)
    return perf_counter() - begun


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("languages", nargs="*", default=["java", "node"])
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--n", type=int, default=1000)
    asked = parser.parse_args(arguments)
    missed = False
    for language in asked.languages:
        with (
            tempfile.TemporaryDirectory() as folder,
            {"java": java, "node": node}[language](asked.n, folder) as runs,
        ):
            start = min(time_start(runs[0]) for _ in range(3))
            taken: paired.Times = []
            for pair in range(asked.pairs):
                done = {
                    arm: runs[arm](REPETITIONS[language])
                    for arm in ((0, 1) if pair % 2 else (1, 0))
                }
                taken.append((round(done[0]), round(done[1])))
        found = paired.ratio(taken)
        missed |= found.verdict(GOAL) == "missed"
        verdict = f"goal {GOAL} {found.verdict(GOAL)}"
        print(f"{language}: harness over plain program: {found}; {verdict}")
        print(f"  start, one repetition and end took {start:.2f} s (not in any measured time)")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
