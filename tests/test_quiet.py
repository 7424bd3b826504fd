"""What other processes use is seen and waited for, and what they disturbed is measured again: on real cells."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pandas as pd
import pytest

from benchbook import cli, grid, results
from benchbook.grid import Cell
from benchbook.measure.machine import QUIET, Load, load, snapshot
from benchbook.runner import batch, quiet
from benchbook.runner.notebook import Ended
from benchbook.runner.progress import Progress, Summary
from benchbook.runner.quiet import NotQuietError
from waiting import PATIENCE_S

pytestmark = pytest.mark.usefixtures("results_folder")
CHOSEN = ["language=python", "process=together", "arm=a"]
BUSY = [sys.executable, "-c", "print(flush=True)\nwhile True: pass"]


@contextmanager
def busy() -> Iterator[int]:
    """Let a process beside use a processor, as far as it gets one."""
    with subprocess.Popen(BUSY, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.kill()


def benchbook(*words: str, **of_quiet: float) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, of which what a test starts is no part."""
    set_s = "".join(f"quiet.{name.upper()} = {seconds}; " for name, seconds in of_quiet.items())
    code = f"import sys; from benchbook import cli; from benchbook.runner import quiet; {set_s}"
    command = [sys.executable, "-c", f"{code}sys.exit(cli.main(sys.argv[1:]))", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def used(seconds: float, foreign: float) -> Load:
    return Load(seconds, foreign, 0.0, 0, {os.getpid(): foreign})


class Others:
    """What others use while each of the cells runs, as a test lays it out; between them they rest."""

    def __init__(self, *while_cells: float) -> None:
        self._while_cells = iter(while_cells)
        self._end = False

    def load(self, *_: object) -> Load:
        return used(2.0, next(self._while_cells)) if self._end else used(2.0, 0.0)

    def lay(self, patch: pytest.MonkeyPatch) -> None:
        end = quiet.Watch.end

        def ended(watch: quiet.Watch, own: set[int]) -> Load:
            self._end = True
            try:
                return end(watch, own)
            finally:
                self._end = False

        patch.setattr(quiet, "load", self.load)
        patch.setattr(quiet.Watch, "end", ended)


def planned(*changes: str) -> list[Cell]:
    return grid.plan(["bookstore"], "smoke", CHOSEN, list(changes)).cells


def run(cells: list[Cell], patience_s: float | None = 60.0) -> Summary:
    with Progress(cells, {}) as progress:
        one = batch.Batch(cells, progress, patience_s=patience_s)
        one.run()
    return one.summary


def written() -> pd.DataFrame:
    with results.connect() as connection:
        return results.frame(connection, "SELECT block, state, noisy, background_load, cell_started_at FROM cells")


def test_what_a_process_uses_is_foreign_unless_it_is_the_runs_own():
    with busy() as pid:
        before = snapshot()
        time.sleep(1)
        after = snapshot()
    foreign, own = load(before, after, []), load(before, after, [os.getpid()])
    share = foreign.others[pid]
    assert share > 0 and foreign.foreign > share - 0.1, "what /proc/stat samples holds what the process' clock says"
    assert pid not in own.others and os.getpid() not in own.others, "descendants are the run's own"
    # servers of this process that stand for other tests are its descendants, too
    descendants = sum(used for other, used in foreign.others.items() if other not in own.others)
    assert own.foreign == pytest.approx(max(0, foreign.foreign - descendants), abs=0.05)


def test_a_machine_is_quiet_up_to_the_limit_and_what_a_short_window_cannot_tell():
    assert used(10.0, QUIET).quiet and not used(10.0, QUIET + 0.02).quiet
    assert used(0.2, QUIET + 0.2).quiet and not used(0.2, QUIET + 0.3).quiet


def test_who_uses_the_processors_is_said_by_name_alone():
    with busy() as pid:
        said = str(Load(1.0, 1.5, 0.3, 0, {pid: 1.2}))
    assert said.startswith("other processes use 1.50 processors (python")
    assert said.endswith(" 1.20, the host of this virtual machine 0.30)")
    assert "while True" not in said and "/" not in said
    assert "none of which can be seen" in str(Load(1.0, 1.5, 0.0, 0, {}))


def test_a_cell_beside_a_busy_process_is_marked_and_with_noisy_nothing_else():
    chosen = [word for text in CHOSEN for word in ("--where", text)]
    with busy():
        ran = benchbook("run", "bookstore", "--profile", "smoke", *chosen, "--noisy")
    rows = written()
    assert ran.returncode == cli.DONE and rows["noisy"].all() and (rows["background_load"] > QUIET).all(), ran
    count = len(rows)
    assert f"{count} cells ran while other programs were busy. {count} noisy: " in ran.stdout


def test_a_noisy_cell_is_measured_again_at_its_blocks_end_and_replaced(monkeypatch: pytest.MonkeyPatch):
    cells = planned("blocks=2")
    half = len(cells) // 2
    Others(1.5, *[0.0] * half, *[0.0] * half).lay(monkeypatch)
    summary = run(cells)
    rows = written()
    assert len(rows) == len(cells) and not rows["noisy"].any() and rows["background_load"].eq(0).all()
    assert (summary.done, summary.beside_others, summary.repeated, summary.noisy) == (len(cells), 1, 1, [])
    first, second = (rows.loc[rows["block"].eq(block), "cell_started_at"] for block in (0, 1))
    assert first.max() < second.min(), "before the next block begins"


@pytest.mark.parametrize(("again", "stands"), [(2.5, 1.5), (0.5, 0.5)])
def test_of_two_noisy_measurements_the_less_noisy_stands_and_there_is_no_third(
    monkeypatch: pytest.MonkeyPatch, again: float, stands: float
):
    (cell, *_) = planned()
    Others(1.5, again).lay(monkeypatch)
    summary = run([cell])
    assert written()[["noisy", "background_load"]].values.tolist() == [[True, stands]]
    assert (summary.done, summary.repeated, summary.noisy) == (1, 1, [cell])


def test_a_cell_that_fails_when_measured_again_keeps_its_first_values(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (cell, *_) = planned()
    Others(1.5, 0.0).lay(monkeypatch)
    outcomes = iter([batch.execute, lambda *_, **__: Ended("ValueError: boom")])
    monkeypatch.setattr(batch, "execute", lambda *how, **options: next(outcomes)(*how, **options))
    summary = run([cell])
    assert written()[["state", "noisy"]].values.tolist() == [["done", True]] and not summary.failed
    assert "failed when measured again, so its first values stay: bookstore (block 1): ValueError: boom" in (
        capsys.readouterr().out
    )


def test_a_machine_that_is_never_quiet_is_refused_with_who_is_busy_and_what_to_do():
    with busy():
        ran = benchbook("run", "bookstore", "--profile", "quick", "--where", CHOSEN[0], patience_s=1.5)
    assert ran.returncode == cli.FAILED and not results.states("bookstore"), ran
    assert "waiting until others use less than 0.1 processors: other processes use" in ran.stdout
    assert ran.stdout.count("waiting until") == 1, "a log says it once"
    (line,) = ran.stderr.splitlines()
    assert line.startswith("stopped: other processes use ") and "python" in line
    assert "stop them, or add --noisy, which measures all the same" in line and line.endswith(
        "Finished cells are kept: the same command continues"
    )


def test_a_run_that_waits_long_says_once_for_what_and_that_noisy_goes_on():
    with busy():
        ran = benchbook("run", "bookstore", "--profile", "quick", "--where", CHOSEN[0], patience_s=3, long_s=1)
    (line,) = [line for line in ran.stdout.splitlines() if "--noisy" in line]
    assert re.search(r"^waiting until others use less than 0.1 processors: .*python.* \d\.\d\d.*; for \d+ s now", line)
    assert "and for 3 s at most: stop them, or add --noisy, which measures all the same" in line


def test_on_a_terminal_too_a_long_wait_is_said_on_a_line_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("FORCE_COLOR", "1")  # takes what is no terminal for one
    monkeypatch.setenv("COLUMNS", "40")
    (cell, *_) = planned()
    with Progress([cell], {}) as progress:
        progress.begun(cell)
        progress.waiting("others are busy")
        progress.waiting("others are busy", "use --noisy instead of waiting for them any longer")
        progress.waiting("others are busy", "use --noisy instead of waiting for them any longer")
    said = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().out)
    assert said.count("others are busy; use --noisy instead of waiting for them any longer\n") == 1, said


def test_ctrl_c_ends_a_wait_and_leaves_nothing():
    command = [sys.executable, "-m", "benchbook.cli", "run", "bookstore", "--profile", "quick", "--where", CHOSEN[0]]
    with busy(), subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("waiting until"):
                break
        process.send_signal(signal.SIGINT)
        printed = process.communicate(timeout=PATIENCE_S)[0]
    assert process.returncode == cli.INTERRUPTED, printed
    assert "stopped. Finished cells are kept" in printed and not results.states("bookstore")


def test_a_wait_ends_when_the_others_do_and_a_quiet_cell_spares_the_next_one(monkeypatch: pytest.MonkeyPatch):
    said: list[tuple[str, str]] = []
    script = iter([used(0.5, 1.2), used(1.0, 0.9), used(1.0, 0.02), used(3.0, 0.0), used(0.01, 5.0)])
    slept: list[float] = []
    monkeypatch.setattr(quiet.time, "sleep", slept.append)
    monkeypatch.setattr(quiet, "load", lambda *_: next(script))
    watch = quiet.Watch(lambda *words: said.append(words))
    watch.begin([])
    assert len(said) == 2 and all("less than 0.1 processors: other processes use " in why for why, _ in said)
    assert slept == [0.0, 0.5, 1.0, 1.0]
    assert watch.end([]).quiet
    watch.begin([])
    assert slept[4:] == [0.0], "a hundredth of a second says nothing, and the cell before was quiet"
    assert next(script, None) is None


def test_patience_ends(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(quiet.time, "sleep", lambda _: None)
    monkeypatch.setattr(quiet, "load", lambda *_: used(1.0, 1.0))
    with pytest.raises(NotQuietError, match=r"use 1.00 processors .* was not quiet for [\d.]+ s: stop"):
        quiet.Watch(lambda *_: None, 0.0).begin([])


def test_doctor_says_who_keeps_the_machine_busy():
    with busy():
        printed = benchbook("doctor").stdout
    assert re.search(
        r"^Busy: other processes use \d\.\d\d processors \(.*python.*\)\. A run waits until they use less",
        printed,
        re.M,
    )
