"""The whole suite at the smoke profile: five notebooks through papermill, then the report."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchbook.papers import exhibits
from benchbook.report import merged_run
from benchbook.results.folder import list_states
from benchbook.studies.catalogue import SLUGS


def benchbook(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {
        "BENCHBOOK_RESULTS": str(folder / "results"),
        "BENCHBOOK_FIGURES": str(folder / "figures"),
    }
    command = [sys.executable, "-m", "benchbook.cli", *words, "--profile", "smoke"]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where a whole run went."""
    folder = tmp_path_factory.mktemp("suite")
    ran = benchbook(folder, "run")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


def test_every_study_ran_and_every_cell_is_done(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(folder / "results"))
    for slug in SLUGS:
        assert set(list_states(slug).values()) == {"done"}, slug


def test_a_second_run_starts_nothing(folder: Path):
    before = {path: path.stat().st_mtime_ns for path in (folder / "results").rglob("*.parquet")}
    again = benchbook(folder, "run")
    assert again.returncode == 0
    assert re.search(r"(\d+) cells: all done before", again.stdout)
    assert before == {
        path: path.stat().st_mtime_ns for path in (folder / "results").rglob("*.parquet")
    }


def test_the_report_stands_after_a_block_and_at_the_end_even_with_damaged_results(folder: Path):
    first, second, *_ = sorted((folder / "results" / "bookstore").glob("*.parquet"))
    os.truncate(first, 3000)
    os.truncate(second, 0)
    further = ("--where", "language=python", "--set", "blocks=3")
    ran = benchbook(folder, "run", "tcp", *further, "--report")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # Two blocks were left: it stands after the first of them, and is built again.
    *lines, page = ran.stdout.splitlines()
    early = f"a first report, of one block, so its intervals are open: {page}"
    assert [line for line in lines if line.startswith(("block", "a first"))][1::2] == [early]
    said = ran.stderr.splitlines()
    damaged = [line.split(" is damaged ")[0] for line in said if "damaged" in line]
    assert damaged[-2:] == [f"benchbook: {first}", f"benchbook: {second}"]
    text = Path(page).read_text()
    assert text.count("<figure") >= len(exhibits.FIGURES)
    assert merged_run.DAMAGED in text and "This run is not over:" in text
    assert {path.stem for path in Path(page).parent.glob("*.svg")} == set(exhibits.FIGURES)
