"""The load of other processes: runs wait for it, and cells that ran under it are repeated."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pandas as pd
import pytest

from background_load import Others, make_load
from benchbook import cli, grid
from benchbook.cli.command import DONE, FAILED, INTERRUPTED
from benchbook.grid import Cell
from benchbook.results.folder import open_results
from benchbook.results.views import connect, fetch_frame
from benchbook.runner import batch, load_monitor
from benchbook.runner.load_monitor import (
    MAX_QUIET_LOAD,
    Load,
    NotQuietError,
    compute_load,
    take_snapshot,
)
from benchbook.runner.noisy_cells import reopen_noisy_cells
from benchbook.runner.notebook import NotebookOutcome
from benchbook.runner.progress import Limits, Progress, Summary
from benchbook.text.number_format import format_count
from waiting import PATIENCE_S

pytestmark = pytest.mark.usefixtures("results_folder", "shared_kernels")
CHOSEN = ["language=python", "process=together", "arm=a"]
BUSY = """
import sys, time
print(flush=True)
while True:
    begun = time.process_time()
    sum(range(1_000_000))
    time.sleep(float(sys.argv[1]) * (time.process_time() - begun))
"""


@contextmanager
def use_processor(pauses: float = 2.0) -> Iterator[int]:
    """Let a process beside use a third of a processor, three times what a quiet machine may use.

    It pauses so many times as long as it works; without pauses it uses a whole processor.
    """
    command = [sys.executable, "-c", BUSY, str(pauses)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.kill()


def benchbook(*words: str, **of_quiet: float) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own; processes that a test starts do not belong to it."""
    command = write_command(*words, **of_quiet)
    return subprocess.run(command, capture_output=True, text=True, check=False)


def write_command(*words: str, **of_quiet: float) -> list[str]:
    """Return the command, with other numbers of seconds in `load_monitor`."""
    set_s = "".join(
        f"load_monitor.{name.upper()} = {seconds}; " for name, seconds in of_quiet.items()
    )
    code = (
        f"import sys; from benchbook import cli; from benchbook.runner import load_monitor; {set_s}"
    )
    return [sys.executable, "-c", f"{code}sys.exit(cli.main(sys.argv[1:]))", *words]


def plan_cells(*changes: str) -> list[Cell]:
    return grid.make_plan(["bookstore"], "smoke", CHOSEN, list(changes)).cells


def run(cells: list[Cell], patience_s: float | None = 60.0) -> Summary:
    summary = Summary()
    batch.run_cells(cells, Limits(patience_s=patience_s), summary)
    return summary


def read_cells() -> pd.DataFrame:
    with connect() as connection:
        return fetch_frame(
            connection, "SELECT block, state, noisy, background_load, cell_started_at FROM cells"
        )


def test_load_of_a_process_is_foreign_unless_the_run_owns_it():
    with use_processor(pauses=0.0) as pid:
        before = take_snapshot()
        time.sleep(1)
        after = take_snapshot()
    foreign, own = compute_load(before, after, []), compute_load(before, after, [os.getpid()])
    share = foreign.others[pid]
    assert share > 0 and foreign.foreign > share - 0.1, (
        "what /proc/stat samples holds what the process' clock says"
    )
    assert pid not in own.others and os.getpid() not in own.others, "descendants are the run's own"
    # servers of this process that stand for other tests are its descendants, too
    descendants = sum(used for other, used in foreign.others.items() if other not in own.others)
    assert own.foreign == pytest.approx(max(0, foreign.foreign - descendants), abs=0.05)


def test_a_machine_is_quiet_up_to_the_limit_and_the_error_of_a_short_window():
    assert (
        make_load(10.0, MAX_QUIET_LOAD).is_quiet
        and not make_load(10.0, MAX_QUIET_LOAD + 0.02).is_quiet
    )
    assert (
        make_load(0.2, MAX_QUIET_LOAD + 0.2).is_quiet
        and not make_load(0.2, MAX_QUIET_LOAD + 0.3).is_quiet
    )


def test_busy_processes_are_described_by_name_only():
    with use_processor() as pid:
        said = str(Load(1.0, 1.5, 0.3, 0, 0, {pid: 1.2}))
    assert said.startswith("other processes use 1.50 processors (python")
    assert said.endswith(" 1.20, the host of this virtual machine 0.30)")
    assert "while True" not in said and "/" not in said
    assert "none of which can be seen" in str(Load(1.0, 1.5, 0.0, 0, 0, {}))


def test_with_the_option_noisy_a_cell_under_load_is_only_marked():
    chosen = ["--where", CHOSEN[0], "--where", CHOSEN[1], "--where", CHOSEN[2]]
    # A whole processor, because a window of a fifth of a second allows a third of one.
    with use_processor(pauses=0.0):
        ran = benchbook("run", "bookstore", "--profile", "smoke", *chosen, "--noisy")
    rows = read_cells()
    assert (
        ran.returncode == DONE
        and rows["noisy"].all()
        and (rows["background_load"] > MAX_QUIET_LOAD).all()
    ), ran
    count = len(rows)
    assert f"{count} cells ran while other programs were busy. {count} noisy: " in ran.stdout


def test_a_noisy_cell_is_measured_again_at_the_end_of_its_block_and_replaced(
    monkeypatch: pytest.MonkeyPatch,
):
    cells = plan_cells("blocks=2")
    half = len(cells) // 2
    Others(1.5, *[0.0] * half, *[0.0] * half).install(monkeypatch)
    summary = run(cells)
    rows = read_cells()
    assert (
        len(rows) == len(cells) and not rows["noisy"].any() and rows["background_load"].eq(0).all()
    )
    assert (summary.done, summary.beside_others, summary.repeated, summary.noisy) == (
        len(cells),
        1,
        1,
        [],
    )
    first, second = (rows.loc[rows["block"].eq(block), "cell_started_at"] for block in (0, 1))
    assert first.max() < second.min(), "before the next block begins"


@pytest.mark.parametrize(("again", "stands"), [(2.5, 1.5), (0.5, 0.5)])
def test_the_less_noisy_of_two_measurements_is_kept_without_a_third(
    monkeypatch: pytest.MonkeyPatch, again: float, stands: float
):
    (cell, *_) = plan_cells()
    Others(1.5, again).install(monkeypatch)
    summary = run([cell])
    assert read_cells()[["noisy", "background_load"]].values.tolist() == [[True, stands]]
    assert (summary.done, summary.repeated, summary.noisy) == (1, 1, [cell])


def test_a_noisy_cell_of_an_earlier_run_is_measured_once_and_stays_until_a_less_noisy_one_is_there(
    monkeypatch: pytest.MonkeyPatch,
):
    (cell, *_) = plan_cells()
    Others(1.5).install(monkeypatch)
    run([cell], patience_s=None)
    # Each run has one load: a second measurement would raise StopIteration.
    for load, kept, is_noisy in ((2.5, 1.5, True), (0.5, 0.5, True), (0.0, 0.0, False)):
        (again, *_) = reopen_noisy_cells(plan_cells())
        assert (again.key, again.state) == (cell.key, "todo")
        Others(load).install(monkeypatch)
        summary = run([again])
        assert read_cells()[["noisy", "background_load"]].values.tolist() == [[is_noisy, kept]]
        assert (summary.done, summary.repeated) == (1, 0)
        assert summary.noisy == ([again] if is_noisy else [])
    assert reopen_noisy_cells(plan_cells())[0].state == "done"


@pytest.mark.parametrize(
    "outcome",
    [NotebookOutcome("ValueError: boom"), NotebookOutcome("no such field", is_refusal=True)],
)
def test_a_noisy_cell_of_an_earlier_run_keeps_its_values_when_it_fails_or_is_refused(
    outcome: NotebookOutcome, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (cell, *_) = plan_cells()
    Others(1.5, 0.0).install(monkeypatch)
    run([cell], patience_s=None)
    monkeypatch.setattr(batch, "execute_notebook", lambda *_, **__: outcome)
    summary = run(reopen_noisy_cells([replace(cell, state="done")]))
    assert read_cells()[["state", "noisy"]].values.tolist() == [["done", True]]
    assert not summary.failed and not summary.skipped
    assert "failed when measured again, so its first values stay" in capsys.readouterr().out


def test_noisy_cells_are_measured_again_without_the_option_noisy_or_with_again_and_else_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    few = ["--set", "repetitions=2", "--set", "blocks=1", "--set", "n=10", "--set", "case=1"]
    few += [f"--where={level}" for level in CHOSEN]

    def run_command(*options: str) -> str:
        assert cli.main([*options[:1], "bookstore", *few, *options[1:]]) == DONE
        return capsys.readouterr().out

    Others(*[1.5] * 100).install(monkeypatch)
    assert "measured again" not in run_command("run", "--noisy")
    count = len(read_cells())
    said = run_command("run", "--noisy")
    assert f"{format_count(count, 'cell')} of those done before: noisy (--again" in said
    assert f"{count} of them noisy: benchbook run --again measures them again" in run_command(
        "plan"
    )
    # Half as noisy: the values are replaced, and still noisy.
    Others(*[0.5] * 100).install(monkeypatch)
    assert f"{count} done, in" in run_command("run", "--noisy", "--again")
    assert read_cells()["background_load"].tolist() == [0.5] * count
    Others(*[0.0] * 100).install(monkeypatch)
    assert f"{count} done, in" in run_command("run")
    assert not read_cells()["noisy"].any()
    assert "all done before" in run_command("run") and "noisy" not in run_command("plan")


def test_a_cell_that_fails_when_measured_again_keeps_its_first_values(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (cell, *_) = plan_cells()
    Others(1.5, 0.0).install(monkeypatch)
    outcomes = iter([batch.execute_notebook, lambda *_, **__: NotebookOutcome("ValueError: boom")])
    monkeypatch.setattr(
        batch, "execute_notebook", lambda *how, **options: next(outcomes)(*how, **options)
    )
    summary = run([cell])
    assert (
        read_cells()[["state", "noisy"]].values.tolist() == [["done", True]] and not summary.failed
    )
    printed = capsys.readouterr().out
    reason = "failed when measured again, so its first values stay"
    assert f"{reason}: bookstore (block 1): ValueError: boom" in printed


def test_a_machine_that_is_never_quiet_is_refused_with_the_busy_process_and_the_remedy():
    with use_processor():
        ran = benchbook(
            "run",
            "bookstore",
            "--profile",
            "quick",
            "--where",
            CHOSEN[0],
            quiet_patience_s=4,
            long_wait_s=1,
        )
    assert ran.returncode == FAILED and not open_results().list_states("bookstore"), ran
    # A log has the reason once, with the remedy, when the wait is long, and the summary says it.
    (line,) = [line for line in ran.stdout.splitlines() if "waiting until" in line]
    assert line.startswith("waiting until others use less than 0.1 processors: other processes use")
    assert re.search(r"python.* \d\.\d\d.*; for \d+ s now", line)
    assert "and for 4 s at most: stop them, or add --noisy, which measures all the same" in line
    assert re.search(
        r"(?m)^It waited \d+ s for a quiet machine; at the most, other processes use .*python",
        ran.stdout,
    )
    (line,) = ran.stderr.splitlines()
    assert line.startswith("stopped: other processes use ") and "python" in line
    assert "stop them, or add --noisy, which measures all the same" in line and line.endswith(
        "Finished cells are kept: the same command continues"
    )


def test_on_a_terminal_a_long_wait_is_printed_on_its_own_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("FORCE_COLOR", "1")  # colours the output to a pipe, too
    monkeypatch.setenv("COLUMNS", "40")
    (cell, *_) = plan_cells()
    with Progress([cell], {}) as progress:
        progress.begin_cell(cell)
        progress.show_wait("others are busy")
        progress.show_wait("others are busy", "use --noisy instead of waiting for them any longer")
        progress.show_wait("others are busy", "use --noisy instead of waiting for them any longer")
    said = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().out)
    assert (
        said.count("others are busy; use --noisy instead of waiting for them any longer\n") == 1
    ), said


def test_ctrl_c_ends_a_wait_and_leaves_no_results():
    words = ("run", "bookstore", "--profile", "quick", "--where", CHOSEN[0])
    command = write_command(*words, long_wait_s=1)
    with (
        use_processor(),
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("waiting until"):
                break
        process.send_signal(signal.SIGINT)
        printed = process.communicate(timeout=PATIENCE_S)[0]
    assert process.returncode == INTERRUPTED, printed
    assert "stopped. Finished cells are kept" in printed and not open_results().list_states(
        "bookstore"
    )


def test_a_wait_ends_with_the_load_and_a_cell_after_a_quiet_one_does_not_wait(
    monkeypatch: pytest.MonkeyPatch,
):
    said: list[tuple[str, str]] = []
    script = iter(
        [
            make_load(0.5, 1.2),
            make_load(1.0, 0.9),
            make_load(1.0, 0.02),
            make_load(3.0, 0.0),
            make_load(0.01, 5.0),
        ]
    )
    slept: list[float] = []
    monkeypatch.setattr(load_monitor.time, "sleep", slept.append)
    monkeypatch.setattr(load_monitor, "compute_load", lambda *_: next(script))
    watch = load_monitor.LoadMonitor(lambda *words: said.append(words))
    watch.begin_cell([])
    assert len(said) == 2 and all(
        "less than 0.1 processors: other processes use " in why for why, _ in said
    )
    assert slept == [0.0, 0.5, 1.0, 1.0]
    assert watch.end_cell([]).is_quiet
    watch.begin_cell([])
    assert slept[4:] == [0.0], "a hundredth of a second says nothing, and the cell before was quiet"
    assert next(script, None) is None


def test_a_wait_ends_when_the_patience_is_over(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(load_monitor.time, "sleep", lambda _: None)
    monkeypatch.setattr(load_monitor, "compute_load", lambda *_: make_load(1.0, 1.0))
    with pytest.raises(
        NotQuietError, match=r"use 1.00 processors .* was not quiet for [\d.]+ s: stop"
    ):
        load_monitor.LoadMonitor(lambda *_: None, 0.0).begin_cell([])


def test_doctor_names_the_process_that_keeps_the_machine_busy():
    with use_processor():
        printed = benchbook("doctor").stdout
    busy_line = r"^Busy: other processes use \d\.\d\d processors \(.*python.*\)\. A run waits until"
    assert re.search(busy_line, printed, re.M)
