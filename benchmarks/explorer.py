"""What a reader of the explorer waits for: its first paint, and each redraw, with a million observations behind it.

``python benchmarks/explorer.py [OBSERVATIONS]`` gives the reference run further blocks, each a copy of one that was
measured, until there are that many; serves them by ``benchbook explore``, opens the page in Chromium and changes what
is compared. A redraw is from the change of a control until the page shows the other figure. Goals: 3 s and 0.3 s; run
it on an idle machine.

``python benchmarks/explorer.py --loads 20`` loads the page of the reference run as often, one load after another, and
counts the kernels and the memory (proportional set size) of the server and all that it started. Goal: never more
kernels than pages may be open, and in the end the one that waits for the next page.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import ceil
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from playwright.sync_api import sync_playwright

from benchbook import paths
from benchbook.evidence.reference import MEANS, REPETITIONS
from benchbook.explorer.serving import PAGES
from benchbook.results import files

GOALS_S: Final = {"first_paint": 3.0, "redraw": 0.3}
LEFT_S: Final = 20.0
"""Seconds after which a page that is closed has left nothing."""

APART: Final = 100  # blocks: more than the reference run has, so that a copy's are its own
FIGURE: Final = ".bb-figure [role=img]"
CHANGED: Final = f"was => document.querySelector('{FIGURE}').ariaLabel != was"
OF_A_LOOK: Final = "Array.from(document.querySelectorAll('.bb-part')[0].querySelectorAll('.bb-controls select'))"


def enlarged(home: Path, observations: int) -> int:
    """Lay out a checkout whose reference run has at least so many observations; return how many it has."""
    for one in paths.root().iterdir():
        if one.name not in ("figures", ".git"):
            (home / one.name).symlink_to(one)
    folder = home / "figures" / "reference"
    folder.mkdir(parents=True)
    means, rows = (pq.read_table(paths.reference() / name) for name in (MEANS, REPETITIONS))
    copies = ceil(observations / len(rows))
    for name, table in {MEANS: means, REPETITIONS: rows}.items():
        every = pa.concat_tables(_moved(table, APART * copy) for copy in range(copies))
        if name == REPETITIONS:
            every = every.sort_by([("study", "ascending"), ("cell_id", "ascending"), ("block", "ascending")])
        group = pq.ParquetFile(paths.reference() / name).metadata.row_group(0).num_rows
        with (folder / name).open("w+b") as file, files.sealed(file, every.schema) as writer:
            writer.write_table(every, row_group_size=group)
    return copies * len(rows)


def _moved(table: pa.Table, blocks: int) -> pa.Table:
    place = table.schema.get_field_index("block")
    return table.set_column(
        place, table.schema.field(place), pc.add(table["block"], blocks).cast(table.schema.field(place).type)
    )


@contextmanager
def served(home: Path, results: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Yield the address and the process of the explorer of a checkout."""
    environment = os.environ | {"BENCHBOOK_HOME": str(home), "BENCHBOOK_RESULTS": str(results)}
    command = [sys.executable, "-m", "benchbook.cli", "explore", "--no-browser"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            yield server.stdout.readline().strip(), psutil.Process(server.pid)
        finally:
            server.send_signal(signal.SIGINT)


def redraws(page: Any) -> Iterator[float]:
    """Change each control to its other options, and yield how long the page took to show another figure, in s."""
    for place in range(page.evaluate(f"() => {OF_A_LOOK}.length")):
        for option in range(min(4, page.evaluate(f"() => {OF_A_LOOK}[{place}]?.options.length ?? 0"))):
            chosen = page.evaluate(f"() => {OF_A_LOOK}[{place}].selectedIndex")
            if option == chosen:
                continue
            was = page.get_attribute(FIGURE, "aria-label")
            change = f"""() => new Promise(done => {{
                const was = document.querySelector('{FIGURE}').ariaLabel, begun = performance.now();
                const look = () => document.querySelector('{FIGURE}').ariaLabel != was
                    ? requestAnimationFrame(() => done(performance.now() - begun))
                    : performance.now() - begun > 20000 ? done(null) : setTimeout(look, 2);
                const select = {OF_A_LOOK}[{place}];
                select.selectedIndex = {option}; select.dispatchEvent(new Event('change', {{bubbles: true}})); look();
            }})"""
            page.wait_for_timeout(500)  # what follows the figure is there, and the reader has looked
            took = page.evaluate(change)
            assert took is not None, f"after 20 s the page still shows {was}"
            yield took / 1e3


def taken(server: psutil.Process) -> tuple[int, float]:
    """Return how many kernels a server has, and the megabytes that it and all that it started hold."""
    kernels, held = 0, 0
    for process in (server, *server.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            held += process.memory_full_info().pss
            kernels += "ipykernel_launcher" in " ".join(process.cmdline())
    return kernels, held / 1e6


def load_often(loads: int) -> int:
    """Load the page so often, print what the server takes, and return whether it holds more than the goal."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with served(paths.root(), Path(folder)) as (address, server):
            page = browser.new_page()
            page.set_default_timeout(60_000)
            during = []
            for _ in range(loads):
                page.goto(address)
                page.wait_for_selector(f"{FIGURE} svg")
                during.append(taken(server))
            browser.close()
            time.sleep(LEFT_S)
            kernels, megabytes = taken(server)
    most = [max(numbers) for numbers in zip(*during, strict=True)]
    figures = {"loads": loads, "kernels_at_most": most[0], "megabytes_at_most": round(most[1])}
    print(json.dumps(figures | {"kernels_afterwards": kernels, "megabytes_afterwards": round(megabytes)}))
    return int(most[0] > PAGES or kernels > 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("observations", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--loads", type=int, default=0)
    asked = parser.parse_args()
    if asked.loads:
        return load_often(asked.loads)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder)
        observations = enlarged(home, asked.observations)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        begun = perf_counter()
        with served(home, home / "no results") as (address, _):
            started = perf_counter() - begun
            page = browser.new_page(viewport={"width": 1280, "height": 2000})
            page.set_default_timeout(60_000)
            begun = perf_counter()
            page.goto(address)
            page.wait_for_selector(f"{FIGURE} svg")
            first = perf_counter() - begun
            took = pd.Series([*redraws(page)])
            browser.close()
    figures = {
        "observations": observations,
        "started": started,
        "first_paint": first,
        "redraws": len(took),
        "redraw": took.median(),
        "redraw_95": took.quantile(0.95),
        "slowest": took.max(),
    }
    print(json.dumps({name: round(float(value), 3) for name, value in figures.items()}))
    return int(any(figures[name] > goal for name, goal in GOALS_S.items()))


if __name__ == "__main__":
    sys.exit(main())
