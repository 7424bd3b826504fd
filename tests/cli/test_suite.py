"""The whole suite at the smoke profile: five notebooks through papermill, then the report."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchbook.papers import exhibits
from benchbook.report import merged_run
from benchbook.results.folder import open_results
from benchbook.studies.catalogue import SLUGS


def start(folder: Path, *words: str, **streams: int) -> "subprocess.Popen[str]":
    env = os.environ | {
        "BENCHBOOK_RESULTS": str(folder / "results"),
        "BENCHBOOK_FIGURES": str(folder / "figures"),
    }
    command = [sys.executable, "-m", "benchbook.cli", *words, "--profile", "smoke"]
    return subprocess.Popen(command, env=env, text=True, **streams)


def benchbook(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    with start(folder, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        printed, said = process.communicate()
    return subprocess.CompletedProcess(words, process.returncode, printed, said)


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
        assert set(open_results().list_states(slug).values()) == {"done"}, slug


def test_a_second_run_starts_nothing(folder: Path):
    before = {path: path.stat().st_mtime_ns for path in (folder / "results").rglob("*.parquet")}
    again = benchbook(folder, "run")
    assert again.returncode == 0
    assert re.search(r"(\d+) cells: all done before", again.stdout)
    assert before == {
        path: path.stat().st_mtime_ns for path in (folder / "results").rglob("*.parquet")
    }


def test_a_first_report_has_every_figure_even_with_damaged_results(folder: Path):
    first, second, *_ = sorted((folder / "results" / "bookstore").glob("*.parquet"))
    os.truncate(first, 3000)
    os.truncate(second, 0)
    # Two blocks are left: the report is built after the first of them, and the run is killed then.
    words = ("run", "tcp", "--where", "language=python", "--set", "blocks=3", "--report")
    with start(folder, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        early = "a first report, of one block, so its intervals are open: "
        page = next(line.removeprefix(early) for line in run.stdout if line.startswith(early))
        run.kill()
        said = run.communicate()[1].splitlines()
    # The run has named the damaged files, and set them aside.
    damaged = [line.split(" is damaged ")[0] for line in said if "damaged" in line]
    assert [*dict.fromkeys(damaged)] == [f"benchbook: {first}", f"benchbook: {second}"]
    # Another study is done: its run measures nothing, and builds the report at its end.
    built = benchbook(folder, "run", "crud", "--report")
    assert built.returncode == 0, built.stdout + built.stderr
    assert built.stdout.endswith(page)
    text = Path(page.strip()).read_text()
    assert text.count("<figure") >= len(exhibits.FIGURES)
    assert merged_run.DAMAGED in text and "This run is not over:" in text
    assert {path.stem for path in Path(page).parent.glob("*.svg")} == set(exhibits.FIGURES)
