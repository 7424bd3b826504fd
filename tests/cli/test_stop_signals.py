"""A command that a signal stops removes its temporary folder, or the next start removes it."""

import fcntl
import os
import pty
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Final

import psutil
import pytest

from benchbook import cli, grid
from benchbook.cli import results
from benchbook.cli.command import DONE
from benchbook.results.folder import open_results
from waiting import PATIENCE_S, comes_true, is_gone

ROWS: Final = 100_000

SIGNALS: Final = {
    signal.SIGINT: 130,
    signal.SIGTERM: 143,
    signal.SIGHUP: 129,
    signal.SIGKILL: -signal.SIGKILL,
}
"""The signals, and the exit status of a command that one of them ends."""

COMMANDS: Final = {
    "ask": (("ask", "own.csv"), ("ask", "few.csv", "--blocks", "1")),
    "query": (
        ("results", "--sql", f"SELECT * FROM range({50 * ROWS})", "--output", "query.csv"),
        ("results", "--sql", "SELECT 1", "--output", "query.csv"),
    ),
    "export": (("results", "export", "all.csv"), ("results", "export", "all.csv")),
    "init": (("init", "folder"), ("init", "folder")),
    "new": (("new", "study", "mine"), ("new", "study", "mine")),
}
"""Commands that make a temporary folder, and what is started after them."""


@pytest.fixture
def working_folder(home: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with tables and results; temporary folders are made in it, too."""
    folder = temporary
    lines = [f"{number},person {number},{number / 7}" for number in range(ROWS)]
    for name, count in (("own.csv", ROWS), ("few.csv", 20)):
        (folder / name).write_text("\n".join(["number,name,share", *lines[:count], ""]))
    (cell, *_) = grid.make_plan(["crud"], "smoke").cells
    columns = {"study": "crud", "cell_id": cell.identity, "block": 0, "state": "failed"}
    open_results().write_cell(columns | cell.parameters.as_columns())
    monkeypatch.chdir(folder)
    return folder


def list_temporary(folder: Path) -> set[str]:
    """Return the names of what a command left there that is not its answer."""
    results = {"own.csv", "few.csv", "query.csv", "all.csv", "folder", "benchbook-mine"}
    return {path.name for path in folder.iterdir()} - results


def start(arguments: Sequence[str]) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "benchbook.cli", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def has_copy(folder: Path) -> bool:
    """Return whether a command has written into a temporary folder there."""
    for name in list_temporary(folder):
        # It may have been removed since it was listed.
        with suppress(FileNotFoundError):
            if next((folder / name).glob("*"), None):
                return True
    return False


def suspend(process: "subprocess.Popen[str]") -> None:
    """Suspend a command, and wait until it is suspended or has ended."""
    process.send_signal(signal.SIGSTOP)
    assert comes_true(
        lambda: (
            is_gone(process.pid) or psutil.Process(process.pid).status() == psutil.STATUS_STOPPED
        )
    )


def start_and_suspend(arguments: Sequence[str], folder: Path) -> "subprocess.Popen[str]":
    """Return a command that is suspended while a temporary folder has its copy.

    It is started again when it had already removed the folder.
    """
    while True:
        process = start(arguments)
        while not has_copy(folder) and process.poll() is None:
            # A short pause, because a small answer is written within milliseconds.
            time.sleep(0.001)
        suspend(process)
        if has_copy(folder):
            return process
        process.send_signal(signal.SIGCONT)
        printed, _ = process.communicate()
        assert process.returncode == DONE, printed
        shutil.rmtree(folder / "folder", ignore_errors=True)
        shutil.rmtree(folder / "benchbook-mine", ignore_errors=True)


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_leaves_no_copy_after_the_next_start(
    name: str, number: signal.Signals, working_folder: Path
):
    killed, following = COMMANDS[name]
    process = start_and_suspend(killed, working_folder)
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    printed, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == SIGNALS[number], printed
    assert "Traceback" not in printed
    if number != signal.SIGKILL:
        assert "stopped" in printed.splitlines()[-1]
        assert list_temporary(working_folder) == set()
    assert cli.main(following) == DONE
    assert list_temporary(working_folder) == set()


def test_a_query_whose_terminal_closes_leaves_no_copy(working_folder: Path):
    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "benchbook.cli", *COMMANDS["query"][0]]
    process = subprocess.Popen(
        command,
        stdin=end,
        stdout=end,
        stderr=end,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(end)
    assert comes_true(lambda: has_copy(working_folder))
    os.close(terminal)
    assert process.wait(PATIENCE_S) == SIGNALS[signal.SIGHUP]
    assert list_temporary(working_folder) == set()


def test_a_command_under_nohup_ends_well_after_a_hang_up(working_folder: Path):
    command = ["nohup", sys.executable, "-m", "benchbook.cli", *COMMANDS["query"][0]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert comes_true(lambda: has_copy(working_folder))
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == DONE


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_stop_while_the_thread_of_a_query_starts_leaves_no_query(
    is_begun: bool,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    class StoppedThread(Thread):
        def start(self) -> None:
            if is_begun:
                super().start()
            raise KeyboardInterrupt

    monkeypatch.setattr(results, "Thread", StoppedThread)
    # Without the interrupt it would take hours.
    command = [
        "results",
        "--sql",
        "SELECT sum(a.range * b.range) FROM range(1e7::INT) a, range(1e7::INT) b",
    ]
    assert cli.main(command) == SIGNALS[signal.SIGINT]
    assert capsys.readouterr().err.endswith("benchbook: stopped\n")
