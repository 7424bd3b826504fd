"""Commands work in odd environments, or say in one line what is wrong there."""

import os
import pty
import re
import resource
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from benchbook import cli
from benchbook.cli import command
from benchbook.files.inputs import InputError
from benchbook.measure import machine
from mounts import mount_memory

BENCHBOOK = Path(sys.executable).with_name("benchbook")


def run_command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command as a shell does, with more variables."""
    return subprocess.run(
        [BENCHBOOK, *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def read_terminal(program: str, **variables: str) -> str:
    """Return the output of a Python program on a terminal."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"} | variables
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        command = [sys.executable, "-c", program]
        process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        printed = b""
        with suppress(OSError):  # all ends of the terminal are closed
            while True:
                printed += terminal.read(1 << 16)
        assert process.wait() == 0, printed
    return printed.decode()


@pytest.mark.parametrize("name", ["random", "typing", "argparse", "collections", "dataclasses"])
def test_a_module_of_pythonpath_named_as_one_of_the_standard_library_changes_nothing(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
    ended = run_command("plan", "bookstore", "--profile", "smoke", PYTHONPATH=str(tmp_path))
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_folder_is_laid_out_where_its_name_leads_and_no_other_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["init", "a/../b"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
    assert f"Next: cd {tmp_path / 'b'}, then" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["-x", "my folder", "a\nb", "$(touch no)"])
def test_the_command_that_enters_a_new_folder_works_whatever_its_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["init", "--", name]) == 0
    _, _, advice = capsys.readouterr().out.partition("Next: ")
    enter = advice.partition(", then benchbook")[0]
    ended = subprocess.run(["sh", "-c", f"{enter} && pwd -P"], capture_output=True, text=True)
    assert ended.stdout == f"{tmp_path / name}\n", shlex.quote(enter)


STEPS = """
import time
from benchbook.cli import report
with report._show_steps() as show_step:
    show_step("judging the claims")
    time.sleep(1)
"""


def test_a_terminal_moves_while_a_long_step_of_the_report_runs() -> None:
    assert read_terminal(STEPS).count("judging the claims") > 2


def test_a_terminal_that_cannot_move_its_cursor_gets_each_step_once() -> None:
    assert read_terminal(STEPS, TERM="dumb") == "judging the claims\r\n"


ACTIVITY = """
import time
from benchbook.cli import output
with output.show_activity("judging the claims"):
    time.sleep(1)
"""


def test_a_silent_command_moves_on_a_terminal_and_prints_nothing_elsewhere() -> None:
    assert read_terminal(ACTIVITY).count("judging the claims") > 2
    assert read_terminal(ACTIVITY, TERM="dumb") == ""
    ended = subprocess.run([sys.executable, "-c", ACTIVITY], capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("", "")


def limit_open_files(soft: int, hard: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_too_few_open_files_are_refused_before_a_cell_runs(results_folder: Path) -> None:
    ended = subprocess.run(
        [BENCHBOOK, "run", "bookstore", "--profile", "smoke", "--noisy"],
        preexec_fn=limit_open_files(64, 64),
        capture_output=True,
        text=True,
    )
    assert ended.returncode == command.USAGE
    assert re.fullmatch(r"benchbook: ulimit -n: 64 open files .*: ulimit -n 1024.*\n", ended.stderr)
    assert not results_folder.exists()


def test_a_low_limit_of_open_files_is_raised_where_the_account_may() -> None:
    program = "import resource; from benchbook.measure import machine; machine.check_limits()"
    program += "; print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    ended = subprocess.run(
        [sys.executable, "-c", program],
        preexec_fn=limit_open_files(64, 1024),
        capture_output=True,
        text=True,
    )
    assert ended.stdout == "(256, 1024)\n", ended.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts threads")
def test_a_run_that_may_start_few_processes_is_refused_with_their_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    monkeypatch.setattr(machine, "_count_threads", lambda: 90)
    before = resource.getrlimit(resource.RLIMIT_NPROC)
    resource.setrlimit(resource.RLIMIT_NPROC, (120, before[1]))
    try:
        with pytest.raises(InputError, match=r"90 of 120 .* run already, a run needs 100 more"):
            machine.check_limits()
    finally:
        resource.setrlimit(resource.RLIMIT_NPROC, before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a network")
@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare is not installed")
def test_a_machine_that_cannot_reach_itself_is_told_why_in_one_line(results_folder: Path) -> None:
    select = ["--where", "database=mongodb", "--where", "topology=single", "--where", "arm=a"]
    ended = subprocess.run(
        ["unshare", "-n", BENCHBOOK, "run", "crud", "--profile", "smoke", "--noisy", *select],
        capture_output=True,
        text=True,
    )
    assert ended.returncode == command.FAILED
    failure, _, _ = ended.stdout.partition("failed: crud")[2].partition("\n  again:")
    reason = failure.splitlines()[-1]
    assert "this machine cannot reach itself: ip link set lo up" in reason
    assert "Topology" not in ended.stdout and len(reason) < 200


def run_in_shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a shell's line in which ``$benchbook`` is the command."""
    return subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        env=os.environ | {"benchbook": str(BENCHBOOK)},
        capture_output=True,
        text=True,
    )


ONE_CELL = (
    '"$benchbook" run bookstore --profile smoke --noisy --where language=python --where format=json'
)


def test_a_run_works_with_all_standard_streams_closed(results_folder: Path, tmp_path: Path) -> None:
    ended = run_in_shell(f"{ONE_CELL} <&- >&- 2>&-", tmp_path)
    assert ended.returncode == command.DONE
    assert [file.name for file in results_folder.glob("*/*.parquet")]


def test_a_query_says_that_its_output_is_closed(results_folder: Path, tmp_path: Path) -> None:
    ended = run_in_shell('"$benchbook" results --sql "SELECT 1" >&-', tmp_path)
    assert ended.returncode == command.USAGE
    assert ended.stderr == "benchbook: standard output is closed: name an --output\n"


def test_a_run_works_whatever_the_umask(results_folder: Path, tmp_path: Path) -> None:
    ended = run_in_shell(f"umask 777; {ONE_CELL}", tmp_path)
    assert ended.returncode == command.DONE, ended.stdout
    (file,) = results_folder.glob("*/*.parquet")
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_removed_current_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    ended = run_in_shell('rmdir "$PWD"; "$benchbook" plan', tmp_path / "gone")
    assert ended.returncode == command.USAGE
    assert ended.stderr == "benchbook: the current folder was removed: cd to another\n"


def test_a_working_folder_that_does_not_exist_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BENCHBOOK_HOME", "/nowhere")
    assert cli.main(["plan"]) == command.USAGE
    said = capsys.readouterr().err
    assert said == "benchbook: BENCHBOOK_HOME=/nowhere does not exist: correct or unset it\n"


@pytest.fixture
def read_only_folder(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "read only"
    folder.mkdir()
    with mount_memory(folder, "ro", "read-only"):
        yield folder


@pytest.mark.parametrize("arguments", [["explore", "--no-open"], ["ask", "{file}", "json-or-xml"]])
def test_a_read_only_folder_is_named_with_what_to_set(
    arguments: list[str],
    read_only_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "mine.csv").write_text("a,b\n1,x\n")
    monkeypatch.setenv("BENCHBOOK_FIGURES", str(read_only_folder))
    told = [part.format(file=tmp_path / "mine.csv") for part in arguments]
    assert cli.main(told) == command.FAILED
    *_, said = capsys.readouterr().err.splitlines()
    assert str(read_only_folder) in said and "set BENCHBOOK_FIGURES" in said
