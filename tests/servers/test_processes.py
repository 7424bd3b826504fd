"""Children and worker pools never outlive their owner."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from benchbook.servers import processes
from waiting import comes_true, is_gone

LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux has a parent-death signal; others have a pipe"
)
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a child as another user")


def start_child_of_killed_owner(spawning: str) -> int:
    """Run an owner that starts a sleeping child, kill -9 it, and return the child's process id."""
    script = f"""
import signal, subprocess, time
from benchbook.servers import processes
{spawning}
print(child.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert psutil.pid_exists(pid)
        owner.kill()
    return pid


WITHOUT = "processes.HAS_DEATH_SIGNAL = False"
"""Code for a system without parent-death signal."""


def has_ended(pid: int) -> bool:
    return comes_true(lambda: is_gone(pid))


@LINUX
def test_a_child_ends_when_its_owner_is_killed() -> None:
    assert has_ended(start_child_of_killed_owner('child = processes.spawn(["sleep", "600"])'))


@LINUX
def test_a_short_command_ends_when_its_owner_is_killed() -> None:
    asking = "from benchbook.servers import processes; processes.run_command(['sleep', '600'])"
    with subprocess.Popen([sys.executable, "-c", asking]) as owner:
        assert comes_true(
            lambda: [one.name() for one in psutil.Process(owner.pid).children()] == ["sleep"]
        )
        (child,) = psutil.Process(owner.pid).children()
        owner.kill()
    assert has_ended(child.pid)


def test_a_short_command_returns_output_and_exit_status() -> None:
    said = processes.run_command(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (said.stdout, said.stderr, said.returncode) == ("out\n", "err\n", 3)


@LINUX
@ROOT
def test_a_child_of_another_user_ends_when_its_owner_is_killed() -> None:
    assert has_ended(
        start_child_of_killed_owner(
            'child = processes.spawn(["sleep", "600"], user="nobody", cwd="/")'
        )
    )


def test_without_death_signal_a_child_and_its_children_end_when_their_owner_is_killed() -> None:
    for command in (["sleep", "600"], ["sh", "-c", "sleep 600 & wait"]):
        leader = start_child_of_killed_owner(f"{WITHOUT}\nchild = processes.spawn({command})")
        assert comes_true(lambda group=leader: not list_group(group))


def list_group(group: int) -> list[int]:
    """Return the processes of a process group that run."""
    running = []
    for pid in psutil.pids():
        with suppress(ProcessLookupError):
            if os.getpgid(pid) == group and not is_gone(pid):
                running.append(pid)
    return running


def test_without_death_signal_a_stopped_child_leaves_no_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "HAS_DEATH_SIGNAL", False)
    before = set(psutil.Process().children())  # Other tests have children, too.
    child = processes.spawn(["sleep", "600"], death_signal=signal.SIGQUIT)
    assert comes_true(lambda: psutil.Process(child.pid).name() == "sleep")
    assert processes.stop(child) == -signal.SIGTERM
    assert comes_true(lambda: not list_group(child.pid))
    assert processes.run_command(["sh", "-c", "echo $$; exit 3"]).returncode == 3
    assert comes_true(lambda: set(psutil.Process().children()) <= before)


@LINUX
@ROOT
def test_a_child_of_another_user_is_in_no_group_of_ours() -> None:
    child = processes.spawn(["sleep", "600"], user="nobody", cwd=Path("/"))
    try:
        process = psutil.Process(child.pid)
        assert process.username() == "nobody"
        assert 0 not in (*process.uids(), *process.gids())
        status = Path(f"/proc/{child.pid}/status").read_text()
        assert "Groups:\t \n" in status
    finally:
        processes.stop(child, signal.SIGKILL)


def test_only_the_main_thread_may_spawn() -> None:
    refusals: list[str] = []

    def attempt() -> None:
        try:
            processes.spawn(["true"])
        except RuntimeError as error:
            refusals.append(str(error))

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    assert "main thread" in refusals[0]


def test_an_interrupt_from_the_terminal_does_not_reach_a_child() -> None:
    child = processes.spawn(["sleep", "600"])
    try:
        assert os.getsid(child.pid) == child.pid
    finally:
        processes.stop(child)


def test_stop_returns_the_status_and_reaps() -> None:
    child = processes.spawn(["sleep", "600"])
    assert processes.stop(child, signal.SIGTERM) == -signal.SIGTERM
    assert not psutil.pid_exists(child.pid)
    assert processes.stop(child) == -signal.SIGTERM


def test_a_childs_environment_has_no_setting_of_the_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in (
        "PGOPTIONS",
        "JAVA_TOOL_OPTIONS",
        "PYTHONPATH",
        "LD_PRELOAD_OF_NOTHING",
        "TZ",
        "LC_ALL",
        "HOME",
    ):
        monkeypatch.setenv(name, "theirs")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/nowhere")
    for env in (None, processes.make_environment(tmp_path, MORE="ours")):
        child = processes.spawn(["env"], env=env, stdout=subprocess.PIPE)
        found = dict(line.split("=", 1) for line in child.communicate()[0].decode().splitlines())
        assert (
            "theirs" not in found.values()
            and found["LD_LIBRARY_PATH"] == "/nowhere"
            and found["TZ"] == "UTC"
        )
        assert (found.get("HOME"), found.get("MORE")) == (
            (str(tmp_path), "ours") if env else (None, None)
        )
        processes.stop(child)


def test_a_child_that_will_not_stop_is_killed() -> None:
    child = processes.spawn(
        ["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"deaf\n"
    assert processes.stop(child, signal.SIGTERM, patience_s=0.2) == -signal.SIGKILL
    child.stdout.close()


def test_a_child_that_is_killed_takes_its_children_along() -> None:
    child = processes.spawn(["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    with child.stdout as told:
        sleeper = int(told.readline())
    assert processes.stop(child, signal.SIGKILL) == -signal.SIGKILL
    assert has_ended(sleeper)


POOL_OWNER = """
import os, time
from benchbook.servers import processes

if __name__ == "__main__":
    pool = processes.start_worker_pool(2)
    sleepers = [pool.submit(time.sleep, 600) for _ in range(2)]
    while not all(sleeper.running() for sleeper in sleepers):
        time.sleep(0.01)
    print(*pool._processes, flush=True)
    time.sleep(600)
"""


def test_each_worker_is_a_new_process_that_is_prepared_first() -> None:
    with (
        processes.start_worker_pool(1, os.chdir, "/") as one,
        processes.start_worker_pool(1) as other,
    ):
        assert (one.submit(os.getcwd).result(), other.submit(os.getcwd).result()) == (
            "/",
            str(Path.cwd()),
        )
        pids = {pool.submit(os.getpid).result() for pool in (one, other)}
        assert len({os.getpid(), *pids}) == 3
    assert all(map(has_ended, pids))


def test_workers_end_with_an_owner_that_was_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", POOL_OWNER], stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        pids = [int(pid) for pid in owner.stdout.readline().split()]
        assert len(pids) == 2 and not any(map(is_gone, pids))
        owner.send_signal(signal.SIGKILL)
    assert all(map(has_ended, pids))
